//! Returns memory of free slots to the system: when it was not needed for some time, above a limit, and on
//! request.
//!
//! A free slot is usually lent again soon, and its pages are warm then, so it keeps its memory. But then the
//! memory of a burst, or of a subscriber that held many samples, would stay for ever. So every few seconds a
//! publisher finds the slots that were free since its last check, and returns their memory; a steady stream
//! has no such slots. It checks where it reads the clock anyway: right after a message was published, and
//! while it waits for room. It has no thread of its own, so a publisher that does neither returns no memory
//! by time.

use crate::clock::now_ns;
use crate::port::publisher::RawPublisher;
use crate::port::publisher_state::{Inner, Trimming};
use crate::port::subscriber::RawSubscriber;

/// How often a publisher checks. Memory is returned when it was not needed for this time to twice this time.
const INTERVAL_NS: u64 = 2_000_000_000;
/// About how much memory is returned by one check. That takes some milliseconds, in which the publisher does
/// not publish.
const MAX_AT_ONCE: u64 = 256 << 20;
/// A publisher that does not stamp its messages reads the clock once in this many messages.
const UNSTAMPED: u32 = 64;

impl RawPublisher {
    /// Returns the memory of free slots to the system, and the number of its bytes to the caller. A slot is
    /// free if no subscriber holds it or can still take it. Messages that stay available keep their memory,
    /// and so do samples and loans.
    ///
    /// Publishing does the same with memory that was not needed for some seconds, but only in a publisher
    /// that publishes or waits for room. Call this when nothing will be published for a long time. The next
    /// messages then pay for new memory. A device's memory is one block, and stays; so does memory that is
    /// registered with a device. A ring's memory is returned if none of it is in use.
    pub fn trim(&self) -> u64 {
        if self.is_inherited() {
            return 0;
        }
        let inner = &mut *self.inner.borrow_mut();
        self.retire_passed(inner);
        self.reclaim(inner);
        let bodies = inner.bodies.as_mut().map_or(0, |bodies| bodies.pool.trim());
        let copies = self.eager.as_ref().map_or(0, |eager| eager.borrow_mut().trim());
        inner.pool.trim() + bodies + copies
    }

    /// The checks of about once a second, right after a message was published at `now_ns`, which is 0 without
    /// a time stamp.
    #[inline(always)]
    pub(crate) fn look_around(&self, inner: &mut Inner, now_ns: u64) {
        let now_ns = if now_ns == 0 { inner.trimming.now_and_then() } else { now_ns };
        self.topic.look_for_removal_at(now_ns);
        if now_ns.saturating_sub(inner.trimming.looked_ns) > INTERVAL_NS {
            self.give_idle_back(inner, now_ns);
        }
    }

    #[cold]
    #[inline(never)]
    fn give_idle_back(&self, inner: &mut Inner, now_ns: u64) {
        inner.trimming.looked_ns = now_ns;
        self.reclaim(inner);
        inner.pool.give_idle_back(MAX_AT_ONCE);
        if let Some(bodies) = &mut inner.bodies {
            bodies.pool.give_idle_back(MAX_AT_ONCE);
        }
    }
}

impl RawSubscriber {
    /// Returns the memory of free slots for copies in the subscriber's domain to the system, and the number
    /// of its bytes to the caller. 0 if the subscriber makes no copies. See [`RawPublisher::trim`].
    pub fn trim(&self) -> u64 {
        if self.is_inherited() { 0 } else { self.copies().trim() }
    }
}

impl Trimming {
    /// Returns the time in one of [`UNSTAMPED`] calls, otherwise 0.
    #[inline]
    fn now_and_then(&mut self) -> u64 {
        self.unstamped = (self.unstamped + 1) % UNSTAMPED;
        if self.unstamped == 0 { now_ns() } else { 0 }
    }
}
