//! `situ trace view`: shows a trace as numbers, and as a picture.

use std::path::Path;

use serde::Serialize;
use situ::layout::foreign::Foreign;
use situ::trace::reader::{TraceSummary, Troubles};

use super::file::read;
use super::picture::{self, TimeRange};
use crate::cli::ViewArgs;
use crate::commands::Context;
use crate::error::CliError;
use crate::output::table::{Cell, Column, Table};
use crate::output::units::duration;
use crate::output::{Output, Style};

#[derive(Serialize)]
struct Report {
    file: String,
    duration_ns: u64,
    packets: u64,
    events: u64,
    processes: Vec<Process>,
    topics: Vec<Topic>,
    slices: Vec<Slices>,
    counters: Vec<Counter>,
    losses: u64,
    without_state: u64,
    malformed: u64,
    damaged: u64,
    unread_bytes: u64,
    svg: Option<String>,
}

#[derive(Serialize)]
struct Process {
    name: String,
    pid: i32,
}

#[derive(Serialize)]
struct Topic {
    topic: String,
    published: u64,
    taken: u64,
    copied: u64,
    lost: u64,
    measured: u64,
    p50_ns: u64,
    p90_ns: u64,
    p99_ns: u64,
    max_ns: u64,
}

#[derive(Serialize)]
struct Slices {
    category: String,
    name: String,
    count: u64,
    total_ns: u64,
    p50_ns: u64,
    p99_ns: u64,
    max_ns: u64,
}

#[derive(Serialize)]
struct Counter {
    process: String,
    name: String,
    samples: u64,
    min: f64,
    max: f64,
    last: f64,
}

impl Report {
    fn new(file: &Path, summary: TraceSummary, svg: Option<&Path>) -> Self {
        let TraceSummary { duration_ns, packets, events, processes, names, topics, counters, troubles } =
            summary;
        Self {
            file: file.display().to_string(),
            duration_ns,
            packets,
            events,
            processes: processes.into_iter().map(|(name, pid)| Process { name, pid }).collect(),
            topics: topics
                .into_iter()
                .map(|it| Topic {
                    topic: it.topic,
                    published: it.published,
                    taken: it.taken,
                    copied: it.copied,
                    lost: it.lost,
                    measured: it.latency.count,
                    p50_ns: it.latency.p50_ns,
                    p90_ns: it.latency.p90_ns,
                    p99_ns: it.latency.p99_ns,
                    max_ns: it.latency.max_ns,
                })
                .collect(),
            slices: names
                .into_iter()
                .map(|it| Slices {
                    category: it.category,
                    name: it.name,
                    count: it.count,
                    total_ns: it.total_ns,
                    p50_ns: it.p50_ns,
                    p99_ns: it.p99_ns,
                    max_ns: it.max_ns,
                })
                .collect(),
            counters: counters
                .into_iter()
                .map(|it| Counter {
                    process: it.process,
                    name: it.name,
                    samples: it.samples,
                    min: it.min,
                    max: it.max,
                    last: it.last,
                })
                .collect(),
            losses: troubles.losses,
            without_state: troubles.without_state,
            malformed: troubles.malformed,
            damaged: troubles.damaged,
            unread_bytes: troubles.unread_bytes,
            svg: svg.map(|path| path.display().to_string()),
        }
    }
}

/// `situ trace view`.
pub fn run(context: &Context, arguments: &ViewArgs) -> Result<(), CliError> {
    let file = &arguments.file;
    let trace = read(file)?;
    if let Some(path) = &arguments.svg {
        let window = TimeRange::new(&trace, arguments.from, arguments.span);
        std::fs::write(path, picture::draw(&trace, window))
            .map_err(|error| CliError::Failed(format!("cannot write {}: {error}", path.display())))?;
    }
    let summary = TraceSummary::of(&trace);
    let output = &context.output;
    if output.is_json() {
        return Ok(output.record(&Report::new(file, summary, arguments.svg.as_deref()))?);
    }
    let most = if arguments.most == 0 { usize::MAX } else { arguments.most };
    output.text(text(output, &summary, most))?;
    if let Some(path) = &arguments.svg {
        output.line(format!("\nPicture: {}", path.display()))?;
    }
    Ok(())
}

fn text(output: &Output, summary: &TraceSummary, most: usize) -> String {
    let mut text = format!(
        "{}, {} events of {} processes: {}\n",
        duration(summary.duration_ns),
        summary.events,
        summary.processes.len(),
        summary
            .processes
            .iter()
            .map(|(name, pid)| format!("{} ({pid})", Foreign(name)))
            .collect::<Vec<_>>()
            .join(", ")
    );
    let mut section = |title: &str, table: String| {
        text.push_str(&format!("\n{}\n{table}", output.paint(Style::Strong, title)));
    };
    if !summary.topics.is_empty() {
        section("Messages, from publisher to subscriber", topics(output, summary, most));
    }
    if !summary.names.is_empty() {
        section("Longest slices", slices(output, summary, most));
    }
    if !summary.counters.is_empty() {
        section("Counters", counters(output, summary, most));
    }
    let longer = [summary.topics.len(), summary.names.len(), summary.counters.len()];
    if longer.iter().any(|length| *length > most) {
        text.push_str("\nSome rows are not shown: --most 0 shows all.\n");
    }
    for trouble in troubles(&summary.troubles) {
        text.push_str(&format!("\n{}\n", output.paint(Style::Warn, trouble)));
    }
    text
}

fn topics(output: &Output, summary: &TraceSummary, most: usize) -> String {
    let mut table = Table::new([
        Column::left("TOPIC").flexible(),
        Column::right("PUBLISHED").rank(4),
        Column::right("TAKEN"),
        Column::right("COPIES").rank(2),
        Column::right("LOST"),
        Column::right("P50"),
        Column::right("P90").rank(3),
        Column::right("P99"),
        Column::right("MAX"),
    ]);
    for topic in summary.topics.iter().take(most) {
        let latency = |ns: u64| if topic.latency.count == 0 { "-".to_owned() } else { duration(ns) };
        let lost = if topic.lost == 0 { Style::Plain } else { Style::Warn };
        table.row([
            topic.topic.as_str().into(),
            topic.published.to_string().into(),
            topic.taken.to_string().into(),
            topic.copied.to_string().into(),
            Cell::styled(topic.lost.to_string(), lost),
            latency(topic.latency.p50_ns).into(),
            latency(topic.latency.p90_ns).into(),
            latency(topic.latency.p99_ns).into(),
            latency(topic.latency.max_ns).into(),
        ]);
    }
    table.render(output)
}

fn slices(output: &Output, summary: &TraceSummary, most: usize) -> String {
    let mut table = Table::new([
        Column::left("SLICE").flexible(),
        Column::left("CATEGORY").flexible().rank(3),
        Column::right("COUNT"),
        Column::right("TOTAL"),
        Column::right("P50").rank(1),
        Column::right("P99"),
        Column::right("MAX"),
    ]);
    for slices in summary.names.iter().take(most) {
        table.row([
            slices.name.as_str().into(),
            slices.category.as_str().into(),
            slices.count.to_string().into(),
            duration(slices.total_ns).into(),
            duration(slices.p50_ns).into(),
            duration(slices.p99_ns).into(),
            duration(slices.max_ns).into(),
        ]);
    }
    table.render(output)
}

fn counters(output: &Output, summary: &TraceSummary, most: usize) -> String {
    let mut table = Table::new([
        Column::left("COUNTER").flexible(),
        Column::left("PROCESS").flexible().rank(1),
        Column::right("VALUES").rank(2),
        Column::right("MIN"),
        Column::right("MAX"),
        Column::right("LAST"),
    ]);
    for counter in summary.counters.iter().take(most) {
        table.row([
            counter.name.as_str().into(),
            counter.process.as_str().into(),
            counter.samples.to_string().into(),
            counter.min.to_string().into(),
            counter.max.to_string().into(),
            counter.last.to_string().into(),
        ]);
    }
    table.render(output)
}

fn troubles(troubles: &Troubles) -> Vec<String> {
    let all = [
        (troubles.losses, "times packets were lost: record with a larger --buffer, or fewer --category"),
        (troubles.without_state, "packets need names that the file does not contain"),
        (troubles.malformed, "packets are malformed"),
        (troubles.damaged, "times the trace memory of a program was damaged: packets are missing"),
        (
            troubles.unread_bytes,
            "bytes at the end are an incomplete packet: the recorder was probably killed",
        ),
    ];
    all.iter().filter(|(count, _)| *count > 0).map(|(count, what)| format!("{count} {what}")).collect()
}
