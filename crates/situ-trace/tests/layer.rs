//! Spans and events of the crate `tracing` in the trace, decoded by another implementation of protobuf.

#[path = "track_event/perfetto.rs"]
mod perfetto;
#[path = "track_event/rules.rs"]
mod rules;
#[path = "track_event/session.rs"]
mod session;
#[path = "track_event/strict.rs"]
mod strict;

use perfetto::Value;
use rules::{Checked, Logged};
use session::Recording;
use tracing_subscriber::prelude::*;

fn work(number: u64) {
    let span =
        tracing::info_span!(target: "planner", "plan", number, goal = 2.5, result = tracing::field::Empty);
    span.record("result", "found");
    let _entered = span.entered();
    tracing::info!(target: "planner", yes = true, "a message of {}", number);
    tracing::error!(target: "planner", code = 7, reason = "no way");
    tracing::info!(target: "other", "not wanted");
    let _inner = tracing::debug_span!(target: "planner", "search", ?number).entered();
}

#[test]
fn spans_are_slices_and_events_are_messages_of_a_log() {
    let subscriber = tracing_subscriber::registry().with(situ_trace::layer::layer());
    let _guard = tracing::subscriber::set_default(subscriber);
    let recording = Recording::new();
    work(0);
    let bytes = recording.record("plan*", || (1..4).for_each(work));
    work(5);
    let trace = Checked::read(&bytes);
    let (plans, searches) = (trace.named("plan"), trace.named("search"));
    assert_eq!((plans.len(), searches.len()), (3, 3));
    for (index, (plan, search)) in plans.iter().zip(&searches).enumerate() {
        assert_eq!((plan.depth, search.depth, plan.category.as_str()), (0, 1, "planner"));
        let number = index as u64 + 1;
        let arguments = [
            ("number".to_owned(), Value::Uint(number)),
            ("goal".to_owned(), Value::Double(2.5)),
            ("result".to_owned(), Value::Text("found".to_owned())),
        ];
        assert_eq!(plan.arguments, arguments);
        assert_eq!(search.arguments, [("number".to_owned(), Value::Text(number.to_string()))]);
    }
    let moments: Vec<_> = trace.events.iter().filter(|it| it.kind == 3 && it.category == "planner").collect();
    assert_eq!(moments.len(), 6);
    let line = |text: &str| {
        let before = include_str!("layer.rs").split(text).next().unwrap();
        Some((file!().to_owned(), before.lines().count() as u32))
    };
    assert_eq!(moments[2].name, "info");
    assert_eq!(moments[2].arguments, [("yes".to_owned(), Value::Bool(true))]);
    let text = "a message of 2 yes=true".to_owned();
    let place = line("tracing::info!(target: \"planner\"");
    assert_eq!(moments[2].log, Some(Logged { priority: 4, text, place }));
    assert_eq!(moments[3].name, "error");
    let reason = ("reason".to_owned(), Value::Text("no way".to_owned()));
    assert_eq!(moments[3].arguments, [("code".to_owned(), Value::Int(7)), reason]);
    let (text, place) = ("code=7 reason=no way".to_owned(), line("tracing::error!(target"));
    assert_eq!(moments[3].log, Some(Logged { priority: 6, text, place }));
    assert!(trace.events.iter().all(|event| event.category != "other"));
}
