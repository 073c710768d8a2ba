//! Traces decoded by another implementation of protobuf: tracks, slices, arguments, flows and counters.
//! Packets refer only to earlier state, even after losses.

mod perfetto;
mod rings;
mod rules;
mod session;
mod strict;
mod tracks;

use std::time::Duration;

use perfetto::Value;
use rules::{Checked, Logged};
use session::Recording;
use situ_bus::{
    Encoding, Node, PublisherQos, RawPublisher, RawSubscriber, Reliability, SubscriberQos, TypeDescription,
    WhenFull, inspect,
};
use situ_trace::reader::{ArgumentValue, ReadTrace};
use situ_trace::{
    Argument, CollectorOptions, Event, Kind, Label, Log, Name, Policy, Severity, Sink, Unit, category,
    counter, instant, slice, write_event,
};

category!(PLANNER, "planner");
category!(UNWANTED, "unwanted");

fn numbers() -> TypeDescription {
    TypeDescription {
        name: "test::Numbers".to_owned(),
        schema: "module test {\n  struct Numbers {\n    uint64 value;\n  };\n};\n".to_owned(),
        schema_hash: 0x1234,
        layout_hash: 0x5678,
        encoding: Encoding::Flat,
        fixed_size: 0,
        user_header_size: 0,
    }
}

/// All tests run in one process, which takes part in one session at a time. So they are one test.
#[test]
fn events_of_programs_are_in_the_trace() {
    let recording = Recording::new();
    events_have_names_arguments_and_flows(&recording);
    a_name_may_be_that_of_an_event_and_of_an_argument(&recording);
    messages_of_logs_have_a_severity_a_text_and_a_place(&recording);
    categories_are_on_only_if_the_session_selects_them(&recording);
    threads_have_tracks_of_their_own(&recording);
    threads_that_follow_each_other_lose_nothing(&recording);
    threads_that_follow_each_other_leave_a_whole_ring(&recording);
    messages_of_the_bus_have_arrows(&recording);
    waits_for_room_say_which_subscriber_is_behind(&recording);
    losses_take_no_more_than_themselves(&recording);
    tracks::check(&recording);
    events_are_small(&recording);
    rings::check(&recording);
}

/// Times are differences. The numbers below are counted by hand: an event has its time 1 + 1 to 4, its flags
/// 2, the message's tag and length 2, type 2, category 2 or 3, name 2 or 3, a flow 10, a double 13, and a
/// small number 6 (1 more for each name with a number above 127).
fn events_are_small(recording: &Recording) {
    let bytes = recording.record("", || {
        for round in 0..100u8 {
            drop(slice!(PLANNER, "small", flow = 7, "goal" => 2.5f64, "round" => round));
        }
    });
    let trace = Checked::read(&bytes);
    assert_eq!(trace.named("small").len(), 100);
    // All but the first packets of the sequence, and the collector's.
    assert!(trace.differences >= 200, "{}", trace.differences);
    let sizes = packet_sizes(&bytes);
    // The collector adds the sequence, in 2 bytes.
    let begins: Vec<_> =
        sizes.iter().filter(|(kind, _)| *kind == Some(1)).skip(1).map(|(_, size)| size - 2).collect();
    let ends: Vec<_> = sizes.iter().filter(|(kind, _)| *kind == Some(2)).map(|(_, size)| size - 2).collect();
    assert_eq!((begins.len(), ends.len()), (99, 100));
    // The shortest, because a thread that is stopped in between has a longer difference.
    let shortest = |sizes: &[usize]| sizes.iter().copied().min().unwrap();
    let (begin, end) = (shortest(&begins), shortest(&ends));
    assert!((41..=47).contains(&begin) && (8..=11).contains(&end), "{begin} and {end} bytes");
}

fn events_have_names_arguments_and_flows(recording: &Recording) {
    assert!(!PLANNER.is_enabled(), "there is no session");
    let mut looked_at = false;
    {
        let _slice = slice!(PLANNER, "before", "never" => { looked_at = true; 1u32 });
    }
    assert!(!looked_at, "arguments of a category that is off are not evaluated");

    let bytes = recording.record("", || {
        assert!(PLANNER.is_enabled());
        for round in 0..3u64 {
            let _outer =
                slice!(PLANNER, "plan", flow = 7, flow = round + 100, "goal" => 2.5f64, "round" => round);
            {
                let _inner = slice!(PLANNER, "search", last_flow = 7, "deep" => true, "delta" => -3i32);
                instant!(PLANNER, "found", "what" => "a way");
            }
            counter!(PLANNER, "candidates", round);
            counter!(PLANNER, "cost", 0.25 + round as f64, Unit::Bytes);
        }
    });
    let trace = Checked::read(&bytes);
    assert_eq!(trace.losses, 0);
    let (pid, name) = trace.processes.values().next().unwrap();
    assert_eq!(*pid as u32, std::process::id());
    assert_eq!(name, "people at work");

    let (plans, searches) = (trace.named("plan"), trace.named("search"));
    assert_eq!((plans.len(), searches.len()), (3, 3));
    for (round, (plan, search)) in plans.iter().zip(&searches).enumerate() {
        let round = round as u64;
        assert_eq!((plan.depth, search.depth), (0, 1));
        assert!(plan.begin <= search.begin && search.end <= plan.end, "nested");
        assert_eq!((plan.category.as_str(), search.category.as_str()), ("planner", "planner"));
        assert_eq!(plan.flows, [7, round + 100]);
        assert_eq!(
            plan.arguments,
            [("goal".to_owned(), Value::Double(2.5)), ("round".to_owned(), Value::Uint(round))]
        );
        assert_eq!(
            search.arguments,
            [("deep".to_owned(), Value::Bool(true)), ("delta".to_owned(), Value::Int(-3))]
        );
    }
    let begins = |name: &str| trace.events.iter().filter(|it| it.name == name).cloned().collect::<Vec<_>>();
    assert!(begins("search").iter().all(|search| search.last_flows == [7]));
    let found = begins("found");
    assert_eq!(found.len(), 3);
    assert_eq!(found[0].kind, 3);
    assert_eq!(found[0].arguments, [("what".to_owned(), Value::Text("a way".to_owned()))]);

    for (name, values) in [("candidates", [0.0, 1.0, 2.0]), ("cost", [0.25, 1.25, 2.25])] {
        let track = trace.counters.iter().find(|(_, (other, _))| other == name).unwrap().0;
        let said: Vec<f64> =
            trace.events.iter().filter(|it| it.track == *track).filter_map(|it| it.value).collect();
        assert_eq!(said, values, "{name}");
    }
}

fn messages_of_logs_have_a_severity_a_text_and_a_place(recording: &Recording) {
    static LOGGER: Name = Name::new("logger");
    let severities =
        [Severity::Trace, Severity::Debug, Severity::Info, Severity::Warn, Severity::Error, Severity::Fatal];
    let log = |severity, text: &str, file: &str, line| {
        let arguments = [Argument::new(&LOGGER, "arm")];
        write_event(&Event::log(&PLANNER, Log { severity, text, file, line }, &arguments));
    };
    let bytes = recording.record("", || {
        for (index, severity) in (0..).zip(severities) {
            log(severity, &format!("text {index}"), "arm.cpp", 10 + index);
        }
        // Equal texts, and no place.
        log(Severity::Info, "same", "", 0);
        log(Severity::Info, "same", "", 0);
    });
    let trace = Checked::read(&bytes);
    let said: Vec<_> = trace.events.iter().filter(|event| event.log.is_some()).collect();
    // Perfetto's numbers.
    let expected = [("trace", 2), ("debug", 3), ("info", 4), ("warn", 5), ("error", 6), ("fatal", 7)];
    let place = |line| Some(("arm.cpp".to_owned(), line));
    let mut expected: Vec<_> = (0..)
        .zip(expected)
        .map(|(index, (name, priority))| (name, priority, format!("text {index}"), place(10 + index)))
        .collect();
    expected.extend([("info", 4, "same".to_owned(), None), ("info", 4, "same".to_owned(), None)]);
    assert_eq!(said.len(), expected.len());
    for (said, (name, priority, text, place)) in said.iter().zip(expected) {
        assert_eq!((said.kind, said.category.as_str(), said.name.as_str()), (3, "planner", name));
        assert_eq!(said.arguments, [("logger".to_owned(), Value::Text("arm".to_owned()))]);
        assert_eq!(said.log, Some(Logged { priority, text, place }));
    }

    let read = ReadTrace::read(&bytes);
    let first = read.instants.iter().find(|instant| read.text(instant.name) == "warn").unwrap();
    let arguments: Vec<_> = first.arguments.iter().map(|(name, value)| (read.text(*name), value)).collect();
    let text = |value: &ArgumentValue| match value {
        ArgumentValue::Text(text) => read.text(*text).to_owned(),
        other => format!("{other:?}"),
    };
    let arguments: Vec<_> = arguments.into_iter().map(|(name, value)| (name, text(value))).collect();
    let expected = [("logger", "arm"), ("message", "text 3"), ("file", "arm.cpp"), ("line", "Uint(13)")];
    assert_eq!(arguments, expected.map(|(name, value)| (name, value.to_owned())));
}

/// One `Name` for two uses, as C++ has one for each literal: its number is explained in each table that uses
/// the name.
fn a_name_may_be_that_of_an_event_and_of_an_argument(recording: &Recording) {
    static STEP: Name = Name::new("step");
    static TURN: Name = Name::new("turn");
    let event = |name, argument: &'static Name, value: u64| {
        let arguments = &[Argument::new(argument, value)];
        write_event(&Event {
            arguments,
            ..Event::new(Kind::Instant, Some(&PLANNER), Some(Label::Known(name)))
        });
    };
    let bytes = recording.record("", || {
        // Both in one packet; then the argument's name becomes the name of an event.
        event(&STEP, &STEP, 1);
        event(&STEP, &TURN, 2);
        event(&TURN, &STEP, 3);
    });
    let trace = Checked::read(&bytes);
    let said: Vec<_> = trace.events.iter().filter(|event| !event.arguments.is_empty()).collect();
    let expected = [("step", "step", 1), ("step", "turn", 2), ("turn", "step", 3)];
    assert_eq!(said.len(), expected.len());
    for (said, (name, argument, value)) in said.iter().zip(expected) {
        assert_eq!(said.name, name);
        assert_eq!(said.arguments, [(argument.to_owned(), Value::Uint(value))]);
    }
}

fn categories_are_on_only_if_the_session_selects_them(recording: &Recording) {
    let bytes = recording.record("plan*", || {
        assert!(PLANNER.is_enabled() && !UNWANTED.is_enabled());
        let _wanted = slice!(PLANNER, "wanted");
        let _unwanted = slice!(UNWANTED, "unwanted");
    });
    let trace = Checked::read(&bytes);
    assert_eq!(trace.named("wanted").len(), 1);
    assert!(trace.events.iter().all(|event| event.name != "unwanted"));
    assert!(!PLANNER.is_enabled(), "the session is over");
}

fn threads_have_tracks_of_their_own(recording: &Recording) {
    let bytes = recording.record("", || {
        let threads = (0..3).map(|number| {
            let thread = std::thread::Builder::new().name(format!("worker {number}"));
            thread.spawn(|| drop(slice!(PLANNER, "work"))).unwrap()
        });
        threads.for_each(|thread| thread.join().unwrap());
    });
    let trace = Checked::read(&bytes);
    let mut names: Vec<&str> =
        trace.named("work").iter().map(|slice| trace.threads[&slice.track].2.as_str()).collect();
    names.sort_unstable();
    assert_eq!(names, ["worker 0", "worker 1", "worker 2"]);
    let process = *trace.processes.keys().next().unwrap();
    assert_eq!(trace.processes.len(), 1);
    assert!(
        trace
            .threads
            .values()
            .all(|(pid, _, _, parent)| { *pid as u32 == std::process::id() && *parent == process })
    );
}

/// More threads than a ring has entries, and more than it has chunks.
const THREADS: u64 = 1300;

fn threads_one_after_another() {
    for number in 0..THREADS {
        // A long-lived thread writes in between.
        instant!(PLANNER, "next", "number" => number);
        std::thread::spawn(move || drop(slice!(PLANNER, "short", "number" => number))).join().unwrap();
    }
}

fn threads_that_follow_each_other_lose_nothing(recording: &Recording) {
    follow_each_other(&recording.record("", threads_one_after_another));
    // With a collector that always sleeps, and so frees no entry of an ended thread.
    let asleep =
        |options| CollectorOptions { ring_bytes: 16 << 20, period: Duration::from_secs(60), ..options };
    follow_each_other(&recording.record_with(asleep, threads_one_after_another));
}

fn follow_each_other(bytes: &[u8]) {
    let trace = Checked::read(bytes);
    let said: Vec<_> = trace.named("short").iter().map(|slice| slice.arguments[0].1.clone()).collect();
    let missing: Vec<_> = (0..THREADS).filter(|number| !said.contains(&Value::Uint(*number))).collect();
    assert_eq!((said.len() as u64, missing), (THREADS, vec![]));
    assert_eq!(trace.losses, 0);
}

/// Only the newest packets are kept, and they depend on nothing that is missing.
fn threads_that_follow_each_other_leave_a_whole_ring(recording: &Recording) {
    const KEPT: usize = 64 << 10;
    let to_ring = |mut options: CollectorOptions| {
        let Sink::File(path) = options.sink else { panic!("a file") };
        options.sink = Sink::Ring { path, bytes: KEPT };
        options
    };
    let bytes = recording.record_with(to_ring, || {
        threads_one_after_another();
        (0..200).for_each(|_| instant!(PLANNER, "timed", "at" => situ_trace::now_ns()));
    });
    let trace = Checked::read(&bytes);
    // Times are differences from packets that were dropped. Each event is between the two times that its own
    // argument and that of the next one tell.
    let timed = trace.events.iter().filter(|event| event.name == "timed");
    let timed: Vec<_> = timed
        .map(|event| match event.arguments[0].1 {
            Value::Uint(before) => (before, event.at),
            _ => panic!("{event:?}"),
        })
        .collect();
    assert_eq!(timed.len(), 200);
    for pair in timed.windows(2) {
        assert!(pair[0].0 <= pair[0].1 && pair[0].1 <= pair[1].0, "{pair:?}");
    }
    let last = ("number".to_owned(), Value::Uint(THREADS - 1));
    assert!(trace.named("short").iter().any(|slice| slice.arguments == [last.clone()]));
    let count = trace.named("short").len();
    assert!(count > 50, "{count} slices in {KEPT} bytes: state has displaced them");
}

fn messages_of_the_bus_have_arrows(recording: &Recording) {
    let node = Node::in_root("traced", recording.root()).unwrap();
    let publisher = RawPublisher::create(&node, "lidar/points", &numbers(), PublisherQos::default()).unwrap();
    let subscriber =
        RawSubscriber::create(&node, "lidar/points", &numbers(), SubscriberQos::default()).unwrap();
    let publish = |value: u64| {
        let mut loan = publisher.loan(8, 8, 100).unwrap();
        loan.head_bytes().copy_from_slice(&value.to_ne_bytes());
        loan.publish().unwrap()
    };
    publish(1);
    let bytes = recording.record("bus", || {
        (2..5).for_each(|value| assert_eq!(publish(value), value - 1));
        while subscriber.take().unwrap().is_some() {}
        assert!(!subscriber.wait(Some(Duration::from_millis(1))));
    });
    let trace = Checked::read(&bytes);
    let (published, taken) = (trace.named("publish lidar/points"), trace.named("take lidar/points"));
    assert_eq!((published.len(), taken.len()), (3, 4), "the first was published before the session");
    assert_eq!(trace.named("loan lidar/points").len(), 3);
    assert_eq!(trace.named("wait for lidar/points").len(), 1);
    for (index, published) in published.iter().enumerate() {
        let taken = taken[index + 1];
        assert_eq!(published.flows.len(), 1);
        assert_eq!(published.flows, taken.flows, "an arrow from the one to the other");
        assert!(published.begin <= taken.begin);
        let arguments =
            [("number".to_owned(), Value::Uint(index as u64 + 1)), ("bytes".to_owned(), Value::Uint(108))];
        assert_eq!(published.arguments, arguments);
        assert_eq!(taken.arguments, arguments);
    }
    let counters: Vec<&str> = trace.counters.values().map(|(name, _)| name.as_str()).collect();
    assert!(counters.contains(&"slots of lidar/points #0"), "{counters:?}");
    assert!(counters.contains(&"queue of lidar/points #0"), "{counters:?}");
    let queue = trace.counters.iter().find(|(_, (name, _))| name.starts_with("queue")).unwrap().0;
    let queued: Vec<f64> =
        trace.events.iter().filter(|it| it.track == *queue).filter_map(|it| it.value).collect();
    assert_eq!(queued, [3.0, 2.0, 1.0, 0.0]);
}

fn waits_for_room_say_which_subscriber_is_behind(recording: &Recording) {
    let there = Node::in_root("behind", recording.root()).unwrap();
    let here = Node::in_root("waits", recording.root()).unwrap();
    let wants = SubscriberQos { reliability: Reliability::Reliable, ..SubscriberQos::default() };
    let subscriber = RawSubscriber::create(&there, "full", &numbers(), wants).unwrap();
    let offers = PublisherQos { reliability: Reliability::Reliable, depth: 1, ..PublisherQos::default() };
    let offers = PublisherQos { when_full: WhenFull::Block(Some(Duration::from_secs(60))), ..offers };
    let publisher = RawPublisher::create(&here, "full", &numbers(), offers).unwrap();
    // A ring of the smallest size, filled faster than it is read: no remaining packet depends on a lost one.
    assert!(subscriber.take().unwrap().is_none());
    let bytes = recording.record("bus", || {
        std::thread::scope(|scope| {
            scope.spawn(move || {
                for _ in 0..2 {
                    publisher.loan(8, 8, 0).unwrap().publish().unwrap();
                }
            });
            let waits = || {
                let topic = inspect::topic(&recording.root(), "full").unwrap().unwrap();
                topic.publishers.iter().any(|publisher| publisher.waits.is_some())
            };
            while !waits() {
                std::thread::sleep(Duration::from_millis(1));
            }
            assert!(subscriber.take().unwrap().is_some());
        });
    });
    let trace = Checked::read(&bytes);
    let waits = trace.named("wait for room in full");
    assert_eq!(waits.len(), 1);
    let arguments = [
        ("subscriber node".to_owned(), Value::Text(there.id().to_string())),
        ("subscriber process".to_owned(), Value::Uint(std::process::id().into())),
    ];
    assert_eq!(waits[0].arguments, arguments);
    let published = trace.named("publish full");
    assert_eq!(published.len(), 2);
    assert!(published[0].end <= waits[0].begin && waits[0].end <= published[1].end, "before the second");
}

/// Reading checks the rules.
fn losses_take_no_more_than_themselves(recording: &Recording) {
    const EVENTS: u64 = 20_000;
    let options = |options: CollectorOptions| CollectorOptions {
        ring_bytes: 4 * 1024,
        chunk_bytes: 1024,
        policy: Policy::Drop,
        period: Duration::from_millis(50),
        ..options
    };
    let bytes = recording.record_with(options, || {
        for number in 0..EVENTS {
            instant!(PLANNER, "tick", "number" => number, "text" => "so that it is longer");
        }
    });
    // The rules are checked by reading.
    let trace = Checked::read(&bytes);
    let ticks = trace.events.iter().filter(|event| event.name == "tick").count() as u64;
    assert!(trace.losses > 0, "the test needs losses, but {ticks} ticks came");
    assert!(ticks > 0 && ticks < EVENTS);
}

/// The packets with an event: its kind, and the bytes of the packet.
fn packet_sizes(bytes: &[u8]) -> Vec<(Option<i32>, usize)> {
    let trace = <perfetto::Trace as prost::Message>::decode(bytes).expect("it is protobuf");
    let events = trace.packet.iter().filter(|packet| packet.track_event.is_some());
    events
        .map(|packet| (packet.track_event.as_ref().unwrap().kind, prost::Message::encoded_len(packet)))
        .collect()
}
