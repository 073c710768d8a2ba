//! Events of publishers and subscribers: polled, waited for, called back, from this process and from others.
#![cfg(not(loom))]

mod common;

use std::os::fd::BorrowedFd;
use std::sync::mpsc;
use std::time::{Duration, Instant};

use common::{Scratch, numbers, publish, role, take};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::Signal;
use situ_bus::{
    Event, EventStatus, Executor, Liveliness, LivelinessChangedStatus, MatchedStatus, Node, PublisherQos,
    QosPolicy, RawPublisher, RawSubscriber, ReadySources, Reliability, SubscriberQos, WaitSet,
};
use situ_testkit::process::{Role, say};

/// Longer than any step here.
const TIMEOUT: Duration = Duration::from_secs(30);
const LEASE: Duration = Duration::from_millis(50);

fn publisher(node: &Node, qos: PublisherQos) -> RawPublisher {
    RawPublisher::create(node, "numbers", &numbers(), qos).unwrap()
}

fn subscriber(node: &Node, qos: SubscriberQos) -> RawSubscriber {
    RawSubscriber::create(node, "numbers", &numbers(), qos).unwrap()
}

fn manual(lease: Duration) -> PublisherQos {
    PublisherQos { liveliness: Liveliness::ManualByTopic, lease: Some(lease), ..Default::default() }
}

/// Waits for an event in a wait set, and takes it.
fn wait<S: EventStatus>(node: &Node, event: &Event<S>) -> S {
    let set = WaitSet::new(node);
    let id = set.attach(event).unwrap();
    let mut ready = ReadySources::new();
    assert!(set.wait(&mut ready, Some(TIMEOUT)).unwrap(), "the event did not come");
    assert!(ready.contains(id));
    // It is ready until its status is taken.
    assert!(set.wait(&mut ready, Some(Duration::ZERO)).unwrap());
    let status = event.take();
    assert!(set.detach(id));
    status
}

/// Waits until a status is as expected.
fn until<S>(mut take: impl FnMut() -> S, is_expected: impl Fn(&S) -> bool) -> S {
    let start = Instant::now();
    loop {
        let status = take();
        if is_expected(&status) {
            return status;
        }
        assert!(start.elapsed() < TIMEOUT, "the status did not come");
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// The role of a child: it joins, says so, and waits to be killed or told to go on.
#[test]
#[ignore = "played by the children of the other tests"]
fn child() {
    let Some((role, scratch)) = role() else { return };
    let node = scratch.node("child");
    if role == "idle" {
        return idle(&node);
    }
    let _endpoints: (Option<RawPublisher>, Option<RawSubscriber>) = match role.as_str() {
        "publisher" => (Some(publisher(&node, PublisherQos::default())), None),
        "subscriber" => (None, Some(subscriber(&node, SubscriberQos::default()))),
        other => panic!("no such role: {other}"),
    };
    say("joined");
    loop {
        // SAFETY: the child only waits to be killed.
        unsafe { libc::pause() };
    }
}

#[test]
fn matched_counts_those_that_come_and_go() {
    let scratch = Scratch::new();
    let (a, b) = (scratch.node("a"), scratch.node("b"));
    let first = publisher(&a, PublisherQos::default());
    let one = subscriber(&b, SubscriberQos::default());
    let status = |total_count, total_count_change, current_count, current_count_change| MatchedStatus {
        total_count,
        total_count_change,
        current_count,
        current_count_change,
    };
    // Those that are there when the status is first asked for count as new.
    assert_eq!(first.matched_status(), status(1, 1, 1, 1));
    assert_eq!(first.matched_status(), status(1, 0, 1, 0));
    assert_eq!(one.matched_status(), status(1, 1, 1, 1));
    let second = publisher(&a, PublisherQos::default());
    let two = subscriber(&b, SubscriberQos::default());
    assert_eq!(first.matched_status(), status(2, 1, 2, 1));
    assert_eq!(one.matched_status(), status(2, 1, 2, 1));
    drop(second);
    assert_eq!(one.matched_status(), status(2, 0, 1, -1));
    // A subscriber leaves when it is dropped, even if samples of it live on.
    publish(&first, 1, 0);
    let sample = two.take().unwrap();
    drop(two);
    assert_eq!(first.matched_status(), status(2, 0, 1, -1));
    drop(sample);
    assert_eq!(first.matched_status(), status(2, 0, 1, 0));
    // One goes and another one comes in its place.
    drop(one);
    let _three = subscriber(&b, SubscriberQos::default());
    assert_eq!(first.matched_status(), status(3, 1, 1, 0));
}

#[test]
fn every_event_of_a_publisher_can_be_waited_for() {
    let scratch = Scratch::new();
    let (a, b) = (scratch.node("a"), scratch.node("b"));
    let deadline = Some(Duration::from_millis(30));
    let publisher = publisher(&a, PublisherQos { deadline, ..manual(LEASE) });
    assert!(wait(&a, &publisher.deadline_missed_event()).total_count_change >= 1);
    // A further deadline may pass between two readings.
    let before = publisher.deadlines_missed();
    let total = publisher.deadline_missed_status().total_count;
    assert!((before..=publisher.deadlines_missed()).contains(&total), "{before} {total}");
    let lost = wait(&a, &publisher.liveliness_lost_event());
    assert_eq!((lost.total_count, lost.total_count_change), (1, 1));
    // It is lost once, until there is a sign of life.
    std::thread::sleep(2 * LEASE);
    assert_eq!(publisher.liveliness_lost_status().total_count, 1);
    publisher.assert_liveliness();
    assert_eq!(wait(&a, &publisher.liveliness_lost_event()).total_count, 2);
    let matched = publisher.matched_event();
    std::thread::scope(|scope| {
        let joining = scope.spawn(|| {
            std::thread::sleep(Duration::from_millis(5));
            subscriber(&b, SubscriberQos::default())
        });
        assert_eq!(wait(&a, &matched).current_count, 1);
        drop(joining.join().unwrap());
        assert_eq!(wait(&a, &matched).current_count_change, -1);
        let reliability = Reliability::Reliable;
        let _unmatched = subscriber(&b, SubscriberQos { reliability, ..Default::default() });
        let status = wait(&a, &publisher.incompatible_qos_event());
        assert_eq!((status.total_count_change, status.last_policy), (1, Some(QosPolicy::Reliability)));
    });
}

#[test]
fn every_event_of_a_subscriber_can_be_waited_for() {
    let scratch = Scratch::new();
    let (a, b) = (scratch.node("a"), scratch.node("b"));
    let subscriber =
        subscriber(&b, SubscriberQos { deadline: Some(Duration::from_secs(3600)), ..Default::default() });
    let deadline = Some(Duration::from_secs(3600));
    let matched = subscriber.matched_event();
    let offered = || PublisherQos { deadline, ..manual(LEASE) };
    let first = publisher(&a, offered());
    assert_eq!(wait(&b, &matched).total_count_change, 1);
    let liveliness = subscriber.liveliness_changed_event();
    let status = until(|| wait(&b, &liveliness), |status| status.not_alive_count == 1);
    assert_eq!(status.alive_count, 0);
    // Publishing is a sign of life.
    publish(&first, 1, 0);
    let back = LivelinessChangedStatus {
        alive_count: 1,
        not_alive_count: 0,
        alive_count_change: 1,
        not_alive_count_change: -1,
    };
    assert_eq!(wait(&b, &liveliness), back);
    let lost_again = LivelinessChangedStatus {
        alive_count: 0,
        not_alive_count: 1,
        alive_count_change: -1,
        not_alive_count_change: 1,
    };
    assert_eq!(wait(&b, &liveliness), lost_again);
    first.assert_liveliness();
    assert_eq!(wait(&b, &liveliness), back);
    drop(first);
    let status = until(|| wait(&b, &liveliness), |status| status.alive_count + status.not_alive_count == 0);
    assert!(status.alive_count_change + status.not_alive_count_change == -1);
    assert_eq!(wait(&b, &matched).current_count, 0);
    let careless = publisher(&a, PublisherQos::default());
    let status = wait(&b, &subscriber.incompatible_qos_event());
    assert_eq!((status.total_count, status.last_policy), (1, Some(QosPolicy::Deadline)));
    drop(careless);
    // Messages are lost when the subscriber finds that they are.
    let lost = subscriber.messages_lost_event();
    let last = publisher(&a, PublisherQos { depth: 1, deadline, ..Default::default() });
    for value in 0..5000 {
        publish(&last, value, 0);
    }
    assert_eq!(lost.take().total_count, 0);
    while take(&subscriber).is_some() {}
    assert_eq!(wait(&b, &lost).total_count, subscriber.lost());
    assert!(subscriber.lost() > 4000);
}

#[test]
fn a_subscriber_waits_for_its_deadline() {
    let scratch = Scratch::new();
    let node = scratch.node("n");
    let deadline = Some(Duration::from_millis(20));
    let subscriber = subscriber(&node, SubscriberQos { deadline, ..Default::default() });
    let event = subscriber.deadline_missed_event();
    let first = wait(&node, &event);
    let second = wait(&node, &event);
    assert!(second.total_count_change >= 1);
    assert_eq!(second.total_count, first.total_count + second.total_count_change);
    assert!(subscriber.deadline_missed_status().total_count >= second.total_count);
}

#[test]
fn an_executor_calls_back_with_the_status() {
    let scratch = Scratch::new();
    let (a, b) = (scratch.node("a"), scratch.node("b"));
    let executor = Executor::new(&a).unwrap();
    let (sender, receiver) = mpsc::channel();
    let (reliability, deadline) = (Reliability::Reliable, Some(Duration::from_millis(50)));
    let publisher = publisher(&a, PublisherQos { deadline, ..manual(Duration::from_millis(20)) });
    let subscriber = subscriber(&a, SubscriberQos { reliability, deadline, ..Default::default() });
    macro_rules! called_back {
        ($event:expr, $name:literal) => {{
            let sender = sender.clone();
            executor.event(&$event, move |status| _ = sender.send(($name, format!("{status:?}")))).unwrap();
        }};
    }
    called_back!(publisher.matched_event(), "publisher matched");
    called_back!(publisher.incompatible_qos_event(), "publisher incompatible");
    called_back!(publisher.deadline_missed_event(), "publisher deadline");
    called_back!(publisher.liveliness_lost_event(), "publisher lost");
    called_back!(subscriber.matched_event(), "subscriber matched");
    called_back!(subscriber.incompatible_qos_event(), "subscriber incompatible");
    called_back!(subscriber.deadline_missed_event(), "subscriber deadline");
    called_back!(subscriber.liveliness_changed_event(), "subscriber liveliness");
    let stopper = executor.stopper();
    std::thread::scope(|scope| {
        scope.spawn(move || {
            let node = b;
            let qos = PublisherQos { reliability, deadline, ..Default::default() };
            let _other = RawPublisher::create(&node, "numbers", &numbers(), qos).unwrap();
            let _another =
                RawSubscriber::create(&node, "numbers", &numbers(), SubscriberQos::default()).unwrap();
            let mut missing = vec![
                "publisher matched",
                "publisher incompatible",
                "publisher deadline",
                "publisher lost",
                "subscriber matched",
                "subscriber incompatible",
                "subscriber deadline",
                "subscriber liveliness",
            ];
            while !missing.is_empty() {
                let Ok((name, _)) = receiver.recv_timeout(TIMEOUT) else { break };
                missing.retain(|it| *it != name);
            }
            stopper.stop();
            assert!(missing.is_empty(), "{missing:?} were not called back");
        });
        executor.spin().unwrap();
    });
}

#[test]
fn an_executor_calls_back_for_lost_messages() {
    let scratch = Scratch::new();
    let node = scratch.node("n");
    let subscriber = subscriber(&node, SubscriberQos::default());
    let publisher = publisher(&node, PublisherQos { depth: 1, ..Default::default() });
    let executor = Executor::new(&node).unwrap();
    let (sender, receiver) = mpsc::channel();
    let stopper = executor.stopper();
    let called_back = move |status: situ_bus::MessagesLostStatus| {
        sender.send(status.total_count).unwrap();
        stopper.stop();
    };
    executor.event(&subscriber.messages_lost_event(), called_back).unwrap();
    for value in 0..5000 {
        publish(&publisher, value, 0);
    }
    assert!(!executor.spin_once(Some(Duration::ZERO)).unwrap(), "the subscriber does not know it yet");
    while take(&subscriber).is_some() {}
    executor.spin().unwrap();
    assert_eq!(receiver.recv().unwrap(), subscriber.lost());
    assert_eq!(subscriber.messages_lost_status().total_count_change, 0, "the callback has taken the status");
}

/// A publisher in another process is killed. Returns how long a wait set slept until it had reported both
/// events.
fn kill_a_publisher() -> Duration {
    let scratch = Scratch::new();
    let node = scratch.node("n");
    let subscriber = subscriber(&node, SubscriberQos::default());
    let mut other = Role::start(&scratch, "publisher");
    other.wait_for("joined");
    let (matched, liveliness) = (subscriber.matched_event(), subscriber.liveliness_changed_event());
    assert_eq!((wait(&node, &matched).current_count, wait(&node, &liveliness).alive_count), (1, 1));
    // A stopped process is alive: automatic liveliness asks for no more.
    other.signal(Signal::STOP);
    std::thread::sleep(Duration::from_millis(50));
    assert_eq!(liveliness.take().alive_count, 1);
    let set = WaitSet::new(&node);
    let both = [set.attach(&matched).unwrap(), set.attach(&liveliness).unwrap()];
    let start = Instant::now();
    other.kill();
    let mut ready = ReadySources::new();
    for id in both {
        while !ready.contains(id) {
            assert!(set.wait(&mut ready, Some(TIMEOUT)).unwrap());
        }
    }
    let took = start.elapsed();
    let status = liveliness.take();
    assert_eq!((status.alive_count, status.alive_count_change, status.not_alive_count), (0, -1, 0));
    assert_eq!((matched.take().current_count_change, subscriber.publishers()), (-1, 0));
    took
}

/// It takes about a millisecond, and a second if only the periodic look finds it. A loaded machine may delay
/// some of the tries.
#[test]
fn a_killed_publisher_is_not_alive_and_does_not_match() {
    let tries = (0..5).map(|_| kill_a_publisher());
    assert!(tries.into_iter().any(|took| took < Duration::from_millis(900)));
}

#[test]
fn a_killed_subscriber_does_not_match() {
    let scratch = Scratch::new();
    let node = scratch.node("n");
    let publisher = publisher(&node, PublisherQos::default());
    let mut other = Role::start(&scratch, "subscriber");
    other.wait_for("joined");
    // Polled only: without any thread.
    assert_eq!(publisher.matched_status().current_count, 1);
    other.kill();
    let status = until(|| publisher.matched_status(), |status| status.current_count == 0);
    assert_eq!((status.total_count, status.current_count_change), (1, -1));
}

#[test]
fn a_set_with_a_descriptor_reports_events() {
    let scratch = Scratch::new();
    let (a, b) = (scratch.node("a"), scratch.node("b"));
    let publisher = publisher(&a, PublisherQos::default());
    let (set, matched) = (WaitSet::new(&a), publisher.matched_event());
    let id = set.attach(&matched).unwrap();
    let fd = set.fd().unwrap();
    let mut ready = ReadySources::new();
    assert!(!set.wait(&mut ready, Some(Duration::ZERO)).unwrap());
    let _subscriber = subscriber(&b, SubscriberQos::default());
    // SAFETY: the set owns the descriptor, and lives.
    let fd = unsafe { BorrowedFd::borrow_raw(fd) };
    let time = Timespec { tv_sec: TIMEOUT.as_secs() as i64, tv_nsec: 0 };
    let mut polled = [PollFd::from_borrowed_fd(fd, PollFlags::IN)];
    assert_eq!(poll(&mut polled, Some(&time)).unwrap(), 1);
    while !set.wait(&mut ready, Some(TIMEOUT)).unwrap() {}
    assert!(ready.contains(id));
    assert_eq!(matched.take().current_count, 1);
    assert!(!set.wait(&mut ready, Some(Duration::ZERO)).unwrap());
}

#[test]
fn a_dropped_endpoint_leaves_the_set() {
    let scratch = Scratch::new();
    let node = scratch.node("n");
    let publisher = publisher(&node, PublisherQos::default());
    let (set, matched) = (WaitSet::new(&node), publisher.matched_event());
    set.attach(&matched).unwrap();
    assert_eq!(set.len(), 1);
    drop(publisher);
    let mut ready = ReadySources::new();
    let start = Instant::now();
    while !set.is_empty() {
        assert!(!set.wait(&mut ready, Some(Duration::from_millis(1))).unwrap());
        assert!(start.elapsed() < TIMEOUT);
    }
    assert_eq!(matched.take(), MatchedStatus::default());
}

#[test]
fn many_endpoints_find_each_other() {
    const NUMBER: u64 = 60;
    let scratch = Scratch::new();
    let (a, b) = (scratch.node("a"), scratch.node("b"));
    let publishers: Vec<_> = (0..NUMBER).map(|_| publisher(&a, PublisherQos::default())).collect();
    let set = WaitSet::new(&a);
    let events: Vec<_> = publishers.iter().map(RawPublisher::matched_event).collect();
    let ids: Vec<_> = events.iter().map(|event| set.attach(event).unwrap()).collect();
    let subscribers: Vec<_> = (0..NUMBER).map(|_| subscriber(&b, SubscriberQos::default())).collect();
    let mut ready = ReadySources::new();
    let mut found = vec![0; events.len()];
    while found.iter().any(|count| *count < NUMBER) {
        assert!(set.wait(&mut ready, Some(TIMEOUT)).unwrap());
        for (index, id) in ids.iter().enumerate() {
            if ready.contains(*id) {
                let status = events[index].take();
                found[index] += status.total_count_change;
                assert_eq!(found[index], status.total_count);
            }
        }
    }
    for subscriber in &subscribers {
        assert_eq!(subscriber.matched_status().current_count, NUMBER);
    }
    drop(subscribers);
    for event in &events {
        let status = event.take();
        assert_eq!((status.total_count, status.current_count), (NUMBER, 0));
    }
}

/// How often the threads behind events have slept in this process.
fn sleeps() -> u64 {
    let mut sleeps = 0;
    for task in std::fs::read_dir("/proc/self/task").unwrap().flatten() {
        let name = std::fs::read_to_string(task.path().join("comm")).unwrap_or_default();
        if ["situ-events", "situ-peers"].contains(&name.trim()) {
            let status = std::fs::read_to_string(task.path().join("status")).unwrap();
            let line = status.lines().find_map(|line| line.strip_prefix("voluntary_ctxt_switches:"));
            sleeps += line.unwrap().trim().parse::<u64>().unwrap();
        }
    }
    sleeps
}

/// The role of a child that waits for events, and counts what its threads do while only messages come.
fn idle(node: &Node) {
    let publisher = publisher(node, PublisherQos::default());
    let subscriber = subscriber(node, SubscriberQos::default());
    let (set, matched) = (WaitSet::new(node), publisher.matched_event());
    set.attach(&matched).unwrap();
    until(|| matched.take(), |status| status.current_count == 1);
    std::thread::sleep(Duration::from_millis(50));
    let before = sleeps();
    for value in 0..1000 {
        publish(&publisher, value, 0);
        assert!(take(&subscriber).is_some());
    }
    std::thread::sleep(Duration::from_millis(500));
    say(&format!("sleeps {}", sleeps() - before));
}

#[test]
fn messages_wake_no_thread_of_events() {
    let scratch = Scratch::new();
    let mut child = Role::start(&scratch, "idle");
    // One thread looks once a second. A thread that polls, or that messages wake, would sleep hundreds of
    // times.
    assert!(child.number("sleeps") < 50);
}
