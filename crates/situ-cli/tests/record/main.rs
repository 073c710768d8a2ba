//! `situ record`, `situ play` and `situ flashback`, and files of independent programs.

#[path = "../common/mod.rs"]
mod common;
mod flashback;
mod options;
mod play;
#[allow(dead_code, reason = "not every test file needs everything")]
#[path = "../common/shown.rs"]
mod shown;

use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

use common::{Sandbox, json, text};
use rustix::process::Signal;
use serde_json::Value;
use situ::bus::{Encoding, Node, PublisherQos, RawPublisher, Root, TypeDescription, inspect};
use situ_schema::model::TypeId;
use situ_schema::{Schema, dynamic};

const IDL: &str = "module nav_demo { module msg {
    struct Path { string name; unsigned long number; sequence<geometry_msgs::msg::Point> points; sequence<uint8> raw; };
    @flat struct Pose { double x; unsigned long number; boolean ok; };
    @flat struct Mixed { unsigned short number; string<10> name; @bulk sequence<float> points; };
}; };";
const POINT: &str =
    "module geometry_msgs { module msg { struct Point { double x; double y; double z; }; }; };";

/// Time enough for a loaded machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// A publisher of messages that are written as YAML.
struct Sensor {
    topic: String,
    place: Root,
    schema: Schema,
    root: TypeId,
    publisher: RawPublisher,
}

impl Sensor {
    fn new(sandbox: &Sandbox, topic: &str, name: &str) -> Self {
        let schema = Schema::from_idl(&format!("{POINT}\n{IDL}")).unwrap();
        let root = schema.find(name).unwrap();
        let flat = schema.is_flat(root);
        let description = TypeDescription {
            name: name.to_owned(),
            schema: schema.canonical(root),
            schema_hash: schema.schema_hash(root),
            layout_hash: if flat { schema.layout_hash(root) } else { 0 },
            encoding: if flat { Encoding::Flat } else { Encoding::Xcdr1 },
            fixed_size: 0,
            user_header_size: 0,
        };
        let place = Root::at(sandbox.root(), None);
        let node = Node::in_root("sensor", place.clone()).unwrap();
        let publisher = RawPublisher::create(&node, topic, &description, PublisherQos::default()).unwrap();
        Self { topic: topic.to_owned(), place, schema, root, publisher }
    }

    /// The same, once there is a subscriber.
    fn joined(sandbox: &Sandbox, topic: &str, name: &str) -> Self {
        let sensor = Self::new(sandbox, topic, name);
        wait_until(|| sensor.publisher.subscribers() > 0);
        sensor
    }

    fn publish(&self, message: &str) {
        let (schema, root) = (&self.schema, self.root);
        let value = dynamic::from_text(schema, root, message).unwrap();
        let (head, body) = if schema.is_flat(root) {
            let message = dynamic::to_flat(schema, root, &value).unwrap();
            (message.head, message.body)
        } else {
            (Vec::new(), dynamic::to_cdr(schema, root, &value, situ_wire::Encoding::Xcdr1).unwrap())
        };
        let mut loan = self.publisher.loan(head.len(), 8, body.len()).unwrap();
        loan.head_bytes().copy_from_slice(&head);
        loan.body_bytes().copy_from_slice(&body);
        loan.publish().unwrap();
    }

    /// Waits until the subscribers have taken all messages.
    fn wait_for_takes(&self) {
        wait_until(|| {
            let info = inspect::topic(&self.place, &self.topic).unwrap().unwrap();
            info.subscribers.iter().all(|subscriber| subscriber.behind == 0)
        });
    }
}

/// Publishes messages that are written as YAML, and waits until a subscriber has taken them.
fn publish(sandbox: &Sandbox, topic: &str, name: &str, messages: &[&str]) {
    let sensor = Sensor::joined(sandbox, topic, name);
    messages.iter().for_each(|message| sensor.publish(message));
    sensor.wait_for_takes();
}

fn wait_until(mut is_true: impl FnMut() -> bool) {
    let begin = Instant::now();
    while !is_true() {
        assert!(begin.elapsed() < PATIENCE);
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Records three topics, and returns the path of the file.
fn recorded(sandbox: &Sandbox) -> String {
    let path = sandbox.path("all.mcap");
    let mut recorder = sandbox.spawn(&["--json", "record", "-a", "-o", &path, "--meta", "driver=ada"]);
    let paths =
        ["{name: one, number: 1, points: [{x: 1, y: 2, z: 3}], raw: [1, 2]}", "{name: '', number: 2}"];
    publish(sandbox, "path", "nav_demo::msg::Path", &paths);
    publish(sandbox, "pose", "nav_demo::msg::Pose", &["{x: 0.5, number: 7, ok: true}"]);
    publish(sandbox, "mixed", "nav_demo::msg::Mixed", &["{number: 9, name: cloud, points: [1.5, -2, 3]}"]);
    let report: Value = serde_json::from_slice(&recorder.end_by(&[Signal::INT]).stdout).unwrap();
    assert_eq!((&report["messages"], &report["lost"]), (&Value::from(4), &Value::from(0)), "{report}");
    path
}

#[test]
fn a_recording_is_shown_checked_and_played() {
    let sandbox = Sandbox::new();
    let path = recorded(&sandbox);
    let info = json(&sandbox.run(&["--json", "record", "info", &path]));
    assert_eq!((&info["profile"], &info["complete"]), (&Value::from("ros2"), &Value::from(true)));
    assert_eq!(info["metadata"]["situ"]["driver"], "ada");
    let topics: Vec<&str> =
        info["channels"].as_array().unwrap().iter().map(|it| it["topic"].as_str().unwrap()).collect();
    assert_eq!(topics, ["/mixed", "/path", "/pose"]);
    let shown = text(&sandbox.run(&["record", "info", &path]));
    assert!(shown.contains("nav_demo/msg/Path") && shown.lines().all(|line| line.chars().count() <= 100));
    assert!(text(&sandbox.run(&["record", "check", &path])).contains("4 messages"));
    // A part, compressed, and a file that ends in its middle.
    let part = sandbox.path("part.mcap");
    let cut = sandbox.run(&["record", "cut", &path, "--topic", "path", "-z", "zstd", "-o", &part]);
    assert!(text(&cut).contains("2 messages"));
    let bytes = std::fs::read(&path).unwrap();
    let broken = sandbox.path("broken.mcap");
    std::fs::write(&broken, &bytes[..bytes.len() - 50]).unwrap();
    let check = sandbox.run(&["record", "check", &broken]);
    assert_eq!(check.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&check.stdout).contains("not finished"));
    let whole = sandbox.path("whole.mcap");
    assert!(text(&sandbox.run(&["record", "convert", &broken, "-o", &whole])).contains("4 messages"));
    // An existing file stays, and a wrong name is a wrong name.
    assert_eq!(sandbox.run(&["record", "merge", &part, &whole, "-o", &whole]).status.code(), Some(1));
    assert_eq!(sandbox.run(&["record", "info", "nowhere.mcap"]).status.code(), Some(3));
    assert_eq!(sandbox.run(&["record", "-o", "x.mcap"]).status.code(), Some(2));
    play(&sandbox, &whole, "path", &["one", ""].map(|name| ("name", Value::from(name))));
    play(&sandbox, &whole, "mixed", &[("name", Value::from("cloud"))]);
    play(&sandbox, &whole, "pose", &[("number", Value::from(7))]);
}

/// Plays a topic, and checks a member of each message that `echo` prints.
fn play(sandbox: &Sandbox, path: &str, topic: &str, expected: &[(&str, Value)]) {
    let mut player = sandbox.spawn(&["play", path, "--topic", topic, "--wait", "30", "--rate", "100"]);
    let begin = Instant::now();
    while !text(&sandbox.run(&["topic", "list"])).contains(topic) {
        assert!(begin.elapsed() < PATIENCE && !player.has_ended());
        std::thread::sleep(Duration::from_millis(20));
    }
    let count = expected.len().to_string();
    let echo = sandbox.run(&["--json", "topic", "echo", topic, "-n", &count, "--timeout", "30"]);
    let lines = text(&echo);
    let messages: Vec<Value> = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    for (message, (name, value)) in messages.iter().zip(expected) {
        assert_eq!(&message["message"][name], value, "{message}");
    }
    assert_eq!(messages.len(), expected.len());
    assert!(player.wait(PATIENCE).status.success());
}

/// Python with the independent readers, if they are installed.
fn python() -> Option<(String, PathBuf)> {
    let python = std::env::var("SITU_TEST_PYTHON").ok();
    let has = |python: &String| {
        let check = Command::new(python).args(["-c", "import mcap, mcap_ros2, rosbags"]).output();
        check.is_ok_and(|output| output.status.success())
    };
    let script = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../tests/interop/mcap_files.py");
    match python.filter(has) {
        Some(python) => Some((python, script)),
        None => {
            println!("skipped: SITU_TEST_PYTHON names no Python with mcap, mcap-ros2-support and rosbags");
            None
        }
    }
}

fn run_python(arguments: &[&str]) -> Option<Vec<Value>> {
    let (python, script) = python()?;
    let output = Command::new(python).arg(script).args(arguments).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).unwrap();
    Some(text.lines().map(|line| serde_json::from_str(line).unwrap()).collect())
}

#[test]
fn other_programs_read_what_is_recorded() {
    let sandbox = Sandbox::new();
    let path = recorded(&sandbox);
    let small = sandbox.path("small.mcap");
    text(&sandbox.run(&["record", "convert", &path, "-z", "lz4", "-o", &small]));
    for path in [&path, &small] {
        let Some(lines) = run_python(&["read", path]) else { return };
        let of = |by: &str, topic: &str| -> Vec<&Value> {
            lines.iter().filter(|line| line["by"] == by && line["topic"] == topic).collect()
        };
        assert_eq!(lines.iter().filter(|line| line["by"] == "mcap").count(), 4);
        for by in ["mcap_ros2", "rosbags"] {
            let paths = of(by, "/path");
            assert_eq!(paths.len(), 2, "{by}");
            let one = &paths[0]["message"];
            assert_eq!((&one["name"], &one["number"]), (&Value::from("one"), &Value::from(1)));
            assert_eq!((&one["points"][0]["y"], &one["raw"][1]), (&Value::from(2.0), &Value::from(2)));
            let pose = &of(by, "/pose")[0]["message"];
            assert_eq!((&pose["x"], &pose["number"], &pose["ok"]), (&0.5.into(), &7.into(), &true.into()));
        }
        let mixed = &of("rosbags", "/mixed")[0]["message"];
        assert_eq!((&mixed["number"], &mixed["name"]), (&Value::from(9), &Value::from("cloud")));
        assert_eq!(mixed["points"], serde_json::json!([1.5, -2.0, 3.0]));
    }
}

#[test]
fn files_of_other_programs_are_played() {
    let sandbox = Sandbox::new();
    let path = sandbox.path("theirs.mcap");
    if run_python(&["write", &path]).is_none() {
        return;
    }
    let names = [0, 1, 2, 3, 4].map(|number| ("name", Value::from(format!("path {number}"))));
    play(&sandbox, &path, "path", &names);
    let folder = sandbox.path("bag");
    run_python(&["bag", &folder]);
    let file = std::fs::read_dir(&folder).unwrap().flatten().map(|entry| entry.path());
    let file = file.into_iter().find(|path| path.extension().is_some_and(|it| it == "mcap")).unwrap();
    let words = [0, 1, 2, 3, 4].map(|number| ("data", Value::from(format!("hello {number}"))));
    play(&sandbox, file.to_str().unwrap(), "chatter", &words);
}
