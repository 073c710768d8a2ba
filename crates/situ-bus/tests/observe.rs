//! Watching a topic without taking part in it.
#![cfg(not(loom))]

mod common;

use std::time::Duration;

use common::{Scratch, numbers, publish};
use situ_bus::{Observer, PublisherQos, RawPublisher, inspect, now_ns};

#[test]
fn an_observer_sees_the_newest_message_and_leaves_no_trace() {
    let scratch = Scratch::new();
    let node = scratch.node("n");
    assert!(Observer::open(&scratch.root(), "numbers").unwrap().is_none());
    let publisher = RawPublisher::create(&node, "numbers", &numbers(), PublisherQos::default()).unwrap();
    publish(&publisher, 1, 10);
    let mut observer = Observer::open(&scratch.root(), "numbers").unwrap().unwrap();
    assert_eq!(observer.latest(), None, "it was published before the observer came");
    for value in 1..=5 {
        publish(&publisher, value, 10);
    }
    assert!(observer.has_next());
    let seen = observer.latest().unwrap();
    // 8 bytes of head and 10 of body.
    assert_eq!((seen.sequence, seen.bytes, seen.publisher), (5, 18, node.id()));
    assert!(seen.published_at_ns <= now_ns() && now_ns() - seen.published_at_ns < 60_000_000_000);
    assert_eq!(observer.latest(), None);
    let info = inspect::topic(&scratch.root(), "numbers").unwrap().unwrap();
    assert_eq!((info.subscribers.len(), info.publishers[0].held_slots), (0, 0));
    drop(publisher);
    assert!(!observer.is_current(), "the topic is removed with its last publisher");
}

#[test]
fn an_observer_sleeps_until_something_is_published() {
    let scratch = Scratch::new();
    let node = scratch.node("n");
    let publisher = RawPublisher::create(&node, "numbers", &numbers(), PublisherQos::default()).unwrap();
    let mut observer = Observer::open(&scratch.root(), "numbers").unwrap().unwrap();
    assert!(!Observer::wait_any(&[&observer], Duration::from_millis(20)));
    let other = std::thread::spawn(move || {
        let found = Observer::wait_any(&[&observer], Duration::from_secs(30));
        (found, observer.latest().map(|seen| seen.sequence))
    });
    std::thread::sleep(Duration::from_millis(20));
    publish(&publisher, 7, 0);
    assert_eq!(other.join().unwrap(), (true, Some(0)));
}
