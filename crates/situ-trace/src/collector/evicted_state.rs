//! Keeps the state from evicted packets that later packets need: interned names, defaults, tracks, clocks.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};

use situ_wire::protobuf::{Field, Fields, Value};

use crate::track_event::sequence_clock::INCREMENTAL;

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
    /// A field of `TrackDescriptor`.
    pub(super) const UUID: u32 = 1;
    /// Fields of `InternedData` with the number of one message of a log.
    pub(super) const SOURCE_LOCATIONS: u32 = 4;
    pub(super) const LOG_MESSAGE_BODY: u32 = 20;
}

/// In `sequence_flags`: the reader discards the state from earlier packets of the sequence.
const CLEARED: u64 = 1;

/// A packet and its number in the order of arrival.
type Numbered = (u64, Box<[u8]>);

/// The state from the evicted packets of one sequence.
#[derive(Debug, Default)]
struct Sequence {
    /// The number of its packets that are still kept. They may need this state.
    kept: u64,
    /// The sequence has ended.
    has_ended: bool,
    /// State from after the last clearing was dropped. All state up to the next clearing is therefore
    /// useless.
    is_given_up: bool,
    /// Packets with names and defaults from after the last clearing.
    packets: Vec<Numbered>,
    /// Tracks that the sequence has described after the last clearing.
    tracks: HashSet<u64>,
    /// The time of the sequence's own clock after its evicted packets, if it has one. The times of its other
    /// packets are differences that begin there.
    clock_ns: Option<u64>,
}

/// A track. Several sequences may describe it.
#[derive(Debug)]
struct Track {
    /// Its last description.
    packet: Numbered,
    /// The number of sequences that have described it.
    sequences: usize,
}

/// The state from all evicted packets, as packets without events.
#[derive(Debug, Default)]
pub(super) struct EvictedState {
    /// The last number of a packet.
    next: u64,
    sequences: HashMap<u32, Sequence>,
    tracks: HashMap<u64, Track>,
    /// The last clock snapshot.
    clocks: Option<Numbered>,
    bytes: usize,
}

/// The memory that a state packet takes in addition to its bytes.
const OVERHEAD: usize = 48;
/// The memory that a sequence takes in addition to its packets.
const SEQUENCE: usize = 160;

fn cost(bytes: &[u8]) -> usize {
    bytes.len() + OVERHEAD
}

impl EvictedState {
    /// Returns the memory that the state takes, in bytes.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Counts a packet of the sequence that is kept.
    pub(super) fn packet_kept(&mut self, sequence: u32) {
        let known = self.sequences.entry(sequence).or_insert_with(|| {
            self.bytes += SEQUENCE;
            Sequence::default()
        });
        known.kept += 1;
    }

    /// Marks the sequence as ended: its state is dropped together with its last packet.
    pub(super) fn sequence_ended(&mut self, sequence: u32) {
        if let Some(known) = self.sequences.get_mut(&sequence) {
            known.has_ended = true;
            self.remove_if_done(sequence);
        }
    }

    /// Keeps the state from a packet that is evicted. If the state then takes more than `limit` bytes, the
    /// state of the largest sequences is dropped. Packets that need the dropped state become unreadable.
    pub(super) fn packet_evicted(&mut self, sequence: u32, packet: &[u8], limit: usize) {
        if let Some(known) = self.sequences.get_mut(&sequence) {
            known.kept = known.kept.saturating_sub(1);
        }
        if self.remove_if_done(sequence) {
            return;
        }
        let is_clock = |found: &Field<'_>| found.number == field::TIMESTAMP_CLOCK;
        let names_clock = Fields::new(packet).flatten().any(|found| is_clock(&found));
        let (mut state, mut is_state, mut clears, mut track) = (Vec::new(), false, false, None);
        let (mut difference, mut begin) = (None, None);
        let (mut with_track, mut with_clocks) = (Vec::new(), Vec::new());
        for found in Fields::new(packet).flatten() {
            match (found.number, found.value) {
                (field::FLAGS, Value::Varint(flags)) => {
                    clears |= flags & CLEARED != 0;
                    state.extend_from_slice(found.bytes);
                }
                (field::INTERNED, Value::Bytes(data)) => is_state |= keep_names(data, &mut state),
                (field::DEFAULTS, _) => {
                    is_state = true;
                    state.extend_from_slice(found.bytes);
                }
                (field::TRACK, Value::Bytes(descriptor)) => {
                    track = Some(uuid(descriptor));
                    with_track.extend_from_slice(found.bytes);
                }
                (field::CLOCK_SNAPSHOT, Value::Bytes(snapshot)) => match own_clock(snapshot) {
                    Some(at_ns) => begin = Some(at_ns),
                    None => with_clocks.extend_from_slice(found.bytes),
                },
                // By the sequence's own clock, and so of no use without the packets before.
                (field::TIMESTAMP, Value::Varint(value)) if !names_clock => difference = Some(value),
                (field::TIMESTAMP | field::TIMESTAMP_CLOCK | field::SEQUENCE, _) => {
                    for packet in [&mut state, &mut with_track, &mut with_clocks] {
                        packet.extend_from_slice(found.bytes);
                    }
                }
                _ => {}
            }
        }
        if clears {
            self.clear_sequence(sequence);
        }
        self.advance_clock(sequence, begin, difference);
        if clears || is_state {
            self.keep_state(sequence, clears, state.into());
        }
        if let Some(uuid) = track {
            self.keep_track(sequence, uuid, with_track.into());
        }
        if with_clocks.iter().any(|byte| *byte != 0) && has_clocks(&with_clocks) {
            let number = self.number();
            self.bytes += cost(&with_clocks);
            if let Some((_, old)) = self.clocks.replace((number, with_clocks.into())) {
                self.bytes -= cost(&old);
            }
        }
        if self.bytes > limit {
            // Somewhat below the limit, so that the search for the largest sequence is not repeated for each
            // packet.
            self.give_up_largest(limit - limit / 8);
        }
    }

    /// Moves a sequence's clock on by an evicted packet, which begins it, or has a difference as its time.
    fn advance_clock(&mut self, sequence: u32, begin: Option<u64>, difference: Option<u64>) {
        if let Some(known) = self.sequences.get_mut(&sequence) {
            let next = known.clock_ns.zip(difference).map(|(at_ns, by)| at_ns.saturating_add(by));
            known.clock_ns = begin.or(next).or(known.clock_ns);
        }
    }

    /// Returns the time of a sequence's own clock after its evicted packets, if it has one.
    pub(super) fn clock_of(&self, sequence: u32) -> Option<u64> {
        self.sequences.get(&sequence)?.clock_ns
    }

    /// Whether packets of a sequence are kept, or may come.
    pub(super) fn has(&self, sequence: u32) -> bool {
        self.sequences.contains_key(&sequence)
    }

    /// Returns the sequences that have a clock of their own, and its time.
    pub(super) fn clocks(&self) -> Vec<(u32, u64)> {
        let clocks = self.sequences.iter().filter_map(|(number, known)| Some((*number, known.clock_ns?)));
        let mut clocks: Vec<_> = clocks.collect();
        clocks.sort_unstable();
        clocks
    }

    fn number(&mut self) -> u64 {
        self.next += 1;
        self.next
    }

    /// Keeps a packet of state. Ignores an unknown sequence: its packets leave, although none came.
    fn keep_state(&mut self, sequence: u32, clears: bool, packet: Box<[u8]>) {
        let number = self.number();
        let Some(known) = self.sequences.get_mut(&sequence) else { return };
        known.is_given_up &= !clears;
        if !known.is_given_up {
            self.bytes += cost(&packet);
            known.packets.push((number, packet));
        }
    }

    fn keep_track(&mut self, sequence: u32, uuid: u64, packet: Box<[u8]>) {
        let number = self.number();
        let Some(known) = self.sequences.get_mut(&sequence) else { return };
        let is_new = known.tracks.insert(uuid);
        self.bytes += cost(&packet);
        match self.tracks.entry(uuid) {
            Entry::Vacant(place) => {
                place.insert(Track { packet: (number, packet), sequences: 1 });
            }
            Entry::Occupied(mut place) => {
                let track = place.get_mut();
                self.bytes -= cost(&track.packet.1);
                track.packet = (number, packet);
                track.sequences += usize::from(is_new);
            }
        }
    }

    /// Drops a sequence's names and defaults, and the tracks that no other sequence has described.
    fn clear_sequence(&mut self, sequence: u32) {
        let Some(known) = self.sequences.get_mut(&sequence) else { return };
        for (_, packet) in std::mem::take(&mut known.packets) {
            self.bytes -= cost(&packet);
        }
        for uuid in std::mem::take(&mut known.tracks) {
            if let Entry::Occupied(mut place) = self.tracks.entry(uuid) {
                place.get_mut().sequences -= 1;
                if place.get().sequences == 0 {
                    self.bytes -= cost(&place.remove().packet.1);
                }
            }
        }
    }

    /// Drops a sequence that has ended and has no kept packets. Returns whether it did.
    fn remove_if_done(&mut self, sequence: u32) -> bool {
        let is_done = self.sequences.get(&sequence).is_some_and(|known| known.has_ended && known.kept == 0);
        if is_done {
            self.clear_sequence(sequence);
            self.sequences.remove(&sequence);
            self.bytes -= SEQUENCE;
        }
        is_done
    }

    /// Drops the state of the largest sequences, one after another, until `limit` bytes remain.
    fn give_up_largest(&mut self, limit: usize) {
        let size = |sequence: &Sequence| {
            let tracks = sequence.tracks.iter().filter_map(|uuid| self.tracks.get(uuid));
            let tracks: usize = tracks.map(|track| cost(&track.packet.1)).sum();
            sequence.packets.iter().map(|(_, packet)| cost(packet)).sum::<usize>() + tracks
        };
        let mut sizes: Vec<_> =
            self.sequences.iter().map(|(sequence, known)| (size(known), *sequence)).collect();
        sizes.sort_unstable();
        while self.bytes > limit
            && let Some((_, largest)) = sizes.pop()
        {
            self.clear_sequence(largest);
            if let Some(known) = self.sequences.get_mut(&largest) {
                known.is_given_up = true;
            }
        }
    }

    /// Returns all state packets, in the order of arrival.
    pub(super) fn packets(&self) -> Vec<&[u8]> {
        let of_sequences = self.sequences.values().flat_map(|known| &known.packets);
        let of_tracks = self.tracks.values().map(|track| &track.packet);
        let all = of_sequences.chain(of_tracks).chain(self.clocks.as_ref());
        let mut all: Vec<_> = all.map(|(number, packet)| (*number, &**packet)).collect();
        all.sort_unstable_by_key(|(number, _)| *number);
        all.into_iter().map(|(_, packet)| packet).collect()
    }
}

/// Appends the interned data that other packets may need: all but the texts of logs, which only their own
/// packets use. Returns whether there is any.
fn keep_names(data: &[u8], state: &mut Vec<u8>) -> bool {
    let is_log =
        |found: &Field<'_>| matches!(found.number, field::SOURCE_LOCATIONS | field::LOG_MESSAGE_BODY);
    let names = || Fields::new(data).flatten().filter(|found| !is_log(found)).map(|found| found.bytes);
    let length: usize = names().map(<[u8]>::len).sum();
    if length == 0 {
        return false;
    }
    put_varint(u64::from(field::INTERNED) << 3 | 2, state);
    put_varint(length as u64, state);
    names().for_each(|name| state.extend_from_slice(name));
    true
}

fn put_varint(mut value: u64, bytes: &mut Vec<u8>) {
    while value >= 0x80 {
        bytes.push(value as u8 | 0x80);
        value >>= 7;
    }
    bytes.push(value as u8);
}

/// Returns the time of the sequence's own clock in a snapshot, if it has one: the clock with number 64.
fn own_clock(snapshot: &[u8]) -> Option<u64> {
    let clocks = Fields::new(snapshot).flatten().filter(|found| found.number == 1);
    clocks
        .filter_map(|clock| if let Value::Bytes(clock) = clock.value { Some(clock) } else { None })
        .find_map(|clock| {
            let member = |number| {
                Fields::new(clock).flatten().find_map(|found| match found.value {
                    Value::Varint(value) if found.number == number => Some(value),
                    _ => None,
                })
            };
            (member(1)? == u64::from(INCREMENTAL)).then(|| member(2)).flatten()
        })
}

fn has_clocks(packet: &[u8]) -> bool {
    Fields::new(packet).flatten().any(|found| found.number == field::CLOCK_SNAPSHOT)
}

/// Returns the number of a track.
fn uuid(descriptor: &[u8]) -> u64 {
    let is_uuid = |found: &Field<'_>| found.number == field::UUID;
    match Fields::new(descriptor).flatten().filter(is_uuid).last().map(|found| found.value) {
        Some(Value::Varint(uuid) | Value::Fixed64(uuid)) => uuid,
        _ => 0,
    }
}
