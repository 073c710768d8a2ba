//! The collector: announces a session, empties the rings of all who take part, and writes the trace.

#[cfg(any(test, fuzzing))]
mod any_ring;
mod assemble;
mod clocks;
mod options;
mod remote;
mod round;
mod sink;
mod state;
mod summary;

use std::fmt;
use std::fs::File;
use std::io;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use situ_memory::beneath::{Beginning, beginning};
use situ_memory::fork::LockedFile;
use situ_memory::{Beneath, Root, RootError};

use crate::control::{Control, ControlError, MOST_CATEGORIES};
use crate::format::MAGIC;
use crate::ring::{EXTENSION, UNFINISHED};
use crate::session::Session;
use crate::system;

#[cfg(fuzzing)]
pub use any_ring::collect_any;
pub use options::{CollectorOptions, Sink};
use round::Worker;
use sink::Output;
pub use summary::{ProducerSummary, Summary, WriterSummary};

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
    #[error("the categories have {length} bytes; at most {most} fit", most = MOST_CATEGORIES)]
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

/// What the collector's thread and its owner share.
#[derive(Debug)]
pub(crate) struct Common {
    pub(crate) control: Control,
    pub(crate) session: Session,
    pub(crate) stop: AtomicBool,
    pub(crate) producers: AtomicUsize,
    /// Somebody has asked for the end, or nothing can be written any more.
    pub(crate) should_end: Mutex<bool>,
    pub(crate) ended: Condvar,
}

/// A session that is being collected, by a thread of its own. Dropped, it ends, and nobody hears what came of it.
pub struct Collector {
    common: Arc<Common>,
    thread: Option<JoinHandle<io::Result<Summary>>>,
    lock: LockedFile,
}

impl Collector {
    /// Begins a session. Who is connected hears of it at once, but writes only some moments later.
    pub fn start(root: &Root, options: CollectorOptions) -> Result<Self, StartError> {
        if options.categories.len() > MOST_CATEGORIES {
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
                Output::to_file(&path).map_err(|source| StartError::Output { path, source })?
            }
            Sink::Ring { path, bytes } => {
                Output::to_ring(&path, bytes).map_err(|source| StartError::Output { path, source })?
            }
            Sink::Writer(writer) => Output::to_writer(writer),
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
        let common = Arc::new(Common {
            control,
            session,
            stop: AtomicBool::new(false),
            producers: AtomicUsize::new(0),
            should_end: Mutex::new(false),
            ended: Condvar::new(),
        });
        let worker = Worker::new(common.clone(), directory.clone(), output, options.period);
        let thread =
            situ_memory::thread::spawn("situ-collector", move || worker.run()).map_err(|source| {
                common.control.conclude(&common.session);
                let path = directory.path().to_owned();
                StartError::System { action: "start the thread that reads", path, source }
            })?;
        Ok(Self { lock, thread: Some(thread), common })
    }

    /// The session, as producers see it.
    pub fn session(&self) -> &Session {
        &self.common.session
    }

    /// How many producers have taken part so far and have not ended.
    pub fn producers(&self) -> usize {
        self.common.producers.load(Ordering::Relaxed)
    }

    /// Waits until somebody asks for the end of the session ([`request_stop`](crate::request_stop)) or nothing can be written any more, at
    /// most so long (for ever without a limit). Whether that happened.
    pub fn wait(&self, time: Option<Duration>) -> bool {
        let deadline = time.map(|time| Instant::now() + time);
        let mut should_end = self.common.should_end.lock().unwrap_or_else(PoisonError::into_inner);
        while !*should_end {
            let left = match deadline {
                None => Duration::from_secs(3600),
                Some(deadline) => match deadline.checked_duration_since(Instant::now()) {
                    Some(left) if !left.is_zero() => left,
                    _ => return false,
                },
            };
            should_end = match self.common.ended.wait_timeout(should_end, left) {
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
        self.common.stop.store(true, Ordering::Release);
        while !thread.is_finished() {
            // It may be about to sleep: so again, until it has heard.
            self.common.control.work().wake();
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

/// Removes the rings of sessions whose collector died. The caller holds the lock, so there is no session now.
fn remove_leftovers(control: &Control) {
    for name in control.directory().names().unwrap_or_default() {
        if is_number(&name.to_string_lossy()) {
            remove_rings(&control.directory().join(name));
        }
    }
}

fn is_number(name: &str) -> bool {
    name.len() == 16 && u64::from_str_radix(name, 16).is_ok()
}

/// Removes a session's directory with its rings. What is by its name or its content no ring is left, and the directory with it.
fn remove_rings(directory: &Beneath) {
    let is_ring = |file: &File| beginning(file, &MAGIC) != Beginning::Foreign;
    for name in directory.names().unwrap_or_default() {
        let is_named = |name: &str| {
            name.split_once('.').is_some_and(|(number, extension)| {
                is_number(number) && [EXTENSION, UNFINISHED].contains(&extension)
            })
        };
        if name.to_str().is_some_and(is_named) {
            directory.join(name).remove_if(is_ring);
        }
    }
    let _ = directory.remove_directory();
}

/// The session of a root directory, if there is one and its collector lives.
pub fn running(root: &Root) -> Option<Session> {
    let control = Control::find(root).ok()??;
    control.session().filter(|_| control.is_collected())
}

/// Asks the collector of a root directory's session, in whichever process, to end it. Whether there is one.
pub fn request_stop(root: &Root) -> bool {
    let Ok(Some(control)) = Control::find(root) else { return false };
    let Some(session) = control.session().filter(|_| control.is_collected()) else { return false };
    control.request_stop(&session);
    true
}

/// Removes what sessions left whose collector died; where no node lives, also the file by which processes hear of sessions. Nothing,
/// if a collector lives.
///
/// It fails if somebody else could tamper with the root.
pub fn clean(root: &Root) -> Result<(), RootError> {
    let Some(open) = root.open()? else { return Ok(()) };
    let in_use = || situ_bus::inspect::nodes(root).map_or(true, |nodes| nodes.iter().any(|node| node.alive));
    match Control::find(root) {
        Ok(Some(control)) if !control.is_collected() => {
            if let Ok(Some(_lock)) = control.lock() {
                remove_leftovers(&control);
                if !in_use() {
                    control.remove();
                }
            }
        }
        Ok(_) => {}
        Err(ControlError::Root(error)) => return Err(error),
        Err(ControlError::Memory(_)) => _ = Control::remove_broken(&open, in_use()),
    }
    Ok(())
}
