//! Publishers that join, publish and leave: many of them, and as many as a topic has entries.
#![cfg(not(loom))]

mod common;

use common::{Scratch, numbers, publish, take};
use situ_bus::{
    Durability, History, Node, Placement, PublisherQos, RawPublisher, RawSubscriber, RegisterError,
    Reliability, SubscriberQos, WhenFull, inspect,
};
use situ_memory::{DomainId, DomainKind};

const TOPIC: &str = "numbers";
/// The number of rows of the topic: a power of two, at least twice the depth of its creator.
const ROWS: u64 = 256;
/// The number of publishers at a time.
const ENTRIES: u64 = 8191;

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
    PublisherQos { depth: 100, durability, ..Default::default() }
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
    // A subscriber that does not take finds what the rows still have.
    let (behind_took, ahead_took) = (rest(&behind), rest(&ahead));
    assert_eq!(behind_took, (2000 - ROWS..2000).collect::<Vec<_>>());
    assert_eq!(ahead_took, behind_took);
    assert_eq!((behind.lost(), ahead.lost()), (2000 - ROWS, 1000 - ROWS));
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
    let late = subscriber(&node, Durability::TransientLocal);
    assert_eq!(rest(&late), (2000 - ROWS..2000).collect::<Vec<_>>());
    assert_eq!(late.lost(), 0, "messages from before it joined were never promised");
    assert_eq!(publish(&stays, 2000, 8), 2000);
    assert_eq!(rest(&late), [2000]);
}

/// Fills all entries but those of the present and departed publishers with a living node's, as if that many
/// publishers were there.
fn fill_entries(scratch: &Scratch, node: &Node) {
    use std::os::unix::fs::FileExt;
    let file =
        std::fs::File::options().read(true).write(true).open(scratch.topic(TOPIC).join("topic")).unwrap();
    let number = |at: u64| {
        let mut bytes = [0; 8];
        file.read_exact_at(&mut bytes, at).unwrap();
        u64::from_le_bytes(bytes)
    };
    // The offsets of `spec/topic.md`: the header's `publishers_offset`, and the word `publishers_used`.
    let (publishers, used) = (number(64), number(1408) & 0xffff_ffff);
    for index in used..ENTRIES {
        let at = publishers + index * 128;
        file.write_all_at(&node.id().0.to_le_bytes(), at + 8).unwrap();
        // ACTIVE and TRANSIENT_LOCAL.
        file.write_all_at(&17_u32.to_le_bytes(), at).unwrap();
    }
    file.write_all_at(&(ENTRIES as u32).to_le_bytes(), 1408).unwrap();
}

#[test]
fn a_new_publisher_takes_the_entry_of_the_departed_one_whose_messages_are_the_oldest() {
    let scratch = Scratch::new();
    let node = scratch.node("n");
    let stays = join(&node, &deep(Durability::TransientLocal)).unwrap();
    in_turn(&node, 0..2, &deep(Durability::TransientLocal));
    fill_entries(&scratch, &node);
    let publisher = join(&node, &deep(Durability::TransientLocal)).unwrap();
    assert_eq!(publish(&publisher, 2, 8), 2);
    let late = subscriber(&node, Durability::TransientLocal);
    assert_eq!(rest(&late), [1, 2], "message 0 went with its publisher's entry");
    drop(stays);
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
    in_turn(&node, 0..1, &reliable);
    fill_entries(&scratch, &node);
    let text = join(&node, &reliable).unwrap_err().to_string();
    assert!(text.contains("all 8191") && text.contains("reliable subscriber"), "{text}");
    assert_eq!(take(&slow), Some((0, 0)));
    in_turn(&node, 1..2, &reliable);
    assert!(matches!(join(&node, &reliable), Err(RegisterError::Full { role: "publisher", most: 8191, .. })));
    assert_eq!(rest(&slow), [1]);
    assert_eq!(slow.lost(), 0);
    in_turn(&node, 2..3, &reliable);
    assert_eq!(take(&slow), Some((2, 2)));
    in_turn(&node, 3..4, &reliable);
}

#[test]
fn publishers_with_bodies_on_a_device_come_and_go() {
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
    assert_eq!(rest(&late), (0..300).collect::<Vec<_>>());
}
