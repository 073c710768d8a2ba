//! `situ bridge`, as a user sees it.

mod common;

use std::io::{BufRead, BufReader};
use std::time::{Duration, Instant};

use common::{Sandbox, json, text};
use serde_json::Value;

const POSE: &str = "module demo { @flat struct Pose { double x; }; };";
/// Time enough for a loaded machine.
const PATIENCE: Duration = Duration::from_secs(60);

fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let end = Instant::now() + PATIENCE;
    while !is_so() {
        assert!(Instant::now() < end, "{what}: not within {PATIENCE:?}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// The living publishers of a topic; `None` without the topic.
fn publishers(sandbox: &Sandbox, topic: &str) -> Option<u64> {
    let list = json(&sandbox.run(&["--json", "topic", "list"]));
    let topics = list["topics"].as_array().unwrap();
    topics.iter().find(|it| it["name"] == topic).and_then(|it| it["publishers"].as_u64())
}

#[test]
fn a_topic_of_another_machine_is_seen_and_its_end_too() {
    let (here, there) = (Sandbox::new(), Sandbox::new());
    let schema = here.file("pose.idl", POSE);
    let mut one = here.spawn(&["--json", "bridge", "--no-multicast", "-l", "tcp/127.0.0.1:0"]);
    let mut lines = BufReader::new(one.take_stdout()).lines();
    let first: Value = serde_json::from_str(&lines.next().unwrap().unwrap()).unwrap();
    let endpoint = first["listen"][0].as_str().unwrap().to_owned();
    std::thread::spawn(move || lines.for_each(drop));
    let mut other = there.spawn(&["bridge", "--no-multicast", "-c", &endpoint, "-x", "hidden"]);
    let publish = |topic| {
        here.spawn(&["topic", "pub", topic, "demo::Pose", "{x: 1.5}", "--schema", &schema, "--rate", "20"])
    };
    let (_shown, _hidden) = (publish("pose"), publish("hidden"));
    until("the topic of the other machine", || publishers(&there, "pose") == Some(1));
    assert_eq!(text(&there.run(&["topic", "echo", "pose", "-n", "1"])), "x: 1.5\n---\n");
    assert_eq!(publishers(&there, "hidden"), None);
    // A bridge that is killed is seen as the end of its publishers.
    one.kill();
    until("no publisher", || publishers(&there, "pose").unwrap_or(0) == 0);
    let ended = other.interrupt();
    assert!(ended.status.success(), "{ended:?}");
    let said = String::from_utf8_lossy(&ended.stdout).into_owned();
    assert!(said.starts_with("bridge of domain 0, listening on ") && said.contains("\nbridges: "), "{said}");
}

#[test]
fn a_bridge_to_which_anyone_may_connect_warns() {
    let sandbox = Sandbox::new();
    let said = |endpoint: &str, more: &[&str]| {
        let arguments = [&["bridge", "--no-multicast", "-l", endpoint, "--duration", "1ms"], more].concat();
        let output = sandbox.run(&arguments);
        assert!(output.status.success(), "{output:?}");
        String::from_utf8_lossy(&output.stderr).into_owned()
    };
    let open = said("tcp/0.0.0.0:0", &[]);
    for words in ["every machine that reaches tcp/", "-l tcp/127.0.0.1:7447", "--config", "Past one machine"]
    {
        assert!(open.contains(words), "{open}");
    }
    assert_eq!(said("tcp/127.0.0.1:0", &[]), "");
    let rules = "{ access_control: { enabled: true, default_permission: \"deny\",
        rules: [{ id: \"all\", permission: \"allow\", messages: [\"put\"], flows: [\"egress\", \"ingress\"],
                  key_exprs: [\"**\"] }],
        subjects: [{ id: \"any\" }], policies: [{ rules: [\"all\"], subjects: [\"any\"] }] } }";
    let rules = sandbox.file("zenoh.json5", rules);
    assert_eq!(said("tcp/0.0.0.0:0", &["--config", &rules]), "");
}

#[test]
fn mistakes_are_told() {
    let sandbox = Sandbox::new();
    let rules = sandbox.file("rules.toml", "[[rule]]\ntopics = [\"a\"]\ndirection = \"up\"\n");
    for (arguments, code, words) in [
        (["bridge", "-c", "nonsense"], 2, "connect/endpoints"),
        (["bridge", "--config", "/nowhere"], 2, "no configuration of Zenoh"),
        (["bridge", "--rules", &rules], 2, "both, out, in or neither, not \"up\""),
        (["bridge", "--rules", "/nowhere"], 1, "cannot read /nowhere"),
        (["bridge", "--rate", "camera"], 2, "expected PATTERN=VALUE"),
    ] {
        let output = sandbox.run(&arguments);
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.code() == Some(code) && error.contains(words), "{arguments:?}: {error}");
    }
}
