//! Participants that leave, in any order and state, leave nothing behind that others wait for or that takes
//! memory.
#![cfg(not(loom))]

mod common;

use std::collections::VecDeque;
use std::fs::{self, File};
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::PathBuf;

use common::{Scratch, numbers, publish, take};
use rustix::fs::FlockOperation;
use situ_bus::{
    Cleaned, History, NodeId, PublisherQos, RawPublisher, RawSubscriber, RegisterError, Reliability, Root,
    SubscriberQos, WhenFull, clean, clean_topics,
};

fn reliable(depth: usize) -> PublisherQos {
    PublisherQos {
        reliability: Reliability::Reliable,
        depth,
        when_full: WhenFull::Fail,
        ..Default::default()
    }
}

fn asks_for_all() -> SubscriberQos {
    SubscriberQos { reliability: Reliability::Reliable, history: History::KeepAll, ..Default::default() }
}

#[test]
fn a_sample_that_outlives_its_subscriber_does_not_stop_the_publisher() {
    let scratch = Scratch::new();
    let node = scratch.node("n");
    let subscriber = RawSubscriber::create(&node, "numbers", &numbers(), asks_for_all()).unwrap();
    let publisher = RawPublisher::create(&node, "numbers", &numbers(), reliable(2)).unwrap();
    publish(&publisher, 5, 1000);
    let sample = subscriber.take().unwrap().unwrap();
    drop(subscriber);
    for value in 0..100 {
        publish(&publisher, value, 1000);
    }
    assert_eq!(sample.body_in_place(), [5; 1000], "the sample is still pinned");
    drop(sample);
    drop(publisher);
    drop(node);
    assert_eq!(scratch.files(), Vec::<PathBuf>::new());
}

#[test]
fn memory_of_publishers_that_left_returns_to_the_system() {
    let scratch = Scratch::new();
    let node = scratch.node("n");
    let subscriber = RawSubscriber::create(&node, "numbers", &numbers(), SubscriberQos::default()).unwrap();
    for value in 0..20 {
        let publisher = RawPublisher::create(&node, "numbers", &numbers(), PublisherQos::default()).unwrap();
        publish(&publisher, value, 1 << 20);
        assert_eq!(take(&subscriber), Some((value, value)));
    }
    let maps = fs::read_to_string("/proc/self/maps").unwrap();
    let mapped = maps
        .lines()
        .filter(|line| line.contains(scratch.to_str().unwrap()) && line.contains(".data"))
        .count();
    assert!((1..=2).contains(&mapped), "{mapped} pools are still mapped");
}

/// The file of a node that was killed.
fn ghost(scratch: &Scratch, number: u64) -> PathBuf {
    let path = scratch.join("nodes").join(format!("{}.node", NodeId(number)));
    fs::write(&path, "situ-node 1\nname ghost\npid 1\n").unwrap();
    path
}

#[test]
fn files_of_nodes_that_died_while_they_registered_are_removed() {
    let scratch = Scratch::new();
    let node = scratch.node("n");
    let (dead, alive) =
        (scratch.join("nodes/0000000000000001.new"), scratch.join("nodes/0000000000000002.new"));
    fs::write(&dead, "situ-node 1\n").unwrap();
    let locked = File::create(&alive).unwrap();
    rustix::fs::flock(&locked, FlockOperation::NonBlockingLockExclusive).unwrap();
    assert_eq!(clean(&scratch.root()).unwrap(), Cleaned::default());
    assert!(!dead.exists() && alive.exists());
    drop(locked);
    drop(node);
    clean(&scratch.root()).unwrap();
    assert_eq!(scratch.files(), Vec::<PathBuf>::new());
}

#[test]
fn files_of_dead_nodes_stay_until_all_topics_were_cleaned() {
    let scratch = Scratch::new();
    let node = scratch.node("n");
    let _publisher = RawPublisher::create(&node, "numbers", &numbers(), PublisherQos::default()).unwrap();
    let ghost = ghost(&scratch, 7);
    let directory = File::open(scratch.topic("numbers")).unwrap();
    rustix::fs::flock(&directory, FlockOperation::NonBlockingLockExclusive).unwrap();
    assert_eq!(clean(&scratch.root()).unwrap(), Cleaned::default());
    assert!(ghost.exists(), "the next cleaning needs it for the topic that was locked");
    drop(directory);
    assert_eq!(clean(&scratch.root()).unwrap().nodes, ["ghost"]);
    assert!(!ghost.exists());
}

#[test]
fn unreadable_topics_are_removed_when_no_node_lives() {
    let scratch = Scratch::new();
    let node = scratch.node("n");
    let publisher = RawPublisher::create(&node, "numbers", &numbers(), PublisherQos::default()).unwrap();
    let file = scratch.topic("numbers").join("topic");
    let mut bytes = fs::read(&file).unwrap();
    bytes[8] ^= 1;
    fs::write(&file, bytes).unwrap();
    let refused = RawSubscriber::create(&node, "numbers", &numbers(), SubscriberQos::default());
    let text = refused.unwrap_err().to_string();
    assert!(text.contains("another version") && text.contains("situ clean"), "{text}");
    assert_eq!(clean_topics(&scratch.root()).unwrap(), Vec::<String>::new());
    drop((publisher, node));
    assert_eq!(clean_topics(&scratch.root()).unwrap(), ["numbers"]);
    assert_eq!(scratch.files(), Vec::<PathBuf>::new());
}

#[test]
fn cleaning_does_not_follow_links_and_removes_nothing_that_is_not_a_topics() {
    let scratch = Scratch::new();
    scratch.root().prepare().unwrap();
    let victim = Scratch::new();
    fs::create_dir_all(victim.path()).unwrap();
    for name in ["precious", "1.pool", "topic.new"] {
        fs::write(victim.join(name), "x").unwrap();
    }
    symlink(victim.path(), scratch.topic("link")).unwrap();
    let strange = scratch.topic("strange");
    fs::create_dir(&strange).unwrap();
    let number = "0123456789abcdef";
    let foreign = ["notes.txt", "1.pool", "1.data", "topic.new", "topic.z", "topic.1"];
    for name in foreign.into_iter().chain([&*format!("{number}.pool"), &*format!("{number}.data")]) {
        fs::write(strange.join(name), "x").unwrap();
    }
    // Files that a process began before it died: empty, zeroes, or with a correct beginning.
    let ours =
        [("topic", "SITUTOPI"), ("topic.2", "SITURING"), ("topic.3", "\0\0"), ("subscribers", "SITUSUBS")];
    for (name, text) in ours {
        fs::write(strange.join(name), text).unwrap();
    }
    for (digit, beginning) in [(1, "SITUPOOL"), (2, "")] {
        fs::write(strange.join(format!("{digit:016x}.pool")), beginning).unwrap();
        fs::write(strange.join(format!("{digit:016x}.data")), "anything").unwrap();
    }
    assert_eq!(clean_topics(&scratch.root()).unwrap(), Vec::<String>::new());
    assert_eq!(victim.files().len(), 3);
    assert_eq!(fs::read_dir(&strange).unwrap().count(), 8, "only foreign files stay");
    let node = scratch.node("n");
    let refused = RawPublisher::create(&node, "link", &numbers(), PublisherQos::default());
    assert!(matches!(refused, Err(RegisterError::Memory(_))));
    assert_eq!(victim.files().len(), 3);
}

#[test]
fn a_directory_that_was_not_finished_is_opened_to_the_group() {
    let scratch = Scratch::new();
    let group = rustix::process::getegid().as_raw();
    let root = Root::at(scratch.path(), Some(group));
    root.prepare().unwrap();
    for (path, right) in [("topics", true), ("nodes", false)] {
        let path = scratch.join(path);
        if !right {
            fs::write(path.join("something"), "").unwrap();
        }
        fs::set_permissions(&path, fs::Permissions::from_mode(0o750)).unwrap();
        root.prepare().unwrap();
        let metadata = fs::metadata(&path).unwrap();
        assert_eq!(
            metadata.mode() & 0o7777,
            if right { 0o1770 } else { 0o750 },
            "only an empty directory is opened"
        );
    }
}

#[test]
fn a_depth_that_no_pool_can_hold_is_refused() {
    let scratch = Scratch::new();
    let node = scratch.node("n");
    let deep = |depth| PublisherQos { depth, ..Default::default() };
    for depth in [32769, usize::MAX] {
        let refused = RawPublisher::create(&node, "numbers", &numbers(), deep(depth));
        assert!(matches!(refused, Err(RegisterError::Depth { rows: 32768, .. })), "{refused:?}");
    }
    let wants = SubscriberQos { history: History::KeepLast(usize::MAX), ..Default::default() };
    let refused = RawSubscriber::create(&node, "numbers", &numbers(), wants);
    assert!(matches!(refused, Err(RegisterError::Depth { .. })));
    let deepest = RawPublisher::create(&node, "numbers", &numbers(), deep(32768)).unwrap();
    for value in 0..70_000 {
        publish(&deepest, value, 0);
    }
}

#[test]
fn layouts_must_agree_in_any_order_of_joining() {
    let scratch = Scratch::new();
    let node = scratch.node("n");
    let _subscriber = RawSubscriber::create(&node, "numbers", &numbers(), SubscriberQos::default()).unwrap();
    let mut other = numbers();
    other.layout_hash += 1;
    let refused = RawPublisher::create(&node, "numbers", &other, PublisherQos::default());
    assert!(matches!(refused, Err(RegisterError::LayoutMismatch { ours: 0x5679, theirs: 0x5678, .. })));
    other.layout_hash = 0;
    assert!(RawPublisher::create(&node, "numbers", &other, PublisherQos::default()).is_ok());
}

#[test]
fn slots_return_although_others_are_held_for_ever() {
    let scratch = Scratch::new();
    let node = scratch.node("n");
    let subscriber = RawSubscriber::create(&node, "numbers", &numbers(), SubscriberQos::default()).unwrap();
    let shallow = PublisherQos { depth: 1, ..Default::default() };
    let publisher = RawPublisher::create(&node, "numbers", &numbers(), shallow).unwrap();
    let mut for_ever = Vec::new();
    let mut for_a_while = VecDeque::new();
    for value in 0..400 {
        publish(&publisher, value, 0);
        let sample = subscriber.take().unwrap().unwrap();
        if value % 100 == 0 {
            for_ever.push(sample);
        } else {
            for_a_while.push_back(sample);
        }
        // Longer than the time until their slots are retired.
        if for_a_while.len() > 4 {
            for_a_while.pop_front();
        }
        let memory = publisher.memory();
        assert!(memory.in_use <= 4 + 4 + 8, "message {value}: {memory:?}");
    }
}
