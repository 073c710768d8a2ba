//! Files that other programs did not finish, byte by byte from the specification of MCAP.

use std::io::Write;

use situ_record::{End, Filter, Reader};
use situ_testkit::Scratch;

const MAGIC: &[u8] = b"\x89MCAP0\r\n";

fn text(text: &str) -> Vec<u8> {
    [&(text.len() as u32).to_le_bytes(), text.as_bytes()].concat()
}

fn record(kind: u8, content: &[u8]) -> Vec<u8> {
    [&[kind], &(content.len() as u64).to_le_bytes()[..], content].concat()
}

/// A message of channel 1 whose data is 4 KiB of pseudo-random bytes, so that it does not become small.
fn message(number: u32) -> Vec<u8> {
    let time = 1_000 + u64::from(number);
    let mut state = number.wrapping_mul(2_654_435_761) | 1;
    let data: Vec<u8> = (0..4096)
        .map(|_| {
            state ^= state << 13;
            state ^= state >> 17;
            state ^= state << 5;
            state as u8
        })
        .collect();
    let head =
        [&1_u16.to_le_bytes()[..], &number.to_le_bytes(), &time.to_le_bytes(), &time.to_le_bytes()].concat();
    record(5, &[head, data].concat())
}

/// A file as the crate `mcap` leaves it when its program is killed: the chunk states the largest sizes, and
/// the compressed bytes end somewhere.
fn unfinished(compression: &str, compressed: &[u8]) -> Vec<u8> {
    let mut file = MAGIC.to_vec();
    file.extend(record(1, &[text(""), text("mcap-rs")].concat()));
    file.push(6);
    file.extend(u64::MAX.to_le_bytes());
    file.extend(
        [&0_u64.to_le_bytes()[..], &0_u64.to_le_bytes(), &u64::MAX.to_le_bytes(), &u32::MAX.to_le_bytes()]
            .concat(),
    );
    file.extend(text(compression));
    file.extend(u64::MAX.to_le_bytes());
    file.extend(compressed);
    file
}

fn definitions() -> Vec<u8> {
    let schema =
        [&1_u16.to_le_bytes()[..], &text("demo/Raw"), &text("ros2msg"), &text("uint8[] data\n")].concat();
    let channel =
        [&1_u16.to_le_bytes()[..], &1_u16.to_le_bytes(), &text("raw"), &text("cdr"), &0_u32.to_le_bytes()]
            .concat();
    [record(3, &schema), record(4, &channel)].concat()
}

/// How many messages of the file are read, from the first on.
fn read(file: &[u8]) -> u32 {
    let scratch = Scratch::created("unfinished");
    let path = scratch.path().join("unfinished.mcap");
    std::fs::write(&path, file).unwrap();
    let reader = Reader::open(&path).unwrap();
    assert!(matches!(reader.end(), End::Cut { .. }), "{:?}", reader.end());
    let mut count = 0;
    for found in reader.messages(Filter::default()) {
        let found = found.unwrap();
        let expected = message(count);
        assert_eq!((found.sequence, found.data()), (count, &expected[9 + 22..]));
        count += 1;
    }
    assert_eq!(reader.statistics().messages, u64::from(count));
    count
}

#[test]
fn an_unfinished_chunk_is_read_as_far_as_its_bytes_go() {
    const COUNT: u32 = 256;
    let records: Vec<u8> = definitions().into_iter().chain((0..COUNT).flat_map(message)).collect();
    let zstd = {
        let mut encoder = zstd::stream::write::Encoder::new(Vec::new(), 1).unwrap();
        encoder.write_all(&records).unwrap();
        encoder.finish().unwrap()
    };
    let lz4 = {
        let mut encoder = lz4_flex::frame::FrameEncoder::new(Vec::new());
        encoder.write_all(&records).unwrap();
        encoder.finish().unwrap()
    };
    for (compression, bytes) in [("", &records), ("zstd", &zstd), ("lz4", &lz4)] {
        assert_eq!(read(&unfinished(compression, bytes)), COUNT, "{compression}");
        // Blocks have at most 4 MiB with lz4 and 128 KiB with zstd. What is in whole ones is read.
        let half = read(&unfinished(compression, &bytes[..bytes.len() / 2]));
        let least = if compression == "lz4" { 0 } else { COUNT / 2 - 40 };
        assert!((least..=COUNT / 2).contains(&half), "{compression}: {half} of {COUNT}");
        assert_eq!(read(&unfinished(compression, &[])), 0, "{compression}");
        // Damage in the middle: what is read may be damaged, too, because an unfinished chunk has no check
        // sum.
        let mut damaged = bytes.clone();
        let middle = damaged.len() / 2;
        damaged.truncate(middle + 100);
        damaged[middle..].fill(0xff);
        let scratch = Scratch::created("unfinished");
        let path = scratch.path().join("damaged.mcap");
        std::fs::write(&path, unfinished(compression, &damaged)).unwrap();
        let reader = Reader::open(&path).unwrap();
        assert!(reader.messages(Filter::default()).count() <= COUNT as usize / 2 + 1, "{compression}");
    }
}
