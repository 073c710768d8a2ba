//! Options of `situ play`, and its keys on a terminal.

use situ::bus::{Root, inspect};
use situ_record::{Writer, WriterOptions};

use super::common::{Sandbox, json, text};
use super::shown::Shown;
use super::wait_until;

/// The time of the first message, in seconds since 1970.
const BASE: u64 = 1_700_000_000;

/// A file with ten numbers, a second apart.
fn numbers(sandbox: &Sandbox) -> String {
    let path = sandbox.path("numbers.mcap");
    let mut writer = Writer::create(path.as_ref(), WriterOptions::default()).unwrap();
    let schema = writer.schema("demo/msg/Number", "ros2msg", b"uint32 number").unwrap();
    let channel = writer.channel(schema, "/numbers", "cdr", Default::default()).unwrap();
    for number in 0..10_u32 {
        let time = (BASE + u64::from(number)) * 1_000_000_000;
        let data = [vec![0, 1, 0, 0], number.to_le_bytes().to_vec()].concat();
        writer.message(channel, number, time, time, &data).unwrap();
    }
    assert!(writer.finish().error.is_none());
    path
}

#[test]
fn a_part_is_played_and_again_and_again() {
    let sandbox = Sandbox::new();
    let path = numbers(&sandbox);
    let part = ["--json", "play", &path, "--start", "3s", "--end", "7s", "--rate", "100"];
    assert_eq!(json(&sandbox.run(&part))["messages"], 4);
    let mut player = sandbox.spawn(&["--json", "play", &path, "--rate", "1000", "--loop"]);
    wait_until(|| {
        let topic = inspect::topic(&Root::at(sandbox.root(), None), "numbers").unwrap();
        topic.is_some_and(|topic| topic.published > 25)
    });
    assert!(json(&player.interrupt())["messages"].as_u64() > Some(25));
}

#[test]
fn the_clock_is_that_of_the_file() {
    let sandbox = Sandbox::new();
    let path = numbers(&sandbox);
    let _player = sandbox.spawn(&["play", &path, "--rate", "0.001", "--clock=50"]);
    sandbox.wait_for_topic("clock");
    let echo = sandbox.run(&["--json", "topic", "echo", "clock", "-n", "1", "--timeout", "30"]);
    let message: serde_json::Value = serde_json::from_str(text(&echo).lines().next().unwrap()).unwrap();
    assert_eq!(message["message"]["clock"]["sec"], BASE);
}

#[test]
fn keys_control_it() {
    let sandbox = Sandbox::new();
    let path = numbers(&sandbox);
    let mut shown = Shown::start(&sandbox, 120, &["play", &path, "--paused", "--rate", "0.001"]);
    let mut expect = |keys: &str, line: &str| {
        shown.press(keys);
        // One line, which begins at the left.
        shown.lines(|lines| matches!(lines, [only] if only.starts_with(line)));
    };
    expect("", "paused 0 ns of 9.00 s, 0 messages, speed 0.00");
    expect("n", "paused 0 ns of 9.00 s, 1 messages, speed");
    expect("n", "paused 1.00 s of 9.00 s, 2 messages, speed");
    expect("\x1b[C", "paused 6.00 s of 9.00 s, 2 messages, speed");
    expect("n", "paused 6.00 s of 9.00 s, 3 messages, speed");
    expect("\x1b[D", "paused 1.00 s of 9.00 s, 3 messages, speed");
    expect("\x1b[D", "paused 0 ns of 9.00 s, 3 messages, speed");
    expect("\x1b[C\x1b[C\x1b[C", "paused 9.00 s of 9.00 s, 3 messages, speed");
    expect("\x1b[D", "paused 4.00 s of 9.00 s, 3 messages, speed");
    drop(shown);
    let mut shown = Shown::start(&sandbox, 120, &["play", &path, "--paused", "--rate", "0.5"]);
    let mut expect = |keys: &str, line: &str| {
        shown.press(keys);
        shown.lines(|lines| matches!(lines, [only] if only.starts_with(line)));
    };
    expect("", "paused 0 ns of 9.00 s, 0 messages, speed 0.50");
    expect("+", "paused 0 ns of 9.00 s, 0 messages, speed 0.62");
    expect("--", "paused 0 ns of 9.00 s, 0 messages, speed 0.40");
    expect(" ", "playing");
    expect(" ", "paused");
    shown.press("q");
    assert!(shown.end().success());
    // Ctrl-C ends it, too.
    let mut shown = Shown::start(&sandbox, 120, &["play", &path, "--paused"]);
    shown.lines(|lines| lines.iter().any(|line| line.starts_with("paused")));
    shown.press("\x03");
    assert!(shown.end().success());
}
