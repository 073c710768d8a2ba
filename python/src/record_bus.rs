//! Recording topics on a thread of its own, and playing files.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{Builder, JoinHandle};
use std::time::{Duration, Instant};

use pyo3::prelude::*;
use situ_record::{
    Command, PlayError, PlayOptions, Played, Player, RecordOptions, RecordReport, Recorder, Selection,
    TopicCounts,
};

use crate::errors::Kind as Error;
use crate::node::NodeHandle;
use crate::process::{self, Process};
use crate::qos;
use crate::record::{writer_options, written_error};
use crate::sync::lock;

/// How long the thread waits for messages at most, before it looks whether to end.
const STEP: Duration = Duration::from_millis(20);
/// How often a player looks for signals of Python.
const SIGNALS: Duration = Duration::from_millis(20);

/// What the thread and its owner share.
#[derive(Default)]
struct Shared {
    ends: AtomicBool,
    warnings: Mutex<Vec<String>>,
}

/// The end of a thread: its report, and why it ended early.
type Ended = (RecordReport, Option<String>);

/// A recorder on a thread of its own.
#[pyclass(frozen, module = "situ._native", name = "Recorder")]
pub struct RecorderHandle {
    shared: Arc<Shared>,
    thread: Mutex<Option<JoinHandle<Ended>>>,
    process: Process,
}

fn run(mut recorder: Recorder, shared: &Shared) -> Ended {
    let mut failure = None;
    while failure.is_none() && !shared.ends.load(Ordering::Acquire) {
        failure = recorder.step(STEP).err().map(|error| error.to_string());
        lock(&shared.warnings).extend(recorder.take_warnings());
    }
    let mut report = recorder.finish();
    lock(&shared.warnings).append(&mut report.warnings);
    (report, failure)
}

#[pymethods]
impl RecorderHandle {
    #[new]
    #[allow(clippy::too_many_arguments, reason = "the keyword arguments of Python")]
    fn new(
        py: Python<'_>,
        node: &NodeHandle,
        path: PathBuf,
        topics: Vec<String>,
        exclude: Vec<String>,
        services: bool,
        project: bool,
        compression: &str,
        overwrite: bool,
        checksums: bool,
    ) -> PyResult<Self> {
        let node = node.node(py)?;
        let options = RecordOptions {
            output: path,
            selection: Selection::patterns(&topics, &exclude),
            project,
            services,
            writer: writer_options(py, compression, overwrite, checksums)?,
        };
        let started = process::detached(py, || Recorder::start(&node, node.root(), options));
        let recorder = started.map_err(|error| Error::Record.error(py, error))?;
        let shared = Arc::new(Shared::default());
        let for_thread = shared.clone();
        let thread = Builder::new().name("recorder".into()).spawn(move || run(recorder, &for_thread));
        let thread = thread.map_err(|error| Error::Record.error(py, error))?;
        Ok(Self { shared, thread: Mutex::new(Some(thread)), process: Process::this() })
    }

    /// The warnings since the last call.
    fn warnings(&self) -> Vec<String> {
        std::mem::take(&mut *lock(&self.shared.warnings))
    }

    /// Whether the thread has ended, because it was stopped or writing failed.
    fn has_ended(&self) -> bool {
        lock(&self.thread).as_ref().is_none_or(JoinHandle::is_finished)
    }

    /// Whether it is a recording of this process that was not stopped.
    fn is_open(&self) -> bool {
        self.process.is_this() && lock(&self.thread).is_some()
    }

    /// Ends the recording. Returns for each topic its name, type, and the numbers of messages, bytes, lost
    /// and unreadable messages, and then the error, if there was one. Later calls return `None`.
    #[allow(clippy::type_complexity, reason = "a tuple for the half in Python")]
    fn stop(
        &self,
        py: Python<'_>,
    ) -> PyResult<Option<(Vec<(String, String, u64, u64, u64, u64)>, u64, Option<PyErr>)>> {
        self.process.check(py, "the recording")?;
        let thread = lock(&self.thread).take();
        let Some(thread) = thread else { return Ok(None) };
        self.shared.ends.store(true, Ordering::Release);
        let joined = process::detached(py, || thread.join());
        let Ok((report, failure)) = joined else {
            return Err(
                Error::Record.error(py, "the thread that records has ended by a panic: please report it")
            );
        };
        let error = written_error(py, &report.written);
        let error = error.or_else(|| failure.map(|text| Error::Record.error(py, text)));
        let unwritten = report.written.unwritten;
        let of = |it: TopicCounts| (it.topic, it.type_name, it.messages, it.bytes, it.lost, it.unreadable);
        Ok(Some((report.topics.into_iter().map(of).collect(), unwritten, error)))
    }
}

impl Drop for RecorderHandle {
    /// In a forked child the thread does not exist.
    fn drop(&mut self) {
        self.shared.ends.store(true, Ordering::Release);
        let thread = lock(&self.thread).take();
        if let (true, Some(thread)) = (self.process.is_this(), thread) {
            let _ = thread.join();
        }
    }
}

/// Plays files. Returns the number of messages, and what could not be played.
#[pyfunction]
#[allow(clippy::too_many_arguments, reason = "the keyword arguments of Python")]
pub fn play_files(
    py: Python<'_>,
    node: &NodeHandle,
    files: Vec<PathBuf>,
    topics: Vec<String>,
    exclude: Vec<String>,
    remap: BTreeMap<String, String>,
    rate: f64,
    times: (Option<u64>, Option<u64>),
    repeat: bool,
    clock: Option<f64>,
    wait: f64,
) -> PyResult<(u64, Vec<String>)> {
    if !(rate.is_finite() && rate > 0.0) {
        return Err(Error::Conversion.error(py, format!("`rate` is {rate}: give a number greater than 0")));
    }
    if let Some(clock) = clock.filter(|clock| !(clock.is_finite() && *clock > 0.0)) {
        return Err(Error::Conversion.error(py, format!("`clock` is {clock}: give a number greater than 0")));
    }
    let options = PlayOptions {
        files,
        rate,
        from: times.0,
        until: times.1,
        repeat,
        selection: Selection::patterns(&topics, &exclude),
        remap,
        clock,
        wait: qos::duration(py, "wait", wait)?,
    };
    let node = node.node(py)?;
    let mut signal = None;
    let played: Result<Played, PlayError> = process::detached(py, || {
        let player = Player::new(&node, options)?;
        let mut looked = Instant::now();
        player.play(&mut |_| {
            if looked.elapsed() >= SIGNALS {
                looked = Instant::now();
                if let Err(raised) = process::attached(|py| py.check_signals()) {
                    signal = Some(raised);
                    return Command::Stop;
                }
            }
            Command::Go
        })
    });
    if let Some(raised) = signal {
        return Err(raised);
    }
    let mut played = played.map_err(|error| Error::Record.error(py, error))?;
    if played.more_problems > 0 {
        played.problems.push(format!("{} more problems", played.more_problems));
    }
    Ok((played.messages, played.problems))
}
