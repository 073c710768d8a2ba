//! Traces as a user sees them: two unaware programs, a recorder in a third, and the content of the file as
//! other implementations read it.

mod common;
#[path = "../../situ-trace/tests/track_event/perfetto.rs"]
mod perfetto;
#[path = "../../situ-trace/tests/track_event/rules.rs"]
mod rules;
#[path = "../../situ-trace/tests/track_event/strict.rs"]
mod strict;

use std::io::{BufRead, BufReader, Read};
use std::process::ChildStdout;
use std::time::Duration;

use common::{Process, Sandbox, json, text};
use perfetto::Value;
use rules::Checked;

const POSE: &str = "module demo { @flat struct Pose { double x; }; };";
const TIMEOUT: Duration = Duration::from_secs(20);

/// A publisher of poses, a hundred a second, and a subscriber that takes them.
fn talk(sandbox: &Sandbox) -> ([Process; 2], BufReader<ChildStdout>) {
    let schema = sandbox.file("types.idl", POSE);
    let publisher = sandbox.spawn(&[
        "topic",
        "pub",
        "pose",
        "demo::Pose",
        "{x: 1.5}",
        "--schema",
        &schema,
        "--rate",
        "100",
    ]);
    sandbox.wait_for_topic("pose");
    let mut taker = sandbox.spawn(&["--json", "topic", "echo", "pose"]);
    // It is ready once it has taken one message.
    let mut output = BufReader::new(taker.take_stdout());
    output.read_line(&mut String::new()).unwrap();
    // The output must stay open: without a reader, the subscriber would exit.
    ([publisher, taker], output)
}

/// Starts a recorder and waits until it records.
fn record(sandbox: &Sandbox, arguments: &[&str]) -> Process {
    let mut recorder = sandbox.spawn(&[&["trace", "record"], arguments].concat());
    let mut line = String::new();
    BufReader::new(recorder.take_stdout()).read_line(&mut line).unwrap();
    assert!(line.starts_with("recording into"), "{line}");
    recorder
}

#[test]
fn a_message_can_be_followed_from_one_process_to_the_other() {
    let sandbox = Sandbox::new();
    let file = sandbox.path("run.pftrace");
    let _talk = talk(&sandbox);
    let recorded = json(&sandbox.run(&["--json", "trace", "record", "-o", &file, "--duration", "500ms"]));
    assert_eq!(recorded["file"], file);
    assert_eq!(recorded["lost"], 0, "{recorded}");
    assert_eq!(recorded["processes"].as_array().unwrap().len(), 2, "{recorded}");

    let trace = Checked::read(&std::fs::read(&file).unwrap());
    assert_eq!((trace.losses, trace.processes.len()), (0, 2));
    let (published, taken) = (trace.named("publish pose"), trace.named("take pose"));
    assert!(published.len() > 5 && taken.len() > 5, "{} {}", published.len(), taken.len());
    let mut arrows = 0;
    for taken in &taken {
        assert_eq!(taken.flows.len(), 1);
        let Some(published) = published.iter().find(|it| it.flows == taken.flows) else { continue };
        arrows += 1;
        assert!(published.begin <= taken.begin);
        assert_eq!(published.arguments, taken.arguments, "number and bytes");
        assert!(matches!(published.arguments[1], (_, Value::Uint(8))), "{:?}", published.arguments);
        let process = |track: u64| trace.processes[&trace.threads[&track].3].0;
        assert_ne!(process(published.track), process(taken.track));
    }
    assert!(arrows > 5, "{arrows}");
    assert!(trace.named("wait for pose").len() > 5);

    let view = json(&sandbox.run(&["--json", "trace", "view", &file]));
    let topic = &view["topics"][0];
    assert_eq!(topic["topic"], "pose");
    // The view also counts publications and takes in progress when the recording ended: at most one of each.
    let measured = topic["measured"].as_u64().unwrap();
    assert!((arrows..=arrows + 2).contains(&measured), "{measured} measured, {arrows} whole");
    assert!(
        topic["p50_ns"].as_u64() > Some(0) && topic["p99_ns"].as_u64() >= topic["p50_ns"].as_u64(),
        "{topic}"
    );
    let svg = sandbox.path("run.svg");
    let shown = text(&sandbox.run(&["trace", "view", &file, "--svg", &svg]));
    for expected in ["Messages, from publisher to subscriber", "publish pose", "queue of pose #0"] {
        assert!(shown.contains(expected), "{expected} in {shown}");
    }
    assert!(shown.lines().all(|line| line.chars().count() <= 100 || line.starts_with("Picture")), "{shown}");
    let svg = std::fs::read_to_string(&svg).unwrap();
    assert!(svg.starts_with("<svg") && svg.contains("publish pose → take pose"));
}

/// In a picture, each row of a process has a name of its own, and messages of both topics have arrows.
#[test]
fn rows_of_a_picture_can_be_told_apart() {
    let sandbox = Sandbox::new();
    let (file, svg) = (sandbox.path("run.pftrace"), sandbox.path("run.svg"));
    let schema = sandbox.file("types.idl", POSE);
    let topics = ["robot/sensors/front/left/pose", "robot/sensors/front/right/pose"];
    let publish = |topic: &str| {
        let command = ["topic", "pub", topic, "demo::Pose", "{x: 1.5}", "--schema", &schema, "--rate", "100"];
        let publisher = sandbox.spawn(&command);
        sandbox.wait_for_topic(topic);
        publisher
    };
    let _publishers = topics.map(publish);
    let mut taker = sandbox.spawn(&["--json", "topic", "echo", topics[0], topics[1]]);
    let mut output = BufReader::new(taker.take_stdout());
    output.read_line(&mut String::new()).unwrap();
    text(&sandbox.run(&["trace", "record", "-o", &file, "--duration", "500ms"]));
    text(&sandbox.run(&["trace", "view", &file, "--svg", &svg]));
    let svg = std::fs::read_to_string(&svg).unwrap();
    for topic in topics {
        let arrow = format!("<title>publish {topic} → take {topic}</title>");
        assert!(svg.contains(&arrow), "{arrow}");
    }
    // Headings of processes are bold, and rows are indented: `<text x="16" y="74.0" …>name<`.
    let texts = svg.split("<text ").skip(1).filter(|text| !text.contains("text-anchor"));
    let mut rows: Vec<(f64, bool, &str)> = texts
        .filter(|text| text.starts_with("x=\"8\" ") || text.starts_with("x=\"16\" "))
        .map(|text| {
            let y = text.split('"').nth(3).unwrap().parse().unwrap();
            (y, text.contains("bold"), text.split(['>', '<']).nth(1).unwrap())
        })
        .collect();
    rows.sort_by(|one, other| one.0.total_cmp(&other.0));
    let processes: Vec<_> = rows.split(|(_, is_heading, _)| *is_heading).skip(1).collect();
    assert_eq!(processes.len(), 3, "{rows:?}");
    let mut queues = 0;
    for process in processes {
        let mut labels: Vec<&str> = process.iter().map(|(.., label)| *label).collect();
        queues += labels.iter().filter(|label| label.starts_with("queue of robot")).count();
        labels.sort_unstable();
        labels.dedup();
        assert!(labels.len() >= 2 && labels.len() == process.len(), "{process:?}");
    }
    assert_eq!(queues, 2);
}

#[test]
fn a_recording_ends_by_ctrl_c_and_by_stop() {
    let sandbox = Sandbox::new();
    let file = sandbox.path("run.pftrace");
    assert_eq!(sandbox.run(&["trace", "stop"]).status.code(), Some(3), "there is no recording");
    let _talk = talk(&sandbox);
    for by_stop in [false, true] {
        let mut recorder = record(&sandbox, &["-o", &file]);
        let busy = sandbox.run(&["trace", "record", "-o", &sandbox.path("other.pftrace")]);
        assert_eq!(busy.status.code(), Some(1));
        let complaint = String::from_utf8_lossy(&busy.stderr).into_owned();
        assert!(complaint.contains("situ trace stop"), "{complaint}");
        std::thread::sleep(Duration::from_millis(200));
        let ended = if by_stop {
            text(&sandbox.run(&["trace", "stop"]));
            recorder.wait(TIMEOUT)
        } else {
            recorder.interrupt()
        };
        assert!(ended.status.success(), "Ctrl-C is a normal end of a recording: {ended:?}");
        let trace = Checked::read(&std::fs::read(&file).unwrap());
        assert!(!trace.named("publish pose").is_empty(), "the file is whole");
        std::fs::remove_file(&file).unwrap();
    }
}

#[test]
fn categories_that_are_not_selected_are_not_recorded() {
    let sandbox = Sandbox::new();
    let file = sandbox.path("run.pftrace");
    let _talk = talk(&sandbox);
    let arguments = ["--json", "trace", "record", "-o", &file, "--duration", "200ms", "--category", "-bus"];
    sandbox.run(&arguments);
    let trace = Checked::read(&std::fs::read(&file).unwrap());
    assert_eq!(trace.events, []);
}

#[test]
fn a_file_that_is_not_a_trace_is_reported() {
    let sandbox = Sandbox::new();
    assert_eq!(sandbox.run(&["trace", "view", "/nonexistent"]).status.code(), Some(3));
    let text = sandbox.file("text", "this is not a trace");
    let output = sandbox.run(&["trace", "view", &text]);
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stderr).contains("is not a trace"));
    assert_eq!(sandbox.run(&["trace", "record", "--duration", "soon"]).status.code(), Some(2));
}

#[test]
fn damaged_trace_memory_is_reported() {
    let sandbox = Sandbox::new();
    let file = sandbox.path("run.pftrace");
    let mut recorder = sandbox.spawn(&["trace", "record", "-o", &file]);
    let mut output = BufReader::new(recorder.take_stdout());
    output.read_line(&mut String::new()).unwrap();
    let sessions = std::fs::read_dir(format!("{}/trace", sandbox.root())).unwrap();
    let session = sessions.map(|entry| entry.unwrap().path()).find(|path| path.is_dir()).unwrap();
    std::fs::write(session.join("0000000000000001.ring"), b"no ring").unwrap();
    // The recorder looks for new rings when a program arrives.
    let _talk = talk(&sandbox);
    assert!(sandbox.run(&["trace", "stop"]).status.success());
    let mut report = String::new();
    output.read_to_string(&mut report).unwrap();
    assert!(
        report.contains("0000000000000001.ring: the rest of its trace memory was not read: "),
        "{report}"
    );
    assert_eq!(json(&sandbox.run(&["--json", "trace", "view", &file]))["damaged"], 1);
    let view = text(&sandbox.run(&["trace", "view", &file]));
    assert!(view.contains("1 times the trace memory of a program was damaged"), "{view}");
}

/// The picture and the lines of a flame graph, of a program that publishes.
#[test]
fn a_flame_graph_shows_where_time_went() {
    let sandbox = Sandbox::new();
    let (file, svg) = (sandbox.path("run.pftrace"), sandbox.path("run.svg"));
    let _talk = talk(&sandbox);
    text(&sandbox.run(&["trace", "record", "-o", &file, "--duration", "300ms"]));
    let drawn = json(&sandbox.run(&["--json", "trace", "flame", &file, "-o", &svg]));
    let stacks = drawn["stacks"].as_array().unwrap();
    let total: u64 = stacks.iter().map(|stack| stack["self_ns"].as_u64().unwrap()).sum();
    assert_eq!((drawn["total_ns"].as_u64(), drawn["left_out"].as_u64()), (Some(total), Some(0)));
    let picture = std::fs::read_to_string(&svg).unwrap();
    for slice in ["publish pose", "take pose", "wait for pose"] {
        // Below its process and its thread.
        let is_it = |frames: &serde_json::Value| {
            frames.as_array().is_some_and(|frames| frames.len() > 2 && frames.last().unwrap() == slice)
        };
        assert!(stacks.iter().any(|stack| is_it(&stack["frames"])), "{slice}: {drawn}");
        assert!(picture.contains(&format!("<title>{slice}: ")), "{slice}");
    }
    let merged = text(&sandbox.run(&["trace", "flame", &file, "--folded", "--merge"]));
    let line = merged.lines().find(|line| line.starts_with("publish pose ")).unwrap();
    let nanoseconds: u64 = line.rsplit(' ').next().unwrap().parse().unwrap();
    // The summary counts slices with those within them.
    let view = json(&sandbox.run(&["--json", "trace", "view", &file, "--most", "0"]));
    let of_view = view["slices"].as_array().unwrap().iter().find(|it| it["name"] == "publish pose").unwrap();
    let longest = of_view["total_ns"].as_u64().unwrap();
    assert!(nanoseconds > 0 && nanoseconds <= longest, "{nanoseconds} of {longest}");
    let nothing = sandbox.run(&["trace", "flame", &file, "--from", "1h"]);
    assert!(String::from_utf8_lossy(&nothing.stderr).contains("has no slices in this part"));
}

/// A trigger of another terminal writes a ring into a file, as often as wanted; then the recording ends.
#[test]
fn a_trigger_of_a_terminal_writes_the_newest_events() {
    let sandbox = Sandbox::new();
    let file = sandbox.path("run.pftrace");
    let trigger = |event: &str| sandbox.run(&["trace", "trigger", event]);
    let alone = trigger("gripped");
    assert_eq!(alone.status.code(), Some(3));
    assert!(String::from_utf8_lossy(&alone.stderr).contains("no trace is being recorded"), "{alone:?}");
    let _talk = talk(&sandbox);
    let arguments = ["-o", &file, "--ring", "4MiB", "--trigger", "grip*", "--after", "50ms", "--files", "2"];
    let mut recorder = record(&sandbox, &arguments);
    let (one, two) = (sandbox.path("run-1.pftrace"), sandbox.path("run-2.pftrace"));
    assert_eq!(text(&trigger("let go")), "`let go` is in the trace.\n");
    std::thread::sleep(Duration::from_millis(200));
    assert!(!std::path::Path::new(&one).exists(), "another event fires no trigger");
    assert_eq!(json(&sandbox.run(&["--json", "trace", "trigger", "gripped"]))["event"], "gripped");
    for path in [&one, &two] {
        let begin = std::time::Instant::now();
        while !std::path::Path::new(path).exists() {
            assert!(begin.elapsed() < TIMEOUT, "{path}");
            std::thread::sleep(Duration::from_millis(10));
        }
        if path == &one {
            text(&trigger("gripped again"));
        }
    }
    assert!(recorder.wait(TIMEOUT).status.success(), "it ends by itself after two files");
    for (path, name) in [(&one, "gripped"), (&two, "gripped again")] {
        let trace = Checked::read(&std::fs::read(path).unwrap());
        let mut moments = trace.events.iter().filter(|event| event.name == name);
        let moment = moments.next().unwrap_or_else(|| panic!("{name} in {path}"));
        assert_eq!((moment.category.as_str(), moments.next()), ("trigger", None));
        let published = trace.named("publish pose");
        assert!(published.iter().any(|it| it.begin < moment.at), "what was before it");
        assert!(published.iter().any(|it| it.begin > moment.at), "and 50 ms after it");
    }
}

#[test]
fn a_trigger_that_is_not_recorded_or_does_not_fire_is_reported() {
    let sandbox = Sandbox::new();
    let file = sandbox.path("run.pftrace");
    let mut recorder = record(&sandbox, &["-o", &file, "--category", "bus"]);
    let refused = sandbox.run(&["trace", "trigger", "gripped"]);
    let said = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(!refused.status.success() && said.contains("--category trigger"), "{said}");
    assert!(recorder.interrupt().status.success());
    std::fs::remove_file(&file).unwrap();
    let arguments = ["-o", &file, "--ring", "1MiB", "--trigger", "never", "--duration", "200ms"];
    let ended = text(&sandbox.run(&[&["trace", "record"], &arguments[..]].concat()));
    assert!(ended.contains("No event fired the trigger, so nothing was written."), "{ended}");
    assert!(!std::path::Path::new(&file).exists());
    // A trigger needs a ring, and at least one file.
    for arguments in [&["--trigger", "a"][..], &["--ring", "1MiB", "--trigger", "a", "--files", "0"]] {
        let output = sandbox.run(&[&["trace", "record", "-o", &file], arguments].concat());
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
    }
}
