//! Processes are killed at random moments. Afterwards no process may hang, nothing may leak, no torn message
//! may be read, and no promised message may be lost. (`crash.rs` kills at chosen steps.)
//!
//! `make chaos KILLS=10000` runs the same with more kills. A failure prints its seed: set `SITU_CHAOS_SEED`
//! to it to kill in the same order again (the moments will differ).
#![cfg(not(loom))]

mod common;

use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use common::pattern::{Order, check, send};
use common::watched::{Beats, TIMEOUT, Watched, kill_at_random, kills};
use common::{Scratch, numbers, role};
use rustix::process::Signal;
use situ_bus::{
    Durability, History, Node, PublisherQos, RawPublisher, RawSample, RawSubscriber, Reliability,
    SubscriberQos, WhenFull, clean, inspect, wait_any,
};
use situ_testkit::Random;
use situ_testkit::process::{Role, say};

fn publisher(node: &Node, topic: &str, depth: usize) -> RawPublisher {
    let reliability = if topic == "sure" { Reliability::Reliable } else { Reliability::BestEffort };
    let durability = if topic == "sure" { Durability::TransientLocal } else { Durability::Volatile };
    // Enough for slow machines.
    let when_full = WhenFull::Block(None);
    let qos = PublisherQos { reliability, durability, depth, when_full, ..Default::default() };
    RawPublisher::create(node, topic, &numbers(), qos).unwrap()
}

fn subscriber(node: &Node, topic: &str, history: History) -> RawSubscriber {
    let reliability = if topic == "sure" { Reliability::Reliable } else { Reliability::BestEffort };
    let qos = SubscriberQos { reliability, history, ..Default::default() };
    RawSubscriber::create(node, topic, &numbers(), qos).unwrap()
}

/// The role of a child until it is killed.
#[test]
#[ignore = "played by the children of the other tests"]
fn child() {
    let Some((role, scratch)) = role() else { return };
    match role.as_str() {
        "take one" => return take_one_and_stop(&scratch),
        "hold all" => return hold_all_and_stop(&scratch),
        _ => {}
    }
    let index = std::env::var("SITU_TEST_INDEX").unwrap().parse().unwrap();
    let beats = Beats::open(scratch.with_extension("beats"));
    let beat = || _ = beats.of(index).fetch_add(1, Ordering::Relaxed);
    // Includes the time, because process numbers are reused.
    let mut random = Random(situ_bus::now_ns() ^ u64::from(std::process::id()) << 40 ^ index as u64);
    match role.as_str() {
        "publish fast" => publish_for_ever(&scratch, "fast", &mut random, beat),
        "publish sure" => publish_for_ever(&scratch, "sure", &mut random, beat),
        "hold fast" => hold_for_ever(&scratch, "fast", &mut random, beat),
        "hold sure" => hold_for_ever(&scratch, "sure", &mut random, beat),
        "wait fast" => wait_for_ever(&scratch, "fast", beat),
        "wait sure" => wait_for_ever(&scratch, "sure", beat),
        "come and go" => come_and_go_for_ever(&scratch, &mut random, beat),
        other => panic!("no such role: {other}"),
    }
}

/// Small bodies, bodies of some cache lines, bodies of more than 64 KiB.
fn size(random: &mut Random) -> usize {
    match random.below(8) {
        0..4 => random.below(64) as usize,
        4..7 => random.below(4096) as usize,
        _ => 65_000 + random.below(30_000) as usize,
    }
}

fn publish_for_ever(scratch: &Scratch, topic: &str, random: &mut Random, beat: impl Fn()) {
    let publisher = publisher(&scratch.node("publisher"), topic, 4);
    let name = random.number();
    for count in 0..=u64::MAX {
        if random.below(16) == 0 {
            drop(publisher.loan(64, 8, size(random)).unwrap());
            std::thread::sleep(Duration::from_micros(random.below(2000)));
        }
        send(&publisher, name, count, size(random)).unwrap();
        beat();
    }
}

fn hold_for_ever(scratch: &Scratch, topic: &str, random: &mut Random, beat: impl Fn()) {
    let subscriber = subscriber(&scratch.node("holder"), topic, History::KeepAll);
    let mut order = Order::new(topic == "sure");
    let mut held: VecDeque<RawSample> = VecDeque::new();
    loop {
        if let Some(sample) = subscriber.take().unwrap() {
            order.note(&sample);
            held.push_back(sample);
        } else {
            subscriber.wait(Some(Duration::from_millis(random.below(20))));
        }
        if held.len() > 4 || random.below(8) == 0 {
            let index = random.below(held.len().max(1) as u64) as usize;
            if let Some(sample) = held.remove(index) {
                check(&sample);
            }
        }
        beat();
    }
}

fn wait_for_ever(scratch: &Scratch, topic: &str, beat: impl Fn()) {
    let node = scratch.node("waiter");
    let mut order = Order::new(false);
    let (all, last) =
        (subscriber(&node, topic, History::KeepAll), subscriber(&node, topic, History::KeepLast(2)));
    loop {
        if wait_any(&[&all, &last], None) == Some(0)
            && let Some(sample) = all.take().unwrap()
        {
            order.note(&sample);
        }
        if let Some(sample) = last.take().unwrap() {
            check(&sample);
        }
        beat();
    }
}

fn come_and_go_for_ever(scratch: &Scratch, random: &mut Random, beat: impl Fn()) {
    loop {
        let node = scratch.node("visitor");
        let topic = ["fast", "sure", "rare", "odd/name"][random.below(4) as usize];
        if random.below(2) == 0 {
            let subscriber = subscriber(&node, topic, History::KeepAll);
            for _ in 0..random.below(4) {
                let _sample = subscriber.take().unwrap();
            }
        }
        if random.below(2) == 0 {
            let publisher = publisher(&node, topic, 1 + random.below(8) as usize);
            let name = random.number();
            (0..random.below(4)).for_each(|count| _ = send(&publisher, name, count, 64).unwrap());
        }
        inspect::topics(&scratch.root()).unwrap();
        beat();
    }
}

const ROLES: [&str; 9] = [
    "publish fast",
    "publish sure",
    "hold fast",
    "hold sure",
    "wait fast",
    "wait sure",
    "come and go",
    "publish sure",
    "come and go",
];

/// Takes messages until a flag is set. Returns their number.
fn witness(scratch: &Scratch, topic: &str, seen: &AtomicU64, stop: &AtomicBool) {
    let subscriber = subscriber(&scratch.node("witness"), topic, History::KeepAll);
    let mut order = Order::new(topic == "sure");
    while !stop.load(Ordering::Relaxed) {
        match subscriber.take().unwrap() {
            Some(sample) => {
                order.note(&sample);
                seen.fetch_add(1, Ordering::Relaxed);
            }
            None => _ = subscriber.wait(Some(Duration::from_millis(50))),
        }
    }
    assert!(topic != "sure" || subscriber.lost() == 0);
}

/// Processes of all kinds are killed, and stopped for a while, at random moments.
#[test]
fn processes_are_killed_at_random() {
    let kills = kills(250);
    let mut random = Random::seeded("kills at random");
    let scratch = Scratch::new();
    let start = Instant::now();
    // At once, soon, or after the others have settled.
    let pause = |random: &mut Random| match random.below(4) {
        0 => 0,
        1 => random.below(2000),
        _ => random.below(40_000),
    };
    let fast = |seen: &AtomicU64, stop: &AtomicBool| witness(&scratch, "fast", seen, stop);
    let sure = |seen: &AtomicU64, stop: &AtomicBool| witness(&scratch, "sure", seen, stop);
    let outcome = kill_at_random(&scratch, &mut random, &ROLES, [&fast, &sure], (kills, pause), || {});
    println!(
        "{kills} kills in {:.1?}: the witnesses took {} best-effort and {} reliable messages; at most {} KiB of memory",
        start.elapsed(),
        outcome.seen[0],
        outcome.seen[1],
        outcome.most_memory >> 10
    );
    assert!(outcome.most_memory < 64 << 20, "memory leaks: {} bytes", outcome.most_memory);
    clean(&scratch.root()).unwrap();
    assert_eq!(scratch.files(), Vec::<PathBuf>::new(), "files leak");
    assert_eq!(std::fs::read_dir(scratch.join("topics")).unwrap().count(), 0, "directories leak");
}

/// How much too late a sleep of 3 ms ends. A busy machine, or a sanitizer, adds this to every time.
fn lateness() -> Duration {
    const SLEEP: Duration = Duration::from_millis(3);
    let start = Instant::now();
    std::thread::sleep(SLEEP);
    start.elapsed() - SLEEP
}

/// Returns p50, p99 and the maximum of some times.
fn quantiles(times: &mut [Duration]) -> (Duration, Duration, Duration) {
    times.sort();
    let at = |per_cent: usize| times[(times.len() * per_cent / 100).min(times.len() - 1)];
    (at(50), at(99), times[times.len() - 1])
}

fn take_one_and_stop(scratch: &Scratch) {
    let subscriber = subscriber(&scratch.node("slow"), "sure", History::KeepAll);
    say("ready");
    while subscriber.take().unwrap().is_none() {
        subscriber.wait(None);
    }
    std::thread::sleep(Duration::MAX);
}

/// A publisher that a subscriber blocks continues when the subscriber is killed, without help by other
/// processes.
#[test]
fn a_blocked_publisher_goes_on_when_its_subscriber_is_killed() {
    const DEPTH: usize = 4;
    let rounds = kills(250) / 10;
    let scratch = Scratch::new();
    let (ask, asked) = std::sync::mpsc::channel::<usize>();
    let (tell, told) = std::sync::mpsc::channel::<Instant>();
    // From the signal, and from the end of the process. In between, the kernel frees its memory.
    let (mut times, mut times_from_end, mut late) = (Vec::new(), Vec::new(), Vec::new());
    std::thread::scope(|scope| {
        let scratch = &scratch;
        scope.spawn(move || {
            let publisher = publisher(&scratch.node("blocked"), "sure", DEPTH);
            for count in asked.iter().flat_map(|number| 0..number) {
                send(&publisher, 1, count as u64, 100).unwrap();
                tell.send(Instant::now()).unwrap();
            }
        });
        // Moved here, so that the thread ends on every way out of the scope.
        let ask = ask;
        for _ in 0..rounds {
            let mut child = Role::start(scratch, "take one");
            child.wait_for("ready");
            // The subscriber takes one, so there is room for one more than the depth. The next message has to
            // wait.
            ask.send(DEPTH + 2).unwrap();
            (0..=DEPTH).for_each(|_| _ = told.recv_timeout(TIMEOUT).unwrap());
            assert!(told.recv_timeout(Duration::from_millis(20)).is_err(), "the subscriber blocks it");
            let start = Instant::now();
            child.kill();
            let end = Instant::now();
            let goes_on = told.recv_timeout(TIMEOUT).expect("the publisher goes on");
            times.push(goes_on - start);
            times_from_end.push(goes_on.saturating_duration_since(end));
            late.push(lateness());
        }
    });
    let (p50, p99, max) = quantiles(&mut times);
    println!(
        "blocked publishers go on after p50 {p50:.1?}, p99 {p99:.1?}, at most {max:.1?} ({rounds} kills)"
    );
    // On an idle machine: 10 ms from the signal. Test machines are not idle, but waiting for a time-out would
    // still be detected.
    let ((p50, _, max), (late_p50, _, late_max)) = (quantiles(&mut times_from_end), quantiles(&mut late));
    assert!(
        p50 < Duration::from_millis(50) + 10 * late_p50,
        "{p50:?}, on a machine that is {late_p50:?} late"
    );
    assert!(max < Duration::from_secs(2) + 10 * late_max, "{max:?}, on a machine that is {late_max:?} late");
}

fn hold_all_and_stop(scratch: &Scratch) {
    let subscriber = subscriber(&scratch.node("hoarder"), "fast", History::KeepAll);
    let mut held = Vec::new();
    say("ready");
    loop {
        match subscriber.take().unwrap() {
            Some(sample) => held.push(sample),
            None => _ = subscriber.wait(None),
        }
    }
}

/// Slots that a killed subscriber held return to their publisher, even if no member joins or leaves.
#[test]
fn slots_held_by_a_dead_subscriber_return() {
    const HELD: usize = 30;
    for stamps in [true, false] {
        let scratch = Scratch::new();
        let publisher = publisher(&scratch.node("publisher"), "fast", 2);
        let publisher = if stamps { publisher } else { publisher.without_stamps() };
        let mut child = Role::start(&scratch, "hold all");
        child.wait_for("ready");
        let taken = || {
            let topic = inspect::topic(&scratch.root(), "fast").unwrap().unwrap();
            topic.subscribers.first().map_or(0, |subscriber| subscriber.taken)
        };
        let start = Instant::now();
        for count in 0..HELD as u64 {
            send(&publisher, 1, count, 200).unwrap();
            while taken() <= count {
                assert!(start.elapsed() < TIMEOUT);
                std::thread::sleep(Duration::from_micros(200));
            }
        }
        assert!(publisher.memory().in_use >= HELD, "{:?}", publisher.memory());
        child.kill();
        let start = Instant::now();
        let mut count = HELD as u64;
        while publisher.memory().in_use > 4 {
            assert!(start.elapsed() < TIMEOUT, "they do not return: {:?}", publisher.memory());
            send(&publisher, 1, count, 200).unwrap();
            count += 1;
            std::thread::sleep(Duration::from_millis(5));
        }
        println!("{HELD} slots held by the dead returned after {:.1?}", start.elapsed());
    }
}

/// The number of times that this thread has given up the processor by itself.
fn sleeps_so_far() -> i64 {
    let mut usage = std::mem::MaybeUninit::<libc::rusage>::uninit();
    // SAFETY: the call fills it and does not fail for this thread. All of it is plain numbers.
    unsafe {
        assert_eq!(libc::getrusage(libc::RUSAGE_THREAD, usage.as_mut_ptr()), 0);
        usage.assume_init().ru_nvcsw
    }
}

/// A subscriber that stops at any point never delays a best-effort publisher.
#[test]
fn a_stopped_subscriber_does_not_delay_best_effort_publishers() {
    let scratch = Scratch::new();
    let beats = Beats::new(&scratch);
    let publisher = publisher(&scratch.node("publisher"), "fast", 4);
    let mut child = Watched::start(&scratch, "hold fast", 0, &beats);
    let start = Instant::now();
    while beats.of(0).load(Ordering::Relaxed) < 100 {
        send(&publisher, 1, start.elapsed().as_nanos() as u64, 100).unwrap();
        assert!(start.elapsed() < TIMEOUT);
    }
    let (mut times, mut late, mut sleeps) = (Vec::new(), Vec::new(), 0);
    for round in 0..20 {
        child.role.signal(Signal::STOP);
        let slept = sleeps_so_far();
        for count in 0..100 {
            let before = Instant::now();
            send(&publisher, 2, round * 100 + count, 1000).unwrap();
            times.push(before.elapsed());
        }
        sleeps += sleeps_so_far() - slept;
        child.role.signal(Signal::CONT);
        late.push(lateness());
        child.look(&beats);
    }
    let (p50, p99, max) = quantiles(&mut times);
    println!(
        "publishing beside a stopped subscriber: p50 {p50:.1?}, p99 {p99:.1?}, at most {max:.1?}; slept {sleeps} times"
    );
    let (late, ..) = quantiles(&mut late);
    assert!(p50 < Duration::from_millis(50) + 10 * late, "{p50:?}, on a machine that is {late:?} late");
    // Other load on the processor may delay some of them, but does not make them sleep.
    assert!(sleeps < times.len() as i64 / 100, "it slept {sleeps} times in {} messages", times.len());
    let memory = publisher.memory();
    assert!(memory.slots < 64, "it holds at most a few: {memory:?}");
    assert!(child.role.kill().code().is_none());
}
