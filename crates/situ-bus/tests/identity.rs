//! Ids of publishers and subscribers, the publishers' own numbers of their messages, user headers, and the
//! times of reception.
#![cfg(not(loom))]

mod common;

use std::collections::HashSet;

use common::messages::{NoteRegion, Pose};
use common::{Scratch, numbers};
use situ_bus::{
    EndpointId, Node, Placement, PublisherQos, RawPublisher, RawSample, RawSubscriber, RegisterError,
    SubscriberQos, Trust, TypeDescription, inspect, now_ns,
};
use situ_memory::{DomainId, HOST};

const TOPIC: &str = "identity";

fn description(size: u32, user_header_size: u32) -> TypeDescription {
    TypeDescription { fixed_size: size, user_header_size, ..numbers() }
}

fn publisher(node: &Node, size: u32, user_header_size: u32) -> RawPublisher {
    let description = description(size, user_header_size);
    RawPublisher::create(node, TOPIC, &description, PublisherQos::default()).unwrap()
}

fn subscriber(node: &Node, size: u32, user_header_size: u32, qos: SubscriberQos) -> RawSubscriber {
    RawSubscriber::create(node, TOPIC, &description(size, user_header_size), qos).unwrap()
}

/// Bytes that differ for each value and each place.
fn bytes(value: u64, size: usize) -> Vec<u8> {
    (0..size as u64).map(|at| (value.wrapping_mul(37) + at + 1) as u8).collect()
}

/// Publishes a message of `size` bytes with a user header that belongs to it.
fn publish(publisher: &RawPublisher, value: u64, size: usize, body: usize) {
    let mut loan = publisher.loan(size, 8, body).unwrap();
    let header = loan.user_header_mut();
    assert!(header.iter().all(|byte| *byte == 0), "it holds nothing of an earlier message");
    let len = header.len();
    header.copy_from_slice(&bytes(value + 1000, len));
    loan.head_bytes().copy_from_slice(&bytes(value, size));
    loan.body_bytes().copy_from_slice(&bytes(value + 2000, body));
    loan.publish().unwrap();
}

fn take(subscriber: &RawSubscriber) -> RawSample {
    subscriber.take().unwrap().expect("it was published")
}

#[test]
fn ids_never_repeat_and_inspection_shows_them() {
    let scratch = Scratch::new();
    let node = scratch.node("both");
    let mut ids = HashSet::new();
    for _ in 0..20 {
        let (writer, reader) = (publisher(&node, 0, 0), subscriber(&node, 0, 0, SubscriberQos::default()));
        assert_eq!((writer.id().node, reader.id().node), (node.id(), node.id()));
        assert!(ids.insert(writer.id()) && ids.insert(reader.id()));
        let topic = inspect::topic(&scratch.root(), TOPIC).unwrap().unwrap();
        let ids = (topic.publishers[0].id, topic.subscribers[0].id);
        assert_eq!(ids, (writer.id(), reader.id()));
        publish(&writer, 1, 8, 0);
        let sample = take(&reader);
        assert_eq!((sample.publisher_id(), sample.publisher()), (writer.id(), node.id()));
    }
    assert!(ids.iter().all(|id| EndpointId::from_bytes(id.to_bytes()) == *id));
}

/// In rows (up to 112 bytes) and in slots, before and after another publisher comes.
#[test]
fn each_publisher_counts_its_own_messages() {
    for size in [8, 112, 200] {
        let scratch = Scratch::new();
        let node = scratch.node("both");
        let reader = subscriber(&node, size, 0, SubscriberQos::default());
        let sequence = |publisher: &RawPublisher, value: u64| {
            publish(publisher, value, size as usize, 0);
            let sample = take(&reader);
            assert_eq!(sample.publisher_id(), publisher.id());
            (sample.sequence(), sample.publisher_sequence())
        };
        let first = publisher(&node, size, 0);
        for number in 0..1500 {
            assert_eq!(sequence(&first, number), (number, number));
        }
        // A loan that is not published leaves no gap.
        drop(first.loan(size as usize, 8, 0).unwrap());
        let second = publisher(&node, size, 0);
        for number in 0..1500 {
            assert_eq!(sequence(&second, number), (1500 + 2 * number, number));
            assert_eq!(sequence(&first, number), (1501 + 2 * number, 1500 + number));
        }
        drop((first, second));
        let third = publisher(&node, size, 0);
        for number in 0..10 {
            assert_eq!(sequence(&third, number), (4500 + number, number));
        }
    }
}

#[test]
fn a_gap_of_a_publisher_is_seen_by_its_numbers() {
    let scratch = Scratch::new();
    let node = scratch.node("both");
    let writer = publisher(&node, 8, 0);
    let reader = subscriber(&node, 8, 0, SubscriberQos::default());
    publish(&writer, 0, 8, 0);
    assert_eq!(take(&reader).publisher_sequence(), 0);
    for value in 1..3000 {
        publish(&writer, value, 8, 0);
    }
    // The last 64 are in the rows.
    assert_eq!(take(&reader).publisher_sequence(), 3000 - 64);
    assert_eq!(reader.lost(), 3000 - 64 - 1);
}

#[test]
fn user_headers_travel_beside_messages_of_every_kind() {
    for (size, header) in [(8, 8), (48, 64), (40, 8), (64, 40), (49, 64), (0, 24), (200, 16), (13, 56)] {
        let scratch = Scratch::new();
        let node = scratch.node("both");
        let writer = publisher(&node, size, header);
        let reader = subscriber(&node, size, header, SubscriberQos::default());
        let careful = SubscriberQos { trust: Trust::Nobody, ..SubscriberQos::default() };
        let careful = subscriber(&node, size, header, careful);
        assert_eq!(
            (writer.user_header_size(), reader.user_header_size()),
            (header as usize, header as usize)
        );
        let head = if size == 0 { 24 } else { size as usize };
        for value in 0..2500 {
            let body = if value % 3 == 0 { 100 } else { 0 };
            publish(&writer, value, head, body);
            for sample in [take(&reader), take(&careful)] {
                assert_eq!(sample.user_header(), bytes(value + 1000, header as usize));
                assert_eq!(sample.head_in_place(), bytes(value, head));
                assert_eq!(sample.body_in_place(), bytes(value + 2000, body));
                assert!(sample.head_in_place().as_ptr().addr().is_multiple_of(64));
                assert_eq!(sample.publisher_sequence(), value);
            }
        }
    }
}

#[test]
fn a_topic_without_user_headers_has_empty_ones() {
    let scratch = Scratch::new();
    let node = scratch.node("both");
    let (writer, reader) = (publisher(&node, 8, 0), subscriber(&node, 8, 0, SubscriberQos::default()));
    assert!(writer.loan(8, 8, 0).unwrap().user_header_mut().is_empty());
    publish(&writer, 1, 8, 0);
    publish(&writer, 2, 8, 10);
    assert!(take(&reader).user_header().is_empty() && take(&reader).user_header().is_empty());
}

#[test]
fn user_headers_go_with_bodies_in_other_domains_and_with_growing_ones() {
    let emulated: DomainId = "emulated:0".parse().unwrap();
    for (from, to) in [(emulated, HOST), (HOST, emulated), (emulated, emulated)] {
        let scratch = Scratch::new();
        let node = scratch.node("both");
        let at = |domain| Placement { domain, ..Placement::default() };
        let described = description(0, 32);
        let writer =
            RawPublisher::create_in(&node, TOPIC, &described, PublisherQos::default(), &at(from)).unwrap();
        let reader =
            RawSubscriber::create_in(&node, TOPIC, &described, SubscriberQos::default(), &at(to)).unwrap();
        for value in 0..50 {
            let mut loan = writer.loan(8, 8, 4096).unwrap();
            loan.user_header_mut().copy_from_slice(&bytes(value, 32));
            loan.head_bytes().copy_from_slice(&bytes(value + 1, 8));
            loan.publish().unwrap();
            let sample = take(&reader);
            assert_eq!(sample.user_header(), bytes(value, 32));
            assert_eq!(sample.head_in_place(), bytes(value + 1, 8));
            assert_eq!((sample.domain(), sample.body_size()), (to, 4096));
        }
    }
    let scratch = Scratch::new();
    let node = scratch.node("both");
    let region = TypeDescription { encoding: situ_bus::Encoding::Region, ..description(0, 64) };
    let writer = RawPublisher::create(&node, TOPIC, &region, PublisherQos::default()).unwrap();
    let reader = RawSubscriber::create(&node, TOPIC, &region, SubscriberQos::default()).unwrap();
    let mut loan = writer.loan_growing(64, 1 << 20).unwrap();
    loan.grow_body(100_000).unwrap();
    loan.user_header_mut().fill(7);
    loan.body_bytes().fill(9);
    loan.publish().unwrap();
    let sample = take(&reader);
    assert_eq!((sample.user_header(), sample.body_in_place()), (&[7; 64][..], &[9; 100_000][..]));
}

#[test]
fn all_participants_state_the_same_user_header() {
    let scratch = Scratch::new();
    let node = scratch.node("both");
    for size in [4, 12, 72, 1 << 20] {
        let refused = RawPublisher::create(&node, TOPIC, &description(8, size), PublisherQos::default());
        assert!(matches!(refused, Err(RegisterError::UserHeaderSize { size: named, .. }) if named == size));
    }
    let _writer = publisher(&node, 8, 16);
    for size in [0, 24] {
        let refused = RawSubscriber::create(&node, TOPIC, &description(8, size), SubscriberQos::default());
        let Err(error) = refused else { panic!("it joined with {size}") };
        let RegisterError::UserHeaderMismatch { ours, theirs: 16, .. } = &error else { panic!("{error}") };
        assert_eq!(*ours, size);
        assert!(error.to_string().contains("node \"both\""), "{error}");
    }
    let topic = inspect::topic(&scratch.root(), TOPIC).unwrap().unwrap();
    assert_eq!(topic.description.user_header_size, 16);
}

#[test]
fn samples_tell_when_they_were_taken_if_asked() {
    for size in [8, 200] {
        let scratch = Scratch::new();
        let node = scratch.node("both");
        let writer = publisher(&node, size, 0);
        let asks = subscriber(&node, size, 0, SubscriberQos { reception_times: true, ..Default::default() });
        let does_not = subscriber(&node, size, 0, SubscriberQos::default());
        publish(&writer, 1, size as usize, 0);
        let before = now_ns();
        let sample = take(&asks);
        assert!((before..=now_ns()).contains(&sample.received_at_ns()));
        assert!(sample.published_at_ns() <= before);
        assert_eq!(take(&does_not).received_at_ns(), 0);
    }
}

#[test]
fn typed_messages_have_user_headers_too() {
    let scratch = Scratch::new();
    let node = scratch.node("both");
    let publisher = node.publisher::<Pose>("poses").user_header(16).create().unwrap();
    let subscriber = node.subscriber::<Pose>("poses").user_header(16).reception_times().create().unwrap();
    assert!(node.subscriber::<Pose>("poses").create().is_err());
    for count in 0..5 {
        let mut pose = publisher.loan().unwrap();
        pose.count = count;
        pose.user_header_mut().fill(count as u8 + 1);
        pose.publish().unwrap();
        let pose = subscriber.take().unwrap().unwrap();
        assert_eq!((pose.count, pose.user_header()), (count, &[count as u8 + 1; 16][..]));
        assert_eq!(pose.raw().publisher_sequence(), count);
        assert!(pose.raw().received_at_ns() >= pose.published_at_ns());
    }
    let publisher = node.region_publisher::<NoteRegion>("notes").user_header(8).create().unwrap();
    let subscriber = node.region_subscriber::<NoteRegion>("notes").user_header(8).create().unwrap();
    publisher.loan().unwrap().publish_with(&[1, 2, 3]).unwrap();
    publisher.loan().unwrap().publish().unwrap();
    assert_eq!(subscriber.take().unwrap().unwrap().user_header(), [1, 2, 3, 0, 0, 0, 0, 0]);
    assert_eq!(subscriber.take().unwrap().unwrap().user_header(), [0; 8]);
}
