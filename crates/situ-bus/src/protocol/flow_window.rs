//! How far a reliable publisher may run ahead, and how it learns of a new subscriber.
//!
//! A publisher must not lap a subscriber that it waits for, but it must not read every cursor for every
//! message either. So it caches the smallest cursor that it has read. Cursors only increase: a cached minimum
//! can be too small, which costs another read of the cursors. It could be too large only because of a
//! subscriber that the publisher has not seen. Therefore there is an epoch, which changes when a subscriber
//! joins.
//!
//! ```text
//!   publisher, for each message                       subscriber that joins
//!   1. epoch as cached? (SeqCst)                      1. place active           (SeqCst)
//!      no: cache it, read all cursors                 2. epoch += 1             (SeqCst)
//!   2. room behind the smallest cursor?               3. cursor = end of the rows (SeqCst)
//!   3. swap the row         (SeqCst)
//! ```
//!
//! Suppose a publisher does not see the new epoch in its step 1, and swaps the row of message `n`. All
//! messages before `n` were already published. If the swap precedes the subscriber's step 3, the subscriber
//! begins behind `n` and has no claim to `n`. Otherwise it begins at `n` or before, so it finds `n` in its
//! row. The publisher's next step 1 comes after that swap, which comes after the subscriber's step 3 and so
//! after its step 2: it sees the new epoch. Hence each publisher publishes at most one message without regard
//! to the new subscriber, and that message is the first that the subscriber takes.

use situ_memory::sync::atomic::{AtomicU64, Ordering};
use situ_memory::sync::between_sequentially_consistent;

use crate::protocol::ring::Ring;

/// The word that changes when a subscriber joins, as publishers see it: they only read it.
#[derive(Debug, Clone, Copy)]
pub struct Epoch<'a>(&'a AtomicU64);

impl<'a> Epoch<'a> {
    /// The epoch in this word.
    #[inline]
    pub fn new(word: &'a AtomicU64) -> Self {
        Self(word)
    }

    /// The present epoch.
    #[inline]
    pub fn get(self) -> u64 {
        self.0.load(Ordering::SeqCst)
    }
}

/// A publisher's cache of the slowest subscriber that it waits for.
#[derive(Debug)]
pub struct FlowWindow {
    slowest: u64,
    epoch: u64,
}

impl Default for FlowWindow {
    fn default() -> Self {
        // No epoch reaches this value, so the first message reads the cursors.
        Self { slowest: 0, epoch: u64::MAX }
    }
}

impl FlowWindow {
    /// The smallest cursor at the last read; `u64::MAX` if there was none.
    #[inline]
    pub fn slowest(&self) -> u64 {
        self.slowest
    }

    /// Reads the cursors: `slowest` returns the smallest cursor of the subscribers that are waited for, or
    /// `u64::MAX` if there are none.
    #[cold]
    pub fn refresh(&mut self, epoch: Epoch<'_>, slowest: impl FnOnce() -> u64) -> u64 {
        // The epoch is read first: a place that is taken after this changes it again.
        self.epoch = epoch.get();
        self.slowest = slowest();
        self.slowest
    }

    /// Whether message `number` may be published if at most `room` messages may be ahead of the slowest
    /// cursor.
    #[inline]
    pub fn admits(
        &mut self,
        number: u64,
        room: u64,
        epoch: Epoch<'_>,
        slowest: impl FnOnce() -> u64,
    ) -> bool {
        between_sequentially_consistent();
        let fits = |slowest: u64| number < slowest.saturating_add(room);
        (epoch.get() == self.epoch && fits(self.slowest)) || fits(self.refresh(epoch, slowest))
    }
}

/// Subscriber, steps 2 and 3, once its place is active. `wants` is how many earlier messages it requests,
/// none of them before `first`.
pub fn enter(ring: Ring<'_>, cursor: &AtomicU64, epoch: &AtomicU64, wants: u64, first: u64) {
    epoch.fetch_add(1, Ordering::SeqCst);
    between_sequentially_consistent();
    cursor.store(begin(ring, wants, first), Ordering::SeqCst);
}

/// The first number of a subscriber that requests this many earlier messages.
pub fn begin(ring: Ring<'_>, wants: u64, first: u64) -> u64 {
    let end = ring.end();
    (end - wants.min(end).min(ring.depth())).max(first.min(end))
}
