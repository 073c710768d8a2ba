//! Giving memory of free slots back to the system: when it was not needed for a while, above a mark, and when
//! asked to.
//!
//! A slot that is free is lent again soon, as a rule, and its pages are warm then: so it keeps its memory.
//! What a burst took, or a subscriber that held many samples, would stay for ever. So a publisher looks every
//! few seconds which slots were free all the time since it last looked, and gives their memory back; a steady
//! stream has none. It looks where it reads the clock anyway: right after a message was published, and while
//! it waits for room. It has no thread of its own: one that does neither gives nothing back by time.

use crate::clock::now_ns;
use crate::port::publisher::RawPublisher;
use crate::port::publisher_state::{Inner, Trimming, give_back};
use crate::port::subscriber::RawSubscriber;

/// How often a publisher looks: memory goes back when it was not needed for this time to twice as much.
const INTERVAL_NS: u64 = 2_000_000_000;
/// About how much memory goes back at a look: it takes some milliseconds, in which the publisher does not
/// publish.
const MAX_AT_ONCE: u64 = 256 << 20;
/// A publisher that does not stamp its messages reads the clock once in this many messages.
const UNSTAMPED: u32 = 64;

impl RawPublisher {
    /// Gives the memory of free slots back to the system, and says how many bytes that are. Free is what no
    /// subscriber holds, and none can still take: messages that stay available keep their memory, and so do
    /// samples and loans.
    ///
    /// Publishing does the same with memory that was not needed for some seconds, but only in a publisher
    /// that publishes or waits for room. Call this when nothing will be published for long. The next messages
    /// pay for new memory. A device's memory is one block, and stays; so does memory that is registered with
    /// a device. A ring goes back if none of it is in use.
    pub fn trim(&self) -> u64 {
        if self.is_inherited() {
            return 0;
        }
        let inner = &mut *self.inner.borrow_mut();
        self.retire_passed(inner);
        give_back(inner, usize::MAX);
        let bodies = inner.bodies.as_mut().map_or(0, |bodies| bodies.pool.trim());
        let copies = self.eager.as_ref().map_or(0, |eager| eager.borrow_mut().trim());
        inner.pool.trim() + bodies + copies
    }

    /// What a publisher does about once a second, right after a message was published at this time; 0 if it
    /// has no stamp.
    #[inline(always)]
    pub(crate) fn look_around(&self, inner: &mut Inner, now_ns: u64) {
        let now_ns = if now_ns == 0 { inner.trimming.now_and_then() } else { now_ns };
        self.topic.look_for_removal_at(now_ns);
        if now_ns.saturating_sub(inner.trimming.looked_ns) > INTERVAL_NS {
            give_idle_back(inner, now_ns);
        }
    }
}

impl RawSubscriber {
    /// Gives the memory of free slots back that hold the copies it makes in its domain, and says how many
    /// bytes that are; see [`RawPublisher::trim`]. 0 if it makes none.
    pub fn trim(&self) -> u64 {
        if self.is_inherited() { 0 } else { self.copies().trim() }
    }
}

impl Trimming {
    /// The time, for one call in some, otherwise 0.
    #[inline]
    fn now_and_then(&mut self) -> u64 {
        self.unstamped = (self.unstamped + 1) % UNSTAMPED;
        if self.unstamped == 0 { now_ns() } else { 0 }
    }
}

#[cold]
#[inline(never)]
fn give_idle_back(inner: &mut Inner, now_ns: u64) {
    inner.trimming.looked_ns = now_ns;
    give_back(inner, usize::MAX);
    inner.pool.give_idle_back(MAX_AT_ONCE);
    if let Some(bodies) = &mut inner.bodies {
        bodies.pool.give_idle_back(MAX_AT_ONCE);
    }
}
