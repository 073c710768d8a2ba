//! Checks every field of a trace against Perfetto's public schema. A number or type of field that the schema
//! does not have at that place is a defect of the writer. Written by hand, like `perfetto.rs`, which skips
//! unknown fields.

/// The type of a field.
#[derive(Clone, Copy)]
enum Kind {
    Varint,
    Fixed64,
    Text,
    Message(&'static [(u64, Kind)]),
    /// An argument within another.
    Annotation,
}

use Kind::{Annotation, Fixed64, Message, Text, Varint};

const TRACE: &[(u64, Kind)] = &[(1, Message(PACKET))];
const PACKET: &[(u64, Kind)] = &[
    (6, Message(CLOCK_SNAPSHOT)),
    (8, Varint),
    (10, Varint),
    (11, Message(TRACK_EVENT)),
    (12, Message(INTERNED_DATA)),
    (13, Varint),
    (35, Message(TRACE_STATS)),
    (42, Varint),
    (58, Varint),
    (59, Message(DEFAULTS)),
    (60, Message(TRACK_DESCRIPTOR)),
    (87, Varint),
    (900, Message(TEST_EVENT)),
];
const TEST_EVENT: &[(u64, Kind)] = &[(1, Text)];
const TRACE_STATS: &[(u64, Kind)] = &[(1, Message(BUFFER_STATS))];
const BUFFER_STATS: &[(u64, Kind)] = &[(9, Varint)];
const CLOCK_SNAPSHOT: &[(u64, Kind)] = &[(1, Message(CLOCK)), (2, Varint)];
const CLOCK: &[(u64, Kind)] = &[(1, Varint), (2, Varint), (3, Varint)];
const TRACK_EVENT: &[(u64, Kind)] = &[
    (3, Varint),
    (4, Message(ANNOTATION)),
    (9, Varint),
    (10, Varint),
    (11, Varint),
    (21, Message(LOG_MESSAGE)),
    (22, Text),
    (23, Text),
    (30, Varint),
    (33, Message(SOURCE_LOCATION)),
    (44, Fixed64),
    (47, Fixed64),
    (48, Fixed64),
];
const LOG_MESSAGE: &[(u64, Kind)] = &[(1, Varint), (2, Varint), (3, Varint)];
const ANNOTATION: &[(u64, Kind)] = &[
    (1, Varint),
    (2, Varint),
    (3, Varint),
    (4, Varint),
    (5, Fixed64),
    (6, Text),
    (7, Varint),
    (10, Text),
    (11, Annotation),
    (12, Annotation),
];
const INTERNED_DATA: &[(u64, Kind)] = &[
    (1, Message(ENTRY)),
    (2, Message(ENTRY)),
    (3, Message(ENTRY)),
    (4, Message(SOURCE_LOCATION)),
    (20, Message(ENTRY)),
];
const SOURCE_LOCATION: &[(u64, Kind)] = &[(1, Varint), (2, Text), (4, Varint)];
const ENTRY: &[(u64, Kind)] = &[(1, Varint), (2, Text)];
const DEFAULTS: &[(u64, Kind)] = &[(11, Message(EVENT_DEFAULTS)), (58, Varint)];
const EVENT_DEFAULTS: &[(u64, Kind)] = &[(11, Varint)];
const TRACK_DESCRIPTOR: &[(u64, Kind)] = &[
    (1, Varint),
    (2, Text),
    (3, Message(PROCESS)),
    (4, Message(THREAD)),
    (5, Varint),
    (8, Message(COUNTER)),
];
const PROCESS: &[(u64, Kind)] = &[(1, Varint), (2, Text), (6, Text)];
const THREAD: &[(u64, Kind)] = &[(1, Varint), (2, Varint), (5, Text)];
const COUNTER: &[(u64, Kind)] = &[(3, Varint)];

/// Panics unless the bytes are a trace that matches the schema.
pub fn check(bytes: &[u8]) {
    message("trace", bytes, TRACE);
}

fn message(place: &str, mut rest: &[u8], known: &[(u64, Kind)]) {
    while !rest.is_empty() {
        let tag = varint(place, &mut rest);
        let (number, wire) = (tag >> 3, tag & 7);
        let place = format!("{place}.{number}");
        let kind = known.iter().find(|(known, _)| *known == number);
        let (_, kind) = kind.unwrap_or_else(|| panic!("no field of the schema: {place}"));
        match (kind, wire) {
            (Varint, 0) => _ = varint(&place, &mut rest),
            (Fixed64, 1) => _ = take(&place, &mut rest, 8),
            (Text | Message(_) | Annotation, 2) => {
                let length = varint(&place, &mut rest);
                let bytes = take(&place, &mut rest, usize::try_from(length).unwrap());
                match kind {
                    Message(known) => message(&place, bytes, known),
                    Annotation => message(&place, bytes, ANNOTATION),
                    _ => _ = std::str::from_utf8(bytes).unwrap_or_else(|e| panic!("{place}: {e}")),
                }
            }
            _ => panic!("{place} has the wire type {wire}"),
        }
    }
}

fn varint(place: &str, rest: &mut &[u8]) -> u64 {
    let mut value = 0;
    for index in 0..10 {
        let byte = take(place, rest, 1)[0];
        value |= u64::from(byte & 0x7f) << (7 * index);
        if byte < 0x80 {
            return value;
        }
    }
    panic!("{place}: a number of more than ten bytes");
}

fn take<'a>(place: &str, rest: &mut &'a [u8], length: usize) -> &'a [u8] {
    let (taken, behind) = rest.split_at_checked(length).unwrap_or_else(|| panic!("{place} is cut off"));
    *rest = behind;
    taken
}
