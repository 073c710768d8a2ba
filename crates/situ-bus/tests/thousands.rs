//! Thousands of participants on one topic, and what an idle topic costs.
#![cfg(not(loom))]

mod common;

use std::os::unix::fs::MetadataExt;
use std::time::{Duration, Instant};

use common::{Scratch, numbers, publish, take};
use situ_bus::{
    PublisherQos, RawPublisher, RawSubscriber, RegisterError, SubscriberQos, TypeDescription, inspect,
};

/// More than the first windows of the subscribers' file have.
const MANY: usize = 1500;

/// The bytes of memory that the files of a root's topics take.
fn memory(scratch: &Scratch) -> u64 {
    let of_topics = scratch.files().into_iter().filter(|path| path.starts_with(scratch.join("topics")));
    of_topics.map(|path| path.metadata().unwrap().blocks() * 512).sum()
}

/// The subscribers that a topic has places for. It has entries for 8191 publishers.
const MOST: usize = 4096;
/// The mappings of a publisher with messages.
const MAPPINGS: usize = 4;

/// Each publisher has a file open. Returns whether this process may open so many.
fn allow_files(number: u64) -> bool {
    use rustix::process::{Resource, getrlimit, setrlimit};
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    setrlimit(Resource::Nofile, limit).unwrap();
    limit.current.is_none_or(|files| files >= number)
}

#[test]
fn an_idle_topic_takes_at_most_32_kib() {
    let small = TypeDescription { fixed_size: 48, ..numbers() };
    for (description, head) in [(numbers(), 8), (small, 48)] {
        let scratch = Scratch::new();
        let node = scratch.node("n");
        let qos = (PublisherQos::default(), SubscriberQos::default());
        let publisher = RawPublisher::create(&node, "idle", &description, qos.0).unwrap();
        let subscriber = RawSubscriber::create(&node, "idle", &description, qos.1).unwrap();
        publisher.loan(head, 8, 0).unwrap().publish().unwrap();
        assert!(subscriber.take().unwrap().is_some());
        let memory = memory(&scratch);
        println!("{memory} bytes for messages of {head} bytes");
        assert!(memory <= 32 << 10, "{memory} bytes for messages of {head} bytes");
    }
}

#[test]
fn thousands_of_subscribers_take_the_messages_of_one_publisher() {
    let scratch = Scratch::new();
    let node = scratch.node("n");
    let publisher = RawPublisher::create(&node, "clock", &numbers(), PublisherQos::default()).unwrap();
    let mut slowest = Duration::ZERO;
    let subscribers: Vec<_> = (0..MANY)
        .map(|_| {
            let start = Instant::now();
            let joined = RawSubscriber::create(&node, "clock", &numbers(), SubscriberQos::default()).unwrap();
            slowest = slowest.max(start.elapsed());
            joined
        })
        .collect();
    println!("the slowest of {MANY} subscribers joined in {slowest:?}");
    assert_eq!(publisher.subscribers(), MANY);
    // Each holds a sample, and the publisher's slots come round many times.
    let held: Vec<_> = subscribers
        .iter()
        .enumerate()
        .map(|(at, subscriber)| {
            let at = at as u64;
            publish(&publisher, at, 100);
            let sample = std::iter::from_fn(|| subscriber.take().unwrap()).last().unwrap();
            assert_eq!(sample.sequence(), at);
            sample
        })
        .collect();
    for (at, sample) in held.iter().enumerate() {
        assert_eq!(sample.head_in_place(), (at as u64).to_ne_bytes());
        assert!(sample.body_in_place().iter().all(|byte| *byte == at as u8));
    }
    let topic = inspect::topic(&scratch.root(), "clock").unwrap().unwrap();
    assert_eq!((topic.subscribers.len(), topic.publishers[0].held_slots), (MANY, MANY));
    drop(held);
    for value in 0..1000 {
        publish(&publisher, value, 100);
    }
    assert!(publisher.memory().in_use < 100, "{:?}", publisher.memory());
}

#[test]
fn thousands_of_publishers_share_one_order() {
    if !allow_files(MANY as u64 + 100) {
        return eprintln!("skipped: this process may not open {MANY} files");
    }
    let scratch = Scratch::new();
    let node = scratch.node("n");
    let qos = PublisherQos { depth: 1, ..Default::default() };
    let subscriber = RawSubscriber::create(&node, "rosout", &numbers(), SubscriberQos::default()).unwrap();
    let mut slowest = Duration::ZERO;
    let publishers: Vec<_> = (0..MANY)
        .map(|_| {
            let start = Instant::now();
            let joined = RawPublisher::create(&node, "rosout", &numbers(), qos.clone()).unwrap();
            slowest = slowest.max(start.elapsed());
            joined
        })
        .collect();
    println!("the slowest of {MANY} publishers joined in {slowest:?}");
    for (value, publisher) in publishers.iter().enumerate() {
        let value = value as u64;
        assert_eq!(publish(publisher, value, 8), value);
    }
    for value in 0..MANY as u64 {
        assert_eq!(take(&subscriber), Some((value, value)));
    }
    assert_eq!((take(&subscriber), subscriber.lost()), (None, 0));
}

/// Why this process cannot have all participants that a topic has places for.
fn hindrance() -> Option<String> {
    let files = MOST as u64 + 200;
    if !allow_files(files) {
        return Some(format!("this process may not open {files} files"));
    }
    let mappings = std::fs::read_to_string("/proc/sys/vm/max_map_count").unwrap();
    let mappings: usize = mappings.trim().parse().unwrap();
    (mappings < MOST * MAPPINGS + 2000).then(|| format!("a process may have {mappings} mappings"))
}

/// As many publishers as a topic has places for subscribers, and all of these, at once.
#[test]
fn a_topic_has_4096_publishers_and_4096_subscribers_at_once() {
    if let Some(hindrance) = hindrance() {
        return eprintln!("skipped: {hindrance}");
    }
    let scratch = Scratch::new();
    let node = scratch.node("n");
    let publisher = |depth| {
        let qos = PublisherQos { depth, ..Default::default() };
        RawPublisher::create(&node, "tf", &numbers(), qos)
    };
    let subscriber = || RawSubscriber::create(&node, "tf", &numbers(), SubscriberQos::default());
    let start = Instant::now();
    let subscribers: Vec<_> = (0..MOST).map(|_| subscriber().unwrap()).collect();
    let (subscribed, again) = (start.elapsed(), Instant::now());
    let publishers: Vec<_> = (0..MOST).map(|_| publisher(1).unwrap()).collect();
    println!(
        "{MOST} subscribers joined within {subscribed:?}, {MOST} publishers within {:?}",
        again.elapsed()
    );
    assert_eq!((publishers[0].subscribers(), subscribers[0].publishers()), (MOST, MOST));

    let full = subscriber();
    assert!(
        matches!(full, Err(RegisterError::Full { role: "subscriber", most: 4096, .. })),
        "one subscriber too many: {full:?}"
    );
    let further = publisher(1).unwrap();
    assert_eq!(subscribers[0].publishers(), MOST + 1);

    // A message of the first and of the last publisher to all subscribers.
    for (number, publisher) in [&publishers[0], &further].into_iter().enumerate() {
        let number = number as u64;
        assert_eq!(publish(publisher, 100 + number, 100), number);
        for subscriber in &subscribers {
            assert_eq!(take(subscriber), Some((number, 100 + number)));
        }
        assert_eq!(take(&subscribers[MOST - 1]), None);
    }
    let topic = inspect::topic(&scratch.root(), "tf").unwrap().unwrap();
    assert_eq!((topic.subscribers.len(), topic.publishers.len()), (MOST, MOST + 1));
    // A place that becomes free is given to the next one.
    let mut subscribers = subscribers;
    subscribers.truncate(MOST - 1);
    subscribers.push(subscriber().unwrap());
    println!("all of it took {:?}", start.elapsed());
    let leaving = Instant::now();
    drop((subscribers, publishers, further));
    println!("all left within {:?}", leaving.elapsed());
    assert!(inspect::topic(&scratch.root(), "tf").unwrap().is_none());
}
