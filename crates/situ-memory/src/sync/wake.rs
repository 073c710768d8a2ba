//! Sleeping and waking between processes, on two words: wakers write one, sleepers the other. Without
//! sleepers, waking costs two loads.
//!
//! Sleepers raise `armed` to one more than `rung`. A wake-up makes them equal again. So each wake-up changes
//! `rung`, on which the sleepers sleep.
//!
//! ```text
//!   sleeper                                      waker
//!   1. r = rung                     (SeqCst)     1. publish                     (SeqCst, the row)
//!      armed: r -> r + 1            (SeqCst)     2. r = rung; a = armed         (SeqCst, in this order)
//!   2. anything new?                (SeqCst)        equal: none sleeps, done
//!      yes: do not sleep                         3. rung: r -> a; if it has changed, go to 2
//!   3. futex_wait(rung, r)                       4. futex_wake(all)
//! ```
//!
//! In the total order of these accesses, either the sleeper's 2 comes after the waker's 1, and sees what was
//! published. Or the waker's 2 comes after the sleeper's 1, and reads `armed` as the sleeper left it, or
//! later. Then it changes `rung`, or another waker has changed it since the sleeper read it. In both cases
//! the sleeper's 3 does not sleep, or is woken.
//!
//! If the compare-and-swap in the sleeper's 1 fails, another sleeper has armed the word for the same wake-up,
//! or `rung` has changed since, and 3 returns at once. The waker reads `rung` first: otherwise it could set
//! the word back to a value that an overtaken sleeper still sleeps on.
//!
//! Each word has one side that writes it. So sleepers need no right to write where wakers publish, and wakers
//! need none where the sleepers' words lie. A side that writes nonsense causes needless wake-ups, or delays
//! them until a sleeper looks again.
//!
//! A waker that dies between 3 and 4 has woken no process. Sleepers therefore never sleep longer than
//! [`SLICE`] without looking again. A sleeper that dies leaves its mark: the next waker makes one unnecessary
//! system call and clears it.

use std::time::Duration;

use crate::sync::atomic::{AtomicU32, Ordering};
use crate::sync::between_sequentially_consistent;

/// The longest sleep before a sleeper looks again.
pub const SLICE: Duration = Duration::from_millis(100);

/// How often a waker starts again because other wakers were faster. Only a hostile one is faster each time.
const TRIES: usize = 16;

/// Two words to sleep on and to wake by, which may lie in memory of different owners.
#[derive(Debug, Clone, Copy)]
pub struct Wake<'a> {
    /// The futex. Wakers write it.
    rung: &'a AtomicU32,
    /// Differs from `rung` if a process sleeps or is about to. Sleepers write it.
    armed: &'a AtomicU32,
}

impl<'a> Wake<'a> {
    /// The words of wakers and of sleepers. Zeroed memory is valid.
    #[inline]
    pub fn new(rung: &'a AtomicU32, armed: &'a AtomicU32) -> Self {
        Self { rung, armed }
    }

    /// Sleeper, step 1: announces that it will sleep, and returns the value to sleep on. Check the condition
    /// after this and before sleeping.
    #[inline]
    pub fn announce(self) -> u32 {
        let rung = self.rung.load(Ordering::SeqCst);
        let next = rung.wrapping_add(1);
        // If this fails, the word is armed already, or the sleep ends at once: see above.
        let _ = self.armed.compare_exchange(rung, next, Ordering::SeqCst, Ordering::SeqCst);
        between_sequentially_consistent();
        rung
    }

    /// Waker, steps 2 and 3: whether [`wake`](Self::wake) must be called.
    #[inline]
    pub fn must_wake(self) -> bool {
        between_sequentially_consistent();
        let rung = self.rung.load(Ordering::SeqCst);
        let armed = self.armed.load(Ordering::SeqCst);
        rung != armed && self.ring(rung, armed)
    }

    #[cold]
    fn ring(self, mut rung: u32, mut armed: u32) -> bool {
        for _ in 0..TRIES {
            if self.rung.compare_exchange(rung, armed, Ordering::SeqCst, Ordering::SeqCst).is_ok() {
                return true;
            }
            rung = self.rung.load(Ordering::SeqCst);
            armed = self.armed.load(Ordering::SeqCst);
            if rung == armed {
                return false;
            }
        }
        true
    }

    /// The word that sleepers sleep on.
    #[inline]
    pub fn futex(self) -> &'a AtomicU32 {
        self.rung
    }
}

/// Both words, alone on a cache line, in memory that both sides write. Zeroed memory is a valid one.
#[repr(C, align(64))]
#[derive(Debug)]
pub struct WakeWord {
    rung: AtomicU32,
    armed: AtomicU32,
}

impl WakeWord {
    /// Words in private memory.
    #[allow(clippy::new_without_default, reason = "words in shared memory begin as zeroes instead")]
    pub fn new() -> Self {
        Self { rung: AtomicU32::new(0), armed: AtomicU32::new(0) }
    }

    #[inline]
    fn wake_by(&self) -> Wake<'_> {
        Wake::new(&self.rung, &self.armed)
    }

    /// As [`Wake::announce`].
    #[inline]
    pub fn announce(&self) -> u32 {
        self.wake_by().announce()
    }

    /// As [`Wake::must_wake`].
    #[inline]
    pub fn must_wake(&self) -> bool {
        self.wake_by().must_wake()
    }

    /// As [`Wake::futex`].
    #[inline]
    pub fn futex(&self) -> &AtomicU32 {
        &self.rung
    }
}

#[cfg(not(loom))]
mod system {
    use super::{Duration, Wake, WakeWord};

    use rustix::thread::futex;

    impl Wake<'_> {
        /// Waker, steps 2 to 4. Returns whether any process had to be woken.
        #[inline]
        pub fn notify(self) -> bool {
            let must = self.must_wake();
            if must {
                self.wake();
            }
            must
        }

        /// Waker, step 4: wakes all sleepers.
        #[cold]
        pub fn wake(self) {
            let _ = futex::wake(self.rung, futex::Flags::empty(), i32::MAX as u32);
        }

        /// Sleeper, step 3: sleeps until woken, until the word changes, or for `time`. May return early.
        pub fn sleep(self, announced: u32, time: Duration) {
            let time = futex::Timespec {
                tv_sec: time.as_secs().try_into().unwrap_or(i64::MAX),
                tv_nsec: time.subsec_nanos().into(),
            };
            let _ = futex::wait(self.rung, futex::Flags::empty(), announced, Some(&time));
        }
    }

    impl WakeWord {
        /// As [`Wake::notify`].
        #[inline]
        pub fn notify(&self) -> bool {
            self.wake_by().notify()
        }

        /// As [`Wake::wake`].
        pub fn wake(&self) {
            self.wake_by().wake();
        }

        /// As [`Wake::sleep`].
        pub fn sleep(&self, announced: u32, time: Duration) {
            self.wake_by().sleep(announced, time);
        }
    }
}
