//! Table `record`: what a recording costs beside a plain `write` of the same bytes and beside the crate
//! `mcap`, what a flashback of a camera costs, and how well `play` keeps the spacing of messages.
//!
//! The systems take turns in one process; the publisher is a process of its own. Each turn writes a new file
//! into the same folder, and removes it. All numbers are medians over the rounds; the ratios are those of a
//! round's turns.

mod flashback;
mod play;
mod systems;
mod topic;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;

use systems::{System, Turn};

/// A failure, for a person.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// A part of the measurement failed.
    #[error("{what}: {why}")]
    Failed {
        /// Which.
        what: &'static str,
        /// Why.
        why: String,
    },
}

impl Failure {
    /// A failure of a part.
    pub fn of(what: &'static str) -> impl Fn(&dyn std::fmt::Display) -> Self {
        move |why| Self::Failed { what, why: why.to_string() }
    }
}

/// Table `record`.
#[derive(Debug, Parser)]
struct Arguments {
    /// One JSON object a line
    #[arg(long)]
    json: bool,
    /// More and longer rounds
    #[arg(long)]
    full: bool,
    /// The folder for the files
    #[arg(long, default_value = ".")]
    folder: PathBuf,
    /// Only cases with this in their name
    #[arg(long, default_value = "")]
    only: String,
    /// The process that publishes, started by this program.
    #[arg(long, hide = true, num_args = 5)]
    publish: Vec<String>,
}

/// A number of the table.
struct Row {
    case: String,
    system: &'static str,
    metric: &'static str,
    value: f64,
}

/// The middle of some numbers.
fn median(mut numbers: Vec<f64>) -> f64 {
    numbers.sort_by(f64::total_cmp);
    numbers.get(numbers.len() / 2).copied().unwrap_or(f64::NAN)
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let result =
        if arguments.publish.is_empty() { run(&arguments) } else { topic::publish(&arguments.publish) };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("record: {failure}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: &Arguments) -> Result<(), Failure> {
    let mut rows = Vec::new();
    let rounds = if arguments.full { 15 } else { 6 };
    for (case, size, count) in [("1 MiB", 1 << 20, 1024), ("64 B", 64, 2_000_000)] {
        if !case.contains(&arguments.only) {
            continue;
        }
        let mut turns: Vec<(System, Vec<Turn>)> = System::ALL.map(|system| (system, Vec::new())).into();
        for round in 0..rounds {
            // Another one begins each round: the file that was removed last makes room for the next.
            for index in 0..turns.len() {
                let place = (round + index) % turns.len();
                let (system, turns) = &mut turns[place];
                eprintln!("record: {case}, round {} of {rounds}, {}", round + 1, system.name());
                turns.push(system.turn(&arguments.folder, size, count)?);
            }
        }
        let (_, situ) = &turns[0];
        for (system, own) in &turns {
            let mut add = |metric, of: &dyn Fn(&Turn) -> f64| {
                let value = median(own.iter().map(of).collect());
                rows.push(Row { case: case.to_owned(), system: system.name(), metric, value });
            };
            add("gb_per_s", &|turn| turn.bytes as f64 / turn.seconds / 1e9);
            add("msg_per_s", &|turn| count as f64 / turn.seconds);
            add("cpu_ns", &|turn| turn.cpu_seconds * 1e9 / count as f64);
            // Situ's speed by this system's, round by round, because load comes and goes.
            let ratios = situ.iter().zip(own).map(|(situ, other)| other.seconds / situ.seconds);
            let value = median(ratios.collect());
            rows.push(Row { case: case.to_owned(), system: system.name(), metric: "situ_ratio", value });
        }
    }
    let case = "play at 1 kHz";
    if case.contains(&arguments.only) {
        let (p50, p99) = play::spacing(&arguments.folder, if arguments.full { 10_000 } else { 5_000 })?;
        for (metric, value) in [("error_p50_us", p50), ("error_p99_us", p99)] {
            rows.push(Row { case: case.to_owned(), system: "situ", metric, value });
        }
    }
    let case = "flashback 1080p at 30 Hz";
    if case.contains(&arguments.only) {
        let (cpu_ns, percent) = flashback::cost(if arguments.full { 30 } else { 10 })?;
        for (metric, value) in [("cpu_ns", cpu_ns), ("cpu_percent", percent)] {
            rows.push(Row { case: case.to_owned(), system: "situ", metric, value });
        }
    }
    for Row { case, system, metric, value } in rows {
        if arguments.json {
            let value = (value * 1000.0).round() / 1000.0;
            let row = serde_json::json!({
                "table": "record", "case": case, "system": system, "metric": metric, "value": value
            });
            println!("{row}");
        } else {
            println!("{case:<26}{system:<8}{metric:<14}{value:>16.3}");
        }
    }
    Ok(())
}
