//! Which side may touch the private record of a sample: the subscriber, or the sample.
//!
//! A subscriber reuses a few records for all its samples, and a record keeps what its last sample needed (the
//! mapped pool), because the next one nearly always needs the same. Samples may be dropped by any thread, and
//! after their subscriber. So either side may be the one that takes the pool out.
//!
//! ```text
//!   subscriber's thread                         any thread that drops the sample
//!   1. state FREE?               (acquire)      1. reads of the message; the ledger's word = 0
//!   2. state = USED; the fields                 2. state: USED -> FREE           (release)
//!      (gives the sample away)                     failed: it is LAST            (acquire):
//!   forgetting a pool, or the end:                 takes the pool out,
//!   3. looks which pool it has                     state = FREE                  (release),
//!      state: USED -> LAST       (release)         drops the pool
//!      failed: it is FREE        (acquire):
//!      takes the pool out
//! ```
//!
//! Only the subscriber's thread makes a record USED, so a record that it finds FREE stays FREE, and the
//! fields are its own. A record that is not FREE belongs to its sample. Both compare-and-swaps of a USED
//! record exclude each other, so exactly one side takes the pool out.
//!
//! - Step 2 of the drop releases: all reads of the sample come before the record's next fields.
//! - Step 3 releases, and a drop that finds LAST acquires. So the subscriber's look at the pool comes before
//!   the drop takes it out and may free it.
//! - A drop stores FREE before it lets go of the pool, and then touches the record no more. The pool keeps
//!   the records, and may be the last to do so.
//!
//! **Death.** Records are private memory and end with their process. What they stand for in shared memory is
//! the ledger's word, which is written after the record is USED, and cleared before it is FREE. A process
//! that dies between any two steps leaves names in its ledger, and these count until its place is free: see
//! [`ledger`](super::ledger).

use situ_memory::sync::atomic::{AtomicU32, Ordering};

/// No sample has the record.
const FREE: u32 = 0;
/// A sample has it.
const USED: u32 = 1;
/// A sample has it, and leaves no pool in it.
const LAST: u32 = 2;

/// The state of a record.
#[derive(Debug)]
#[repr(transparent)]
pub struct RecordState(AtomicU32);

impl RecordState {
    /// The state of a record without a sample.
    #[allow(clippy::new_without_default, reason = "a state makes sense in a record only")]
    pub fn new() -> Self {
        Self(AtomicU32::new(FREE))
    }

    /// Whether no sample has the record. On the subscriber's thread it then stays so.
    #[inline(always)]
    pub fn is_free(&self) -> bool {
        self.0.load(Ordering::Acquire) == FREE
    }

    /// Whether a sample has the record, at some moment. Orders nothing.
    #[inline]
    pub fn is_used(&self) -> bool {
        self.0.load(Ordering::Relaxed) != FREE
    }

    /// Subscriber's thread: gives a [free](Self::is_free) record to a sample. Whatever hands the sample to
    /// another thread orders this store.
    #[inline(always)]
    pub fn give(&self) {
        self.0.store(USED, Ordering::Relaxed);
    }

    /// Sample's drop: gives the record back. If the subscriber has let go of the pool meanwhile, takes it out
    /// with `take_out` and drops it.
    ///
    /// # Safety
    /// A sample has the record, the record keeps itself by its pool, and the caller uses nothing of it after
    /// this call. `this` may point to freed memory when the call returns.
    #[inline(always)]
    pub unsafe fn give_back<Pool>(this: *const Self, take_out: impl FnOnce() -> Pool) {
        // SAFETY: until the compare-and-swap succeeds, the record keeps itself.
        let state = unsafe { &(*this).0 };
        if state.compare_exchange(USED, FREE, Ordering::Release, Ordering::Acquire).is_err() {
            // SAFETY: the record is LAST, so it still has its pool.
            unsafe { Self::give_pool_back(this, take_out) };
        }
    }

    /// # Safety
    /// As for [`give_back`](Self::give_back), and the record is LAST.
    #[cold]
    #[inline(never)]
    unsafe fn give_pool_back<Pool>(this: *const Self, take_out: impl FnOnce() -> Pool) {
        let pool = take_out();
        // SAFETY: the pool, which keeps the record, still lives.
        unsafe { &(*this).0 }.store(FREE, Ordering::Release);
        drop(pool);
    }

    /// Subscriber's thread: lets go of the record's pool, if `has_it` finds that it is one to let go of. A
    /// record without a sample drops the pool, which `take_out` takes out, here; any other leaves it to its
    /// sample.
    #[cold]
    pub fn forget<Pool>(&self, has_it: impl FnOnce() -> bool, take_out: impl FnOnce() -> Pool) {
        // Only this thread makes a record LAST, so the sample may take the pool out of a LAST one only.
        if self.0.load(Ordering::Acquire) == LAST || !has_it() {
            return;
        }
        if self.0.compare_exchange(USED, LAST, Ordering::Release, Ordering::Acquire).is_err() {
            drop(take_out());
        }
    }
}
