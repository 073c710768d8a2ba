//! The demo as a user sees it: three processes, both kinds of input, Ctrl-C at any time, no files left.
//!
//! CMake builds the filter. `SITU_DEMO_FILTER` gives its path; the default is in `build/cpp/examples`. If the
//! filter is not built, the tests that need it are skipped and print that.

mod common;

use std::path::Path;
use std::time::Duration;

use common::{Sandbox, json, text};
use serde_json::Value;

/// Returns the filter's program; `None` if it is not built.
fn filter() -> Option<String> {
    let path = std::env::var("SITU_DEMO_FILTER").unwrap_or_else(|_| {
        concat!(env!("CARGO_MANIFEST_DIR"), "/../../build/cpp/examples/situ-demo-filter").to_owned()
    });
    if Path::new(&path).is_file() {
        return Some(path);
    }
    eprintln!("SKIPPED: {path} is not built (cmake -S cpp -B build/cpp && cmake --build build/cpp)");
    None
}

/// Returns a scan of flat ground with a wall: 400 points. The filter keeps the ten points of the wall.
fn scan() -> Vec<u8> {
    let mut bytes = Vec::new();
    for i in 0..400_u32 {
        let (x, y) = ((i % 20) as f32 - 10.0, (i / 20) as f32 - 10.0);
        let z = if i % 20 == 15 && i / 20 % 2 == 0 { 0.0 } else { -1.7 };
        // Two returns in each cell of the wall, so that it is higher than its surroundings.
        for value in [if z == 0.0 { x - 0.9 } else { x }, y, z, 0.5] {
            bytes.extend_from_slice(&value.to_le_bytes());
        }
    }
    bytes
}

fn image(path: &str) {
    let file = std::fs::File::create(path).unwrap();
    let mut encoder = png::Encoder::new(file, 64, 48);
    encoder.set_color(png::ColorType::Rgb);
    encoder.set_depth(png::BitDepth::Eight);
    let pixels: Vec<u8> = (0..64 * 48).flat_map(|i| if i % 64 < 32 { [0; 3] } else { [200; 3] }).collect();
    encoder.write_header().unwrap().write_image_data(&pixels).unwrap();
}

/// Checks the properties of every run.
fn check(report: &Value, frames: u64) {
    assert_eq!(report["frames"], frames, "{report}");
    for (name, value) in [("lost", 0), ("copies", 0), ("bytes_copied", 0), ("leftovers", 0)] {
        assert_eq!(report[name], value, "{name}: {report}");
    }
    let p50 = report["p50_ns"].as_u64().unwrap();
    assert!(p50 > 0 && report["p99_ns"].as_u64().unwrap() >= p50, "{report}");
    let serialized = &report["serialized"];
    assert_eq!((&serialized["frames"], &serialized["lost"]), (&frames.into(), &0.into()), "{report}");
    // Encoded and decoded twice: from the sensor to the filter, and from there to the viewer.
    assert_eq!(serialized["copies"], 4 * frames, "{report}");
    assert!(serialized["bytes_copied"].as_u64().unwrap() > 0, "{report}");
}

#[test]
fn scans_images_and_the_street_go_through_without_a_copy() {
    let Some(filter) = filter() else { return };
    let sandbox = Sandbox::new();
    let scan_path = sandbox.path("scan.bin");
    std::fs::write(&scan_path, scan()).unwrap();
    let image_path = sandbox.path("image.png");
    image(&image_path);
    for (input, kind) in [(Some(&scan_path), "cloud"), (Some(&image_path), "image"), (None, "cloud")] {
        let plot = sandbox.path("plot.svg");
        let mut arguments =
            vec!["--json", "demo", "--frames", "20", "--rate", "200", "--filter", &filter, "--plot", &plot];
        if let Some(path) = input {
            arguments.extend(["--input", path]);
        }
        let report = json(&sandbox.run(&arguments));
        check(&report, 20);
        assert_eq!(report["kind"], kind);
        let svg = std::fs::read_to_string(&plot).unwrap();
        assert!(svg.starts_with("<svg") && svg.contains("serialized"), "a plot of both runs");
        std::fs::remove_file(&plot).unwrap();
        assert_eq!(sandbox.files(), Vec::<String>::new());
    }
}

#[test]
fn a_filter_on_a_device_costs_one_copy_for_each_message_and_domain() {
    let Some(filter) = filter() else { return };
    let sandbox = Sandbox::new();
    let image_path = sandbox.path("image.png");
    image(&image_path);
    let run = |domain: &str, extra: &[&str]| {
        let usual = ["demo", "--frames", "20", "--rate", "50", "--plot", "none", "--no-serialized"];
        let arguments = [usual.as_slice(), &["--filter", &filter, "--domain", domain], extra].concat();
        sandbox.run(&arguments)
    };
    for input in [vec!["--json", "--input", &image_path], vec!["--json"]] {
        let report = json(&run("emulated", &input));
        let device = &report["device"];
        assert_eq!((&device["domain"], &device["frames"]), (&"emulated:0".into(), &20.into()), "{report}");
        assert_eq!((&device["lost"], &device["copies"]), (&0.into(), &40.into()), "{report}");
        assert_eq!(report["leftovers"], 0);
        for (topic, into, from) in [(0, "emulated:0", "host"), (1, "host", "emulated:0")] {
            let topic = &device["topics"][topic];
            assert_eq!(topic["published"], 20, "{report}");
            let copies = |domain: &str| {
                let domains = topic["domains"].as_array().unwrap();
                domains.iter().find(|d| d["domain"] == domain).map(|d| d["copies"].as_u64().unwrap())
            };
            assert_eq!((copies(into), copies(from)), (Some(20), Some(0)), "{report}");
        }
        assert_eq!(sandbox.files(), Vec::<String>::new());
    }
    assert_eq!(run("kind77", &[]).status.code(), Some(3), "there is no such domain");
}

#[test]
fn the_results_are_a_table_without_json() {
    let Some(filter) = filter() else { return };
    let sandbox = Sandbox::new();
    let shown = text(
        &sandbox.run(&["demo", "--frames", "10", "--rate", "200", "--filter", &filter, "--plot", "none"]),
    );
    assert!(shown.contains("zero copy") && shown.contains("serialized"), "{shown}");
    assert!(shown.contains("Left in shared memory: 0 file(s)."), "{shown}");
    assert!(!shown.contains('\x1b'), "no colours and no redrawing into a pipe: {shown}");
}

#[test]
fn live_messages_are_seen_from_another_shell() {
    let Some(filter) = filter() else { return };
    let sandbox = Sandbox::new();
    let input = sandbox.path("scan.bin");
    std::fs::write(&input, scan()).unwrap();
    let mut demo = sandbox.spawn(&[
        "--json", "demo", "--input", &input, "--frames", "0", "--rate", "100", "--filter", &filter, "--plot",
        "none",
    ]);
    sandbox.wait_for_topic("lidar/obstacles");
    let echoed =
        json(&sandbox.run(&["--json", "topic", "echo", "lidar/obstacles", "-n", "1", "--timeout", "10"]));
    assert_eq!(echoed["message"]["header"]["frame_id"], "lidar");
    assert_eq!(echoed["message"]["fields"][3]["name"], "intensity");
    assert_eq!(echoed["message"]["width"], 10, "of the scan, the ten points of the wall stay");
    assert_eq!(echoed["message"]["data"].as_array().unwrap().len(), 160);
    let nodes = json(&sandbox.run(&["--json", "node", "list"]));
    let mut names: Vec<&str> =
        nodes["nodes"].as_array().unwrap().iter().filter_map(|n| n["name"].as_str()).collect();
    names.sort_unstable();
    assert_eq!(names, ["demo_filter", "demo_sensor", "demo_viewer"]);

    // A second demo would mix its frames with those of the first.
    let second = sandbox.run(&["demo", "--filter", &filter]);
    assert_eq!(second.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&second.stderr).contains("publishes to `lidar/points` already"));

    let report = json(&demo.interrupt());
    assert_eq!((&report["leftovers"], &report["copies"]), (&0.into(), &0.into()), "{report}");
    assert_eq!(sandbox.files(), Vec::<String>::new());
}

#[test]
fn ctrl_c_at_any_time_leaves_no_files() {
    let Some(filter) = filter() else { return };
    for (delay, group) in [0, 5, 20, 50, 120, 300].into_iter().flat_map(|d| [(d, false), (d, true)]) {
        let sandbox = Sandbox::new();
        let mut demo = sandbox.spawn(&["demo", "--frames", "1000", "--filter", &filter, "--plot", "none"]);
        std::thread::sleep(Duration::from_millis(delay));
        let output = if group { demo.interrupt_group() } else { demo.interrupt() };
        // Before the process listens for the signal, the signal has its default action and ends the process.
        let code = output.status.code();
        assert!(matches!(code, None | Some(130)), "after {delay} ms: {output:?}");
        assert_eq!(sandbox.files(), Vec::<String>::new(), "after {delay} ms");
    }
}

#[test]
fn a_killed_viewer_takes_the_others_with_it() {
    let Some(filter) = filter() else { return };
    let sandbox = Sandbox::new();
    let mut demo = sandbox.spawn(&["demo", "--frames", "0", "--filter", &filter, "--plot", "none"]);
    sandbox.wait_for_topic("lidar/obstacles");
    demo.kill();
    let begin = std::time::Instant::now();
    loop {
        let nodes = json(&sandbox.run(&["--json", "node", "list"]));
        if nodes["nodes"].as_array().unwrap().iter().all(|n| n["alive"] == false) {
            break;
        }
        assert!(begin.elapsed() < Duration::from_secs(10), "still running: {nodes}");
        std::thread::sleep(Duration::from_millis(20));
    }
    sandbox.run(&["clean"]);
    assert_eq!(sandbox.files(), Vec::<String>::new());
}

#[test]
fn a_filter_that_dies_ends_the_demo_and_leaves_nothing() {
    let sandbox = Sandbox::new();
    let script = sandbox.file("filter.sh", "#!/bin/sh\necho 'out of coffee' >&2\nexit 3\n");
    use std::os::unix::fs::PermissionsExt;
    std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o755)).unwrap();
    let output = sandbox.run(&["demo", "--filter", &script]);
    assert_eq!(output.status.code(), Some(1));
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(error.contains("the filter ended early (exit status: 3); its output: out of coffee"), "{error}");
    assert_eq!(sandbox.files(), Vec::<String>::new());
}

#[test]
fn input_that_cannot_be_played_is_reported_at_once() {
    let sandbox = Sandbox::new();
    let cut = sandbox.path("cut.bin");
    std::fs::write(&cut, &scan()[..100]).unwrap();
    let note = sandbox.file("note.txt", "hello");
    for (input, expected) in [
        (cut.as_str(), "100 bytes are 6 points of 16 bytes and 4 bytes more"),
        (&note, "not a file that the demo can play"),
        ("/nonexistent.pcd", "cannot read /nonexistent.pcd"),
    ] {
        let output = sandbox.run(&["demo", "--input", input]);
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.code() == Some(1) && error.contains(expected), "{error}");
    }
    let missing = sandbox.run(&["demo", "--filter", "/nonexistent/filter"]);
    assert_eq!(missing.status.code(), Some(3));
    let error = String::from_utf8_lossy(&missing.stderr);
    assert!(error.contains("make demo") && error.contains("--filter"), "{error}");
}
