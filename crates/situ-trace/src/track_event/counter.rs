//! Counters: values over time, each counter on a track of its own.

use std::sync::atomic::{AtomicU64, Ordering};

use situ_wire::protobuf::Message;

use super::category::Category;
use super::event::{introduce_category, put_category};
use super::names::{Name, Sent, Table};
use super::process::{mix, process_track};
use super::sequence_clock::Stamp;
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
        let mut packet = TracePacketWriter(message);
        let mut track = packet.set_track_descriptor();
        track.set_uuid(self.track());
        track.set_parent_uuid(process_track());
        track.set_name(&self.name.text());
        track.set_counter().set_unit(match self.unit {
            unit if unit == Unit::Bytes as u32 => counter_descriptor::Unit::UNIT_SIZE_BYTES,
            unit if unit == Unit::Nanoseconds as u32 => counter_descriptor::Unit::UNIT_TIME_NS,
            _ => counter_descriptor::Unit::UNIT_COUNT,
        });
    }

    /// Writes the packet of a value.
    pub(super) fn write(&self, message: Message<'_>, stamp: Stamp, value: f64, sent: &mut Sent) {
        let mut packet = TracePacketWriter(message);
        stamp.put(&mut packet);
        packet.set_sequence_flags(2);
        if !sent.has(Table::Categories, self.category.name().number()) {
            introduce_category(&mut packet.set_interned_data(), self.category, sent);
        }
        let mut event = packet.set_track_event();
        event.set_type(Type::TYPE_COUNTER);
        event.set_track_uuid(self.track());
        put_category(&mut event, self.category);
        // Integers are shorter.
        if value.trunc() == value && value.abs() < 9e15 {
            event.set_counter_value(value as i64);
        } else {
            event.set_double_counter_value(value);
        }
    }
}
