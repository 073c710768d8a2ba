//! The collector's side of a session: begins it, ends it, and finds a running one.

use std::fmt;
use std::io;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use situ_memory::Root;
use situ_memory::fork::LockedFile;

use crate::shm::control::{Control, ControlError, MAX_CATEGORIES};
use crate::shm::session::Session;
use crate::system;

use super::cleanup::remove_leftovers;
use super::options::{CollectorOptions, Sink};
use super::scheduling::{Failed, Scheduling};
use super::sink::TraceOutput;
use super::summary::Summary;
use super::worker::{SharedSession, Worker};

/// The reason that a session could not begin.
#[derive(thiserror::Error)]
pub enum StartError {
    /// The control file cannot be used.
    #[error(transparent)]
    Control(#[from] ControlError),
    /// Another process is recording.
    #[error("process {pid} already records a trace here; stop it first, with `situ trace stop`")]
    Busy {
        /// The process.
        pid: u32,
    },
    /// The categories do not fit into the control file.
    #[error("the categories have {length} bytes; at most {max} fit", max = MAX_CATEGORIES)]
    TooLong {
        /// Their length, in bytes.
        length: usize,
    },
    /// The trace's file could not be created.
    #[error("cannot create {path}: {source}")]
    Output {
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// The kernel's scheduling events cannot be recorded.
    #[error(
        "cannot record the kernel's scheduling: {path}: {source}; this needs tracefs, and the right to write there, which \
         the superuser has"
    )]
    Scheduling {
        /// The file or directory.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// A system call failed.
    #[error("cannot {action} {path}: {source}")]
    System {
        /// The action that failed.
        action: &'static str,
        /// The file or directory.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
}

situ_layout::debug_as_text!(StartError);

impl From<Failed> for StartError {
    fn from(Failed { path, source }: Failed) -> Self {
        Self::Scheduling { path, source }
    }
}

/// The reason that a trace is incomplete.
#[derive(thiserror::Error)]
pub enum StopError {
    /// Writing it failed.
    #[error("cannot write the trace: {0}; the packets before the error are complete")]
    Write(#[from] io::Error),
    /// The collector's thread panicked.
    #[error("the collector's thread has failed; the trace ends at that point")]
    Failed,
}

situ_layout::debug_as_text!(StopError);

/// A session that a thread collects. Dropping it ends the session and discards the result.
pub struct Collector {
    shared: Arc<SharedSession>,
    thread: Option<JoinHandle<io::Result<Summary>>>,
    lock: LockedFile,
}

impl Collector {
    /// Begins a session. Connected producers are woken at once, and begin to write some moments later.
    pub fn start(root: &Root, options: CollectorOptions) -> Result<Self, StartError> {
        if options.categories.len() > MAX_CATEGORIES {
            return Err(StartError::TooLong { length: options.categories.len() });
        }
        let (control, lock) = loop {
            let control = Control::open(root)?;
            match control.lock() {
                Ok(Some(lock)) => break (control, lock),
                Ok(None) => {
                    let pid = control.session().map_or(0, |session| session.collector_pid);
                    return Err(StartError::Busy { pid });
                }
                // Another process removes the file: try the next one.
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(source) => {
                    let path = control.directory().path().to_owned();
                    return Err(StartError::System { action: "lock", path, source });
                }
            }
        };
        remove_leftovers(&control);
        let scheduling = if options.scheduling { Some(Scheduling::begin()?) } else { None };
        let output = match options.sink {
            Sink::File(path) => {
                TraceOutput::to_file(&path).map_err(|source| StartError::Output { path, source })?
            }
            Sink::Ring { path, bytes } => {
                let made = TraceOutput::to_ring(&path, bytes, options.kept, options.trigger);
                made.map_err(|source| StartError::Output { path, source })?
            }
            Sink::Writer(writer) => TraceOutput::to_writer(writer),
        };
        let mut session = Session {
            generation: 0,
            id: system::unique(),
            categories: options.categories,
            collector_pid: std::process::id(),
            ring_bytes: options.ring_bytes as u64,
            chunk_bytes: options.chunk_bytes,
            policy: options.policy,
        };
        let directory = control.rings(session.id);
        control.root().make(&directory).map_err(ControlError::from)?;
        control.announce(&mut session);
        let shared = Arc::new(SharedSession {
            control,
            session,
            stop: AtomicBool::new(false),
            producers: AtomicUsize::new(0),
            should_end: Mutex::new(false),
            ended: Condvar::new(),
        });
        let worker = Worker::new(shared.clone(), directory.clone(), output, options.period, scheduling);
        let thread =
            situ_memory::thread::spawn("situ-collector", move || worker.run()).map_err(|source| {
                shared.control.conclude(&shared.session);
                let path = directory.path().to_owned();
                StartError::System { action: "start the thread that reads the rings in", path, source }
            })?;
        Ok(Self { lock, thread: Some(thread), shared })
    }

    /// The session as producers see it.
    pub fn session(&self) -> &Session {
        &self.shared.session
    }

    /// Returns the number of producers that take part now.
    pub fn producers(&self) -> usize {
        self.shared.producers.load(Ordering::Relaxed)
    }

    /// Waits until a process requests the session's end ([`request_stop`](crate::request_stop)), writing the
    /// trace fails, or a [`Trigger`](crate::Trigger) has written its last file, at most for `time` (`None`:
    /// without a limit). Returns whether that happened.
    pub fn wait(&self, time: Option<Duration>) -> bool {
        let deadline = time.map(|time| Instant::now() + time);
        let mut should_end = self.shared.should_end.lock().unwrap_or_else(PoisonError::into_inner);
        while !*should_end {
            let left = match deadline {
                None => Duration::from_secs(3600),
                Some(deadline) => match deadline.checked_duration_since(Instant::now()) {
                    Some(left) if !left.is_zero() => left,
                    _ => return false,
                },
            };
            should_end = match self.shared.ended.wait_timeout(should_end, left) {
                Ok((should_end, _)) => should_end,
                Err(poisoned) => poisoned.into_inner().0,
            };
        }
        true
    }

    /// Ends the session. The trace contains every packet that was finished before.
    pub fn stop(mut self) -> Result<Summary, StopError> {
        self.end().unwrap_or(Err(StopError::Failed))
    }

    fn end(&mut self) -> Option<Result<Summary, StopError>> {
        let thread = self.thread.take()?;
        if !self.lock.is_ours() {
            // The thread does not exist in this process.
            std::mem::forget(thread);
            return None;
        }
        self.shared.stop.store(true, Ordering::Release);
        while !thread.is_finished() {
            // Repeated until the thread has ended, because a wake may come just before the thread sleeps.
            self.shared.control.work().wake();
            std::thread::sleep(Duration::from_micros(100));
        }
        let result = match thread.join() {
            Ok(result) => result.map_err(StopError::Write),
            Err(_) => Err(StopError::Failed),
        };
        Some(result)
    }
}

impl Drop for Collector {
    fn drop(&mut self) {
        let _ = self.end();
    }
}

impl fmt::Debug for Collector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Collector").field("session", self.session()).finish()
    }
}

/// Returns the session of a root directory, if its collector lives.
pub fn running(root: &Root) -> Option<Session> {
    let control = Control::find(root).ok()??;
    control.session().filter(|_| control.has_collector())
}

/// Requests that the collector of a root directory's session, in any process, ends it. Returns whether there
/// is such a session.
pub fn request_stop(root: &Root) -> bool {
    let Ok(Some(control)) = Control::find(root) else { return false };
    let Some(session) = control.session().filter(|_| control.has_collector()) else { return false };
    control.request_stop(&session);
    true
}
