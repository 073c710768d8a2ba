//! Which slots a subscriber holds: a list of its own, which the owners of the slots only read.
//!
//! The problem. A subscriber in another process holds, without a lock, a slot that its owner may be about to
//! reuse. Either of them may be killed between any two instructions. A reference count leaks when its holder
//! dies, and a bit for each subscriber in each slot limits their number and lets every subscriber write to
//! the owner's memory.
//!
//! The protocol. Every subscriber has a ledger in its own place. A word of it names one slot, or is 0.
//!
//! ```text
//!   subscriber: hold                            owner: reclaim
//!   1. a free word = the slot's name (SeqCst)   1. generation += 1, of all slots that it retires
//!   2. generation as in the row?     (SeqCst)      fence             (SeqCst)
//!      yes: the slot is mine to read            2. read all ledgers  (SeqCst)
//!      no:  the word = 0; it was recycled          not named: the slot is free
//!                                                  named: a subscriber holds it; look again later
//! ```
//!
//! In the total order of sequentially consistent accesses and fences, either the subscriber's 1 precedes the
//! owner's 2: the owner sees the name and does not reuse the slot. Or the owner's fence precedes the
//! subscriber's 2: the subscriber sees the new generation and gives the slot up. Both may happen, which is
//! harmless; it cannot happen that neither does.
//!
//! The owner looks at ledgers only when it has no free slot left, once for all slots that it has retired in
//! the meantime. Small slots are retired in batches, so most small messages cost neither side a cache line
//! that the other one writes.
//!
//! A name is the number of the pool's entry in the topic, and the slot. An entry may be given to another pool
//! while a subscriber still holds a slot of the earlier one. The new owner then finds a slot of the same
//! number named, and does not reuse it meanwhile. That is harmless.
//!
//! **A subscriber that dies** leaves its names. They count until the place is free, and nothing else has to
//! be cleared. The next subscriber that takes the place clears the ledger before it shows that the place is
//! taken. **An owner that dies** frees nothing any more.

use situ_memory::SlotControl;
use situ_memory::sync::atomic::{AtomicU64, Ordering};
use situ_memory::sync::between_sequentially_consistent;

/// How many slots a subscriber can hold: as many names as fit the rest of its page.
pub const HOLDS: usize = if cfg!(loom) { 2 } else { 493 };

/// A slot that a ledger names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct HeldSlot {
    /// The entry of its pool in the topic.
    pub pool: u16,
    /// Its number in the pool.
    pub slot: u16,
}

/// The bit of every name, so that no name is 0.
const NAMED: u64 = 1 << 63;

impl HeldSlot {
    #[inline]
    fn to_bits(self) -> u64 {
        NAMED | u64::from(self.pool) << 16 | u64::from(self.slot)
    }

    #[inline]
    fn from_bits(bits: u64) -> Option<Self> {
        (bits != 0).then_some(Self { pool: (bits >> 16) as u16, slot: bits as u16 })
    }
}

/// The slots that one subscriber holds. Zeroed memory is a valid, empty ledger.
#[repr(C)]
#[derive(Debug)]
pub struct Ledger {
    /// No word from here on was ever used by the present subscriber. Grows only.
    used: AtomicU64,
    /// The names; 0: free.
    names: [AtomicU64; HOLDS],
}

/// The fields' offsets, sizes and names.
#[cfg(all(test, not(loom)))]
pub(crate) const FIELDS: [(usize, usize, &str); 2] = [
    (std::mem::offset_of!(Ledger, used), 8, "used"),
    (std::mem::offset_of!(Ledger, names), 8 * HOLDS, "names"),
];

impl Ledger {
    /// A ledger in private memory, for the model checker.
    #[cfg(loom)]
    #[allow(clippy::new_without_default)]
    pub fn new() -> Self {
        Self { used: AtomicU64::new(0), names: std::array::from_fn(|_| AtomicU64::new(0)) }
    }

    #[inline]
    fn used(&self, order: Ordering) -> usize {
        // Another process may have written anything.
        self.used.load(order).min(HOLDS as u64) as usize
    }

    /// Subscriber's thread: a free word. It tries the word `last` first, then those behind it, so that a word
    /// is found at once when samples are dropped soon, or in the order in which they were taken. `None` if
    /// all words are in use.
    ///
    /// Acquire: all reads of the sample that had the word happen before the word is used again.
    #[inline]
    pub fn free(&self, last: usize) -> Option<usize> {
        let is_free = |index: &usize| self.names[*index].load(Ordering::Acquire) == 0;
        let last = last.min(HOLDS - 1);
        if is_free(&last) { Some(last) } else { self.free_behind(last, is_free) }
    }

    #[cold]
    fn free_behind(&self, last: usize, is_free: impl Fn(&usize) -> bool) -> Option<usize> {
        let used = self.used(Ordering::Relaxed);
        let found = (last + 1..used).chain(0..last.min(used)).find(&is_free);
        found.or_else(|| (used < HOLDS).then_some(used).filter(is_free))
    }

    /// Subscriber's thread: holds a slot in a [free](Self::free) word, if the slot still has the generation
    /// of a row.
    ///
    /// On success all that the owner wrote before it published this generation is visible (the caller has
    /// read the row with acquire ordering). It stays unchanged until [`release`](Self::release).
    #[inline]
    #[must_use]
    pub fn hold(&self, index: usize, slot: HeldSlot, control: &SlotControl, generation: u16) -> bool {
        self.write(index, slot);
        between_sequentially_consistent();
        if control.has_generation(generation) {
            return true;
        }
        self.release(index);
        false
    }

    #[inline]
    fn write(&self, index: usize, slot: HeldSlot) {
        if index as u64 >= self.used.load(Ordering::Relaxed) {
            // Before the name, so that an owner that misses this is one whose new generation is seen.
            self.used.swap(index as u64 + 1, Ordering::SeqCst);
        }
        // A read-modify-write, so that the generation is read after it: see
        // `between_sequentially_consistent`. If the process dies right here, the name counts until the place
        // is free.
        self.names[index].swap(slot.to_bits(), Ordering::SeqCst);
    }

    /// Any thread of the subscriber: releases a slot. The reads of its bytes happen before the owner next
    /// finds the word without the name (release, paired with the owner's acquiring load). So the owner never
    /// overwrites bytes that a thread still reads.
    #[inline]
    pub fn release(&self, index: usize) {
        self.names[index].store(0, Ordering::Release);
    }

    /// The slots that it names at the moment. An owner calls this behind a sequentially consistent fence, and
    /// before that it raised the generations.
    #[inline]
    pub fn held(&self) -> impl Iterator<Item = HeldSlot> + '_ {
        let used = self.used(Ordering::SeqCst);
        self.names[..used].iter().filter_map(|name| HeldSlot::from_bits(name.load(Ordering::SeqCst)))
    }

    /// Forgets all names, for a new subscriber, before its place counts as taken.
    pub fn clear(&self) {
        let used = self.used(Ordering::Relaxed);
        self.names[..used].iter().for_each(|name| name.store(0, Ordering::Relaxed));
        self.used.store(0, Ordering::Relaxed);
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    fn empty() -> Box<Ledger> {
        // SAFETY: all zeroes are an empty ledger.
        unsafe { Box::new_zeroed().assume_init() }
    }

    fn take(ledger: &Ledger, last: usize, slot: u16) -> Option<usize> {
        let index = ledger.free(last)?;
        ledger.write(index, HeldSlot { pool: 8190, slot });
        Some(index)
    }

    #[test]
    fn a_name_is_what_was_written() {
        let ledger = empty();
        assert_eq!(take(&ledger, 0, u16::MAX), Some(0));
        assert_eq!(ledger.held().collect::<Vec<_>>(), [HeldSlot { pool: 8190, slot: u16::MAX }]);
        ledger.write(1, HeldSlot { pool: 0, slot: 0 });
        assert_eq!(ledger.held().count(), 2, "entry 0 and slot 0 are a name too");
        ledger.release(0);
        assert_eq!(ledger.held().collect::<Vec<_>>(), [HeldSlot { pool: 0, slot: 0 }]);
    }

    #[test]
    fn a_word_is_found_in_the_order_in_which_samples_are_dropped() {
        let ledger = empty();
        // Dropped at once: the same word each time.
        for slot in 0..5 {
            assert_eq!(take(&ledger, 0, slot), Some(0));
            ledger.release(0);
        }
        // A queue of three.
        let mut last = 0;
        for turn in 0..12 {
            last = take(&ledger, last, turn).unwrap();
            assert_eq!(last, usize::from(turn % 4), "{turn}");
            if turn >= 3 {
                ledger.release((usize::from(turn) + 1) % 4);
            }
        }
    }

    #[test]
    fn a_full_ledger_has_no_word() {
        let ledger = empty();
        let mut last = 0;
        for slot in 0..HOLDS {
            last = take(&ledger, last, slot as u16).unwrap();
            assert_eq!(last, slot);
        }
        assert_eq!(ledger.free(last), None);
        assert_eq!(ledger.held().count(), HOLDS);
        ledger.release(17);
        assert_eq!(ledger.free(last), Some(17));
        ledger.clear();
        assert_eq!((ledger.held().count(), ledger.free(0)), (0, Some(0)));
    }

    #[test]
    fn any_bits_in_a_ledger_are_slots() {
        let ledger = empty();
        ledger.used.store(u64::MAX, Ordering::Relaxed);
        ledger.names[3].store(u64::MAX, Ordering::Relaxed);
        assert_eq!(ledger.held().collect::<Vec<_>>(), [HeldSlot { pool: u16::MAX, slot: u16::MAX }]);
    }
}
