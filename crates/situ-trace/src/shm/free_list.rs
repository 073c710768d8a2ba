//! The list of free chunks: a ring of chunk numbers that the collector fills and the writers of one process
//! empty.
//!
//! ```text
//!   collector: free chunk c                     writer: take a chunk
//!   1. read the chunk's bytes                   1. h = head             (acquire)
//!   2. list[tail % n] = c      (relaxed)        2. tail > h?            (acquire) no: none is free
//!   3. tail += 1               (release)        3. c = list[h % n]      (relaxed)
//!                                               4. swap head: h -> h+1  (acquire, release) else from 1
//! ```
//!
//! The writer's step 2 pairs with the collector's step 3. The number loaded in step 3 is therefore the one
//! that the collector stored there, and the collector's reads of the chunk come before the writer's writes.
//! The collector does not write the place `h % n` again while `head` is `h`: `tail` would have to be `h + n`,
//! and then all `n` chunks are free already. Numbers of 64 bits do not wrap around, so the swap is safe
//! however long a writer slept.
//!
//! The collector has a private copy of the numbers in the list, in order. With `head` alone (acquire, paired
//! with the swap of step 4) it derives which chunks are taken, and in which order. It never reads the other
//! chunks, and trusts no number in the list.
//!
//! A writer that dies after step 4 owns a chunk whose word does not show the owner: the collector sees it
//! FREE although it is taken. The collector frees it with the other chunks when the whole process is dead.

use situ_memory::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// The number of attempts to take a chunk. A failed attempt means that another writer of the process took a
/// chunk. All attempts fail only if another process writes to the list.
const MAX_ATTEMPTS: u32 = 4096;

/// One end of the list, alone on a pair of cache lines (processors fetch lines in pairs).
#[repr(C, align(128))]
#[derive(Debug)]
pub struct End(AtomicU64);

impl End {
    /// An end in private memory.
    #[allow(clippy::new_without_default, reason = "shared memory begins as zeroes instead")]
    pub fn new() -> Self {
        Self(AtomicU64::new(0))
    }
}

/// A list of free chunks.
#[derive(Clone, Copy, Debug)]
pub struct FreeList<'a> {
    /// The number of chunks that were taken.
    pub head: &'a End,
    /// The number of chunks that were freed.
    pub tail: &'a End,
    /// The numbers: one place per chunk.
    pub list: &'a [AtomicU32],
}

impl FreeList<'_> {
    /// Writer: takes a free chunk. Returns its number and the number of chunks left. Returns `None` if none
    /// is free.
    pub fn take(&self) -> Option<(u32, u64)> {
        for _ in 0..MAX_ATTEMPTS {
            let head = self.head.0.load(Ordering::Acquire);
            let tail = self.tail.0.load(Ordering::Acquire);
            // In this order `tail` is at least what it was when `head` was `head`.
            let left = tail.wrapping_sub(head);
            if left == 0 || left > self.list.len() as u64 {
                // More than exist: other writers took chunks in between, or the words are corrupt.
                if left == 0 || self.head.0.load(Ordering::Acquire) == head {
                    return None;
                }
                continue;
            }
            let number = self.list[(head % self.list.len() as u64) as usize].load(Ordering::Relaxed);
            let swapped =
                self.head.0.compare_exchange_weak(head, head + 1, Ordering::AcqRel, Ordering::Relaxed);
            if swapped.is_ok() {
                return Some((number, left - 1));
            }
        }
        None
    }

    /// Collector: frees a chunk. `freed` is the number of chunks that it freed before.
    pub fn give(&self, freed: u64, number: u32) {
        self.list[(freed % self.list.len() as u64) as usize].store(number, Ordering::Relaxed);
        self.tail.0.store(freed.wrapping_add(1), Ordering::Release);
    }

    /// Collector: returns the number of chunks that were taken.
    pub fn taken(&self) -> u64 {
        self.head.0.load(Ordering::Acquire)
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn numbers_come_out_in_the_order_in_which_they_went_in() {
        let (head, tail) = (End::new(), End::new());
        let list: Vec<_> = (0..2).map(|_| AtomicU32::new(9)).collect();
        let free = FreeList { head: &head, tail: &tail, list: &list };
        assert_eq!(free.take(), None);
        for round in 0..3 {
            free.give(round * 2, 1);
            free.give(round * 2 + 1, 0);
            assert_eq!((free.take(), free.take(), free.take()), (Some((1, 1)), Some((0, 0)), None));
            assert_eq!(free.taken(), round * 2 + 2);
        }
    }

    #[test]
    fn invalid_words_yield_no_free_chunk() {
        let (head, tail) = (End::new(), End::new());
        tail.0.store(77, Ordering::Relaxed);
        let list = [AtomicU32::new(0)];
        assert_eq!(FreeList { head: &head, tail: &tail, list: &list }.take(), None);
    }
}
