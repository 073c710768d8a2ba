//! What participants leave behind when they go, in whatever order and state: nothing that anybody waits for, and nothing
//! that takes memory.
#![cfg(not(loom))]

mod common;

use std::fs;

use common::{Scratch, numbers, publish, take};
use situ_bus::{History, PublisherQos, RawPublisher, RawSubscriber, Reliability, SubscriberQos, WhenFull};

fn reliable(depth: usize) -> PublisherQos {
    PublisherQos {
        reliability: Reliability::Reliable,
        depth,
        when_full: WhenFull::Fail,
        ..Default::default()
    }
}

fn asks_for_all() -> SubscriberQos {
    SubscriberQos { reliability: Reliability::Reliable, history: History::KeepAll, ..Default::default() }
}

#[test]
fn a_sample_that_outlives_its_subscriber_stops_nobody() {
    let scratch = Scratch::new();
    let node = scratch.node("n");
    let subscriber = RawSubscriber::create(&node, "numbers", &numbers(), asks_for_all()).unwrap();
    let publisher = RawPublisher::create(&node, "numbers", &numbers(), reliable(2)).unwrap();
    publish(&publisher, 5, 1000);
    let sample = subscriber.take().unwrap().unwrap();
    drop(subscriber);
    for value in 0..100 {
        publish(&publisher, value, 1000);
    }
    assert_eq!(sample.body(), [5; 1000], "the sample is still pinned");
    drop(sample);
    drop(publisher);
    drop(node);
    assert_eq!(scratch.files(), Vec::<std::path::PathBuf>::new());
}

#[test]
fn memory_of_publishers_that_left_returns_to_the_system() {
    let scratch = Scratch::new();
    let node = scratch.node("n");
    let subscriber = RawSubscriber::create(&node, "numbers", &numbers(), SubscriberQos::default()).unwrap();
    for value in 0..20 {
        let publisher = RawPublisher::create(&node, "numbers", &numbers(), PublisherQos::default()).unwrap();
        publish(&publisher, value, 1 << 20);
        assert_eq!(take(&subscriber), Some((value, value)));
    }
    let maps = fs::read_to_string("/proc/self/maps").unwrap();
    let mapped = maps
        .lines()
        .filter(|line| line.contains(scratch.0.to_str().unwrap()) && line.contains(".data"))
        .count();
    assert!((1..=2).contains(&mapped), "{mapped} pools are still mapped");
}
