//! Which pool an entry of the topic stands for in a row.
//!
//! A row names the entry of its message's publisher in 13 bits, and stays until the ring has gone round once.
//! An entry may be given to the next publisher earlier than that. So the entry also contains the first number
//! of its present publisher.
//!
//! ```text
//!   publisher that takes the entry (locked)   reader of the row of message n
//!   1. since = end of the topic               1. the row: it names the entry (acquire)
//!   2. pool = its own       (release)         2. pool                        (acquire)
//!   3. publishes from `since` on              3. n >= since? no: the message went with an earlier pool
//! ```
//!
//! - A row that the entry's present publisher wrote is at `since` or behind it, because all messages below
//!   were published before it joined. A reader that finds such a row also sees steps 1 and 2, which come
//!   before the swap.
//! - A row of an earlier publisher is below `since`. A reader that finds the present pool in its step 2 finds
//!   the present `since` in its step 3, or a later one, because the publisher writes `since` before the pool.
//!   A reader that still finds the earlier pool has the right one, or finds that its files are gone, which is
//!   also right.
//!
//! The entry of a pool of copies has no messages: its `since` is [`NO_MESSAGES`]. So rows of earlier
//! publishers of the entry mean no pool, although copies belong to messages that are older than their pool.
//!
//! A publisher that dies between steps 1 and 2 has taken nothing: the entry was free, and the messages of the
//! pool that it still names are not needed any more.

use situ_memory::sync::atomic::{AtomicU64, Ordering};

/// The `since` of a pool that no row means.
pub const NO_MESSAGES: u64 = u64::MAX;

/// The pool that an entry stands for, and since when.
#[repr(C)]
#[derive(Debug)]
pub struct Tenure {
    pool: AtomicU64,
    since: AtomicU64,
}

/// The fields' offsets, sizes and names.
#[cfg(all(test, not(loom)))]
pub(crate) const FIELDS: [(usize, usize, &str); 2] =
    [(std::mem::offset_of!(Tenure, pool), 8, "pool"), (std::mem::offset_of!(Tenure, since), 8, "since")];

impl Tenure {
    /// An entry without a pool, outside of shared memory, for the model checker.
    #[cfg(loom)]
    #[allow(clippy::new_without_default)]
    pub fn new() -> Self {
        Self { pool: AtomicU64::new(0), since: AtomicU64::new(0) }
    }

    /// Gives the entry to a pool whose messages have this number or a later one.
    pub fn begin(&self, pool: u64, since: u64) {
        self.since.store(since, Ordering::Relaxed);
        self.pool.store(pool, Ordering::Release);
    }

    /// The number of the pool.
    #[inline]
    pub fn pool(&self) -> u64 {
        self.pool.load(Ordering::Acquire)
    }

    /// The first number whose row means that pool, or a later one of the entry. Call it after
    /// [`pool`](Self::pool).
    #[inline]
    pub fn since(&self) -> u64 {
        self.since.load(Ordering::Relaxed)
    }

    /// The pool that the row of message `number` means. `None` if it is gone.
    #[inline]
    pub fn of(&self, number: u64) -> Option<u64> {
        let pool = self.pool();
        (number >= self.since()).then_some(pool)
    }
}
