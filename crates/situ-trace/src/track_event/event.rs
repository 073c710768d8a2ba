//! Events and their encoding.

use situ_wire::protobuf::{Fields, Message};

use super::category::Category;
use super::log::Log;
use super::names::{Label, MAX_INTERNED, Sent, Table};
use super::process::now_ns;
use super::sequence_clock::Stamp;
use super::track::Track;
use super::value::{Argument, Value};
use crate::proto::{
    DebugAnnotationWriter, InternedDataWriter, TracePacketWriter, TrackEventWriter, track_event::Type,
};

/// `SEQ_NEEDS_INCREMENTAL_STATE`.
pub(super) const NEEDS_STATE: u32 = 2;
/// The maximum number of dictionaries and arrays around a value. Deeper ones are omitted.
const MAX_NESTING: u32 = 16;

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

/// An event. The macros [`slice!`](crate::slice), [`instant!`](crate::instant), [`begin!`](crate::begin) and
/// [`end!`](crate::end) create it.
#[derive(Debug, Clone, Copy)]
pub struct Event<'a> {
    /// Its kind.
    pub kind: Kind,
    /// Its time, by [`now_ns`](super::now_ns); 0: now. Events of a track that begin and end slices must be in
    /// the order of time.
    pub at_ns: u64,
    /// Its track. `None` is the track of the calling thread.
    pub track: Option<&'a Track<'a>>,
    /// Its category. An end needs none.
    pub category: Option<&'static Category>,
    /// Its name. An end needs none.
    pub name: Option<Label<'a>>,
    /// Flow numbers: arrows connect events with the same number.
    pub flows: &'a [u64],
    /// Flow numbers whose arrows end here.
    pub last_flows: &'a [u64],
    /// Its arguments.
    pub arguments: &'a [Argument<'a>],
    /// The message of a log that it is.
    pub log: Option<Log<'a>>,
    /// Encoded fields of Perfetto's `TrackEvent`, for typed arguments: those that its schema has, and
    /// extensions of one's own. Bytes that are not whole fields are omitted.
    pub fields: &'a [u8],
}

impl<'a> Event<'a> {
    /// Creates an event of this time on the track of the calling thread, without arguments.
    #[inline]
    pub const fn new(kind: Kind, category: Option<&'static Category>, name: Option<Label<'a>>) -> Self {
        Self {
            kind,
            at_ns: 0,
            track: None,
            category,
            name,
            flows: &[],
            last_flows: &[],
            arguments: &[],
            log: None,
            fields: &[],
        }
    }

    /// Creates a message of a log, at this time. The event has the name of its severity.
    pub fn log(category: &'static Category, log: Log<'a>, arguments: &'a [Argument<'a>]) -> Self {
        let name = Label::Known(log.severity.name());
        let event = Self::new(Kind::Instant, Some(category), Some(name));
        Self { at_ns: now_ns(), arguments, log: Some(log), ..event }
    }
}

impl Event<'_> {
    /// Creates the end of the slice that began last on this thread.
    #[inline]
    pub(super) const fn end(at_ns: u64) -> Self {
        Self { at_ns, ..Self::new(Kind::End, None, None) }
    }

    /// Writes the fields of the event's packet, and names that were not sent yet. `track` is the number of a
    /// track other than the thread's.
    #[inline]
    pub(super) fn write(&self, stamp: Stamp, track: Option<u64>, message: Message<'_>, sent: &mut Sent) {
        let mut packet = TracePacketWriter(message);
        stamp.put(&mut packet);
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
        match self.name {
            None => {}
            Some(Label::Known(name)) if name.number() < MAX_INTERNED => {
                event.set_name_iid(u64::from(name.number()));
            }
            Some(name) => event.set_name(&name.text()),
        }
        for flow in self.flows {
            event.add_flow_ids(*flow);
        }
        for flow in self.last_flows {
            event.add_terminating_flow_ids(*flow);
        }
        for argument in self.arguments {
            argument.write(event.add_debug_annotations(), 0);
        }
        if !self.fields.is_empty() && Fields::new(self.fields).all(|field| field.is_ok()) {
            event.0.raw(self.fields);
        }
        if let Some((log, number)) = log {
            log.write(&mut event.set_log_message(), number);
        }
    }

    /// Returns whether all its names were sent.
    #[inline(always)]
    fn is_known(&self, sent: &Sent) -> bool {
        self.category.is_none_or(|category| sent.has(Table::Categories, category.name().number()))
            && self.name.is_none_or(|name| name.is_known(sent, Table::Events))
            && self.arguments.iter().all(|argument| argument.is_known(sent, 0))
    }

    /// Sends the missing names, grouped by table, and the texts of a log's message with their number.
    #[cold]
    #[inline(never)]
    fn introduce(&self, data: &mut InternedDataWriter<'_>, sent: &mut Sent, log: Option<(&Log<'_>, u64)>) {
        if let Some(category) = self.category {
            introduce_category(data, category, sent);
        }
        if let Some(Label::Known(name)) = self.name
            && sent.add(Table::Events, name.number())
        {
            let mut entry = data.add_event_names();
            entry.set_iid(u64::from(name.number()));
            entry.set_name(&name.text());
        }
        self.arguments.iter().for_each(|argument| argument.introduce(data, sent, 0));
        if let Some((log, number)) = log {
            log.introduce(data, number);
        }
    }
}

impl Label<'_> {
    /// Returns whether it needs no introduction in this table.
    #[inline(always)]
    fn is_known(&self, sent: &Sent, table: Table) -> bool {
        match self {
            Self::Known(name) => sent.has(table, name.number()),
            Self::Text(_) | Self::Foreign(_) => true,
        }
    }
}

impl Argument<'_> {
    #[inline]
    fn is_known(&self, sent: &Sent, depth: u32) -> bool {
        self.name.is_known(sent, Table::Arguments) && self.value.is_known(sent, depth)
    }

    fn introduce(&self, data: &mut InternedDataWriter<'_>, sent: &mut Sent, depth: u32) {
        if let Label::Known(name) = self.name
            && sent.add(Table::Arguments, name.number())
        {
            let mut entry = data.add_debug_annotation_names();
            entry.set_iid(u64::from(name.number()));
            entry.set_name(&name.text());
        }
        self.value.introduce(data, sent, depth);
    }

    #[inline]
    fn write(&self, mut annotation: DebugAnnotationWriter<'_>, depth: u32) {
        match self.name {
            Label::Known(name) if name.number() < MAX_INTERNED => {
                annotation.set_name_iid(u64::from(name.number()));
            }
            name => annotation.set_name(&name.text()),
        }
        self.value.write(annotation, depth);
    }
}

impl Value<'_> {
    /// Returns whether the names within it were sent.
    #[inline]
    fn is_known(&self, sent: &Sent, depth: u32) -> bool {
        match self {
            Self::Dictionary(_) | Self::Array(_) => self.is_known_within(sent, depth),
            _ => true,
        }
    }

    fn is_known_within(&self, sent: &Sent, depth: u32) -> bool {
        let depth = depth + 1;
        depth > MAX_NESTING
            || match self {
                Self::Dictionary(entries) => entries.iter().all(|entry| entry.is_known(sent, depth)),
                Self::Array(values) => values.iter().all(|value| value.is_known(sent, depth)),
                _ => true,
            }
    }

    fn introduce(&self, data: &mut InternedDataWriter<'_>, sent: &mut Sent, depth: u32) {
        let depth = depth + 1;
        match self {
            _ if depth > MAX_NESTING => {}
            Self::Dictionary(entries) => entries.iter().for_each(|entry| entry.introduce(data, sent, depth)),
            Self::Array(values) => values.iter().for_each(|value| value.introduce(data, sent, depth)),
            _ => {}
        }
    }

    #[inline]
    fn write(&self, mut annotation: DebugAnnotationWriter<'_>, depth: u32) {
        match *self {
            Self::Bool(value) => annotation.set_bool_value(value),
            Self::Uint(value) => annotation.set_uint_value(value),
            Self::Int(value) => annotation.set_int_value(value),
            Self::Double(value) => annotation.set_double_value(value),
            Self::Text(value) => annotation.set_string_value(value),
            Self::Foreign(value) => annotation.set_string_value(&String::from_utf8_lossy(value)),
            Self::Pointer(value) => annotation.set_pointer_value(value),
            Self::Dictionary(_) | Self::Array(_) => self.write_within(annotation, depth + 1),
        }
    }

    fn write_within(&self, mut annotation: DebugAnnotationWriter<'_>, depth: u32) {
        match self {
            _ if depth > MAX_NESTING => {}
            Self::Dictionary(entries) => {
                entries.iter().for_each(|entry| entry.write(annotation.add_dict_entries(), depth));
            }
            Self::Array(values) => {
                values.iter().for_each(|value| value.write(annotation.add_array_values(), depth));
            }
            _ => {}
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
