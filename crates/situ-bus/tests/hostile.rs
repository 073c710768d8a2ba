//! Other processes may write anything into shared files, by mistake or by intent. Readers and writers then
//! report errors, and never crash or hang.
//!
//! (Truncated files: see `shortened.rs`.)
#![cfg(not(loom))]

mod common;

use std::fs;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use common::messages::{Note, Pose, Scan, ScanBulkLengths};
use common::{Scratch, numbers, publish, role, take};
use situ_bus::{
    History, Placement, Publisher, PublisherQos, RawPublisher, RawSubscriber, RegisterError, Reliability,
    Root, Subscriber, SubscriberQos, WhenFull, clean_topics, inspect, wait_any,
};
use situ_layout::Message;
use situ_memory::{DomainId, DomainKind, HOST};
use situ_testkit::Random;
use situ_testkit::process::{Role, command};

/// The size of pools. A device's memory is allocated as a whole from the start.
const SMALL: u64 = 16 << 20;

/// Bytes of a file, mostly in places with content.
fn somewhere(random: &mut Random, file: &Path) -> Option<u64> {
    let size = file.metadata().ok()?.len();
    let least = if file.extension().is_some_and(|extension| extension == "node") { 8 } else { 8192 };
    if size < least {
        return None;
    }
    let is_subscribers = file.file_name().is_some_and(|name| name == "subscribers");
    let near = match (file.extension().and_then(|extension| extension.to_str()), random.below(6)) {
        (_, 0) | (Some("node"), _) => random.below(size),
        (Some("pool"), 1) => random.below(72),
        // The directory, and the controls of the first slots.
        (Some("pool"), 2..4) => 4096 + random.below(256),
        (Some("pool"), _) => size - random.below(size - 4096) - 1,
        // The sizes and offsets in the descriptors of the first slots; heads and bodies.
        (Some("data"), 1..4) => random.below(64) * 64 + 16 + random.below(24),
        (Some("data"), _) => random.below(8192),
        // The header, the words and the first places of subscribers.
        (None, 1) if is_subscribers => random.below(40),
        (None, 2) if is_subscribers => 128 + random.below(16),
        (None, 3..5) if is_subscribers => 256 + random.below(512),
        // The header, the words of its page, rows, and the bytes behind the columns.
        (_, 1) => random.below(104),
        (_, 2) => 1024 + random.below(640),
        (_, 3) => 4096 + random.below(256),
        // The entries of the first messages, in the columns of the first two domains.
        (_, 4) => 12288 + random.below(2) * 8192 + random.below(64),
        (_, _) => size - 1 - random.below(60_000.min(size)),
    };
    let at = near.min(size - 8) / 8 * 8;
    // A process that may write to a fence can make others wait for it until their time limit. That is no
    // error, but it prolongs the test. (A control has 128 bytes, and the fence is its second word. The file
    // ends with the controls.)
    let is_fence = file.extension().is_some_and(|extension| extension == "pool") && at % 128 == 8;
    Some(if is_fence { at + 8 } else { at })
}

/// Writes to the files of a topic, or of the nodes that use it. Files may disappear meanwhile.
fn corrupt(random: &mut Random, root: &Root) {
    let files = |directory: PathBuf| {
        fs::read_dir(directory).into_iter().flatten().filter_map(|entry| Some(entry.ok()?.path()))
    };
    let files: Vec<PathBuf> =
        files(root.path().join("topics/topic")).chain(files(root.path().join("nodes"))).collect();
    for _ in 0..1 + random.below(6) {
        let Some(path) = files.get(random.below(files.len().max(1) as u64) as usize) else { return };
        let Ok(file) = fs::OpenOptions::new().read(true).write(true).open(path) else { continue };
        // A file that is being created may still be empty.
        let Some(at) = somewhere(random, path) else { continue };
        let mut word = [0; 8];
        if file.read_exact_at(&mut word, at).is_err() {
            continue;
        }
        let word = u64::from_le_bytes(word);
        let word = match random.below(6) {
            0..3 => word ^ 1 << random.below(64),
            3 => word.wrapping_add(random.below(5)).wrapping_sub(2),
            4 => [0, u64::MAX, 1 << 63, u64::MAX >> 1, 0xffff_ffff][random.below(5) as usize],
            _ => random.number(),
        };
        file.write_all_at(&word.to_le_bytes(), at).unwrap();
    }
}

/// Every operation on a topic, with any result.
fn use_topic<T: Message>(
    scratch: &Scratch,
    random: &mut Random,
    domains: [DomainId; 2],
    publish: impl Fn(&Publisher<T>),
    read: impl Fn(&T),
) {
    let node = scratch.node("n");
    let make_publisher = || {
        let publisher = node.publisher::<T>("topic").reliable().transient_local().depth(4).capacity(SMALL);
        publisher.domain(domains[0]).when_full(WhenFull::Fail).lifespan(Duration::from_secs(5)).create()
    };
    let subscribe = |keep: usize, reliable: bool| {
        let subscriber = node.subscriber::<T>("topic").transient_local().capacity(SMALL);
        // Subscribers that keep all messages are in the other domain.
        let subscriber = subscriber.domain(domains[usize::from(keep == 0)]);
        let subscriber = if keep > 0 { subscriber.keep_last(keep) } else { subscriber };
        if reliable { subscriber.reliable() } else { subscriber }.create()
    };
    let publishers = [make_publisher(), make_publisher()].map(Result::unwrap);
    let subscribers = [subscribe(0, true), subscribe(2, false), subscribe(0, false)].map(Result::unwrap);
    let take_all = |subscribers: &[Subscriber<T>]| {
        let mut held = Vec::new();
        for subscriber in subscribers {
            for _ in 0..6 {
                match subscriber.take() {
                    Ok(Some(sample)) => {
                        read(&sample);
                        let _ = format!("{sample:?}");
                        held.push(sample);
                    }
                    Ok(None) => {}
                    Err(error) => assert!(!error.to_string().is_empty()),
                }
            }
            subscriber.wait(Some(Duration::from_micros(1)));
        }
    };
    // Every other time the topic has grown, so that the bytes of a second ring are changed as well.
    let deep = node.publisher::<T>("topic").reliable().transient_local().depth(2000).domain(domains[0]);
    let deep = deep.capacity(SMALL).when_full(WhenFull::Fail);
    let _deep = (random.below(2) == 0).then(|| deep.create().unwrap());
    let warm = random.below(4);
    for _ in 0..warm {
        publishers.iter().for_each(&publish);
        take_all(&subscribers);
    }
    publishers.iter().for_each(&publish);
    corrupt(random, &scratch.root());
    for _ in 0..3 {
        take_all(&subscribers);
        publishers.iter().for_each(&publish);
        let _ = inspect::topics(&scratch.root()).unwrap();
        let _ = format!("{:?}", inspect::nodes(&scratch.root()).unwrap());
        let late = subscribe(random.below(3) as usize, random.below(2) == 0);
        late.iter().for_each(|late| take_all(std::slice::from_ref(late)));
        make_publisher().iter().for_each(&publish);
    }
}

/// Publishes a value, in place or as a copy. Failing is allowed here.
fn publish_pose(publisher: &Publisher<Pose>) {
    let _ = publisher.loan().map(|mut pose| {
        pose.place[3] = 0.5;
        pose.publish()
    });
}

fn publish_scan(publisher: &Publisher<Scan>) {
    let _ = publisher.loan_with(ScanBulkLengths { ranges: 100 }).map(|mut scan| {
        scan.frame.try_assign("lidar").unwrap();
        scan.bulk_mut(|scan| &scan.ranges).fill(1.0);
        scan.publish()
    });
}

fn publish_note(publisher: &Publisher<Note>) {
    let _ = publisher.publish(&Note { count: 3, text: vec![7; 100] });
}

#[test]
#[ignore = "played by the children of the other tests"]
fn child() {
    let Some((role, scratch)) = role() else { return };
    if let Some(role) = role.strip_prefix("live ") {
        return live_rounds(&scratch, role);
    }
    let (seed, rounds) = role.split_once(' ').unwrap();
    let seed: u64 = seed.parse().unwrap();
    for round in 0..rounds.parse().unwrap() {
        let mut random = Random(seed + round);
        let device = DomainId { kind: DomainKind::EMULATED, number: 0 };
        let read_pose = |pose: &Pose| assert_ne!(pose.place.len(), 0);
        let read_scan = |scan: &Scan| assert!(scan.frame.as_str().len() <= 15);
        let vulkan = DomainId { kind: DomainKind::VULKAN, number: 0 };
        let has_vulkan = situ_memory::find(vulkan).is_ok();
        match random.below(7) {
            5 if has_vulkan => use_topic(&scratch, &mut random, [vulkan, HOST], publish_scan, read_scan),
            6 if has_vulkan => use_topic(&scratch, &mut random, [HOST, vulkan], publish_pose, read_pose),
            0 => use_topic(&scratch, &mut random, [HOST; 2], publish_pose, read_pose),
            1 => use_topic(&scratch, &mut random, [HOST; 2], publish_scan, read_scan),
            2 => use_topic(&scratch, &mut random, [HOST, device], publish_pose, read_pose),
            3 => use_topic(&scratch, &mut random, [device, HOST], publish_scan, read_scan),
            _ => use_topic(&scratch, &mut random, [HOST; 2], publish_note, |note: &Note| {
                std::hint::black_box(note.text.iter().map(|byte| u64::from(*byte)).sum::<u64>());
            }),
        }
        // Begins anew, even if the topic is corrupted.
        clean_topics(&scratch.root()).unwrap();
        let _ = fs::remove_dir_all(scratch.topic("topic"));
    }
}

/// Bits of topics and pools flip between the calls of their users.
#[test]
fn corrupted_files_are_errors_and_not_crashes() {
    play("corrupted files", "", 400, 50);
}

/// Bits flip while others publish, take, wait, join, leave and observe.
#[test]
fn files_that_are_corrupted_meanwhile_are_errors_and_not_crashes() {
    play("files corrupted meanwhile", "live ", 60, 20);
}

/// Runs this many rounds, or the environment's number for each four hundred, some in each process.
fn play(what: &str, role: &str, rounds: u64, at_once: u64) {
    let kills = std::env::var("SITU_CHAOS_KILLS").map_or(200, |kills| kills.parse::<u64>().unwrap());
    let rounds = rounds * kills / 200;
    let mut random = Random::seeded(what);
    for _ in 0..rounds.div_ceil(at_once) {
        let scratch = Scratch::new();
        let seed = random.number() >> 1;
        let mut command = command(&scratch, &format!("{role}{seed} {at_once}"));
        command.stderr(std::process::Stdio::piped());
        let mut role = Role::of(command);
        let errors = role.child.stderr.take().unwrap();
        let errors = std::thread::spawn(move || std::io::read_to_string(errors).unwrap());
        let status = role.end(Duration::from_secs(240));
        let errors = errors.join().unwrap();
        assert!(status.success(), "rounds {seed} to {}: {status}\n{errors}", seed + at_once - 1);
    }
    println!("{rounds} topics with {what}");
}

/// The time of changing files in a round. Soon after, a topic returns only errors.
const LIVE: Duration = Duration::from_millis(60);

/// Rounds in which files change while they are used.
fn live_rounds(scratch: &Scratch, role: &str) {
    let (seed, rounds) = role.split_once(' ').unwrap();
    let seed: u64 = seed.parse().unwrap();
    let device = DomainId { kind: DomainKind::EMULATED, number: 0 };
    let vulkan = DomainId { kind: DomainKind::VULKAN, number: 0 };
    let vulkan = if situ_memory::find(vulkan).is_ok() { vulkan } else { HOST };
    for round in 0..rounds.parse().unwrap() {
        let mut random = Random(seed + round);
        let domains = [[HOST, HOST], [HOST, device], [device, HOST], [HOST, vulkan], [vulkan, HOST]];
        let domains = domains[random.below(5) as usize];
        live(scratch, &mut random, domains);
        clean_topics(&scratch.root()).unwrap();
        let _ = fs::remove_dir_all(scratch.topic("topic"));
    }
}

/// All roles in threads of their own, until the time is over. Bytes of any value are valid messages here,
/// because a checked message may change afterwards (see SECURITY.md).
fn live(scratch: &Scratch, random: &mut Random, domains: [DomainId; 2]) {
    let over = AtomicBool::new(false);
    let seeds: [u64; 8] = std::array::from_fn(|_| random.number());
    let nodes: [_; 2] = ["a", "b"].map(|name| scratch.node(name));
    let publish_some = |seed: u64, domain: DomainId| {
        let mut random = Random(seed);
        let placement = Placement {
            domain,
            capacity: Some(SMALL),
            eager_copies: random.below(2) == 0,
            ..Default::default()
        };
        let qos = PublisherQos {
            depth: 1 + random.below(8) as usize,
            when_full: WhenFull::Fail,
            ..Default::default()
        };
        while !over.load(Ordering::Relaxed) {
            let node = &nodes[random.below(2) as usize];
            let Ok(publisher) = RawPublisher::create_in(node, "topic", &numbers(), qos.clone(), &placement)
            else {
                continue;
            };
            for _ in 0..random.below(200) {
                let Ok(mut loan) = publisher.loan(8, 8, [0, 100, 100_000][random.below(3) as usize]) else {
                    break;
                };
                loan.head_bytes().fill(7);
                if domain == HOST {
                    loan.body_bytes().fill(7);
                }
                let _ = loan.publish();
            }
        }
    };
    let take_some = |seed: u64, domain: DomainId| {
        let mut random = Random(seed);
        let placement = Placement { domain, capacity: Some(SMALL), ..Default::default() };
        while !over.load(Ordering::Relaxed) {
            let node = &nodes[random.below(2) as usize];
            let keep = random.below(3) as usize;
            let history = if keep == 0 { History::KeepAll } else { History::KeepLast(keep) };
            let reliability =
                if random.below(2) == 0 { Reliability::BestEffort } else { Reliability::Reliable };
            let qos = SubscriberQos { history, reliability, ..Default::default() };
            let Ok(subscriber) = RawSubscriber::create_in(node, "topic", &numbers(), qos, &placement) else {
                continue;
            };
            let descriptor = (random.below(2) == 0).then(|| subscriber.event_fd());
            let mut held = Vec::new();
            for _ in 0..random.below(400) {
                match subscriber.take() {
                    Ok(Some(sample)) => {
                        let sum = |bytes: &[u8]| bytes.iter().map(|byte| u64::from(*byte)).sum::<u64>();
                        std::hint::black_box(sum(sample.head_in_place()) + sum(sample.body_in_place()));
                        held.push(sample);
                        held.truncate(random.below(8) as usize);
                    }
                    Ok(None) => _ = wait_any(&[&subscriber], Some(Duration::from_micros(200))),
                    Err(error) => assert!(!error.to_string().is_empty()),
                }
            }
            drop(descriptor);
        }
    };
    std::thread::scope(|scope| {
        for (index, seed) in seeds.into_iter().enumerate() {
            let (over, publish_some, take_some) = (&over, &publish_some, &take_some);
            scope.spawn(move || match index {
                0 | 1 => publish_some(seed, domains[0]),
                2 => publish_some(seed, HOST),
                3 | 4 => take_some(seed, domains[1]),
                5 => take_some(seed, HOST),
                6 => {
                    while !over.load(Ordering::Relaxed) {
                        let _ = format!("{:?}", inspect::topics(&scratch.root()));
                        let _ = format!("{:?}", inspect::nodes(&scratch.root()));
                        std::thread::sleep(Duration::from_millis(1));
                    }
                }
                _ => {
                    let (mut random, start) = (Random(seed), Instant::now());
                    while start.elapsed() < LIVE {
                        corrupt(&mut random, &scratch.root());
                        std::thread::sleep(Duration::from_micros(random.below(2000)));
                    }
                    over.store(true, Ordering::Relaxed);
                }
            });
        }
    });
}

fn subscribe(scratch: &Scratch, name: &str) -> Result<RawSubscriber, RegisterError> {
    RawSubscriber::create(&scratch.node("n"), name, &numbers(), SubscriberQos::default())
}

#[test]
fn a_truncated_or_garbled_topic_is_refused() {
    let scratch = Scratch::new();
    let node = scratch.node("n");
    let publisher = RawPublisher::create(&node, "numbers", &numbers(), Default::default()).unwrap();
    let path = scratch.topic("numbers").join("topic");
    let whole = fs::read(&path).unwrap();
    // A copy under another name, so that no other process has it mapped.
    let copy = scratch.topic("copy");
    fs::create_dir(&copy).unwrap();
    let subscribers = fs::read(scratch.topic("numbers").join("subscribers")).unwrap();
    let refused_as = |name: &str, bytes: &[u8]| {
        fs::write(copy.join(name), bytes).unwrap();
        let (looked, joined) = (inspect::topic(&scratch.root(), "copy"), subscribe(&scratch, "copy"));
        match (looked, joined) {
            (Err(looked), Err(RegisterError::Memory(joined))) => {
                assert_eq!(looked.to_string(), joined.to_string());
                looked.to_string()
            }
            other => panic!("{other:?}"),
        }
    };
    let refused = |bytes: &[u8]| refused_as("topic", bytes);
    fs::write(copy.join("subscribers"), &subscribers).unwrap();
    for len in (0..whole.len()).step_by(4096).chain([1, 87, 88, 4095, whole.len() - 1]) {
        assert!(refused(&whole[..len]).contains("too short"), "{len}");
    }
    // The text begins behind the rows: the names of topic and type, and the schema.
    let text = whole.windows(7).rposition(|bytes| bytes == b"numbers").unwrap();
    let mut garbled = whole.clone();
    garbled[text + 2] = 0xff;
    assert!(refused(&garbled).contains("not UTF-8"));
    for (offset, value, reason) in [
        (0, 0, "does not begin with"),
        (8, 8, "has version 8 of the format of topics, and this program uses version 12"),
        (32, 3, "impossible number of rows"),
        (32, 1 << 20, "impossible number of rows"),
        (36, 255, "not where they belong"),
        (80, u32::MAX, "impossibly long text"),
        (84, 8192, "not where they belong"),
        (88, 113, "impossible size of messages"),
        (92, 12, "impossible size of user headers"),
        (92, 72, "impossible size of user headers"),
        (100, 7, "has version 7 of the format of pools, and this program uses version 6"),
        (100, 2 << 16 | 6, "has version 2 of the format of services, and this program uses version 1"),
    ] {
        let mut garbled = whole.clone();
        garbled[offset..offset + 4].copy_from_slice(&value.to_le_bytes());
        let text = refused(&garbled);
        assert!(text.contains(reason), "{offset}: {text}");
    }
    fs::write(copy.join("topic"), &whole).unwrap();
    for len in [0, 1, 39, 40, subscribers.len() - 1] {
        assert!(refused_as("subscribers", &subscribers[..len]).contains("too short"), "{len}");
    }
    for (offset, value, reason) in [
        (0, 0, "does not begin with"),
        (8, 8, "another version"),
        (12, 41, "another version"),
        (16, 1, "not that of the topic beside it"),
        (24, 255, "not where they belong"),
        (32, 256, "not where they belong"),
    ] {
        let mut garbled = subscribers.clone();
        garbled[offset..offset + 4].copy_from_slice(&u32::to_le_bytes(value));
        let text = refused_as("subscribers", &garbled);
        assert!(text.contains(reason), "{offset}: {text}");
    }
    // Meanwhile the real topic works.
    let subscriber = subscribe(&scratch, "numbers").unwrap();
    publish(&publisher, 9, 9);
    assert_eq!(take(&subscriber).map(|taken| taken.1), Some(9));
}

#[test]
fn names_of_all_kinds() {
    let scratch = Scratch::new();
    let node = scratch.node("n");
    let (longest, longest_greek) = ("x".repeat(230), "α".repeat(42));
    let names = [
        "a",
        "A",
        "/",
        "//",
        ".",
        "..",
        "...",
        "a/b",
        "a%2Fb",
        "%",
        "%2",
        "a b",
        " ",
        "*",
        "\\",
        "\"",
        "grün",
        "話題",
        "🚗",
        "-rf",
        "~",
        "topic",
        "topic.new",
        "x.pool",
        &longest,
        &longest_greek,
    ];
    let publishers = names.map(|name| {
        RawPublisher::create(&node, name, &numbers(), Default::default())
            .unwrap_or_else(|error| panic!("{error}"))
    });
    for (name, publisher) in names.iter().zip(&publishers) {
        let subscriber = subscribe(&scratch, name).unwrap();
        publish(publisher, 3, 3);
        assert_eq!((take(&subscriber), publisher.topic()), (Some((0, 3)), *name));
    }
    let mut expected = names.map(str::to_owned).to_vec();
    expected.sort();
    let found: Vec<_> =
        inspect::topics(&scratch.root()).unwrap().into_iter().map(|topic| topic.name).collect();
    assert_eq!(found, expected);
    for name in
        ["", "\0", "a\0b", "\n", "a\u{7f}", "\u{9c}", &"x".repeat(231), &"α".repeat(43), &"🚗".repeat(80)]
    {
        let refused = subscribe(&scratch, name).unwrap_err();
        assert!(
            matches!(&refused, RegisterError::InvalidName(refused) if refused == name),
            "{name:?}: {refused}"
        );
    }
}

#[test]
fn no_driver_is_opened_because_a_message_lies_on_a_device() {
    let scratch = Scratch::new();
    let node = scratch.node("n");
    let publisher = RawPublisher::create(&node, "numbers", &numbers(), Default::default()).unwrap();
    let pool =
        scratch.files().into_iter().find(|path| path.extension().is_some_and(|it| it == "pool")).unwrap();
    let pool = fs::OpenOptions::new().write(true).open(pool).unwrap();
    for kind in [DomainKind::CUDA, DomainKind::VULKAN] {
        let domain = DomainId { kind, number: 0 };
        pool.write_all_at(&kind.number().to_le_bytes(), 32).unwrap();
        let subscriber = subscribe(&scratch, "numbers").unwrap();
        publish(&publisher, 1, 1);
        let error = subscriber.take().unwrap_err().to_string();
        assert!(error.contains("did not ask for it"), "{error}");
        assert!(error.contains(&format!("SITU_DOMAINS={domain}")), "{error}");
    }
    let maps = fs::read_to_string("/proc/self/maps").unwrap();
    assert!(!maps.contains("libcuda"), "{maps}");
}
