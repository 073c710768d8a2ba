//! The bytes of an endpoint's record in the file of its node.
//!
//! The normative description is `spec/topic.md`, *Endpoints*. A record is read while its writer may be at
//! work, and from files that any member of a group may write: every number and text in it is checked.

use std::time::Duration;

use situ_layout::foreign::is_name;
use situ_memory::{DomainId, DomainKind};

use super::endpoint_info::{EndpointInfo, EndpointQos, EndpointRole};
use crate::node::endpoint::EndpointId;
use crate::node::liveness::NodeId;
use crate::node::node_file::{MAX_USER_DATA, RECORD_SIZE, Reading};
use crate::qos::{Durability, History, Liveliness, Reliability, nanoseconds};
use crate::topic::Encoding;

/// The offset of the lease, the last of the numbers.
const LEASE: usize = 88;
/// The offset of the texts, which follow the numbers.
const TEXTS: usize = 96;
/// The longest name of a type, in bytes.
const MAX_TYPE_NAME: usize = 544;
/// The greatest number of characters of the name of a topic or a service.
const MAX_NAME: usize = 80;
/// The longest name in bytes. A file name has at most 255 bytes, and each byte beyond ASCII takes three
/// (`%XX`), so a name with such letters has at most 85.
const MAX_NAME_BYTES: usize = 128;

const RELIABLE: u32 = 1;
const TRANSIENT_LOCAL: u32 = 2;
const MANUAL: u32 = 4;

const _: () = assert!(TEXTS + MAX_NAME_BYTES + MAX_TYPE_NAME + MAX_USER_DATA == RECORD_SIZE);

/// The checksum of a record: over the words behind it, the last one filled with zeroes. It is never 0.
fn checksum(bytes: &[u8]) -> u64 {
    let mut sum = bytes.len() as u64;
    for chunk in bytes.chunks(8) {
        let mut word = [0; 8];
        word[..chunk.len()].copy_from_slice(chunk);
        sum = (sum.rotate_left(5) ^ u64::from_le_bytes(word)).wrapping_mul(0x517c_c1b7_2722_0a95);
    }
    sum | 1
}

/// The longest beginning of a text that has at most `most` bytes.
fn cut(text: &str, most: usize) -> &str {
    &text[..(0..=most.min(text.len())).rev().find(|end| text.is_char_boundary(*end)).unwrap_or_default()]
}

/// The record of an endpoint. Its name and user data were checked before.
pub(crate) fn encode(endpoint: &EndpointInfo) -> Vec<u8> {
    let EndpointInfo { id, role, qos, encoding, domain, .. } = endpoint;
    let type_name = cut(&endpoint.type_name, MAX_TYPE_NAME);
    let depth = match qos.history {
        History::KeepLast(number) => number as u64,
        History::KeepAll => 0,
    };
    let flag = |is_set: bool, flag: u32| if is_set { flag } else { 0 };
    let flags = flag(qos.reliability == Reliability::Reliable, RELIABLE)
        | flag(qos.durability == Durability::TransientLocal, TRANSIENT_LOCAL)
        | flag(qos.liveliness == Liveliness::ManualByTopic, MANUAL);
    let texts = [endpoint.name.as_bytes(), type_name.as_bytes(), &endpoint.user_data];
    let mut record = Vec::with_capacity(RECORD_SIZE);
    record.extend([0; 8]);
    for number in [*role as u32, *encoding as u32] {
        record.extend(number.to_le_bytes());
    }
    let domain = u64::from(domain.kind.number()) << 32 | u64::from(domain.number);
    let (deadline, lifespan) = (nanoseconds(qos.deadline), nanoseconds(qos.lifespan));
    let hashes = [endpoint.schema_hash, endpoint.layout_hash];
    for number in [id.number, hashes[0], hashes[1], domain, depth, deadline, lifespan] {
        record.extend(number.to_le_bytes());
    }
    record.extend(flags.to_le_bytes());
    for text in texts {
        record.extend((text.len() as u16).to_le_bytes());
    }
    record.resize(LEASE, 0);
    record.extend(nanoseconds(qos.lease).to_le_bytes());
    texts.iter().for_each(|text| record.extend(*text));
    let sum = checksum(&record[8..]);
    record[..8].copy_from_slice(&sum.to_le_bytes());
    record
}

/// Reads a record of a node's file.
pub(crate) fn decode(node: NodeId, bytes: &[u8]) -> Reading<EndpointInfo> {
    let Some((numbers, texts)) = bytes.split_first_chunk::<TEXTS>() else { return Reading::Nothing };
    let (words, _) = numbers.as_chunks();
    let word = |at: usize| u64::from_le_bytes(words[at / 8]);
    let half = |at: usize| (word(at) >> (at % 8 * 8)) as u32;
    let quarter = |at: usize| usize::from((word(at) >> (at % 8 * 8)) as u16);
    if word(0) == 0 {
        return Reading::Nothing;
    }
    let lengths = [quarter(76), quarter(78), quarter(80)];
    let end = TEXTS + lengths.iter().sum::<usize>();
    if bytes.get(8..end).is_none_or(|covered| checksum(covered) != word(0)) {
        return Reading::Torn;
    }
    let (name, rest) = texts.split_at(lengths[0]);
    let (type_name, rest) = rest.split_at(lengths[1]);
    let user_data = &rest[..lengths[2]];
    let role = EndpointRole::ALL.into_iter().find(|role| *role as u32 == half(8));
    let (Some(role), Some(encoding)) = (role, Encoding::from_number(half(12))) else {
        return Reading::Nothing;
    };
    let (Ok(name), Ok(type_name)) = (std::str::from_utf8(name), std::str::from_utf8(type_name)) else {
        return Reading::Nothing;
    };
    let fits = name.len() <= MAX_NAME_BYTES && type_name.len() <= MAX_TYPE_NAME;
    if !is_name(name, MAX_NAME) || !fits || user_data.len() > MAX_USER_DATA {
        return Reading::Nothing;
    }
    let time = |nanoseconds: u64| (nanoseconds != 0).then(|| Duration::from_nanos(nanoseconds));
    let is_set = |flag: u32| half(72) & flag != 0;
    Reading::Valid(EndpointInfo {
        id: EndpointId { node, number: word(16) },
        role,
        name: name.to_owned(),
        type_name: type_name.to_owned(),
        schema_hash: word(24),
        layout_hash: word(32),
        encoding,
        domain: DomainId { kind: DomainKind::from_number((word(40) >> 32) as u32), number: word(40) as u32 },
        qos: EndpointQos {
            reliability: if is_set(RELIABLE) { Reliability::Reliable } else { Reliability::BestEffort },
            durability: if is_set(TRANSIENT_LOCAL) {
                Durability::TransientLocal
            } else {
                Durability::Volatile
            },
            history: match word(48) {
                0 => History::KeepAll,
                number => History::KeepLast(usize::try_from(number).unwrap_or(usize::MAX)),
            },
            deadline: time(word(56)),
            lifespan: time(word(64)),
            liveliness: if is_set(MANUAL) { Liveliness::ManualByTopic } else { Liveliness::Automatic },
            lease: time(word(LEASE)),
        },
        user_data: user_data.to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use situ_memory::HOST;
    use situ_testkit::Random;

    use super::*;

    const NODE: NodeId = NodeId(0xabc);

    fn endpoint() -> EndpointInfo {
        EndpointInfo {
            id: EndpointId { node: NODE, number: 0x0102_0304_0506_0708 },
            role: EndpointRole::Subscriber,
            name: "add".to_owned(),
            type_name: "t::A".to_owned(),
            schema_hash: 0x11,
            layout_hash: 0x22,
            encoding: Encoding::Xcdr1,
            domain: HOST,
            qos: EndpointQos {
                reliability: Reliability::Reliable,
                durability: Durability::Volatile,
                history: History::KeepLast(5),
                deadline: Some(Duration::from_nanos(9)),
                lifespan: None,
                liveliness: Liveliness::ManualByTopic,
                lease: Some(Duration::from_nanos(77)),
            },
            user_data: vec![7, 0],
        }
    }

    fn valid(bytes: &[u8]) -> Option<EndpointInfo> {
        match decode(NODE, bytes) {
            Reading::Valid(endpoint) => Some(endpoint),
            Reading::Nothing | Reading::Torn => None,
        }
    }

    /// A record with other bytes behind the checksum, and the checksum of these.
    fn changed(at: usize, bytes: &[u8]) -> Vec<u8> {
        let mut record = encode(&endpoint());
        record[at..at + bytes.len()].copy_from_slice(bytes);
        let sum = checksum(&record[8..]);
        record[..8].copy_from_slice(&sum.to_le_bytes());
        record
    }

    #[test]
    fn a_record_lies_as_specified() {
        let record = encode(&endpoint());
        let mut expected = Vec::new();
        expected.extend([2, 0, 0, 0, 2, 0, 0, 0]);
        expected.extend([8, 7, 6, 5, 4, 3, 2, 1]);
        for number in [0x11_u64, 0x22, u64::from(HOST.kind.number()) << 32, 5, 9, 0] {
            expected.extend(number.to_le_bytes());
        }
        // Reliable and manual by topic; the lengths of the texts.
        expected.extend([5, 0, 0, 0, 3, 0, 4, 0, 2, 0]);
        expected.extend([0; 6]);
        expected.extend(77_u64.to_le_bytes());
        expected.extend(b"addt::A\x07\x00");
        assert_eq!(record[8..], expected);
        assert_eq!(valid(&record), Some(endpoint()));
        // What an earlier, longer record has left behind it does not count.
        assert_eq!(valid(&[record, vec![9; 100]].concat()), Some(endpoint()));
        // Worked out by hand for the checksum's first word: the length, rotated, times the constant.
        assert_eq!(checksum(&[]), 1);
        assert_eq!(checksum(&[1]), (33_u64.wrapping_mul(0x517c_c1b7_2722_0a95)) | 1);
    }

    #[test]
    fn a_long_name_of_a_type_is_cut_between_two_characters() {
        let long = EndpointInfo { type_name: format!("x{}", "ö".repeat(400)), ..endpoint() };
        let read = valid(&encode(&long)).unwrap();
        assert_eq!(read, EndpointInfo { type_name: format!("x{}", "ö".repeat(271)), ..endpoint() });
        let largest = EndpointInfo {
            name: "ö".repeat(42),
            type_name: "y".repeat(544),
            user_data: vec![1; 256],
            ..endpoint()
        };
        assert_eq!(valid(&encode(&largest)), Some(largest));
    }

    #[test]
    fn records_of_others_are_checked() {
        assert!(valid(&changed(8, &[4])).is_some(), "a server");
        for (what, record) in [
            ("no role", changed(8, &[0])),
            ("another role", changed(8, &[5])),
            ("another encoding", changed(12, &[9])),
            ("no name", changed(76, &[0, 0, 7])),
            ("a name that controls a terminal", changed(96, b"\x1b")),
            ("no text", changed(96, &[0xff])),
            ("a type without text", changed(99, &[0xff])),
            ("a free slot", vec![0; RECORD_SIZE]),
            ("the end of a file", encode(&endpoint())[..50].to_vec()),
        ] {
            assert!(matches!(decode(NODE, &record), Reading::Nothing), "{what}");
        }
        let mut long_data = changed(80, &[0, 0]);
        long_data.truncate(TEXTS + 7);
        long_data.resize(RECORD_SIZE, 1);
        long_data[80..82].copy_from_slice(&257_u16.to_le_bytes());
        let sum = checksum(&long_data[8..TEXTS + 7 + 257]);
        long_data[..8].copy_from_slice(&sum.to_le_bytes());
        assert!(matches!(decode(NODE, &long_data), Reading::Nothing), "more data than allowed");
        // Lengths that lead out of the record, and a half-written one.
        let mut far = encode(&endpoint());
        far[80..82].copy_from_slice(&[0xff, 0xff]);
        assert!(matches!(decode(NODE, &far), Reading::Torn));
        let mut torn = encode(&endpoint());
        torn[97] ^= 1;
        assert!(matches!(decode(NODE, &torn), Reading::Torn));
        let mut random = Random::seeded("records");
        for _ in 0..2000 {
            let mut bytes = encode(&endpoint());
            bytes.resize(RECORD_SIZE, 0);
            for _ in 0..=random.below(8) {
                let at = random.below(128) as usize;
                bytes[at] = random.number() as u8;
            }
            let end = TEXTS
                + [76, 78, 80]
                    .iter()
                    .map(|at| usize::from(u16::from_le_bytes([bytes[*at], bytes[at + 1]])))
                    .sum::<usize>();
            if random.below(2) == 0 && end <= RECORD_SIZE {
                let sum = checksum(&bytes[8..end]);
                bytes[..8].copy_from_slice(&sum.to_le_bytes());
            }
            if let Some(read) = valid(&bytes) {
                assert!(is_name(&read.name, 80) && read.user_data.len() <= 256);
            }
        }
    }
}
