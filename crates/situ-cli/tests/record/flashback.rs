//! `situ flashback`: after a kill, at a message, and when a node ends.

use std::time::{Duration, Instant};

use situ::bus::{Node, Root};
use situ_record::{End, Reader};

use super::common::{Sandbox, json, text};
use super::{PATIENCE, Sensor, publish, wait_until};

#[test]
fn a_flashback_survives_a_kill() {
    let sandbox = Sandbox::new();
    let mut flashback = sandbox.spawn(&["flashback", "-a", "--keep", "60s"]);
    publish(&sandbox, "pose", "nav_demo::msg::Pose", &["{x: 1, number: 3}", "{number: 4}"]);
    let path = sandbox.path("dump.mcap");
    let begin = Instant::now();
    loop {
        let dump = sandbox.run(&["--json", "flashback", "dump", "-o", &path, "--overwrite"]);
        if dump.status.success() && json(&dump)["files"][0]["messages"] == 2 {
            break;
        }
        assert!(begin.elapsed() < PATIENCE, "{dump:?}");
        std::thread::sleep(Duration::from_millis(50));
    }
    flashback.kill();
    let dump = sandbox.run(&["flashback", "dump", "-o", &path, "--overwrite", "--remove"]);
    assert!(text(&dump).contains("2 messages"));
    assert_eq!(sandbox.run(&["flashback", "dump", "-o", &path, "--overwrite"]).status.code(), Some(3));
}

/// The messages of a file and of its topic `/pose`, once it is whole.
fn written(path: &str) -> (u64, usize) {
    let whole = || Reader::open(path).ok().filter(|reader| *reader.end() == End::Whole);
    wait_until(|| whole().is_some());
    let reader = whole().unwrap();
    let poses =
        reader.messages(Default::default()).filter(|it| it.as_ref().unwrap().channel.topic == "/pose");
    (reader.statistics().messages, poses.count())
}

#[test]
fn a_flashback_is_written_at_each_message_of_a_trigger() {
    let sandbox = Sandbox::new();
    // A file of an earlier flashback stays.
    let before = sandbox.file("alarm_0.mcap", "before");
    let output = sandbox.path("alarm.mcap");
    let mut flashback = sandbox.spawn(&["flashback", "pose", "--trigger", "alarm", "-o", &output]);
    let pose = Sensor::joined(&sandbox, "pose", "nav_demo::msg::Pose");
    pose.publish("{number: 1}");
    // The topic of the trigger is new, and has its message at once.
    let alarm = Sensor::new(&sandbox, "alarm", "nav_demo::msg::Pose");
    alarm.publish("{number: 13}");
    assert_eq!(written(&sandbox.path("alarm_1.mcap")), (1, 1));
    pose.publish("{number: 2}");
    alarm.publish("{number: 14}");
    assert_eq!(written(&sandbox.path("alarm_2.mcap")), (2, 2));
    let ended = flashback.interrupt();
    assert!(ended.status.success(), "{ended:?}");
    assert_eq!(std::fs::read_to_string(before).unwrap(), "before");
    assert!(!std::path::Path::new(&sandbox.path("alarm_3.mcap")).exists());
    // Its memory is given back.
    assert!(!sandbox.files().iter().any(|file| file.ends_with(".mcap")));
}

#[test]
fn a_flashback_is_written_when_a_node_ends() {
    let sandbox = Sandbox::new();
    let output = sandbox.path("planner.mcap");
    let _flashback = sandbox.spawn(&["flashback", "-a", "--watch", "planner", "-o", &output]);
    publish(&sandbox, "pose", "nav_demo::msg::Pose", &["{number: 1}"]);
    let first = sandbox.path("planner_0.mcap");
    wait_until(|| {
        // On a loaded machine, a node may end before it is seen.
        let node = Node::in_root("planner", Root::at(sandbox.root(), None)).unwrap();
        std::thread::sleep(Duration::from_millis(200));
        drop(node);
        std::thread::sleep(Duration::from_millis(200));
        std::path::Path::new(&first).exists()
    });
    assert_eq!(written(&first), (1, 1));
}
