//! The names that sequences have interned, to tell what an event is called.

use std::collections::HashMap;

use situ_wire::protobuf::{Fields, Value};

/// Fields of `TracePacket`, `InternedData`, `TrackEvent` and of interned names.
pub(super) mod field {
    pub(in crate::collector) const EVENT: u32 = 11;
    pub(in crate::collector) const INTERNED: u32 = 12;
    pub(in crate::collector) const FLAGS: u32 = 13;
    pub(in crate::collector) const DEFAULTS: u32 = 59;
    pub(in crate::collector) const CATEGORIES: u32 = 1;
    pub(in crate::collector) const NAMES: u32 = 2;
    pub(in crate::collector) const ARGUMENTS: u32 = 3;
    pub(in crate::collector) const CATEGORY_IID: u32 = 3;
    pub(in crate::collector) const NAME_IID: u32 = 10;
    pub(in crate::collector) const TRACK: u32 = 11;
    pub(in crate::collector) const CATEGORY: u32 = 22;
    pub(in crate::collector) const NAME: u32 = 23;
}

/// In `sequence_flags`: the reader discards the state from earlier packets of the sequence.
const CLEARED: u64 = 1;
/// The memory for all texts, in bytes. Further names are not learned.
const MAX_BYTES: usize = 16 << 20;
/// The memory that a name takes in addition to its bytes.
const OVERHEAD: usize = 64;

/// What the packets of one sequence have named so far.
#[derive(Debug, Default)]
pub(super) struct SequenceNames {
    pub(super) categories: HashMap<u64, Box<str>>,
    pub(super) names: HashMap<u64, Box<str>>,
    pub(super) arguments: HashMap<u64, Box<str>>,
    /// The track of events that name none.
    pub(super) track: u64,
    bytes: usize,
}

/// The names of all sequences.
#[derive(Debug, Default)]
pub(super) struct EventNames {
    sequences: HashMap<u32, SequenceNames>,
    bytes: usize,
}

impl EventNames {
    /// Learns what a packet names. Packets come in their sequence's order.
    pub(super) fn learn(&mut self, sequence: u32, packet: &[u8]) {
        for found in Fields::new(packet).flatten() {
            match (found.number, found.value) {
                (field::FLAGS, Value::Varint(flags)) if flags & CLEARED != 0 => self.forget(sequence),
                _ => {}
            }
        }
        for found in Fields::new(packet).flatten() {
            match (found.number, found.value) {
                (field::INTERNED, Value::Bytes(data)) => self.learn_names(sequence, data),
                (field::DEFAULTS, Value::Bytes(defaults)) => {
                    let event = number_within(defaults, field::EVENT, field::TRACK);
                    self.sequences.entry(sequence).or_default().track = event.unwrap_or_default();
                }
                _ => {}
            }
        }
    }

    fn learn_names(&mut self, sequence: u32, data: &[u8]) {
        let known = self.sequences.entry(sequence).or_default();
        for found in Fields::new(data).flatten() {
            let table = match found.number {
                field::CATEGORIES => &mut known.categories,
                field::NAMES => &mut known.names,
                field::ARGUMENTS => &mut known.arguments,
                _ => continue,
            };
            let Value::Bytes(entry) = found.value else { continue };
            let (mut iid, mut text) = (0, "");
            for member in Fields::new(entry).flatten() {
                match (member.number, member.value) {
                    (1, Value::Varint(number)) => iid = number,
                    (2, Value::Bytes(bytes)) => text = std::str::from_utf8(bytes).unwrap_or_default(),
                    _ => {}
                }
            }
            let bytes = text.len() + OVERHEAD;
            if self.bytes + bytes <= MAX_BYTES {
                let replaced = table.insert(iid, text.into()).map_or(0, |old| old.len() + OVERHEAD);
                self.bytes = self.bytes + bytes - replaced;
                known.bytes = known.bytes + bytes - replaced;
            }
        }
    }

    /// Forgets a sequence.
    pub(super) fn forget(&mut self, sequence: u32) {
        if let Some(known) = self.sequences.remove(&sequence) {
            self.bytes -= known.bytes;
        }
    }

    pub(super) fn of(&self, sequence: u32) -> Option<&SequenceNames> {
        self.sequences.get(&sequence)
    }

    /// Calls a function with the name of the event in a packet, if it has one.
    pub(super) fn with_name<R>(
        &self,
        sequence: u32,
        packet: &[u8],
        call: impl FnOnce(&str) -> R,
    ) -> Option<R> {
        let event = event(packet)?;
        let known = self.of(sequence);
        let name = Fields::new(event).flatten().find_map(|found| match (found.number, found.value) {
            (field::NAME_IID, Value::Varint(iid)) => known?.names.get(&iid).map(|name| &**name),
            (field::NAME, Value::Bytes(name)) => std::str::from_utf8(name).ok(),
            _ => None,
        })?;
        Some(call(name))
    }
}

/// Returns the event in a packet.
pub(super) fn event(packet: &[u8]) -> Option<&[u8]> {
    Fields::new(packet).flatten().find_map(|found| match (found.number, found.value) {
        (field::EVENT, Value::Bytes(event)) => Some(event),
        _ => None,
    })
}

/// Returns a number in a message within a message.
fn number_within(bytes: &[u8], message: u32, number: u32) -> Option<u64> {
    let inner = Fields::new(bytes).flatten().find_map(|found| match found.value {
        Value::Bytes(inner) if found.number == message => Some(inner),
        _ => None,
    })?;
    Fields::new(inner).flatten().find_map(|found| match found.value {
        Value::Varint(value) | Value::Fixed64(value) if found.number == number => Some(value),
        _ => None,
    })
}
