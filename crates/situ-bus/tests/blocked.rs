//! A reliable publisher without room: how long it waits, which error it returns, and what observers see.
#![cfg(not(loom))]

mod common;

use std::sync::Mutex;
use std::time::{Duration, Instant};

use common::{Scratch, numbers, publish, role, take};
use situ_bus::hook::{self, Event, Hook, Notice, Step};
use situ_bus::{
    History, Node, PublishError, PublisherQos, RawPublisher, RawSubscriber, Reliability, SubscriberQos,
    TakeError, WhenFull, inspect,
};
use situ_testkit::process::{Role, say};

const TOPIC: &str = "numbers";

fn publisher(node: &Node, depth: usize, when_full: Option<WhenFull>) -> RawPublisher {
    let usual = PublisherQos { reliability: Reliability::Reliable, depth, ..Default::default() };
    let when_full = when_full.unwrap_or(usual.when_full);
    RawPublisher::create(node, TOPIC, &numbers(), PublisherQos { when_full, ..usual }).unwrap()
}

fn asks_for_all() -> SubscriberQos {
    SubscriberQos { reliability: Reliability::Reliable, history: History::KeepAll, ..Default::default() }
}

fn subscriber(node: &Node) -> RawSubscriber {
    RawSubscriber::create(node, TOPIC, &numbers(), asks_for_all()).unwrap()
}

fn try_publish(publisher: &RawPublisher, value: u64) -> Result<u64, PublishError> {
    let loan = publisher.loan(8, 8, 0).unwrap();
    // SAFETY: the head has 8 bytes, aligned to 64, and only this loan reaches it.
    unsafe { loan.head().cast::<u64>().write(value) };
    loan.publish()
}

/// The roles of the other processes.
#[test]
#[ignore = "played by the children of the other tests"]
fn child() {
    let Some((part, scratch)) = role() else { return };
    let node = scratch.node(&part);
    match part.as_str() {
        "slow" => {
            let subscriber = subscriber(&node);
            say("ready");
            while subscriber.taken() == 0 {
                subscriber.wait(None);
                take(&subscriber);
            }
            std::thread::sleep(Duration::MAX);
        }
        "blocked" => {
            let publisher = publisher(&node, 2, Some(WhenFull::Block(None)));
            say("ready");
            for value in 0..=u64::MAX {
                publish(&publisher, value, 0);
            }
        }
        _ => unreachable!("{part}"),
    }
}

#[test]
fn the_default_wait_ends_and_names_the_subscriber() {
    let scratch = Scratch::new();
    let node = scratch.node("driver");
    let mut slow = Role::start(&scratch, "slow");
    slow.wait_for("ready");
    let publisher = publisher(&node, 2, None);
    let start = Instant::now();
    // Takes the first message and no more.
    let error = (0..).find_map(|value| try_publish(&publisher, value).err()).unwrap();
    assert!(start.elapsed() >= Duration::from_secs(1), "{:?}", start.elapsed());
    let PublishError::Full { subscriber: Some(named), depth: 2, waiting_for: 1, .. } = &error else {
        panic!("{error:?}")
    };
    let pid = slow.pid().as_raw_nonzero().get() as u32;
    assert_eq!((named.name.as_str(), named.pid), ("slow", Some(pid)));
    let text = error.to_string();
    assert!(text.contains("\"slow\"") && text.contains(&format!("process {pid}")), "{text}");
}

#[test]
fn a_thread_that_waits_for_itself_gets_an_error() {
    let scratch = Scratch::new();
    let node = scratch.node("alone");
    for limit in [None, Some(Duration::from_secs(600))] {
        let subscriber = subscriber(&scratch.node("other node, same thread"));
        let publisher = publisher(&node, 2, Some(WhenFull::Block(limit)));
        let first = publish(&publisher, 0, 0);
        assert_eq!(take(&subscriber), Some((first, 0)));
        publish(&publisher, 1, 0);
        publish(&publisher, 2, 0);
        let error = try_publish(&publisher, 3).unwrap_err();
        let PublishError::OwnThread { waiting_for, depth: 2, subscriber: named, .. } = &error else {
            panic!("{error:?}")
        };
        assert_eq!((*waiting_for, named.pid), (first + 1, Some(std::process::id())));
        assert!(error.to_string().contains("publishing thread"), "{error}");
        // The failed call breaks nothing.
        assert_eq!(take(&subscriber), Some((first + 1, 1)));
        assert_eq!(publish(&publisher, 3, 0), first + 3);
    }
}

/// The error does not depend on how late the thread checks again.
#[test]
fn a_short_limit_always_ends_as_full() {
    let scratch = Scratch::new();
    let node = scratch.node("n");
    let subscriber = subscriber(&node);
    // The grace period within which another thread may begin to use the subscriber.
    let limit = Duration::from_millis(20);
    let publisher = publisher(&node, 2, Some(WhenFull::Block(Some(limit))));
    publish(&publisher, 0, 0);
    publish(&publisher, 1, 0);
    assert_eq!(take(&subscriber), Some((0, 0)), "used by this thread");
    publish(&publisher, 2, 0);
    let error = try_publish(&publisher, 3).unwrap_err();
    let PublishError::Full { waiting_for: 1, depth: 2, waited, .. } = error else { panic!("{error:?}") };
    assert!(waited >= limit, "{waited:?}");
}

#[test]
fn a_subscriber_that_went_to_another_thread_is_waited_for() {
    let scratch = Scratch::new();
    let node = scratch.node("n");
    let subscriber = subscriber(&node);
    let publisher = publisher(&node, 2, Some(WhenFull::Block(Some(Duration::from_secs(60)))));
    publish(&publisher, 0, 0);
    assert_eq!(take(&subscriber), Some((0, 0)), "used by this thread");
    let (tell, told) = std::sync::mpsc::channel();
    std::thread::scope(|scope| {
        scope.spawn(move || {
            // The other thread uses it now. There may be nothing to take yet.
            subscriber.wait(Some(Duration::from_millis(1)));
            tell.send(()).unwrap();
            std::thread::sleep(Duration::from_millis(100));
            while subscriber.taken() < 20 {
                if take(&subscriber).is_none() {
                    subscriber.wait(None);
                }
            }
        });
        told.recv().unwrap();
        (1..20).for_each(|value| _ = publish(&publisher, value, 0));
    });
}

#[test]
fn inspection_shows_the_publisher_that_waits_and_its_subscriber() {
    let scratch = Scratch::new();
    let (mut slow, mut blocked) = (Role::start(&scratch, "slow"), Role::start(&scratch, "blocked"));
    slow.wait_for("ready");
    blocked.wait_for("ready");
    let nodes = || inspect::nodes(&scratch.root()).unwrap();
    let start = Instant::now();
    let look = || {
        let topic = inspect::topic(&scratch.root(), TOPIC).unwrap().unwrap();
        topic.publishers.iter().find_map(|it| Some((it.node, it.waits?)))
    };
    let (publisher, waits, later) = loop {
        // The first wait may end: it can begin before the subscriber takes its only message. The second
        // lasts.
        if let (Some((publisher, first)), Some((_, second))) = (look(), look())
            && second.waited >= first.waited
        {
            break (publisher, first, second);
        }
        assert!(start.elapsed() < Duration::from_secs(60), "the publisher does not wait");
        std::thread::sleep(Duration::from_millis(5));
    };
    let name = |id| nodes().into_iter().find(|node| node.id == id).map(|node| node.name);
    assert_eq!((name(publisher), name(waits.subscriber)), (Some("blocked".into()), Some("slow".into())));
    assert!(later.waited <= start.elapsed() + Duration::from_secs(60));
    drop(slow);
    // It continues, and waits for no subscriber.
    let end = Instant::now() + Duration::from_secs(60);
    while look().is_some() {
        assert!(Instant::now() < end, "it still waits for the dead subscriber");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// The events of the publisher's thread, for a tracer that is set while the publisher waits.
static TOLD: Mutex<Vec<Event>> = Mutex::new(Vec::new());

fn keep(notice: &Notice<'_>) {
    if notice.subject.is_some_and(|subject| subject.topic == "late") {
        TOLD.lock().unwrap().push(notice.event);
    }
}

static HOOK: Hook = Hook { now_ns: || 0, tell: keep };

#[test]
fn a_tracer_that_is_set_during_a_wait_sees_the_wait() {
    let scratch = Scratch::new();
    let node = scratch.node("watched");
    let (reliability, when_full) = (Reliability::Reliable, WhenFull::Block(None));
    let qos = PublisherQos { depth: 1, reliability, when_full, ..Default::default() };
    let publisher = RawPublisher::create(&node, "late", &numbers(), qos).unwrap();
    let subscriber = RawSubscriber::create(&node, "late", &numbers(), asks_for_all()).unwrap();
    publish(&publisher, 0, 0);
    let waits = || {
        let topic = inspect::topic(&scratch.root(), "late").unwrap().unwrap();
        topic.publishers[0].waits.map(|waits| waits.subscriber)
    };
    let step = Step::WaitForRoom { subscriber: node.id(), pid: std::process::id() };
    let begins = Event::Begin { step, number: None, bytes: 0 };
    std::thread::scope(|scope| {
        scope.spawn(move || publish(&publisher, 1, 0));
        while waits() != Some(node.id()) {
            std::thread::yield_now();
        }
        hook::watch(Some(&HOOK));
        while !TOLD.lock().unwrap().contains(&begins) {
            std::thread::sleep(Duration::from_millis(1));
        }
        assert_eq!(take(&subscriber), Some((0, 0)));
    });
    hook::watch(None);
    let told = TOLD.lock().unwrap();
    assert!(told.contains(&Event::End { step, number: None, bytes: 0 }), "{told:?}");
}

#[test]
fn a_subscriber_with_too_many_samples_gets_an_error_and_its_publisher_does_not() {
    let scratch = Scratch::new();
    let node = scratch.node("n");
    let publisher = RawPublisher::create(&node, TOPIC, &numbers(), PublisherQos::default()).unwrap();
    let join = |max_held| {
        let qos = SubscriberQos { max_held, ..Default::default() };
        RawSubscriber::create(&node, TOPIC, &numbers(), qos).unwrap()
    };
    let (three, usual) = (join(3), join(SubscriberQos::default().max_held));
    let mut held: Vec<_> = (0..3)
        .map(|value| {
            publish(&publisher, value, 0);
            three.take().unwrap().unwrap()
        })
        .collect();
    assert!(three.take().unwrap().is_none(), "nothing to take is no error");
    publish(&publisher, 3, 0);
    let error = three.take().unwrap_err();
    assert!(matches!(error, TakeError::Held { held: 3, most: 3, .. }), "{error:?}");
    assert!(error.to_string().contains("max_held"), "{error}");
    // The message stays available.
    held.pop();
    assert_eq!(take(&three), Some((3, 3)));
    assert_eq!((three.lost(), three.taken()), (0, 4));
    drop(held);
    // Far more messages than slots. The subscriber keeps all that it can, and the publisher does not wait.
    let mut kept = Vec::new();
    let mut refused = 0;
    for value in 4..5000 {
        publish(&publisher, value, 0);
        match usual.take() {
            Ok(sample) => kept.extend(sample),
            Err(TakeError::Held { held: 256, most: 256, .. }) => refused += 1,
            Err(error) => panic!("{error}"),
        }
    }
    assert_eq!((kept.len(), refused), (256, 4996 - 256));
}

#[test]
fn inspection_shows_lost_messages_before_the_subscriber_takes() {
    let scratch = Scratch::new();
    let node = scratch.node("n");
    let publisher = RawPublisher::create(&node, TOPIC, &numbers(), PublisherQos::default()).unwrap();
    publish(&publisher, 0, 0);
    let join = |history| {
        let qos = SubscriberQos { history, ..Default::default() };
        RawSubscriber::create(&node, TOPIC, &numbers(), qos).unwrap()
    };
    let (behind, last) = (join(History::KeepAll), join(History::KeepLast(4)));
    let seen = || {
        let topic = inspect::topic(&scratch.root(), TOPIC).unwrap().unwrap();
        topic.subscribers.iter().map(|it| (it.behind, it.lost)).collect::<Vec<_>>()
    };
    assert_eq!(seen(), [(0, 0), (0, 0)]);
    for value in 1..=100 {
        publish(&publisher, value, 0);
    }
    // The publisher keeps the last 8; the rows are still there.
    assert_eq!(seen(), [(100, 92), (100, 0)]);
    for value in 101..=10_000 {
        publish(&publisher, value, 0);
    }
    assert_eq!(seen(), [(10_000, 9_992), (10_000, 0)]);
    assert_eq!(take(&behind), Some((9_993, 9_993)));
    assert_eq!(behind.lost(), 9_992, "as inspection showed");
    assert_eq!(seen()[0], (7, 9_992));
    assert_eq!(take(&last), Some((9_997, 9_997)));
}
