//! The time that the writers of a process may still wait for chunks. The process sets this limit, not the
//! session.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// The maximum time that a writer takes at once, so that time is left for other waiting writers.
const MAX_PORTION: u64 = 1_000_000;

/// Nanoseconds that all writers of a process share. A writer takes its time out before it sleeps, so all
/// writers together never wait longer than the limit. Every access may be relaxed: the number orders only
/// itself.
#[derive(Debug)]
pub(crate) struct StallBudget {
    limit: u64,
    left: AtomicU64,
}

fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

impl StallBudget {
    pub(crate) fn new(limit: Duration) -> Self {
        let limit = nanoseconds(limit);
        Self { limit, left: AtomicU64::new(limit) }
    }

    /// Takes at most `wanted` of the remaining time. Returns 0 if no time is left.
    pub(crate) fn take(&self, wanted: u64) -> u64 {
        let wanted = wanted.min(MAX_PORTION);
        let taken = self.left.try_update(Ordering::Relaxed, Ordering::Relaxed, |left| {
            (left > 0).then(|| left - left.min(wanted))
        });
        taken.map_or(0, |left| left.min(wanted))
    }

    /// Returns time that was taken and not used for waiting.
    pub(crate) fn give_back(&self, rest: u64) {
        // At most up to the limit, because a refill may have come in between.
        self.left
            .update(Ordering::Relaxed, Ordering::Relaxed, |left| left.saturating_add(rest).min(self.limit));
    }

    /// Makes the budget full again.
    pub(crate) fn refill(&self) {
        self.left.store(self.limit, Ordering::Relaxed);
    }

    /// Returns the time that was taken since the budget was full.
    pub(crate) fn waited(&self) -> Duration {
        Duration::from_nanos(self.limit.saturating_sub(self.left.load(Ordering::Relaxed)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_writers_together_get_no_more_than_the_budget() {
        let budget = StallBudget::new(Duration::from_micros(2500));
        assert_eq!(budget.take(u64::MAX), 1_000_000);
        assert_eq!(budget.take(300_000), 300_000);
        budget.give_back(200_000);
        assert_eq!(budget.waited(), Duration::from_micros(1100));
        assert_eq!([budget.take(u64::MAX), budget.take(u64::MAX), budget.take(1)], [1_000_000, 400_000, 0]);
        budget.refill();
        budget.give_back(1_000_000);
        assert_eq!((budget.waited(), budget.take(0)), (Duration::ZERO, 0));
    }
}
