//! How many deadlines an endpoint has missed: one word, which its thread writes and any thread reads.
//!
//! The word is the time from which the deadlines are counted as if there had been no message. A message at
//! `t` that ends `m` missed deadlines moves it to `t - m * deadline`. So the number of missed deadlines is
//! always the time since then, divided by the deadline, and it never decreases.

use std::sync::Arc;
use std::time::Duration;

use situ_memory::sync::atomic::{AtomicU64, Ordering};

use crate::clock::now_ns;
use crate::qos::nanoseconds;

/// The missed deadlines of one endpoint.
#[derive(Debug)]
pub(crate) struct DeadlineClock {
    period_ns: u64,
    zero_ns: AtomicU64,
}

impl DeadlineClock {
    /// Begins now. `None` without a deadline.
    pub(crate) fn new(deadline: Option<Duration>) -> Option<Arc<Self>> {
        deadline.map(|_| Arc::new(Self::at(nanoseconds(deadline), now_ns())))
    }

    fn at(period_ns: u64, now: u64) -> Self {
        Self { period_ns, zero_ns: AtomicU64::new(now) }
    }

    /// A message came, or was published. Only the endpoint's own thread calls it.
    #[inline]
    pub(crate) fn restart(&self, now: u64) {
        let missed = self.missed(now);
        // At most the time since zero, so it does not wrap around.
        self.zero_ns.store(now.saturating_sub(missed * self.period_ns), Ordering::Relaxed);
    }

    /// The number of whole deadlines without a message, including those of the present pause.
    #[inline]
    pub(crate) fn missed(&self, now: u64) -> u64 {
        now.saturating_sub(self.zero_ns.load(Ordering::Relaxed)) / self.period_ns
    }

    /// When the next deadline is missed, if no message comes.
    pub(crate) fn next_ns(&self, now: u64) -> u64 {
        let zero = self.zero_ns.load(Ordering::Relaxed);
        let passed = now.saturating_sub(zero) / self.period_ns;
        zero.saturating_add(passed.saturating_add(1).saturating_mul(self.period_ns))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_deadlines_of_all_pauses_are_counted() {
        let clock = DeadlineClock::at(10, 1000);
        assert_eq!((clock.missed(1009), clock.missed(1010), clock.missed(1039)), (0, 1, 3));
        // A pause of 25 has two whole deadlines. The rest of it does not count for the next pause.
        clock.restart(1025);
        assert_eq!((clock.missed(1025), clock.missed(1034), clock.missed(1035)), (2, 2, 3));
        assert_eq!((clock.next_ns(1025), clock.next_ns(1035)), (1035, 1045));
        clock.restart(1030);
        assert_eq!((clock.missed(1030), clock.missed(1040)), (2, 3));
        // A time before the last message, of another thread, changes nothing.
        assert_eq!(clock.missed(1000), 0);
    }

    #[test]
    fn extreme_times_are_no_problem() {
        let clock = DeadlineClock::at(u64::MAX, 5);
        assert_eq!((clock.missed(u64::MAX), clock.next_ns(6)), (0, u64::MAX));
        let clock = DeadlineClock::at(1, 0);
        clock.restart(u64::MAX);
        assert_eq!(clock.missed(u64::MAX), u64::MAX);
    }
}
