//! Commands in a terminal of their own, of several widths.

#[allow(dead_code, reason = "not every test file needs everything")]
mod common;

use std::fs::{File, OpenOptions};
use std::io::Read;
use std::process::{Child, Command};
use std::time::{Duration, Instant};

use common::Sandbox;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};

fn size(columns: u16) -> Winsize {
    Winsize { ws_row: 24, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 }
}

/// A terminal with 24 lines: the test's end, and the program's.
fn terminal(columns: u16) -> (File, File) {
    let ours = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC).unwrap();
    grantpt(&ours).unwrap();
    unlockpt(&ours).unwrap();
    tcsetwinsize(&ours, size(columns)).unwrap();
    let path = ptsname(&ours, Vec::new()).unwrap().into_string().unwrap();
    let theirs = OpenOptions::new().read(true).write(true).open(path).unwrap();
    (ours.into(), theirs)
}

/// Starts the command in a new session, like a shell in a window: it then learns of new sizes, and when the
/// window is closed, reads from the terminal fail.
fn start(sandbox: &Sandbox, theirs: File, arguments: &[&str]) -> Child {
    let mut command = Command::new("setsid");
    command.args(["--ctty", env!("CARGO_BIN_EXE_situ"), "--root", sandbox.root()]).args(arguments);
    command.env_remove("SITU_GROUP").env("NO_COLOR", "1");
    command.stdin(theirs.try_clone().unwrap()).stdout(theirs.try_clone().unwrap()).stderr(theirs);
    command.spawn().unwrap()
}

/// A program in a terminal, which shows what a person would see.
struct Shown {
    ours: File,
    parser: vt100::Parser,
    child: Child,
}

impl Shown {
    fn start(sandbox: &Sandbox, columns: u16, arguments: &[&str]) -> Self {
        let (ours, theirs) = terminal(columns);
        let child = start(sandbox, theirs, arguments);
        Self { ours, parser: vt100::Parser::new(24, columns, 0), child }
    }

    fn resize(&mut self, columns: u16) {
        self.parser.screen_mut().set_size(24, columns);
        tcsetwinsize(&self.ours, size(columns)).unwrap();
    }

    /// The lines that are not empty, once they are what the test waits for.
    fn lines(&mut self, is_there: impl Fn(&[String]) -> bool) -> Vec<String> {
        let begin = Instant::now();
        let mut chunk = [0; 4096];
        loop {
            let text = self.parser.screen().contents();
            let lines: Vec<String> =
                text.lines().map(|line| line.trim_end().to_owned()).filter(|line| !line.is_empty()).collect();
            if is_there(&lines) {
                return lines;
            }
            assert!(begin.elapsed() < Duration::from_secs(20), "the screen shows:\n{text}");
            let second = Timespec { tv_sec: 1, tv_nsec: 0 };
            if poll(&mut [PollFd::new(&self.ours, PollFlags::IN)], Some(&second)).unwrap() > 0 {
                let count = self.ours.read(&mut chunk).unwrap();
                self.parser.process(&chunk[..count]);
            }
        }
    }
}

impl Drop for Shown {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

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
