//! Processes that fork: a death is detected although a child has inherited the lock, and a child's copies of
//! handles do nothing.
#![cfg(not(loom))]

mod common;

use std::time::Duration;

use common::{Scratch, numbers, publish, role, take};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, Signal, kill_process};
use situ_bus::{
    LoanError, Node, PublishError, PublisherQos, RawPublisher, RawSubscriber, RegisterError, Reliability,
    SubscriberQos, TakeError, WhenFull, inspect, wait_any,
};
use situ_testkit::process::{Role, say};

const TIMEOUT: Duration = Duration::from_secs(30);

fn reliable_publisher(node: &Node, topic: &str, depth: usize) -> RawPublisher {
    let (reliability, when_full) = (Reliability::Reliable, WhenFull::Block(Some(TIMEOUT)));
    let qos = PublisherQos { reliability, when_full, depth, ..Default::default() };
    RawPublisher::create(node, topic, &numbers(), qos).unwrap()
}

fn reliable_subscriber(node: &Node, topic: &str) -> RawSubscriber {
    let qos = SubscriberQos { reliability: Reliability::Reliable, ..Default::default() };
    RawSubscriber::create(node, topic, &numbers(), qos).unwrap()
}

#[test]
#[ignore = "played by the children of the other tests"]
fn child() {
    let Some((role, scratch)) = role() else { return };
    let node = scratch.node("subscriber");
    match role.as_str() {
        "fork" | "clone" => {
            let _subscriber = reliable_subscriber(&node, "points");
            let child = match role.as_str() {
                // SAFETY: the child only waits to be killed.
                "fork" => i64::from(unsafe { libc::fork() }),
                // Without handlers of the C library: the child has everything that its parent has, including
                // the lock. SAFETY: as above.
                _ => unsafe { libc::syscall(libc::SYS_clone, libc::SIGCHLD, 0, 0, 0, 0) },
            };
            if child == 0 {
                wait_to_be_killed();
            }
            say(&format!("child {child}"));
            wait_to_be_killed();
        }
        "go on" => go_on_in_both(&scratch, node),
        other => panic!("no such role: {other}"),
    }
}

fn wait_to_be_killed() -> ! {
    loop {
        // SAFETY: the child only waits.
        unsafe { libc::pause() };
    }
}

/// A subscriber's process is killed while a child of it lives. Its publisher waits for it, and continues.
fn killed_beside_its_child(role: &str) {
    let scratch = Scratch::new();
    let publisher = reliable_publisher(&scratch.node("publisher"), "points", 4);
    let mut subscriber = Role::start(&scratch, role);
    let child = Pid::from_raw(subscriber.number("child") as i32).unwrap();
    let _end = End(child);
    (0..4).for_each(|value| _ = publish(&publisher, value, 0));
    let name = |node: &situ_bus::NodeInfo| (node.name.clone(), node.alive);
    let nodes = || inspect::nodes(&scratch.root()).unwrap().iter().map(name).collect::<Vec<_>>();
    assert_eq!(nodes(), [("publisher".to_owned(), true), ("subscriber".to_owned(), true)]);
    subscriber.kill();
    assert!(kill_process(child, Signal::CONT).is_ok(), "the child lives");
    // If the death were not noticed, publishing would fail at its time limit.
    (4..8).for_each(|value| _ = publish(&publisher, value, 0));
    assert_eq!(nodes(), [("publisher".to_owned(), true), ("subscriber".to_owned(), false)]);
    assert!(kill_process(child, Signal::CONT).is_ok(), "the child lived until now");
}

/// Kills a process when dropped.
struct End(Pid);

impl Drop for End {
    fn drop(&mut self) {
        let _ = kill_process(self.0, Signal::KILL);
    }
}

#[test]
fn a_death_is_noticed_while_a_forked_child_lives() {
    killed_beside_its_child("fork");
}

#[test]
fn a_death_is_noticed_while_a_cloned_child_has_the_lock() {
    killed_beside_its_child("clone");
}

fn is_forked<T>(result: Result<T, TakeError>) -> bool {
    matches!(result, Err(TakeError::Forked { topic }) if topic == "points")
}

/// Ends a forked child that panics, because the test's harness belongs to its parent.
struct Bomb;

impl Drop for Bomb {
    fn drop(&mut self) {
        // SAFETY: no state of this process is needed any more.
        unsafe { libc::_exit(1) };
    }
}

/// Parent: has all kinds of handles, and forks. After the child has tried everything, all is as it was.
fn go_on_in_both(scratch: &Scratch, node: Node) {
    let publisher = reliable_publisher(&node, "points", 4);
    let subscriber = reliable_subscriber(&node, "points");
    let other = reliable_subscriber(&node, "points");
    let event = other.event_fd().unwrap();
    (10..13).for_each(|value| _ = publish(&publisher, value, 100));
    let sample = subscriber.take().unwrap().unwrap();
    assert_eq!((take(&other), take(&other)), (Some((0, 10)), Some((1, 11))));
    let mut loan = publisher.loan(8, 8, 100).unwrap();
    // SAFETY: the head has 8 bytes, aligned to 64, and only this loan reaches it.
    unsafe { loan.head().cast::<u64>().write(77) };
    loan.body_bytes().fill(77);
    let files = scratch.files();
    // SAFETY: the child calls functions that any program may call, and no other thread of this process holds
    // a lock that it needs.
    let child = unsafe { libc::fork() };
    assert!(child >= 0);
    if child == 0 {
        let _bomb = Bomb;
        assert!(node.is_inherited() && publisher.is_inherited() && subscriber.is_inherited());
        assert!(is_forked(subscriber.take()) && is_forked(other.take()));
        // A wait returns at once.
        assert!(subscriber.wait(None) && wait_any(&[&other, &subscriber], None) == Some(0));
        assert!(matches!(publisher.loan(8, 8, 0), Err(LoanError::Forked { .. })));
        loan.body_bytes().fill(1);
        let (error, loan) = loan.publish_or_return().unwrap_err();
        assert!(matches!(error, PublishError::Forked { topic } if topic == "points"));
        let qos = SubscriberQos::default();
        let joined = RawSubscriber::create(&node, "points", &numbers(), qos);
        assert!(matches!(joined, Err(RegisterError::Forked { .. })));
        let joined = RawPublisher::create(&node, "points", &numbers(), PublisherQos::default());
        assert!(matches!(joined, Err(RegisterError::Forked { .. })));
        let text = other.event_fd().unwrap_err().to_string();
        assert!(text.contains("forked"), "{text}");
        event.clear();
        assert_eq!(sample.sequence(), 0);
        assert!(sample.head() == [0; 8] && sample.body() == [0; 100], "private zeroes");
        // The last node is dropped with the handles that were made from it.
        drop((sample, loan, event));
        drop((publisher, subscriber, other, node));
        // Handles that the child makes itself work, beside its parent.
        let own = scratch.node("own");
        let subscriber = reliable_subscriber(&own, "mine");
        let publisher = reliable_publisher(&own, "mine", 4);
        let event = subscriber.event_fd().unwrap();
        publish(&publisher, 5, 10);
        let mut polled = [PollFd::new(&event, PollFlags::IN)];
        let timeout = Timespec { tv_sec: 30, tv_nsec: 0 };
        assert_eq!(poll(&mut polled, Some(&timeout)), Ok(1));
        assert_eq!(take(&subscriber), Some((0, 5)));
        drop((subscriber, publisher, event, own));
        // SAFETY: no state of this process is needed any more.
        unsafe { libc::_exit(0) };
    }
    let mut status = 0;
    // SAFETY: the status is a local variable.
    assert_eq!(unsafe { libc::waitpid(child, &mut status, 0) }, child);
    assert_eq!(status, 0, "the child failed");
    // The parent is unchanged: its files, its samples, its loans, its places.
    assert_eq!(scratch.files(), files);
    let mut polled = [PollFd::new(&event, PollFlags::IN)];
    assert_eq!(
        poll(&mut polled, Some(&Timespec { tv_sec: 0, tv_nsec: 0 })),
        Ok(1),
        "the child has not cleared it"
    );
    assert_eq!(loan.body_bytes(), [77; 100]);
    loan.publish().unwrap();
    assert_eq!((take(&subscriber), take(&other)), (Some((1, 11)), Some((2, 12))));
    for value in 20..40 {
        while let Some(taken) = take(&subscriber) {
            assert!(taken.1 >= 12);
        }
        while take(&other).is_some() {}
        publish(&publisher, value, 100);
    }
    assert_eq!((sample.head_in_place(), sample.body_in_place()), (&10u64.to_ne_bytes()[..], &[10; 100][..]));
    // Both places count: a publisher with a subscriber that does not take is held up.
    let quick = PublisherQos { when_full: WhenFull::Fail, ..publisher.qos().clone() };
    let quick = RawPublisher::create(&node, "points", &numbers(), quick).unwrap();
    while take(&subscriber).is_some() {}
    let full = (0..10).find_map(|_| quick.loan(8, 8, 0).unwrap().publish().err());
    assert!(matches!(full, Some(PublishError::Full { .. })), "{full:?}");
    drop((publisher, quick, subscriber, other, sample, event));
    say("as it was");
}

#[test]
fn a_forked_childs_copies_of_handles_do_nothing() {
    let scratch = Scratch::new();
    let mut parent = Role::start(&scratch, "go on");
    parent.wait_for("as it was");
    assert!(parent.end(TIMEOUT).success());
    assert!(scratch.files().is_empty(), "{:?}", scratch.files());
}
