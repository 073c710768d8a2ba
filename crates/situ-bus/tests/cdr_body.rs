//! Where bodies of CDR begin: numbers of 8 bytes in them lie at multiples of 8 (`spec/pool.md`,
//! *Descriptor*).
#![cfg(not(loom))]

mod common;

use common::{Scratch, numbers};
use situ_bus::{Encoding, PublisherQos, RawPublisher, RawSubscriber, SubscriberQos, Trust, TypeDescription};

fn serialized(encoding: Encoding, user_header_size: u32) -> TypeDescription {
    TypeDescription { encoding, layout_hash: 0, fixed_size: 0, user_header_size, ..numbers() }
}

/// How far an address lies behind a multiple of 64.
fn behind(bytes: &[u8]) -> usize {
    bytes.as_ptr().addr() % 64
}

#[test]
fn a_body_of_cdr_begins_4_bytes_behind_a_multiple_of_64() {
    let scratch = Scratch::new();
    let node = scratch.node("n");
    for (number, (encoding, user_header)) in
        [(Encoding::Xcdr1, 0), (Encoding::Xcdr2, 0), (Encoding::Xcdr1, 24)].into_iter().enumerate()
    {
        let topic = format!("topic{number}");
        let description = serialized(encoding, user_header);
        let publisher = RawPublisher::create(&node, &topic, &description, PublisherQos::default()).unwrap();
        let subscriber = |trust| {
            let qos = SubscriberQos { trust, ..SubscriberQos::default() };
            RawSubscriber::create(&node, &topic, &description, qos).unwrap()
        };
        let (trusting, careful) = (subscriber(Trust::SameUser), subscriber(Trust::Nobody));
        // Also sizes at which the slot has another size class than before.
        for size in [1, 20, 60, 64, 4000, 1 << 20] {
            let bytes: Vec<u8> = (0..size).map(|at| (at * 7 + size) as u8).collect();
            let mut loan = publisher.loan(0, 1, size).unwrap();
            assert_eq!((behind(loan.body_bytes()), loan.body_bytes().len()), (4, size));
            loan.body_bytes().copy_from_slice(&bytes);
            loan.publish().unwrap();
            let (shared, copy) = (trusting.take().unwrap().unwrap(), careful.take().unwrap().unwrap());
            assert_eq!((behind(shared.body_in_place()), behind(copy.body_in_place())), (4, 4), "{size}");
            assert_eq!((shared.body_in_place(), copy.body_in_place()), (&bytes[..], &bytes[..]));
        }
    }
}

#[test]
fn a_body_that_grows_begins_there_too() {
    let scratch = Scratch::new();
    let node = scratch.node("n");
    let description = serialized(Encoding::Xcdr1, 0);
    let publisher = RawPublisher::create(&node, "t", &description, PublisherQos::default()).unwrap();
    let subscriber = RawSubscriber::create(&node, "t", &description, SubscriberQos::default()).unwrap();
    let mut loan = publisher.loan_growing(100, 200).unwrap();
    loan.grow_body(120).unwrap();
    loan.body_bytes().fill(7);
    assert_eq!(behind(loan.body_bytes()), 4);
    loan.publish().unwrap();
    let sample = subscriber.take().unwrap().unwrap();
    assert_eq!(sample.body_in_place(), vec![7; 120]);
}

#[test]
fn a_body_that_becomes_a_region_moves_with_its_bytes() {
    let scratch = Scratch::new();
    let node = scratch.node("n");
    let description = serialized(Encoding::Xcdr1, 0);
    let publisher = RawPublisher::create(&node, "t", &description, PublisherQos::default()).unwrap();
    let subscriber = RawSubscriber::create(&node, "t", &description, SubscriberQos::default()).unwrap();
    let bytes: Vec<u8> = (0..200).collect();
    let mut loan = publisher.loan(0, 1, bytes.len()).unwrap();
    loan.body_bytes().copy_from_slice(&bytes);
    loan.set_encoding(Encoding::Region);
    assert_eq!((behind(loan.body_bytes()), &*loan.body_bytes()), (0, &bytes[..]));
    loan.publish().unwrap();
    let sample = subscriber.take().unwrap().unwrap();
    assert_eq!((sample.encoding(), behind(sample.body_in_place())), (Encoding::Region, 0));
    assert_eq!(sample.body_in_place(), bytes);
}

#[test]
fn other_bodies_begin_at_a_multiple_of_64() {
    let scratch = Scratch::new();
    let node = scratch.node("n");
    let publisher = RawPublisher::create(&node, "t", &numbers(), PublisherQos::default()).unwrap();
    let subscriber = RawSubscriber::create(&node, "t", &numbers(), SubscriberQos::default()).unwrap();
    let mut loan = publisher.loan(8, 8, 20).unwrap();
    loan.head_bytes().fill(1);
    loan.body_bytes().fill(2);
    assert_eq!(behind(loan.body_bytes()), 0);
    // A message of CDR from a publisher of another encoding lies where that publisher's bodies lie.
    loan.publish().unwrap();
    let mut other = publisher.loan(0, 1, 12).unwrap();
    other.set_encoding(Encoding::Xcdr1);
    other.body_bytes().fill(3);
    other.publish().unwrap();
    assert_eq!(subscriber.take().unwrap().unwrap().body_in_place(), [2; 20]);
    assert_eq!(subscriber.take().unwrap().unwrap().body_in_place(), [3; 12]);
}
