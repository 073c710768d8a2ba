//! The state of one copy of a message: whether a domain has it, and which participant makes it.
//!
//! The problem. A message lies in one memory domain, and several subscribers need it in another. Exactly one
//! of them copies it, the others share the copy, and the copier may be killed at any instruction.
//!
//! The protocol. A topic has one word for each row and domain:
//!
//! ```text
//!   63            44 43   42 41          29 28          13 12            0
//!   +---------------+-------+--------------+--------------+---------------+
//!   | lap + 1 (20)  | state |  pool (13)   |  slot (16)   | generation(13)|
//!   +---------------+-------+--------------+--------------+---------------+
//!
//!                 claim                    finish
//!     ABSENT ----------------> COPYING ------------> READY
//!       ^  (or an earlier lap)  |  ^                   |
//!       +-----------------------+  +-------------------+
//!           abandon: it failed     claim: its slot was recycled
//! ```
//!
//! The pool and the slot are the claimant's own: no participant ever writes into another one's slot. Every
//! step is one compare-and-swap of the whole word, so each has one winner. A word of an earlier lap has the
//! same meaning as `ABSENT`.
//!
//! A claimant that dies while `COPYING` has written to its own slot only. A participant that waits for it
//! finds it dead (or reaches its time limit), and claims the entry from the word that it read. If the former
//! claimant was slow rather than dead, its `finish` fails, because the word has changed. It then frees its
//! slot and shares the new copy.
//!
//! A copy may also be *enqueued* on a stream. Then the entry becomes `READY` before the copy is enqueued, so
//! that other participants do not wait for the enqueuing. The fence of the slot is pending, and subscribers
//! that share it wait for the fence, or let a stream wait. A copy with a poisoned fence does not count: it is
//! claimed from the word that was read, like the copy of a dead claimant. A copier that dies after
//!
//! * the claim leaves `COPYING`, which is taken over;
//! * `finish` leaves `READY` and a pending fence, whether the copy was enqueued or not. Repair poisons the
//!   fence when the process has ended and its devices have released the memory. The copy holds the message
//!   until then, so its source was not overwritten. Then the copy is taken over;
//! * the fence was completed leaves a valid copy.
//!
//! `finish` releases the copied bytes, `look` acquires them (for an enqueued copy, the fence does both). A
//! copy that is `READY` is held like a message: by a name in the ledger, then a check of the slot's
//! generation, then another read of the entry (see [`ledger`](super::ledger)).

use situ_memory::sync::atomic::{AtomicU64, Ordering};

use crate::protocol::ring::Reference;

const LAP_BITS: u32 = 20;
const LAP_MASK: u64 = (1 << LAP_BITS) - 1;
const LAP_SHIFT: u32 = 64 - LAP_BITS;
const STATE_SHIFT: u32 = 42;

const ABSENT: u64 = 0;
const COPYING: u64 = 1;
const READY: u64 = 2;

/// The state of a copy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Found {
    /// There is no copy, and none is under way.
    Absent,
    /// A copy is under way, into this slot.
    Copying(Reference),
    /// The copy lies in this slot.
    Ready(Reference),
    /// The entry already belongs to a later message.
    Passed,
}

/// The entry of one message in one domain.
#[derive(Debug, Clone, Copy)]
pub struct CopyState<'a> {
    word: &'a AtomicU64,
    mark: u64,
}

impl<'a> CopyState<'a> {
    /// The entry of message `number` in the word of its row, in a topic of `depth` rows.
    pub fn new(word: &'a AtomicU64, number: u64, depth: u64) -> Self {
        debug_assert!(depth.is_power_of_two());
        Self { word, mark: (number >> depth.trailing_zeros()).wrapping_add(1) & LAP_MASK }
    }

    fn bits(&self, state: u64, reference: Reference) -> u64 {
        self.mark << LAP_SHIFT | state << STATE_SHIFT | reference.to_bits()
    }

    /// Returns the state, and the whole word, to claim from or to compare with later. If the state is
    /// `READY`, the copied bytes are visible.
    pub fn look(&self) -> (Found, u64) {
        let word = self.word.load(Ordering::SeqCst);
        let ahead = (word >> LAP_SHIFT).wrapping_sub(self.mark) & LAP_MASK;
        // Sign-extend the lap.
        let found = match ((ahead << LAP_SHIFT) as i64) >> LAP_SHIFT {
            0 => match word >> STATE_SHIFT & 3 {
                COPYING => Found::Copying(Reference::from_bits(word)),
                READY => Found::Ready(Reference::from_bits(word)),
                _ => Found::Absent,
            },
            1.. => Found::Passed,
            _ => Found::Absent,
        };
        (found, word)
    }

    /// Claims the copy for the caller, which will write the bytes into `target`, a slot of its own, if the
    /// entry still holds the word `seen`. Returns the word of the claim.
    ///
    /// If the claimant dies after this, repair finds the claim through the entry of its pool in the topic.
    pub fn claim(&self, seen: u64, target: Reference) -> Option<u64> {
        let claim = self.bits(COPYING, target);
        self.swap(seen, claim).then_some(claim)
    }

    /// Marks the copy as complete, and returns the entry's new word. `None` if the claim was taken over.
    ///
    /// Publication: releases everything that the caller wrote to the slot.
    pub fn finish(&self, claim: u64) -> Option<u64> {
        let ready = claim & !(3 << STATE_SHIFT) | READY << STATE_SHIFT;
        self.swap(claim, ready).then_some(ready)
    }

    /// Gives up a failed copy, so that another participant may try. Nothing changes if the claim was taken
    /// over.
    pub fn abandon(&self, claim: u64) {
        self.swap(claim, self.mark << LAP_SHIFT | ABSENT << STATE_SHIFT);
    }

    /// Whether the entry still holds this word.
    pub fn still(&self, word: u64) -> bool {
        self.word.load(Ordering::SeqCst) == word
    }

    /// Whether the entry refers to this pool, in the lap of its message.
    pub fn refers_to(&self, pool: u16) -> bool {
        matches!(self.look().0, Found::Copying(slot) | Found::Ready(slot) if slot.pool == pool)
    }

    /// Removes a copy in this pool, complete or under way, because the pool was removed. Subscribers that
    /// hold the copy keep it.
    #[cfg(not(loom))]
    pub(crate) fn forget(&self, pool: u16) {
        let (found, word) = self.look();
        if matches!(found, Found::Copying(slot) | Found::Ready(slot) if slot.pool == pool) {
            // If the word has changed in the meantime, it names another pool: nothing is published from a
            // pool that is gone.
            self.abandon(word);
        }
    }

    /// Removes the copy in this slot, if the word still names it. Its owner calls this before it reuses the
    /// slot for another message: the words of a sealed ring remain, and have only 13 bits of the slot's
    /// generation.
    ///
    /// If a subscriber holds the slot and then still finds the word, its read comes before this swap in the
    /// total order, so the owner finds the subscriber's name.
    pub fn forget_slot(&self, pool: u16, slot: u16) {
        let (found, word) = self.look();
        if matches!(found, Found::Copying(it) | Found::Ready(it) if it.pool == pool && it.slot == slot) {
            self.abandon(word);
        }
    }

    fn swap(&self, from: u64, to: u64) -> bool {
        self.word.compare_exchange(from, to, Ordering::SeqCst, Ordering::SeqCst).is_ok()
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    fn slot(pool: u16, slot: u16) -> Reference {
        Reference { pool, slot, generation: 0x1ffe }
    }

    #[test]
    fn an_entry_goes_from_absent_to_ready_once() {
        let word = AtomicU64::new(0);
        let entry = CopyState::new(&word, 5, 4);
        let (found, absent) = entry.look();
        assert_eq!(found, Found::Absent);
        let claim = entry.claim(absent, slot(3, 7)).unwrap();
        // Lap 1, so mark 2; COPYING; pool 3, slot 7, generation 1ffe.
        assert_eq!(claim, 2 << 44 | 1 << 42 | 3 << 29 | 7 << 13 | 0x1ffe);
        assert_eq!(entry.claim(absent, slot(4, 1)), None, "the word has changed");
        assert_eq!(entry.look(), (Found::Copying(slot(3, 7)), claim));
        let ready = entry.finish(claim).unwrap();
        assert_eq!(ready, 2 << 44 | 2 << 42 | 3 << 29 | 7 << 13 | 0x1ffe);
        assert_eq!(entry.look(), (Found::Ready(slot(3, 7)), ready));
        assert!(entry.still(ready) && entry.refers_to(3) && !entry.refers_to(4));
        assert_eq!(entry.finish(claim), None);
    }

    #[test]
    fn a_claim_that_was_taken_over_can_neither_be_finished_nor_abandoned() {
        let word = AtomicU64::new(0);
        let entry = CopyState::new(&word, 0, 1024);
        let slow = entry.claim(0, slot(1, 1)).unwrap();
        let fast = entry.claim(slow, slot(2, 2)).unwrap();
        assert_eq!(entry.finish(slow), None);
        entry.abandon(slow);
        assert_eq!(entry.look(), (Found::Copying(slot(2, 2)), fast));
        entry.forget(1);
        assert_eq!(entry.look(), (Found::Copying(slot(2, 2)), fast), "another pool's copy stays");
        entry.forget(2);
        assert_eq!(entry.look().0, Found::Absent);
        // An abandoned entry is absent in its own lap; its word is not zero.
        assert_eq!(word.load(Ordering::Relaxed), 1 << 44);
    }

    #[test]
    fn earlier_laps_are_absent_and_later_ones_passed_also_where_laps_wrap() {
        for lap in [0u64, 7, (1 << 20) - 2, (1 << 20) - 1, 1 << 20] {
            let word = AtomicU64::new(0);
            let number = lap * 8 + 3;
            let ours = CopyState::new(&word, number, 8);
            let ready = ours.finish(ours.claim(0, slot(0, 0)).unwrap()).unwrap();
            assert_eq!(CopyState::new(&word, number + 8, 8).look(), (Found::Absent, ready));
            if lap > 0 {
                assert_eq!(CopyState::new(&word, number - 8, 8).look().0, Found::Passed);
            }
            assert!(!CopyState::new(&word, number + 8, 8).refers_to(0));
        }
    }
}
