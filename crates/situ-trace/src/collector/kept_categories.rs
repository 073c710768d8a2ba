//! Memory of their own for categories: a noisy category does not evict the events of a rare one.
//!
//! All packets pass through the main ring. When it evicts an event of such a category, the event moves here.
//! At that moment, the names that it refers to are those that were evicted before it, so they are known. The
//! event is written anew with its names in place, its time on the common clock, and its track. It then needs
//! no other packet but the descriptions of its track, and may be kept for as long as there is room.

use std::collections::{BTreeMap, HashMap, VecDeque};

use situ_wire::protobuf::{Fields, Value};

use super::assembler::varint;
use super::event_names::{EventNames, SequenceNames, event, field};

/// Categories, and the memory for their events.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeptCategories {
    /// A category, or the beginning of categories and `*`.
    pub pattern: String,
    /// The memory for their events, in bytes, in addition to that of the ring.
    pub bytes: usize,
}

/// The sequence of rewritten packets, which no writer has. Each of them clears the names of the one before.
const SEQUENCE: u32 = u32::MAX;
/// Boot time, the clock of rewritten packets.
const BOOT_TIME: u32 = 6;
/// The memory that a kept packet takes in addition to its bytes.
const OVERHEAD: usize = 64;
/// The maximum number of tracks with open slices, and of tracks with descriptions.
const MAX_TRACKS: usize = 16_384;
/// The maximum number of open slices of one track whose ends are kept.
const MAX_OPEN: usize = 256;
/// The largest description of a track that is kept, in bytes.
const MAX_DESCRIPTION: usize = 1024;
/// Arguments deeper than this lose their names.
const MAX_NESTING: u32 = 64;

const TIMESTAMP: u32 = 8;
const TRUSTED_SEQUENCE: u32 = 10;
const DROPPED: u32 = 42;
const CLOCK: u32 = 58;
const DESCRIPTOR: u32 = 60;
const FIRST: u32 = 87;
/// Fields of `TrackEvent`, `DebugAnnotation` and `InternedData`.
const ARGUMENT: u32 = 4;
const TYPE: u32 = 9;
const ARGUMENT_NAME_IID: u32 = 1;
const ARGUMENT_NAME: u32 = 10;
const ENTRIES: u32 = 11;
const VALUES: u32 = 12;
const SOURCE_LOCATIONS: u32 = 4;
const LOG_MESSAGE_BODY: u32 = 20;
/// Types of events.
const BEGIN: u64 = 1;
const END: u64 = 2;

/// The kept events of one pattern.
#[derive(Debug)]
struct Buffer {
    pattern: String,
    limit: usize,
    bytes: usize,
    packets: VecDeque<(u64, Box<[u8]>)>,
}

/// The open slices of one track.
#[derive(Debug, Default)]
struct OpenSlices {
    /// Their buffers, the outermost first; `None` for those of other categories.
    buffers: Vec<Option<usize>>,
    /// The number of slices within these, whose buffers are not noted.
    deeper: u64,
}

/// The events of kept categories.
#[derive(Debug, Default)]
pub(super) struct KeptEvents {
    buffers: Vec<Buffer>,
    names: EventNames,
    /// The tracks with open slices.
    open: HashMap<u64, OpenSlices>,
    /// The last description of each track, without its sequence.
    tracks: BTreeMap<u64, Box<[u8]>>,
    next: u64,
}

impl KeptEvents {
    pub(super) fn new(kept: Vec<KeptCategories>) -> Self {
        let buffer = |it: KeptCategories| Buffer {
            pattern: it.pattern,
            limit: it.bytes,
            bytes: 0,
            packets: VecDeque::new(),
        };
        Self { buffers: kept.into_iter().map(buffer).collect(), ..Self::default() }
    }

    /// Takes a packet that the ring evicts. `clock_ns` is the time of its sequence's own clock before it.
    /// Returns the number of packets that are not kept because of it: it, or older ones.
    pub(super) fn packet_evicted(&mut self, sequence: u32, packet: &[u8], clock_ns: Option<u64>) -> u64 {
        if self.buffers.is_empty() {
            return 1;
        }
        self.names.learn(sequence, packet);
        self.describe_track(packet);
        let Some(event) = event(packet) else { return 1 };
        let none = SequenceNames::default();
        let names = self.names.of(sequence).unwrap_or(&none);
        let track = numbers(event, field::TRACK).last().unwrap_or(names.track);
        let own = self.buffers.iter().position(|buffer| is_of(event, names, &buffer.pattern));
        let buffer = match numbers(event, TYPE).last() {
            Some(BEGIN) => {
                if self.open.len() < MAX_TRACKS || self.open.contains_key(&track) {
                    let open = self.open.entry(track).or_default();
                    if open.buffers.len() < MAX_OPEN {
                        open.buffers.push(own);
                    } else {
                        open.deeper += 1;
                    }
                }
                own
            }
            // Ends have no category: they go where their beginnings went.
            Some(END) => end_slice(&mut self.open, track),
            _ => own,
        };
        let Some(buffer) = buffer else { return 1 };
        let rewritten = rewrite(packet, names, track, clock_ns);
        self.next += 1;
        let buffer = &mut self.buffers[buffer];
        buffer.bytes += rewritten.len() + OVERHEAD;
        buffer.packets.push_back((self.next, rewritten.into()));
        let mut dropped = 0;
        while buffer.bytes > buffer.limit
            && let Some((_, oldest)) = buffer.packets.pop_front()
        {
            buffer.bytes -= oldest.len() + OVERHEAD;
            dropped += 1;
        }
        dropped
    }

    /// The sequence has ended, and all its packets were evicted.
    pub(super) fn sequence_done(&mut self, sequence: u32) {
        if !self.buffers.is_empty() {
            self.names.forget(sequence);
        }
    }

    fn describe_track(&mut self, packet: &[u8]) {
        let descriptor = Fields::new(packet).flatten().find(|found| found.number == DESCRIPTOR);
        let Some(found) = descriptor else { return };
        let Value::Bytes(descriptor) = found.value else { return };
        let Some(uuid) = numbers(descriptor, 1).last() else { return };
        let is_known = self.tracks.contains_key(&uuid);
        if found.bytes.len() <= MAX_DESCRIPTION && (is_known || self.tracks.len() < MAX_TRACKS) {
            self.tracks.insert(uuid, found.bytes.into());
        }
    }

    /// Returns all kept packets, with the descriptions of tracks in front.
    pub(super) fn packets(&self) -> Vec<Vec<u8>> {
        let mut kept: Vec<_> = self.buffers.iter().flat_map(|buffer| &buffer.packets).collect();
        if kept.is_empty() {
            return Vec::new();
        }
        kept.sort_unstable_by_key(|(number, _)| *number);
        let descriptions = self.tracks.values().map(|description| {
            let mut packet = description.to_vec();
            put_number(TRUSTED_SEQUENCE, u64::from(SEQUENCE), &mut packet);
            packet
        });
        descriptions.chain(kept.into_iter().map(|(_, packet)| packet.to_vec())).collect()
    }
}

/// The innermost slice of a track ends. Returns the buffer of its beginning.
fn end_slice(tracks: &mut HashMap<u64, OpenSlices>, track: u64) -> Option<usize> {
    let open = tracks.get_mut(&track)?;
    if open.deeper > 0 {
        open.deeper -= 1;
        return None;
    }
    let buffer = open.buffers.pop().flatten();
    if open.buffers.is_empty() {
        tracks.remove(&track);
    }
    buffer
}

/// The values of a field, which is a number: alone, or packed.
fn numbers(message: &[u8], number: u32) -> impl Iterator<Item = u64> + '_ {
    Fields::new(message).flatten().filter(move |found| found.number == number).filter_map(|found| {
        match found.value {
            Value::Varint(value) | Value::Fixed64(value) => Some(value),
            // Situ's writers do not pack numbers of tracks, types and categories.
            _ => None,
        }
    })
}

fn is_of(event: &[u8], names: &SequenceNames, pattern: &str) -> bool {
    let fits = |category: &str| match pattern.strip_suffix('*') {
        Some(beginning) => category.starts_with(beginning),
        None => category == pattern,
    };
    // A category may be a group of several.
    let has = |categories: &str| categories.split(',').any(|category| fits(category.trim()));
    Fields::new(event).flatten().any(|found| match (found.number, found.value) {
        (field::CATEGORY_IID, Value::Varint(iid)) => names.categories.get(&iid).is_some_and(|it| has(it)),
        (field::CATEGORY, Value::Bytes(text)) => std::str::from_utf8(text).is_ok_and(has),
        _ => false,
    })
}

/// Returns a packet that needs no other one.
fn rewrite(packet: &[u8], names: &SequenceNames, track: u64, clock_ns: Option<u64>) -> Vec<u8> {
    let mut out = Vec::with_capacity(packet.len() + 32);
    let names_clock = numbers(packet, CLOCK).next().is_some();
    put_number(TRUSTED_SEQUENCE, u64::from(SEQUENCE), &mut out);
    // Clears names, and then needs those that it has itself.
    put_number(field::FLAGS, 3, &mut out);
    for found in Fields::new(packet).flatten() {
        match (found.number, found.value) {
            (TIMESTAMP, Value::Varint(value)) if !names_clock => {
                put_number(TIMESTAMP, clock_ns.unwrap_or(0).saturating_add(value), &mut out);
                put_number(CLOCK, u64::from(BOOT_TIME), &mut out);
            }
            (TRUSTED_SEQUENCE | field::FLAGS | field::DEFAULTS | DROPPED | FIRST | DESCRIPTOR, _) => {}
            (field::INTERNED, Value::Bytes(data)) => put_log_texts(data, &mut out),
            (field::EVENT, Value::Bytes(event)) => {
                let mut inner = Vec::with_capacity(event.len() + 32);
                rewrite_event(event, names, track, &mut inner);
                put_bytes(field::EVENT, &inner, &mut out);
            }
            _ => out.extend_from_slice(found.bytes),
        }
    }
    out
}

fn rewrite_event(event: &[u8], names: &SequenceNames, track: u64, out: &mut Vec<u8>) {
    if numbers(event, field::TRACK).next().is_none() {
        put_number(field::TRACK, track, out);
    }
    let text = |table: &HashMap<u64, Box<str>>, iid: u64| table.get(&iid).cloned().unwrap_or_default();
    for found in Fields::new(event).flatten() {
        match (found.number, found.value) {
            (field::CATEGORY_IID, Value::Varint(iid)) => {
                put_bytes(field::CATEGORY, text(&names.categories, iid).as_bytes(), out);
            }
            (field::NAME_IID, Value::Varint(iid)) => {
                put_bytes(field::NAME, text(&names.names, iid).as_bytes(), out);
            }
            (ARGUMENT, Value::Bytes(argument)) => {
                let mut inner = Vec::with_capacity(argument.len() + 16);
                rewrite_argument(argument, names, 0, &mut inner);
                put_bytes(ARGUMENT, &inner, out);
            }
            _ => out.extend_from_slice(found.bytes),
        }
    }
}

fn rewrite_argument(argument: &[u8], names: &SequenceNames, depth: u32, out: &mut Vec<u8>) {
    for found in Fields::new(argument).flatten() {
        match (found.number, found.value) {
            (ARGUMENT_NAME_IID, Value::Varint(iid)) => {
                let name = names.arguments.get(&iid).map_or("", |name| name);
                put_bytes(ARGUMENT_NAME, name.as_bytes(), out);
            }
            (number @ (ENTRIES | VALUES), Value::Bytes(entry)) if depth < MAX_NESTING => {
                let mut inner = Vec::with_capacity(entry.len() + 16);
                rewrite_argument(entry, names, depth + 1, &mut inner);
                put_bytes(number, &inner, out);
            }
            _ => out.extend_from_slice(found.bytes),
        }
    }
}

/// Keeps the texts of logs, which lie in the packet of their event.
fn put_log_texts(data: &[u8], out: &mut Vec<u8>) {
    let is_log = |number| matches!(number, SOURCE_LOCATIONS | LOG_MESSAGE_BODY);
    let texts: Vec<u8> = Fields::new(data)
        .flatten()
        .filter(|found| is_log(found.number))
        .flat_map(|found| found.bytes.iter().copied())
        .collect();
    if !texts.is_empty() {
        put_bytes(field::INTERNED, &texts, out);
    }
}

fn put_varint(value: u64, out: &mut Vec<u8>) {
    let mut bytes = [0; 10];
    let len = varint(&mut bytes, 0, value);
    out.extend_from_slice(&bytes[..len]);
}

fn put_number(number: u32, value: u64, out: &mut Vec<u8>) {
    put_varint(u64::from(number) << 3, out);
    put_varint(value, out);
}

fn put_bytes(number: u32, bytes: &[u8], out: &mut Vec<u8>) {
    put_varint(u64::from(number) << 3 | 2, out);
    put_varint(bytes.len() as u64, out);
    out.extend_from_slice(bytes);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A packet with the beginning of a slice of a category, or with an end.
    fn slice(track: u64, category: Option<&str>) -> Vec<u8> {
        let (mut event, mut packet) = (Vec::new(), Vec::new());
        put_number(TYPE, if category.is_some() { BEGIN } else { END }, &mut event);
        put_number(field::TRACK, track, &mut event);
        if let Some(category) = category {
            put_bytes(field::CATEGORY, category.as_bytes(), &mut event);
        }
        put_bytes(field::EVENT, &event, &mut packet);
        packet
    }

    fn kept() -> KeptEvents {
        KeptEvents::new(vec![KeptCategories { pattern: "rare".to_owned(), bytes: 1 << 20 }])
    }

    #[test]
    fn the_end_of_a_slice_is_kept_also_behind_more_slices_than_are_noted() {
        let mut events = kept();
        events.packet_evicted(1, &slice(7, Some("rare")), Some(0));
        let deep = MAX_OPEN + 50;
        (0..deep).for_each(|_| assert_eq!(events.packet_evicted(1, &slice(7, Some("noise")), Some(0)), 1));
        (0..deep).for_each(|_| assert_eq!(events.packet_evicted(1, &slice(7, None), Some(0)), 1));
        assert_eq!(events.packet_evicted(1, &slice(7, None), Some(0)), 0);
        assert_eq!(events.packets().len(), 2);
    }

    #[test]
    fn tracks_without_open_slices_take_no_place() {
        let mut events = kept();
        for track in 0..MAX_TRACKS as u64 + 10 {
            assert_eq!(events.packet_evicted(1, &slice(track, Some("rare")), Some(0)), 0, "{track}");
            assert_eq!(events.packet_evicted(1, &slice(track, None), Some(0)), 0, "{track}");
            events.buffers[0].packets.clear();
            events.buffers[0].bytes = 0;
        }
    }
}
