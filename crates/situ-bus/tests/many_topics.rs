//! Thousands of topics in one process: what each takes of the number of mappings that the kernel allows.
#![cfg(not(loom))]

mod common;

use std::path::Path;
use std::time::{Duration, Instant};

use common::{Scratch, numbers, publish, role, take};
use rustix::mm::{MapFlags, ProtFlags, mmap_anonymous, munmap};
use situ_bus::{
    Node, PublisherQos, RawPublisher, RawSubscriber, ReadySources, RegisterError, SourceId, SubscriberQos,
    WaitSet,
};
use situ_memory::MemoryError;
use situ_testkit::process::{Role, say};

const TOPICS: usize = 10_000;
/// Longer than any step here.
const TIMEOUT: Duration = Duration::from_secs(60);
/// A topic's files take up to 48 KiB when it has carried messages; most of these carry none.
const MEMORY: u64 = TOPICS as u64 * (36 << 10);
/// The mappings of a topic with a publisher and a subscriber in one process, when messages lie in slots.
const MAPPINGS: usize = 6;
/// A node has up to 16,384 publishers and subscribers.
const NODES: usize = 2;

fn join(node: &Node, topic: &str) -> (RawPublisher, RawSubscriber) {
    let publisher = RawPublisher::create(node, topic, &numbers(), PublisherQos::default()).unwrap();
    (publisher, RawSubscriber::create(node, topic, &numbers(), SubscriberQos::default()).unwrap())
}

/// The mapped files of a root in this process, each with its rights, in order.
fn mapped(root: &Path) -> Vec<(String, String)> {
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
    let of_root = maps.lines().filter(|line| line.contains(root.to_str().unwrap()));
    let mut found: Vec<_> = of_root
        .map(|line| {
            let name = line.rsplit_once('/').unwrap().1;
            let kind = name.rsplit_once('.').map_or(name, |(_, kind)| kind).to_owned();
            (kind, line.split_once(' ').unwrap().1[..4].to_owned())
        })
        .collect();
    found.sort();
    found
}

fn names(pairs: &[(String, String)]) -> Vec<(&str, &str)> {
    pairs.iter().map(|(kind, rights)| (kind.as_str(), rights.as_str())).collect()
}

#[test]
fn a_publisher_and_a_subscriber_share_mappings_and_keep_no_right_of_each_other() {
    let scratch = Scratch::new();
    let node = scratch.node("n");
    let (publisher, subscriber) = join(&node, "t");
    publish(&publisher, 7, 100);
    assert_eq!(take(&subscriber), Some((0, 7)));
    // The publisher came first: its mapping of the places never becomes writable.
    let expected = [
        ("data", "r--s"),
        ("data", "rw-s"),
        ("pool", "rw-s"),
        ("subscribers", "r--s"),
        ("subscribers", "rw-s"),
        ("topic", "rw-s"),
    ];
    assert_eq!(names(&mapped(scratch.path())), expected);
    assert_eq!(expected.len(), MAPPINGS);
    // What remains may be read, and only that.
    drop(publisher);
    let left = mapped(scratch.path());
    let own = [("subscribers", "rw-s"), ("topic", "r--s")];
    assert!(own.iter().all(|mapping| names(&left).contains(mapping)), "{left:?}");
    assert!(left.iter().all(|(kind, rights)| kind == "subscribers" || rights == "r--s"), "{left:?}");
    // The subscriber came first.
    let publisher = RawPublisher::create(&node, "t", &numbers(), PublisherQos::default()).unwrap();
    publish(&publisher, 8, 100);
    assert_eq!(take(&subscriber).map(|(_, value)| value), Some(8));
    let maps = mapped(scratch.path());
    let places: Vec<_> = names(&maps).into_iter().filter(|(kind, _)| *kind == "subscribers").collect();
    assert_eq!(places, [("subscribers", "rw-s")]);
    drop(subscriber);
    let maps = mapped(scratch.path());
    assert!(names(&maps).contains(&("subscribers", "r--s")), "{maps:?}");
    assert!(!names(&maps).contains(&("subscribers", "rw-s")), "{maps:?}");
    drop(publisher);
    assert_eq!(mapped(scratch.path()), []);
}

/// Why this machine lets no process have 10,000 topics.
fn hindrance(scratch: &Scratch) -> Option<String> {
    use rustix::process::{Resource, getrlimit, setrlimit};
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    setrlimit(Resource::Nofile, limit).unwrap();
    let files = limit.current.unwrap_or(u64::MAX);
    if files < TOPICS as u64 + 200 {
        return Some(format!("a process may open {files} files"));
    }
    let mappings = std::fs::read_to_string("/proc/sys/vm/max_map_count").unwrap();
    if mappings.trim().parse::<usize>().unwrap() < TOPICS * MAPPINGS + 2000 {
        return Some(format!("a process may have {} mappings", mappings.trim()));
    }
    let system = rustix::fs::statvfs(scratch.path()).unwrap();
    let free = system.f_bavail.saturating_mul(system.f_frsize);
    if free < 2 * MEMORY {
        return Some(format!("{free} bytes of shared memory are free"));
    }
    (system.f_files > 0 && system.f_ffree < 5 * TOPICS as u64).then(|| "there are too few inodes".to_owned())
}

#[test]
fn a_process_joins_10_000_topics() {
    let scratch = Scratch::new();
    let nodes: Vec<_> = (0..NODES).map(|node| scratch.node(&format!("n{node}"))).collect();
    if let Some(hindrance) = hindrance(&scratch) {
        return eprintln!("skipped: {hindrance}");
    }
    let topics = std::thread::scope(|scope| {
        let join = |number: usize| {
            let node = &nodes[number];
            let numbers = (number..TOPICS).step_by(NODES);
            scope.spawn(move || numbers.map(|topic| join(node, &format!("t{topic}"))).collect::<Vec<_>>())
        };
        let threads: Vec<_> = (0..NODES).map(join).collect();
        threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect::<Vec<_>>()
    });
    assert_eq!(topics.len(), TOPICS);
    for (number, (publisher, subscriber)) in topics.iter().enumerate().step_by(TOPICS / 10 + 1) {
        let value = number as u64;
        assert_eq!(publish(publisher, value, 100), 0);
        assert_eq!(take(subscriber), Some((0, value)));
    }
    // Without messages, the memory of messages is not mapped.
    let maps = mapped(scratch.path()).len();
    assert!(maps <= TOPICS * (MAPPINGS - 2) + 100, "{maps} mappings");
    std::thread::scope(|scope| {
        let mut topics = topics;
        let half = topics.split_off(TOPICS / 2);
        scope.spawn(move || drop(half));
        drop(topics);
    });
}

/// The ids of the sources that are ready now.
fn ready(set: &WaitSet) -> Vec<SourceId> {
    let mut ready = ReadySources::new();
    set.wait(&mut ready, Some(Duration::ZERO)).unwrap();
    let mut ids: Vec<_> = ready.iter().map(|source| source.id).collect();
    ids.sort();
    ids
}

/// Waits until these sources are ready, and no others.
fn wait_for(set: &WaitSet, mut expected: Vec<SourceId>) {
    expected.sort();
    let start = Instant::now();
    loop {
        let found = ready(set);
        if found == expected {
            return;
        }
        assert!(start.elapsed() < TIMEOUT, "{} of {} are ready", found.len(), expected.len());
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// The shortest time that a wait needs to find what is ready already.
fn shortest_wait(set: &WaitSet) -> Duration {
    let mut buffer = ReadySources::new();
    let times = (0..200).map(|_| {
        let start = Instant::now();
        assert!(set.wait(&mut buffer, Some(Duration::ZERO)).unwrap());
        start.elapsed()
    });
    times.min().unwrap()
}

#[test]
fn a_wait_set_finds_the_ready_ones_of_10_000_topics() {
    /// More than the waiting thread sleeps on itself.
    const FEW: usize = 200;
    let scratch = Scratch::new();
    let nodes: Vec<_> = (0..NODES).map(|node| scratch.node(&format!("n{node}"))).collect();
    if let Some(hindrance) = hindrance(&scratch) {
        return eprintln!("skipped: {hindrance}");
    }
    let start = Instant::now();
    let subscribe = |topic: usize| {
        let node = &nodes[topic % NODES];
        RawSubscriber::create(node, &format!("t{topic}"), &numbers(), SubscriberQos::default()).unwrap()
    };
    let subscribers: Vec<_> = (0..TOPICS).map(subscribe).collect();
    let joined = start.elapsed();
    let (few, all) = (WaitSet::new(&nodes[0]), WaitSet::new(&nodes[0]));
    subscribers[..FEW].iter().for_each(|subscriber| _ = few.attach(subscriber).unwrap());
    let ids: Vec<_> = subscribers.iter().map(|subscriber| all.attach(subscriber).unwrap()).collect();
    // The first waits hand topics to the node's threads, and look at each topic once.
    while !(ready(&few).is_empty() && ready(&all).is_empty()) {}
    println!(
        "{TOPICS} topics were joined within {joined:?}, and attached within {:?}",
        start.elapsed() - joined
    );

    // The set reports those that are ready and no others, whoever watches them.
    let chosen = [0, 119, 120, 150, 777, 5_000, TOPICS - 1];
    let publishers: Vec<_> = chosen
        .iter()
        .map(|topic| {
            let name = format!("t{topic}");
            RawPublisher::create(&nodes[0], &name, &numbers(), PublisherQos::default()).unwrap()
        })
        .collect();
    for round in 0..5 {
        publishers.iter().for_each(|publisher| _ = publish(publisher, round, 8));
        wait_for(&all, chosen.map(|topic| ids[topic]).to_vec());
        for topic in chosen {
            assert_eq!(take(&subscribers[topic]), Some((round, round)));
        }
        wait_for(&all, Vec::new());
    }

    // One that is ready costs about the same among few and among all. A look at each topic would take
    // fifty times as long.
    publish(&publishers[3], 9, 8);
    wait_for(&all, vec![ids[chosen[3]]]);
    while ready(&few).is_empty() {
        assert!(start.elapsed() < TIMEOUT);
    }
    let (of_few, of_all) = (shortest_wait(&few), shortest_wait(&all));
    println!("one ready topic is found within {of_few:?} of {FEW} topics, and {of_all:?} of {TOPICS}");
    assert!(of_all < of_few * 10, "{of_all:?}, and {of_few:?} with {FEW} topics");
    println!("all of it took {:?}", start.elapsed());
}

/// Uses up the mappings of its process.
#[test]
#[ignore = "played by the child of the other test"]
fn child() {
    let Some((_, scratch)) = role() else { return };
    let node = scratch.node("child");
    const LEN: usize = 4096;
    let mut taken = Vec::with_capacity(1 << 20);
    let refused = loop {
        // Neighbours differ in their rights, so that the kernel does not join them.
        let protection = if taken.len() % 2 == 0 { ProtFlags::READ } else { ProtFlags::empty() };
        // SAFETY: the kernel chooses the address.
        match unsafe { mmap_anonymous(std::ptr::null_mut(), LEN, protection, MapFlags::PRIVATE) } {
            Ok(begin) => taken.push(begin),
            Err(_) => break RawSubscriber::create(&node, "t", &numbers(), SubscriberQos::default()),
        }
    };
    for begin in taken.drain(..) {
        // SAFETY: mapped above, and not used.
        unsafe { munmap(begin, LEN) }.unwrap();
    }
    let Err(RegisterError::Memory(MemoryError::TooManyMappings { mapped, limit, .. })) = refused else {
        panic!("{refused:?}")
    };
    assert!(mapped + 32 >= limit);
    assert!(RawSubscriber::create(&node, "t", &numbers(), SubscriberQos::default()).is_ok());
    say("refused");
}

#[test]
fn a_process_without_mappings_is_told_the_limit() {
    let limit = std::fs::read_to_string("/proc/sys/vm/max_map_count").unwrap();
    if limit.trim().parse::<usize>().unwrap() > 1 << 20 {
        return eprintln!("skipped: a process may have {} mappings", limit.trim());
    }
    let scratch = Scratch::new();
    Role::start(&scratch, "mappings").wait_for("refused");
}
