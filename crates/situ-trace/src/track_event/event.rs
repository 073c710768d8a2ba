//! Events and their encoding.

use situ_wire::protobuf::Message;

use super::category::Category;
use super::log::Log;
use super::names::{MAX_INTERNED, Name, Sent, Table};
use super::process::now_ns;
use super::value::Value;
use crate::proto::{
    DebugAnnotationWriter, InternedDataWriter, TracePacketWriter, TrackEventWriter, track_event::Type,
};

/// `SEQ_NEEDS_INCREMENTAL_STATE`.
const NEEDS_STATE: u32 = 2;

/// The kind of an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A slice begins.
    Begin,
    /// The slice that began last on this thread ends.
    End,
    /// An instant.
    Instant,
}

/// An argument of an event.
#[derive(Debug, Clone, Copy)]
pub struct Argument<'a> {
    /// Its name.
    pub name: &'static Name,
    /// Its value.
    pub value: Value<'a>,
}

/// An event on the track of the calling thread.
#[derive(Debug, Clone, Copy)]
pub struct Event<'a> {
    /// Its kind.
    pub kind: Kind,
    /// Its time, by [`now_ns`](super::now_ns). A thread writes its events in the order of time.
    pub at_ns: u64,
    /// Its category. An end needs none.
    pub category: Option<&'static Category>,
    /// Its name. An end needs none.
    pub name: Option<&'static Name>,
    /// Flow numbers: arrows connect events with the same number.
    pub flows: &'a [u64],
    /// Flow numbers whose arrows end here.
    pub last_flows: &'a [u64],
    /// Its arguments.
    pub arguments: &'a [Argument<'a>],
    /// The message of a log that it is.
    pub log: Option<Log<'a>>,
}

impl<'a> Event<'a> {
    /// Creates a message of a log, at this time. The event has the name of its severity.
    pub fn log(category: &'static Category, log: Log<'a>, arguments: &'a [Argument<'a>]) -> Self {
        Self {
            kind: Kind::Instant,
            at_ns: now_ns(),
            category: Some(category),
            name: Some(log.severity.name()),
            flows: &[],
            last_flows: &[],
            arguments,
            log: Some(log),
        }
    }
}

impl Event<'_> {
    /// Creates the end of the slice that began last on this thread.
    #[inline]
    pub(super) const fn end(at_ns: u64) -> Self {
        let (kind, category, name) = (Kind::End, None, None);
        Self { kind, at_ns, category, name, flows: &[], last_flows: &[], arguments: &[], log: None }
    }

    /// Writes the fields of the event's packet, and names that were not sent yet.
    #[inline]
    pub(super) fn write(&self, message: Message<'_>, sent: &mut Sent) {
        self.write_on(None, message, sent);
    }

    /// The same, on another track than the thread's.
    #[inline]
    pub(super) fn write_on(&self, track: Option<u64>, message: Message<'_>, sent: &mut Sent) {
        let mut packet = TracePacketWriter(message);
        packet.set_timestamp(self.at_ns);
        packet.set_sequence_flags(NEEDS_STATE);
        let log = self.log.as_ref().map(|log| (log, sent.next_log()));
        if log.is_some() || !self.is_known(sent) {
            self.introduce(&mut packet.set_interned_data(), sent, log);
        }
        let mut event = packet.set_track_event();
        event.set_type(match self.kind {
            Kind::Begin => Type::TYPE_SLICE_BEGIN,
            Kind::End => Type::TYPE_SLICE_END,
            Kind::Instant => Type::TYPE_INSTANT,
        });
        if let Some(track) = track {
            event.set_track_uuid(track);
        }
        if let Some(category) = self.category {
            put_category(&mut event, category);
        }
        if let Some(name) = self.name {
            match name.number() {
                number if number < MAX_INTERNED => event.set_name_iid(u64::from(number)),
                _ => event.set_name(&name.text()),
            }
        }
        for flow in self.flows {
            event.add_flow_ids(*flow);
        }
        for flow in self.last_flows {
            event.add_terminating_flow_ids(*flow);
        }
        for argument in self.arguments {
            argument.write(event.add_debug_annotations());
        }
        if let Some((log, number)) = log {
            log.write(&mut event.set_log_message(), number);
        }
    }

    /// Returns whether all its names were sent.
    #[inline(always)]
    fn is_known(&self, sent: &Sent) -> bool {
        self.category.is_none_or(|category| sent.has(Table::Categories, category.name().number()))
            && self.name.is_none_or(|name| sent.has(Table::Events, name.number()))
            && self.arguments.iter().all(|argument| sent.has(Table::Arguments, argument.name.number()))
    }

    /// Sends the missing names, grouped by table, and the texts of a log's message with their number.
    #[cold]
    #[inline(never)]
    fn introduce(&self, data: &mut InternedDataWriter<'_>, sent: &mut Sent, log: Option<(&Log<'_>, u64)>) {
        if let Some(category) = self.category {
            introduce_category(data, category, sent);
        }
        if let Some(name) = self.name
            && sent.add(Table::Events, name.number())
        {
            let mut entry = data.add_event_names();
            entry.set_iid(u64::from(name.number()));
            entry.set_name(&name.text());
        }
        for Argument { name, .. } in self.arguments {
            if sent.add(Table::Arguments, name.number()) {
                let mut entry = data.add_debug_annotation_names();
                entry.set_iid(u64::from(name.number()));
                entry.set_name(&name.text());
            }
        }
        if let Some((log, number)) = log {
            log.introduce(data, number);
        }
    }
}

impl Argument<'_> {
    #[inline]
    fn write(&self, mut annotation: DebugAnnotationWriter<'_>) {
        match self.name.number() {
            number if number < MAX_INTERNED => annotation.set_name_iid(u64::from(number)),
            _ => annotation.set_name(&self.name.text()),
        }
        match self.value {
            Value::Bool(value) => annotation.set_bool_value(value),
            Value::Uint(value) => annotation.set_uint_value(value),
            Value::Int(value) => annotation.set_int_value(value),
            Value::Double(value) => annotation.set_double_value(value),
            Value::Text(value) => annotation.set_string_value(value),
        }
    }
}

pub(super) fn put_category(event: &mut TrackEventWriter<'_>, category: &Category) {
    match category.name().number() {
        number if number < MAX_INTERNED => event.add_category_iids(u64::from(number)),
        _ => event.add_categories(&category.name().text()),
    }
}

pub(super) fn introduce_category(data: &mut InternedDataWriter<'_>, category: &Category, sent: &mut Sent) {
    let name = category.name();
    if sent.add(Table::Categories, name.number()) {
        let mut entry = data.add_event_categories();
        entry.set_iid(u64::from(name.number()));
        entry.set_name(&name.text());
    }
}
