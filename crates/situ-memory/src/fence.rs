//! Fences: when the bytes of a slot are complete, for devices and hosts alike.
//!
//! Each slot has a word in host shared memory, `fence` in its control. A message whose slot has generation *g* is complete
//! when the word is *g* + 1 or more. Its owner publishes first and completes later: the CPU by storing the word, a device by
//! enqueueing "write the word" behind the work that fills the slot. Readers enqueue "wait for the word", or look at it.
//!
//! Nobody waits for ever: whoever finds the owner dead *poisons* the words that it left behind. A poisoned word is larger than
//! any generation, so everybody who waits goes on, and whoever looks learns that the bytes are not what they should be.
//! The owner is dead and its generations with it, so no word is ever poisoned and then completed or reused.

use std::any::Any;
use std::fmt;
use std::ptr::NonNull;
use std::sync::Arc;
#[cfg(not(loom))]
use std::time::Duration;

use crate::sync::atomic::{AtomicU64, Ordering};

/// The word of a fence whose owner died before it was complete.
///
/// Not all ones: devices compare cyclically. CUDA's wait for "at least `value`" goes on when `word - value`, taken as a signed
/// number, is not negative; for all ones that is so for no value below 2^63, and the device would wait for ever.
pub const POISON: u64 = i64::MAX as u64;

/// What a fence tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FenceState {
    /// The bytes are still being written.
    Pending,
    /// The bytes are complete.
    Complete,
    /// The owner died first: the bytes never become complete.
    Poisoned,
}

/// The moment at which the bytes of one message are complete. Keeps the memory of its word mapped.
#[derive(Clone)]
pub struct Fence {
    word: NonNull<AtomicU64>,
    value: u64,
    mapped: Arc<dyn Any + Send + Sync>,
}

// SAFETY: the word is an atomic in memory that `mapped` keeps alive, whichever thread holds it.
unsafe impl Send for Fence {}
// SAFETY: as above.
unsafe impl Sync for Fence {}

impl Fence {
    /// A fence that is complete when `word` is `value` or more.
    ///
    /// # Safety
    /// `word` must stay valid as long as `mapped` lives.
    pub unsafe fn new(word: NonNull<AtomicU64>, value: u64, mapped: Arc<dyn Any + Send + Sync>) -> Self {
        Self { word, value, mapped }
    }

    /// The word, in host shared memory.
    pub fn word(&self) -> &AtomicU64 {
        // SAFETY: valid as long as `mapped` lives, by the promise given to `new`.
        unsafe { self.word.as_ref() }
    }

    /// The value from which on it is complete.
    pub fn value(&self) -> u64 {
        self.value
    }

    /// What keeps the word mapped: the same for all words of a pool.
    pub fn mapped(&self) -> &Arc<dyn Any + Send + Sync> {
        &self.mapped
    }

    /// How it stands. If complete, everything written before it was completed is visible (acquire).
    pub fn state(&self) -> FenceState {
        match self.word().load(Ordering::Acquire) {
            POISON.. => FenceState::Poisoned,
            word if word >= self.value => FenceState::Complete,
            _ => FenceState::Pending,
        }
    }

    /// Waits until it is complete or poisoned, at most for `patience`; pending if that was not enough.
    ///
    /// Devices write the word without telling anybody, so this looks: for some microseconds without a pause, then in
    /// pauses that grow to a millisecond.
    #[cfg(not(loom))]
    pub fn wait(&self, patience: Duration) -> FenceState {
        const SPINS: u32 = 2000;
        const LONGEST: Duration = Duration::from_millis(1);
        for _ in 0..SPINS {
            match self.state() {
                FenceState::Pending => std::hint::spin_loop(),
                state => return state,
            }
        }
        let start = std::time::Instant::now();
        let mut pause = Duration::from_micros(10);
        loop {
            let left = patience.saturating_sub(start.elapsed());
            // The look comes after the clock: who runs out of patience has seen the last moment.
            let state = self.state();
            if state != FenceState::Pending || left.is_zero() {
                return state;
            }
            std::thread::sleep(pause.min(left));
            pause = (pause * 2).min(LONGEST);
        }
    }

    /// Completes it, now: for an owner whose bytes were written by the CPU, or by work that it has waited for.
    pub fn complete(&self) {
        // Release: whoever sees it complete sees the bytes. Never over a poisoned word: only the dead are poisoned.
        self.word().store(self.value, Ordering::Release);
    }

    /// Poisons it if it is pending: for whoever found the owner dead. Whether it was.
    pub fn poison(&self) -> bool {
        let word = self.word();
        let seen = word.load(Ordering::Acquire);
        // A device may still be completing it for a process that is dead: then that is what counts.
        seen < self.value && word.compare_exchange(seen, POISON, Ordering::AcqRel, Ordering::Acquire).is_ok()
    }
}

impl fmt::Debug for Fence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Fence").field("value", &self.value).field("state", &self.state()).finish()
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    fn fence(word: u64, value: u64) -> Fence {
        let word = Arc::new(AtomicU64::new(word));
        // SAFETY: the word lives as long as the `Arc` that is given along.
        unsafe { Fence::new(NonNull::from(&*word), value, word) }
    }

    #[test]
    fn whoever_waits_for_a_poisoned_word_goes_on_also_where_it_is_compared_cyclically() {
        for value in [1, 65_537, 1 << 40] {
            let fence = fence(value - 1, value);
            assert_eq!(fence.state(), FenceState::Pending);
            assert!(fence.poison());
            assert_eq!(fence.state(), FenceState::Poisoned);
            // What CUDA's cuStreamWaitValue64 with CU_STREAM_WAIT_VALUE_GEQ looks at.
            let word = fence.word().load(Ordering::Relaxed);
            assert!((word.wrapping_sub(value) as i64) >= 0, "a device would wait for ever");
            assert!(!fence.poison(), "poisoned once");
        }
        assert!(!fence(7, 7).poison(), "what is complete stays complete");
    }
}
