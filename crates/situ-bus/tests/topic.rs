//! Publishing and taking within one process: order, loss, history, quality of service, and remaining files.
#![cfg(not(loom))]

mod common;

use std::time::{Duration, Instant};

use common::{Scratch, numbers, publish, take};
use situ_bus::{
    Durability, History, Node, NodeError, PublishError, PublisherQos, RawPublisher, RawSubscriber,
    RegisterError, Reliability, SubscriberQos, TypeDescription, WhenFull, inspect, wait_any,
};
use situ_layout::foreign::is_steering;

fn publisher(node: &situ_bus::Node, qos: PublisherQos) -> RawPublisher {
    RawPublisher::create(node, "numbers", &numbers(), qos).unwrap()
}

fn subscriber(node: &situ_bus::Node, qos: SubscriberQos) -> RawSubscriber {
    RawSubscriber::create(node, "numbers", &numbers(), qos).unwrap()
}

fn reliable(depth: usize, when_full: WhenFull) -> PublisherQos {
    PublisherQos { reliability: Reliability::Reliable, depth, when_full, ..Default::default() }
}

fn asks_for_all() -> SubscriberQos {
    SubscriberQos { reliability: Reliability::Reliable, history: History::KeepAll, ..Default::default() }
}

#[test]
fn published_messages_are_taken_in_order_without_a_copy() {
    let scratch = Scratch::new();
    let (a, b) = (scratch.node("a"), scratch.node("b"));
    let subscriber = subscriber(&b, SubscriberQos::default());
    let publisher = publisher(&a, PublisherQos { depth: 16, ..Default::default() });
    assert!(subscriber.take().unwrap().is_none());
    for value in 0..10 {
        assert_eq!(publish(&publisher, value * 7, 100), value);
    }
    for value in 0..10 {
        assert_eq!(take(&subscriber), Some((value, value * 7)));
    }
    assert_eq!(take(&subscriber), None);
    assert_eq!((subscriber.lost(), subscriber.taken()), (0, 10));
}

#[test]
fn two_publishers_share_one_order() {
    let scratch = Scratch::new();
    let node = scratch.node("n");
    let (x, y) = (publisher(&node, PublisherQos::default()), publisher(&node, PublisherQos::default()));
    let (one, two) =
        (subscriber(&node, SubscriberQos::default()), subscriber(&node, SubscriberQos::default()));
    for (value, from) in [(1, &x), (2, &y), (3, &y), (4, &x)] {
        publish(from, value, 0);
    }
    for subscriber in [&one, &two] {
        for value in 1..=4 {
            assert_eq!(take(subscriber), Some((value - 1, value)));
        }
    }
}

#[test]
fn a_slow_subscriber_learns_what_it_lost() {
    let scratch = Scratch::new();
    let node = scratch.node("n");
    let subscriber = subscriber(&node, SubscriberQos::default());
    let publisher = publisher(&node, PublisherQos { depth: 4, ..Default::default() });
    for value in 0..5000 {
        publish(&publisher, value, 8);
    }
    let mut taken = Vec::new();
    while let Some((sequence, value)) = take(&subscriber) {
        assert_eq!(sequence, value);
        taken.push(value);
    }
    assert!(taken.len() >= 4 && taken.len() <= 6, "{taken:?}");
    assert_eq!(taken.last(), Some(&4999));
    assert!(taken.windows(2).all(|pair| pair[1] == pair[0] + 1));
    assert_eq!(subscriber.lost() + taken.len() as u64, 5000);
}

#[test]
fn keep_last_skips_to_the_newest() {
    let scratch = Scratch::new();
    let node = scratch.node("n");
    let keep = |number| SubscriberQos { history: History::KeepLast(number), ..Default::default() };
    let (one, three) = (subscriber(&node, keep(1)), subscriber(&node, keep(3)));
    let publisher = publisher(&node, PublisherQos { depth: 100, ..Default::default() });
    for value in 0..50 {
        publish(&publisher, value, 0);
    }
    assert_eq!(take(&one), Some((49, 49)));
    assert_eq!(take(&one), None);
    assert_eq!(
        [take(&three), take(&three), take(&three), take(&three)].map(|t| t.map(|t| t.1)),
        [Some(47), Some(48), Some(49), None]
    );
    assert_eq!((one.skipped(), one.lost(), three.skipped()), (49, 0, 47));
}

#[test]
fn a_held_sample_never_changes() {
    let scratch = Scratch::new();
    let node = scratch.node("n");
    let subscriber = subscriber(&node, SubscriberQos::default());
    let publisher = publisher(&node, PublisherQos { depth: 1, ..Default::default() });
    publish(&publisher, 0xab, 100_000);
    let held = subscriber.take().unwrap().unwrap();
    let held = std::thread::spawn(move || held).join().unwrap();
    for value in 0..2000 {
        publish(&publisher, value, 100_000);
    }
    assert!(held.body_in_place().iter().all(|byte| *byte == 0xab));
    drop(subscriber);
    assert_eq!(held.head_in_place(), 0xabu64.to_ne_bytes());
    let before = publisher.memory();
    assert!(before.slots <= 5, "slots are reused: {before:?}");
    drop(held);
    publish(&publisher, 1, 100_000);
    publish(&publisher, 1, 100_000);
    assert_eq!(publisher.memory().slots, before.slots);
}

#[test]
fn a_reliable_publisher_waits_or_fails() {
    let scratch = Scratch::new();
    let node = scratch.node("n");
    let subscriber = subscriber(&node, asks_for_all());
    let failing = publisher(&node, reliable(4, WhenFull::Fail));
    for value in 0..4 {
        publish(&failing, value, 0);
    }
    let loan = failing.loan(8, 8, 0).unwrap();
    match loan.publish_or_return() {
        Err((PublishError::Full { waiting_for: 0, depth: 4, .. }, loan)) => {
            assert_eq!(take(&subscriber), Some((0, 0)));
            assert_eq!(loan.publish().unwrap(), 4);
        }
        other => panic!("{other:?}"),
    }
    let waiting = publisher(&node, reliable(4, WhenFull::Block(Some(Duration::from_millis(10)))));
    let start = Instant::now();
    assert!(matches!(waiting.loan(8, 8, 0).unwrap().publish(), Err(PublishError::Full { .. })));
    assert!(start.elapsed() >= Duration::from_millis(10));
    // A subscriber takes while the publisher waits.
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let blocked = publisher(&node, reliable(4, WhenFull::Block(None)));
            for value in 0..1000 {
                publish(&blocked, value, 0);
            }
        });
        let mut taken = 0;
        while taken < 1004 {
            if subscriber.wait(Some(Duration::from_secs(5))) {
                take(&subscriber).unwrap();
                taken += 1;
            }
        }
    });
    assert_eq!(subscriber.lost(), 0);
}

#[test]
fn a_late_subscriber_finds_the_kept_messages() {
    let scratch = Scratch::new();
    let node = scratch.node("n");
    let local = |depth| PublisherQos { durability: Durability::TransientLocal, depth, ..Default::default() };
    let wants =
        |history| SubscriberQos { durability: Durability::TransientLocal, history, ..Default::default() };
    let publisher = publisher(&node, local(5));
    for value in 0..20 {
        publish(&publisher, value, 0);
    }
    let all = subscriber(&node, wants(History::KeepAll));
    let last_two = subscriber(&node, wants(History::KeepLast(2)));
    let volatile = subscriber(&node, SubscriberQos::default());
    let found: Vec<u64> = std::iter::from_fn(|| take(&all)).map(|t| t.1).collect();
    assert!(found.ends_with(&[15, 16, 17, 18, 19]) && found.len() <= 6, "{found:?}");
    assert_eq!(all.lost(), 0, "messages from before it joined are no loss");
    assert_eq!(std::iter::from_fn(|| take(&last_two)).map(|t| t.1).collect::<Vec<_>>(), [18, 19]);
    assert_eq!(take(&volatile), None);
}

#[test]
fn old_messages_expire_and_deadlines_are_counted() {
    let scratch = Scratch::new();
    let node = scratch.node("n");
    let subscriber =
        subscriber(&node, SubscriberQos { deadline: Some(Duration::from_millis(10)), ..Default::default() });
    let publisher = publisher(
        &node,
        PublisherQos {
            // The second message is taken within it, also on a machine that has much to do.
            lifespan: Some(Duration::from_millis(500)),
            deadline: Some(Duration::from_millis(10)),
            ..Default::default()
        },
    );
    publish(&publisher, 1, 0);
    std::thread::sleep(Duration::from_millis(520));
    publish(&publisher, 2, 0);
    assert_eq!(take(&subscriber), Some((1, 2)));
    assert_eq!((subscriber.expired(), subscriber.lost()), (1, 0));
    assert!(subscriber.deadlines_missed() >= 6 && publisher.deadlines_missed() >= 6);
}

#[test]
fn members_of_other_types_are_refused_at_registration() {
    let scratch = Scratch::new();
    let (a, b) = (scratch.node("a"), scratch.node("b"));
    let demanding = subscriber(&b, asks_for_all());
    let mut other = numbers();
    other.schema = other.schema.replace("uint64", "float");
    other.schema_hash = 9;
    match RawPublisher::create(&a, "numbers", &other, reliable(4, WhenFull::Fail)) {
        Err(error @ RegisterError::TypeMismatch { .. }) => {
            let text = error.to_string();
            assert!(text.contains("uint64 value;") && text.contains("float value;"), "{text}");
            assert!(text.contains(&format!(", used by node \"b\" ({})), not", b.id())), "{text}");
        }
        other => panic!("{other:?}"),
    }
    let mut other = numbers();
    other.layout_hash = 1;
    let _flat = publisher(&a, reliable(4, WhenFull::Fail));
    let refused = RawPublisher::create(&a, "numbers", &other, reliable(4, WhenFull::Fail));
    assert!(matches!(refused, Err(RegisterError::LayoutMismatch { .. })));
    // Names with characters that affect a terminal are refused, also for nodes.
    let evil = [
        "",
        "a\nb",
        "\u{1b}[2J",
        "\u{1b}]52;c;aGk=\u{7}",
        "\u{9b}31m",
        "a\u{202e}b",
        "\u{2066}a",
        "a\u{200b}",
    ];
    for name in evil.into_iter().chain([&*"x".repeat(231), &"x".repeat(256)]) {
        let refused = RawPublisher::create(&a, name, &numbers(), PublisherQos::default());
        assert!(matches!(refused, Err(RegisterError::InvalidName(_))));
        if name.len() == 231 {
            continue;
        }
        match Node::in_root(name, scratch.root()) {
            Err(error @ NodeError::InvalidName(_)) => {
                assert!(!error.to_string().chars().any(is_steering), "{error}");
            }
            other => panic!("{other:?}"),
        }
    }
    drop(demanding);
}

#[test]
fn a_topic_without_participants_leaves_no_file() {
    let scratch = Scratch::new();
    let node = scratch.node("n");
    {
        let publisher = publisher(&node, PublisherQos::default());
        let one = subscriber(&node, SubscriberQos::default());
        publish(&publisher, 3, 10);
        drop(publisher);
        assert_eq!(take(&one), Some((0, 3)), "the message of a publisher that left can be taken");
        let info = inspect::topic(&scratch.root(), "numbers").unwrap().unwrap();
        assert_eq!((info.published, info.publishers.len(), info.subscribers.len()), (1, 1, 1));
        assert!(!info.publishers[0].alive && info.subscribers[0].taken == 1);
        let second = subscriber(&node, SubscriberQos::default());
        assert!(
            inspect::topic(&scratch.root(), "numbers").unwrap().unwrap().publishers.is_empty(),
            "its pool is removed when it was taken"
        );
        assert_eq!(take(&second), None);
    }
    drop(node);
    assert_eq!(scratch.files(), Vec::<std::path::PathBuf>::new());
}

/// Rows have their laps modulo 2^22. The file is changed as other publishers would have changed it meanwhile.
#[test]
fn participants_that_slept_for_millions_of_laps_go_on() {
    use std::os::unix::fs::FileExt;
    const LAPS: u64 = (1 << 21) + 7;
    let scratch = Scratch::new();
    let node = scratch.node("n");
    let publisher = publisher(&node, PublisherQos::default());
    let subscriber = subscriber(&node, SubscriberQos::default());
    publish(&publisher, 1, 10);
    assert_eq!(take(&subscriber), Some((0, 1)));
    let file = std::fs::File::options().write(true).open(scratch.topic("numbers").join("topic")).unwrap();
    // 64 rows of 8 bytes at 4096, the word `head` at 1024: `spec/topic.md`. The rows name slot 0 in a
    // generation that it does not have.
    let end = LAPS * 64;
    for number in end - 64..end {
        let lap = (number / 64 + 1) & ((1 << 22) - 1);
        let at = 4096 + number % 64 * 8;
        file.write_all_at(&(lap << 42 | 0x1234).to_le_bytes(), at).unwrap();
    }
    file.write_all_at(&end.to_le_bytes(), 1024).unwrap();
    assert_eq!(publish(&publisher, 2, 10), end);
    let start = std::time::Instant::now();
    let found = loop {
        if let Some(found) = take(&subscriber) {
            break found;
        }
        assert!(start.elapsed() < Duration::from_secs(20), "the subscriber waits for a row of the past");
        std::thread::sleep(Duration::from_millis(50));
    };
    assert_eq!((found, subscriber.lost()), ((end, 2), end - 1));
}

#[test]
fn a_subscriber_maps_a_pool_of_messages_read_only() {
    let scratch = Scratch::new();
    let node = scratch.node("n");
    let publisher = publisher(&node, PublisherQos::default());
    let subscriber = subscriber(&node, SubscriberQos::default());
    publish(&publisher, 1, 10);
    let sample = subscriber.take().unwrap().unwrap();
    let directory = format!("{}/", scratch.topic("numbers").to_str().unwrap());
    let rights = |file: &str| -> Vec<String> {
        let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
        let of_file = maps.lines().filter(|line| line.contains(&directory) && line.contains(file));
        let mut rights: Vec<_> = of_file.map(|line| line.split(' ').nth(1).unwrap().to_owned()).collect();
        rights.sort();
        rights
    };
    // Messages are read through a mapping of their own. The controls are mapped once for both.
    assert_eq!(rights(".data"), ["r--s", "rw-s"]);
    assert_eq!(rights(".pool"), ["rw-s"]);
    // Without the publisher, nothing of its pool can be written.
    drop(publisher);
    assert_eq!(rights(".data"), ["r--s"]);
    assert_eq!(rights(".pool"), ["r--s"]);
    drop(sample);
}

#[test]
fn many_places_can_be_taken_and_not_more() {
    use std::os::unix::fs::FileExt;
    let scratch = Scratch::new();
    let node = scratch.node("n");
    // More than fit the first window of the file.
    let subscribers: Vec<_> = (0..300).map(|_| subscriber(&node, SubscriberQos::default())).collect();
    let file = scratch.topic("numbers").join("subscribers");
    let file = std::fs::File::options().read(true).write(true).open(file).unwrap();
    // All others are taken by the same node: its number, and ACTIVE. The offsets are those of
    // `spec/topic.md`.
    for place in 300..4096_u64 {
        let at = 4096 + place * 4096;
        file.write_all_at(&node.id().0.to_le_bytes(), at + 3968).unwrap();
        file.write_all_at(&1_u32.to_le_bytes(), at + 8).unwrap();
    }
    file.write_all_at(&4096_u32.to_le_bytes(), 136).unwrap();
    let refused = RawSubscriber::create(&node, "numbers", &numbers(), SubscriberQos::default());
    assert!(matches!(refused, Err(RegisterError::Full { role: "subscriber", most: 4096, .. })));
    for place in 300..4096_u64 {
        file.write_all_at(&0_u32.to_le_bytes(), 4096 + place * 4096 + 8).unwrap();
    }
    let publisher = publisher(&node, PublisherQos::default());
    publish(&publisher, 77, 10);
    for subscriber in &subscribers {
        assert_eq!(take(subscriber), Some((0, 77)));
    }
    drop(subscribers);
    assert!(RawSubscriber::create(&node, "numbers", &numbers(), SubscriberQos::default()).is_ok());
}

#[test]
fn waiting_wakes_for_any_of_several_topics() {
    let scratch = Scratch::new();
    let node = scratch.node("n");
    let names = ["a", "b", "c"];
    let make = |name| RawSubscriber::create(&node, name, &numbers(), SubscriberQos::default()).unwrap();
    let subscribers = names.map(make);
    let all: Vec<_> = subscribers.iter().collect();
    let start = Instant::now();
    assert_eq!(wait_any(&all, Some(Duration::from_millis(20))), None);
    assert!(start.elapsed() >= Duration::from_millis(20) && start.elapsed() < Duration::from_secs(2));
    let publishers =
        names.map(|name| RawPublisher::create(&node, name, &numbers(), PublisherQos::default()).unwrap());
    std::thread::scope(|scope| {
        let (started, start) = std::sync::mpsc::channel();
        let waiting = scope.spawn(move || {
            started.send(()).unwrap();
            let index = wait_any(&subscribers.each_ref(), None);
            (index, Instant::now())
        });
        start.recv().unwrap();
        std::thread::sleep(Duration::from_millis(20));
        let [_, b, _] = publishers;
        let at = Instant::now();
        publish(&b, 5, 0);
        let (index, woken) = waiting.join().unwrap();
        assert_eq!(index, Some(1));
        assert!(woken - at < Duration::from_millis(50), "woken by the publisher and not by the time-out");
    });
}

#[test]
fn a_schema_that_is_too_long_is_refused_for_its_first_participant() {
    let scratch = Scratch::new();
    let node = scratch.node("n");
    let described = |len: usize| TypeDescription { schema: "x".repeat(len), ..numbers() };
    let join = |len: usize| RawPublisher::create(&node, "numbers", &described(len), PublisherQos::default());
    match join((16 << 20) + 1) {
        Err(RegisterError::TextTooLong(long)) => {
            assert_eq!((long.what, long.bytes, long.limit), ("schema", (16 << 20) + 1, 16 << 20));
        }
        other => panic!("{other:?}"),
    }
    assert!(inspect::topics(&scratch.root()).unwrap().is_empty());
    // As long as it may be, others join.
    let (_first, _second) = (join(16 << 20).unwrap(), join(16 << 20).unwrap());
}
