//! `situ topic create` and `remove`, `situ service create` and `remove`, as a user sees them.

mod common;

use std::os::unix::fs::MetadataExt;
use std::process::{Command, Output};

use common::{Sandbox, json, text};

const ADD: &str = "interface Calculator { double add(in double a, in double b); };";
const POSE: &str = "module demo { @flat struct Pose { double x; }; };";

/// Runs the command in a root that is shared by a group.
fn run_in_group(sandbox: &Sandbox, group: &str, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_situ"));
    command.env("SITU_ROOT", sandbox.path("shared")).env("SITU_GROUP", group).env("COLUMNS", "100");
    command.args(arguments).output().unwrap()
}

#[test]
fn a_topic_with_groups_stays_until_it_is_removed() {
    let sandbox = Sandbox::new();
    let schema = sandbox.file("pose.idl", POSE);
    let group = std::fs::metadata(&schema).unwrap().gid().to_string();
    let create = [
        "topic",
        "create",
        "pose",
        "demo::Pose",
        "--schema",
        &schema,
        "--publishers",
        &group,
        "--subscribers",
        &group,
    ];
    let refused = sandbox.run(&create);
    let error = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(refused.status.code() == Some(1) && error.contains("share it by SITU_GROUP"), "{error}");

    let created = run_in_group(&sandbox, &group, &create);
    let said = format!("topic pose: group {group} may publish, group {group} may subscribe\n");
    assert_eq!(text(&created), said);
    let again = run_in_group(&sandbox, &group, &create);
    assert!(String::from_utf8_lossy(&again.stderr).contains("exists already"), "{again:?}");

    run_in_group(&sandbox, &group, &["topic", "pub", "pose", "demo::Pose", "{x: 1.5}", "--wait", "0"]);
    let info = json(&run_in_group(&sandbox, &group, &["--json", "topic", "info", "pose"]));
    assert_eq!((&info["type"], &info["published"]), (&"demo::Pose".into(), &1.into()), "{info}");

    let unknown = run_in_group(
        &sandbox,
        &group,
        &[
            "topic",
            "create",
            "x",
            "demo::Pose",
            "--schema",
            &schema,
            "--publishers",
            "no group",
            "--subscribers",
            "0",
        ],
    );
    assert!(String::from_utf8_lossy(&unknown.stderr).contains("no group \"no group\""), "{unknown:?}");

    assert_eq!(text(&run_in_group(&sandbox, &group, &["topic", "remove", "pose"])), "removed topic pose\n");
    assert_eq!(run_in_group(&sandbox, &group, &["topic", "remove", "pose"]).status.code(), Some(3));
}

#[test]
fn a_service_with_groups_stays_until_it_is_removed() {
    let sandbox = Sandbox::new();
    let schema = sandbox.file("calculator.idl", ADD);
    let group = std::fs::metadata(&schema).unwrap().gid().to_string();
    let create = |service_type| {
        let start = ["service", "create", "sum", service_type, "--schema", &schema];
        [start.as_slice(), &["--callers", &group, "--servers", &group]].concat()
    };
    let refused = sandbox.run(&create("Calculator_add"));
    let error = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(refused.status.code() == Some(1) && error.contains("share it by SITU_GROUP"), "{error}");
    let unknown = run_in_group(&sandbox, &group, &create("Calculator"));
    let error = String::from_utf8_lossy(&unknown.stderr).into_owned();
    assert!(unknown.status.code() == Some(3) && error.contains("there are: Calculator_add"), "{error}");

    let created = run_in_group(&sandbox, &group, &create("Calculator_add"));
    assert_eq!(text(&created), format!("service sum: group {group} may call, group {group} may serve\n"));
    let again = run_in_group(&sandbox, &group, &create("Calculator_add"));
    let error = String::from_utf8_lossy(&again.stderr).into_owned();
    assert!(error.contains("service \"sum\" exists already"), "{error}");
    // It has the types of clients and servers.
    let call = run_in_group(&sandbox, &group, &["service", "call", "sum", "{a: 1, b: 2}", "--timeout", "1"]);
    let error = String::from_utf8_lossy(&call.stderr).into_owned();
    assert!(call.status.code() == Some(1) && error.contains("no server"), "{error}");

    assert_eq!(text(&run_in_group(&sandbox, &group, &["service", "remove", "sum"])), "removed service sum\n");
    assert_eq!(run_in_group(&sandbox, &group, &["service", "remove", "sum"]).status.code(), Some(3));
}
