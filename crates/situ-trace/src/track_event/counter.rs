//! Counters: values over time, each counter on a track of its own.

use std::sync::atomic::{AtomicU64, Ordering};

use situ_wire::protobuf::Message;

use super::category::Category;
use super::event::{introduce_category, put_category};
use super::names::{Name, Sent, Table};
use super::process::{mix, process_track};
use super::sequence_clock::Stamp;
use super::track::Track;
use crate::proto::{TracePacketWriter, counter_descriptor, track_event::Type};

/// The unit of a counter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub enum Unit {
    /// No unit.
    Count = 0,
    /// Bytes.
    Bytes = 1,
    /// Nanoseconds.
    Nanoseconds = 2,
}

/// A value over time. Created by [`counter!`](crate::counter), or as a static.
// The layout is that of `situ_trace_counter` in C.
#[repr(C)]
#[derive(Debug)]
pub struct Counter {
    pub(super) category: &'static Category,
    /// Its number also identifies the track's description.
    name: Name,
    /// A [`Unit`]; C may set it to any number.
    unit: u32,
    /// The bits of the last value written, so that no value is written twice in a row.
    last: AtomicU64,
}

impl Counter {
    /// Creates a counter, for a static.
    pub const fn new(category: &'static Category, name: &'static str, unit: Unit) -> Self {
        Self { category, name: Name::new(name), unit: unit as u32, last: AtomicU64::new(u64::MAX) }
    }

    pub(super) fn number(&self) -> u32 {
        self.name.number()
    }

    /// Stores the value as the last one. Returns whether it equals the previous one.
    pub(super) fn is_repeated(&self, value: f64) -> bool {
        self.last.swap(value.to_bits(), Ordering::Relaxed) == value.to_bits()
    }

    fn track(&self) -> u64 {
        mix(process_track(), u64::from(self.number()))
    }

    /// Writes the packet that describes the track.
    #[cold]
    pub(super) fn describe(&self, message: Message<'_>) {
        describe(message, self.track(), process_track(), &self.name.text(), self.unit);
    }

    /// Writes the packet of a value.
    pub(super) fn write(&self, message: Message<'_>, stamp: Stamp, value: f64, sent: &mut Sent) {
        write(message, stamp, self.category, self.track(), value, sent);
    }
}

/// A counter whose name is computed, or that belongs to a track of the program. It has the name, the number
/// and the parent of a [`Track`], and is another track than that one: the same `Track` may also have slices.
#[derive(Debug, Clone, Copy)]
pub(super) struct CounterTrack<'a> {
    pub(super) category: &'static Category,
    pub(super) track: &'a Track<'a>,
    pub(super) unit: Unit,
}

impl CounterTrack<'_> {
    /// Its number in the trace, for values from a thread with this track.
    pub(super) fn uuid(&self, thread: u64) -> u64 {
        // "counter"
        mix(self.track.uuid(thread), 0x63_6f75_6e74_6572)
    }

    /// Writes the packet that describes it.
    #[cold]
    pub(super) fn describe(&self, message: Message<'_>, thread: u64) {
        let parent = self.track.parent_of(thread);
        describe(message, self.uuid(thread), parent, &self.track.name(), self.unit as u32);
    }

    /// Writes the packet of a value.
    pub(super) fn write(&self, message: Message<'_>, stamp: Stamp, thread: u64, value: f64, sent: &mut Sent) {
        write(message, stamp, self.category, self.uuid(thread), value, sent);
    }
}

/// Describes the track of a counter.
fn describe(message: Message<'_>, uuid: u64, parent: u64, name: &str, unit: u32) {
    let mut packet = TracePacketWriter(message);
    let mut track = packet.set_track_descriptor();
    track.set_uuid(uuid);
    if parent != 0 {
        track.set_parent_uuid(parent);
    }
    track.set_name(name);
    track.set_counter().set_unit(match unit {
        unit if unit == Unit::Bytes as u32 => counter_descriptor::Unit::UNIT_SIZE_BYTES,
        unit if unit == Unit::Nanoseconds as u32 => counter_descriptor::Unit::UNIT_TIME_NS,
        _ => counter_descriptor::Unit::UNIT_COUNT,
    });
}

/// Writes a value on the track of a counter.
fn write(
    message: Message<'_>,
    stamp: Stamp,
    category: &'static Category,
    track: u64,
    value: f64,
    sent: &mut Sent,
) {
    let mut packet = TracePacketWriter(message);
    stamp.put(&mut packet);
    packet.set_sequence_flags(2);
    if !sent.has(Table::Categories, category.name().number()) {
        introduce_category(&mut packet.set_interned_data(), category, sent);
    }
    let mut event = packet.set_track_event();
    event.set_type(Type::TYPE_COUNTER);
    event.set_track_uuid(track);
    put_category(&mut event, category);
    // Integers are shorter.
    if value.trunc() == value && value.abs() < 9e15 {
        event.set_counter_value(value as i64);
    } else {
        event.set_double_counter_value(value);
    }
}
