//! The command as a user sees it: processes, output, exit codes.

mod common;

use std::io::{BufRead, BufReader};
use std::time::{Duration, Instant};

use common::{Sandbox, json, text};
use serde_json::Value;
use situ::bus::{Encoding, Node, NodeOptions, RawSubscriber, Root, SubscriberQos, TypeDescription, inspect};
use situ::layout::foreign::is_steering;
use situ_schema::Loader;

const POSE: &str = "module demo { @flat struct Pose { double x; string<15> name; sequence<float, 4> path; @bulk sequence<uint8> image; }; };";
const NOTE: &str = "module demo { struct Note { string text; sequence<long> numbers; }; };";

#[test]
fn an_empty_root_is_no_error() {
    let sandbox = Sandbox::new();
    let topics = sandbox.run(&["topic", "list"]);
    assert_eq!(text(&topics), format!("No topics in {}.\n", sandbox.root()));
    assert_eq!(json(&sandbox.run(&["--json", "topic", "list"]))["topics"], serde_json::json!([]));
    assert_eq!(text(&sandbox.run(&["clean"])), "There is nothing to remove.\n");
}

#[test]
fn names_and_texts_of_others_do_nothing_to_a_terminal() {
    let sandbox = Sandbox::new();
    let evil = "\u{1b}[2J\u{1b}]52;c;aGk=\u{7}\u{9b}31m\u{9d}0;t\u{9c}\u{202e}\u{2066}";
    let root = Root::at(sandbox.root(), None);
    let node = Node::in_root("victim", root.clone()).unwrap();
    let description = TypeDescription {
        name: format!("demo::{evil}"),
        schema: format!("@final struct {evil} {{\n  uint64 value;\n}};\n"),
        schema_hash: 7,
        layout_hash: 7,
        encoding: Encoding::Flat,
        fixed_size: 0,
        user_header_size: 0,
    };
    let _subscriber = RawSubscriber::create(&node, "topic", &description, Default::default()).unwrap();
    // A node cannot have this name, but its file can be written with it.
    for file in std::fs::read_dir(format!("{}/nodes", sandbox.root())).unwrap() {
        let path = file.unwrap().path();
        let mut bytes = std::fs::read(&path).unwrap();
        let records = bytes.split_off(4096);
        let text = String::from_utf8(bytes).unwrap().trim_end_matches('\0').to_owned();
        assert!(text.contains("name victim"), "{text}");
        let mut page = text.replace("victim", &format!("victim{evil}")).into_bytes();
        page.resize(4096, 0);
        std::fs::write(&path, [page, records].concat()).unwrap();
    }
    let mut shown = 0;
    for arguments in [
        ["node", "list"].as_slice(),
        &["node", "info", "victim"],
        &["service", "list"],
        &["node", "info", &format!("victim{evil}")],
        &["topic", "list"],
        &["topic", "info", "topic"],
        &["topic", "info", "topic", "--verbose"],
        &["graph"],
        &["topic", "echo", "topic", "--timeout", "0.05"],
        &["topic", "echo", evil, "--timeout", "0.05"],
        &["topic", "pub", "topic", "value: 1"],
        &["schema", "show", "topic"],
        &["top", "--interval", "0.05"],
        &["clean", "--dry-run"],
        &["doctor"],
    ] {
        for format in [["--color=never"].as_slice(), &["--json"], &["--color=always"]] {
            let output = sandbox.run(&[format, arguments].concat());
            for said in [output.stdout, output.stderr] {
                let mut said = String::from_utf8(said).unwrap();
                shown += usize::from(said.contains("u{9b}31m") || said.contains("\\u009b31m"));
                if format == ["--color=always"] {
                    for style in ["0", "1", "2", "31", "32", "33"] {
                        said = said.replace(&format!("\u{1b}[{style}m"), "");
                    }
                }
                let steers = |it: char| it != '\n' && is_steering(it);
                assert!(!said.contains(steers), "{arguments:?} {format:?}: {said:?}");
            }
        }
    }
    assert!(shown >= 12, "only {shown} texts showed the names");
}

#[test]
fn missing_objects_have_their_exit_code() {
    let sandbox = Sandbox::new();
    for arguments in [
        ["topic", "info", "nothing"].as_slice(),
        &["topic", "echo", "nothing"],
        &["node", "info", "nobody"],
        &["schema", "check", "/nonexistent.idl"],
    ] {
        let output = sandbox.run(arguments);
        assert_eq!(output.status.code(), Some(3), "{arguments:?}");
        assert!(!output.stderr.is_empty());
    }
    assert_eq!(sandbox.run(&["topic", "hz"]).status.code(), Some(2));
    let error = sandbox.run(&["--json", "topic", "info", "nothing"]);
    let error: Value = serde_json::from_slice(&error.stderr).unwrap();
    assert_eq!(error["code"], 3);
}

#[test]
fn a_published_message_is_echoed_without_compiled_in_types() {
    for (idl, message, extra) in [
        (POSE, r#"{"x": 1.5, "name": "front", "path": [1, 2], "image": [7, 8, 9]}"#, ("demo::Pose", "flat")),
        (NOTE, r#"{"text": "hello", "numbers": [-1, 2]}"#, ("demo::Note", "xcdr1")),
    ] {
        let sandbox = Sandbox::new();
        let (type_name, encoding) = extra;
        let schema = sandbox.file("types.idl", idl);
        let mut publisher = sandbox.spawn(&[
            "--json", "topic", "pub", "pose", type_name, message, "--schema", &schema, "--rate", "100",
        ]);
        sandbox.wait_for_topic("pose");

        let list = json(&sandbox.run(&["--json", "topic", "list"]));
        assert_eq!(list["topics"][0]["type"], type_name);
        assert_eq!(list["topics"][0]["encoding"], encoding);
        assert_eq!(list["topics"][0]["publishers"], 1);

        let echoed = json(&sandbox.run(&["--json", "topic", "echo", "pose", "-n", "1", "--timeout", "10"]));
        let sent: Value = serde_json::from_str(message).unwrap();
        for (name, value) in sent.as_object().unwrap() {
            match value.as_array() {
                Some(items) => {
                    for (index, item) in items.iter().enumerate() {
                        assert_eq!(echoed["message"][name][index].as_f64(), item.as_f64(), "{name}[{index}]");
                    }
                }
                None => assert_eq!(&echoed["message"][name], value, "{name}"),
            }
        }

        let info = text(&sandbox.run(&["topic", "info", "pose"]));
        assert!(info.contains(type_name) && info.contains("1 publisher(s)"), "{info}");
        let shown = text(&sandbox.run(&["schema", "show", "--topic", "pose"]));
        assert!(shown.contains("struct"), "{shown}");
        let nodes = json(&sandbox.run(&["--json", "node", "list"]));
        let node = nodes["nodes"][0]["name"].as_str().unwrap().to_owned();
        let node = json(&sandbox.run(&["--json", "node", "info", &node]));
        assert_eq!(node["nodes"][0]["publishes"][0]["topic"], "pose");

        let report = json(&publisher.interrupt());
        assert_eq!(report["type"], type_name);
        assert!(report["messages"].as_u64().unwrap() > 0);
        assert_eq!(sandbox.files(), Vec::<String>::new(), "no file is left");
    }
}

#[test]
fn echo_prints_fields_and_says_which_are_missing() {
    let sandbox = Sandbox::new();
    let schema = sandbox.file("pose.idl", POSE);
    let _publisher = sandbox.spawn(&[
        "topic",
        "pub",
        "pose",
        "demo::Pose",
        r#"{"x": 2.5}"#,
        "--schema",
        &schema,
        "--rate",
        "100",
    ]);
    sandbox.wait_for_topic("pose");
    let echo = |field| sandbox.run(&["topic", "echo", "pose", "-n", "1", "--field", field]);
    assert_eq!(text(&echo("x")), "2.5\n");
    assert_eq!(echo("y").status.code(), Some(3));
}

/// A member with a unit, and an array of several dimensions.
const GRID: &str = r#"module demo { @flat struct Grid { @unit("m") double x; double m[2][1][3]; }; };"#;

#[test]
fn messages_of_a_file_reach_a_pattern_that_waits_for_their_topic() {
    let sandbox = Sandbox::new();
    let schema = sandbox.file("grid.idl", GRID);
    let messages = sandbox.file("grid.yaml", "x: 1\nm: [[[1, 2, 3]], [[4, 5, 6]]]\n---\n{x: 2}\n");
    let mut echo = sandbox.spawn(&["--json", "topic", "echo", "lidar/*", "-n", "2", "--timeout", "20"]);
    let publish = |topic| {
        let arguments = ["--json", "topic", "pub", topic, "demo::Grid", "--schema", &schema];
        sandbox.run(&[arguments.as_slice(), &["--file", &messages, "--wait", "10"]].concat())
    };
    let published = json(&publish("lidar/front"));
    assert_eq!((&published["messages"], &published["rate_hz"]), (&Value::from(2), &Value::Null));
    let echoed = text(&echo.wait(Duration::from_secs(20)));
    let echoed: Vec<Value> = echoed.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let nested: Value = serde_json::from_str("[[[1.0, 2.0, 3.0]], [[4.0, 5.0, 6.0]]]").unwrap();
    assert_eq!((&echoed[0]["topic"], &echoed[1]["topic"]), (&"lidar/front".into(), &"lidar/front".into()));
    assert_eq!((&echoed[0]["message"]["x"], &echoed[0]["message"]["m"]), (&1.0.into(), &nested));
    assert_eq!(echoed[1]["message"]["x"], 2.0);

    let missing = sandbox.run(&["topic", "pub", "a", "demo::Grid", "--schema", &schema, "--file", "/none"]);
    assert_eq!(missing.status.code(), Some(3));
    let wrong = sandbox.file("wrong.yaml", "x: 1\n---\ny: 2\n");
    let arguments = ["topic", "pub", "a", "demo::Grid", "--schema", &schema, "--wait", "0", "--file", &wrong];
    let wrong = sandbox.run(&arguments);
    assert!(String::from_utf8(wrong.stderr).unwrap().contains("the message in line 3"));
}

#[test]
fn quality_of_service_is_that_of_the_topic_unless_it_is_given() {
    let sandbox = Sandbox::new();
    let schema = sandbox.file("grid.idl", GRID);
    let publish = |message: &str, options: &[&str]| {
        let arguments = [
            "topic",
            "pub",
            "grid",
            "demo::Grid",
            message,
            "--schema",
            &schema,
            "--rate",
            "0.01",
            "--wait",
            "0",
        ];
        sandbox.spawn(&[arguments.as_slice(), options].concat())
    };
    let _first = publish("{x: 1.5, m: [[[1, 2, 3]], [[4, 5, 6]]]}", &["--durability", "transient_local"]);
    sandbox.wait_for_topic("grid");
    let echo = |options: &[&str]| {
        sandbox.run(&[["topic", "echo", "grid", "--timeout", "5", "-n"].as_slice(), options].concat())
    };
    // The only message is older than the subscribers.
    assert_eq!(text(&echo(&["1"])), "x: 1.5 # m\nm:\n- - [1.0, 2.0, 3.0]\n- - [4.0, 5.0, 6.0]\n---\n");
    assert_eq!(text(&echo(&["1", "--field", "m[1][0][2]"])), "6.0\n");
    let late = ["topic", "echo", "grid", "--durability", "volatile", "--timeout", "0.2"];
    let volatile = sandbox.run(&late);
    assert_eq!(volatile.status.code(), Some(4), "{volatile:?}");
    // A second publisher without options keeps its message, too.
    let _second = publish("{x: 2.5}", &[]);
    let mut both: Vec<String> = text(&echo(&["2", "--field", "x"])).lines().map(str::to_owned).collect();
    both.sort();
    assert_eq!(both, ["1.5", "2.5"]);
}

#[test]
fn names_that_look_like_mistakes_are_refused_with_a_reason() {
    let sandbox = Sandbox::new();
    let schema = sandbox.file("pose.idl", POSE);
    let publish = |topic| ["topic", "pub", topic, "demo::Pose", "--schema", &schema, "--rate", "100"];
    let _publisher = sandbox.spawn(&publish("robot/cmd"));
    sandbox.wait_for_topic("robot/cmd");
    let refusal = |arguments: &[&str], code: i32| {
        let output = sandbox.run(arguments);
        assert_eq!(output.status.code(), Some(code), "{output:?}");
        String::from_utf8(output.stderr).unwrap()
    };
    assert!(
        refusal(&publish("/robot/cmd"), 2).contains("there is `robot/cmd`, which differs in slashes only")
    );
    assert!(refusal(&publish("bad topic"), 2).contains("has a space as character 4"));
    assert!(refusal(&["topic", "echo", "/robot/cmd"], 3).contains("but there is `robot/cmd`"));
}

#[test]
fn rates_are_measured() {
    let sandbox = Sandbox::new();
    let schema = sandbox.file("pose.idl", POSE);
    let _publisher = sandbox.spawn(&[
        "topic",
        "pub",
        "pose",
        "demo::Pose",
        r#"{"image": [1, 2, 3]}"#,
        "--schema",
        &schema,
        "--rate",
        "200",
    ]);
    sandbox.wait_for_topic("pose");
    let last = |command: &str| {
        let output = sandbox.run(&["--json", "topic", command, "pose", "-n", "100", "--timeout", "10"]);
        let text = text(&output);
        serde_json::from_str::<Value>(text.lines().last().unwrap()).unwrap()
    };
    let rate = last("hz")["rate_hz"].as_f64().unwrap();
    assert!((50.0..=220.0).contains(&rate), "{rate} Hz, published at 200 Hz");
    let bandwidth = last("bw");
    // 64 bytes of head (8 + 20 + 20 + 16), 3 of body.
    assert_eq!(bandwidth["mean_bytes"], 67);
    let delay = last("delay");
    assert!(delay["p50_ns"].as_u64().unwrap() < 1_000_000_000, "{delay}");
    assert_eq!(delay["messages"], 100);
}

#[test]
fn top_takes_a_snapshot_without_taking_part() {
    let sandbox = Sandbox::new();
    let empty = json(&sandbox.run(&["--json", "top", "--interval", "0.05"]));
    assert_eq!((&empty["topics"], &empty["nodes"]), (&serde_json::json!([]), &0.into()));
    let schema = sandbox.file("pose.idl", POSE);
    let message = r#"{"image": [1, 2, 3]}"#;
    let _publisher =
        sandbox.spawn(&["topic", "pub", "pose", "demo::Pose", message, "--schema", &schema, "--rate", "200"]);
    sandbox.wait_for_topic("pose");
    let snapshot = json(&sandbox.run(&["--json", "top", "--interval", "1"]));
    let pose = &snapshot["topics"][0];
    assert_eq!(
        (&pose["name"], &pose["publishers"], &pose["subscribers"]),
        (&"pose".into(), &1.into(), &0.into())
    );
    let rate = pose["rate_hz"].as_f64().unwrap();
    assert!((50.0..=220.0).contains(&rate), "{rate} Hz, published at 200 Hz");
    assert!(
        pose["samples"].as_u64().unwrap() > 10 && pose["p50_ns"].as_u64() <= pose["p99_ns"].as_u64(),
        "{pose}"
    );
    // 67 bytes each: see above.
    let bandwidth = pose["bytes_per_second"].as_f64().unwrap();
    assert!((bandwidth - 67.0 * rate).abs() < 1e-6, "{pose}");
    assert_eq!(snapshot["domains"][0]["domain"], "host");
    let people = text(&sandbox.run(&["top", "--interval", "0.2"]));
    assert!(people.starts_with("TOPIC") && people.contains("pose"), "{people}");
}

#[test]
fn memory_domains_are_listed_and_checked() {
    let sandbox = Sandbox::new();
    let list = json(&sandbox.run(&["--json", "domain", "list"]));
    let domains = list["domains"].as_array().unwrap();
    assert_eq!((&domains[0]["domain"], &domains[0]["present"]), (&"host".into(), &true.into()));
    for domain in domains {
        let absent = domain["present"] == false;
        assert_eq!(domain["reason"].is_string(), absent, "an absent domain has a reason: {domain}");
        assert_eq!(domain["name"].is_null(), absent, "{domain}");
    }
    assert!(text(&sandbox.run(&["domain", "list"])).starts_with("DOMAIN"));
    let doctor = sandbox.run(&["--json", "doctor"]);
    let doctor: Value = serde_json::from_slice(&doctor.stdout).unwrap();
    let checks = doctor["checks"].as_array().unwrap().iter().filter(|c| c["name"] == "memory domain");
    assert_eq!(checks.count(), domains.len());
}

#[test]
fn silence_ends_with_its_exit_code() {
    let sandbox = Sandbox::new();
    let schema = sandbox.file("pose.idl", POSE);
    // Publishes once, then waits for the next publication.
    let _publisher = sandbox.spawn(&[
        "topic",
        "pub",
        "pose",
        "demo::Pose",
        "--schema",
        &schema,
        "--rate",
        "0.001",
        "--wait",
        "0.01",
    ]);
    sandbox.wait_for_topic("pose");
    let output = sandbox.run(&["topic", "echo", "pose", "--timeout", "0.3"]);
    assert_eq!(output.status.code(), Some(4), "{output:?}");
    assert!(String::from_utf8_lossy(&output.stderr).contains("no message on `pose` for 300 ms"));
}

/// A listener reads messages without a publisher of the same version, and does not exclude other versions.
#[test]
fn regions_are_echoed_in_several_versions() {
    let sandbox = Sandbox::new();
    let schema = |name: &str, members: &str| {
        let text =
            format!("module demo {{ @region @appendable struct Profile {{ uint64 id; {members} }}; }};");
        let schema = Loader::new().file(sandbox.file(name, &text)).load().unwrap();
        let root = schema.find("demo::Profile").unwrap();
        TypeDescription {
            name: "demo::Profile".to_owned(),
            schema: schema.canonical(root),
            schema_hash: schema.schema_hash(root),
            layout_hash: 7,
            encoding: Encoding::Region,
            fixed_size: 0,
            user_header_size: 0,
        }
    };
    let node = Node::in_root("test", Root::at(sandbox.root(), None)).unwrap();
    let join = |description| RawSubscriber::create(&node, "profiles", description, Default::default());
    let (older, newer) = (schema("older.idl", ""), schema("newer.idl", "string name;"));
    let _older = join(&older).unwrap();
    let mut first = sandbox.spawn(&["topic", "echo", "profiles", "--timeout", "1"]);
    let begin = Instant::now();
    let listening = || {
        inspect::topic(&Root::at(sandbox.root(), None), "profiles").unwrap().unwrap().subscribers.len() == 2
    };
    while !listening() {
        assert!(begin.elapsed() < Duration::from_secs(20), "no listener has joined");
        std::thread::sleep(Duration::from_millis(1));
    }
    let _newer = join(&newer).unwrap();
    let second = sandbox.run(&["topic", "echo", "profiles", "--timeout", "0.1"]);
    for output in [second, first.wait(Duration::from_secs(10))] {
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(said.contains("no message on `profiles`"), "{said}");
    }
}

#[test]
fn files_of_a_killed_process_are_found_and_removed() {
    let sandbox = Sandbox::new();
    let schema = sandbox.file("pose.idl", POSE);
    let mut publisher =
        sandbox.spawn(&["topic", "pub", "pose", "demo::Pose", "--schema", &schema, "--rate", "100"]);
    sandbox.wait_for_topic("pose");
    publisher.kill();
    assert!(!sandbox.files().is_empty());
    let doctor = json(&sandbox.run(&["--json", "doctor"]));
    let leftovers = doctor["checks"].as_array().unwrap().iter().find(|c| c["name"] == "leftovers").unwrap();
    assert_eq!(leftovers["status"], "warn");
    let dry = json(&sandbox.run(&["--json", "clean", "--dry-run"]));
    assert_eq!(dry["topics"], serde_json::json!(["pose"]));
    assert_eq!(dry["nodes"].as_array().unwrap().len(), 1);
    assert!(!sandbox.files().is_empty(), "a dry run removes nothing");
    let clean = json(&sandbox.run(&["--json", "clean"]));
    assert_eq!((&clean["topics"], &clean["nodes"]), (&dry["topics"], &dry["nodes"]));
    assert_eq!(sandbox.files(), Vec::<String>::new());
}

#[test]
fn a_closed_pipe_is_not_an_error() {
    let sandbox = Sandbox::new();
    let schema = sandbox.file("pose.idl", POSE);
    let _publisher =
        sandbox.spawn(&["topic", "pub", "pose", "demo::Pose", "--schema", &schema, "--rate", "500"]);
    sandbox.wait_for_topic("pose");
    let mut echo = sandbox.spawn(&["topic", "echo", "pose"]);
    let mut reader = BufReader::new(echo.take_stdout());
    let mut line = String::new();
    reader.read_line(&mut line).unwrap();
    drop(reader);
    let output = echo.wait(Duration::from_secs(10));
    assert_eq!((output.status.code(), String::from_utf8_lossy(&output.stderr).as_ref()), (Some(0), ""));
}

#[test]
fn schemas_are_checked_hashed_and_shown() {
    let sandbox = Sandbox::new();
    let good = sandbox.file("pose.idl", POSE);
    assert_eq!(
        text(&sandbox.run(&["schema", "check", &good])),
        "1 type(s), 0 service(s), 0 action(s): no mistakes.\n"
    );
    let hash = json(&sandbox.run(&["--json", "schema", "hash", &good]));
    assert_eq!(hash["type"], "demo::Pose");
    assert_eq!(hash["schema_hash"].as_str().unwrap().len(), 16);
    let shown = text(&sandbox.run(&["schema", "show", &good]));
    assert!(shown.contains("@bulk"), "{shown}");
    let again = sandbox.file("again.idl", &shown);
    let hash_again = json(&sandbox.run(&["--json", "schema", "hash", &again]));
    assert_eq!(hash, hash_again, "the shown text is the same type");

    let bad =
        sandbox.file("bad.idl", "module demo {\n  @flat struct Scan { sequence<float> ranges; };\n};\n");
    let output = sandbox.run(&["schema", "check", &bad]);
    assert_eq!(output.status.code(), Some(1));
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(error.contains("bad.idl:2") && error.contains("ranges"), "{error}");
    let output = sandbox.run(&["--json", "schema", "check", &bad]);
    let error: Value = serde_json::from_slice(&output.stderr).unwrap();
    assert_eq!((&error["diagnostics"][0]["line"], &error["code"]), (&2.into(), &1.into()));
}

#[test]
fn every_command_has_completions_and_a_manual_page() {
    let sandbox = Sandbox::new();
    let help = String::from_utf8(sandbox.run(&["--help"]).stdout).unwrap();
    let groups = help.lines().skip_while(|it| *it != "See what runs:").take_while(|it| *it != "Options:");
    let listed = groups.filter_map(|it| it.strip_prefix("  ").filter(|it| !it.starts_with(' ')));
    let commands: Vec<&str> = listed.filter_map(|it| it.split_whitespace().next()).collect();
    assert!(commands.contains(&"topic") && commands.contains(&"completions"), "{commands:?}");
    let folder = sandbox.path("man");
    assert!(sandbox.run(&["man", &folder]).status.success());
    let pages: Vec<String> = std::fs::read_dir(&folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    for command in commands.iter().filter(|it| **it != "help") {
        assert!(pages.contains(&format!("situ-{command}.1")), "{command}: {pages:?}");
        for shell in ["bash", "zsh", "fish"] {
            let script = String::from_utf8(sandbox.run(&["completions", shell]).stdout).unwrap();
            assert!(script.contains(command), "{command}, {shell}");
        }
    }
    assert!(!pages.iter().any(|it| it.contains("part")), "{pages:?}");
}

#[test]
fn code_is_generated_once() {
    let sandbox = Sandbox::new();
    let schema = sandbox.file("pose.idl", POSE);
    for lang in ["rust", "cpp"] {
        let out = sandbox.path(&format!("out-{lang}"));
        let arguments = ["--json", "gen", "--lang", lang, "--out", &out, &schema];
        let first = json(&sandbox.run(&arguments));
        let files = first["files"].as_array().unwrap();
        assert!(!files.is_empty());
        assert_eq!(first["changed"].as_u64().unwrap(), files.len() as u64);
        assert!(std::fs::read_to_string(files[0].as_str().unwrap()).unwrap().contains("Pose"));
        assert_eq!(json(&sandbox.run(&arguments))["changed"], 0, "a second run changes nothing");
    }
}

#[test]
fn generated_rust_replaces_only_files_from_the_same_sources() {
    let sandbox = Sandbox::new();
    let (pose, turn) =
        (sandbox.file("pose.idl", POSE), sandbox.file("turn.idl", "struct Turn { double by; };"));
    let out = sandbox.path("out");
    let file = format!("{out}/messages.rs");
    let run = |more: &[&str]| sandbox.run(&[&["gen", "--lang", "rust", "--out", &out], more].concat());
    let holds = |name: &str| std::fs::read_to_string(&file).unwrap().contains(&format!("struct {name}"));
    assert!(run(&[&pose]).status.success());
    let refused = run(&[&turn]);
    assert!(!refused.status.success() && holds("Pose") && !holds("Turn"));
    let error = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(error.contains("pose.idl") && error.contains("turn.idl") && error.contains("--force"), "{error}");
    // The same files may now have different content.
    sandbox.file("pose.idl", "struct Pose { double x; }; struct Speed { double x; };");
    assert!(run(&[&pose]).status.success() && holds("Speed"));
    assert!(run(&["--force", &pose, &turn]).status.success() && holds("Pose") && holds("Turn"));
    std::fs::write(&file, "// by hand").unwrap();
    assert!(!run(&[&pose, &turn]).status.success());
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "// by hand");
}

#[test]
fn cpp_is_generated_into_a_namespace_and_rust_is_not() {
    let sandbox = Sandbox::new();
    let schema = sandbox.file("pose.idl", POSE);
    let out = sandbox.path("out");
    let run = |lang: &str| {
        sandbox.run(&["--json", "gen", "--lang", lang, "--namespace", "robots", "--out", &out, &schema])
    };
    let files = json(&run("cpp"))["files"].clone();
    for file in files.as_array().unwrap() {
        let file = file.as_str().unwrap();
        assert!(file.starts_with(&format!("{out}/robots/")), "{file}");
        assert!(std::fs::read_to_string(file).unwrap().contains("namespace robots"), "{file}");
    }
    let refused = run("rust");
    let error = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(!refused.status.success() && error.contains("--namespace is for --lang cpp"), "{error}");
}

#[test]
fn proto_files_with_one_cpp_name_for_two_messages_are_refused() {
    let sandbox = Sandbox::new();
    let file =
        |name: &str, text: &str| sandbox.file(name, &format!("syntax = \"proto3\"; package p; {text}"));
    let nested = file("ü.proto", "message C { message D {} }");
    let flat = file("flat.proto", "message C_D {}");
    let out = sandbox.path("out");
    let run = |more: &[&str]| sandbox.run(&[&["gen", "--lang", "cpp", "--out", &out], more].concat());
    let refused = run(&[&nested, &flat]);
    let error = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(!refused.status.success());
    for part in ["p.C.D (ü.proto)", "p.C_D (flat.proto)", "p::C_D", "import one file in the other"] {
        assert!(error.contains(part), "{part}: {error}");
    }
    // In one program, the file that imports the other can avoid its names.
    let flat = file("flat.proto", "import \"ü.proto\"; message C_D {}");
    let done = run(&[&nested, &flat]);
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
}

#[test]
fn proto_files_become_code_with_and_without_protoc() {
    let sandbox = Sandbox::new();
    let text =
        "syntax = \"proto3\"; package tour; message Place { string name = 1; map<string, Place> near = 2; }";
    let schema = sandbox.file("tour.proto", text);
    let folder = sandbox.path("");
    let out = sandbox.path("out");
    for (lang, file) in [("rust", "messages.rs"), ("cpp", "tour.situ.hpp")] {
        let depfile = sandbox.path("tour.d");
        let arguments =
            ["--json", "gen", "--lang", lang, "--out", &out, "--depfile", &depfile, "-I", &folder, &schema];
        let generated = json(&sandbox.run(&arguments));
        let path = format!("{out}/{file}");
        assert_eq!(generated["files"], serde_json::json!([path]));
        assert!(std::fs::read_to_string(&path).unwrap().contains("PlaceWriter"));
        assert!(std::fs::read_to_string(&depfile).unwrap().contains("tour.proto"));
    }
    // Groups are messages. Two fields may have the same JSON name if protoc allows it, and are distinguished
    // if it does not.
    let proto = |text: &str| {
        let schema = sandbox.file("rules.proto", text);
        let output = sandbox.run(&["gen", "--lang", "cpp", "--out", &out, &schema]);
        (output.status.success(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    let (done, error) = proto("syntax = \"proto2\"; message M { optional group G = 1 { } extensions 2; }");
    assert!(done, "{error}");
    let clash = "int32 foo_bar = 1; int32 /* here */ fooBar = 2 [deprecated = true];";
    let in_proto2 = clash.replace("int32 ", "optional int32 ");
    for legal in [
        format!("syntax = \"proto2\"; message M {{ {in_proto2} }}"),
        "syntax = \"proto2\"; message M { optional int32 y = 1; optional int32 x = 2 [json_name = \"y\"]; }"
            .to_owned(),
        format!(
            "edition = \"2023\"; message M {{ option deprecated_legacy_json_field_conflicts = true; {clash} }}"
        ),
        format!(
            "edition = \"2023\"; option features.json_format = LEGACY_BEST_EFFORT; message M {{ {clash} }}"
        ),
    ] {
        let (done, error) = proto(&legal);
        assert!(done, "{legal}: {error}");
    }
    for syntax in ["syntax = \"proto3\"", "edition = \"2023\""] {
        let (done, error) = proto(&format!("{syntax};\nmessage M {{ {clash} }}"));
        assert!(
            !done && error.contains("`foo_bar` and `fooBar` of `M` have the same JSON name, `fooBar`"),
            "{error}"
        );
        assert!(
            error.contains("rules.proto:2:49") && error.contains("LEGACY_BEST_EFFORT` allows it"),
            "{error}"
        );
    }
    let custom = "optional int32 a = 1 [json_name = \"c\"]; optional int32 b = 2 [json_name = \"c\"];";
    let (done, error) = proto(&format!("syntax = \"proto2\"; message M {{ {custom} }}"));
    assert!(!done && error.contains("give one of them another json_name"), "{error}");
    // Edition 2024 has a style of names, symbols local to their file, and imports for options only.
    for (text, expected) in [
        ("message a {}", "Message name `a` should be TitleCase"),
        ("message A { int32 aB = 1; }", "Field name `aB` should be lower_snake_case"),
        ("enum E { E_1 = 0; }", "Enum value name `E_1` should have a letter after each `_`"),
    ] {
        let (done, error) = proto(&format!("edition = \"2024\";\n{text}"));
        assert!(!done && error.contains(expected) && error.contains("rules.proto:2:"), "{error}");
        let (done, error) = proto(&format!(
            "edition = \"2024\";\noption features.enforce_naming_style = STYLE_LEGACY;\n{text}"
        ));
        assert!(done, "{error}");
    }
    sandbox.file(
        "hidden.proto",
        "edition = \"2024\"; package h; message Top { message In {} export message Seen {} } local message Own {}",
    );
    let user = |field: &str, import: &str| {
        proto(&format!("edition = \"2024\";\nimport {import} \"hidden.proto\";\nmessage A {{ {field} }}"))
    };
    let (done, error) = user("h.Top a = 1; h.Top.Seen b = 2;", "");
    assert!(done, "{error}");
    let (done, error) = user("h.Own a = 1;", "");
    assert!(!done && error.contains("`h.Own` is local to hidden.proto: it is marked `local`"), "{error}");
    assert!(error.contains("rules.proto:3:13"), "{error}");
    let (done, error) = user("h.Top.In a = 1;", "");
    assert!(!done && error.contains("default_symbol_visibility makes it local"), "{error}");
    let (done, error) = user("h.Top a = 1;", "option");
    assert!(!done && error.contains("imported only for its options"), "{error}");
    let (done, error) = user("int32 a = 1;", "option");
    assert!(done, "{error}");
    let header = std::fs::read_to_string(format!("{out}/rules.situ.hpp")).unwrap();
    assert!(!header.contains("hidden.situ.hpp"), "{header}");

    // A file with an edition: first with mistakes, then correct.
    let edition = |child: &str| {
        let text = format!("edition = \"2023\";\nmessage M {{\n  int32 a = 1;\n  {child}\n}}\n");
        let schema = sandbox.file("edition.proto", &text);
        let output = sandbox.run(&["gen", "--lang", "cpp", "--out", &out, &schema]);
        (output.status.success(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    let (_, error) = edition("Nobody b = 2;");
    assert!(error.contains("edition.proto:4:3") && error.contains("^^^^^^"), "{error}");
    let (done, error) = edition("M b = 2 [features.message_encoding = DELIMITED];");
    assert!(done, "{error}");
    let (_, error) = edition("repeated int32 b = 2 [features.repeated_field_encoding = LOOSE];");
    assert!(error.contains("no feature `repeated_field_encoding = LOOSE`"), "{error}");
    assert!(edition("repeated int32 b = 2 [features.repeated_field_encoding = EXPANDED];").0);
    let header = std::fs::read_to_string(format!("{out}/edition.situ.hpp")).unwrap();
    assert!(header.contains("void add_b(::std::int32_t value)"), "{header}");

    let protoc = |option: &str| {
        std::process::Command::new("protoc")
            .arg(concat!("--plugin=", env!("CARGO_BIN_EXE_protoc-gen-situ")))
            .arg(format!("--situ_out={option}{out}"))
            .args(["-I", &folder, "tour.proto"])
            .output()
    };
    let Ok(output) = protoc("") else {
        println!("SKIPPED: no protoc; run scripts/setup.sh cpp");
        return;
    };
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let header = std::fs::read_to_string(format!("{out}/tour.situ.hpp")).unwrap();
    assert!(header.contains("namespace tour {"), "{header}");
    assert!(protoc("lang=cpp,namespace=outer.inner:").unwrap().status.success());
    let header = std::fs::read_to_string(format!("{out}/tour.situ.hpp")).unwrap();
    assert!(header.contains("namespace outer::inner::tour {"), "{header}");
    assert!(protoc("lang=rust:").unwrap().status.success());
    let error = protoc("lang=cobol:").unwrap().stderr;
    assert!(String::from_utf8_lossy(&error).contains("unknown option `lang=cobol`"));
}

#[test]
fn doctor_answers_for_a_root_that_is_open_to_all() {
    use std::os::unix::fs::PermissionsExt;
    let sandbox = Sandbox::new();
    std::fs::create_dir_all(sandbox.root()).unwrap();
    std::fs::set_permissions(sandbox.root(), std::fs::Permissions::from_mode(0o777)).unwrap();
    let output = sandbox.run(&["--json", "doctor"]);
    assert_eq!(output.status.code(), Some(1));
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(report["healthy"], false);
}

#[test]
fn doctor_finds_topics_that_cannot_be_read() {
    let sandbox = Sandbox::new();
    let schema = sandbox.file("pose.idl", POSE);
    let _publisher =
        sandbox.spawn(&["topic", "pub", "pose", "demo::Pose", "--schema", &schema, "--rate", "100"]);
    sandbox.wait_for_topic("pose");
    std::fs::create_dir(format!("{}/topics/broken", sandbox.root())).unwrap();
    std::fs::write(format!("{}/topics/broken/topic", sandbox.root()), [0; 100]).unwrap();
    let output = sandbox.run(&["--json", "doctor"]);
    assert_eq!(output.status.code(), Some(1));
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    let topics = report["checks"].as_array().unwrap().iter().find(|c| c["name"] == "topics").unwrap();
    assert_eq!(topics["status"], "fail");
    assert!(topics["found"].as_str().unwrap().contains("broken"), "{topics}");
    assert!(topics["advice"].as_str().unwrap().contains("situ clean"), "{topics}");
}

#[test]
fn bench_prints_its_figures_and_leaves_nothing() {
    let sandbox = Sandbox::new();
    let figures = json(&sandbox.run(&["--json", "bench", "--seconds", "0.05"]));
    for figure in ["hop_64b", "hop_1mib", "wake_64b"] {
        assert!(figures[figure]["p50_ns"].as_u64().unwrap() > 0, "{figures}");
    }
    assert!(figures["throughput_per_second"].as_f64().unwrap() > 0.0);
    assert_eq!(sandbox.files(), Vec::<String>::new());
}

#[test]
fn the_graph_has_namespaces_graph_domains_and_user_data() {
    let sandbox = Sandbox::new();
    let root = Root::at(sandbox.root(), None);
    let options = NodeOptions {
        namespace: "/robot".to_owned(),
        user_data: vec![1, 0xee],
        root: Some(root),
        graph_domain: Some(7),
    };
    let node = Node::with_options("planner", options).unwrap();
    let description = TypeDescription {
        name: "demo::Pose".to_owned(),
        schema: "@final struct Pose {\n  uint64 value;\n}};\n".to_owned(),
        schema_hash: 7,
        layout_hash: 7,
        encoding: Encoding::Flat,
        fixed_size: 0,
        user_header_size: 0,
    };
    let qos = SubscriberQos { user_data: b"\x12\x34".to_vec(), ..SubscriberQos::default() };
    let subscriber = RawSubscriber::create(&node, "pose", &description, qos).unwrap();
    assert_eq!(text(&sandbox.run(&["graph"])), format!("No nodes in {}.\n", sandbox.root()));
    let here = |arguments: &[&str]| sandbox.run(&[&["--domain-id", "7"], arguments].concat());
    let shown = text(&here(&["graph"]));
    assert!(
        shown.starts_with("/robot/planner (") && shown.contains("\n  subscribes pose  demo::Pose\n"),
        "{shown}"
    );
    let dot = text(&here(&["graph", "--dot"]));
    assert!(dot.contains(&format!("topic0 -> node_{} [", node.id())), "{dot}");
    let graph = json(&here(&["--json", "graph"]));
    assert_eq!(
        (&graph["nodes"][0]["full_name"], &graph["nodes"][0]["user_data"]),
        (&"/robot/planner".into(), &"01ee".into())
    );
    let nodes = json(&here(&["--json", "node", "list"]));
    assert_eq!(
        (&nodes["nodes"][0]["name"], &nodes["nodes"][0]["namespace"]),
        (&"planner".into(), &"/robot".into())
    );
    for name in ["planner", "/robot/planner"] {
        let info = json(&here(&["--json", "node", "info", name]));
        assert_eq!(info["nodes"][0]["subscribes"][0]["topic"], "pose");
    }
    let info = json(&here(&["--json", "topic", "info", "pose", "--verbose"]));
    let endpoint = &info["subscribers"][0];
    assert_eq!((&endpoint["node"], &endpoint["user_data"]), (&"/robot/planner".into(), &"1234".into()));
    assert_eq!(endpoint["id"], subscriber.id().to_string());
    assert_eq!(here(&["topic", "info", "none", "--verbose"]).status.code(), Some(3));
    assert_eq!(sandbox.run(&["--domain-id", "x", "graph"]).status.code(), Some(2));
}
