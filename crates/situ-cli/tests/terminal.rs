//! Commands in a terminal of their own, of several widths.

#[allow(dead_code, reason = "not every test file needs everything")]
mod common;
#[allow(dead_code, reason = "not every test file needs everything")]
#[path = "common/shown.rs"]
mod shown;

use std::io::Read;
use std::time::{Duration, Instant};

use common::Sandbox;
use shown::{Shown, start, terminal};

/// Asserts that a line consists of whole numbers and of known words.
fn assert_whole(line: &str, names: &[&str]) {
    const UNITS: [&str; 9] = ["Hz", "kHz", "ns", "µs", "ms", "s", "B", "B/s", "KiB/s"];
    for word in line.split_whitespace() {
        let is_known = names.contains(&word) || UNITS.contains(&word) || ["KiB", "MiB"].contains(&word);
        assert!(is_known || word.parse::<f64>().is_ok(), "`{word}` is cut in `{line}`");
    }
}

fn publish(sandbox: &Sandbox) -> [common::Process; 2] {
    let schema = sandbox.file("pose.idl", "module demo { @flat struct Pose { double x; }; };");
    let publish = |topic: &str| {
        let arguments =
            ["topic", "pub", topic, "demo::Pose", "--schema", &schema, "--rate", "50", "--wait", "0"];
        let publisher = sandbox.spawn(&arguments);
        sandbox.wait_for_topic(topic);
        publisher
    };
    [publish("robot/pose"), publish("robot/goal")]
}

#[test]
fn figures_are_whole_at_every_width_and_redraws_leave_nothing() {
    let sandbox = Sandbox::new();
    let _publishers = publish(&sandbox);
    const LABELS: [&str; 5] = ["shortest", "longest", "deviation", "messages", "lost"];
    for (columns, labels) in [(40, 2..=3), (60, 3..=4), (80, 4..=5), (100, 5..=5), (200, 5..=5)] {
        let mut shown = Shown::start(&sandbox, columns, &["topic", "hz", "robot/pose"]);
        let line = shown.lines(|lines| lines.iter().any(|line| line.contains(" Hz")));
        assert_eq!(line.len(), 1, "{line:?}");
        assert_whole(&line[0], &LABELS);
        let count = LABELS.iter().filter(|label| line[0].contains(**label)).count();
        assert!(labels.contains(&count) && line[0].contains("lost 0"), "{columns}: {}", line[0]);

        // Another width is noticed, and nothing of the old line stays.
        let other = if columns == 40 { 100 } else { 40 };
        shown.resize(other);
        let both = |lines: &[String]| {
            let has = lines.iter().any(|line| line.contains("deviation"));
            lines.len() == 1 && lines[0].contains(" Hz") && lines[0].contains("lost") && has == (other == 100)
        };
        let line = shown.lines(both);
        assert_whole(&line[0], &LABELS);
    }
}

#[test]
fn a_topic_that_falls_silent_is_said_to_be_quiet() {
    let sandbox = Sandbox::new();
    let [mut pose, _goal] = publish(&sandbox);
    let mut shown = Shown::start(&sandbox, 80, &["topic", "hz", "robot/pose"]);
    let mut several = Shown::start(&sandbox, 80, &["topic", "hz", "robot/*"]);
    let line = shown.lines(|lines| lines.iter().any(|line| line.contains(" Hz")));
    assert!(!line[0].contains("quiet"), "{line:?}");
    pose.kill();
    let line = shown.lines(|lines| lines.iter().any(|line| line.starts_with("quiet for ")));
    assert!(line[0].contains("Hz"), "{line:?}");
    // In a table, only the silent topic has a time.
    several.lines(|lines| {
        let quiet = |name: &str| {
            let row = lines.iter().find(|it| it.starts_with(name))?;
            row.split_whitespace().nth(1).map(|it| it != "-")
        };
        quiet("robot/pose") == Some(true) && quiet("robot/goal") == Some(false)
    });
}

#[test]
fn several_topics_have_a_row_each() {
    let sandbox = Sandbox::new();
    let _publishers = publish(&sandbox);
    const WORDS: [&str; 10] =
        ["topic", "quiet", "-", "p50", "p99", "lost", "largest", "smallest", "messages", "robot/pose"];
    for columns in [40, 80] {
        let mut shown = Shown::start(&sandbox, columns, &["topic", "delay", "robot/*"]);
        let lines = shown.lines(|lines| {
            ["robot/pose", "robot/goal"].iter().all(|name| lines.iter().any(|it| it.starts_with(name)))
        });
        assert_eq!(lines.len(), 3, "{lines:?}");
        for line in lines {
            assert_whole(&line.replace("robot/goal", ""), &WORDS);
        }
    }
}

#[test]
fn top_leaves_columns_out_before_it_cuts_numbers() {
    let sandbox = Sandbox::new();
    let _publishers = publish(&sandbox);
    let mut shown = Shown::start(&sandbox, 200, &["top", "--interval", "0.2"]);
    for columns in [200, 100, 80, 60, 40] {
        shown.resize(columns);
        let headings = [
            "TOPIC▾",
            "RATE",
            "LOST",
            "BEHIND",
            "SUB",
            "P99",
            "BANDWIDTH",
            "MEMORY",
            "PUB",
            "P50",
            "DOMAINS",
        ];
        let least = match columns {
            40 => 3,
            60 => 4,
            80 => 7,
            100 => 9,
            _ => 11,
        };
        let is_heading = |line: &String| {
            let words: Vec<&str> = line.split_whitespace().collect();
            words.len() >= least && words.iter().all(|word| headings.contains(word))
        };
        let lines = shown.lines(|lines| {
            lines.iter().any(is_heading)
                && lines.iter().any(|it| it.starts_with("robot/goal") && it.contains(" Hz"))
                && lines.last().is_some_and(|line| line.starts_with("q quit"))
        });
        let row = lines.iter().find(|it| it.starts_with("robot/goal")).unwrap();
        assert_whole(row, &["robot/goal", "host", "-"]);
        assert!(lines.iter().all(|line| line.chars().count() <= usize::from(columns)));
    }
}

#[test]
fn top_ends_with_its_terminal() {
    let sandbox = Sandbox::new();
    let (mut ours, theirs) = terminal(100);
    let mut top = start(&sandbox, theirs, &["top"]);
    let (mut seen, mut chunk) = (Vec::new(), [0; 4096]);
    while !String::from_utf8_lossy(&seen).contains("No topics yet.") {
        let count = ours.read(&mut chunk).unwrap();
        seen.extend_from_slice(&chunk[..count]);
    }
    // Waits, because the program is waiting for a key most of the time.
    std::thread::sleep(Duration::from_millis(250));
    drop(ours);
    let closed = Instant::now();
    let status = loop {
        if let Some(status) = top.try_wait().unwrap() {
            break status;
        }
        if closed.elapsed() > Duration::from_secs(20) {
            top.kill().unwrap();
            panic!("it keeps running without a terminal");
        }
        std::thread::sleep(Duration::from_millis(10));
    };
    assert!(!status.success(), "{status}");
}
