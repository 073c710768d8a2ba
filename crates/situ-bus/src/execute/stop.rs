//! Stopping an executor: from a callback, from another thread, from a signal handler.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::wait_set::guard_condition::GuardCondition;

/// Stops an [`Executor`](crate::Executor). Clones stop the same one. A callback may keep one: it does not
/// keep the executor.
#[derive(Debug, Clone, Default)]
pub struct Stopper {
    stopped: Arc<AtomicBool>,
    pub(crate) guard: GuardCondition,
}

impl Stopper {
    /// Ends the present spin after the callbacks that run, or the next one if none is in progress. Any thread
    /// and any signal handler may call it.
    pub fn stop(&self) {
        self.stopped.store(true, Ordering::SeqCst);
        self.guard.trigger();
    }

    /// Whether it was stopped, and no spin has ended by that yet.
    pub fn is_stopped(&self) -> bool {
        self.stopped.load(Ordering::SeqCst)
    }

    /// Lets the next spin run.
    pub(crate) fn reset(&self) {
        self.stopped.store(false, Ordering::SeqCst);
    }
}
