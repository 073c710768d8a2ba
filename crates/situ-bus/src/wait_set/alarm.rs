//! Makes a topic's source ready although no message has come.
//!
//! A client has deadlines to check, and servers that may die. It also keeps replies that it took while it
//! looked for another one. A server keeps requests that it took while it looked for cancellations. A wait set
//! sees only their topics, so they tell it the rest here.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::wait_set::timer::{Timer, TimerShared};

/// What a client or a server tells its source.
#[derive(Debug)]
pub(crate) struct SourceAlarm {
    timer: Timer,
    /// Whether it keeps messages that were not handed out yet.
    has_kept: AtomicBool,
}

impl SourceAlarm {
    pub(crate) fn new() -> Arc<Self> {
        Arc::new(Self { timer: Timer::stopped(), has_kept: AtomicBool::new(false) })
    }

    /// Whether it keeps messages that were not handed out yet. The source is ready as long as it does.
    pub(crate) fn set_kept(&self, has_kept: bool) {
        // The set finds the flag when the timer has made it look.
        if self.has_kept.swap(has_kept, Ordering::SeqCst) != has_kept && has_kept {
            self.timer.shared.start_by(0);
        }
    }

    pub(crate) fn has_kept(&self) -> bool {
        self.has_kept.load(Ordering::SeqCst)
    }

    /// Reports the source at this time, by `now_ns`, or before.
    pub(crate) fn report_by(&self, due_ns: u64) {
        self.timer.shared.start_by(due_ns);
    }

    /// Nothing is to be checked any more.
    pub(crate) fn stop(&self) {
        self.timer.cancel();
    }

    /// The timer that makes the set look.
    pub(crate) fn timer(&self) -> &TimerShared {
        &self.timer.shared
    }
}
