//! The protobuf reader: messages of prost, protobuf's rules of merging, and bytes that are not a message.

mod peer;

use peer::{COUNT, Everything, Fields as Known, Random};
use prost::Message as _;
use situ_wire::protobuf::kind::{Int32, Uint32};
use situ_wire::protobuf::{
    Fields, Growing, Layout, MAX_READ_LEVELS, ReadProblem, Scattered, Table, Value, WireType, Writer,
};

fn read(bytes: &[u8]) -> Everything {
    Everything::read(&Table::<Known, COUNT>::new(bytes).unwrap()).unwrap()
}

#[test]
fn messages_of_prost_are_read() {
    let mut random = Random(11);
    for _ in 0..200 {
        let message = Everything::random(&mut random, 4);
        assert_eq!(read(&message.encode_to_vec()), message);
    }
}

#[test]
fn wide_lengths_are_read() {
    let message = Everything::random(&mut Random(12), 5);
    let mut buffer = Scattered::new(32);
    let mut writer = Writer::new(&mut buffer);
    message.write(&mut writer.message());
    writer.finish().unwrap();
    assert_eq!(read(&buffer.to_vec()), message);
}

#[test]
fn messages_one_behind_the_other_are_merged() {
    let mut random = Random(13);
    for _ in 0..200 {
        let mut bytes = Vec::new();
        for _ in 0..3 {
            Everything::random(&mut random, 3).encode(&mut bytes).unwrap();
        }
        assert_eq!(read(&bytes), Everything::decode(&*bytes).unwrap());
    }
}

#[test]
fn cut_and_flipped_messages_are_errors_or_messages() {
    let mut random = Random(14);
    let message = Everything::random(&mut random, 2).encode_to_vec();
    for end in 0..message.len() {
        let _ = Table::<Known, COUNT>::new(&message[..end]).map(|it| Everything::read(&it));
    }
    let mut both = 0;
    for _ in 0..5_000 {
        let mut bytes = message.clone();
        for _ in 0..=random.below(3) {
            let at = random.below(bytes.len());
            bytes[at] ^= 1 << random.below(8);
        }
        let ours = Table::<Known, COUNT>::new(&bytes).and_then(|it| Everything::read(&it));
        // Prost refuses known fields with a wrong wire type, which are unknown fields for other
        // implementations, and reads those of maps as entries. If both accept a message, the results are
        // equal.
        if let (Ok(ours), Ok(theirs)) = (ours, Everything::decode(&*bytes)) {
            assert!(ours.encode_to_vec() == theirs.encode_to_vec());
            both += 1;
        }
    }
    assert!(both > 1000, "{both}");
}

/// `oneof { uint32 a = 1; Inner b = 2; int32 c = 3 }` and `oneof { Closed d = 4; Closed e = 5 }`; `Closed`
/// has 1 and 2.
enum Choice {}

impl Layout<5> for Choice {
    const ONEOFS: [(u16, u16); 5] = [(0, 3), (0, 3), (0, 3), (3, 5), (3, 5)];

    fn accepts(slot: usize, number: i32) -> bool {
        slot < 3 || matches!(number, 1 | 2)
    }

    fn slot(number: u32, wire: WireType) -> Option<usize> {
        match (number, wire) {
            (1, WireType::Varint) => Some(0),
            (2, WireType::Bytes) => Some(1),
            (3, WireType::Varint) => Some(2),
            (4, WireType::Varint) => Some(3),
            (5, WireType::Varint) => Some(4),
            _ => None,
        }
    }
}

#[test]
fn the_last_member_of_a_oneof_stays() {
    let bytes = [0x08, 5, 0x12, 2, 0x08, 1, 0x18, 7];
    let it: Table<'_, Choice, 5> = Table::new(&bytes).unwrap();
    assert_eq!((it.get::<Uint32>(0), it.has(1), it.get::<Int32>(2)), (None, false, Some(7)));
    // The second `b` replaces the first, and the third is merged into the second.
    let bytes = [0x12, 2, 0x08, 1, 0x18, 7, 0x12, 2, 0x18, 2, 0x12, 2, 0x18, 3];
    let it: Table<'_, Choice, 5> = Table::new(&bytes).unwrap();
    assert!(!it.has(2));
    let nested = it.nested(1).unwrap().unwrap();
    assert_eq!(nested.bytes(), [0x18, 2, 0x18, 3]);
}

#[test]
fn numbers_that_a_closed_enum_does_not_have_are_unknown_fields() {
    for (bytes, expected, unknown) in [
        (&[0x20, 1, 0x20, 2, 0x20, 9][..], Some(2), 1),
        (&[0x20, 9, 0x20, 1], Some(1), 1),
        (&[0x20, 9], None, 1),
        (&[], None, 0),
        // An unknown field replaces no member of a oneof: see `Choice`.
        (&[0x20, 1, 0x28, 9], Some(1), 1),
        (&[0x20, 1, 0x28, 2], None, 0),
    ] {
        let it: Table<'_, Choice, 5> = Table::new(bytes).unwrap();
        assert_eq!((it.has(3), it.get::<Int32>(3)), (expected.is_some(), expected));
        assert_eq!(it.unknown().count(), unknown);
    }
}

#[test]
fn unknown_fields_are_kept_as_they_are() {
    // A field 15 of bytes, the known 1, a group 9 with a varint, and field 1 of the wrong wire type.
    let bytes = [0x7a, 1, 0xff, 0x08, 3, 0x4b, 0x08, 1, 0x4c, 0x0d, 1, 0, 0, 0];
    let it: Table<'_, Choice, 5> = Table::new(&bytes).unwrap();
    assert_eq!(it.get::<Uint32>(0), Some(3));
    let unknown: Vec<_> = it.unknown().map(|field| (field.number, field.value, field.bytes.len())).collect();
    let expected = [(15, Value::Bytes(&[0xff]), 3), (9, Value::Group(&[8, 1]), 4), (1, Value::Fixed32(1), 5)];
    assert_eq!(unknown, expected);
}

#[test]
fn invalid_messages_are_refused_with_the_place_of_the_fault() {
    let problem = |bytes: &[u8]| {
        let error = Fields::new(bytes).find_map(Result::err).unwrap();
        (error.at, error.problem)
    };
    assert_eq!(problem(&[0x08, 1, 0x08]), (2, ReadProblem::Truncated));
    assert_eq!(problem(&[0x0a, 5, 1]), (0, ReadProblem::Truncated));
    assert_eq!(problem(&[0x0a, 0xff, 0xff, 0xff, 0xff, 0x0f]), (0, ReadProblem::Truncated));
    assert_eq!(problem(&[0x00, 1]), (0, ReadProblem::InvalidTag));
    assert_eq!(problem(&[0x0e, 1]), (0, ReadProblem::InvalidTag));
    assert_eq!(problem(&[0x0c]), (0, ReadProblem::UnexpectedGroupEnd));
    assert_eq!(problem(&[0x0b, 0x14]), (0, ReadProblem::UnexpectedGroupEnd));
    assert_eq!(problem(&[0x0b; 1000]), (0, ReadProblem::TooDeep));
    assert_eq!(problem(&[0x0b]), (0, ReadProblem::Truncated));
    assert_eq!(problem(&[[0x08].as_slice(), &[0xff; 11]].concat()), (0, ReadProblem::LongVarint));
}

#[test]
fn nesting_is_bounded() {
    let nested = |is_group: &dyn Fn(u32) -> bool| {
        (0..2 * MAX_READ_LEVELS).fold(Vec::new(), |bytes, level| {
            if is_group(level) {
                return [&[0xbb, 1], &bytes[..], &[0xbc, 1]].concat();
            }
            let mut outer = Vec::new();
            prost::encoding::bytes::encode(16, &bytes, &mut outer);
            outer
        })
    };
    let messages = [nested(&|_| false), nested(&|level| level % 2 == 1)];
    let read = move || {
        for bytes in messages {
            let error = Everything::read(&Table::new(&bytes).unwrap()).unwrap_err();
            assert_eq!(error.problem, ReadProblem::TooDeep);
        }
    };
    // A frame for a hundred levels of the largest message, without optimization.
    std::thread::Builder::new().stack_size(16 << 20).spawn(read).unwrap().join().unwrap();
    // The ends of groups are checked at once.
    let error = Table::<Known, COUNT>::new(&nested(&|_| true)).unwrap_err();
    assert_eq!(error.problem, ReadProblem::TooDeep);
}

#[test]
fn a_string_that_is_not_utf8_is_refused_with_its_place() {
    let mut buffer = Growing::default();
    let mut writer = Writer::new(&mut buffer);
    writer.message().bytes(14, b"ab\xffcd");
    writer.finish().unwrap();
    let it: Table<'_, Known, COUNT> = Table::new(buffer.written()).unwrap();
    let error = it.string(13).unwrap_err();
    assert_eq!((error.at, error.problem), (4, ReadProblem::NotUtf8));
    assert_eq!(it.bytes(13), Some(&b"ab\xffcd"[..]));
}
