//! After a thread's first events, further events neither allocate nor make system calls. This includes events
//! of the bus, and lost events.
#![cfg(not(loom))]

mod common;

use std::os::unix::process::ExitStatusExt;
use std::time::{Duration, Instant};

use common::{Scratch, TIMEOUT, role};
use situ_bus::{Encoding, Node, PublisherQos, RawPublisher, RawSubscriber, SubscriberQos, TypeDescription};
use situ_testkit::allocator::{Calls, CountingAllocator, counting};
use situ_testkit::process::Role;
use situ_testkit::system_calls::{SURVIVED, forbid_system_calls, survive};
use situ_trace::{Collector, category, counter, instant, slice};

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator;

category!(COUNTED, "counted");
category!(UNWANTED, "unwanted");

/// A session with a sleeping collector, so that only the writer runs. At the end the ring is less than half
/// full, or it is far too small.
fn begin(scratch: &Scratch, has_room: bool) -> Collector {
    let collector = scratch.collect(|options| {
        (options.ring_bytes, options.chunk_bytes) = if has_room { (8 << 20, 4096) } else { (4096, 256) };
        options.period = Duration::from_secs(100);
        options.categories = "counted,bus".to_owned();
    });
    situ_trace::join(&scratch.root(), "counted");
    let start = Instant::now();
    while !COUNTED.is_enabled() {
        assert!(start.elapsed() < TIMEOUT, "the session does not begin");
        std::thread::sleep(Duration::from_millis(1));
    }
    collector
}

/// Slices with two arguments and a flow, instants and counters.
fn events(rounds: u64) {
    for round in 0..rounds {
        let _slice = slice!(COUNTED, "plan", flow = round, "goal" => 2.5f64, "round" => round);
        instant!(COUNTED, "found", last_flow = round, "what" => "a way", "deep" => true);
        counter!(COUNTED, "candidates", round);
        instant!(UNWANTED, "never", "round" => round);
    }
}

/// A publisher, and a subscriber that was created before it.
struct Bus {
    publisher: RawPublisher,
    subscriber: RawSubscriber,
}

impl Bus {
    fn new(scratch: &Scratch) -> Self {
        let number = TypeDescription {
            name: "test::Number".to_owned(),
            schema: "module test {\n  struct Number {\n    uint64 value;\n  };\n};\n".to_owned(),
            schema_hash: 0x1234,
            layout_hash: 0x5678,
            encoding: Encoding::Flat,
            fixed_size: 0,
            user_header_size: 0,
        };
        let node = Node::in_root("counted", scratch.root()).unwrap();
        let subscriber = RawSubscriber::create(&node, "counted", &number, SubscriberQos::default()).unwrap();
        let publisher = RawPublisher::create(&node, "counted", &number, PublisherQos::default()).unwrap();
        Self { publisher, subscriber }
    }

    fn messages(&self, rounds: u64) {
        for round in 0..rounds {
            let mut loan = self.publisher.loan(8, 8, 0).unwrap();
            loan.head_bytes().copy_from_slice(&round.to_ne_bytes());
            loan.publish().unwrap();
            assert!(self.subscriber.take().unwrap().is_some());
            assert!(self.subscriber.take().unwrap().is_none());
        }
    }
}

/// Runs `work` once to warm up, and once while counting.
fn allocates_nothing(work: impl Fn()) {
    work();
    // The collector's thread may still be busy for a moment.
    std::thread::sleep(Duration::from_millis(50));
    assert_eq!(counting(work).1, Calls::NONE);
}

#[test]
#[ignore = "played by the children of the other tests"]
fn child() {
    let Some((role, scratch)) = role() else { return };
    match role.as_str() {
        "clock" => {
            situ_trace::now_ns();
            forbid_system_calls();
            situ_trace::now_ns();
            survive();
        }
        "events" => {
            let _collector = begin(&scratch, true);
            allocates_nothing(|| events(1000));
            forbid_system_calls();
            events(1000);
            survive();
        }
        "bus" => {
            let _collector = begin(&scratch, true);
            let bus = Bus::new(&scratch);
            allocates_nothing(|| bus.messages(1000));
            forbid_system_calls();
            bus.messages(1000);
            survive();
        }
        // The event after a loss repeats all descriptions. (The collector must be woken when half of the
        // chunks are taken.)
        "lost" => {
            let collector = begin(&scratch, false);
            allocates_nothing(|| events(1000));
            assert!(collector.stop().unwrap().lost().packets > 0);
            survive();
        }
        other => panic!("no such role: {other}"),
    }
}

#[test]
fn events_neither_allocate_nor_call_the_system() {
    let clock = Role::start(&Scratch::new(), "clock").end(TIMEOUT);
    if clock.signal() == Some(libc::SIGSYS) {
        println!("SKIPPED: to read the time is a system call on this machine");
        return;
    }
    for role in ["events", "bus", "lost"] {
        let status = Role::start(&Scratch::new(), role).end(TIMEOUT);
        assert_eq!(status.code(), Some(SURVIVED), "{role}: {status}");
    }
}
