//! The session that a process is in: the connection's thread sets it, the writers read it.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use situ_memory::fork::{Hold, Process, Registered, register};

use crate::shm::control::Control;
use crate::shm::ring::Ring;

use super::stall_budget::StallBudget;

/// State that the connection's thread and the writers share.
#[derive(Debug)]
pub(crate) struct SessionState {
    /// The generation of the session that writers should be in; 0: none.
    session: Arc<AtomicU32>,
    current: Mutex<Current>,
    /// Notified when `current` changes.
    changed: Condvar,
    pub(super) closing: AtomicBool,
    stall_budget: StallBudget,
    /// The process that takes part. A forked child has neither its thread nor its rings.
    process: Process,
    _session: Registered,
}

#[derive(Debug)]
pub(super) struct Current {
    pub(super) ring: Option<Arc<Ring>>,
    pub(super) control: Option<Arc<Control>>,
    /// The `changed` callback has returned for the last beginning or end of a session.
    is_notified: bool,
}

impl SessionState {
    /// Creates the state in the session of a ring, or without a session.
    pub(crate) fn new(ring: Option<Arc<Ring>>, control: Option<Arc<Control>>, stall: Duration) -> Arc<Self> {
        let session = Arc::new(AtomicU32::new(ring.as_ref().map_or(0, |ring| ring.session.generation)));
        Arc::new(Self {
            _session: register(Hold::Word(session.clone())),
            process: Process::this(),
            session,
            current: Mutex::new(Current { ring, control, is_notified: true }),
            changed: Condvar::new(),
            closing: AtomicBool::new(false),
            stall_budget: StallBudget::new(stall),
        })
    }

    #[inline(always)]
    pub(crate) fn session(&self) -> &AtomicU32 {
        &self.session
    }

    /// Returns the time that the writers may still wait for chunks.
    pub(crate) fn stall_budget(&self) -> &StallBudget {
        &self.stall_budget
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, Current> {
        self.current.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the ring of a session, if that is still the current one.
    pub(crate) fn ring(&self, session: u32) -> Option<Arc<Ring>> {
        self.lock().ring.clone().filter(|ring| ring.session.generation == session)
    }

    /// Returns whether this is a copy in a forked child.
    pub(super) fn is_inherited(&self) -> bool {
        !self.process.is_this()
    }

    /// Begins the session of a ring.
    pub(super) fn begin(&self, ring: Ring) {
        let generation = ring.session.generation;
        let mut current = self.lock();
        (current.ring, current.is_notified) = (Some(Arc::new(ring)), false);
        // A writer that loads this takes the ring under the lock.
        self.session.store(generation, Ordering::Release);
    }

    /// Ends the current session, and returns its ring.
    pub(super) fn end(&self) -> Option<Arc<Ring>> {
        let mut current = self.lock();
        let ring = current.ring.take()?;
        current.is_notified = false;
        self.session.store(0, Ordering::Release);
        Some(ring)
    }

    /// Wakes threads that wait for a session, or for its end, after the callback has returned.
    pub(super) fn notify(&self) {
        self.lock().is_notified = true;
        self.changed.notify_all();
    }

    /// Waits at most `time` until there is a session, or none. Returns whether the expected state was
    /// reached.
    pub(super) fn wait(&self, time: Duration, session: bool) -> bool {
        let deadline = Instant::now() + time;
        let mut current = self.lock();
        while current.ring.is_some() != session || !current.is_notified {
            let now = Instant::now();
            if now >= deadline || self.is_inherited() {
                return false;
            }
            current = match self.changed.wait_timeout(current, deadline - now) {
                Ok((current, _)) => current,
                Err(poisoned) => poisoned.into_inner().0,
            };
        }
        true
    }
}
