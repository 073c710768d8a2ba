//! `situ trace record` and `situ trace stop`.

use std::path::Path;
use std::time::{Duration, Instant};

use serde::Serialize;
use situ::trace::{self, Collector, CollectorOptions, Summary, Trigger};

use crate::cli::RecordArgs;
use crate::commands::{Context, Interrupt};
use crate::error::CliError;
use crate::output::table::{Cell, Column, Table};
use crate::output::units::{bytes, duration};
use crate::output::{LiveBlock, Style};

/// The interval between checks for Ctrl-C and updates of the live line.
const GLANCE: Duration = Duration::from_millis(100);
/// The time limit for a recorder to end.
const TIMEOUT: Duration = Duration::from_secs(10);

/// The result of a recording.
#[derive(Debug, Serialize)]
pub struct Report {
    /// The file.
    pub file: String,
    /// The length of the recording.
    pub duration_ns: u64,
    /// Packets in the file.
    pub packets: u64,
    /// Bytes of the file.
    pub bytes: u64,
    /// Packets that were lost because a program wrote faster than the recorder read.
    pub lost: u64,
    /// Packets that a ring in memory discarded.
    pub evicted: u64,
    /// Scheduling events of the kernel, and how many of them the kernel lost.
    pub scheduling_events: u64,
    pub scheduling_lost: u64,
    /// The files that were written.
    pub files: Vec<String>,
    /// The processes that took part.
    pub processes: Vec<ProcessReport>,
}

/// One process of a recording.
#[derive(Debug, Serialize)]
pub struct ProcessReport {
    name: String,
    pid: u32,
    threads: usize,
    packets: u64,
    lost: u64,
    /// Parts of its shared memory that were dropped because they were damaged.
    damaged: u64,
    /// Why the rest of its shared memory was not read.
    unread: Option<String>,
}

impl Report {
    /// Creates the report from the collector's summary.
    pub fn new(file: &Path, time: Duration, summary: &Summary) -> Self {
        let processes = summary.producers.iter().map(|producer| ProcessReport {
            name: producer.name.clone(),
            pid: producer.pid,
            threads: producer.writers.len(),
            packets: producer.writers.iter().map(|writer| writer.packets).sum(),
            lost: producer.writers.iter().map(|writer| writer.lost.packets).sum::<u64>()
                + producer.unregistered_writers.packets,
            damaged: producer.malformed,
            unread: producer.given_up.clone(),
        });
        Self {
            file: file.display().to_string(),
            duration_ns: u64::try_from(time.as_nanos()).unwrap_or(u64::MAX),
            packets: summary.packets,
            bytes: summary.bytes,
            lost: summary.lost().packets,
            evicted: summary.evicted,
            scheduling_events: summary.scheduling_events,
            scheduling_lost: summary.scheduling_lost,
            files: summary.files.iter().map(|file| file.display().to_string()).collect(),
            processes: processes.collect(),
        }
    }
}

/// `situ trace record`.
pub fn run(context: &Context, arguments: &RecordArgs) -> Result<(), CliError> {
    let interrupt = Interrupt::listen()?;
    let mut options = match arguments.ring {
        None => CollectorOptions::to_file(&arguments.output),
        Some(bytes) => CollectorOptions::to_ring(&arguments.output, bytes as usize),
    };
    options.ring_bytes = arguments.buffer as usize;
    options.kept.clone_from(&arguments.keep);
    options.scheduling = arguments.scheduling;
    options.trigger = (!arguments.trigger.is_empty()).then(|| Trigger {
        events: arguments.trigger.clone(),
        after: arguments.after,
        files: arguments.files,
    });
    let collector = Collector::start(&context.root, options.categories(arguments.categories.join(",")))
        .map_err(CliError::failed)?;
    let begin = Instant::now();
    let output = &context.output;
    let file = arguments.output.display();
    if !output.is_json() && !output.is_live() {
        output.line(format!("recording into {file}; Ctrl-C or `situ trace stop` ends it"))?;
    }
    let mut block = LiveBlock::default();
    let is_over = || {
        let is_late = arguments.duration.is_some_and(|duration| begin.elapsed() >= duration);
        is_late || interrupt.is_set()
    };
    while !is_over() {
        if output.is_live() {
            let time = duration(begin.elapsed().as_nanos() as u64);
            let processes = collector.producers();
            let line = format!("recording into {file}: {time}, {processes} processes; Ctrl-C ends it\n");
            output.draw(&mut block, &line)?;
        }
        let left = arguments.duration.map(|duration| duration.saturating_sub(begin.elapsed()));
        if collector.wait(Some(left.unwrap_or(GLANCE).min(GLANCE))) {
            break;
        }
    }
    if output.is_live() {
        output.draw(&mut block, "")?;
    }
    let time = begin.elapsed();
    let summary = collector.stop().map_err(CliError::failed)?;
    show(context, &Report::new(&arguments.output, time, &summary))
}

fn show(context: &Context, report: &Report) -> Result<(), CliError> {
    let output = &context.output;
    if output.is_json() {
        return Ok(output.record(report)?);
    }
    if report.files.is_empty() {
        return Ok(output.line("No event fired the trigger, so nothing was written.")?);
    }
    let files = report.files.join(", ");
    output.line(format!(
        "{}: {} packets, {}, {}",
        output.paint(Style::Strong, &files),
        report.packets,
        bytes(report.bytes),
        duration(report.duration_ns)
    ))?;
    if report.scheduling_lost > 0 {
        output.line(format!(
            "The kernel lost {} scheduling events, and {} are in the trace.",
            report.scheduling_lost, report.scheduling_events
        ))?;
    }
    if report.processes.is_empty() {
        output.line(
            "No process took part: no program with a node of this root ran, or all were started with SITU_TRACE=0, or by other \
             users without SITU_TRACE_OTHER_USERS=1.",
        )?;
        return Ok(());
    }
    let mut table = Table::new([
        Column::left("PROCESS").flexible(),
        Column::right("PID"),
        Column::right("THREADS"),
        Column::right("PACKETS"),
        Column::right("LOST"),
    ]);
    for process in &report.processes {
        let lost = if process.lost == 0 { Style::Plain } else { Style::Warn };
        table.row([
            process.name.as_str().into(),
            process.pid.to_string().into(),
            process.threads.to_string().into(),
            process.packets.to_string().into(),
            Cell::styled(process.lost.to_string(), lost),
        ]);
    }
    output.text(table.render(output))?;
    if report.lost > 0 {
        output.line("Packets were lost: record with a larger --buffer, or fewer --category.")?;
    }
    for process in &report.processes {
        let ProcessReport { name, damaged, unread, .. } = process;
        if *damaged > 0 {
            output.line(format!(
                "{name}: its trace memory was damaged {damaged} times, so packets are missing. A process of its user \
                 wrote over it."
            ))?;
        }
        if let Some(reason) = unread {
            output.line(format!("{name}: the rest of its trace memory was not read: {reason}."))?;
        }
    }
    if report.evicted > 0 {
        output.line(format!("{} older packets were not kept: see --ring.", report.evicted))?;
    }
    let first = report.files.first().unwrap_or(&report.file);
    output.line(format!("To view it: situ trace view {first}, or https://ui.perfetto.dev"))?;
    Ok(())
}

/// `situ trace stop`.
pub fn stop(context: &Context) -> Result<(), CliError> {
    let root = &context.root;
    let running = trace::running(root).filter(|_| trace::request_stop(root));
    let Some(session) = running else {
        let place = root.path().display();
        return Err(CliError::NotFound(format!("no trace is being recorded in {place}")));
    };
    let begin = Instant::now();
    while trace::running(root).is_some_and(|other| other.id == session.id) {
        if begin.elapsed() > TIMEOUT {
            let pid = session.collector_pid;
            return Err(CliError::TimedOut(format!("process {pid} still records after {TIMEOUT:?}")));
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    if context.output.is_json() {
        return Ok(context.output.record(&serde_json::json!({ "stopped": session.collector_pid }))?);
    }
    Ok(context.output.line(format!("Process {} has ended the recording.", session.collector_pid))?)
}
