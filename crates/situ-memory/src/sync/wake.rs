//! Sleeping and waking between processes, on one futex word. Without sleepers, waking costs one load.
//!
//! The lowest bit says that a process sleeps or is about to. The second bit says that one sleeps until
//! something is *complete*. The other bits count wake-ups, so that each wake-up changes the value.
//!
//! ```text
//!   sleeper                                    waker
//!   1. word |= 1             (SeqCst)          1. publish             (SeqCst, the row)
//!   2. anything new? (SeqCst, the row)         2. word & 3?           (SeqCst)
//!      yes: do not sleep                          no: none sleeps, done
//!   3. futex_wait(word, value of 1)            3. word = (word & !3) + 4
//!                                              4. futex_wake(all)
//! ```
//!
//! Either the sleeper's 2 sees what was published, or the waker's 2 sees the bit. The bit must be cleared
//! before the wake-up and not after it. Otherwise a sleeper that comes in between would find the old value,
//! sleep, and lose its bit.
//!
//! A sleeper that can only use complete messages sets the second bit instead. A waker that has published a
//! message that a device is still filling looks at the first bit alone and clears only that. In step 4 it
//! wakes only the sleepers of the first kind ([`WakeWord::notify_early`]), so it makes no system call for
//! sleepers that would sleep on. Completing the message wakes all sleepers. A sleeper of either kind that
//! announced itself before a 3 finds another value, and looks again.
//!
//! A waker that dies between 3 and 4 has woken no process. Sleepers therefore never sleep longer than
//! [`SLICE`] without looking again. A sleeper that dies leaves its bit set: the next waker makes one
//! unnecessary system call and clears it.

use std::time::Duration;

use crate::sync::atomic::{AtomicU32, Ordering};
use crate::sync::between_sequentially_consistent;

/// The longest sleep before a sleeper looks again.
pub const SLICE: Duration = Duration::from_millis(100);

/// A process sleeps until there is anything new.
const SLEEPING: u32 = 1;
/// A process sleeps until something is complete.
const UNTIL_COMPLETE: u32 = 2;
/// One wake-up.
const WOKEN: u32 = 4;

/// A word to sleep on, alone on its cache line. Zeroed memory is a valid one.
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

    /// Sleeper, step 1: announces that it will sleep, and returns the value to sleep on. Check the condition
    /// after this and before sleeping.
    #[inline]
    pub fn announce(&self) -> u32 {
        self.set(SLEEPING)
    }

    /// The same for a sleeper that can only use what is complete.
    #[inline]
    pub fn announce_until_complete(&self) -> u32 {
        self.set(UNTIL_COMPLETE)
    }

    #[inline(always)]
    fn set(&self, bit: u32) -> u32 {
        let announced = self.word.fetch_or(bit, Ordering::SeqCst) | bit;
        between_sequentially_consistent();
        announced
    }

    /// Waker, steps 2 and 3: whether [`wake`](Self::wake) must be called.
    #[inline]
    pub fn must_wake(&self) -> bool {
        self.count(SLEEPING | UNTIL_COMPLETE)
    }

    /// The same before `wake_early`: sleepers that it does not wake keep their bit.
    #[inline]
    pub fn must_wake_early(&self) -> bool {
        self.count(SLEEPING)
    }

    /// Counts a wake-up and clears these bits, if one of them is set.
    #[inline(always)]
    fn count(&self, bits: u32) -> bool {
        between_sequentially_consistent();
        let mut value = self.word.load(Ordering::SeqCst);
        while value & bits != 0 {
            let next = (value & !bits).wrapping_add(WOKEN);
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
    use std::num::NonZeroU32;

    use rustix::thread::futex;

    /// The futex bit that sleepers until completion wait for. All other sleepers wait for every bit.
    const COMPLETE: NonZeroU32 = NonZeroU32::MIN;
    const EARLY: NonZeroU32 = NonZeroU32::new(!COMPLETE.get()).expect("all bits but one");

    fn timespec(time: Duration) -> futex::Timespec {
        futex::Timespec {
            tv_sec: time.as_secs().try_into().unwrap_or(i64::MAX),
            tv_nsec: time.subsec_nanos().into(),
        }
    }

    impl WakeWord {
        /// Waker, steps 2 to 4. Returns whether any process had to be woken.
        #[inline]
        pub fn notify(&self) -> bool {
            let must = self.must_wake();
            if must {
                self.wake();
            }
            must
        }

        /// Waker, step 4: wakes all sleepers.
        #[cold]
        pub fn wake(&self) {
            let _ = futex::wake(self.futex(), futex::Flags::empty(), i32::MAX as u32);
        }

        /// Waker, steps 2 to 4 for a message that is not complete yet. Returns whether any process had to be
        /// woken.
        pub fn notify_early(&self) -> bool {
            let must = self.must_wake_early();
            if must {
                self.wake_early();
            }
            must
        }

        /// Waker, step 4: wakes all sleepers but those that wait until something is complete.
        fn wake_early(&self) {
            let _ = futex::wake_bitset(self.futex(), futex::Flags::empty(), i32::MAX as u32, EARLY);
        }

        /// Sleeper, step 3, after [`announce_until_complete`](Self::announce_until_complete): as
        /// [`sleep`](Self::sleep), but early wake-ups do not end it.
        pub fn sleep_until_complete(&self, announced: u32, time: Duration) {
            // With bits the kernel takes a point in time of this clock, not a duration.
            let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
            let until = timespec(Duration::new(now.tv_sec as u64, now.tv_nsec as u32).saturating_add(time));
            let _ =
                futex::wait_bitset(self.futex(), futex::Flags::empty(), announced, Some(&until), COMPLETE);
        }

        /// Sleeper, step 3: sleeps until woken, until the word changes, or for `time`. May return early.
        pub fn sleep(&self, announced: u32, time: Duration) {
            let _ = futex::wait(self.futex(), futex::Flags::empty(), announced, Some(&timespec(time)));
        }
    }
}
