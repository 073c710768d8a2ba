//! A publisher's lease of manual liveliness: its signs of life, and how often they came too late.
//!
//! ```text
//!   publisher, for each sign of life          subscriber whose look finds the lease over
//!   1. asserted = now         (SeqCst)        1. lapses += 1           (SeqCst)
//!   2. lapses as before?      (SeqCst)        2. asserted still old?   (SeqCst)
//!      no: report a change                       yes: it is not alive
//! ```
//!
//! Subscribers count in their own file, one word for all publishers. Either the subscriber's 2 sees the new
//! sign of life, or the publisher's 2 sees another count and reports the change, after which the subscriber
//! looks again. A publisher that dies before its report is found by the
//! end of its process.

use std::sync::Arc;

use situ_memory::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use situ_memory::sync::between_sequentially_consistent;

use crate::clock::now_ns;
use crate::qos::Terms;
use crate::topic::Topic;
use crate::topic::format::PublisherEntry;

/// A publisher's own lease.
#[derive(Debug)]
pub(crate) struct Lease {
    lease_ns: u64,
    /// The last sign of life.
    asserted_ns: AtomicU64,
    /// One more than the last sign of life whose lease was counted as lost.
    counted: AtomicU64,
    lost: AtomicU64,
    /// The topic's count of leases that were found over, at the last sign of life.
    lapses: AtomicU32,
}

impl Lease {
    /// The lease of a new publisher. `None` if its liveliness is automatic, or its lease has no end.
    pub(crate) fn of(topic: &Topic, offered: Terms) -> Option<Arc<Self>> {
        (offered.manual && offered.lease_ns != 0).then(|| {
            let lease = Self::at(offered.lease_ns, now_ns());
            lease.lapses.store(topic.lapses().load(Ordering::SeqCst), Ordering::Relaxed);
            Arc::new(lease)
        })
    }

    fn at(lease_ns: u64, now: u64) -> Self {
        Self { lease_ns, asserted_ns: now.into(), counted: 0.into(), lost: 0.into(), lapses: 0.into() }
    }

    /// A sign of life of the publisher with this entry. Only the publisher's own thread calls it. Returns
    /// whether it came too late.
    #[inline]
    pub(crate) fn assert(&self, topic: &Topic, entry: &PublisherEntry, now: u64) -> bool {
        let was_lost = self.restart(now);
        entry.asserted_ns.store(now, Ordering::SeqCst);
        between_sequentially_consistent();
        let lapses = topic.lapses().load(Ordering::SeqCst);
        if self.lapses.swap(lapses, Ordering::Relaxed) != lapses {
            topic.note_change();
        }
        was_lost
    }

    #[inline]
    fn restart(&self, now: u64) -> bool {
        let before = self.asserted_ns.swap(now, Ordering::Relaxed);
        self.count(before, now)
    }

    /// How often the lease was lost by now.
    pub(crate) fn lost(&self, now: u64) -> u64 {
        self.count(self.asserted_ns.load(Ordering::Relaxed), now);
        self.lost.load(Ordering::Relaxed)
    }

    /// When the lease is lost, if there is no sign of life before; `u64::MAX` if it is lost.
    pub(crate) fn next_ns(&self, now: u64) -> u64 {
        let end = self.asserted_ns.load(Ordering::Relaxed).saturating_add(self.lease_ns);
        if end < now { u64::MAX } else { end.saturating_add(1) }
    }

    /// Counts a lease that was lost, once. Returns whether it was lost.
    #[inline]
    fn count(&self, asserted: u64, now: u64) -> bool {
        let is_lost = now.saturating_sub(asserted) > self.lease_ns;
        // Signs of life only increase: a thread that comes late counts none twice.
        if is_lost && self.counted.fetch_max(asserted.saturating_add(1), Ordering::Relaxed) <= asserted {
            self.lost.fetch_add(1, Ordering::Relaxed);
        }
        is_lost
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_lost_lease_counts_once() {
        let lease = Lease::at(10, 100);
        assert_eq!((lease.lost(110), lease.next_ns(110)), (0, 111));
        assert_eq!((lease.lost(111), lease.lost(500), lease.next_ns(111)), (1, 1, u64::MAX));
        assert!(lease.restart(500));
        assert_eq!((lease.lost(500), lease.next_ns(500)), (1, 511));
        assert!(!lease.restart(510));
        // Lost without a look in between.
        assert!(lease.restart(1000));
        assert_eq!((lease.lost(1010), lease.lost(1011)), (2, 3));
    }
}
