//! The limit of what topics of other machines keep for late subscribers.

use situ_bus::{Durability, PublisherQos, RawSubscriber, Reliability, SubscriberQos};

use crate::common::{Machine, Setup, publish, string, take, until};

const STRING: &str = "std_msgs::msg::String";

fn wants() -> SubscriberQos {
    SubscriberQos { durability: Durability::TransientLocal, ..SubscriberQos::default() }
}

fn keeps(depth: usize) -> PublisherQos {
    let (durability, reliability) = (Durability::TransientLocal, Reliability::Reliable);
    PublisherQos { durability, reliability, depth, ..PublisherQos::default() }
}

/// A message of about 400 KiB that begins with this letter.
fn large(letter: char) -> Vec<u8> {
    string(&letter.to_string().repeat(400 << 10))
}

/// All messages that a late subscriber gets; `last` is the last one.
fn kept(subscriber: &RawSubscriber, last: &[u8]) -> usize {
    let mut count = 1;
    while take(subscriber).1 != last {
        count += 1;
    }
    count
}

#[test]
fn the_oldest_messages_are_forgotten_above_the_limit() {
    let a = Machine::listening();
    let (maps, note) = (a.publisher("maps", STRING, keeps(5)), a.publisher("note", STRING, keeps(5)));
    let limit = 1 << 20;
    let b = Machine::new(Setup { connect: a.locators.clone(), keep_bytes: limit, ..Setup::default() });
    let (to_maps, to_note) =
        (b.subscriber_with("maps", STRING, wants()), b.subscriber_with("note", STRING, wants()));
    a.wait_for_subscribers(&maps, 1);
    a.wait_for_subscribers(&note, 1);
    for letter in ['a', 'b'] {
        publish(&note, &[], &string(&letter.to_string()));
        assert_eq!(take(&to_note).1, string(&letter.to_string()));
    }
    // None of them is lost for the subscriber that is present, also if they come faster than it takes.
    for letter in 'a'..='e' {
        publish(&maps, &[], &large(letter));
    }
    for letter in 'a'..='e' {
        assert!(take(&to_maps).1 == large(letter), "{letter}");
    }
    assert_eq!(to_maps.lost(), 0);
    until("the limit holds", || ((400 << 10)..=limit).contains(&b.status().kept_bytes));
    // The small topic has its messages still, the large one the newest of its own.
    let late = b.subscriber_with("note", STRING, wants());
    assert_eq!(kept(&late, &string("b")), 2);
    // The last ones count as soon as the bridge looks again.
    until("late subscribers get what is within the limit", || {
        let late = b.subscriber_with("maps", STRING, wants());
        let count = kept(&late, &large('e'));
        assert!((1..=5).contains(&count) && late.lost() == 0, "{count}, {}", late.lost());
        count <= 2
    });
    let told = || b.warnings().iter().filter(|text| text.contains("more than 1 MiB for late")).count();
    until("a warning", || told() > 0);
    assert_eq!(told(), 1, "{:?}", b.warnings());
    // What a publisher keeps goes with it.
    drop(maps);
    until("its messages are gone", || (1..400 << 10).contains(&b.status().kept_bytes));
}

#[test]
fn below_the_limit_nothing_is_forgotten() {
    let a = Machine::listening();
    let b = Machine::connected(&a);
    let maps = a.publisher("maps", STRING, keeps(5));
    let to_maps = b.subscriber_with("maps", STRING, wants());
    a.wait_for_subscribers(&maps, 1);
    for letter in 'a'..='g' {
        publish(&maps, &[], &large(letter));
        assert!(take(&to_maps).1 == large(letter), "{letter}");
    }
    let late = b.subscriber_with("maps", STRING, wants());
    assert_eq!(kept(&late, &large('g')), 5);
    until("all are counted", || b.status().kept_bytes >= (5 * 400) << 10);
    assert!(b.warnings().is_empty(), "{:?}", b.warnings());
}
