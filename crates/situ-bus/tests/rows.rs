//! Small messages travel in the row: subscribers read a private copy, and the slot stays the truth.
#![cfg(not(loom))]

mod common;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use common::{Scratch, numbers};
use situ_bus::{
    Durability, History, Node, PublisherQos, RawPublisher, RawSample, RawSubscriber, Reliability,
    SubscriberQos, TakeError, Trust, TypeDescription,
};

const TOPIC: &str = "small";

fn small(size: u32) -> TypeDescription {
    TypeDescription { fixed_size: size, ..numbers() }
}

fn publisher(node: &Node, size: u32, qos: PublisherQos) -> RawPublisher {
    RawPublisher::create(node, TOPIC, &small(size), qos).unwrap()
}

fn subscriber(node: &Node, size: u32, qos: SubscriberQos) -> RawSubscriber {
    RawSubscriber::create(node, TOPIC, &small(size), qos).unwrap()
}

/// The bytes of a message: different for each value and each place.
fn bytes(value: u64, size: usize) -> Vec<u8> {
    (0..size as u64).map(|at| (value.wrapping_mul(31) + at) as u8).collect()
}

fn publish(publisher: &RawPublisher, value: u64, size: usize) -> u64 {
    let mut loan = publisher.loan(size, 8, 0).unwrap();
    loan.head_bytes().copy_from_slice(&bytes(value, size));
    loan.publish().unwrap()
}

fn take(subscriber: &RawSubscriber) -> RawSample {
    subscriber.take().unwrap().expect("it was published")
}

/// Whether a sample lies in a file of the topic, which is its publisher's pool.
fn is_in_slot(scratch: &Scratch, sample: &RawSample) -> bool {
    let directory = scratch.topic(TOPIC).to_str().unwrap().to_owned() + "/";
    let at = sample.head_in_place().as_ptr() as usize;
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
    let line = maps.lines().find(|line| {
        let (begin, end) = line.split(' ').next().unwrap().split_once('-').unwrap();
        let number = |text| usize::from_str_radix(text, 16).unwrap();
        (number(begin)..number(end)).contains(&at)
    });
    line.unwrap().contains(&directory)
}

#[test]
fn messages_of_every_size_up_to_112_bytes_come_by_the_row() {
    for size in [1, 8, 13, 47, 48, 49, 105, 112, 113, 200] {
        let scratch = Scratch::new();
        let node = scratch.node("both");
        let publisher = publisher(&node, size, PublisherQos::default());
        let subscriber = subscriber(&node, size, SubscriberQos::default());
        let before = situ_bus::now_ns();
        for value in 0..3000 {
            assert_eq!(publish(&publisher, value, size as usize), value);
            let sample = take(&subscriber);
            assert_eq!(sample.head_in_place(), bytes(value, size as usize));
            assert_eq!((sample.sequence(), sample.body_size()), (value, 0));
            assert!((before..=situ_bus::now_ns()).contains(&sample.published_at_ns()));
            assert_eq!(sample.publisher(), node.id());
            assert!(!sample.is_copy());
            if value % 500 == 0 {
                assert_eq!(is_in_slot(&scratch, &sample), size > 112, "{size} bytes");
            }
        }
        assert_eq!((subscriber.taken(), subscriber.lost()), (3000, 0));
    }
}

#[test]
fn a_message_of_another_size_with_a_body_or_with_a_lifespan_comes_by_its_slot() {
    let scratch = Scratch::new();
    let node = scratch.node("both");
    let reader = subscriber(&node, 48, SubscriberQos::default());
    let writer = publisher(&node, 48, PublisherQos::default());
    publish(&writer, 1, 48);
    publish(&writer, 2, 40);
    let mut loan = writer.loan(48, 8, 100).unwrap();
    loan.head_bytes().copy_from_slice(&bytes(3, 48));
    loan.body_bytes().fill(7);
    loan.publish().unwrap();
    for (value, size, in_slot) in [(1, 48, false), (2, 40, true), (3, 48, true)] {
        let sample = take(&reader);
        assert_eq!(sample.head_in_place(), bytes(value, size));
        assert_eq!(is_in_slot(&scratch, &sample), in_slot, "message {value}");
    }
    // Each row has copies in some laps and none in others.
    for value in 0..5000 {
        let size = if value / 1024 % 2 == 0 { 48 } else { 32 };
        publish(&writer, value, size);
        assert_eq!(take(&reader).head_in_place(), bytes(value, size), "message {value}");
    }
    drop(writer);
    let lasting = |time| PublisherQos { lifespan: Some(time), ..PublisherQos::default() };
    let writer = publisher(&node, 48, lasting(Duration::from_secs(3600)));
    publish(&writer, 9, 48);
    let sample = take(&reader);
    assert!(is_in_slot(&scratch, &sample));
    drop(writer);
    let writer = publisher(&node, 48, lasting(Duration::from_millis(20)));
    publish(&writer, 10, 48);
    std::thread::sleep(Duration::from_millis(30));
    assert!(reader.take().unwrap().is_none());
    assert_eq!(reader.expired(), 1);
}

#[test]
fn only_a_publisher_that_is_alone_copies() {
    let scratch = Scratch::new();
    let node = scratch.node("both");
    let reader = subscriber(&node, 48, SubscriberQos::default());
    let by_row = |writer: &RawPublisher, value| {
        publish(writer, value, 48);
        let sample = take(&reader);
        assert_eq!(sample.head_in_place(), bytes(value, 48));
        !is_in_slot(&scratch, &sample)
    };
    let first = publisher(&node, 48, PublisherQos::default());
    assert!(by_row(&first, 1));
    let second = publisher(&node, 48, PublisherQos::default());
    assert!(!by_row(&first, 2) && !by_row(&second, 3));
    drop(second);
    assert!(!by_row(&first, 4), "until a publisher joins that is alone");
    drop(first);
    let third = publisher(&node, 48, PublisherQos::default());
    assert!(by_row(&third, 5));
}

#[test]
fn copies_are_kept_while_they_are_held_and_slots_take_over_when_none_is_left() {
    let scratch = Scratch::new();
    let node = scratch.node("both");
    let writer = publisher(&node, 112, PublisherQos::default());
    let reader = subscriber(&node, 112, SubscriberQos::default());
    let held: Vec<_> = (0..150)
        .map(|value| {
            publish(&writer, value, 112);
            take(&reader)
        })
        .collect();
    for value in 150..3000 {
        publish(&writer, value, 112);
        assert_eq!(take(&reader).head_in_place(), bytes(value, 112));
    }
    let in_slots = held.iter().filter(|sample| is_in_slot(&scratch, sample)).count();
    assert!((1..=150 - 65).contains(&in_slots), "{in_slots} of 150 in slots: a batch of 64 needs none");
    drop(reader);
    std::thread::spawn(move || {
        for (value, sample) in held.iter().enumerate() {
            assert_eq!(sample.head_in_place(), bytes(value as u64, 112));
        }
    })
    .join()
    .unwrap();
}

#[test]
fn held_copies_count_towards_the_limit_of_held_samples() {
    let scratch = Scratch::new();
    let node = scratch.node("both");
    let writer = publisher(&node, 48, PublisherQos::default());
    let reader = subscriber(&node, 48, SubscriberQos { max_held: 3, ..SubscriberQos::default() });
    for value in 0..10 {
        publish(&writer, value, 48);
    }
    let mut held: Vec<_> = (0..3).map(|_| take(&reader)).collect();
    assert!(matches!(reader.take(), Err(TakeError::Held { held: 3, most: 3, .. })));
    held.remove(0);
    held.push(take(&reader));
    assert!(reader.take().is_err());
    drop(held);
    assert_eq!(take(&reader).sequence(), 4);
}

#[test]
fn a_span_of_a_copy_is_the_copy() {
    let scratch = Scratch::new();
    let node = scratch.node("both");
    let writer = publisher(&node, 48, PublisherQos::default());
    let reader = subscriber(&node, 48, SubscriberQos::default());
    // So many that their memory does not come from one piece.
    let samples: Vec<_> = (0..40)
        .map(|value| {
            publish(&writer, value, 48);
            take(&reader)
        })
        .collect();
    for (value, sample) in (0..).zip(&samples) {
        assert!(!is_in_slot(&scratch, sample));
        let span = sample.span();
        assert_eq!((span.size(), span.address()), (48, sample.head_in_place().as_ptr() as u64));
        let memory = span.memory().host(span.offset(), 48).unwrap().unwrap();
        // SAFETY: the sample keeps 48 bytes there.
        assert_eq!(unsafe { std::slice::from_raw_parts(memory, 48) }, bytes(value, 48));
        assert!(span.memory().host(span.offset(), 1 << 20).is_err());
    }
}

#[test]
fn a_subscriber_that_trusts_no_publisher_counts_its_copies() {
    let scratch = Scratch::new();
    let node = scratch.node("both");
    let writer = publisher(&node, 48, PublisherQos::default());
    let reader = subscriber(&node, 48, SubscriberQos { trust: Trust::Nobody, ..SubscriberQos::default() });
    publish(&writer, 1, 48);
    let sample = take(&reader);
    assert!(sample.is_copy());
    assert_eq!(sample.head_in_place(), bytes(1, 48));
}

#[test]
fn late_subscribers_and_grown_topics_have_copies_too() {
    let scratch = Scratch::new();
    let node = scratch.node("both");
    let keeps =
        PublisherQos { durability: Durability::TransientLocal, depth: 100, ..PublisherQos::default() };
    let writer = publisher(&node, 48, keeps);
    for value in 0..1500 {
        publish(&writer, value, 48);
    }
    let wants = SubscriberQos {
        durability: Durability::TransientLocal,
        history: History::KeepLast(50),
        ..SubscriberQos::default()
    };
    let late = subscriber(&node, 48, wants.clone());
    for value in 1450..1500 {
        let sample = take(&late);
        assert_eq!(sample.head_in_place(), bytes(value, 48));
        assert!(!is_in_slot(&scratch, &sample));
    }
    // A subscriber that needs more rows than the topic has.
    let deep = subscriber(&node, 48, SubscriberQos { history: History::KeepLast(5000), ..wants });
    for value in 1500..12_000 {
        publish(&writer, value, 48);
        let sample = take(&late);
        assert_eq!(sample.head_in_place(), bytes(value, 48));
        assert!(value % 1000 != 0 || !is_in_slot(&scratch, &sample));
    }
    // Its last 5000, from both rings: all copies are as they were published.
    let mut next = 7000;
    while let Some(sample) = deep.take().unwrap() {
        assert_eq!((sample.sequence(), sample.head_in_place()), (next, &bytes(next, 48)[..]));
        next += 1;
    }
    assert_eq!(next, 12_000);
}

/// A subscriber on another thread is lapped all the time: every message that it gets is whole.
#[test]
fn a_subscriber_that_is_lapped_gets_whole_messages() {
    for (size, reliability) in
        [(48, Reliability::BestEffort), (112, Reliability::BestEffort), (112, Reliability::Reliable)]
    {
        let scratch = Scratch::new();
        let node = scratch.node("writer");
        let reader_node = scratch.node("reader");
        let writer =
            publisher(&node, size, PublisherQos { reliability, depth: 2, ..PublisherQos::default() });
        let done = Arc::new(AtomicBool::new(false));
        let ended = done.clone();
        let reading = std::thread::spawn(move || {
            let history = match reliability {
                Reliability::Reliable => History::KeepAll,
                Reliability::BestEffort => History::KeepLast(1),
            };
            let reader = subscriber(
                &reader_node,
                size,
                SubscriberQos { reliability, history, ..SubscriberQos::default() },
            );
            let mut seen = 0u64;
            while !ended.load(Ordering::Relaxed) {
                if let Some(sample) = reader.take().unwrap() {
                    assert_eq!(sample.head_in_place(), bytes(sample.sequence(), size as usize));
                    seen += 1;
                }
            }
            seen
        });
        let messages = if cfg!(debug_assertions) { 30_000 } else { 1_000_000 };
        for value in 0..messages {
            publish(&writer, value, size as usize);
        }
        std::thread::sleep(Duration::from_millis(20));
        done.store(true, Ordering::Relaxed);
        assert!(reading.join().unwrap() > 0);
    }
}
