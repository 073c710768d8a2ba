//! Rings in memory: categories with memory of their own, and triggers.

use std::path::PathBuf;
use std::time::Duration;

use situ_trace::{
    CollectorOptions, Event, KeptCategories, Log, Severity, Sink, Trigger, array, category, dictionary,
    instant, slice, write_event,
};

use super::perfetto::Value;
use super::rules::Checked;
use super::session::Recording;

category!(RARE, "rare");
category!(NOISY, "noisy");

const ROUNDS: u64 = 50;
const NOISE: u64 = 400;
const TIMEOUT: Duration = Duration::from_secs(20);

pub fn check(recording: &Recording) {
    a_noisy_category_does_not_evict_a_rare_one(recording);
    an_event_fires_a_trigger(recording);
    a_trigger_that_does_not_fire_writes_nothing(recording);
}

/// A ring of 64 KiB.
fn ring(mut options: CollectorOptions) -> CollectorOptions {
    let Sink::File(path) = options.sink else { panic!("a file") };
    options.sink = Sink::Ring { path, bytes: 64 << 10 };
    options
}

fn work() {
    for round in 0..ROUNDS {
        let _around = slice!(NOISY, "around", "round" => round);
        {
            let _rare = slice!(
                RARE, "grasp", flow = round + 1,
                "round" => round, "pose" => dictionary!("x" => 0.5f64, "ids" => array![1u8, 2u8]),
            );
            instant!(RARE, dynamic(&format!("seen {round}")));
        }
        let slipped = Log { severity: Severity::Warn, text: "slipped", file: "arm.rs", line: 7 };
        write_event(&Event::log(&RARE, slipped, &[]));
        (0..NOISE).for_each(|number| instant!(NOISY, "noise", "number" => number));
    }
}

fn a_noisy_category_does_not_evict_a_rare_one(recording: &Recording) {
    let keep = |bytes| {
        move |options| {
            let kept = vec![KeptCategories { pattern: "ra*".to_owned(), bytes }];
            CollectorOptions { kept, ..ring(options) }
        }
    };
    let trace = Checked::read(&recording.record_with(keep(256 << 10), work));
    let noise = trace.events.iter().filter(|event| event.name == "noise").count() as u64;
    assert!(noise > 500 && noise < ROUNDS * NOISE / 4, "{noise} are the newest");
    let rare = trace.named("grasp");
    assert_eq!(rare.len() as u64, ROUNDS);
    for (round, slice) in (0..).zip(&rare) {
        assert_eq!(slice.category, "rare");
        assert_eq!(slice.flows, [round + 1]);
        let arguments = [
            ("round".to_owned(), Value::Uint(round)),
            ("pose.x".to_owned(), Value::Double(0.5)),
            ("pose.ids[0]".to_owned(), Value::Uint(1)),
            ("pose.ids[1]".to_owned(), Value::Uint(2)),
        ];
        assert_eq!(slice.arguments, arguments);
        let seen = trace.events.iter().find(|event| event.name == format!("seen {round}")).unwrap();
        assert!(slice.begin <= seen.at && seen.at <= slice.end && slice.track == seen.track, "{slice:?}");
    }
    assert!(rare.windows(2).all(|pair| pair[0].end <= pair[1].begin));
    let slipped = trace.events.iter().filter_map(|event| event.log.as_ref());
    assert_eq!(slipped.filter(|log| log.text == "slipped" && log.place.is_some()).count() as u64, ROUNDS);

    // Their memory has a limit, too: the newest are kept.
    let trace = Checked::read(&recording.record_with(keep(8 << 10), work));
    let rare = trace.named("grasp");
    assert!(rare.len() > 5 && (rare.len() as u64) < ROUNDS, "{}", rare.len());
    assert_eq!(rare.last().unwrap().flows, [ROUNDS]);
    // Without memory of its own, a rare category has what the ring has.
    let trace = Checked::read(&recording.record_with(ring, work));
    assert!((trace.named("grasp").len() as u64) < ROUNDS / 2);
}

fn an_event_fires_a_trigger(recording: &Recording) {
    let trigger = Trigger { files: 2, after: Duration::ZERO, ..Trigger::on("stop*") };
    let numbered =
        |number: u32| -> PathBuf { recording.path().with_file_name(format!("trace-{number}.pftrace")) };
    let named = |bytes: &[u8], name: &str| {
        Checked::read(bytes).events.iter().filter(|event| event.name == name).count()
    };
    let options = |options| CollectorOptions { trigger: Some(trigger), ..ring(options) };
    let summary = recording.collect(options, |collector| {
        instant!(NOISY, "before");
        assert!(!collector.wait(Some(Duration::from_millis(50))) && !numbered(1).exists());
        instant!(RARE, "stop here");
        let begin = std::time::Instant::now();
        while !numbered(1).exists() {
            assert!(begin.elapsed() < TIMEOUT);
            std::thread::sleep(Duration::from_millis(1));
        }
        assert!(!collector.wait(Some(Duration::from_millis(50))), "another file is wanted");
        instant!(NOISY, "between");
        instant!(RARE, "stop again");
        assert!(collector.wait(Some(TIMEOUT)), "two files were wanted");
        instant!(NOISY, "after");
    });
    assert_eq!(summary.files, [numbered(1), numbered(2)]);
    let [first, second] = [1, 2].map(|number| std::fs::read(numbered(number)).unwrap());
    assert_eq!(summary.bytes, (first.len() + second.len()) as u64);
    let found = |bytes: &[u8]| ["before", "stop here", "between", "after"].map(|name| named(bytes, name));
    assert_eq!((found(&first), found(&second)), ([1, 1, 0, 0], [1, 1, 1, 0]));
}

fn a_trigger_that_does_not_fire_writes_nothing(recording: &Recording) {
    let _ = std::fs::remove_file(recording.path());
    let trigger = Some(Trigger::on("never"));
    let options = |options| CollectorOptions { trigger, ..ring(options) };
    let summary = recording.collect(options, |_| instant!(NOISY, "nevermore"));
    assert!(summary.files.is_empty() && summary.bytes == 0 && !recording.path().exists());
}
