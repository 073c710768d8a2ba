//! Options of `situ record`, what it says of losses and of a full disk, and what `check` finds.

use std::process::Command;
use std::time::Duration;

use rustix::process::Signal;
use serde_json::Value;
use situ_record::{Filter, Message, Reader, Writer, WriterOptions};

use super::common::{Sandbox, json, text};
use super::{PATIENCE, Sensor, publish, wait_until};

const PATH: &str = "nav_demo::msg::Path";
const POSE: &str = "nav_demo::msg::Pose";

/// A message with this number of bytes, and some more.
fn large(number: u32, bytes: usize) -> String {
    format!("{{name: {}, number: {number}}}", "x".repeat(bytes))
}

fn report(output: &[u8]) -> Value {
    serde_json::from_slice(output).unwrap()
}

#[test]
fn a_split_recording_is_shown_and_played() {
    let sandbox = Sandbox::new();
    let note = sandbox.file("camera.txt", "focal length 4 mm");
    let output = sandbox.path("day.mcap");
    let size = ["--split-size", "64KiB", "--chunk", "16KiB", "--attach", &note];
    let mut arguments = vec!["--json", "record", "path", "-o", &output, "--meta", "driver=ada"];
    arguments.extend(size);
    let mut recorder = sandbox.spawn(&arguments);
    let sensor = Sensor::joined(&sandbox, "path", PATH);
    for number in 0..40 {
        sensor.publish(&large(number, 10_000));
        sensor.wait_for_takes();
    }
    let report = report(&recorder.end_by(&[Signal::INT]).stdout);
    let files: Vec<&str> =
        report["files"].as_array().unwrap().iter().map(|it| it["file"].as_str().unwrap()).collect();
    assert!(files.len() >= 3, "{report}");
    for (number, file) in files.iter().enumerate() {
        assert_eq!(*file, sandbox.path(&format!("day_{number}.mcap")));
        // A chunk, which may be behind the limit, the head and the summary.
        assert!(std::fs::metadata(file).unwrap().len() < 100 << 10);
    }
    let info = json(&sandbox.run(&["--json", "record", "info", files[0]]));
    assert_eq!(info["attachments"], serde_json::json!(["camera.txt"]));
    assert_eq!(info["metadata"]["situ"]["driver"], "ada");
    let first = Reader::open(files[0]).unwrap();
    assert_eq!(first.attachment(&first.attachments()[0]).unwrap(), b"focal length 4 mm");
    let mut play = vec!["--json", "play", "--rate", "1000"];
    play.extend(&files);
    assert_eq!(json(&sandbox.run(&play))["messages"], 40);
}

#[test]
fn a_recording_is_split_by_time() {
    let sandbox = Sandbox::new();
    let output = sandbox.path("day.mcap");
    let mut recorder = sandbox.spawn(&["--json", "record", "-a", "-o", &output, "--split-time", "100ms"]);
    let sensor = Sensor::joined(&sandbox, "pose", POSE);
    // The times of the first two are 150 ms apart, so that the next file begins after them.
    let mut number = 0;
    wait_until(|| {
        sensor.publish(&format!("{{number: {number}}}"));
        number += 1;
        std::thread::sleep(Duration::from_millis(150));
        std::path::Path::new(&sandbox.path("day_1.mcap")).exists()
    });
    sensor.wait_for_takes();
    let report = report(&recorder.end_by(&[Signal::INT]).stdout);
    assert_eq!((&report["messages"], &report["lost"]), (&Value::from(number), &Value::from(0)));
}

#[test]
fn topics_are_chosen_also_later_and_a_recording_ends_by_itself() {
    let sandbox = Sandbox::new();
    let output = sandbox.path("some.mcap");
    let arguments = ["--json", "record", "cam/**", "-e", "^gps", "-x", "**/debug", "-o", &output];
    let mut recorder = sandbox.spawn(&arguments);
    let others = ["cam/debug", "lidar"].map(|topic| Sensor::new(&sandbox, topic, POSE));
    others.iter().for_each(|sensor| sensor.publish("{number: 1}"));
    publish(&sandbox, "cam/a", POSE, &["{number: 2}"]);
    publish(&sandbox, "gps/fix", POSE, &["{number: 3}"]);
    let report = report(&recorder.end_by(&[Signal::INT]).stdout);
    let topics = report["topics"].as_array().unwrap().iter().map(|it| it["topic"].as_str().unwrap());
    assert_eq!(topics.collect::<Vec<_>>(), ["cam/a", "gps/fix"]);
    let short = sandbox.run(&["record", "-a", "-o", &sandbox.path("short.mcap"), "--duration", "50ms"]);
    assert!(text(&short).contains("0 messages"));
}

#[test]
fn messages_before_a_new_topic_was_joined_are_told_and_make_the_exit_code_1() {
    let sandbox = Sandbox::new();
    let mut recorder = sandbox.spawn(&["record", "-a", "-o", &sandbox.path("late.mcap")]);
    publish(&sandbox, "pose", POSE, &["{number: 1}"]);
    // Stopped, it cannot join.
    recorder.signal(Signal::STOP);
    wait_until(|| {
        let status = std::fs::read_to_string(format!("/proc/{}/status", recorder.id())).unwrap();
        status.lines().any(|line| line.starts_with("State:\tT"))
    });
    let late = Sensor::new(&sandbox, "late", POSE);
    (0..5).for_each(|_| late.publish("{number: 2}"));
    recorder.signal(Signal::CONT);
    wait_until(|| late.publisher.subscribers() > 0);
    late.publish("{number: 3}");
    late.wait_for_takes();
    let ended = recorder.end_by(&[Signal::INT]);
    assert_eq!(ended.status.code(), Some(1));
    let shown = String::from_utf8(ended.stdout).unwrap();
    assert!(shown.contains("5 published before their topic was joined"), "{shown}");
}

#[test]
fn a_full_disk_ends_a_recording_that_can_be_read() {
    let sandbox = Sandbox::new();
    let output = sandbox.path("full.mcap");
    let mut shell = Command::new("sh");
    // A limit of the size of files, 4 MiB in blocks of 512 bytes, whose signal is ignored.
    shell.args(["-c", "trap '' XFSZ; ulimit -f 8192; exec \"$0\" \"$@\"", env!("CARGO_BIN_EXE_situ")]);
    shell.args(["--root", sandbox.root(), "--json", "record", "path", "-o", &output]);
    let mut recorder = sandbox.spawn_command(shell);
    let sensor = Sensor::joined(&sandbox, "path", PATH);
    let mut number = 0;
    while !recorder.has_ended() {
        sensor.publish(&large(number, 100_000));
        number += 1;
        // Its end takes the recorder out of the topic.
        sensor.wait_for_takes();
    }
    let ended = recorder.wait(PATIENCE);
    assert_eq!(ended.status.code(), Some(1));
    let error = String::from_utf8(ended.stderr).unwrap();
    assert!(error.contains("what was written before can be read"), "{error}");
    let report = report(&ended.stdout);
    let kept = report["files"][0]["messages"].as_u64().unwrap();
    assert!(kept > 0 && report["unwritten"].as_u64() > Some(0), "{report}");
    let check = sandbox.run(&["--json", "record", "check", &output]);
    let check: Value = serde_json::from_slice(&check.stdout).unwrap();
    assert_eq!((&check["messages"], &check["problems"]), (&Value::from(kept), &serde_json::json!([])));
    let whole = sandbox.path("whole.mcap");
    json(&sandbox.run(&["--json", "record", "convert", &output, "-o", &whole]));
    assert_eq!(json(&sandbox.run(&["--json", "record", "check", &whole]))["messages"], kept);
}

/// A file with messages of a publisher, with these numbers.
fn file(sandbox: &Sandbox, name: &str, numbers: impl IntoIterator<Item = u32>) -> String {
    let path = sandbox.path(name);
    let mut writer = Writer::create(path.as_ref(), WriterOptions::default()).unwrap();
    let metadata = [("situ.publisher".to_owned(), "1.1".to_owned())].into();
    let channel = writer.channel(0, "/numbers", "cdr", metadata).unwrap();
    for number in numbers {
        writer.message(channel, number, number.into(), 0, &[0x5a; 100]).unwrap();
    }
    assert!(writer.finish().error.is_none());
    path
}

#[test]
fn check_finds_gaps_and_with_check_sums_damage() {
    let sandbox = Sandbox::new();
    let path = file(&sandbox, "gaps.mcap", [4, 5, 9, 10, 12]);
    let check = sandbox.run(&["record", "check", &path]);
    assert!(text(&check).contains("/numbers: 4 messages were lost when it was recorded"));
    for (options, code) in [(["-z", "none"].as_slice(), 0), (&["--checksums"], 1)] {
        let copy = sandbox.path("copy.mcap");
        let mut arguments = vec!["record", "convert", &path, "-o", &copy, "--overwrite"];
        arguments.extend(options);
        text(&sandbox.run(&arguments));
        let mut bytes = std::fs::read(&copy).unwrap();
        let at = bytes.windows(50).position(|part| part == [0x5a; 50]).unwrap();
        bytes[at + 10] = 0;
        std::fs::write(&copy, bytes).unwrap();
        let check = sandbox.run(&["record", "check", &copy]);
        assert_eq!(check.status.code(), Some(code), "{options:?}: {check:?}");
    }
}

#[test]
fn merge_writes_in_the_order_of_times() {
    let sandbox = Sandbox::new();
    let files = [file(&sandbox, "a.mcap", [1, 4, 6, 7]), file(&sandbox, "b.mcap", [2, 3, 5, 8])];
    let all = sandbox.path("all.mcap");
    text(&sandbox.run(&["record", "merge", &files[0], &files[1], "-o", &all]));
    let reader = Reader::open(&all).unwrap();
    let merged: Vec<Message> = reader.messages(Filter::default()).map(|message| message.unwrap()).collect();
    let times: Vec<u64> = merged.iter().map(|message| message.log_time).collect();
    assert_eq!(times, [1, 2, 3, 4, 5, 6, 7, 8]);
    // In the file itself, too: other programs may read it from its beginning to its end.
    let bytes = std::fs::read(&all).unwrap();
    let heads = bytes.windows(9).enumerate().filter(|(_, head)| *head == [5, 122, 0, 0, 0, 0, 0, 0, 0]);
    let times = heads.map(|(at, _)| bytes[at + 15]);
    assert_eq!(times.collect::<Vec<_>>(), [1, 2, 3, 4, 5, 6, 7, 8]);
}
