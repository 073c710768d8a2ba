//! Two machines as two network namespaces, with a cable of 10 Mbit/s between them.
//!
//! The test needs the right to create namespaces and the commands `ip`, `tc` and `unshare`. Without them it
//! prints so and passes. Loss and delay are added where the kernel has `netem`.

use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use situ_bridge::{Priority, Rule, Rules};
use situ_bus::{PublisherQos, Reliability};
use situ_testkit::process::{Role, rerun, role, say};

use crate::common::{Machine, PATIENCE, Setup, publish, string, take, until};

const STRING: &str = "std_msgs::msg::String";
const NEAR: &str = "10.9.0.1";
const FAR: &str = "10.9.0.2";

fn run(program: &str, arguments: &[&str]) -> bool {
    let done = Command::new(program).args(arguments).stderr(Stdio::null()).stdout(Stdio::null()).status();
    done.is_ok_and(|status| status.success())
}

fn ip(arguments: &str) -> bool {
    run("ip", &arguments.split(' ').collect::<Vec<_>>())
}

/// A command that plays a role in namespaces of its own.
fn apart(role: &str, options: &[&str]) -> Command {
    let played = rerun("namespaces::played", role);
    let mut unshare = Command::new("unshare");
    unshare.args(options).arg(played.get_program()).args(played.get_args()).stdout(Stdio::piped());
    for (name, value) in played.get_envs() {
        unshare.env(name, value.unwrap_or_default());
    }
    unshare
}

#[test]
#[ignore = "played by the children of the other test"]
fn played() {
    match role().as_deref() {
        Some("near") => near(),
        Some("far") => far(),
        _ => {}
    }
}

#[test]
fn two_network_namespaces() {
    const OPTIONS: [&str; 5] = ["--user", "--map-root-user", "--net", "--fork", "--kill-child"];
    let check = Command::new("unshare")
        .args(OPTIONS)
        .args(["ip", "link", "add", "va", "type", "veth", "peer", "name", "vb"])
        .output();
    if !check.is_ok_and(|output| output.status.success()) {
        println!("not tested: network namespaces with a cable cannot be made here");
        return;
    }
    let mut near = Role::of(apart("near", &OPTIONS));
    near.wait_for("done");
    assert!(near.end(PATIENCE).success());
}

/// The machine that publishes. It lays the cable.
fn near() {
    let mut far = Role::of(apart("far", &["--net", "--fork", "--kill-child"]));
    let pid = far.number("pid");
    assert!(ip("link set lo up") && ip("link add va type veth peer name vb"));
    assert!(
        ip(&format!("link set vb netns {pid}"))
            && ip(&format!("addr add {NEAR}/24 dev va"))
            && ip("link set va up")
    );
    let limited = "qdisc add dev va root handle 1: tbf rate 10mbit burst 32kbit latency 100ms";
    assert!(run("tc", &limited.split(' ').collect::<Vec<_>>()));
    let lossy = "qdisc add dev va parent 1:1 handle 10: netem delay 5ms loss 1%";
    if !run("tc", &lossy.split(' ').collect::<Vec<_>>()) {
        println!("not tested: loss and delay, because the kernel has no netem");
    }
    let about = |text: &'static str| -> Rule { Rule::about(Box::new(move |name| name == text)) };
    let rules = vec![
        Rule { priority: Some(Priority::RealTime), ..about("joints") },
        Rule { priority: Some(Priority::Background), ..about("image") },
    ];
    let rules = Rules { rules, ..Rules::default() };
    let a = Machine::new(Setup { listen_on: Some(format!("tcp/{NEAR}:7447")), rules, ..Setup::default() });
    let image = a.publisher("image", STRING, PublisherQos { depth: 2, ..PublisherQos::default() });
    let joints = a.publisher("joints", STRING, PublisherQos::default());
    let log = PublisherQos { reliability: Reliability::Reliable, depth: 256, ..PublisherQos::default() };
    let log = a.publisher("log", STRING, log);
    for publisher in [&image, &joints, &log] {
        a.wait_for_subscribers(publisher, 1);
    }
    // Images of 1 MB are far more than the cable takes. Neither do they hold back a publisher here, nor the
    // other topics.
    let large = string(&"x".repeat(1 << 20));
    for number in 0..50 {
        publish(&image, &[], &large);
        publish(&joints, &[], &string(&number.to_string()));
        publish(&log, &[], &string(&number.to_string()));
        std::thread::sleep(Duration::from_millis(20));
    }
    far.wait_for("all of the log");
    publish(&joints, &[], &string("last"));
    far.wait_for("last of joints");
    let counts = |name: &str| a.status().crossings.into_iter().find(|it| it.name == name).unwrap().counts;
    let (images, logs) = (counts("image"), counts("log"));
    assert_eq!((logs.messages, logs.lost), (50, 0));
    assert!(images.messages + images.lost <= 50, "{images:?}");
    // The cable is cut, which makes no connection end: silence does.
    assert!(ip("link set va down"));
    far.wait_for("gone");
    assert!(ip("link set va up"));
    far.wait_for("back");
    a.wait_for_subscribers(&joints, 1);
    // Zenoh sends as soon as it knows of the subscriber again, which takes a moment.
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let is_over = &is_over;
        scope.spawn(move || {
            far.wait_for("again");
            is_over.store(true, Ordering::Relaxed);
        });
        while !is_over.load(Ordering::Relaxed) {
            publish(&joints, &[], &string("again"));
            std::thread::sleep(Duration::from_millis(50));
        }
    });
    say("done");
}

/// The machine that subscribes.
fn far() {
    say(&format!("pid {}", std::process::id()));
    until("the cable", || ip("link show vb"));
    assert!(ip("link set lo up") && ip(&format!("addr add {FAR}/24 dev vb")) && ip("link set vb up"));
    let b =
        Machine::new(Setup { listen: false, connect: vec![format!("tcp/{NEAR}:7447")], ..Setup::default() });
    let (image, joints) = (b.subscriber("image", STRING), b.subscriber("joints", STRING));
    let log = b.subscriber("log", STRING);
    for number in 0..50 {
        assert_eq!(take(&log).1, string(&number.to_string()));
    }
    say("all of the log");
    while take(&joints).1 != string("last") {}
    say("last of joints");
    drop(image);
    let publishers = || {
        let graph = b.node.graph().unwrap();
        graph
            .endpoints()
            .filter(|(_, it)| it.name == "joints" && it.role == situ_bus::EndpointRole::Publisher)
            .count()
    };
    until("the publisher is gone", || publishers() == 0);
    say("gone");
    until("the publisher is back", || publishers() == 1);
    say("back");
    while take(&joints).1 != string("again") {}
    say("again");
    std::thread::sleep(PATIENCE);
}
