//! The collector's side of a session: begins it, ends it, and finds one that runs.

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
use super::sink::TraceOutput;
use super::summary::Summary;
use super::worker::{SharedSession, Worker};

/// Why a session could not begin.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The control file cannot be used.
    #[error(transparent)]
    Control(#[from] ControlError),
    /// Somebody else collects already.
    #[error("process {pid} collects a trace here already; end that first, with `situ trace stop`")]
    Busy {
        /// The process.
        pid: u32,
    },
    /// The control file has no room for so much text.
    #[error("the categories have {length} bytes; at most {max} fit", max = MAX_CATEGORIES)]
    TooLong {
        /// How long the text is.
        length: usize,
    },
    /// The trace's file could not be made.
    #[error("cannot create {path}: {source}")]
    Output {
        /// The file.
        path: PathBuf,
        /// What the kernel answered.
        source: io::Error,
    },
    /// The kernel refused.
    #[error("cannot {action} {path}: {source}")]
    System {
        /// What was tried.
        action: &'static str,
        /// The file or directory.
        path: PathBuf,
        /// What the kernel answered.
        source: io::Error,
    },
}

/// Why a trace is not complete.
#[derive(Debug, thiserror::Error)]
pub enum StopError {
    /// It could not be written.
    #[error("cannot write the trace: {0}; what was written before is whole")]
    Write(#[from] io::Error),
    /// The collector's thread has failed.
    #[error("the thread that collects has failed; the trace ends where it did")]
    Failed,
}

/// A session that is being collected, by a thread of its own. Dropped, it ends, and nobody hears what came of it.
pub struct Collector {
    shared: Arc<SharedSession>,
    thread: Option<JoinHandle<io::Result<Summary>>>,
    lock: LockedFile,
}

impl Collector {
    /// Begins a session. Who is connected hears of it at once, but writes only some moments later.
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
                // Somebody cleans up.
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(source) => {
                    let path = control.directory().path().to_owned();
                    return Err(StartError::System { action: "lock", path, source });
                }
            }
        };
        remove_leftovers(&control);
        let output = match options.sink {
            Sink::File(path) => {
                TraceOutput::to_file(&path).map_err(|source| StartError::Output { path, source })?
            }
            Sink::Ring { path, bytes } => {
                TraceOutput::to_ring(&path, bytes).map_err(|source| StartError::Output { path, source })?
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
        let worker = Worker::new(shared.clone(), directory.clone(), output, options.period);
        let thread =
            situ_memory::thread::spawn("situ-collector", move || worker.run()).map_err(|source| {
                shared.control.conclude(&shared.session);
                let path = directory.path().to_owned();
                StartError::System { action: "start the thread that reads", path, source }
            })?;
        Ok(Self { lock, thread: Some(thread), shared })
    }

    /// The session, as producers see it.
    pub fn session(&self) -> &Session {
        &self.shared.session
    }

    /// How many producers have taken part so far and have not ended.
    pub fn producers(&self) -> usize {
        self.shared.producers.load(Ordering::Relaxed)
    }

    /// Waits until somebody asks for the end of the session ([`request_stop`](crate::request_stop)) or nothing can be written any more, at
    /// most so long (for ever without a limit). Whether that happened.
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

    /// Ends the session: all that was finished before is in the trace.
    pub fn stop(mut self) -> Result<Summary, StopError> {
        self.end().unwrap_or(Err(StopError::Failed))
    }

    fn end(&mut self) -> Option<Result<Summary, StopError>> {
        let thread = self.thread.take()?;
        if !self.lock.is_ours() {
            // There is no such thread in this process.
            std::mem::forget(thread);
            return None;
        }
        self.shared.stop.store(true, Ordering::Release);
        while !thread.is_finished() {
            // It may be about to sleep: so again, until it has heard.
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

/// The session of a root directory, if there is one and its collector lives.
pub fn running(root: &Root) -> Option<Session> {
    let control = Control::find(root).ok()??;
    control.session().filter(|_| control.has_collector())
}

/// Asks the collector of a root directory's session, in whichever process, to end it. Whether there is one.
pub fn request_stop(root: &Root) -> bool {
    let Ok(Some(control)) = Control::find(root) else { return false };
    let Some(session) = control.session().filter(|_| control.has_collector()) else { return false };
    control.request_stop(&session);
    true
}
