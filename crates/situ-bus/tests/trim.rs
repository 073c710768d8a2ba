//! The memory of a pool that returns to the system: on request, above a mark, and after a while.
#![cfg(not(loom))]

mod common;

use std::os::unix::fs::MetadataExt;
use std::time::{Duration, Instant};

use common::messages::{NoteMut, NoteRegion};
use common::{Scratch, numbers, publish, take};
use situ_bus::{
    Placement, PublishError, PublisherQos, RawPublisher, RawSubscriber, Reliability, SubscriberQos, WhenFull,
};
use situ_memory::Strategy;

const MIB: usize = 1 << 20;

/// The bytes of the pools' files.
fn memory(scratch: &Scratch) -> u64 {
    let data = scratch.files().into_iter().filter(|path| path.extension().is_some_and(|it| it == "data"));
    data.map(|path| path.metadata().unwrap().blocks() * 512).sum()
}

fn joined(scratch: &Scratch, qos: PublisherQos) -> (RawPublisher, RawSubscriber) {
    let node = scratch.node("n");
    let publisher = RawPublisher::create(&node, "numbers", &numbers(), qos).unwrap();
    let subscriber = RawSubscriber::create(&node, "numbers", &numbers(), SubscriberQos::default()).unwrap();
    (publisher, subscriber)
}

/// Makes this many loans of this size at a time, and returns them.
fn burst(publisher: &RawPublisher, loans: usize, size: usize) {
    let loans: Vec<_> = (0..loans).map(|_| publisher.loan(8, 8, size).unwrap()).collect();
    drop(loans);
}

#[test]
fn trim_returns_memory_that_no_subscriber_holds() {
    let scratch = Scratch::new();
    let (publisher, subscriber) = joined(&scratch, PublisherQos { depth: 4, ..Default::default() });
    let mut samples = Vec::new();
    for value in 0..20 {
        publish(&publisher, value, MIB);
        samples.push(subscriber.take().unwrap().unwrap());
    }
    let full = memory(&scratch);
    assert!(full >= 20 * MIB as u64, "{full}");
    // All subscribers have passed them, and each is held.
    assert_eq!(publisher.trim(), 0);
    assert_eq!(memory(&scratch), full);
    let held = samples.split_off(17);
    drop(samples);
    let given = publisher.trim();
    assert!((17 * MIB as u64..=full - 3 * MIB as u64).contains(&given), "{given} of {full}");
    assert_eq!(memory(&scratch), full - given);
    for (sample, value) in held.iter().zip(17u8..) {
        assert!(sample.body_in_place().iter().all(|byte| *byte == value), "{value}");
    }
    assert_eq!(publisher.trim(), 0, "nothing more to return");
    for value in 100..110 {
        publish(&publisher, value, MIB);
        assert_eq!(take(&subscriber), Some((value - 80, value)));
    }
    for (sample, value) in held.iter().zip(17u8..) {
        assert!(sample.body_in_place().iter().all(|byte| *byte == value), "{value}");
    }
}

#[test]
fn trim_keeps_messages_that_can_still_be_taken() {
    let scratch = Scratch::new();
    let (publisher, subscriber) = joined(&scratch, PublisherQos { depth: 4, ..Default::default() });
    for value in 0..9 {
        publish(&publisher, value, MIB);
    }
    // The slot that would be next.
    let given = publisher.trim();
    assert!((MIB as u64..2 * MIB as u64).contains(&given), "{given}");
    assert!(memory(&scratch) >= 4 * MIB as u64);
    for value in 5..9 {
        assert_eq!(take(&subscriber), Some((value, value)));
    }
    assert!(publisher.trim() >= 4 * MIB as u64);
    assert_eq!(memory(&scratch), 0);
}

/// Small slots share pages: all of these are returned with the last of them.
#[test]
fn small_slots_give_whole_pages_back() {
    let scratch = Scratch::new();
    let (publisher, _subscriber) = joined(&scratch, PublisherQos::default());
    let loans: Vec<_> = (0..500).map(|_| publisher.loan(8, 8, 300).unwrap()).collect();
    let (some, kept): (Vec<_>, Vec<_>) = loans.into_iter().enumerate().partition(|(index, _)| index % 2 == 0);
    drop(some);
    publisher.trim();
    drop(kept);
    publisher.trim();
    assert_eq!((memory(&scratch), publisher.memory().bytes), (0, 0));
}

#[test]
fn trim_returns_regions_and_bodies_elsewhere_and_rings() {
    let scratch = Scratch::new();
    let node = scratch.node("n");
    let regions = node.region_publisher::<NoteRegion>("notes").create().unwrap();
    let mut loan = regions.loan().unwrap();
    (0..3 * MIB).for_each(|byte| loan.root_mut().text().push(byte as u8).unwrap());
    drop(loan);
    // Unpublished memory was returned at once, except for some pages.
    assert!(memory(&scratch) > 0);
    assert!(regions.trim() > 0);
    assert_eq!(memory(&scratch), 0);

    let placed = |topic, placement: Placement| {
        RawPublisher::create_in(&node, topic, &numbers(), PublisherQos::default(), &placement).unwrap()
    };
    let domain = "emulated:0".parse().unwrap();
    let bodies = placed("bodies", Placement { domain, ..Placement::default() });
    drop(bodies.loan(8, 8, MIB).unwrap());
    assert!(memory(&scratch) >= MIB as u64);
    assert!(bodies.trim() >= MIB as u64);
    assert_eq!(memory(&scratch), 0);

    let strategy = Strategy::Ring;
    let ring = placed("ring", Placement { strategy, capacity: Some(8 << 20), ..Placement::default() });
    let loan = ring.loan(8, 8, MIB).unwrap();
    assert_eq!(ring.trim(), 0, "a ring is returned as a whole");
    drop(loan);
    assert!(ring.trim() >= MIB as u64);
    assert_eq!(memory(&scratch), 0);
    drop(ring.loan(8, 8, MIB).unwrap());
}

/// A subscriber's copies in its domain.
#[test]
fn a_subscriber_gives_copies_back() {
    let scratch = Scratch::new();
    let node = scratch.node("n");
    let domain = "emulated:0".parse().unwrap();
    let placement = Placement { domain, ..Placement::default() };
    let publisher = RawPublisher::create(&node, "numbers", &numbers(), PublisherQos::default()).unwrap();
    let subscriber =
        RawSubscriber::create_in(&node, "numbers", &numbers(), SubscriberQos::default(), &placement).unwrap();
    for value in 0..5 {
        publish(&publisher, value, MIB);
        drop(subscriber.take().unwrap().unwrap());
    }
    let before = memory(&scratch);
    let given = subscriber.trim();
    assert!(given >= MIB as u64, "{given}");
    assert_eq!(memory(&scratch), before - given);
    publish(&publisher, 6, MIB);
    assert!(subscriber.take().unwrap().is_some());
}

#[test]
fn memory_above_the_limit_is_returned_at_once() {
    let scratch = Scratch::new();
    let mark = Some(12 * MIB as u64);
    let (publisher, subscriber) =
        joined(&scratch, PublisherQos { trim_above: mark, depth: 1, ..Default::default() });
    let held: Vec<_> = (0..6)
        .map(|value| {
            publish(&publisher, value, MIB);
            subscriber.take().unwrap().unwrap()
        })
        .collect();
    drop(held);
    burst(&publisher, 6, MIB);
    assert!(memory(&scratch) >= 6 * MIB as u64, "below the limit the memory stays");
    burst(&publisher, 30, MIB);
    // Lent and published memory does not count as free.
    let left = memory(&scratch);
    assert!((3 * MIB as u64..=12 * MIB as u64).contains(&left), "{left}");
    publish(&publisher, 9, MIB);
    assert_eq!(take(&subscriber), Some((6, 9)));
}

/// Publishes a small message now and then until the memory has the wanted size, or for 20 s.
fn publish_until(publisher: &RawPublisher, done: impl Fn() -> bool) -> bool {
    let start = Instant::now();
    while !done() && start.elapsed() < Duration::from_secs(20) {
        // Also for messages without a time stamp; some of them are observed.
        (0..64).for_each(|_| _ = publish(publisher, 1, 0));
        std::thread::sleep(Duration::from_millis(20));
    }
    done()
}

#[test]
fn memory_that_was_not_needed_for_a_while_is_returned() {
    let goes_back = |stamps| {
        let scratch = Scratch::new();
        let (publisher, subscriber) = joined(&scratch, PublisherQos { depth: 4, ..Default::default() });
        let publisher = if stamps { publisher } else { publisher.without_stamps() };
        publish(&publisher, 7, MIB);
        let sample = subscriber.take().unwrap().unwrap();
        burst(&publisher, 30, MIB);
        assert!(memory(&scratch) >= 31 * MIB as u64);
        assert!(publish_until(&publisher, || memory(&scratch) < 2 * MIB as u64), "{}", memory(&scratch));
        assert!(sample.body_in_place().len() == MIB && sample.body_in_place().iter().all(|byte| *byte == 7));
    };
    std::thread::scope(|scope| {
        scope.spawn(|| goes_back(true));
        goes_back(false);
    });
}

#[test]
fn a_publisher_that_waits_returns_memory_too() {
    let scratch = Scratch::new();
    let qos = PublisherQos {
        reliability: Reliability::Reliable,
        when_full: WhenFull::Block(Some(Duration::from_secs(6))),
        depth: 2,
        ..Default::default()
    };
    let (publisher, _) = joined(&scratch, qos);
    let reliable = SubscriberQos { reliability: Reliability::Reliable, ..Default::default() };
    let _never_takes = RawSubscriber::create(&scratch.node("m"), "numbers", &numbers(), reliable).unwrap();
    burst(&publisher, 30, MIB);
    publish(&publisher, 1, 0);
    publish(&publisher, 2, 0);
    assert!(memory(&scratch) >= 30 * MIB as u64);
    match publisher.loan(8, 8, 0).unwrap().publish() {
        Err(PublishError::Full { .. }) => {}
        other => panic!("{other:?}"),
    }
    assert!(memory(&scratch) < MIB as u64, "{}", memory(&scratch));
}
