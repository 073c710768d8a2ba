//! Several messages published or taken by one call.
#![cfg(not(loom))]

mod common;

use std::time::Duration;

use common::messages::{Pose, publish_pose, take_pose};
use common::{Scratch, numbers, publish, take};
use situ_bus::{
    History, Node, PublishError, PublisherQos, RawLoan, RawPublisher, RawSample, RawSubscriber, Reliability,
    SubscriberQos, TakeError, TypeDescription, WhenFull,
};

const TOPIC: &str = "numbers";

fn publisher_of(node: &Node, description: &TypeDescription, depth: usize) -> RawPublisher {
    let qos = PublisherQos {
        reliability: Reliability::Reliable,
        depth,
        when_full: WhenFull::Fail,
        ..Default::default()
    };
    RawPublisher::create(node, TOPIC, description, qos).unwrap()
}

fn subscriber_of(node: &Node, description: &TypeDescription) -> RawSubscriber {
    let qos =
        SubscriberQos { reliability: Reliability::Reliable, history: History::KeepAll, ..Default::default() };
    RawSubscriber::create(node, TOPIC, description, qos).unwrap()
}

fn lend(publisher: &RawPublisher, value: u64, body: usize) -> RawLoan<'_> {
    let mut loan = publisher.loan(8, 8, body).unwrap();
    loan.head_bytes().copy_from_slice(&value.to_ne_bytes());
    loan.body_bytes().fill(value as u8);
    loan
}

fn values(samples: &[RawSample]) -> Vec<(u64, u64)> {
    let value = |sample: &RawSample| u64::from_ne_bytes(sample.head_in_place().try_into().unwrap());
    samples.iter().map(|sample| (sample.sequence(), value(sample))).collect()
}

/// Messages in slots, and messages that travel in rows.
fn both() -> [(TypeDescription, usize); 2] {
    [(numbers(), 100), (TypeDescription { fixed_size: 8, ..numbers() }, 0)]
}

#[test]
fn a_batch_is_taken_in_order() {
    for (description, body) in both() {
        let scratch = Scratch::new();
        let node = scratch.node("n");
        let (publisher, subscriber) =
            (publisher_of(&node, &description, 64), subscriber_of(&node, &description));
        assert_eq!(publisher.publish_all(&mut Vec::new()).unwrap(), None);
        let mut loans: Vec<_> = (0..40).map(|value| lend(&publisher, value * 3, body)).collect();
        assert_eq!(publisher.publish_all(&mut loans).unwrap(), Some(39));
        assert!(loans.is_empty());
        let mut samples = Vec::new();
        assert_eq!(subscriber.take_many(0, &mut samples).unwrap(), 0);
        assert_eq!(subscriber.take_many(7, &mut samples).unwrap(), 7);
        assert_eq!(take_value(&subscriber), Some((7, 21)));
        assert_eq!(subscriber.take_many(100, &mut samples).unwrap(), 32);
        assert_eq!(subscriber.take_many(100, &mut samples).unwrap(), 0);
        let expected = (0..40).filter(|number| *number != 7).map(|number| (number, number * 3));
        assert_eq!(values(&samples), expected.collect::<Vec<_>>());
        assert_eq!((subscriber.taken(), subscriber.lost()), (40, 0));
        let sequences: Vec<_> = samples.iter().map(RawSample::publisher_sequence).collect();
        assert_eq!((sequences[0], sequences[38]), (0, 39));
        assert!(samples.iter().all(|sample| sample.published_at_ns() == samples[0].published_at_ns()));
        // Their slots come back.
        drop(samples);
        for value in 0..200 {
            publish_one(&publisher, value, body);
            assert_eq!(take_value(&subscriber).map(|taken| taken.1), Some(value));
        }
        assert!(publisher.memory().in_use < 100, "{:?}", publisher.memory());
    }
}

fn publish_one(publisher: &RawPublisher, value: u64, body: usize) -> u64 {
    lend(publisher, value, body).publish().unwrap()
}

fn take_value(subscriber: &RawSubscriber) -> Option<(u64, u64)> {
    subscriber.take().unwrap().map(|sample| values(&[sample])[0])
}

#[test]
fn what_has_no_room_stays_with_the_caller() {
    for (description, body) in both() {
        let scratch = Scratch::new();
        let node = scratch.node("n");
        let (publisher, subscriber) =
            (publisher_of(&node, &description, 4), subscriber_of(&node, &description));
        let mut loans: Vec<_> = (0..10).map(|value| lend(&publisher, value, body)).collect();
        for published in [4, 8] {
            assert!(matches!(publisher.publish_all(&mut loans), Err(PublishError::Full { .. })));
            assert_eq!(loans.len(), 10 - published);
            // The cursor moves for the publisher when the batch is taken.
            let mut samples = Vec::new();
            assert_eq!(subscriber.take_many(100, &mut samples).unwrap(), 4);
            let first = published as u64 - 4;
            assert_eq!(values(&samples), (first..first + 4).map(|at| (at, at)).collect::<Vec<_>>());
        }
        assert_eq!(publisher.publish_all(&mut loans).unwrap(), Some(9));
        drop(lend(&publisher, 77, body));
        assert_eq!(take_value(&subscriber), Some((8, 8)));
        assert_eq!(take_value(&subscriber), Some((9, 9)));
        assert_eq!(take_value(&subscriber), None);
    }
}

#[test]
fn a_batch_that_waits_for_room_wakes_the_subscriber_first() {
    let scratch = Scratch::new();
    let node = scratch.node("n");
    let qos = PublisherQos {
        reliability: Reliability::Reliable,
        depth: 4,
        when_full: WhenFull::Block(Some(Duration::from_secs(60))),
        ..Default::default()
    };
    let publisher = RawPublisher::create(&node, TOPIC, &numbers(), qos).unwrap();
    std::thread::scope(|scope| {
        let (ready, joined) = std::sync::mpsc::channel();
        let node = node.clone();
        let taking = scope.spawn(move || {
            let subscriber = subscriber_of(&node, &numbers());
            ready.send(()).unwrap();
            let (mut samples, mut next) = (Vec::new(), 0);
            while next < 1000 {
                subscriber.wait(None);
                let taken = subscriber.take_many(3, &mut samples).unwrap() as u64;
                assert_eq!(values(&samples), (next..next + taken).map(|at| (at, at)).collect::<Vec<_>>());
                next += taken;
                samples.clear();
            }
        });
        joined.recv().unwrap();
        for batch in 0..100 {
            let mut loans: Vec<_> = (0..10).map(|at| lend(&publisher, batch * 10 + at, 16)).collect();
            publisher.publish_all(&mut loans).unwrap();
        }
        taking.join().unwrap();
    });
}

#[test]
fn typed_messages_go_in_batches() {
    let scratch = Scratch::new();
    let node = scratch.node("n");
    let publisher = node.publisher::<Pose>("poses").depth(32).create().unwrap();
    let subscriber = node.subscriber::<Pose>("poses").create().unwrap();
    let mut loans = Vec::new();
    for count in 0..20 {
        let mut pose = publisher.loan().unwrap();
        pose.count = count;
        loans.push(pose);
    }
    assert_eq!(publisher.publish_all(&mut loans).unwrap(), Some(19));
    assert!(loans.is_empty());
    publish_pose(&publisher, 20);
    let mut poses = Vec::new();
    assert_eq!(subscriber.take_many(20, &mut poses).unwrap(), 20);
    assert_eq!(poses.iter().map(|pose| pose.count).collect::<Vec<_>>(), (0..20).collect::<Vec<_>>());
    assert_eq!((take_pose(&subscriber), subscriber.take_many(20, &mut poses).unwrap()), (Some(20), 0));
}

#[test]
fn loans_of_another_publisher_are_published_by_it() {
    let scratch = Scratch::new();
    let node = scratch.node("n");
    let (one, other) = (publisher_of(&node, &numbers(), 8), publisher_of(&node, &numbers(), 8));
    let subscriber = subscriber_of(&node, &numbers());
    let mut loans = vec![lend(&one, 1, 8), lend(&other, 2, 8), lend(&one, 3, 8)];
    assert_eq!(one.publish_all(&mut loans).unwrap(), Some(2));
    let mut samples = Vec::new();
    assert_eq!(subscriber.take_many(8, &mut samples).unwrap(), 3);
    assert_eq!(values(&samples), [(0, 1), (1, 2), (2, 3)]);
    assert_eq!(samples[0].publisher_id(), samples[2].publisher_id());
    assert_ne!(samples[0].publisher_id(), samples[1].publisher_id());
}

#[test]
fn a_batch_takes_no_more_than_may_be_held() {
    let scratch = Scratch::new();
    let node = scratch.node("n");
    let publisher = publisher_of(&node, &numbers(), 64);
    let qos = SubscriberQos { max_held: 5, ..Default::default() };
    let subscriber = RawSubscriber::create(&node, TOPIC, &numbers(), qos).unwrap();
    for value in 0..20 {
        publish(&publisher, value, 8);
    }
    let mut samples = Vec::new();
    assert!(matches!(subscriber.take_many(20, &mut samples), Err(TakeError::Held { .. })));
    assert_eq!(values(&samples), (0..5).map(|at| (at, at)).collect::<Vec<_>>());
    samples.clear();
    assert_eq!(subscriber.take_many(4, &mut samples).unwrap(), 4);
    assert_eq!(values(&samples), (5..9).map(|at| (at, at)).collect::<Vec<_>>());
}

#[test]
fn lost_and_skipped_messages_are_counted() {
    let scratch = Scratch::new();
    let node = scratch.node("n");
    let qos = PublisherQos { depth: 4, ..Default::default() };
    let publisher = RawPublisher::create(&node, TOPIC, &numbers(), qos).unwrap();
    let all = RawSubscriber::create(
        &node,
        TOPIC,
        &numbers(),
        SubscriberQos { history: History::KeepAll, ..Default::default() },
    )
    .unwrap();
    let last = RawSubscriber::create(
        &node,
        TOPIC,
        &numbers(),
        SubscriberQos { history: History::KeepLast(2), ..Default::default() },
    )
    .unwrap();
    let mut loans: Vec<_> = (0..300).map(|value| lend(&publisher, value, 8)).collect();
    publisher.publish_all(&mut loans).unwrap();
    let mut samples = Vec::new();
    let taken = all.take_many(1000, &mut samples).unwrap() as u64;
    assert_eq!(taken + all.lost(), 300);
    assert_eq!(values(&samples).last(), Some(&(299, 299)));
    samples.clear();
    assert_eq!(last.take_many(1000, &mut samples).unwrap(), 2);
    assert_eq!(values(&samples), [(298, 298), (299, 299)]);
    assert_eq!((last.skipped() + last.lost(), take(&last)), (298, None));
}
