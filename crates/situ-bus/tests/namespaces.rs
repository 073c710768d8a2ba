//! Containers that share the root directory but have different process numbers. Between them, only the lock
//! shows which process is alive.
//!
//! The test needs the right to create a process namespace, which root has, also in most containers. Without
//! that right the test prints so and passes.
#![cfg(not(loom))]

mod common;

use std::process::Command;
use std::time::Duration;

use common::{Scratch, numbers, publish, role, take};
use situ_bus::{
    Node, PublisherQos, RawPublisher, RawSubscriber, Reliability, SubscriberQos, WhenFull, clean, inspect,
};
use situ_testkit::process::{Role, command, say};

const TIMEOUT: Duration = Duration::from_secs(30);

fn reliable_publisher(node: &Node) -> RawPublisher {
    let (reliability, when_full) = (Reliability::Reliable, WhenFull::Block(Some(TIMEOUT)));
    let qos = PublisherQos { reliability, when_full, depth: 4, ..Default::default() };
    RawPublisher::create(node, "points", &numbers(), qos).unwrap()
}

fn reliable_subscriber(node: &Node) -> RawSubscriber {
    let qos = SubscriberQos { reliability: Reliability::Reliable, ..Default::default() };
    RawSubscriber::create(node, "points", &numbers(), qos).unwrap()
}

#[test]
#[ignore = "played by the children of the other tests"]
fn child() {
    let Some((role, scratch)) = role() else { return };
    let node = scratch.node("inside");
    // Existing members are left alone, in this namespace or in another.
    clean(&scratch.root()).unwrap();
    match role.as_str() {
        "subscribe" => {
            let subscriber = reliable_subscriber(&node);
            say(&format!("pid {}", std::process::id()));
            while !matches!(take(&subscriber), Some((_, 3))) {
                subscriber.wait(None);
            }
            say("taken");
            loop {
                std::thread::sleep(TIMEOUT);
            }
        }
        "publish" => {
            let publisher = reliable_publisher(&node);
            (0..4).for_each(|value| _ = publish(&publisher, value, 0));
            say("full");
            // Waits until the subscriber outside is dead. It cannot look up that process.
            (4..8).for_each(|value| _ = publish(&publisher, value, 0));
            say("went on");
        }
        "outside" => {
            let _subscriber = reliable_subscriber(&node);
            say("ready");
            loop {
                std::thread::sleep(TIMEOUT);
            }
        }
        other => panic!("no such role: {other}"),
    }
}

/// A command in a process namespace of its own, with a `/proc` that shows that namespace or its parent's.
/// `None` if that is not permitted.
fn inside(scratch: &Scratch, role: &str, own_proc: bool) -> Option<Role> {
    let mut options = vec!["--pid", "--fork", "--kill-child"];
    options.extend(own_proc.then_some("--mount-proc"));
    let allowed = Command::new("unshare").args(&options).arg("true").output();
    if !allowed.is_ok_and(|output| output.status.success()) {
        println!("not tested: namespaces of processes cannot be made here");
        return None;
    }
    let played = command(scratch, role);
    let mut unshare = Command::new("unshare");
    unshare
        .args(&options)
        .arg(played.get_program())
        .args(played.get_args())
        .stdout(std::process::Stdio::piped());
    for (name, value) in played.get_envs() {
        unshare.env(name, value.unwrap_or_default());
    }
    Some(Role::of(unshare))
}

fn alive(scratch: &Scratch) -> Vec<(String, bool)> {
    let nodes = inspect::nodes(&scratch.root()).unwrap();
    nodes.into_iter().map(|node| (node.name, node.alive)).collect()
}

#[test]
fn processes_outside_see_life_and_death_inside() {
    for own_proc in [true, false] {
        let scratch = Scratch::new();
        let outside = scratch.node("outside");
        let publisher = reliable_publisher(&outside);
        let Some(mut subscriber) = inside(&scratch, "subscribe", own_proc) else { return };
        // A number that belongs to another process out here.
        assert!(subscriber.number("pid") < u64::from(std::process::id()));
        clean(&scratch.root()).unwrap();
        assert_eq!(alive(&scratch), [("inside".to_owned(), true), ("outside".to_owned(), true)]);
        (0..4).for_each(|value| _ = publish(&publisher, value, 0));
        subscriber.wait_for("taken");
        (4..8).for_each(|value| _ = publish(&publisher, value, 0));
        // The kernel kills all processes in it together with the parent, which made the namespace.
        subscriber.kill();
        // Otherwise it would reach its time limit, which is an error.
        (8..16).for_each(|value| _ = publish(&publisher, value, 0));
        assert_eq!(alive(&scratch), [("inside".to_owned(), false), ("outside".to_owned(), true)]);
        assert_eq!(clean(&scratch.root()).unwrap().nodes, ["inside"]);
        assert_eq!(alive(&scratch), [("outside".to_owned(), true)]);
    }
}

#[test]
fn processes_inside_see_life_and_death_outside() {
    for own_proc in [true, false] {
        let scratch = Scratch::new();
        let mut outside = Role::start(&scratch, "outside");
        outside.wait_for("ready");
        let Some(mut publisher) = inside(&scratch, "publish", own_proc) else { return };
        publisher.wait_for("full");
        assert_eq!(alive(&scratch), [("inside".to_owned(), true), ("inside".to_owned(), true)]);
        outside.kill();
        publisher.wait_for("went on");
    }
}
