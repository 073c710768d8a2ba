//! The state word of a subscriber's place, and of the entry of a publisher or of a pool.

use situ_memory::sync::atomic::{AtomicU32, Ordering};

use super::format::state;

/// A state word at the time of its reading.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct StateWord(pub(crate) u32);

impl StateWord {
    /// Reads a state word, in the total order of all changes of membership.
    #[inline]
    pub(crate) fn read(word: &AtomicU32) -> Self {
        Self(word.load(Ordering::SeqCst))
    }

    #[inline]
    fn has(self, bit: u32) -> bool {
        self.0 & bit != 0
    }

    /// Whether it belongs to a member, or to a pool of one. It also does after the member has left or died,
    /// as long as the place or pool is needed.
    #[inline]
    pub(crate) fn is_taken(self) -> bool {
        self.has(state::ACTIVE | state::GONE)
    }

    /// Whether its member has not left. The member may have been found dead: see
    /// [`is_there`](Self::is_there).
    #[inline]
    pub(crate) fn is_active(self) -> bool {
        self.has(state::ACTIVE)
    }

    /// Whether its member left, or was found dead.
    #[inline]
    pub(crate) fn is_gone(self) -> bool {
        self.has(state::GONE)
    }

    /// Whether its member has not left, and was not found dead.
    #[inline]
    pub(crate) fn is_there(self) -> bool {
        self.0 & (state::ACTIVE | state::GONE) == state::ACTIVE
    }

    /// Whether a publisher waits for this subscriber.
    #[inline]
    pub(crate) fn is_waited_for(self) -> bool {
        self.has(state::BACKPRESSURE)
    }

    #[inline]
    pub(crate) fn is_reliable(self) -> bool {
        self.has(state::RELIABLE)
    }

    #[inline]
    pub(crate) fn is_transient_local(self) -> bool {
        self.has(state::TRANSIENT_LOCAL)
    }

    /// Whether its liveliness is manual by topic, or it requests that.
    #[inline]
    pub(crate) fn is_manual(self) -> bool {
        self.has(state::MANUAL)
    }

    /// The count, which tells this holder from all others of the place or entry.
    #[inline]
    pub(crate) fn holder(self) -> u32 {
        self.0 / state::COUNT
    }

    /// Whether the files of its pool were removed.
    #[inline]
    pub(crate) fn is_unlinked(self) -> bool {
        self.has(state::UNLINKED)
    }

    /// Whether it belongs to a pool of bodies.
    #[inline]
    pub(crate) fn is_of_bodies(self) -> bool {
        self.has(state::BODIES)
    }

    /// Whether it belongs to a pool of copies.
    #[inline]
    pub(crate) fn is_of_copies(self) -> bool {
        self.has(state::COPIES)
    }

    /// Whether it belongs to a pool of messages, and not of bodies or copies.
    #[inline]
    pub(crate) fn is_of_heads(self) -> bool {
        !self.has(state::BODIES | state::COPIES)
    }

    /// Whether the files of its pool exist.
    #[inline]
    pub(crate) fn has_pool(self) -> bool {
        self.is_taken() && !self.is_unlinked()
    }

    /// Whether it belongs to a publisher that has not left, and not only to a pool of one.
    #[inline]
    pub(crate) fn is_publisher(self) -> bool {
        self.is_active() && self.is_of_heads()
    }

    /// Whether its member uses another version of the type than the topic carries.
    #[inline]
    pub(crate) fn is_other_version(self) -> bool {
        self.has(state::VERSION)
    }

    /// Whether its subscriber's type has no form for flat messages.
    #[inline]
    pub(crate) fn has_no_flat_form(self) -> bool {
        self.has(state::NO_FLAT)
    }

    /// Whether its subscriber's type has no form for regions.
    #[inline]
    pub(crate) fn has_no_region_form(self) -> bool {
        self.has(state::NO_REGION)
    }

    /// The word after its member has left.
    pub(crate) fn left(self) -> u32 {
        (self.0 & !state::ACTIVE) | state::GONE
    }

    /// The word after the files of its pool were removed.
    pub(crate) fn unlinked(self) -> Self {
        Self(self.0 | state::UNLINKED)
    }

    /// The word of a free place or entry: only the count.
    pub(crate) fn freed(self) -> u32 {
        self.0 & !(state::COUNT - 1)
    }

    /// What it says beside the count.
    pub(super) fn bits(self) -> u32 {
        self.0 & (state::COUNT - 1)
    }

    /// The word of the next member. Its count differs from this one's.
    pub(crate) fn next(self, bits: u32) -> u32 {
        self.freed().wrapping_add(state::COUNT) | bits
    }
}
