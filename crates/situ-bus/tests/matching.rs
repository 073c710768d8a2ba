//! Publishers and subscribers whose quality of service does not match: they join, exchange no messages, and
//! do not wait for each other. Others are not affected.
#![cfg(not(loom))]

mod common;

use std::time::{Duration, Instant};

use common::messages::Pose;
use common::{Scratch, numbers, publish, take};
use situ_bus::{
    Durability, History, Liveliness, Node, PublisherQos, QosPolicy, QosProfile, RawPublisher, RawSubscriber,
    Reliability, SubscriberQos, WhenFull, inspect, wait_any,
};

const SHORT: Duration = Duration::from_millis(20);

fn publisher(node: &Node, qos: PublisherQos) -> RawPublisher {
    RawPublisher::create(node, "numbers", &numbers(), qos).unwrap()
}

fn subscriber(node: &Node, qos: SubscriberQos) -> RawSubscriber {
    RawSubscriber::create(node, "numbers", &numbers(), qos).unwrap()
}

fn reliable() -> PublisherQos {
    PublisherQos {
        reliability: Reliability::Reliable,
        when_full: WhenFull::Block(Some(Duration::from_secs(20))),
        ..Default::default()
    }
}

fn asks_for_all() -> SubscriberQos {
    SubscriberQos { reliability: Reliability::Reliable, ..Default::default() }
}

fn all(subscriber: &RawSubscriber) -> Vec<u64> {
    std::iter::from_fn(|| take(subscriber)).map(|(_, value)| value).collect()
}

#[test]
fn endpoints_that_do_not_match_exchange_nothing() {
    let ms = |ms| Some(Duration::from_millis(ms));
    let (offered, requested) = (PublisherQos::default, SubscriberQos::default);
    let pairs = [
        (offered(), asks_for_all(), QosPolicy::Reliability),
        (
            offered(),
            SubscriberQos { durability: Durability::TransientLocal, ..requested() },
            QosPolicy::Durability,
        ),
        (offered(), SubscriberQos { deadline: ms(100_000), ..requested() }, QosPolicy::Deadline),
        (
            PublisherQos { deadline: ms(200_000), ..offered() },
            SubscriberQos { deadline: ms(100_000), ..requested() },
            QosPolicy::Deadline,
        ),
        (
            offered(),
            SubscriberQos { liveliness: Liveliness::ManualByTopic, ..requested() },
            QosPolicy::Liveliness,
        ),
        (
            PublisherQos { lease: ms(200_000), ..offered() },
            SubscriberQos { lease: ms(100_000), ..requested() },
            QosPolicy::Liveliness,
        ),
    ];
    for (offered, requested, policy) in pairs {
        for subscriber_comes_first in [false, true] {
            let scratch = Scratch::new();
            let (a, b) = (scratch.node("a"), scratch.node("b"));
            let (publisher, subscriber) = if subscriber_comes_first {
                let subscriber = subscriber(&b, requested.clone());
                (publisher(&a, offered.clone()), subscriber)
            } else {
                let publisher = publisher(&a, offered.clone());
                (publisher, subscriber(&b, requested.clone()))
            };
            for value in 0..3000 {
                publish(&publisher, value, 0);
                if value % 16 == 0 {
                    assert_eq!(take(&subscriber), None);
                }
            }
            assert!(!subscriber.has_next() && !subscriber.wait(Some(SHORT)), "{policy:?}");
            assert_eq!(wait_any(&[&subscriber], Some(SHORT)), None);
            assert_eq!((take(&subscriber), subscriber.taken()), (None, 0));
            assert_eq!((subscriber.lost(), subscriber.skipped(), subscriber.expired()), (0, 0, 0));
            assert_eq!((publisher.subscribers(), subscriber.publishers()), (0, 0));
            for status in [publisher.incompatible_qos_status(), subscriber.incompatible_qos_status()] {
                assert_eq!((status.total_count, status.total_count_change), (1, 1));
                assert_eq!(status.last_policy, Some(policy));
                assert!(status.policies.iter().eq([policy]));
            }
            assert_eq!(publisher.incompatible_qos_status().total_count_change, 0);
            assert_eq!(publisher.matched_status(), Default::default());
            assert_eq!(subscriber.matched_status(), Default::default());
            // It holds nothing, and has not even mapped the publisher's pool.
            assert_eq!(scratch.held("numbers"), 0);
            let info = inspect::topic(&scratch.root(), "numbers").unwrap().unwrap();
            assert!(info.publishers[0].mismatch(&info.subscribers[0]).iter().eq([policy]));
        }
    }
}

#[test]
fn a_publisher_that_matches_is_heard_between_others() {
    let scratch = Scratch::new();
    let node = scratch.node("n");
    let subscriber = subscriber(&node, asks_for_all());
    let (loud, sure) = (publisher(&node, PublisherQos::default()), publisher(&node, reliable()));
    for round in 0..200 {
        for value in 0..5 {
            publish(&loud, 1_000_000 + value, 0);
        }
        publish(&sure, round, 0);
        publish(&loud, 2_000_000, 0);
        assert!(subscriber.wait(Some(Duration::from_secs(20))));
        assert_eq!(take(&subscriber).unwrap().1, round);
        assert!(!subscriber.has_next());
    }
    assert_eq!((subscriber.lost(), subscriber.taken()), (0, 200));
    assert_eq!((loud.subscribers(), sure.subscribers(), subscriber.publishers()), (0, 1, 1));
}

#[test]
fn a_publisher_does_not_wait_for_a_subscriber_that_it_does_not_match() {
    let scratch = Scratch::new();
    let node = scratch.node("n");
    // A reliable publisher would wait for this subscriber, but its deadline does not fit.
    let deadline = Some(Duration::from_secs(1000));
    let never_takes = subscriber(&node, SubscriberQos { deadline, ..asks_for_all() });
    let late = publisher(&node, PublisherQos { when_full: WhenFull::Fail, ..reliable() });
    let careless = publisher(&node, PublisherQos::default());
    for value in 0..5000 {
        publish(&late, value, 0);
        publish(&careless, value, 0);
    }
    // One that matches still holds it back.
    let matching = subscriber(&node, asks_for_all());
    for value in 0..8 {
        publish(&late, value, 0);
    }
    let mut loan = late.loan(8, 8, 0).unwrap();
    loan.user_header_mut();
    assert!(loan.publish().is_err());
    assert_eq!(all(&matching), (0..8).collect::<Vec<_>>());
    assert_eq!(take(&never_takes), None);
}

#[test]
fn the_last_messages_are_those_that_match() {
    let scratch = Scratch::new();
    let node = scratch.node("n");
    let local = PublisherQos { durability: Durability::TransientLocal, ..reliable() };
    let (sure, loud) = (publisher(&node, local), publisher(&node, PublisherQos::default()));
    let requested = |last| SubscriberQos {
        history: History::KeepLast(last),
        durability: Durability::TransientLocal,
        ..asks_for_all()
    };
    let early = subscriber(&node, requested(2));
    for value in 0..6 {
        publish(&sure, value, 0);
        for noise in 0..5 {
            publish(&loud, 100 + noise, 0);
        }
    }
    let late = subscriber(&node, requested(3));
    assert_eq!(all(&early), [4, 5]);
    assert_eq!((early.skipped(), early.lost()), (4, 0));
    assert_eq!(all(&late), [3, 4, 5]);
    publish(&loud, 100, 0);
    publish(&sure, 6, 0);
    assert_eq!((all(&early), all(&late)), (vec![6], vec![6]));
}

/// Small messages lie in rows, and are copied without their publisher's pool.
#[test]
fn small_messages_of_a_sole_publisher_are_passed_over_too() {
    let scratch = Scratch::new();
    let node = scratch.node("n");
    let sole = node.publisher::<Pose>("pose").create().unwrap();
    let subscriber = node.subscriber::<Pose>("pose").reliable().create().unwrap();
    let matching = node.subscriber::<Pose>("pose").create().unwrap();
    for _ in 0..100 {
        sole.loan().unwrap().publish().unwrap();
        assert!(subscriber.take().unwrap().is_none());
        assert!(matching.take().unwrap().is_some());
    }
    assert!(!subscriber.wait(Some(SHORT)));
    // Another publisher in its place, which matches.
    drop(sole);
    let sure = node.publisher::<Pose>("pose").reliable().create().unwrap();
    sure.loan().unwrap().publish().unwrap();
    assert!(subscriber.take().unwrap().is_some());
    assert_eq!(subscriber.raw().lost(), 0);
}

#[test]
fn entries_that_are_reused_are_compared_anew() {
    let scratch = Scratch::new();
    let node = scratch.node("n");
    let subscriber = subscriber(&node, asks_for_all());
    for round in 0..50 {
        let careless = publisher(&node, PublisherQos::default());
        publish(&careless, 7, 0);
        drop(careless);
        let sure = publisher(&node, reliable());
        publish(&sure, round, 0);
        drop(sure);
        assert_eq!(all(&subscriber), [round]);
    }
    assert_eq!(subscriber.lost(), 0);
    let status = subscriber.matched_status();
    assert_eq!((status.current_count, subscriber.publishers()), (0, 0));
}

#[test]
fn a_topic_grows_though_a_subscriber_was_lapped() {
    let scratch = Scratch::new();
    let node = scratch.node("n");
    let _never_takes = subscriber(&node, asks_for_all());
    let careless = publisher(&node, PublisherQos::default());
    for value in 0..1000 {
        publish(&careless, value, 0);
    }
    let start = Instant::now();
    let deep = publisher(&node, PublisherQos { depth: 2000, ..PublisherQos::default() });
    assert!(start.elapsed() < Duration::from_secs(20));
    publish(&deep, 1, 0);
}

#[test]
fn the_best_available_matches_what_is_there() {
    let scratch = Scratch::new();
    let node = scratch.node("n");
    let _sure = publisher(&node, reliable());
    let best = subscriber(&node, QosProfile::BestAvailable.into());
    assert_eq!(
        (best.qos().reliability, best.qos().durability),
        (Reliability::Reliable, Durability::Volatile)
    );
    assert_eq!(best.qos().history, History::KeepLast(10));
    let careless = publisher(&node, PublisherQos::default());
    let second = subscriber(&node, QosProfile::BestAvailable.into());
    assert_eq!((second.qos().reliability, second.publishers()), (Reliability::BestEffort, 2));
    assert_eq!(best.publishers(), 1, "it does not change later");
    drop(careless);
    let lease = Some(Duration::from_secs(3));
    let demanding = SubscriberQos {
        liveliness: Liveliness::ManualByTopic,
        lease,
        deadline: Some(Duration::from_secs(5)),
        durability: Durability::TransientLocal,
        ..asks_for_all()
    };
    let demanding = subscriber(&node, demanding);
    let offering = publisher(&node, QosProfile::BestAvailable.into());
    assert_eq!((offering.qos().liveliness, offering.qos().lease), (Liveliness::ManualByTopic, lease));
    assert_eq!((offering.qos().depth, offering.qos().deadline), (10, Some(Duration::from_secs(5))));
    assert_eq!((offering.subscribers(), demanding.publishers()), (3, 1));
}
