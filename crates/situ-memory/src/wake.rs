//! Sleeping and waking between processes: one futex word that costs the waker a load unless somebody sleeps.
//!
//! The lowest bit says that somebody sleeps or is about to; the rest counts wake-ups, so that the value changes.
//!
//! ```text
//!   sleeper                                    waker
//!   1. word |= 1             (SeqCst)          1. publish             (SeqCst, the row)
//!   2. anything new? (SeqCst, the row)         2. word & 1?           (SeqCst)
//!      yes: do not sleep                          no: nobody sleeps, done
//!   3. futex_wait(word, value of 1)            3. word = (word & !1) + 2
//!                                              4. futex_wake(all)
//! ```
//!
//! Either the sleeper's 2 sees what was published, or the waker's 2 sees the bit. The bit must be cleared before the
//! wake-up and not after it: a sleeper that comes in between would find the old value, sleep, and lose its bit.
//!
//! A waker that dies between 3 and 4 has woken nobody: hence sleepers never sleep longer than [`SLICE`] without looking
//! again. A sleeper that dies leaves the bit set: the next waker makes one system call too many, and clears it.

use std::time::Duration;

use crate::sync::atomic::{AtomicU32, Ordering};
use crate::sync::between_sequentially_consistent;

/// The longest sleep without a look around.
pub const SLICE: Duration = Duration::from_millis(100);

const SLEEPING: u32 = 1;

/// A word to sleep on. Alone on its cache line; zeroed memory is a valid one.
#[repr(C, align(64))]
#[derive(Debug)]
pub struct WakeWord {
    word: AtomicU32,
}

impl WakeWord {
    /// A word in private memory.
    #[allow(clippy::new_without_default, reason = "words in shared memory begin as zeroes instead")]
    pub fn new() -> Self {
        Self { word: AtomicU32::new(0) }
    }

    /// Sleeper, step 1: announces that it will sleep, and gives the value to sleep on. Look at the condition after
    /// this and before sleeping.
    #[inline]
    pub fn announce(&self) -> u32 {
        let announced = self.word.fetch_or(SLEEPING, Ordering::SeqCst) | SLEEPING;
        between_sequentially_consistent();
        announced
    }

    /// Waker, steps 2 and 3: whether [`wake`](Self::wake) must be called.
    #[inline]
    pub fn must_wake(&self) -> bool {
        between_sequentially_consistent();
        let mut value = self.word.load(Ordering::SeqCst);
        while value & SLEEPING != 0 {
            let next = (value & !SLEEPING).wrapping_add(2);
            match self.word.compare_exchange_weak(value, next, Ordering::SeqCst, Ordering::SeqCst) {
                Ok(_) => return true,
                Err(current) => value = current,
            }
        }
        false
    }

    /// The futex word itself.
    #[inline]
    pub fn futex(&self) -> &AtomicU32 {
        &self.word
    }
}

#[cfg(not(loom))]
mod system {
    use super::{Duration, WakeWord};
    use rustix::thread::futex;

    impl WakeWord {
        /// Waker: steps 2 to 4. Returns whether anybody had to be woken.
        #[inline]
        pub fn notify(&self) -> bool {
            let must = self.must_wake();
            if must {
                self.wake();
            }
            must
        }

        /// Waker, step 4: wakes everybody.
        #[cold]
        pub fn wake(&self) {
            let _ = futex::wake(self.futex(), futex::Flags::empty(), i32::MAX as u32);
        }

        /// Sleeper, step 3: sleeps until woken, until the word changes, or for `time`. May return early.
        pub fn sleep(&self, announced: u32, time: Duration) {
            let time = futex::Timespec {
                tv_sec: time.as_secs().try_into().unwrap_or(i64::MAX),
                tv_nsec: time.subsec_nanos().into(),
            };
            let _ = futex::wait(self.futex(), futex::Flags::empty(), announced, Some(&time));
        }
    }
}
