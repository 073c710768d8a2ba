//! A topic gets more rows while it is in use. No message is lost or delivered twice, even if a process dies
//! meanwhile.
#![cfg(not(loom))]

mod common;

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use common::pattern::{Order, send};
use common::{Scratch, numbers, publish, role, take};
use situ_bus::{
    Durability, History, Node, Observer, Placement, PublisherQos, RawPublisher, RawSubscriber, Reliability,
    SubscriberQos, WhenFull, clean, inspect,
};
use situ_memory::{DomainId, DomainKind};
use situ_testkit::Random;
use situ_testkit::process::{Role, say};
use situ_testkit::step::{Steps, Stride, stepped};

const TOPIC: &str = "numbers";

fn publisher(node: &Node, depth: usize) -> RawPublisher {
    let qos = PublisherQos { depth, ..Default::default() };
    RawPublisher::create(node, TOPIC, &numbers(), qos).unwrap()
}

fn reliable(node: &Node, depth: usize) -> RawPublisher {
    let (reliability, when_full) = (Reliability::Reliable, WhenFull::Block(None));
    let qos = PublisherQos { depth, reliability, when_full, ..Default::default() };
    RawPublisher::create(node, TOPIC, &numbers(), qos).unwrap()
}

fn subscriber(node: &Node, history: History) -> RawSubscriber {
    RawSubscriber::create(node, TOPIC, &numbers(), SubscriberQos { history, ..Default::default() }).unwrap()
}

fn asks_for_all(node: &Node) -> RawSubscriber {
    let qos =
        SubscriberQos { reliability: Reliability::Reliable, history: History::KeepAll, ..Default::default() };
    RawSubscriber::create(node, TOPIC, &numbers(), qos).unwrap()
}

fn rows(scratch: &Scratch) -> u32 {
    inspect::topic(&scratch.root(), TOPIC).unwrap().unwrap().depth
}

#[test]
fn a_topic_gets_more_rows_and_its_numbers_go_on() {
    let scratch = Scratch::new();
    let node = scratch.node("n");
    let small = publisher(&node, 600);
    let (behind, ahead) = (subscriber(&node, History::KeepAll), subscriber(&node, History::KeepAll));
    for value in 0..500 {
        publish(&small, value, 0);
        assert_eq!(take(&ahead), Some((value, value)));
    }
    assert_eq!((rows(&scratch), ahead.has_next()), (2048, false));
    let deep = publisher(&node, 5000);
    // Twice the depth, a power of two.
    assert_eq!((rows(&scratch), ahead.has_next(), take(&ahead)), (16384, false, None));
    for value in 500..600 {
        let number = publish(if value % 2 == 0 { &deep } else { &small }, value, 0);
        assert_eq!(number, value, "the seal takes no number");
        assert_eq!(take(&ahead), Some((value, value)));
    }
    let late = subscriber(&node, History::KeepAll);
    assert_eq!(publish(&small, 600, 0), 600);
    for value in 0..=600 {
        assert_eq!(take(&behind), Some((value, value)), "through the old ring into the new one");
    }
    assert_eq!((take(&late), take(&late)), (Some((600, 600)), None));
    assert_eq!((behind.lost(), ahead.lost(), late.lost()), (0, 0, 0));
    drop((small, deep, behind, ahead, late));
    assert_eq!(scratch.files().iter().filter(|path| path.to_string_lossy().contains("topics")).count(), 0);
}

#[test]
fn a_topic_grows_again_and_again_up_to_its_limit() {
    let scratch = Scratch::new();
    let node = scratch.node("n");
    let first = publisher(&node, 1);
    let all = subscriber(&node, History::KeepLast(30_000));
    let mut observer = Observer::open(&scratch.root(), TOPIC).unwrap().unwrap();
    let mut number = 0;
    let mut others = Vec::new();
    assert_eq!(rows(&scratch), 65536, "the subscriber needs them");
    drop((first, all));
    assert!(!observer.is_current());
    let first = publisher(&node, 1);
    let subscriber = subscriber(&node, History::KeepAll);
    observer = Observer::open(&scratch.root(), TOPIC).unwrap().unwrap();
    for depth in [1, 1023, 1024, 2048, 4096, 8192, 16384, 32768, 32768] {
        others.push(publisher(&node, depth));
        // More rows than the depth, so that there is one for a seal.
        assert!(rows(&scratch) as usize > depth, "{} rows for a depth of {depth}", rows(&scratch));
        for from in others.iter().chain([&first]) {
            assert_eq!(publish(from, number, 8), number);
            assert_eq!(take(&subscriber), Some((number, number)));
            assert_eq!(observer.latest().map(|seen| seen.sequence), Some(number));
            number += 1;
        }
    }
    assert_eq!(rows(&scratch), 65536);
    assert_eq!((subscriber.taken(), subscriber.lost()), (number, 0));
}

#[test]
fn keep_last_is_exact_across_the_seal() {
    for published_after in 0..4 {
        let scratch = Scratch::new();
        let node = scratch.node("n");
        let small = publisher(&node, 8);
        let last = subscriber(&node, History::KeepLast(3));
        for value in 0..5 {
            publish(&small, value, 0);
        }
        let _deep = publisher(&node, 2000);
        for value in 5..5 + published_after {
            publish(&small, value, 0);
        }
        let taken: Vec<u64> = (0..).map_while(|_| take(&last)).map(|(_, value)| value).collect();
        let end = 5 + published_after;
        assert_eq!(taken, (end - 3..end).collect::<Vec<_>>());
        assert_eq!((last.skipped(), last.lost()), (end - 3, 0));
    }
}

#[test]
fn a_late_subscriber_finds_messages_from_before_the_seal() {
    let scratch = Scratch::new();
    let node = scratch.node("n");
    let keeps = |depth| {
        let qos = PublisherQos { depth, durability: Durability::TransientLocal, ..Default::default() };
        RawPublisher::create(&node, TOPIC, &numbers(), qos).unwrap()
    };
    let small = keeps(10);
    (0..20).for_each(|value| _ = publish(&small, value, 0));
    let deep = keeps(3000);
    (20..25).for_each(|value| _ = publish(&deep, value, 0));
    let qos = SubscriberQos {
        durability: Durability::TransientLocal,
        history: History::KeepAll,
        ..Default::default()
    };
    let late = RawSubscriber::create(&node, TOPIC, &numbers(), qos).unwrap();
    let taken: Vec<u64> = (0..).map_while(|_| take(&late)).map(|(_, value)| value).collect();
    // The small publisher's history from the old ring, and all of the deep one's.
    assert_eq!(taken, (10..25).collect::<Vec<_>>());
    assert_eq!(late.lost(), 0);
}

#[test]
fn dead_publishers_of_an_old_ring_are_removed_once_no_subscriber_is_in_it() {
    let scratch = Scratch::new();
    let node = scratch.node("n");
    let (small, slow) = (publisher(&node, 8), subscriber(&node, History::KeepAll));
    let gone = publisher(&node, 8);
    publish(&gone, 0, 0);
    // With the other two, 1024 messages are kept.
    let deep = publisher(&node, 1008);
    assert_eq!(rows(&scratch), 2048);
    drop(gone);
    let entries = || inspect::topic(&scratch.root(), TOPIC).unwrap().unwrap().publishers.len();
    assert_eq!(entries(), 3, "a subscriber may still take its message");
    assert_eq!(take(&slow), Some((0, 0)));
    // Past the rows of the new ring, so that no new subscriber can need the old one any more.
    for value in 1..=2100 {
        publish(&deep, value, 0);
    }
    while take(&slow).is_some() {}
    drop(subscriber(&node, History::KeepAll));
    assert_eq!(entries(), 2, "neither its pool nor its entry is left");
    publish(&small, 2101, 0);
    assert_eq!(take(&slow), Some((2101, 2101)));
}

/// The numbers of the further rings with files.
fn rings(scratch: &Scratch) -> Vec<u32> {
    let files = scratch.files();
    let names = files.iter().filter_map(|path| path.file_name()?.to_str()?.strip_prefix("topic."));
    let mut rings: Vec<u32> = names.map(|number| number.parse().unwrap()).collect();
    rings.sort_unstable();
    rings
}

/// The number of messages that [`grown_twice`] publishes. The newest ring of 4096 rows begins at 10, and no
/// new subscriber can begin before it.
const ALL: u64 = 4200;

/// A topic that has grown twice, with a publisher and a subscriber from before. Also returns the publishers
/// that grew it.
fn grown_twice(node: &Node, scratch: &Scratch) -> ([RawPublisher; 3], RawSubscriber) {
    let (idle, slow) = (publisher(node, 8), subscriber(node, History::KeepAll));
    (0..5).for_each(|value| _ = publish(&idle, value, 0));
    // The present publishers then keep 1024 messages, and after that 2048.
    let second = publisher(node, 1016);
    (5..10).for_each(|value| _ = publish(&second, value, 0));
    let third = publisher(node, 1024);
    (10..ALL).for_each(|value| _ = publish(&third, value, 0));
    assert_eq!((rows(scratch), rings(scratch)), (4096, vec![1, 2]));
    ([idle, second, third], slow)
}

#[test]
fn the_files_of_rings_that_no_subscriber_needs_are_removed() {
    let scratch = Scratch::new();
    let node = scratch.node("n");
    let ([idle, second, third], slow) = grown_twice(&node, &scratch);
    let mut observer = Observer::open(&scratch.root(), TOPIC).unwrap().unwrap();
    let come = || drop(subscriber(&node, History::KeepAll));
    come();
    assert_eq!(rings(&scratch), [1, 2], "the slow subscriber is in the first");
    (0..5).for_each(|value| assert_eq!(take(&slow), Some((value, value))));
    come();
    assert_eq!(rings(&scratch), [1, 2], "the slow subscriber needs the first message of the second");
    (5..10).for_each(|value| assert_eq!(take(&slow), Some((value, value))));
    come();
    assert_eq!(rings(&scratch), [2], "the newest stays");
    // The messages that the third one's depth has left.
    let oldest = ALL - 1024;
    assert_eq!((take(&slow), slow.lost()), (Some((oldest, oldest)), oldest - 10));
    assert_eq!(publish(&idle, ALL, 0), ALL, "past a ring that it has not mapped");
    let late = subscriber(&node, History::KeepAll);
    let device = DomainId { kind: DomainKind::EMULATED, number: 0 };
    let placement = Placement { domain: device, ..Default::default() };
    let elsewhere =
        RawSubscriber::create_in(&node, TOPIC, &numbers(), SubscriberQos::default(), &placement).unwrap();
    assert_eq!(publish(&second, ALL + 1, 0), ALL + 1);
    assert_eq!(take(&late), Some((ALL + 1, ALL + 1)));
    assert!(elsewhere.take().unwrap().unwrap().was_brought());
    assert_eq!(observer.latest().map(|seen| seen.sequence), Some(ALL + 1));
    let _fourth = publisher(&node, 5000);
    assert_eq!((rows(&scratch), rings(&scratch)), (16384, vec![2, 3]));
    assert_eq!(publish(&third, ALL + 2, 0), ALL + 2);
    assert_eq!((take(&late), late.lost()), (Some((ALL + 2, ALL + 2)), 0));
}

#[test]
fn a_deeper_ring_does_not_reach_back_into_old_rings() {
    let scratch = Scratch::new();
    let node = scratch.node("n");
    let keeps = |depth| {
        let qos = PublisherQos { depth, durability: Durability::TransientLocal, ..Default::default() };
        RawPublisher::create(&node, TOPIC, &numbers(), qos).unwrap()
    };
    let asks_for_history = || {
        let (durability, history) = (Durability::TransientLocal, History::KeepAll);
        let qos = SubscriberQos { durability, history, ..Default::default() };
        RawSubscriber::create(&node, TOPIC, &numbers(), qos).unwrap()
    };
    let small = keeps(10);
    (0..20).for_each(|value| _ = publish(&small, value, 0));
    let deep = keeps(1014);
    // This ring has 2048 rows and begins at 20: from 2068 on no subscriber can begin before it.
    (20..2067).for_each(|value| _ = publish(&deep, value, 0));
    assert_eq!(take(&asks_for_history()), Some((1053, 1053)), "what the deep publisher keeps");
    publish(&deep, 2067, 0);
    drop(asks_for_history());
    let _deeper = keeps(5000);
    assert_eq!(rows(&scratch), 16384);
    let late = asks_for_history();
    let taken: Vec<u64> = (0..).map_while(|_| take(&late)).map(|(_, value)| value).collect();
    assert_eq!(taken, (2068 - 1014..2068).collect::<Vec<_>>(), "the first ring stays over");
}

#[test]
fn a_topic_grows_while_processes_publish_and_take() {
    let scratch = Scratch::new();
    let node = scratch.node("parent");
    let best_effort = subscriber(&node, History::KeepAll);
    let subscriber = asks_for_all(&node);
    let children = [Role::start(&scratch, "publish"), Role::start(&scratch, "publish")];
    let (mut order, mut some) = (Order::new(true), Order::new(false));
    let mut growers = Vec::new();
    let mut depth = 1024;
    let mut next = Instant::now() + Duration::from_millis(100);
    let mut taken_since = 0;
    let start = Instant::now();
    loop {
        if let Some(sample) = subscriber.take().unwrap() {
            order.note(&sample);
            taken_since += 1;
        } else {
            subscriber.wait(Some(Duration::from_millis(10)));
        }
        if let Some(sample) = best_effort.take().unwrap() {
            some.note(&sample);
        }
        assert!(start.elapsed() < Duration::from_secs(60), "no message comes any more");
        if Instant::now() > next && taken_since > 100 {
            if depth > 32768 {
                break;
            }
            growers.push(reliable(&node, depth));
            assert!(rows(&scratch) as usize > depth);
            depth *= 2;
            taken_since = 0;
            next = Instant::now() + Duration::from_millis(30);
        }
    }
    assert_eq!(subscriber.lost(), 0);
    drop(children);
}

#[test]
#[ignore = "played by the children of the other tests"]
fn child() {
    let Some((role, scratch)) = role() else { return };
    let node = scratch.node("child");
    match role.as_str() {
        "publish" => {
            let publisher = reliable(&node, 8);
            let name = u64::from(std::process::id());
            for count in 0.. {
                if send(&publisher, name, count, 64).is_err() {
                    return;
                }
            }
        }
        "grow" => {
            // SAFETY: the call has no conditions.
            say(&format!("thread {}", unsafe { libc::gettid() }));
            stepped(|| drop(reliable(&node, 1500)));
        }
        "forget" => {
            // SAFETY: the call has no conditions.
            say(&format!("thread {}", unsafe { libc::gettid() }));
            stepped(|| drop(subscriber(&node, History::KeepAll)));
        }
        other => panic!("no such role: {other}"),
    }
}

fn kills(usual: u64) -> u64 {
    std::env::var("SITU_CHAOS_KILLS").map_or(usual, |kills| (kills.parse::<u64>().unwrap() / 50).max(usual))
}

/// Lets a child take steps and kills it: at a system call and some instructions behind it, or, without one,
/// after all steps. Returns the number of its system calls by then.
fn step_and_kill(mut role: Role, at: Option<u64>, random: &mut Random, before: impl FnOnce()) -> u64 {
    let steps = Steps::begin(&mut role);
    before();
    let mut all = 0;
    match at {
        Some(at) => {
            if steps.go(Stride::SystemCall, at).is_ok() {
                let _ = steps.go(Stride::Instruction, random.below(400));
            }
        }
        None => all = steps.count(Stride::SystemCall),
    }
    steps.kill(role);
    all
}

/// Grows a topic in a child that is killed at some step, while others publish and take. Returns whether the
/// topic had grown by then, and the number of steps if the child was not killed.
fn grow_and_die(at: Option<u64>, random: &mut Random) -> (bool, u64) {
    let scratch = Scratch::new();
    let node = scratch.node("parent");
    let subscriber = asks_for_all(&node);
    let (stop, sent) = (AtomicBool::new(false), AtomicU64::new(0));
    let mut steps_of_all = 0;
    let had_grown = std::thread::scope(|scope| {
        let load = scope.spawn(|| {
            let publisher = reliable(&scratch.node("load"), 8);
            while !stop.load(Ordering::Relaxed) {
                send(&publisher, 1, sent.fetch_add(1, Ordering::Relaxed), 64).unwrap();
                std::thread::sleep(Duration::from_micros(50));
            }
            publisher
        });
        let mut order = Order::new(true);
        let mut take_all = || {
            while let Some(sample) = subscriber.take().unwrap() {
                order.note(&sample);
            }
        };
        // The thread that starts the child takes its steps. Others take messages only between them.
        steps_of_all = step_and_kill(Role::start(&scratch, "grow"), at, random, &mut take_all);
        let timeout = Instant::now() + Duration::from_secs(20);
        let goal = sent.load(Ordering::Relaxed) + 20;
        while sent.load(Ordering::Relaxed) < goal {
            take_all();
            assert!(Instant::now() < timeout, "the publisher is blocked");
        }
        let had_grown = rows(&scratch) > 64;
        // After any remains of the dead process, the next participant that needs the rows gets them.
        let deep = reliable(&node, 2000);
        assert_eq!(rows(&scratch), 4096);
        send(&deep, 2, 0, 64).unwrap();
        stop.store(true, Ordering::Relaxed);
        while !load.is_finished() {
            take_all();
        }
        let publisher = load.join().unwrap();
        take_all();
        assert_eq!(subscriber.lost(), 0);
        drop((publisher, deep));
        had_grown
    });
    drop((subscriber, node));
    let _ = clean(&scratch.root());
    assert_eq!(scratch.files(), Vec::<std::path::PathBuf>::new(), "no file is left");
    (had_grown, steps_of_all)
}

#[test]
fn a_process_that_grows_a_topic_may_die_at_any_step() {
    let kills = kills(40);
    let mut random = Random::seeded("grow");
    let (_, all) = grow_and_die(None, &mut random);
    let mut grown = 0;
    for kill in 0..kills {
        let at = (all * kill + random.below(all)) / kills;
        grown += u64::from(grow_and_die(Some(at), &mut random).0);
    }
    println!("{all} steps, {kills} kills, {grown} of them after the seal");
    assert!(
        0 < grown && grown < kills,
        "{grown} of {kills}: the steps are not spread over the whole operation"
    );
}

/// Makes a child remove the file of a ring that is over, and kills it at some step. Returns whether the file
/// was removed by then, and the number of steps if the child was not killed.
fn forget_and_die(at: Option<u64>, random: &mut Random) -> (bool, u64) {
    let scratch = Scratch::new();
    let node = scratch.node("parent");
    let ([idle, _second, third], slow) = grown_twice(&node, &scratch);
    while take(&slow).is_some() {}
    assert_eq!(rings(&scratch), [1, 2], "no member has joined since");
    let steps = step_and_kill(Role::start(&scratch, "forget"), at, random, || ());
    let gone = rings(&scratch) == [2];
    let lost = slow.lost();
    // With the remains of the dead process, and before any repair: through the ring that may be gone.
    for (publisher, value) in [(&idle, ALL), (&third, ALL + 1)] {
        assert_eq!(publish(publisher, value, 0), value);
        assert_eq!(take(&slow), Some((value, value)));
    }
    let late = subscriber(&scratch.node("late"), History::KeepAll);
    assert_eq!(rings(&scratch), [2]);
    publish(&idle, ALL + 2, 0);
    assert_eq!(take(&late), Some((ALL + 2, ALL + 2)));
    assert_eq!((slow.lost(), late.lost()), (lost, 0));
    (gone, steps)
}

#[test]
fn a_process_that_removes_a_ring_may_die_at_any_step() {
    let kills = kills(40);
    let mut random = Random::seeded("forget");
    let (_, all) = forget_and_die(None, &mut random);
    let mut removed = 0;
    for kill in 0..kills {
        let at = (all * kill + random.below(all)) / kills;
        removed += u64::from(forget_and_die(Some(at), &mut random).0);
    }
    println!("{all} steps, {kills} kills, {removed} of them after the file was gone");
    assert!(
        0 < removed && removed < kills,
        "{removed} of {kills}: the steps are not spread over the whole operation"
    );
}

/// The row of a sealed ring has 16 bits of its slot's generation, and does not change while the slot
/// continues in the ring behind it.
#[test]
fn a_take_returns_the_right_message_after_generations_wrap() {
    let scratch = Scratch::new();
    let node = scratch.node("n");
    let small = publisher(&node, 1);
    // Two slots take turns. Each has the same low bits again after this many messages, or about as many.
    let round = 2 << 16;
    let behind: Vec<_> = (0..8).map(|_| subscriber(&node, History::KeepAll)).collect();
    publish(&small, 0, 0);
    let _deep = publisher(&node, 1500);
    for value in 1..round - 4 {
        publish(&small, value, 0);
    }
    for (subscriber, published) in behind.iter().zip(round - 4..) {
        publish(&small, published, 0);
        let (number, value) = take(subscriber).expect("the newest is available");
        assert_eq!(number, value, "message {value} was taken for {number}");
        assert_eq!((number, subscriber.lost()), (published, published));
    }
}

/// A small ring, then one of many rows with few messages left: the way to the remaining ones is longer than
/// the small ring.
#[test]
fn a_subscriber_far_behind_takes_the_oldest_message_at_once() {
    let scratch = Scratch::new();
    let node = scratch.node("n");
    let small = publisher(&node, 8);
    let behind = subscriber(&node, History::KeepAll);
    publish(&small, 0, 0);
    let _deep = publisher(&node, 20_000);
    for value in 1..30_000 {
        publish(&small, value, 0);
    }
    assert_eq!(take(&behind), Some((29_992, 29_992)), "the oldest of the last 8");
    assert_eq!((behind.lost(), rows(&scratch)), (29_992, 65536));
}
