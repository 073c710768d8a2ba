//! A condition that any thread, or a signal handler, triggers to wake a wait set.

use std::ptr::null_mut;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, Ordering};

use situ_memory::fork::Process;

use crate::wait_set::bell::{Bell, Link};

/// A condition that wakes a wait set. A set reports it once for each time that it finds it triggered, and
/// resets it. It may be attached to one set at a time. Clones are the same condition.
#[derive(Debug, Clone, Default)]
pub struct GuardCondition {
    pub(crate) shared: Arc<Guard>,
}

/// The state that a condition and the set share.
#[derive(Debug)]
pub(crate) struct Guard {
    triggered: AtomicBool,
    /// What to ring: a `Box` that detaching frees.
    target: AtomicPtr<Target>,
    /// How many calls use `target` at the moment.
    users: AtomicU32,
    process: Process,
}

/// What to ring when a source changes.
#[derive(Debug, Clone)]
pub(crate) struct Target {
    pub(crate) bell: Arc<Bell>,
    pub(crate) link: Arc<Link>,
}

impl Default for Guard {
    fn default() -> Self {
        Self {
            triggered: AtomicBool::new(false),
            target: AtomicPtr::new(null_mut()),
            users: AtomicU32::new(0),
            process: Process::this(),
        }
    }
}

impl GuardCondition {
    /// A condition that is not triggered.
    pub fn new() -> Self {
        Self::default()
    }

    /// Triggers it. Any thread and any signal handler may call this. It takes a system call only if a thread
    /// sleeps. A condition that is triggered already stays so.
    pub fn trigger(&self) {
        self.shared.trigger();
    }

    /// Whether it was triggered and not reported yet.
    pub fn is_triggered(&self) -> bool {
        self.shared.triggered.load(Ordering::SeqCst)
    }
}

impl Guard {
    fn trigger(&self) {
        if self.triggered.swap(true, Ordering::SeqCst) {
            return;
        }
        // The count comes before the load, so that `detach` does not free what this uses.
        self.users.fetch_add(1, Ordering::SeqCst);
        let target = self.target.load(Ordering::SeqCst);
        // SAFETY: `detach` frees the target after it made the pointer null and `users` became 0.
        if let Some(target) = unsafe { target.as_ref() } {
            target.bell.ring(&target.link);
        }
        self.users.fetch_sub(1, Ordering::SeqCst);
    }

    /// Resets it. Returns whether it was triggered.
    pub(crate) fn take(&self) -> bool {
        self.triggered.load(Ordering::SeqCst) && self.triggered.swap(false, Ordering::SeqCst)
    }

    /// Makes it ring this target. `false` if it is attached already.
    pub(crate) fn attach(&self, target: Target) -> bool {
        let target = Box::into_raw(Box::new(target));
        let attached =
            self.target.compare_exchange(null_mut(), target, Ordering::SeqCst, Ordering::SeqCst).is_ok();
        if !attached {
            // SAFETY: it was made above, and is not shared yet.
            drop(unsafe { Box::from_raw(target) });
        }
        attached
    }

    /// Makes it ring nothing.
    pub(crate) fn detach(&self) {
        let target = self.target.swap(null_mut(), Ordering::SeqCst);
        // A trigger takes less than a microsecond. The triggering threads do not exist in a forked child.
        while self.process.is_this() && self.users.load(Ordering::SeqCst) != 0 {
            std::thread::yield_now();
        }
        if !target.is_null() {
            // SAFETY: `attach` made it, the swap took it, and no trigger uses it any more.
            drop(unsafe { Box::from_raw(target) });
        }
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        self.detach();
    }
}
