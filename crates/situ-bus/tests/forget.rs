//! Messages that a publisher forgets before its depth ends them.
#![cfg(not(loom))]

mod common;

use common::{Scratch, numbers, publish, take};
use situ_bus::{Durability, Placement, PublisherQos, RawPublisher, RawSubscriber, SubscriberQos};
use situ_memory::{DomainId, DomainKind};

const BODY: usize = 100_000;
const KEEPS: PublisherQos = PublisherQos {
    durability: Durability::TransientLocal,
    depth: 8,
    reliability: situ_bus::Reliability::BestEffort,
    when_full: situ_bus::WhenFull::Fail,
    deadline: None,
    lifespan: None,
    liveliness: situ_bus::Liveliness::Automatic,
    lease: None,
    best_available: false,
    trim_above: None,
    user_data: Vec::new(),
};

fn late(scratch: &Scratch) -> RawSubscriber {
    let qos = SubscriberQos { durability: Durability::TransientLocal, ..Default::default() };
    RawSubscriber::create(&scratch.node("late"), "numbers", &numbers(), qos).unwrap()
}

fn rest(subscriber: &RawSubscriber) -> Vec<u64> {
    std::iter::from_fn(|| take(subscriber)).map(|(_, value)| value).collect()
}

#[test]
fn late_subscribers_do_not_get_what_was_forgotten() {
    let scratch = Scratch::new();
    let publisher = RawPublisher::create(&scratch.node("n"), "numbers", &numbers(), KEEPS).unwrap();
    assert!(!publisher.forget_oldest(), "there is no message");
    assert_eq!(publisher.kept_bytes(), 0);
    for value in 0..5 {
        publish(&publisher, value, BODY);
    }
    let of_one = publisher.kept_bytes() / 5;
    assert!((BODY as u64..2 * BODY as u64).contains(&of_one), "{of_one}");
    assert!(publisher.forget_oldest() && publisher.forget_oldest());
    assert_eq!(publisher.kept_bytes(), 3 * of_one);
    let subscriber = late(&scratch);
    assert_eq!((rest(&subscriber), subscriber.lost()), (vec![2, 3, 4], 0));
    // Its memory is lent again, or returned.
    let slots = publisher.memory().in_use;
    assert_eq!(slots, 3);
    assert!(publisher.trim() >= 2 * BODY as u64);
    while publisher.forget_oldest() {}
    assert_eq!((publisher.kept_bytes(), publisher.memory().in_use), (0, 0));
    publish(&publisher, 5, BODY);
    assert_eq!((rest(&subscriber), rest(&late(&scratch))), (vec![5], vec![5]));
}

#[test]
fn present_subscribers_lose_nothing() {
    let scratch = Scratch::new();
    let publisher = RawPublisher::create(&scratch.node("n"), "numbers", &numbers(), KEEPS).unwrap();
    let subscriber =
        RawSubscriber::create(&scratch.node("m"), "numbers", &numbers(), SubscriberQos::default()).unwrap();
    for value in 0..3 {
        publish(&publisher, value, BODY);
    }
    assert!(!publisher.forget_oldest(), "a present subscriber has not taken it");
    assert_eq!(publisher.kept_bytes(), 0);
    let held = subscriber.take().unwrap().unwrap();
    assert!(publisher.kept_bytes() >= BODY as u64);
    assert!(publisher.forget_oldest() && !publisher.forget_oldest());
    // What it holds is not lent again.
    for value in 3..8 {
        publish(&publisher, value, BODY);
    }
    assert!(held.body_in_place().iter().all(|byte| *byte == 0));
    drop(held);
    assert_eq!((rest(&subscriber), subscriber.lost()), ((1..8).collect(), 0));
}

#[test]
fn bodies_in_another_domain_go_with_their_heads() {
    let scratch = Scratch::new();
    let domain = DomainId { kind: DomainKind::EMULATED, number: 0 };
    let placement = Placement { domain, ..Default::default() };
    let publisher =
        RawPublisher::create_in(&scratch.node("n"), "numbers", &numbers(), KEEPS, &placement).unwrap();
    for _ in 0..3 {
        publisher.loan(8, 8, BODY).unwrap().publish().unwrap();
    }
    let all = publisher.kept_bytes();
    assert!(all >= 3 * BODY as u64, "{all}");
    assert!(publisher.forget_oldest());
    assert_eq!(publisher.kept_bytes(), all / 3 * 2);
}
