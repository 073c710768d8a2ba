//! The costs of pools for a process: addresses, mappings, and memory if the program locks its own.

mod common;

use std::os::unix::fs::MetadataExt;
use std::process::Command;

use common::{Scratch, numbers, publish, role, take};
use situ_bus::{PublisherQos, RawPublisher, RawSubscriber, SubscriberQos};
use situ_testkit::process::{Role, command, say};

/// The number of the child's topics. Thousands would cost the same for each, but take longer.
const TOPICS: usize = 200;

/// The size of this process' address space in bytes.
fn addresses() -> usize {
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap();
    let pages: usize = statm.split_whitespace().next().unwrap().parse().unwrap();
    pages * 4096
}

/// The number of this process's mappings, and how many of them map a topic's files.
fn maps_of(scratch: &Scratch, topic: &str) -> (usize, usize) {
    let directory = format!("{}/", scratch.topic(topic).to_str().unwrap());
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
    (maps.lines().count(), maps.lines().filter(|line| line.contains(&directory)).count())
}

fn memory_of(scratch: &Scratch) -> u64 {
    scratch.files().iter().map(|path| path.metadata().unwrap().blocks() * 512).sum()
}

fn both_sides(scratch: &Scratch, topics: usize) -> Vec<(RawPublisher, RawSubscriber)> {
    let node = scratch.node("both");
    let made = |index: usize| {
        let (topic, qos) = (format!("topic{index}"), (PublisherQos::default(), SubscriberQos::default()));
        let publisher = RawPublisher::create(&node, &topic, &numbers(), qos.0).unwrap();
        let subscriber = RawSubscriber::create(&node, &topic, &numbers(), qos.1).unwrap();
        for value in 0..20 {
            publish(&publisher, value, 1000);
            assert_eq!(take(&subscriber).map(|(_, value)| value), Some(value));
        }
        (publisher, subscriber)
    };
    (0..topics).map(made).collect()
}

#[test]
#[ignore = "a role that the tests start"]
fn child() {
    let Some((role, scratch)) = role() else { return };
    match role.as_str() {
        "many" => {
            drop(both_sides(&scratch, 1));
            let (before, (maps, _)) = (addresses(), maps_of(&scratch, "topic0"));
            let mut topics = both_sides(&scratch, TOPICS);
            let (maps_then, both) = maps_of(&scratch, "topic0");
            say(&format!("addresses {}", (addresses() - before) / TOPICS));
            say(&format!("maps {}", (maps_then - maps).div_ceil(TOPICS)));
            let (publisher, _) = topics.swap_remove(0);
            let (_, publishing) = maps_of(&scratch, "topic0");
            say(&format!("publishing {publishing}"));
            say(&format!("subscribing {}", both - publishing));
            drop(publisher);
        }
        "locks" => {
            use rustix::mm::{MlockAllFlags, mlockall};
            // Permission is checked before topics exist: a later failure is a defect of the pools.
            if mlockall(MlockAllFlags::CURRENT).is_err() {
                return say("may 0");
            }
            say("may 1");
            mlockall(MlockAllFlags::CURRENT | MlockAllFlags::FUTURE).unwrap();
            let topics = both_sides(&scratch, 20);
            for (publisher, subscriber) in &topics {
                publish(publisher, 3, 1 << 20);
                assert_eq!(take(subscriber).map(|(_, value)| value), Some(3));
            }
            say(&format!("memory {}", memory_of(&scratch)));
            // Also if everything that is mapped by now is locked at once.
            mlockall(MlockAllFlags::CURRENT).unwrap();
            say(&format!("memory {}", memory_of(&scratch)));
        }
        role => panic!("{role}"),
    }
}

#[test]
fn topics_take_few_addresses_and_mappings() {
    let scratch = Scratch::new();
    let mut child = Role::of(command(&scratch, "many"));
    let addresses = child.number("addresses");
    // 1.1 MiB of the topic's file and 1.0 of the pool's controls, and on each side 0.3 of the subscribers'
    // file and 2.0 for the messages. 5,000 topics then take a 2,500th of the addresses of a process.
    assert!(addresses < 10 << 20, "{addresses} bytes of addresses for both sides of a topic");
    let maps = child.number("maps");
    // 6, and a share of those that the process itself needs more.
    assert!(maps <= 7, "{maps} mappings for both sides of a topic");
    // The topic's file, that of its subscribers, and the two files of its pool.
    assert_eq!(child.number("publishing"), 4);
    // The places, which it writes, and the messages, which it must not. It shares the other two.
    assert_eq!(child.number("subscribing"), 2);
    assert!(child.end(std::time::Duration::from_secs(60)).success());
}

#[test]
fn topics_take_few_addresses_on_a_large_file_system_and_with_limited_addresses() {
    let scratch = Scratch::new();
    std::fs::create_dir_all(scratch.path()).unwrap();
    let of_a_test = command(&scratch, "many");
    // If 25 times as many topics are to fit 128 TiB, each gets a 2000th of that.
    let script = "mount -t tmpfs -o size=1T,mode=0700 none \"$SITU_TEST_ROOT\" && ulimit -v 4000000 && echo limited && exec \"$0\" \"$@\"";
    let mut limited = Command::new("unshare");
    limited.args(["--mount", "--map-root-user", "sh", "-c", script]).arg(of_a_test.get_program());
    limited.args(of_a_test.get_args());
    limited.envs(of_a_test.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let output = limited.output();
    match output {
        Ok(output) if output.stdout.starts_with(b"limited") => {
            let told = String::from_utf8_lossy(&output.stdout);
            assert!(output.status.success() && told.contains("maps "), "{told}");
        }
        _ => eprintln!("skipped: this system does not let a test mount a file system of its own"),
    }
}

#[test]
fn a_program_that_locks_its_memory_uses_only_what_it_needs() {
    let scratch = Scratch::new();
    let mut child = Role::of(command(&scratch, "locks"));
    if child.number("may") == 0 {
        return eprintln!("skipped: this process may not lock its memory");
    }
    for when in ["before", "after"] {
        let memory = child.number("memory");
        assert!(memory < 128 << 20, "{when}: 20 topics, with a message of 1 MiB each, take {memory} bytes");
    }
    assert!(child.end(std::time::Duration::from_secs(60)).success());
}

#[test]
fn loans_and_samples_stay_where_they_are_while_their_pool_grows() {
    let scratch = Scratch::new();
    let node = scratch.node("grows");
    let qos = PublisherQos { depth: 200, ..PublisherQos::default() };
    let publisher = RawPublisher::create(&node, "grows", &numbers(), qos).unwrap();
    let subscriber = RawSubscriber::create(&node, "grows", &numbers(), SubscriberQos::default()).unwrap();
    publish(&publisher, 7, 1000);
    let first = subscriber.take().unwrap().unwrap();
    let mut loan = publisher.loan(8, 8, 1000).unwrap();
    let (head, body) = (loan.head(), loan.body());
    // From the smallest window to one of more than a hundred times that size.
    let kept: Vec<_> = (0..150)
        .map(|value| {
            publish(&publisher, value, 1 << 20);
            subscriber.take().unwrap().unwrap()
        })
        .collect();
    assert_eq!((loan.head(), loan.body()), (head, body));
    loan.head_bytes().copy_from_slice(&9_u64.to_ne_bytes());
    loan.body_bytes().fill(9);
    loan.publish().unwrap();
    assert_eq!(take(&subscriber).map(|(_, value)| value), Some(9));
    assert!(first.body_in_place().len() == 1000 && first.body_in_place().iter().all(|byte| *byte == 7));
    for (value, sample) in kept.iter().enumerate() {
        assert!(sample.body_in_place().iter().all(|byte| *byte == value as u8), "{value}");
        assert_eq!(sample.span().offset() % 64, 0);
    }
}
