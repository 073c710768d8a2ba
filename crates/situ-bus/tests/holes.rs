//! Messages at offsets without memory: a reader gets an error.
#![cfg(not(loom))]

mod common;

use std::fs::{File, OpenOptions};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::PathBuf;

use common::{Scratch, numbers, publish, take};
use situ_bus::{Limits, RawPublisher, RawSubscriber, SubscriberQos, TakeError};
use situ_memory::{MemoryError, ViewError};

fn file(scratch: &Scratch, extension: &str) -> File {
    let is_it = |path: &PathBuf| path.extension().is_some_and(|it| it == extension);
    let path = scratch.files().into_iter().find(is_it).unwrap();
    OpenOptions::new().read(true).write(true).open(path).unwrap()
}

/// A topic with a message, and the place of its slot in the pool's directory.
fn published(scratch: &Scratch, body: usize) -> (RawPublisher, RawSubscriber) {
    let node = scratch.node("n");
    let publisher = RawPublisher::create(&node, "numbers", &numbers(), Default::default()).unwrap();
    let limits = Limits { message: 64 << 30, ..Limits::default() };
    let qos = SubscriberQos { limits, ..Default::default() };
    let subscriber = RawSubscriber::create(&node, "numbers", &numbers(), qos).unwrap();
    publish(&publisher, 7, body);
    (publisher, subscriber)
}

/// Where the first slot's control says where its bytes lie: `spec/pool.md`.
const OFFSET: u64 = 128 + 8;

/// A peer's change of the control: the slot lies behind everything else and is arbitrarily large, and the
/// file grows at no cost.
#[test]
fn a_forged_control_does_not_make_a_reader_find_memory() {
    const FORGED: u64 = 3 << 30;
    let scratch = Scratch::new();
    let (_publisher, subscriber) = published(&scratch, 100);
    let (pool, data) = (file(&scratch, "pool"), file(&scratch, "data"));
    let end = data.metadata().unwrap().len();
    data.set_len(end + FORGED).unwrap();
    let (offset, len) = (end.next_multiple_of(4096), FORGED - 4096);
    pool.write_all_at(&offset.to_le_bytes(), OFFSET).unwrap();
    pool.write_all_at(&len.to_le_bytes(), OFFSET + 8).unwrap();
    let before = data.metadata().unwrap().blocks();
    match subscriber.take() {
        Err(TakeError::Pool {
            source: ViewError::Memory(MemoryError::Hole { offset: at, end, .. }), ..
        }) => {
            assert_eq!((at, end), (offset, offset + 64), "the descriptor's");
        }
        other => panic!("{other:?}"),
    }
    assert_eq!(data.metadata().unwrap().blocks(), before, "nothing was read there");
}

/// The descriptor exists and names a missing body.
#[test]
fn a_forged_descriptor_does_not_make_a_reader_find_memory() {
    const FORGED: u64 = 3 << 30;
    let scratch = Scratch::new();
    let (publisher, subscriber) = published(&scratch, 100);
    let (pool, data) = (file(&scratch, "pool"), file(&scratch, "data"));
    let mut entry = [0; 8];
    pool.read_exact_at(&mut entry, OFFSET).unwrap();
    let offset = u64::from_le_bytes(entry);
    data.set_len(data.metadata().unwrap().len() + FORGED).unwrap();
    pool.write_all_at(&FORGED.to_le_bytes(), OFFSET + 8).unwrap();
    // The size of the body, behind the time stamp, the publisher and the size of the head.
    let mut descriptor = [0; 64];
    data.read_exact_at(&mut descriptor, offset).unwrap();
    let words: Vec<u64> = descriptor.as_chunks().0.iter().map(|word| u64::from_le_bytes(*word)).collect();
    let at = words.iter().position(|word| *word == 100).unwrap() as u64 * 8;
    data.write_all_at(&(FORGED - 4096).to_le_bytes(), offset + at).unwrap();
    let before = data.metadata().unwrap().blocks();
    match subscriber.take() {
        Err(TakeError::Pool { source: ViewError::Memory(MemoryError::Hole { .. }), .. }) => {}
        other => panic!("{other:?}"),
    }
    assert_eq!(data.metadata().unwrap().blocks(), before, "nothing was read there");
    drop(publisher);
}

/// Unwritten bodies have memory, and are no holes.
#[test]
fn a_body_that_was_never_written_is_taken() {
    let scratch = Scratch::new();
    let (publisher, subscriber) = published(&scratch, 10);
    assert!(take(&subscriber).is_some());
    for size in [1 << 20, 3 << 20, 100, 5 << 20] {
        for _ in 0..3 {
            publisher.loan(8, 8, size).unwrap().publish().unwrap();
            let sample = subscriber.take().unwrap().unwrap();
            assert_eq!(sample.body().len(), size);
        }
    }
}
