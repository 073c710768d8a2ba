//! Commands that receive a signal end in order and leave no files and no dead node.

mod common;

use std::time::{Duration, Instant};

use common::Sandbox;
use rustix::process::Signal;
use situ::bus::{Node, RawSubscriber, Reliability, Root, SubscriberQos, inspect};

const POSE: &str = "module demo { @final struct Pose { double x; double y; }; };";
const TIMEOUT: Duration = Duration::from_secs(20);
/// More than one signal, as `timeout` and closing terminals send them.
const SIGNALS: [&[Signal]; 4] = [
    &[Signal::TERM],
    &[Signal::HUP],
    &[Signal::TERM, Signal::INT, Signal::HUP],
    &[Signal::HUP, Signal::TERM],
];

fn wait_until(what: &str, mut there: impl FnMut() -> bool) {
    let start = Instant::now();
    while !there() {
        assert!(start.elapsed() < TIMEOUT, "{what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn commands_that_a_signal_ends_leave_no_files_and_no_dead_node() {
    let sandbox = Sandbox::new();
    let root = Root::at(sandbox.root(), None);
    let schema = sandbox.file("pose.idl", POSE);
    let publish = ["topic", "pub", "pose", "demo::Pose", "{x: 1}", "--schema", &schema, "--rate", "100"];
    let mut publisher = sandbox.spawn(&publish);
    sandbox.wait_for_topic("pose");
    for signals in SIGNALS {
        for command in ["echo", "hz"] {
            let mut listener = sandbox.spawn(&["topic", command, "pose"]);
            let mut out = listener.take_stdout();
            std::thread::spawn(move || std::io::copy(&mut out, &mut std::io::sink()));
            let nodes = || inspect::nodes(&root).unwrap();
            wait_until("the listener does not join", || nodes().len() == 2);
            listener.end_by(signals);
            assert!(nodes().len() == 1 && nodes()[0].alive, "{command} {signals:?}: {:?}", nodes());
        }
        publisher.end_by(signals);
        assert_eq!(sandbox.files(), Vec::<String>::new(), "{signals:?}");
        publisher = sandbox.spawn(&publish);
        sandbox.wait_for_topic("pose");
    }
}

#[test]
fn a_publisher_that_waits_for_room_ends() {
    let sandbox = Sandbox::new();
    let root = Root::at(sandbox.root(), None);
    let schema = sandbox.file("pose.idl", POSE);
    let mut publisher = sandbox.spawn(&[
        "topic",
        "pub",
        "pose",
        "demo::Pose",
        "{x: 1}",
        "--schema",
        &schema,
        "--rate",
        "1000",
    ]);
    sandbox.wait_for_topic("pose");
    let description = inspect::topic(&root, "pose").unwrap().unwrap().description;
    let node = Node::in_root("listener", root.clone()).unwrap();
    let qos = SubscriberQos { reliability: Reliability::Reliable, ..Default::default() };
    let subscriber = RawSubscriber::create(&node, "pose", &description, qos).unwrap();
    let published = || inspect::topic(&root, "pose").unwrap().unwrap().published;
    let mut before = 0;
    wait_until("it keeps publishing", || std::mem::replace(&mut before, published()) == published());
    publisher.end_by(&[Signal::TERM]);
    let nodes = inspect::nodes(&root).unwrap();
    assert!(nodes.len() == 1 && nodes[0].name == "listener", "{nodes:?}");
    drop((subscriber, node));
    assert_eq!(sandbox.files(), Vec::<String>::new());
}
