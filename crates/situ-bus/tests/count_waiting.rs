//! Waiting for a set, and running callbacks: counts that nothing is allocated, and that no system call is
//! made when something is ready already.
#![cfg(not(loom))]

mod common;

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use common::Scratch;
use common::messages::{Pose, publish_pose, take_pose};
use situ_bus::{Executor, GuardCondition, ReadySources, SimulatedClock, Timer, WaitSet};
use situ_testkit::allocator::{Calls, CountingAllocator, counting};
use situ_testkit::process::{rerun, role};
use situ_testkit::system_calls::{SURVIVED, forbid_system_calls, survive};

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator;

const TIMEOUT: Option<Duration> = Some(Duration::from_secs(20));

/// Makes the sources ready in each round, and waits for them. `measured` gets some rounds to run.
fn wait_for_ready_sources(measured: impl FnOnce(&mut dyn FnMut())) {
    let scratch = Scratch::new();
    let node = scratch.node("n");
    let set = WaitSet::new(&node);
    let subscriber = node.subscriber::<Pose>("poses").create().unwrap();
    let publisher = node.publisher::<Pose>("poses").create().unwrap();
    let (guard, clock) = (GuardCondition::new(), SimulatedClock::new(Duration::ZERO));
    let timer = Timer::periodic_by(&clock.clock(), Duration::from_secs(1)).unwrap();
    let steady = Timer::periodic(Duration::from_secs(3600)).unwrap();
    let topic = set.attach(&subscriber).unwrap();
    set.attach(&guard).unwrap();
    set.attach(&timer).unwrap();
    set.attach(&steady).unwrap();
    let mut ready = ReadySources::new();
    let mut round = |count| {
        publish_pose(&publisher, count);
        guard.trigger();
        clock.advance(Duration::from_secs(1));
        assert!(set.wait(&mut ready, TIMEOUT).unwrap());
        assert_eq!(ready.as_slice().len(), 3);
        assert!(ready.contains(topic));
        assert_eq!(take_pose(&subscriber), Some(count));
    };
    (0..100).for_each(&mut round);
    measured(&mut || (100..200).for_each(&mut round));
}

/// Runs a callback for each message. `measured` gets some rounds to run.
fn run_callbacks(measured: impl FnOnce(&mut dyn FnMut())) {
    static SUM: AtomicU64 = AtomicU64::new(0);
    let scratch = Scratch::new();
    let node = scratch.node("n");
    let executor = Executor::new(&node).unwrap();
    let subscriber = node.subscriber::<Pose>("poses").create().unwrap();
    let publisher = node.publisher::<Pose>("poses").create().unwrap();
    executor.subscribe(subscriber, |pose| _ = SUM.fetch_add(pose.count, Ordering::Relaxed)).unwrap();
    let round = |_| {
        publish_pose(&publisher, 1);
        assert!(executor.spin_once(TIMEOUT).unwrap());
    };
    (0..100).for_each(round);
    measured(&mut || (100..200).for_each(round));
    assert_eq!(SUM.load(Ordering::Relaxed), 200);
}

#[test]
fn waits_and_callbacks_do_not_allocate() {
    wait_for_ready_sources(|work| assert_eq!(counting(work).1, Calls::NONE));
    run_callbacks(|work| assert_eq!(counting(work).1, Calls::NONE));
}

#[test]
fn a_wait_that_sleeps_does_not_allocate() {
    let scratch = Scratch::new();
    let node = scratch.node("n");
    let set = WaitSet::new(&node);
    let subscriber = node.subscriber::<Pose>("poses").create().unwrap();
    set.attach(&subscriber).unwrap();
    let mut ready = ReadySources::new();
    let mut sleep = || assert!(!set.wait(&mut ready, Some(Duration::from_millis(1))).unwrap());
    sleep();
    let ((), calls) = counting(|| (0..10).for_each(|_| sleep()));
    assert_eq!(calls, Calls::NONE);
}

#[test]
#[ignore = "played by the children of the other tests"]
fn child() {
    let forbidden = |work: &mut dyn FnMut()| {
        forbid_system_calls();
        work();
        survive();
    };
    match role().as_deref() {
        Some("wait") => wait_for_ready_sources(forbidden),
        Some("run") => run_callbacks(forbidden),
        _ => {}
    }
}

#[test]
fn nothing_that_is_ready_costs_a_system_call() {
    for role in ["wait", "run"] {
        let status = rerun("child", role).status().unwrap();
        assert_eq!(status.code(), Some(SURVIVED), "{role}");
    }
}
