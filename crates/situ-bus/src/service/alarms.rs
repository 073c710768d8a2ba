//! How a client or a server is made to look again although no message has come: a deadline may be over, or
//! the other side may have ended.

use std::cell::{OnceCell, RefCell};
use std::sync::{Arc, Weak};

use crate::clock::now_ns;
use crate::wait::reactor::Watch;
use crate::wait_set::alarm::SourceAlarm;

/// What reports a client or a server to its program.
#[derive(Debug, Default)]
pub(super) struct Alarms {
    /// Of file descriptors and of async code.
    watches: RefCell<Vec<Weak<Watch>>>,
    /// Of a wait set, if it was attached to one.
    source: OnceCell<Arc<SourceAlarm>>,
}

impl Alarms {
    /// What it tells a wait set.
    pub(super) fn source(&self) -> &Arc<SourceAlarm> {
        self.source.get_or_init(SourceAlarm::new)
    }

    /// Has a watch report, too.
    pub(super) fn add(&self, watch: Weak<Watch>) {
        self.watches.borrow_mut().push(watch);
    }

    /// Whether there are watches.
    #[inline]
    pub(super) fn has_watches(&self) -> bool {
        !self.watches.borrow().is_empty()
    }

    /// Has the watches report after this time, in nanoseconds.
    #[cold]
    pub(super) fn report_after(&self, delay_ns: u64) {
        let time_ns = now_ns().saturating_add(delay_ns);
        let is_there = |watch: &Weak<Watch>| match watch.upgrade() {
            Some(watch) => {
                watch.alarm_at(time_ns);
                true
            }
            None => false,
        };
        self.watches.borrow_mut().retain(is_there);
    }

    /// Whether there is a wait set to be told.
    #[inline]
    pub(super) fn has_source(&self) -> bool {
        self.source.get().is_some()
    }

    /// Tells the wait set whether messages are kept, which it cannot see at the topic, and after which time,
    /// in nanoseconds, something has to be looked at.
    #[cold]
    pub(super) fn tell_source(&self, has_kept: bool, delay_ns: Option<u64>) {
        let Some(source) = self.source.get() else { return };
        source.set_kept(has_kept);
        match delay_ns {
            Some(delay_ns) => source.report_by(now_ns().saturating_add(delay_ns)),
            None if !has_kept => source.stop(),
            None => {}
        }
    }
}
