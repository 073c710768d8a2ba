//! The traces that the tracing example writes in each language, read packet by packet as Perfetto's trace
//! processor reads them.

#[allow(dead_code, reason = "messages of another crate's tests, of which this one needs a part")]
#[path = "../../crates/situ-trace/tests/track_event/perfetto.rs"]
mod perfetto;
#[allow(dead_code, reason = "as above")]
#[path = "../../crates/situ-trace/tests/track_event/rules.rs"]
mod rules;
#[path = "../../crates/situ-trace/tests/track_event/strict.rs"]
mod strict;

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use perfetto::Value;
use rules::Checked;
use situ::memory::Root;
use situ::trace::{Collector, CollectorOptions};
use situ_testkit::Scratch;

/// The number of attempts until a trace has everything: a program does not wait for its recorder.
const RUNS: usize = 20;

/// A trace of one run.
fn record(program: &Path, language: &str) -> Vec<u8> {
    let scratch = Scratch::new(&format!("traces-{language}"));
    let root = Root::at(scratch.path(), None);
    root.prepare_only(&[]).unwrap();
    let file = scratch.join("run.pftrace");
    let collector = Collector::start(&root, CollectorOptions::to_file(&file)).unwrap();
    let run = Command::new(program).env("SITU_ROOT", scratch.path()).stdout(Stdio::null()).status();
    assert!(run.unwrap().success(), "{}", program.display());
    collector.stop().unwrap();
    std::fs::read(&file).unwrap()
}

/// Runs the example until a trace has its last steps. The rules are checked by reading, in every run.
fn check(program: &Path, language: &str) {
    for _ in 0..RUNS {
        let trace = Checked::read(&record(program, language));
        let steps = trace.named("step");
        let moments: Vec<_> = trace.events.iter().filter(|event| event.name == "turn").collect();
        if steps.len() < 3 || moments.is_empty() {
            continue;
        }
        for step in steps {
            assert_eq!((step.category.as_str(), &step.flows[..]), ("planner", &[1][..]), "{language}");
            let [(name, value)] = &step.arguments[..] else { panic!("{language}: {step:?}") };
            assert!(
                name == "step" && matches!(value, Value::Int(_) | Value::Uint(_)),
                "{language}: {value:?}"
            );
        }
        let reason = ("reason".to_owned(), Value::Text("the end of the road".to_owned()));
        assert!(moments.iter().all(|moment| moment.arguments == [reason.clone()]), "{language}: {moments:?}");
        let logged: Vec<_> =
            trace.events.iter().filter_map(|event| Some((event, event.log.as_ref()?))).collect();
        // The poses 8 and 9 are so far away.
        assert!(!logged.is_empty() && logged.len() <= 2, "{language}: {logged:?}");
        for (event, log) in logged {
            assert_eq!((event.kind, event.category.as_str(), event.name.as_str()), (3, "log", "warn"));
            assert!(log.priority == 5 && event.arguments.is_empty(), "{language}: {event:?}");
            assert!(
                ["the road ends at 8", "the road ends at 9"].contains(&&*log.text),
                "{language}: {log:?}"
            );
            let (file, line) = log.place.clone().expect("a place");
            assert!(file.contains("examples/tracing/tracing.") && line > 15, "{language}: {file}:{line}");
        }
        assert!(trace.counters.values().any(|(name, _)| name == "far"), "{language}");
        assert!(!trace.named("publish tracing/poses").is_empty(), "{language}: what the bus does");
        return;
    }
    panic!("{language}: no trace of {RUNS} has what the program did");
}

fn built(name: &str) -> Option<PathBuf> {
    let folder = std::env::var_os("SITU_CPP_EXAMPLES").map(PathBuf::from);
    let folder = folder
        .unwrap_or_else(|| PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../build/cpp/examples")));
    let program = folder.join(name);
    if !program.is_file() {
        eprintln!("SKIPPED: {} is not built", program.display());
        return None;
    }
    Some(program)
}

#[test]
fn a_trace_of_rust_keeps_the_rules() {
    check(Path::new(env!("CARGO_BIN_EXE_tracing")), "rust");
}

#[test]
fn a_trace_of_cpp_keeps_the_rules() {
    built("tracing").iter().for_each(|program| check(program, "cpp"));
}

#[test]
fn a_trace_of_c_keeps_the_rules() {
    built("tracing-c").iter().for_each(|program| check(program, "c"));
}
