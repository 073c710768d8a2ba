//! `situ doctor`: checks whether this machine is ready, and gives advice if it is not.
//!
//! ```text
//!   machine, kernel, domains        the properties of the machine
//!   shared_memory, leftovers        the directory in which messages lie
//!   topics, waiting, removed        the running system
//! ```

mod domains;
mod kernel;
mod leftovers;
mod machine;
mod removed;
mod shared_memory;
mod topics;
mod waiting;

use serde::Serialize;
use situ::layout::foreign::Foreign;

use crate::commands::Context;
use crate::error::CliError;
use crate::output::table::{Cell, Column, Table};
use crate::output::{Output, Style};

/// The result of a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    /// Good.
    Ok,
    /// Works, with a drawback.
    Warn,
    /// Does not work.
    Fail,
}

/// One check.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Check {
    name: &'static str,
    status: Status,
    found: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    advice: Option<String>,
}

impl Check {
    /// A check with a good result.
    pub fn ok(name: &'static str, found: impl Into<String>) -> Self {
        Self { name, status: Status::Ok, found: found.into(), advice: None }
    }

    /// A check that found a drawback.
    pub fn warn(name: &'static str, found: impl Into<String>, advice: impl Into<String>) -> Self {
        Self { name, status: Status::Warn, found: found.into(), advice: Some(advice.into()) }
    }

    /// A check that failed.
    pub fn fail(name: &'static str, found: impl Into<String>, advice: impl Into<String>) -> Self {
        Self { name, status: Status::Fail, found: found.into(), advice: Some(advice.into()) }
    }
}

#[derive(Serialize)]
struct Report {
    healthy: bool,
    root: String,
    checks: Vec<Check>,
}

/// Runs every check. The exit code is 1 if one failed.
pub fn run(context: &Context) -> Result<(), CliError> {
    let (root, output) = (context.root.path(), &context.output);
    let mut checks = shared_memory::checks(&context.root);
    checks.push(leftovers::check(&context.root));
    checks.extend(topics::checks(&context.root));
    checks.push(removed::check(root));
    checks.extend(waiting::check(&context.root));
    checks.extend(kernel::checks());
    checks.extend(machine::checks());
    checks.extend(domains::checks());
    let worst = checks.iter().map(|c| c.status).max().unwrap_or(Status::Ok);
    if output.is_json() {
        let report = Report { healthy: worst != Status::Fail, root: root.display().to_string(), checks };
        output.record(&report)?;
    } else {
        output.text(render(&checks, output))?;
        output.line("")?;
        output.line(verdict(&checks, output))?;
    }
    if worst == Status::Fail { Err(CliError::CheckFailed) } else { Ok(()) }
}

fn render(checks: &[Check], output: &Output) -> String {
    let mut table = Table::new([Column::left("CHECK"), Column::left(""), Column::left("FOUND").flexible()]);
    for check in checks {
        let (mark, style) = match check.status {
            Status::Ok => ("ok", Style::Good),
            Status::Warn => ("warn", Style::Warn),
            Status::Fail => ("FAIL", Style::Bad),
        };
        table.row([check.name.into(), Cell::styled(mark, style), check.found.as_str().into()]);
    }
    let mut text = table.render(output);
    for check in checks.iter().filter(|c| c.status != Status::Ok) {
        let style = if check.status == Status::Fail { Style::Bad } else { Style::Warn };
        text.push('\n');
        text.push_str(&format!("{}: {}\n", output.paint(style, check.name), Foreign(&check.found)));
        if let Some(advice) = &check.advice {
            text.push_str(&format!("  {advice}\n"));
        }
    }
    text
}

fn verdict(checks: &[Check], output: &Output) -> String {
    let count = |status| checks.iter().filter(|c| c.status == status).count();
    match (count(Status::Fail), count(Status::Warn)) {
        (0, 0) => output.paint(Style::Good, "This machine is ready."),
        (0, warnings) => format!("This machine is ready; {warnings} warning(s)."),
        (failures, _) => {
            output.paint(Style::Bad, format!("This machine is not ready: {failures} check(s) failed."))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::ColorChoice;

    #[test]
    fn advice_follows_the_table() {
        let output = Output::detect(false, ColorChoice::Never);
        let checks = [Check::ok("a", "fine"), Check::fail("b", "0 B", "Make it larger.")];
        let text = render(&checks, &output);
        assert!(text.contains("a      ok    fine\n"), "{text}");
        assert!(text.ends_with("\nb: 0 B\n  Make it larger.\n"), "{text}");
        assert_eq!(verdict(&checks, &output), "This machine is not ready: 1 check(s) failed.");
    }
}
