//! The time until memory of dead processes is free again, in every domain: for a publisher that continues,
//! and for one that has none left.
//!
//! The times are printed, not asserted, because they depend on the machine. `make chaos` takes more of them.
#![cfg(not(loom))]

mod common;

use std::time::{Duration, Instant};

use common::watched::{TIMEOUT, kills};
use common::{Scratch, numbers, role};
use rustix::process::Signal;
use situ_bus::{LoanError, Placement, PublisherQos, RawPublisher, RawSubscriber, SubscriberQos};
use situ_memory::{AllocateError, DomainId, DomainKind, HOST};
use situ_testkit::process::{Role, say};

const DEVICE: DomainId = DomainId { kind: DomainKind::EMULATED, number: 0 };
const VULKAN: DomainId = DomainId { kind: DomainKind::VULKAN, number: 0 };
const BODY: usize = 100_000;

#[test]
#[ignore = "played by the children of the other tests"]
fn child() {
    let Some((role, scratch)) = role() else { return };
    let placement = Placement { domain: role.parse().unwrap(), ..Default::default() };
    let node = scratch.node("hoarder");
    let subscriber =
        RawSubscriber::create_in(&node, "image", &numbers(), SubscriberQos::default(), &placement).unwrap();
    let mut held = Vec::new();
    say("ready");
    loop {
        match subscriber.take().unwrap() {
            Some(sample) => {
                held.push(sample);
                say("taken");
            }
            None => _ = subscriber.wait(None),
        }
    }
}

/// A publisher with memory for a dozen messages, and a child that holds the messages that it takes.
struct Scene {
    scratch: Scratch,
    publisher: RawPublisher,
    child: Role,
}

impl Scene {
    fn new(domain: DomainId) -> Self {
        let scratch = Scratch::new();
        let placement = Placement { domain, capacity: Some(1_500_000), ..Default::default() };
        let qos = PublisherQos { depth: 1, ..Default::default() };
        let publisher =
            RawPublisher::create_in(&scratch.node("publisher"), "image", &numbers(), qos, &placement)
                .unwrap();
        let mut child = Role::start(&scratch, &domain.to_string());
        child.wait_for("ready");
        Self { scratch, publisher, child }
    }

    fn publish(&self) -> Result<(), LoanError> {
        self.publisher.loan(8, 8, BODY)?.publish().unwrap();
        Ok(())
    }

    /// The number of slots that subscribers hold.
    fn held(&self) -> usize {
        self.scratch.held("image")
    }
}

/// The child holds some slots, and is killed while the publisher continues.
fn beside_others(domain: DomainId) -> Duration {
    let mut scene = Scene::new(domain);
    for _ in 0..6 {
        scene.publish().unwrap();
        scene.child.wait_for("taken");
    }
    assert_eq!(scene.held(), 6);
    scene.child.signal(Signal::KILL);
    let start = Instant::now();
    while scene.held() > 0 {
        assert!(start.elapsed() < TIMEOUT, "the slots do not return");
        scene.publish().unwrap();
        std::thread::sleep(Duration::from_millis(1));
    }
    let took = start.elapsed();
    while scene.publisher.memory().in_use > 3 {
        assert!(start.elapsed() < TIMEOUT, "{:?}", scene.publisher.memory());
        scene.publish().unwrap();
    }
    took
}

/// The child holds all slots. A loan that finds none gets one as soon as the child has ended.
fn exhausted(domain: DomainId) -> Duration {
    let mut scene = Scene::new(domain);
    loop {
        match scene.publish() {
            Ok(()) => scene.child.wait_for("taken"),
            Err(LoanError::Memory(AllocateError::Exhausted { .. })) => break,
            Err(error) => panic!("{error}"),
        }
    }
    assert!(scene.held() > 6);
    scene.child.signal(Signal::KILL);
    let start = Instant::now();
    while let Err(error) = scene.publish() {
        // Its lock may still exist; then no process can see that it dies.
        assert!(matches!(error, LoanError::Memory(AllocateError::Exhausted { .. })), "{error}");
        assert!(start.elapsed() < TIMEOUT, "the memory does not come back");
        // Retrying at once would take the core from the process that is ending.
        std::thread::sleep(Duration::from_millis(1));
    }
    start.elapsed()
}

fn measure(domain: DomainId, to: &str, round: fn(DomainId) -> Duration) {
    if let Err(error) = situ_memory::find(domain) {
        return eprintln!("SKIPPED: {error}");
    }
    let rounds = (kills(120) / 20).min(300);
    let mut times: Vec<Duration> = (0..rounds).map(|_| round(domain)).collect();
    times.sort();
    let at = |share: f64| times[((times.len() - 1) as f64 * share) as usize];
    println!(
        "memory of {domain} held by a dead process came back to {to} after p50 {:.1?}, p99 {:.1?}, at most {:.1?} ({rounds} kills)",
        at(0.5),
        at(0.99),
        at(1.0)
    );
}

const GOES_ON: &str = "a publisher that goes on";
const NONE_LEFT: &str = "one that has none left";

#[test]
fn host_memory_comes_back_to_a_publisher_that_goes_on() {
    measure(HOST, GOES_ON, beside_others);
}

#[test]
fn host_memory_comes_back_to_a_publisher_that_has_none_left() {
    measure(HOST, NONE_LEFT, exhausted);
}

#[test]
fn emulated_memory_comes_back_to_a_publisher_that_goes_on() {
    measure(DEVICE, GOES_ON, beside_others);
}

#[test]
fn emulated_memory_comes_back_to_a_publisher_that_has_none_left() {
    measure(DEVICE, NONE_LEFT, exhausted);
}

#[test]
fn vulkan_memory_comes_back_to_a_publisher_that_goes_on() {
    measure(VULKAN, GOES_ON, beside_others);
}

#[test]
fn vulkan_memory_comes_back_to_a_publisher_that_has_none_left() {
    measure(VULKAN, NONE_LEFT, exhausted);
}
