//! How far a reliable publisher may run ahead, and how a new subscriber makes itself known to it.
//!
//! A publisher must not lap a subscriber that it waits for, yet it must not read every cursor for every
//! message. So it caches the smallest cursor that it saw. Cursors only move on: a cached minimum is too small
//! at worst, which costs another look. Only a subscriber that the publisher has not seen could make it too
//! large; hence the epoch, which changes when a subscriber comes.
//!
//! ```text
//!   publisher, for each message                       subscriber that comes
//!   1. epoch as remembered? (SeqCst)                  1. place active           (SeqCst)
//!      no: remember it, look at all cursors           2. epoch += 1             (SeqCst)
//!   2. room behind the smallest cursor?               3. cursor = end of the rows (SeqCst)
//!   3. swap the row         (SeqCst)
//! ```
//!
//! Suppose a publisher does not see the new epoch in its 1, and swaps the row of message `n`. All messages
//! before `n` were there already. If the swap precedes the subscriber's 3, the subscriber begins behind `n`
//! and nothing was promised. Otherwise it begins at `n` or before, so it finds `n` in its row. The
//! publisher's next 1 comes after that swap, which comes after the subscriber's 3 and so after its 2: it sees
//! the new epoch. Hence each publisher publishes at most one message without regard to the newcomer, and that
//! message is the first that it takes.

use situ_memory::sync::atomic::{AtomicU64, Ordering};
use situ_memory::sync::between_sequentially_consistent;

use crate::protocol::ring::Ring;

/// The word that changes when a subscriber comes, as publishers see it: they only read it.
#[derive(Debug, Clone, Copy)]
pub struct Epoch<'a>(&'a AtomicU64);

impl<'a> Epoch<'a> {
    /// The epoch in this word.
    #[inline]
    pub fn new(word: &'a AtomicU64) -> Self {
        Self(word)
    }

    /// What it is now.
    #[inline]
    pub fn get(self) -> u64 {
        self.0.load(Ordering::SeqCst)
    }
}

/// A publisher's memory of those whom it waits for.
#[derive(Debug)]
pub struct Window {
    slowest: u64,
    epoch: u64,
}

impl Default for Window {
    fn default() -> Self {
        // No epoch reaches this one, so that the first message looks at the cursors.
        Self { slowest: 0, epoch: u64::MAX }
    }
}

impl Window {
    /// The smallest cursor as last seen; `u64::MAX` if there was none.
    #[inline]
    pub fn slowest(&self) -> u64 {
        self.slowest
    }

    /// Looks at the cursors: `slowest` gives the smallest of those who are waited for, `u64::MAX` if there is
    /// none.
    #[cold]
    pub fn refresh(&mut self, epoch: Epoch<'_>, slowest: impl FnOnce() -> u64) -> u64 {
        // The epoch first: a place that is taken after this changes it again.
        self.epoch = epoch.get();
        self.slowest = slowest();
        self.slowest
    }

    /// Whether message `number` may be published if at most `room` may be ahead of the slowest.
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

/// Subscriber, steps 2 and 3, once its place is active: `wants` is how many messages it would like to find,
/// none of them before `first`.
pub fn enter(ring: Ring<'_>, cursor: &AtomicU64, epoch: &AtomicU64, wants: u64, first: u64) {
    epoch.fetch_add(1, Ordering::SeqCst);
    between_sequentially_consistent();
    cursor.store(begin(ring, wants, first), Ordering::SeqCst);
}

/// Where a subscriber begins that asks for this many messages.
pub fn begin(ring: Ring<'_>, wants: u64, first: u64) -> u64 {
    let end = ring.end();
    (end - wants.min(end).min(ring.depth())).max(first.min(end))
}
