//! Topics between machines: both ways, with types of ROS and others; messages that are not sent.

use std::time::Duration;

use crate::common::{Machine, PATIENCE, Setup, publish, string, take, until};
use situ_bridge::{Direction, Rule, Rules, Way};
use situ_bus::{Durability, PublisherQos, Reliability, SubscriberQos, inspect};

const STRING: &str = "std_msgs::msg::String";
const POINT: &str = "geometry_msgs::msg::Point";

#[test]
fn topics_of_ros_cross_both_ways() {
    let a = Machine::listening();
    let b = Machine::connected(&a);
    let (from_a, to_b) =
        (a.publisher("chatter", STRING, PublisherQos::default()), b.subscriber("chatter", STRING));
    let (from_b, to_a) =
        (b.publisher("answer", STRING, PublisherQos::default()), a.subscriber("answer", STRING));
    a.wait_for_subscribers(&from_a, 1);
    b.wait_for_subscribers(&from_b, 1);
    for text in ["one", "two", "three"] {
        publish(&from_a, &[], &string(text));
        assert_eq!(take(&to_b), (vec![], string(text)));
        publish(&from_b, &[], &string(text));
        assert_eq!(take(&to_a), (vec![], string(text)));
    }
    // Nothing came back, and nothing more.
    assert!(to_a.take().unwrap().is_none() && to_b.take().unwrap().is_none());
    // The graph of the other machine has the node, and its publisher with the hash of ROS.
    let graph = b.node.graph().unwrap();
    let shown = graph
        .endpoints()
        .find(|(node, it)| node.name == "test" && it.name == "chatter" && it.id.node != b.node.id());
    let told = shown.expect("the publisher of the other machine").1.user_data.clone();
    let hash = "df668c740482bbd48fb39d76a70dfd4bd59db1288021743503259e948f6b1a18";
    let digest: Vec<u8> =
        (0..32).map(|at| u8::from_str_radix(&hash[at * 2..at * 2 + 2], 16).unwrap()).collect();
    assert_eq!((&told[..5], &told[5..37]), (b"ROS\x01\x01".as_slice(), digest.as_slice()));
}

#[test]
fn large_and_plain_messages_cross() {
    let a = Machine::listening();
    let b = Machine::connected(&a);
    let (from, to) =
        (a.publisher("chatter", STRING, PublisherQos::default()), b.subscriber("chatter", STRING));
    a.wait_for_subscribers(&from, 1);
    let text: String = (0..5_000_000).map(|at| char::from(b'a' + (at % 26) as u8)).collect();
    publish(&from, &[], &string(&text));
    assert!(take(&to).1 == string(&text));
    // A message of fixed size: flat on both machines, CDR in between.
    let (from, to) = (a.publisher("point", POINT, PublisherQos::default()), b.subscriber("point", POINT));
    a.wait_for_subscribers(&from, 1);
    let point: Vec<u8> = [1.5f64, -2.0, 0.25].iter().flat_map(|it| it.to_le_bytes()).collect();
    publish(&from, &point, &[]);
    assert_eq!(take(&to).0, point);
    let crossing = || {
        let mut all = a.status().crossings.into_iter();
        all.find(|it| it.name == "point" && it.way == Way::Out).unwrap().counts
    };
    until("the message is counted", || crossing().messages == 1);
    assert_eq!(crossing().bytes, 28, "24 bytes, and the header of CDR");
}

#[test]
fn types_without_a_name_of_ros_bring_their_schema() {
    let a = Machine::listening();
    let b = Machine::connected(&a);
    let poses = a.publisher("pose", "demo::Pose", PublisherQos::default());
    // No program on the other machine has the type. The bridge brings it, with its schema.
    let known = || inspect::topic(&b.root, "pose").unwrap().map(|topic| topic.description);
    until("the topic of the other machine", || known().is_some());
    let told = known().unwrap();
    assert_eq!(
        (told.name.as_str(), told.schema_hash),
        ("demo::Pose", crate::common::description("demo::Pose").schema_hash)
    );
    assert_eq!(told.schema, crate::common::description("demo::Pose").schema);
    assert_eq!(poses.subscribers(), 0, "nothing is sent before somebody subscribes");
    let to = b.subscriber("pose", "demo::Pose");
    a.wait_for_subscribers(&poses, 1);
    let pose = [7u64.to_le_bytes(), 2.5f64.to_le_bytes()].concat();
    publish(&poses, &pose, &[]);
    assert_eq!(take(&to), (pose, vec![]));
    // A head with a body.
    let clouds = a.publisher("cloud", "demo::Cloud", PublisherQos::default());
    let to = b.subscriber("cloud", "demo::Cloud");
    a.wait_for_subscribers(&clouds, 1);
    let size = common_size();
    let points: Vec<u8> = (0..100_000u32).flat_map(|at| (at as f32).to_le_bytes()).collect();
    let mut head = vec![0; size];
    head[..4].copy_from_slice(&9u32.to_le_bytes());
    publish(&clouds, &head, &points);
    let (arrived, body) = take(&to);
    assert!(arrived == head && body == points);
}

/// The size of the head of a cloud.
fn common_size() -> usize {
    let told = crate::common::description("demo::Cloud");
    let schema = situ_schema::Schema::from_idl(&told.schema).unwrap();
    schema.flat_layout(schema.find("demo::Cloud").unwrap()).unwrap().extent.size as usize
}

#[test]
fn nothing_leaves_that_nobody_asked_for() {
    let a = Machine::listening();
    let b = Machine::connected(&a);
    let wanted = a.publisher("wanted", STRING, PublisherQos::default());
    let others: Vec<_> =
        (0..20).map(|at| a.publisher(&format!("other/{at}"), STRING, PublisherQos::default())).collect();
    let to = b.subscriber("wanted", STRING);
    a.wait_for_subscribers(&wanted, 1);
    for publisher in others.iter().chain([&wanted]) {
        publish(publisher, &[], &string("x"));
    }
    assert_eq!(take(&to).1, string("x"));
    assert!(others.iter().all(|publisher| publisher.subscribers() == 0));
    let active: Vec<_> =
        a.status().crossings.into_iter().filter(|it| it.is_active).map(|it| it.name).collect();
    assert_eq!(active, ["wanted"]);
    // When the subscriber goes, so does the bridge's.
    drop(to);
    a.wait_for_subscribers(&wanted, 0);
}

#[test]
fn late_subscribers_get_what_publishers_keep() {
    let a = Machine::listening();
    let kept = PublisherQos {
        durability: Durability::TransientLocal,
        reliability: Reliability::Reliable,
        depth: 2,
        ..PublisherQos::default()
    };
    let from = a.publisher("map", STRING, kept);
    for text in ["one", "two", "three"] {
        publish(&from, &[], &string(text));
    }
    let wants = || SubscriberQos { durability: Durability::TransientLocal, ..SubscriberQos::default() };
    let b = Machine::connected(&a);
    let first = b.subscriber_with("map", STRING, wants());
    assert_eq!((take(&first).1, take(&first).1), (string("two"), string("three")));
    // A second machine, after the first has everything: from Zenoh's cache.
    let c = Machine::connected(&a);
    let second = c.subscriber_with("map", STRING, wants());
    assert_eq!((take(&second).1, take(&second).1), (string("two"), string("three")));
    // A second subscriber on the first machine: from the publisher there.
    let third = b.subscriber_with("map", STRING, wants());
    assert_eq!((take(&third).1, take(&third).1), (string("two"), string("three")));
    publish(&from, &[], &string("four"));
    for subscriber in [&first, &second, &third] {
        assert_eq!(take(subscriber).1, string("four"));
        assert!(subscriber.take().unwrap().is_none());
    }
}

#[test]
fn rules_limit_rates_and_directions() {
    let about = |text: &'static str| -> Rule { Rule::about(Box::new(move |name| name == text)) };
    let rules = Rules {
        otherwise: Direction::Both,
        rules: vec![
            Rule { interval: Some(Duration::from_secs(3600)), ..about("slow") },
            Rule { direction: Some(Direction::Neither), ..about("secret") },
            Rule { direction: Some(Direction::In), ..about("inward") },
        ],
    };
    let a = Machine::new(Setup { rules, ..Setup::default() });
    let b = Machine::connected(&a);
    let names = ["slow", "secret", "inward", "free"];
    let to: Vec<_> = names.iter().map(|name| b.subscriber(name, STRING)).collect();
    let from: Vec<_> = names.iter().map(|name| a.publisher(name, STRING, PublisherQos::default())).collect();
    a.wait_for_subscribers(&from[0], 1);
    a.wait_for_subscribers(&from[3], 1);
    for publisher in &from {
        for text in ["one", "two", "three"] {
            publish(publisher, &[], &string(text));
        }
    }
    assert_eq!(
        (take(&to[3]).1, take(&to[3]).1, take(&to[3]).1),
        (string("one"), string("two"), string("three"))
    );
    assert_eq!(take(&to[0]).1, string("one"));
    let slow =
        || a.status().crossings.into_iter().find(|it| it.name == "slow" && it.way == Way::Out).unwrap();
    until("two messages that come too soon", || slow().counts.skipped == 2);
    assert!(to.iter().all(|subscriber| subscriber.take().unwrap().is_none()));
    assert_eq!((from[1].subscribers(), from[2].subscribers()), (0, 0));
}

#[test]
fn local_publishers_do_not_wait_for_the_network() {
    let a = Machine::listening();
    let b = Machine::connected(&a);
    let qos = PublisherQos { reliability: Reliability::Reliable, depth: 4, ..PublisherQos::default() };
    let from = a.publisher("bulk", STRING, qos);
    let to = b.subscriber("bulk", STRING);
    a.wait_for_subscribers(&from, 1);
    // Far more than the network's buffers take at once. A publish that waits in vain fails.
    let large = string(&"x".repeat(4 << 20));
    for _ in 0..64 {
        publish(&from, &[], &large);
    }
    let crossing = || a.status().crossings.into_iter().find(|it| it.name == "bulk").unwrap().counts;
    until("all messages are sent or counted", || crossing().messages + crossing().lost == 64);
    assert!(crossing().messages > 0);
    drop(to);
    assert!(PATIENCE > Duration::ZERO);
}
