//! A traced process: its thread waits for sessions and creates a ring for each.

use std::fmt;
use std::os::unix::fs::MetadataExt;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use situ_memory::{Beneath, Root};

use crate::shm::control::{Control, ControlError};
use crate::shm::ring::Ring;
use crate::shm::session::Session;

use super::limits::Limits;
use super::session_state::SessionState;
use super::writer::Writer;

/// The interval between checks of the control file without a session.
const IDLE_INTERVAL: Duration = Duration::from_secs(1);
/// The interval between checks of the collector in a session.
const SESSION_INTERVAL: Duration = Duration::from_millis(100);
/// The minimum time between two checks of the control file, and between the beginnings of two sessions. These
/// limits bound the cost that a process can cause by writing to the control file all the time.
const MIN_POLL_INTERVAL: Duration = Duration::from_millis(1);
const MIN_SESSION_INTERVAL: Duration = Duration::from_millis(50);
/// The maximum number of rings of ended sessions that are kept until their collectors have read them.
const MAX_ENDED_RINGS: usize = 4;

/// The reason that a process cannot be traced.
#[derive(thiserror::Error)]
pub enum ConnectError {
    /// The control file cannot be used.
    #[error(transparent)]
    Control(#[from] ControlError),
    /// The system refused a thread.
    #[error("cannot start the thread that waits for trace sessions: {0}")]
    Thread(std::io::Error),
}

situ_layout::debug_as_text!(ConnectError);

/// A traced process. It takes part in the sessions of its root directory until this is dropped.
pub struct Producer {
    shared: Arc<SessionState>,
    name: Arc<Mutex<String>>,
    thread: Option<JoinHandle<()>>,
}

impl Producer {
    /// Takes part in sessions, including a running one. `name` appears in the trace (its first 256 bytes).
    ///
    /// `changed` is called on the producer's thread: with a session when it has begun and writers write, with
    /// `None` when it has ended. The limits are those of [`Limits::from_environment`].
    pub fn connect(
        root: &Root,
        name: &str,
        changed: impl Fn(Option<&Session>) + Send + 'static,
    ) -> Result<Self, ConnectError> {
        Self::connect_within(root, name, Limits::from_environment(), changed)
    }

    /// Like [`connect`](Self::connect), with limits of the caller's choice.
    pub fn connect_within(
        root: &Root,
        name: &str,
        limits: Limits,
        changed: impl Fn(Option<&Session>) + Send + 'static,
    ) -> Result<Self, ConnectError> {
        let control = Arc::new(Control::open(root)?);
        let shared = SessionState::new(None, Some(control.clone()), limits.stall);
        let name = Arc::new(Mutex::new(name.to_owned()));
        let thread = SessionThread {
            root: root.clone(),
            name: name.clone(),
            limits,
            begun: None,
            refilled: Instant::now(),
            shared: shared.clone(),
            control,
            ended: Vec::new(),
            refused: 0,
            changed,
        };
        let thread =
            situ_memory::thread::spawn("situ-trace", move || thread.run()).map_err(ConnectError::Thread)?;
        Ok(Self { shared, name, thread: Some(thread) })
    }

    /// Changes the name. It appears in the sessions that begin afterwards.
    pub fn rename(&self, name: &str) {
        name.clone_into(&mut self.name.lock().unwrap_or_else(PoisonError::into_inner));
    }

    /// Creates a writer for the calling thread, or for the thread to which it is sent.
    pub fn writer(&self) -> Writer {
        Writer::new(self.shared.clone())
    }

    /// Returns whether there is a session: one relaxed load.
    #[inline]
    pub fn is_enabled(&self) -> bool {
        self.shared.session().load(Ordering::Relaxed) != 0
    }

    /// Returns the current session.
    pub fn session(&self) -> Option<Session> {
        self.shared.lock().ring.as_ref().map(|ring| ring.session.clone())
    }

    /// Returns the time that all writers together have waited for chunks in this session.
    pub fn stalled(&self) -> Duration {
        self.shared.stall_budget().waited()
    }

    /// Waits at most `time` for a session. Returns whether there is one.
    pub fn wait_for_session(&self, time: Duration) -> bool {
        self.shared.wait(time, true)
    }

    /// Waits at most `time` for the session's end. Returns whether there is no session.
    pub fn wait_for_end(&self, time: Duration) -> bool {
        self.shared.wait(time, false)
    }

    /// Returns whether this is a copy in a forked child. Such a copy writes nothing. To trace the child too,
    /// connect another producer in it.
    pub fn is_inherited(&self) -> bool {
        self.shared.is_inherited()
    }
}

impl fmt::Debug for Producer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Producer").field("session", self.shared.session()).finish()
    }
}

impl Drop for Producer {
    fn drop(&mut self) {
        let Some(thread) = self.thread.take() else { return };
        if self.is_inherited() {
            // The thread does not exist in this process.
            std::mem::forget(thread);
            return;
        }
        self.shared.closing.store(true, Ordering::Release);
        while !thread.is_finished() {
            // Repeated until the thread has ended, because a wake may come just before the thread sleeps.
            let control = self.shared.lock().control.clone();
            if let Some(control) = control {
                control.wake();
            }
            std::thread::sleep(Duration::from_micros(50));
        }
        let _ = thread.join();
    }
}

/// The state of the producer's thread.
struct SessionThread<F> {
    root: Root,
    name: Arc<Mutex<String>>,
    limits: Limits,
    /// The time at which the last session began, and the time at which the writers' budget was last full.
    begun: Option<Instant>,
    refilled: Instant,
    shared: Arc<SessionState>,
    control: Arc<Control>,
    /// Rings of ended sessions that the collector has not read to the end.
    ended: Vec<Arc<Ring>>,
    /// The generation of a session that this process has left or not joined: its collector is dead, its owner
    /// is not allowed, or creating a ring failed.
    refused: u32,
    changed: F,
}

impl<F: Fn(Option<&Session>)> SessionThread<F> {
    fn run(mut self) {
        while !self.shared.closing.load(Ordering::Acquire) {
            let (generation, polled) = (self.control.generation(), Instant::now());
            self.poll(generation);
            let is_idle = self.ended.is_empty() && self.shared.session().load(Ordering::Relaxed) == 0;
            let time = if is_idle { IDLE_INTERVAL } else { SESSION_INTERVAL };
            self.control.sleep(generation, if self.has_just_begun() { MIN_SESSION_INTERVAL } else { time });
            std::thread::sleep(MIN_POLL_INTERVAL.saturating_sub(polled.elapsed()));
        }
        self.end();
        // A collector removes the rings of dead producers. Without a collector, this process removes its
        // rings.
        if !self.control.has_collector() {
            self.ended.iter().for_each(|ring| ring.abandon());
        }
    }

    /// Returns whether a session began so recently that the next one must wait.
    fn has_just_begun(&self) -> bool {
        self.begun.is_some_and(|begun| begun.elapsed() < MIN_SESSION_INTERVAL)
    }

    /// Compares the control file with the current session, and begins or ends a session.
    fn poll(&mut self, generation: u32) {
        let mine = self.shared.session().load(Ordering::Relaxed);
        if mine != 0 && mine != generation {
            self.end();
        }
        let is_on = generation % 2 == 1 && generation != self.refused;
        let has_collector = (!is_on && self.ended.is_empty()) || self.control.has_collector();
        if mine == generation && mine != 0 && !has_collector {
            self.refused = generation;
            self.end();
        } else if is_on
            && mine != generation
            && has_collector
            && !self.has_just_begun()
            && let Some(session) = self.control.session()
        {
            self.begin(&session);
        }
        self.ended.retain(|ring| {
            let is_done = ring.is_collected() || !has_collector;
            if is_done {
                ring.abandon();
            }
            !is_done
        });
        if generation.is_multiple_of(2) && !self.control.is_current() {
            self.reopen();
        }
    }

    /// Opens the control file's successor after the file was removed, because no collector wakes this process
    /// on the old file. Does not create a file: the whole directory may have been removed on purpose. The
    /// next collector creates it.
    fn reopen(&mut self) {
        if let Ok(Some(control)) = Control::find(&self.root) {
            self.control = Arc::new(control);
            self.refused = 0;
            self.shared.lock().control = Some(self.control.clone());
        }
    }

    /// Returns whether the session's owner may trace this process. The owner is the owner of the directory,
    /// which only the kernel sets. All other data of the session may come from any process that can write to
    /// the control file.
    fn is_allowed(&self, directory: &Beneath) -> bool {
        let own = rustix::process::geteuid().as_raw();
        let found = directory.open_directory().and_then(|directory| directory.metadata());
        found.is_ok_and(|found| self.limits.other_users || [own, 0].contains(&found.uid()))
    }

    fn begin(&mut self, session: &Session) {
        let directory = self.control.rings(session.id);
        if !self.is_allowed(&directory) {
            self.refused = session.generation;
            return;
        }
        self.begun = Some(Instant::now());
        if self.refilled.elapsed() >= Limits::REFILL {
            self.refilled = Instant::now();
            self.shared.stall_budget().refill();
        }
        let session =
            &Session { ring_bytes: session.ring_bytes.min(self.limits.ring_bytes), ..session.clone() };
        let name = self.name.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let made = Ring::create(&self.root, &directory, session, &name, &self.control);
        let Ok(ring) = made else {
            // There is no memory, or the session has ended meanwhile.
            self.refused = session.generation;
            return;
        };
        self.control.arrive();
        self.shared.begin(ring);
        (self.changed)(Some(session));
        self.shared.notify();
    }

    fn end(&mut self) {
        let Some(ring) = self.shared.end() else { return };
        (self.changed)(None);
        ring.mark_quiet();
        if self.ended.len() == MAX_ENDED_RINGS {
            self.ended.remove(0).abandon();
        }
        self.ended.push(ring);
        self.shared.notify();
    }
}
