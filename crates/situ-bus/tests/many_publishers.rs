//! Publishers that join, publish and leave: more of them than a topic has entries.
#![cfg(not(loom))]

mod common;

use common::{Scratch, numbers, publish, take};
use situ_bus::{
    Durability, History, Node, Placement, PublisherQos, RawPublisher, RawSubscriber, RegisterError,
    Reliability, SubscriberQos, WhenFull, inspect,
};
use situ_memory::{DomainId, DomainKind};

const TOPIC: &str = "numbers";
/// The number of publishers at a time.
const ENTRIES: u64 = 255;

fn join(node: &Node, qos: &PublisherQos) -> Result<RawPublisher, RegisterError> {
    RawPublisher::create(node, TOPIC, &numbers(), qos.clone())
}

fn in_turn(node: &Node, numbers: std::ops::Range<u64>, qos: &PublisherQos) {
    for value in numbers {
        let publisher = join(node, qos).unwrap_or_else(|error| panic!("publisher {value}: {error}"));
        assert_eq!(publish(&publisher, value, 8), value);
    }
}

fn subscriber(node: &Node, durability: Durability) -> RawSubscriber {
    let qos = SubscriberQos { durability, history: History::KeepAll, ..Default::default() };
    RawSubscriber::create(node, TOPIC, &numbers(), qos).unwrap()
}

/// Takes until no message is left. Each message has its own value.
fn rest(subscriber: &RawSubscriber) -> Vec<u64> {
    std::iter::from_fn(|| take(subscriber))
        .map(|(number, value)| {
            assert_eq!(number, value, "another message than that of its number");
            value
        })
        .collect()
}

fn deep(durability: Durability) -> PublisherQos {
    PublisherQos { depth: 1024, durability, ..Default::default() }
}

#[test]
fn any_number_of_volatile_publishers_come_and_go() {
    let scratch = Scratch::new();
    let node = scratch.node("n");
    let (ahead, behind) = (subscriber(&node, Durability::Volatile), subscriber(&node, Durability::Volatile));
    let qos = deep(Durability::Volatile);
    for value in 0..1000 {
        in_turn(&node, value..value + 1, &qos);
        assert_eq!(take(&ahead), Some((value, value)), "a subscriber that keeps up takes all");
    }
    assert_eq!((ahead.lost(), ahead.taken()), (0, 1000));
    in_turn(&node, 1000..2000, &qos);
    // A subscriber that does not take has the messages of as many publishers as there are entries, the newest
    // ones.
    let (behind_took, ahead_took) = (rest(&behind), rest(&ahead));
    assert_eq!(behind_took, (2000 - ENTRIES..2000).collect::<Vec<_>>());
    assert_eq!(ahead_took, behind_took);
    assert_eq!((behind.lost(), ahead.lost()), (2000 - ENTRIES, 1000 - ENTRIES));
    // All of them are passed, and nothing of them is left.
    drop(join(&node, &qos).unwrap());
    assert_eq!(inspect::topic(&scratch.root(), TOPIC).unwrap().unwrap().publishers.len(), 0);
    assert_eq!(
        scratch.files().iter().filter(|path| path.extension().is_some_and(|it| it == "pool")).count(),
        0
    );
}

#[test]
fn any_number_of_transient_local_publishers_come_and_go() {
    let scratch = Scratch::new();
    let node = scratch.node("n");
    let stays = join(&node, &PublisherQos { depth: 8, ..deep(Durability::TransientLocal) }).unwrap();
    publish(&stays, 0, 8);
    in_turn(&node, 1..2000, &deep(Durability::TransientLocal));
    // The remaining publisher has one of the entries. The ring has 2048 rows.
    let late = subscriber(&node, Durability::TransientLocal);
    assert_eq!(rest(&late), std::iter::once(0).chain(2000 - (ENTRIES - 1)..2000).collect::<Vec<_>>());
    assert_eq!(late.lost(), 0, "messages from before it joined were never promised");
    assert_eq!(publish(&stays, 2000, 8), 2000);
    assert_eq!(rest(&late), [2000]);
}

#[test]
fn messages_that_a_reliable_subscriber_has_not_taken_are_kept() {
    let scratch = Scratch::new();
    let node = scratch.node("n");
    let qos =
        SubscriberQos { reliability: Reliability::Reliable, history: History::KeepAll, ..Default::default() };
    let slow = RawSubscriber::create(&node, TOPIC, &numbers(), qos).unwrap();
    let reliable = PublisherQos {
        reliability: Reliability::Reliable,
        when_full: WhenFull::Fail,
        ..deep(Durability::Volatile)
    };
    in_turn(&node, 0..ENTRIES, &reliable);
    let text = join(&node, &reliable).unwrap_err().to_string();
    assert!(text.contains("all 255") && text.contains("reliable subscriber"), "{text}");
    assert_eq!(take(&slow), Some((0, 0)));
    in_turn(&node, ENTRIES..ENTRIES + 1, &reliable);
    assert!(matches!(join(&node, &reliable), Err(RegisterError::Full { role: "publisher", most: 255, .. })));
    assert_eq!(rest(&slow), (1..=ENTRIES).collect::<Vec<_>>());
    assert_eq!(slow.lost(), 0);
    in_turn(&node, ENTRIES + 1..2 * ENTRIES, &reliable);
}

#[test]
fn entries_with_bodies_on_a_device_are_used_again() {
    let scratch = Scratch::new();
    let node = scratch.node("n");
    let domain = DomainId { kind: DomainKind::EMULATED, number: 0 };
    let qos = PublisherQos { depth: 512, durability: Durability::TransientLocal, ..Default::default() };
    let placement = Placement { domain, capacity: Some(1 << 20), ..Default::default() };
    let _stays = subscriber(&node, Durability::Volatile);
    for value in 0..300u64 {
        let publisher = RawPublisher::create_in(&node, TOPIC, &numbers(), qos.clone(), &placement)
            .unwrap_or_else(|error| panic!("publisher {value}: {error}"));
        let loan = publisher.loan(8, 8, 0).unwrap();
        // SAFETY: the head has 8 bytes, aligned to 64, and only this loan reaches it.
        unsafe { loan.head().cast::<u64>().write(value) };
        assert_eq!(loan.publish().unwrap(), value);
    }
    let late = subscriber(&node, Durability::TransientLocal);
    // Each takes an entry for its heads and one for its bodies.
    assert_eq!(rest(&late), (300 - ENTRIES / 2..300).collect::<Vec<_>>());
}
