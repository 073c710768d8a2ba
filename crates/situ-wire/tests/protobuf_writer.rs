//! The protobuf writer: bytes from protobuf's documentation, and messages compared with prost's, in every
//! buffer.

#[allow(dead_code)] // Half of it is for the reader's tests.
mod peer;

use std::fmt::Write as _;
use std::io::Write as _;

use peer::{Everything, Random};
use prost::Message as _;
use situ_wire::protobuf::{
    Fixed, Growing, MAX_FIELD, MAX_LEVELS, Message, Patch, Piece, Scattered, Streamed, WriteError, Writer,
};

/// Returns the bytes that a closure writes, in one piece.
fn written(fill: impl FnOnce(&mut Message<'_>)) -> Vec<u8> {
    let mut buffer = Growing::default();
    let mut writer = Writer::new(&mut buffer);
    fill(&mut writer.message());
    let length = writer.finish().unwrap();
    assert_eq!(length as usize, buffer.written().len());
    buffer.into_vec()
}

#[test]
fn bytes_are_those_of_the_encoding_guide() {
    // https://protobuf.dev/programming-guides/encoding/
    assert_eq!(written(|it| it.int32(1, 150)), [0x08, 0x96, 0x01]);
    assert_eq!(written(|it| it.string(2, "testing")), b"\x12\x07testing");
    assert_eq!(written(|it| it.message(3).int32(1, 150)), [0x1a, 0x03, 0x08, 0x96, 0x01]);
    assert_eq!(
        written(|it| it.packed_int32(6, &[3, 270, 86942])),
        [0x32, 0x06, 0x03, 0x8e, 0x02, 0x9e, 0xa7, 0x05]
    );
    assert_eq!(written(|it| it.int64(1, -2)), b"\x08\xfe\xff\xff\xff\xff\xff\xff\xff\xff\x01");
    assert_eq!(written(|it| it.sint32(1, -2)), [0x08, 0x03]);
    assert_eq!(written(|it| it.bool(MAX_FIELD, true)), [0xf8, 0xff, 0xff, 0xff, 0x0f, 1]);
    assert_eq!(written(|it| it.double(1, -0.0)), [0x09, 0, 0, 0, 0, 0, 0, 0, 0x80]);
    assert_eq!(written(|it| it.sfixed32(1, -1)), [0x0d, 0xff, 0xff, 0xff, 0xff]);
    assert_eq!(written(|it| drop(it.message(1))), [0x0a, 0]);
    assert_eq!(written(|it| it.packed_fixed::<u64>(1, &[])), []);
    assert_eq!(written(|it| it.packed_sint64(1, &[])), []);
    assert_eq!(written(|it| it.packed_fixed(1, &[1u32, 2])), [0x0a, 8, 1, 0, 0, 0, 2, 0, 0, 0]);
    assert_eq!(written(|it| it.packed_bool(1, &[true, false])), [0x0a, 2, 1, 0]);
    assert_eq!(written(|it| it.group(3).int32(1, 150)), [0x1b, 0x08, 0x96, 0x01, 0x1c]);
    assert_eq!(
        written(|it| drop(it.group(MAX_FIELD).group(1))),
        b"\xfb\xff\xff\xff\x0f\x0b\x0c\xfc\xff\xff\xff\x0f"
    );
}

#[test]
fn in_one_piece_messages_are_prost_s_to_the_byte() {
    let mut random = Random(1);
    for _ in 0..300 {
        let message = Everything::random(&mut random, 4);
        assert_eq!(written(|it| message.write(it)), message.encode_to_vec());
    }
}

#[test]
fn a_writer_of_several_messages_stores_widths_and_stays_minimal() {
    // Lengths of 1, 2 and 3 bytes in turn, so that the expected width is wrong in both directions.
    let lengths = [5, 200, 200, 20_000, 3, 70_000, 127, 128, 16_383, 16_384, 0];
    let bytes = written(|it| {
        for length in lengths {
            it.message(1).message(2).raw(&vec![0; length]);
        }
    });
    let mut expected = Vec::new();
    for length in lengths {
        let mut inner = Vec::new();
        prost::encoding::bytes::encode(2, &vec![0; length], &mut inner);
        prost::encoding::bytes::encode(1, &inner, &mut expected);
    }
    assert_eq!(bytes, expected);
}

#[test]
fn a_fixed_array_may_be_filled_to_its_last_byte() {
    let mut random = Random(2);
    for _ in 0..100 {
        let message = Everything::random(&mut random, 3);
        let expected = message.encode_to_vec();
        let mut memory = vec![0; expected.len()];
        let mut buffer = Fixed::new(&mut memory);
        let mut writer = Writer::new(&mut buffer);
        message.write(&mut writer.message());
        assert_eq!(writer.finish(), Ok(expected.len() as u64));
        assert_eq!(buffer.written(), expected);
        // One byte less is too few, wherever the buffer ends.
        for less in 1..=expected.len().min(40) {
            let mut memory = vec![0; expected.len() - less];
            let mut buffer = Fixed::new(&mut memory);
            let mut writer = Writer::new(&mut buffer);
            message.write(&mut writer.message());
            assert!(matches!(writer.finish(), Err(WriteError::Full { .. })), "{less} bytes less");
            assert_eq!(buffer.written(), []);
        }
    }
}

#[test]
fn chunks_of_every_size_hold_the_same_message() {
    let mut random = Random(3);
    for round in 0..20 {
        let message = Everything::random(&mut random, 5);
        let expected = message.encode_to_vec();
        for size in (5..80).chain([100, 127, 128, 200, 333, 1000, 4096, 100_000]) {
            let mut buffer = Scattered::new(size);
            let mut writer = Writer::new(&mut buffer);
            message.write(&mut writer.message());
            let length = writer.finish().unwrap() as usize;
            let bytes = buffer.to_vec();
            assert_eq!(bytes.len(), length);
            assert_eq!(Everything::decode(&*bytes).unwrap(), message, "round {round}, chunks of {size}");
            // Only messages that cross chunks are longer than their minimal form.
            if size > expected.len() + 5 * 40 {
                assert_eq!(bytes, expected);
            }
        }
    }
}

#[test]
fn a_stream_gives_the_same_bytes_as_chunks_and_its_patches_later() {
    let message = Everything::random(&mut Random(4), 5);
    for room in [1, 3, 100] {
        let mut whole = Scattered::new(50);
        let mut writer = Writer::new(&mut whole);
        message.write(&mut writer.message());
        writer.finish().unwrap();

        let mut given: Vec<Vec<u8>> = Vec::new();
        let (mut pending, mut applied) = (0, 0);
        let (mut memory, mut patches) = ([0; 50], vec![Patch::default(); room]);
        let mut buffer = Streamed::new(&mut memory, &mut patches, |piece| match piece {
            Piece::Chunk { number, bytes, pending: more } => {
                assert_eq!(number as usize, given.len());
                given.push(bytes.to_vec());
                pending += more;
            }
            Piece::Patches(patches) => {
                assert!(patches.len() <= room);
                applied += patches.len();
                for patch in patches {
                    let slot = &given[patch.chunk as usize][patch.offset as usize..][..5];
                    assert_eq!(slot, [0x80, 0x80, 0x80, 0x80, 0], "until then the length is zero");
                    patch.apply(&mut given[patch.chunk as usize]);
                }
            }
        });
        let mut writer = Writer::new(&mut buffer);
        message.write(&mut writer.message());
        writer.finish().unwrap();
        assert_eq!((given.concat(), applied), (whole.to_vec(), pending));
        assert!(applied > 10);
    }
}

#[test]
fn lengths_are_wide_only_where_a_message_crosses() {
    let mut buffer = Scattered::new(16);
    let mut writer = Writer::new(&mut buffer);
    let mut message = writer.message();
    {
        let mut outer = message.message(1);
        outer.string(1, "abcdefghijklmnop");
        outer.message(2).bool(1, true);
    }
    message.message(3).bool(1, false);
    drop(message);
    writer.finish().unwrap();
    // 5 wide bytes for the outer message, which holds 1 + 1 + 16 + 4 bytes. 1 byte for each message that does
    // not cross.
    let expected = b"\x0a\x96\x80\x80\x80\x00\x0a\x10abcdefghijklmnop\x12\x02\x08\x01\x1a\x02\x08\x00";
    assert_eq!(buffer.to_vec(), expected);
}

#[test]
fn text_and_bytes_in_pieces() {
    let bytes = written(|it| {
        let mut text = it.text_in_pieces(1);
        write!(text, "a-{:03}", 7).unwrap();
        text.push("!");
        drop(text);
        it.bytes_in_pieces(2).write_all(&[9, 8]).unwrap();
        let mut packed = it.packed(3);
        packed.fixed(1.5f32);
        packed.fixed(-1.0f32);
    });
    assert_eq!(bytes, b"\x0a\x06a-007!\x12\x02\x09\x08\x1a\x08\0\0\xc0\x3f\0\0\x80\xbf");
}

#[test]
fn messages_nest_to_the_last_level() {
    fn nest(message: &mut Message<'_>, levels: usize) {
        if levels > 0 {
            let mut child = message.message(1);
            child.bool(2, true);
            nest(&mut child, levels - 1);
        }
    }
    for size in [5, 16, 64, 100_000] {
        let mut buffer = Scattered::new(size);
        let mut writer = Writer::new(&mut buffer);
        nest(&mut writer.message(), MAX_LEVELS);
        writer.finish().unwrap();
        let bytes = buffer.to_vec();
        let mut rest = &bytes[..];
        for _ in 0..MAX_LEVELS {
            assert_eq!(prost::encoding::decode_key(&mut rest).unwrap().0, 1);
            assert_eq!(prost::encoding::decode_varint(&mut rest).unwrap() as usize, rest.len());
            assert_eq!(rest[..2], [0x10, 1]);
            rest = &rest[2..];
        }
        assert_eq!(rest, []);

        let mut writer = Writer::new(&mut buffer);
        nest(&mut writer.message(), MAX_LEVELS + 1);
        assert_eq!(writer.finish(), Err(WriteError::TooDeep));
        fn groups(message: &mut Message<'_>, levels: usize) {
            if levels > 0 {
                groups(&mut message.group(1), levels - 1);
            }
        }
        let mut writer = Writer::new(&mut buffer);
        groups(&mut writer.message(), MAX_LEVELS);
        assert_eq!(writer.finish(), Ok(2 * MAX_LEVELS as u64));
        assert_eq!(buffer.to_vec(), [[0x0b; MAX_LEVELS], [0x0c; MAX_LEVELS]].concat());
        let mut writer = Writer::new(&mut buffer);
        groups(&mut writer.message(), MAX_LEVELS + 1);
        assert_eq!(writer.finish(), Err(WriteError::TooDeep));
    }
}

#[test]
fn mistakes_are_reported_at_the_end() {
    for field in [0, MAX_FIELD + 1, u32::MAX] {
        let mut buffer = Growing::default();
        let mut writer = Writer::new(&mut buffer);
        let mut message = writer.message();
        message.message(field).bool(1, true);
        message.group(field).bool(1, true);
        message.int32(1, 1);
        drop(message);
        assert_eq!(writer.finish(), Err(WriteError::InvalidField { field }));
    }
    let mut buffer = Scattered::new(4);
    let mut writer = Writer::new(&mut buffer);
    writer.message().message(1).bool(1, true);
    assert_eq!(writer.finish(), Err(WriteError::ChunkTooSmall { length: 4 }));
    let mut buffer = Fixed::new(&mut []);
    let mut writer = Writer::new(&mut buffer);
    writer.message().bool(1, true);
    assert_eq!(writer.finish(), Err(WriteError::Full { written: 0 }));
}

#[test]
fn a_writer_can_begin_again() {
    let mut buffer = Growing::default();
    let mut writer = Writer::new(&mut buffer);
    writer.message().string(1, &"x".repeat(1000));
    assert_eq!(writer.finish(), Ok(1003));
    writer.message().bool(1, true);
    assert_eq!(writer.finish(), Err(WriteError::Finished));
    writer.restart();
    writer.message().message(1).bool(1, true);
    assert_eq!(writer.finish(), Ok(4));
    assert_eq!(buffer.written(), [0x0a, 2, 8, 1]);
}

#[test]
fn a_leaked_handle_ends_with_its_parent() {
    let bytes = written(|it| {
        let mut parent = it.message(1);
        std::mem::forget(parent.message(2));
        parent.bool(3, true);
    });
    assert_eq!(bytes, [0x0a, 4, 0x12, 2, 0x18, 1]);
    let bytes = written(|it| {
        let mut parent = it.group(1);
        std::mem::forget(parent.group(2));
        parent.bool(3, true);
    });
    assert_eq!(bytes, [0x0b, 0x13, 0x18, 1, 0x14, 0x0c]);
}

#[test]
fn a_message_of_256_mebibytes_through_chunks_of_4_kibibytes() {
    const RECORDS: usize = 1 << 18;
    let record: Vec<u8> = (0..1018u32).map(|it| (it * 7) as u8).collect();
    // Every level crosses chunks. Records cross at the ends of chunks.
    let mut given = Vec::with_capacity(280 << 20);
    let mut starts = Vec::with_capacity(80_000);
    let (mut memory, mut patches) = ([0; 4096], [Patch::default(); 8]);
    let mut buffer = Streamed::new(&mut memory, &mut patches, |piece| match piece {
        Piece::Chunk { bytes, .. } => {
            starts.push(given.len());
            given.extend_from_slice(bytes);
        }
        Piece::Patches(patches) => {
            patches.iter().for_each(|patch| patch.apply(&mut given[starts[patch.chunk as usize]..]))
        }
    });
    let mut writer = Writer::new(&mut buffer);
    {
        let mut root = writer.message();
        let mut outer = root.message(1);
        let mut inner = outer.message(2);
        for number in 0..RECORDS {
            let mut each = inner.message(3);
            each.uint64(1, number as u64);
            each.bytes(2, &record);
        }
    }
    let length = writer.finish().unwrap();
    assert!(length > 256 << 20, "{length}");
    assert_eq!(given.len() as u64, length);

    // An independent computation: the minimal lengths, and where wide ones are allowed.
    let mut at = 0;
    let varint = |at: &mut usize| {
        let mut rest = &given[*at..];
        let value = prost::encoding::decode_varint(&mut rest).unwrap();
        let width = given.len() - *at - rest.len();
        *at += width;
        (value as usize, width)
    };
    for tag in [0x0a, 0x12] {
        assert_eq!(varint(&mut at), (tag, 1));
        let (length, width) = varint(&mut at);
        assert_eq!((length, width), (given.len() - at, 5));
    }
    let mut wide = 0;
    for number in 0..RECORDS {
        assert_eq!(varint(&mut at), (0x1a, 1));
        let begin = at;
        let (length, width) = varint(&mut at);
        let end = at + length;
        let chunk = starts.partition_point(|start| *start <= begin);
        let crosses = starts.get(chunk).is_some_and(|next| *next < end);
        assert_eq!(width, if crosses { 5 } else { 2 }, "record {number} from {begin} to {end}");
        wide += usize::from(crosses);
        assert_eq!((varint(&mut at).0, varint(&mut at).0), (0x08, number));
        assert_eq!((varint(&mut at).0, varint(&mut at).0), (0x12, record.len()));
        assert_eq!(given[at..at + record.len()], record);
        at += record.len();
        assert_eq!(at, end);
    }
    assert_eq!(at, given.len());
    assert!(wide > 50_000, "{wide}");
}
