//! Processes with many subscribers and publishers of one topic are killed, some after they were forked: the
//! publisher that waits for all of the subscribers goes on, no message is torn, and nothing of them is left.
#![cfg(not(loom))]

mod common;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use common::{Scratch, numbers, publish, role, take};
use rustix::process::{Pid, Signal, kill_process};
use situ_bus::{
    Node, PublishError, PublisherQos, RawPublisher, RawSubscriber, Reliability, SubscriberQos, WhenFull,
    clean, inspect,
};
use situ_testkit::Random;
use situ_testkit::process::{Role, say};

const TOPIC: &str = "crowd";
/// More than 255 subscribers together, and more than 255 publishers.
const PROCESSES: usize = 3;
const SUBSCRIBERS: usize = 90;
const PUBLISHERS: usize = 90;
const DEPTH: usize = 4;
/// The number in a message of the processes that are killed, beside the number of the message.
const OTHERS: u64 = 1 << 32;

fn subscriber(node: &Node) -> RawSubscriber {
    let qos = SubscriberQos { reliability: Reliability::Reliable, ..Default::default() };
    RawSubscriber::create(node, TOPIC, &numbers(), qos).unwrap()
}

fn publisher(node: &Node, limit: Duration) -> RawPublisher {
    let qos = PublisherQos {
        reliability: Reliability::Reliable,
        depth: DEPTH,
        when_full: WhenFull::Block(Some(limit)),
        ..Default::default()
    };
    RawPublisher::create(node, TOPIC, &numbers(), qos).unwrap()
}

/// Takes with all subscribers until it is killed, and publishes with one publisher after the other. Each
/// subscriber holds its last sample.
#[test]
#[ignore = "played by the children of the other tests"]
fn child() {
    let Some((role, scratch)) = role() else { return };
    let node = scratch.node("crowd");
    let subscribers: Vec<_> = (0..SUBSCRIBERS).map(|_| subscriber(&node)).collect();
    let publishers: Vec<_> = (0..PUBLISHERS).map(|_| publisher(&node, Duration::from_micros(100))).collect();
    let child = match role.as_str() {
        // SAFETY: the child only waits to be killed.
        "forks" => unsafe { libc::fork() },
        _ => 1,
    };
    if child == 0 {
        loop {
            // SAFETY: the call has no conditions.
            unsafe { libc::pause() };
        }
    }
    say(&format!("child {child}"));
    let mut held: Vec<_> = subscribers.iter().map(|_| None).collect();
    let mut next = 0;
    loop {
        subscribers[0].wait(Some(Duration::from_millis(10)));
        let mut loan = publishers[next as usize % PUBLISHERS].loan(8, 8, 50).unwrap();
        let value: u64 = OTHERS + next;
        loan.head_bytes().copy_from_slice(&value.to_ne_bytes());
        loan.body_bytes().fill(value as u8);
        match loan.publish() {
            Ok(_) => next += 1,
            // Others have not taken yet.
            Err(PublishError::Full { .. }) => {}
            Err(error) => panic!("{error}"),
        }
        for (subscriber, held) in subscribers.iter().zip(&mut held) {
            while let Some(sample) = subscriber.take().unwrap() {
                *held = Some(sample);
            }
        }
    }
}

/// A process with subscribers, and the process that was forked from it.
struct Crowd {
    role: Role,
    forked: Option<Pid>,
}

impl Crowd {
    fn start(scratch: &Scratch, random: &mut Random) -> Self {
        let name = if random.below(2) == 0 { "forks" } else { "takes" };
        let mut role = Role::start(scratch, name);
        let child = role.number("child") as i32;
        Self { role, forked: Pid::from_raw(child).filter(|_| name == "forks") }
    }
}

/// Kills the forked process when it is dropped.
struct Orphan(Option<Pid>);

impl Drop for Orphan {
    fn drop(&mut self) {
        if let Some(child) = self.0 {
            let _ = kill_process(child, Signal::KILL);
        }
    }
}

/// Takes every message of the topic.
#[derive(Default)]
struct Witness {
    /// The messages of this process, and those of others, that it has taken.
    seen: AtomicU64,
    of_others: AtomicU64,
    is_over: AtomicBool,
}

impl Witness {
    fn watch(&self, subscriber: RawSubscriber) {
        while !self.is_over.load(Ordering::SeqCst) {
            subscriber.wait(Some(Duration::from_millis(10)));
            while let Some((_, value)) = take(&subscriber) {
                if value >= OTHERS {
                    self.of_others.fetch_add(1, Ordering::SeqCst);
                } else {
                    assert_eq!(value, self.seen.load(Ordering::SeqCst), "a message is lost, or came twice");
                    self.seen.store(value + 1, Ordering::SeqCst);
                }
            }
        }
    }

    fn wait_for(&self, seen: u64) {
        let start = Instant::now();
        while self.seen.load(Ordering::SeqCst) < seen {
            assert!(start.elapsed() < Duration::from_secs(60), "message {seen} does not come");
            std::thread::sleep(Duration::from_micros(100));
        }
    }
}

#[test]
fn a_publisher_goes_on_when_many_of_its_subscribers_die_at_once() {
    // A kill takes long: many subscribers join again.
    let kills =
        std::env::var("SITU_CHAOS_KILLS").map_or(6, |kills| (kills.parse::<usize>().unwrap() / 50).max(6));
    let scratch = Scratch::new();
    let mut random = Random::seeded("crowd");
    let node = scratch.node("publisher");
    // No wait for a dead participant may last this long.
    let publisher = publisher(&node, Duration::from_secs(60));
    let witness = Arc::new(Witness::default());
    let watching = {
        let (witness, subscriber) = (witness.clone(), subscriber(&node));
        std::thread::spawn(move || witness.watch(subscriber))
    };
    let mut next = 0;
    let mut publish_some = |count: usize| {
        for _ in 0..count {
            publish(&publisher, next, 100);
            next += 1;
        }
        witness.wait_for(next);
    };
    let mut crowds: Vec<_> = (0..PROCESSES).map(|_| Crowd::start(&scratch, &mut random)).collect();
    let mut recoveries = Vec::new();
    for _ in 0..kills {
        assert_eq!(publisher.subscribers(), PROCESSES * SUBSCRIBERS + 1);
        publish_some(random.below(3 * DEPTH as u64) as usize);
        let at = random.below(PROCESSES as u64) as usize;
        let Crowd { role, forked } = crowds.swap_remove(at);
        // It lives until the publisher has gone on.
        let _orphan = Orphan(forked);
        if random.below(2) == 0 {
            std::thread::sleep(Duration::from_micros(random.below(2000)));
        }
        role.kill();
        let start = Instant::now();
        // More than the dead ones left room for.
        publish_some(DEPTH + 1);
        recoveries.push(start.elapsed());
        crowds.push(Crowd::start(&scratch, &mut random));
        publish_some(1);
    }
    recoveries.sort();
    println!(
        "{} participants, {kills} kills of {SUBSCRIBERS} subscribers and {PUBLISHERS} publishers: went on after {:?} \
         (p50), {:?} (max)",
        PROCESSES * (SUBSCRIBERS + PUBLISHERS) + 2,
        recoveries[recoveries.len() / 2],
        recoveries[recoveries.len() - 1],
    );
    for Crowd { role, forked } in crowds {
        let _orphan = Orphan(forked);
        role.kill();
    }
    publish_some(DEPTH + 1);
    // Slots that the dead ones held come back.
    publish_some(20 * DEPTH);
    assert!(publisher.memory().in_use < 64, "{:?}", publisher.memory());
    let topic = inspect::topic(&scratch.root(), TOPIC).unwrap().unwrap();
    assert_eq!(topic.subscribers.iter().filter(|subscriber| subscriber.alive).count(), 1);
    let publishers = topic.publishers.iter().filter(|publisher| publisher.alive).count();
    assert_eq!(publishers, 1, "publishers of killed processes stay");
    witness.is_over.store(true, Ordering::SeqCst);
    watching.join().unwrap();
    let of_others = witness.of_others.load(Ordering::SeqCst);
    assert!(of_others > 0, "no message of a process that was killed");
    println!("{of_others} messages of the processes that were killed");
    drop((publisher, node));
    clean(&scratch.root()).unwrap();
    assert_eq!(scratch.files(), Vec::<std::path::PathBuf>::new());
}
