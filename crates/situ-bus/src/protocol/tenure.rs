//! Which pool an entry of the topic stands for in a row.
//!
//! A row names the entry of its message's publisher in 8 bits, and lives for as long as the ring takes to
//! come round. An entry is given to the next publisher earlier than that: so it says since which number it is
//! that one's.
//!
//! ```text
//!   who takes the entry (under the lock)          reader of the row of message n
//!   1. since = end of the order                   1. the row: it names the entry (acquire)
//!   2. pool = its own          (release)          2. pool                        (acquire)
//!   3. publishes from `since` on                  3. n >= since? no: the message went with an earlier pool
//! ```
//!
//! - A row that the entry's present publisher wrote is at `since` or behind it, because all messages below
//!   were published before it came. A reader that finds such a row finds 1 and 2 as well, which come before
//!   the swap.
//! - A row of an earlier publisher is below. A reader that finds the present pool in its 2 finds the present
//!   `since` in its 3, or a later one, because 1 comes before 2. A reader that still finds the earlier pool
//!   has the right one, or finds that its files are gone, which is true.
//!
//! A publisher that dies between 1 and 2 has taken nothing: the entry was free, and the messages of the pool
//! that it still names are not needed any more.

use situ_memory::sync::atomic::{AtomicU64, Ordering};

/// The pool that an entry stands for, and since when.
#[repr(C)]
#[derive(Debug)]
pub struct Tenure {
    pool: AtomicU64,
    since: AtomicU64,
}

/// Where the fields lie: offset, size, name.
#[cfg(all(test, not(loom)))]
pub(crate) const FIELDS: [(usize, usize, &str); 2] =
    [(std::mem::offset_of!(Tenure, pool), 8, "pool"), (std::mem::offset_of!(Tenure, since), 8, "since")];

impl Tenure {
    /// An entry without a pool, outside of shared memory, as the model checker needs it.
    #[cfg(loom)]
    #[allow(clippy::new_without_default)]
    pub fn new() -> Self {
        Self { pool: AtomicU64::new(0), since: AtomicU64::new(0) }
    }

    /// Gives the entry to a pool, whose messages have this number or a later one.
    pub fn begin(&self, pool: u64, since: u64) {
        self.since.store(since, Ordering::Relaxed);
        self.pool.store(pool, Ordering::Release);
    }

    /// The number of the pool.
    #[inline]
    pub fn pool(&self) -> u64 {
        self.pool.load(Ordering::Acquire)
    }

    /// The number from which on rows mean that pool, or a later one of the entry. After [`pool`](Self::pool).
    #[inline]
    pub fn since(&self) -> u64 {
        self.since.load(Ordering::Relaxed)
    }

    /// The pool that the row of message `number` means. Nothing if it is gone.
    #[inline]
    pub fn of(&self, number: u64) -> Option<u64> {
        let pool = self.pool();
        (number >= self.since()).then_some(pool)
    }
}
