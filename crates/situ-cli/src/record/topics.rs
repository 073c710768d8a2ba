//! `situ record`: records topics.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant, SystemTime};

use serde::Serialize;
use situ::layout::foreign::Foreign;
use situ_record::{RecordOptions, RecordReport, Recorder, Selection, TopicCounts, WriterOptions};

use super::select::{select, writer};
use crate::cli::{RecordTopicsArgs, SelectionArgs};
use crate::commands::{Context, Interrupt};
use crate::error::{CliError, complain};
use crate::output::table::{Cell, Column, Table};
use crate::output::units::{bandwidth, bytes, duration};
use crate::output::{LiveBlock, Output, Style};

/// The interval between checks for Ctrl-C.
const GLANCE: Duration = Duration::from_millis(100);
/// The interval between updates of the live line.
const REDRAW: Duration = Duration::from_millis(250);

/// The result of a recording.
#[derive(Debug, Serialize)]
pub struct Report {
    files: Vec<FileRow>,
    duration_ns: u64,
    messages: u64,
    bytes: u64,
    /// Messages that were published and not taken.
    lost: u64,
    /// Those of them that were published before the recorder joined their topic.
    missed: u64,
    /// Messages that could not be read.
    unreadable: u64,
    /// Messages that could not be written.
    unwritten: u64,
    error: Option<String>,
    topics: Vec<TopicRow>,
}

#[derive(Debug, Serialize)]
pub struct FileRow {
    file: String,
    messages: u64,
    bytes: u64,
    complete: bool,
}

#[derive(Debug, Serialize)]
struct TopicRow {
    topic: String,
    #[serde(rename = "type")]
    type_name: String,
    messages: u64,
    bytes: u64,
    lost: u64,
    missed: u64,
    unreadable: u64,
}

impl FileRow {
    /// The rows of what a writer wrote.
    pub fn of(written: &situ_record::Written) -> Vec<Self> {
        let row = |file: &situ_record::FileReport| Self {
            file: file.path.display().to_string(),
            messages: file.statistics.messages,
            bytes: file.bytes,
            complete: file.complete,
        };
        written.files.iter().map(row).collect()
    }
}

impl Report {
    fn new(report: &RecordReport, time: Duration) -> Self {
        let row = |topic: &TopicCounts| TopicRow {
            topic: topic.topic.clone(),
            type_name: topic.type_name.clone(),
            messages: topic.messages,
            bytes: topic.bytes,
            lost: topic.lost,
            missed: topic.missed,
            unreadable: topic.unreadable,
        };
        let sum = |of: fn(&TopicCounts) -> u64| report.topics.iter().map(of).sum();
        Self {
            files: FileRow::of(&report.written),
            duration_ns: u64::try_from(time.as_nanos()).unwrap_or(u64::MAX),
            messages: report.written.files.iter().map(|file| file.statistics.messages).sum(),
            bytes: report.written.files.iter().map(|file| file.bytes).sum(),
            lost: sum(|topic| topic.lost),
            missed: sum(|topic| topic.missed),
            unreadable: sum(|topic| topic.unreadable),
            unwritten: report.written.unwritten,
            error: report.written.error.as_ref().map(ToString::to_string),
            topics: report.topics.iter().map(row).collect(),
        }
    }

    fn show(&self, output: &Output) -> Result<(), CliError> {
        if output.is_json() {
            return Ok(output.record(self)?);
        }
        if !self.topics.is_empty() {
            let mut table = Table::new([
                Column::left("TOPIC").flexible(),
                Column::left("TYPE").flexible().rank(1),
                Column::right("MESSAGES"),
                Column::right("SIZE"),
                Column::right("LOST"),
            ]);
            for topic in &self.topics {
                let lost = topic.lost + topic.unreadable;
                table.row([
                    Cell::styled(&topic.topic, Style::Strong),
                    topic.type_name.as_str().into(),
                    topic.messages.to_string().into(),
                    bytes(topic.bytes).into(),
                    Cell::styled(lost.to_string(), if lost == 0 { Style::Plain } else { Style::Bad }),
                ]);
            }
            output.text(table.render(output))?;
        }
        for file in &self.files {
            let name = output.paint(Style::Strong, Foreign(&file.file));
            output.line(format!("{name}: {} messages, {}", file.messages, bytes(file.bytes)))?;
        }
        if self.lost + self.unreadable + self.unwritten > 0 {
            output.line(format!(
                "Not recorded: {} overwritten before they were taken, {} published before their topic was \
                 joined, {} unreadable, {} not written.",
                self.lost - self.missed,
                self.missed,
                self.unreadable,
                self.unwritten
            ))?;
        }
        if let Some(file) = self.files.first() {
            output.line(format!(
                "To look: situ record info {0}; to play: situ play {0}",
                Foreign(&file.file)
            ))?;
        }
        Ok(())
    }
}

/// The topics of the command line. None is a mistake.
pub fn selection(arguments: &SelectionArgs) -> Result<Selection, CliError> {
    let SelectionArgs { topics, all, regex, exclude } = arguments;
    if !all && topics.is_empty() && regex.is_none() {
        return Err(CliError::Usage("name topics or patterns, or use -a for all topics".into()));
    }
    let patterns = if *all { &[] } else { topics.as_slice() };
    select(patterns, regex.as_deref().filter(|_| !all), exclude)
}

/// `situ record`.
pub fn run(context: &Context, arguments: &RecordTopicsArgs) -> Result<(), CliError> {
    let selection = selection(&arguments.selection)?;
    let interrupt = Interrupt::listen()?;
    let node = context.node()?;
    let how =
        WriterOptions { profile: "ros2".into(), queue_bytes: arguments.queue, ..writer(&arguments.file) };
    let options = RecordOptions {
        output: arguments.output.clone(),
        selection,
        project: arguments.project,
        services: arguments.services,
        writer: how,
    };
    let mut recorder = Recorder::start(&node, &context.root, options).map_err(CliError::failed)?;
    attach(&mut recorder, arguments)?;
    let begin = Instant::now();
    let output = &context.output;
    let file = arguments.output.display().to_string();
    if !output.is_json() && !output.is_live() {
        output.line(format!("recording into {}; Ctrl-C ends it", Foreign(&file)))?;
    }
    let is_over = || {
        let is_late = arguments.duration.is_some_and(|duration| begin.elapsed() >= duration);
        is_late || interrupt.is_set()
    };
    let mut live = Live::default();
    let mut failed = None;
    while !is_over() && failed.is_none() {
        failed = recorder.step(GLANCE).err();
        recorder.take_warnings().iter().for_each(complain);
        live.draw(output, &file, begin.elapsed(), &recorder)?;
    }
    live.clear(output)?;
    let report = recorder.finish();
    report.warnings.iter().for_each(complain);
    end(output, report, begin.elapsed())
}

/// Shows the result. What is missing makes the command fail.
fn end(output: &Output, report: RecordReport, time: Duration) -> Result<(), CliError> {
    Report::new(&report, time).show(output)?;
    match &report.written.error {
        Some(error) => Err(CliError::failed(error)),
        None if report.missing() > 0 => Err(CliError::CheckFailed),
        None => Ok(()),
    }
}

fn attach(recorder: &mut Recorder, arguments: &RecordTopicsArgs) -> Result<(), CliError> {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    let now = u64::try_from(now.as_nanos()).unwrap_or(u64::MAX);
    for path in &arguments.attach {
        let data = std::fs::read(path)
            .map_err(|error| CliError::Failed(format!("cannot read {}: {error}", path.display())))?;
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let kind = "application/octet-stream";
        recorder.writer().attachment(&name, kind, (now, now), data).map_err(CliError::failed)?;
    }
    if !arguments.meta.is_empty() {
        let values = arguments.meta.iter().cloned().collect();
        recorder.writer().metadata("situ", values).map_err(CliError::failed)?;
    }
    Ok(())
}

/// The live line.
#[derive(Default)]
struct Live {
    block: LiveBlock,
    drawn: Option<Instant>,
    before: u64,
}

impl Live {
    fn draw(
        &mut self,
        output: &Output,
        file: &str,
        time: Duration,
        recorder: &Recorder,
    ) -> Result<(), CliError> {
        let since = self.drawn.map_or(REDRAW, |drawn| drawn.elapsed());
        if !output.is_live() || since < REDRAW {
            return Ok(());
        }
        let counts = recorder.counts();
        let messages: u64 = counts.iter().map(|topic| topic.messages).sum();
        let lost: u64 = counts.iter().map(|topic| topic.lost + topic.unreadable).sum();
        let now = recorder.bytes();
        let rate = now.saturating_sub(self.before) as f64 / since.as_secs_f64().max(1e-3);
        let line = format!(
            "{}: {}, {} topics, {messages} messages, {}, {}, {lost} lost; Ctrl-C ends it\n",
            Foreign(file),
            duration(time.as_nanos() as u64),
            counts.len(),
            bytes(now),
            bandwidth(rate)
        );
        output.draw(&mut self.block, &line)?;
        (self.drawn, self.before) = (Some(Instant::now()), now);
        Ok(())
    }

    fn clear(&mut self, output: &Output) -> Result<(), CliError> {
        if output.is_live() {
            output.draw(&mut self.block, "")?;
        }
        Ok(())
    }
}

/// A recording beside another command: the demo's.
pub struct Recording {
    stop: Arc<AtomicBool>,
    thread: JoinHandle<RecordReport>,
    begin: Instant,
}

impl Recording {
    /// Records all topics into a file, on a thread of its own.
    pub fn start(context: &Context, path: &Path) -> Result<Self, CliError> {
        let node = context.named_node("demo_recorder")?;
        let writer = WriterOptions { profile: "ros2".into(), overwrite: true, ..WriterOptions::default() };
        let (output, selection) = (path.to_owned(), Selection::all());
        let options = RecordOptions { output, selection, project: false, services: false, writer };
        let (root, stop) = (context.root.clone(), Arc::new(AtomicBool::new(false)));
        let (sender, receiver) = std::sync::mpsc::sync_channel(1);
        let stopped = stop.clone();
        // A recorder stays on its thread.
        let thread = std::thread::Builder::new().name("recorder".into()).spawn(move || {
            let mut recorder = match Recorder::start(&node, &root, options) {
                Ok(recorder) => recorder,
                Err(error) => {
                    let _ = sender.send(Some(error.to_string()));
                    return RecordReport::default();
                }
            };
            let _ = sender.send(None);
            // An error is in the report, too.
            while !stopped.load(Ordering::Relaxed) && recorder.step(GLANCE).is_ok() {}
            recorder.finish()
        });
        let thread = thread.map_err(|error| CliError::Failed(format!("cannot start a thread: {error}")))?;
        match receiver.recv() {
            Ok(None) => Ok(Self { stop, thread, begin: Instant::now() }),
            Ok(Some(error)) => Err(CliError::Failed(error)),
            Err(_) => Err(CliError::Failed("the recorder has ended".into())),
        }
    }

    /// Ends it.
    pub fn stop(self) -> Result<Report, CliError> {
        self.stop.store(true, Ordering::Relaxed);
        let report = self.thread.join().map_err(|_| CliError::Failed("the recorder has ended".into()))?;
        match &report.written.error {
            Some(error) => Err(CliError::failed(error)),
            None => Ok(Report::new(&report, self.begin.elapsed())),
        }
    }
}

impl Report {
    /// One line for people.
    pub fn line(&self) -> String {
        let files: Vec<&str> = self.files.iter().map(|file| file.file.as_str()).collect();
        let file = files.join(", ");
        let missing = self.lost + self.unreadable + self.unwritten;
        format!(
            "Recording: {file}, {} messages, {}, {missing} lost: situ record info {file}",
            self.messages,
            bytes(self.bytes)
        )
    }
}
