//! What packets that have left the ring in memory said, and later ones depend on: interned names, defaults, tracks, clocks.

use std::collections::HashMap;

use situ_wire::protobuf::{Field, Fields, Value};

/// Fields of `TracePacket`.
mod field {
    pub(super) const CLOCK_SNAPSHOT: u32 = 6;
    pub(super) const TIMESTAMP: u32 = 8;
    pub(super) const SEQUENCE: u32 = 10;
    pub(super) const INTERNED: u32 = 12;
    pub(super) const FLAGS: u32 = 13;
    pub(super) const TIMESTAMP_CLOCK: u32 = 58;
    pub(super) const DEFAULTS: u32 = 59;
    pub(super) const TRACK: u32 = 60;
    /// Of a `TrackDescriptor`.
    pub(super) const UUID: u32 = 1;
}

/// In `sequence_flags`: what earlier packets of the sequence said is forgotten.
const CLEARED: u64 = 1;

/// A packet, and its number in the order in which they came.
type Numbered = (u64, Box<[u8]>);

/// The state that packets left behind, in packets of its own.
#[derive(Debug, Default)]
pub(super) struct States {
    /// How many there were.
    next: u64,
    /// By sequence: since its state was cleared last.
    sequences: HashMap<u32, Vec<Numbered>>,
    /// Tracks, which belong to no sequence, by their number: the last description of each.
    tracks: HashMap<u64, Numbered>,
    /// The last relation of the clocks.
    clocks: Option<Numbered>,
    bytes: usize,
}

/// What a state packet takes beside its bytes.
const OVERHEAD: usize = 48;

fn cost(bytes: &[u8]) -> usize {
    bytes.len() + OVERHEAD
}

impl States {
    /// How much memory it takes.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// A packet leaves. If there is more state than `most` bytes then, the largest is forgotten, and with it what depends on it.
    pub(super) fn leave(&mut self, sequence: u32, packet: &[u8], most: usize) {
        let (mut state, mut is_state, mut clears, mut track) = (Vec::new(), false, false, None);
        let (mut with_track, mut with_clocks) = (Vec::new(), Vec::new());
        for found in Fields::new(packet).flatten() {
            match (found.number, found.value) {
                (field::FLAGS, Value::Varint(flags)) => {
                    clears |= flags & CLEARED != 0;
                    state.extend_from_slice(found.bytes);
                }
                (field::INTERNED | field::DEFAULTS, _) => {
                    is_state = true;
                    state.extend_from_slice(found.bytes);
                }
                (field::TRACK, Value::Bytes(descriptor)) => {
                    track = Some(uuid(descriptor));
                    with_track.extend_from_slice(found.bytes);
                }
                (field::CLOCK_SNAPSHOT, _) => with_clocks.extend_from_slice(found.bytes),
                (field::TIMESTAMP | field::TIMESTAMP_CLOCK | field::SEQUENCE, _) => {
                    for packet in [&mut state, &mut with_track, &mut with_clocks] {
                        packet.extend_from_slice(found.bytes);
                    }
                }
                _ => {}
            }
        }
        if clears {
            self.forget(sequence);
        }
        if clears || is_state {
            let number = self.number();
            self.bytes += cost(&state);
            self.sequences.entry(sequence).or_default().push((number, state.into()));
        }
        if let Some(uuid) = track {
            let number = self.number();
            self.bytes += cost(&with_track);
            if let Some((_, old)) = self.tracks.insert(uuid, (number, with_track.into())) {
                self.bytes -= cost(&old);
            }
        }
        if with_clocks.iter().any(|byte| *byte != 0) && has_clocks(&with_clocks) {
            let number = self.number();
            self.bytes += cost(&with_clocks);
            if let Some((_, old)) = self.clocks.replace((number, with_clocks.into())) {
                self.bytes -= cost(&old);
            }
        }
        if self.bytes > most {
            self.forget_most();
        }
    }

    fn number(&mut self) -> u64 {
        self.next += 1;
        self.next
    }

    fn forget(&mut self, sequence: u32) {
        for (_, packet) in self.sequences.remove(&sequence).into_iter().flatten() {
            self.bytes -= cost(&packet);
        }
    }

    fn forget_most(&mut self) {
        let size = |packets: &Vec<Numbered>| packets.iter().map(|(_, packet)| cost(packet)).sum::<usize>();
        let largest = self.sequences.iter().map(|(sequence, packets)| (size(packets), *sequence)).max();
        let tracks: usize = self.tracks.values().map(|(_, packet)| cost(packet)).sum();
        match largest {
            Some((size, sequence)) if size >= tracks => self.forget(sequence),
            _ => {
                self.bytes -= tracks;
                self.tracks.clear();
            }
        }
    }

    /// All of it, in the order in which it came.
    pub(super) fn packets(&self) -> Vec<&[u8]> {
        let of_sequences = self.sequences.values().flatten();
        let all = of_sequences.chain(self.tracks.values()).chain(self.clocks.as_ref());
        let mut all: Vec<_> = all.map(|(number, packet)| (*number, &**packet)).collect();
        all.sort_unstable_by_key(|(number, _)| *number);
        all.into_iter().map(|(_, packet)| packet).collect()
    }
}

fn has_clocks(packet: &[u8]) -> bool {
    Fields::new(packet).flatten().any(|found| found.number == field::CLOCK_SNAPSHOT)
}

/// The number of a track.
fn uuid(descriptor: &[u8]) -> u64 {
    let is_uuid = |found: &Field<'_>| found.number == field::UUID;
    match Fields::new(descriptor).flatten().filter(is_uuid).last().map(|found| found.value) {
        Some(Value::Varint(uuid) | Value::Fixed64(uuid)) => uuid,
        _ => 0,
    }
}
