//! What `situ doctor` says about programs that run.

mod common;

use std::time::{Duration, Instant};

use common::{Sandbox, json, text};
use rustix::process::Signal;
use situ::bus::{
    Encoding, Node, PublishError, PublisherQos, RawPublisher, Reliability, Root, TypeDescription, WhenFull,
};
use situ_schema::{Format, Loader};

const POSE: &str = "module demo { @flat struct Pose { double x; double y; }; };";

/// A publisher may wait long for a subscriber, and the subscriber is stopped.
#[test]
fn doctor_says_who_waits_for_whom_and_how_to_continue() {
    let sandbox = Sandbox::new();
    let schema = Loader::new().text("pose.idl", POSE, Format::Idl).load().unwrap();
    let pose = schema.find("demo::Pose").unwrap();
    let description = TypeDescription {
        name: "demo::Pose".to_owned(),
        schema: schema.canonical(pose),
        schema_hash: schema.schema_hash(pose),
        layout_hash: schema.layout_hash(pose),
        encoding: Encoding::Flat,
        fixed_size: 0,
        user_header_size: 0,
    };
    let node = Node::in_root("driver", Root::at(sandbox.root(), None)).unwrap();
    let limit = Duration::from_secs(60);
    let qos = PublisherQos {
        reliability: Reliability::Reliable,
        depth: 2,
        when_full: WhenFull::Block(Some(limit)),
        ..PublisherQos::default()
    };
    let publisher = RawPublisher::create(&node, "pose", &description, qos).unwrap();
    let size = schema.flat_layout(pose).unwrap().extent.size as usize;
    let arguments = ["topic", "echo", "pose", "--reliability", "reliable", "--history", "keep_all", "--json"];
    let mut echo = sandbox.spawn(&arguments);
    let pid = echo.id();
    while publisher.subscribers() == 0 {
        std::thread::sleep(Duration::from_millis(1));
    }
    echo.signal(Signal::STOP);
    let blocked = std::thread::spawn(move || -> Result<u32, PublishError> {
        let mut published = 0;
        loop {
            let loan = publisher.loan(size, 8, 0).unwrap();
            // SAFETY: the head has this size, and zeros are a pose.
            unsafe { loan.head().write_bytes(0, size) };
            loan.publish()?;
            published += 1;
            // It has waited for the subscriber, which continues.
            if published > 10 {
                return Ok(published);
            }
        }
    });
    let begin = Instant::now();
    let warning = loop {
        let report = json(&sandbox.run(&["--json", "doctor"]));
        let checks = report["checks"].as_array().unwrap();
        let check = checks.iter().find(|check| check["name"] == "back-pressure").unwrap().clone();
        if check["status"] == "warn" {
            break check;
        }
        assert!(begin.elapsed() < limit / 2, "{check}");
    };
    let (found, advice) = (warning["found"].as_str().unwrap(), warning["advice"].as_str().unwrap());
    let own = std::process::id();
    assert!(found.starts_with(&format!("driver ({own}) on pose has waited ")), "{found}");
    assert!(found.ends_with(&format!("({pid})")), "{found}");
    assert!(advice.contains(&format!("({pid}) is stopped: `kill -CONT {pid}` continues it.")), "{advice}");
    let info = text(&sandbox.run(&["topic", "info", "pose"]));
    assert!(info.contains("WAITS FOR") && info.contains(&format!("({pid}), ")), "{info}");

    // What it says helps.
    let kill = std::process::Command::new("kill").args(["-CONT", &pid.to_string()]).status().unwrap();
    assert!(kill.success());
    assert_eq!(blocked.join().unwrap().unwrap(), 11);
    let report = json(&sandbox.run(&["--json", "doctor"]));
    let checks = report["checks"].as_array().unwrap();
    assert_eq!(checks.iter().find(|check| check["name"] == "back-pressure").unwrap()["status"], "ok");
    echo.interrupt();
}
