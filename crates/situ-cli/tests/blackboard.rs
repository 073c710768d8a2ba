//! `situ blackboard` as a user sees it.

mod common;

use std::io::{BufRead, BufReader};
use std::time::Duration;

use common::{Sandbox, json, text};
use serde_json::{Value, json};
use situ::bus::{Encoding, Node, RawBlackboardWriter, Root, TypeDescription};
use situ_schema::{Format, Loader};

const TYPES: &str = "module demo { @flat struct Limit { double most; boolean active; }; };";

/// A limit as bytes: a number, a flag, and seven bytes behind it.
fn limit(most: f64, active: bool) -> [u8; 16] {
    let mut bytes = [0; 16];
    bytes[..8].copy_from_slice(&most.to_le_bytes());
    bytes[8] = u8::from(active);
    bytes
}

fn writer(sandbox: &Sandbox) -> RawBlackboardWriter {
    let schema = Loader::new().sealed().text("demo.idl", TYPES, Format::Idl).load().unwrap();
    let id = schema.find("demo::Limit").unwrap();
    let description = TypeDescription {
        name: "demo::Limit".to_owned(),
        schema: schema.canonical(id),
        schema_hash: schema.schema_hash(id),
        layout_hash: schema.layout_hash(id),
        encoding: Encoding::Flat,
        fixed_size: 16,
        user_header_size: 0,
    };
    let node = Node::in_root("arm", Root::at(sandbox.root(), None)).unwrap();
    RawBlackboardWriter::create(&node, "robot/limits", &description, ["speed", "torque"]).unwrap()
}

#[test]
fn blackboards_are_listed() {
    let sandbox = Sandbox::new();
    assert!(text(&sandbox.run(&["blackboard", "list"])).starts_with("No blackboards in "));
    let mut writer = writer(&sandbox);
    writer.set("speed", &limit(1.0, true)).unwrap();
    assert_eq!(
        text(&sandbox.run(&["blackboard", "list"])),
        "BLACKBOARD    TYPE         KEYS  CHANGES  WRITER\n\
         robot/limits  demo::Limit     2        1  arm\n"
    );
    let listed = json(&sandbox.run(&["--json", "blackboard", "list"]));
    let expected =
        json!({"name": "robot/limits", "type": "demo::Limit", "keys": 2, "changes": 1, "writer": "arm"});
    assert_eq!(listed["blackboards"], json!([expected]));
}

#[test]
fn values_are_printed_by_their_schema() {
    let sandbox = Sandbox::new();
    let mut writer = writer(&sandbox);
    writer.set("speed", &limit(1.0, true)).unwrap();
    writer.set("speed", &limit(1.5, true)).unwrap();
    assert_eq!(
        text(&sandbox.run(&["blackboard", "get", "robot/limits"])),
        "# speed, version 2\nmost: 1.5\nactive: true\n# torque, never set\n"
    );
    let got = json(&sandbox.run(&["--json", "blackboard", "get", "robot/limits", "speed"]));
    let value = json!({"most": 1.5, "active": true});
    assert_eq!(got, json!({"blackboard": "robot/limits", "key": "speed", "version": 2, "value": value}));
    let missing = sandbox.run(&["blackboard", "get", "robot/limits", "mass"]);
    assert_eq!(missing.status.code(), Some(3));
    assert!(String::from_utf8_lossy(&missing.stderr).contains("it has: speed, torque"));
    let missing = sandbox.run(&["blackboard", "get", "limits"]);
    assert_eq!(missing.status.code(), Some(3));
    assert!(String::from_utf8_lossy(&missing.stderr).contains("there are: robot/limits"));
    // A flag that is neither 0 nor 1.
    let mut wrong = limit(1.0, true);
    wrong[8] = 7;
    writer.set("torque", &wrong).unwrap();
    let refused = sandbox.run(&["blackboard", "get", "robot/limits", "torque"]);
    assert_eq!(refused.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&refused.stderr).contains("key `torque`"));
}

#[test]
fn changes_are_printed_as_they_come_and_the_next_writer_is_found() {
    let sandbox = Sandbox::new();
    let mut first = writer(&sandbox);
    first.set("speed", &limit(1.0, true)).unwrap();
    let mut watch = sandbox.spawn(&["--json", "blackboard", "watch", "robot/limits", "speed", "-n", "3"]);
    let mut lines = BufReader::new(watch.take_stdout()).lines();
    let mut next = || serde_json::from_str::<Value>(&lines.next().unwrap().unwrap()).unwrap();
    assert_eq!(
        (next()["value"]["most"].as_f64(), first.set("torque", &limit(9.0, true)).unwrap()),
        (Some(1.0), 1)
    );
    first.set("speed", &limit(2.0, false)).unwrap();
    let second = next();
    assert_eq!((second["version"].as_u64(), second["value"]["most"].as_f64()), (Some(2), Some(2.0)));
    drop(first);
    let mut other = writer(&sandbox);
    other.set("speed", &limit(3.0, false)).unwrap();
    let third = next();
    assert_eq!((third["version"].as_u64(), third["value"]["most"].as_f64()), (Some(1), Some(3.0)));
    assert!(watch.wait(Duration::from_secs(60)).status.success());
    let idle = sandbox.run(&["blackboard", "watch", "robot/limits", "torque", "--timeout", "0.1"]);
    assert_eq!(idle.status.code(), Some(4));
}
