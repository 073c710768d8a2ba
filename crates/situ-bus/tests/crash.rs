//! Processes are killed at chosen steps: at any instruction of publishing and taking, and between any two
//! system calls of joining and leaving. After each kill the others continue, no message is torn or lost, and
//! no file or memory remains.
#![cfg(not(loom))]

mod common;

use std::path::PathBuf;
use std::time::Duration;

use common::pattern::{Order, bytes, send, send_bytes};
use common::{Scratch, numbers, role};
use situ_bus::{
    History, Node, Placement, PublisherQos, RawPublisher, RawSubscriber, Reliability, SubscriberQos,
    WhenFull, clean, inspect,
};
use situ_memory::{DomainId, DomainKind};
use situ_testkit::Random;
use situ_testkit::process::{Role, say};
use situ_testkit::step::{Steps, Stride, stepped};

fn kills(usual: u64) -> u64 {
    std::env::var("SITU_CHAOS_KILLS").map_or(usual, |kills| (kills.parse::<u64>().unwrap() / 10).max(usual))
}

fn publisher(node: &Node) -> RawPublisher {
    let qos = PublisherQos {
        reliability: Reliability::Reliable,
        depth: 4,
        // No wait for a dead participant may last this long.
        when_full: WhenFull::Block(Some(Duration::from_secs(10))),
        ..Default::default()
    };
    RawPublisher::create(node, "steps", &numbers(), qos).unwrap()
}

fn subscriber(node: &Node) -> RawSubscriber {
    let qos =
        SubscriberQos { reliability: Reliability::Reliable, history: History::KeepAll, ..Default::default() };
    RawSubscriber::create(node, "steps", &numbers(), qos).unwrap()
}

const DEVICE: DomainId = DomainId { kind: DomainKind::EMULATED, number: 0 };

fn on_device(node: &Node) -> RawSubscriber {
    let placement = Placement { domain: DEVICE, ..Default::default() };
    RawSubscriber::create_in(node, "bring", &numbers(), SubscriberQos::default(), &placement).unwrap()
}

fn say_thread() {
    // SAFETY: the call has no conditions.
    say(&format!("thread {}", unsafe { libc::gettid() }));
}

#[test]
#[ignore = "played by the children of the other tests"]
fn child() {
    let Some((role, scratch)) = role() else { return };
    match role.as_str() {
        "publish" => {
            let publisher = publisher(&scratch.node("child"));
            let name = u64::from(std::process::id());
            for count in 0..6 {
                // More messages than the depth: before the fifth, the parent has taken some.
                send(&publisher, name, count, 200).unwrap();
                if count == 3 {
                    say("published");
                }
            }
            say_thread();
            let (head, body) = bytes(name, 6, 200);
            stepped(|| _ = send_bytes(&publisher, &head, &body).unwrap());
        }
        "take" => {
            let subscriber = subscriber(&scratch.node("child"));
            say("ready");
            // The first one takes long, because the pool is mapped.
            while subscriber.take().unwrap().is_none() {
                subscriber.wait(None);
            }
            while !subscriber.has_next() {}
            say_thread();
            stepped(|| {
                let sample = subscriber.take().unwrap();
                drop(sample);
            });
        }
        "wait" => {
            let subscriber = subscriber(&scratch.node("child"));
            say("ready");
            say_thread();
            stepped(|| _ = subscriber.wait(Some(Duration::from_millis(1))));
        }
        "come and go" => {
            say_thread();
            stepped(|| {
                let node = scratch.node("child");
                let subscriber = subscriber(&node);
                let publisher = publisher(&node);
                send(&publisher, std::process::id().into(), 0, 64).unwrap();
                let sample = subscriber.take().unwrap();
                drop(publisher);
                drop(subscriber);
                drop(sample);
            });
        }
        // A take in another domain than the message's: the first time with all of its setup, and again.
        "bring" | "bring the first" => {
            let subscriber = on_device(&scratch.node("child"));
            say("ready");
            if role == "bring" {
                while subscriber.take().unwrap().is_none() {
                    subscriber.wait(None);
                }
            }
            while !subscriber.has_next() {}
            say_thread();
            stepped(|| {
                let sample = subscriber.take().unwrap();
                drop(sample);
            });
        }
        other => panic!("no such role: {other}"),
    }
}

/// Runs a role many times and kills it after a step, spread over all of its steps. `before` prepares it,
/// `after` checks the remains.
fn kill_at_each(
    what: &str,
    stride: Stride,
    kills: u64,
    scratch: &Scratch,
    before: impl Fn(&mut Role),
    mut after: impl FnMut(),
) {
    let mut random = Random::seeded(what);
    let start = || {
        let mut role = Role::start(scratch, what);
        before(&mut role);
        let steps = Steps::begin(&mut role);
        (role, steps)
    };
    let (role, steps) = start();
    let all = steps.count(stride);
    steps.kill(role);
    after();
    println!("{what}: {all} steps, {kills} kills");
    for kill in 0..kills {
        let (role, steps) = start();
        // The number of steps varies a little from run to run. An early end counts as a kill there.
        let at = (all * kill + random.below(all)) / kills;
        if steps.go(stride, at).is_ok() && stride == Stride::SystemCall {
            let _ = steps.go(Stride::Instruction, random.below(500));
        }
        steps.kill(role);
        after();
    }
}

/// The hot path, at any instruction: the others lose nothing, and slots of the dead process return.
fn hot_path(what: &str, usual: u64, before: impl Fn(&mut Role, &mut dyn FnMut())) {
    let scratch = Scratch::new();
    let node = scratch.node("parent");
    let (publisher, subscriber) = (publisher(&node), subscriber(&node));
    let order = std::cell::RefCell::new(Order::new(true));
    let count = std::cell::Cell::new(0);
    let take_all = || {
        while let Some(sample) = subscriber.take().unwrap() {
            order.borrow_mut().note(&sample);
        }
    };
    let publish = || {
        count.set(count.get() + 1);
        send(&publisher, 0, count.get(), 200).unwrap();
        take_all();
    };
    kill_at_each(
        what,
        Stride::Instruction,
        kills(usual),
        &scratch,
        |role| {
            take_all();
            before(role, &mut || publish());
            take_all();
        },
        || {
            take_all();
            // More messages than the dead process left room for.
            (0..8).for_each(|_| publish());
            assert!(publisher.memory().in_use <= 6, "{:?}", publisher.memory());
        },
    );
    assert_eq!(subscriber.lost(), 0);
    drop((publisher, subscriber, node));
    clean(&scratch.root()).unwrap();
    assert_eq!(scratch.files(), Vec::<PathBuf>::new());
}

#[test]
fn killed_at_any_instruction_of_publishing() {
    hot_path("publish", 60, |role, _| role.wait_for("published"));
}

#[test]
fn killed_at_any_instruction_of_taking() {
    hot_path("take", 60, |role, publish| {
        role.wait_for("ready");
        publish();
        publish();
    });
}

#[test]
fn killed_at_any_instruction_of_waiting() {
    hot_path("wait", 20, |role, _| role.wait_for("ready"));
}

/// Creating and removing nodes, topics, pools and places, without other participants: the next one, or
/// `clean`, removes all remains.
#[test]
fn killed_between_any_system_calls_of_coming_and_going() {
    let scratch = Scratch::new();
    scratch.root().prepare().unwrap();
    kill_at_each(
        "come and go",
        Stride::SystemCall,
        kills(120),
        &scratch,
        |_| (),
        || {
            clean(&scratch.root()).unwrap();
            assert_eq!(scratch.files(), Vec::<PathBuf>::new());
            assert_eq!(std::fs::read_dir(scratch.join("topics")).unwrap().count(), 0);
        },
    );
}

/// The same beside other participants: the remains do not hinder them.
#[test]
fn killed_between_any_system_calls_beside_others() {
    let scratch = Scratch::new();
    let node = scratch.node("parent");
    let (publisher, subscriber) = (publisher(&node), subscriber(&node));
    let mut order = Order::new(false);
    let mut count = 0;
    // A living publisher and a living subscriber, and no other member.
    let files = scratch.files().len();
    kill_at_each(
        "come and go",
        Stride::SystemCall,
        kills(60),
        &scratch,
        |_| (),
        || {
            for _ in 0..8 {
                send(&publisher, 0, count, 64).unwrap();
                count += 1;
                while let Some(sample) = subscriber.take().unwrap() {
                    if sample.head_in_place().len() == common::pattern::HEAD {
                        order.note(&sample);
                    }
                }
            }
            drop(self::subscriber(&scratch.node("next")));
            // A process looks for the files of dead nodes once a second.
            clean(&scratch.root()).unwrap();
            let left = scratch.files();
            assert_eq!(left.len(), files, "{left:?}");
        },
    );
    assert_eq!(subscriber.lost(), 0);
}

/// Copying into another domain: after a kill at any step, the next subscriber gets the whole message, from
/// the finished copy or by another one. At most one copy of each message is ever finished.
fn bring(what: &str) {
    let scratch = Scratch::new();
    let node = scratch.node("parent");
    let qos = PublisherQos { depth: 4, ..Default::default() };
    let publisher = RawPublisher::create(&node, "bring", &numbers(), qos).unwrap();
    let subscriber = on_device(&node);
    let stream = situ_memory::find(DEVICE).unwrap().stream().unwrap();
    let order = std::cell::RefCell::new(Order::new(true));
    let count = std::cell::Cell::new(0);
    let publish = || {
        send(&publisher, 0, count.replace(count.get() + 1), 5000).unwrap();
    };
    let take_all = || {
        while let Some(sample) = subscriber.take().unwrap() {
            let (span, mut body) = (sample.span(), vec![0; sample.body_size()]);
            // SAFETY: the bytes live until the stream has passed, which is waited for.
            unsafe {
                let to = body.as_mut_ptr();
                stream.copy_to_host(span.memory(), span.offset(), to, span.size()).unwrap();
            }
            stream.synchronize(Duration::from_secs(10)).unwrap();
            order.borrow_mut().note_bytes(&sample, &body);
        }
    };
    kill_at_each(
        what,
        Stride::SystemCall,
        kills(40),
        &scratch,
        |role| {
            role.wait_for("ready");
            publish();
            if what == "bring" {
                publish();
            }
        },
        || {
            take_all();
            (0..8).for_each(|_| {
                publish();
                take_all();
            });
            assert!(publisher.memory().in_use <= 6, "{:?}", publisher.memory());
            let topic = inspect::topic(&scratch.root(), "bring").unwrap().unwrap();
            let copies = topic.domains.iter().find(|used| used.domain == DEVICE).unwrap().copies;
            assert!(copies <= count.get(), "{copies} copies of {} messages", count.get());
        },
    );
    assert_eq!(subscriber.lost(), 0);
    drop((publisher, subscriber, node));
    clean(&scratch.root()).unwrap();
    assert_eq!(scratch.files(), Vec::<PathBuf>::new());
}

#[test]
fn killed_at_any_step_of_copying() {
    bring("bring");
    bring("bring the first");
}
