//! `situ trace trigger`.

use std::time::{Duration, Instant};

use situ::trace::{self, category, instant};

use crate::commands::Context;
use crate::error::CliError;

category!(TRIGGER, "trigger");

/// The time limit for this process to take part in the recording.
const TIMEOUT: Duration = Duration::from_secs(2);

/// Writes an event into the running recording.
pub fn run(context: &Context, event: &str) -> Result<(), CliError> {
    let root = &context.root;
    if trace::running(root).is_none() {
        let place = root.path().display();
        return Err(CliError::NotFound(format!("no trace is being recorded in {place}")));
    }
    trace::join(root, "situ trace trigger");
    let begin = Instant::now();
    while !TRIGGER.is_enabled() {
        if !trace::is_traced() {
            return Err(CliError::Failed(
                "this command takes no part in recordings: SITU_TRACE is 0, or there is no memory".into(),
            ));
        }
        if begin.elapsed() > TIMEOUT {
            return Err(CliError::TimedOut(
                "the recording does not record the category `trigger`: start it with `--category trigger` too".into(),
            ));
        }
        std::thread::sleep(Duration::from_millis(2));
    }
    instant!(TRIGGER, dynamic(event));
    if context.output.is_json() {
        return Ok(context.output.record(&serde_json::json!({ "event": event }))?);
    }
    Ok(context.output.line(format!("`{}` is in the trace.", situ::layout::foreign::Foreign(event)))?)
}
