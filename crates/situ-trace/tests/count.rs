//! After a writer's first packet, packets neither allocate nor make system calls, whether they fit, cross
//! chunks, or are lost.
#![cfg(not(loom))]

mod common;

use std::os::unix::process::ExitStatusExt;
use std::time::Duration;

use common::{Scratch, TIMEOUT, role, write};
use situ_testkit::allocator::{Calls, CountingAllocator, counting};
use situ_testkit::process::Role;
use situ_testkit::system_calls::{SURVIVED, forbid_system_calls, survive};
use situ_trace::{Collector, Producer, Writer};

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator;

/// A session with a sleeping collector, so that only the writer runs. At the end the ring is less than half
/// full.
fn begin(scratch: &Scratch) -> (Collector, Producer, Writer) {
    let collector = scratch.collect(|options| {
        (options.ring_bytes, options.chunk_bytes) = (8 << 20, 1024);
        options.period = Duration::from_secs(100);
    });
    let producer = scratch.producer("counted");
    let mut writer = producer.writer();
    assert!(write(&mut writer, 0, 10, 3));
    // The collector may still be busy for a moment.
    std::thread::sleep(Duration::from_millis(100));
    (collector, producer, writer)
}

/// Small packets that fill many chunks, packets that move, and packets that cross chunks with many lengths to
/// patch.
fn work(writer: &mut Writer) {
    for number in 0..10_000 {
        assert!(write(writer, number, (number % 50) as usize, 2));
    }
    for number in 0..200 {
        assert!(write(writer, number, 3000, 30));
    }
    assert!(write(writer, 7, 100_000, 100));
    writer.flush();
    assert!(write(writer, 8, 1, 0));
}

/// The same, with all packets lost.
fn lose(writers: &mut [Writer]) {
    let last = writers.last_mut().unwrap();
    for number in 0..10_000 {
        assert!(write(last, number, 5000 * usize::from(number % 100 == 0), 20));
    }
    assert_eq!(last.finished(), 0);
}

/// One writer more than there are entries.
fn too_many_writers(producer: &Producer) -> Vec<Writer> {
    let mut writers: Vec<_> = (0..1024).map(|_| producer.writer()).collect();
    for writer in &mut writers {
        assert_ne!(writer.state_epoch(), 0);
    }
    writers
}

#[test]
fn packets_do_not_allocate() {
    let scratch = Scratch::new();
    let (collector, producer, mut writer) = begin(&scratch);
    assert_eq!(counting(|| work(&mut writer)).1, Calls::NONE);
    assert_eq!(writer.lost().packets, 0);
    let mut writers = too_many_writers(&producer);
    assert_eq!(counting(|| lose(&mut writers)).1, Calls::NONE);
    let summary = collector.stop().unwrap();
    assert_eq!((summary.packets, summary.lost().packets), (10_203, 10_000));
    let counted = counting(|| drop(std::hint::black_box(vec![1u8; 64]))).1;
    assert_eq!(counted, Calls { allocated: 1, bytes: 64, freed: 1 }, "the counter works");
}

#[test]
#[ignore = "played by the children of the other tests"]
fn child() {
    let Some((role, scratch)) = role() else { return };
    let (_collector, producer, mut writer) = begin(&scratch);
    let mut writers = if role == "lose" { too_many_writers(&producer) } else { Vec::new() };
    forbid_system_calls();
    match role.as_str() {
        "write" => work(&mut writer),
        "lose" => lose(&mut writers),
        "call" => _ = std::os::unix::process::parent_id(),
        other => panic!("no such role: {other}"),
    }
    survive();
}

#[test]
fn packets_do_not_call_the_system() {
    for role in ["write", "lose", "call"] {
        let status = Role::start(&Scratch::new(), role).end(TIMEOUT);
        if role == "call" {
            assert_eq!(status.signal(), Some(libc::SIGSYS), "the guard catches system calls: {status}");
        } else {
            assert_eq!(status.code(), Some(SURVIVED), "{role}: {status}");
        }
    }
}
