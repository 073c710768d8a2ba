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
pub const POISON: u64 = u64::MAX;

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
    _mapped: Arc<dyn Any + Send + Sync>,
}

// SAFETY: the word is an atomic in memory that `_mapped` keeps alive, whichever thread holds it.
unsafe impl Send for Fence {}
// SAFETY: as above.
unsafe impl Sync for Fence {}

impl Fence {
    /// A fence that is complete when `word` is `value` or more.
    ///
    /// # Safety
    /// `word` must stay valid as long as `mapped` lives.
    pub unsafe fn new(word: NonNull<AtomicU64>, value: u64, mapped: Arc<dyn Any + Send + Sync>) -> Self {
        Self { word, value, _mapped: mapped }
    }

    /// The word, in host shared memory.
    pub fn word(&self) -> &AtomicU64 {
        // SAFETY: valid as long as `_mapped` lives, by the promise given to `new`.
        unsafe { self.word.as_ref() }
    }

    /// The value from which on it is complete.
    pub fn value(&self) -> u64 {
        self.value
    }

    /// How it stands. If complete, everything written before it was completed is visible (acquire).
    pub fn state(&self) -> FenceState {
        match self.word().load(Ordering::Acquire) {
            POISON => FenceState::Poisoned,
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
