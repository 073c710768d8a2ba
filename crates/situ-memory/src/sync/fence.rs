//! Fences: when the bytes of a slot are complete, for devices and hosts alike.
//!
//! Each slot has a word in host shared memory, `fence` in its control. A message whose slot has generation
//! *g* is complete when the word is *g* + 1 or more. The slot's owner publishes first and completes later:
//! the CPU by storing the word, a device by enqueueing "write the word" behind the work that fills the slot.
//! Readers enqueue "wait for the word", or read it.
//!
//! No process waits for ever: a process that finds the owner dead *poisons* the words that it left behind. A
//! poisoned word is larger than any generation, so every waiter goes on, and every reader of the word learns
//! that the bytes are invalid. The owner is dead and its generations with it, so no word is ever poisoned and
//! then completed or reused.
//!
//! Waking costs a system call, and most of the time no process sleeps. A second word therefore holds the
//! highest value that any process sleeps for.
//!
//! ```text
//!   sleeper                                          the process that completes or poisons
//!   1. awaited = max(awaited, value)  (SeqCst)       1. word = value             (SeqCst, a swap)
//!   2. word >= value?                 (SeqCst)       2. awaited >= value?        (SeqCst)
//!      yes: do not sleep                                no: none sleeps, done
//!   3. futex_wait(word, value of 2)                  3. futex_wake(all)
//! ```
//!
//! Either the sleeper's 2 sees the end, or the completer's 2 sees the sleeper. Sleepers do not take their
//! value back, and a sleeper that dies need not: the slot's next generation is larger. Devices that write the
//! word wake no process, so every sleeper also looks from time to time.

use std::any::Any;
use std::fmt;
use std::ptr::NonNull;
use std::sync::Arc;
#[cfg(not(loom))]
use std::sync::atomic::AtomicU32;
#[cfg(not(loom))]
use std::time::Duration;

#[cfg(not(loom))]
use rustix::thread::futex;

use crate::sync::atomic::{AtomicU64, Ordering};
use crate::sync::between_sequentially_consistent;

/// The word of a fence whose owner died before it was complete.
///
/// Not all ones, because devices compare cyclically. CUDA's wait for "at least `value`" goes on when `word -
/// value`, taken as a signed number, is not negative. For a word of all ones that is true for no value below
/// 2^63, and the device would wait for ever.
pub const POISON: u64 = i64::MAX as u64;

/// The state of a fence.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FenceState {
    /// The bytes are still being written.
    Pending,
    /// The bytes are complete.
    Complete,
    /// The owner died first: the bytes never become complete.
    Poisoned,
}

/// The words of a fence, in host shared memory. Zeroed memory is a valid pair.
#[repr(C)]
#[derive(Debug, Default)]
pub struct FenceWords {
    /// The timeline: the value up to which it is complete.
    word: AtomicU64,
    /// The highest value that any process sleeps for, or has slept for.
    awaited: AtomicU64,
}

impl FenceWords {
    /// Words in private memory, complete up to `complete`.
    pub(crate) fn new(complete: u64) -> Self {
        Self { word: AtomicU64::new(complete), awaited: AtomicU64::new(0) }
    }

    /// The timeline.
    #[inline]
    pub fn word(&self) -> &AtomicU64 {
        &self.word
    }
}

/// When a fence ended, as the completing device says, in host shared memory. Zeroed memory is a valid one.
///
/// A device sees the end of a fence when the word is written. An emulated device sees it when its thread next
/// looks, which may be much later with few cores. A completer that knows the moment therefore notes it before
/// it writes the word. No code decides by it whether a fence has ended.
#[repr(C)]
#[derive(Debug, Default)]
pub struct FenceEnd {
    /// The value that the moment belongs to; written after the moment.
    value: AtomicU64,
    /// The moment, in nanoseconds of `CLOCK_MONOTONIC`.
    at_ns: AtomicU64,
}

/// Offset, size and name of each word in the struct.
#[cfg(all(test, not(loom)))]
pub(crate) const FIELDS: [(usize, usize, &str); 2] = [
    (std::mem::offset_of!(FenceWords, word), 8, "fence"),
    (std::mem::offset_of!(FenceWords, awaited), 8, "awaited"),
];

/// The same of [`FenceEnd`].
#[cfg(all(test, not(loom)))]
pub(crate) const END_FIELDS: [(usize, usize, &str); 2] = [
    (std::mem::offset_of!(FenceEnd, value), 8, "ended"),
    (std::mem::offset_of!(FenceEnd, at_ns), 8, "ended_at_ns"),
];

/// The moment at which the bytes of one message are complete. Keeps the memory of its words mapped.
#[derive(Clone)]
pub struct Fence {
    words: NonNull<FenceWords>,
    /// Where its end is noted, if anywhere.
    end: Option<NonNull<FenceEnd>>,
    value: u64,
    mapped: Arc<dyn Any + Send + Sync>,
    /// What to call at its end, besides waking its sleepers.
    then: Option<Then>,
}

/// What the process that ends a fence calls then. It must be short, and call no driver of a device.
pub type Then = Arc<dyn Fn() + Send + Sync>;

// SAFETY: the words are atomics in memory that `mapped` keeps alive, whichever thread holds it.
unsafe impl Send for Fence {}
// SAFETY: as above.
unsafe impl Sync for Fence {}

impl Fence {
    /// A fence that is complete when the word is `value` or more.
    ///
    /// # Safety
    /// `words` must stay valid as long as `mapped` lives.
    pub unsafe fn new(words: NonNull<FenceWords>, value: u64, mapped: Arc<dyn Any + Send + Sync>) -> Self {
        Self { words, end: None, value, mapped, then: None }
    }

    /// The same fence, with its end noted in `end`, too.
    ///
    /// # Safety
    /// `end` must stay valid as long as what keeps the words lives, as in [`new`](Self::new).
    pub unsafe fn noting(self, end: NonNull<FenceEnd>) -> Self {
        Self { end: Some(end), ..self }
    }

    /// A fence of this process alone, which is complete at `value`. So far it is complete up to `complete`.
    pub fn of_process(complete: u64, value: u64) -> Self {
        let words = Arc::new((FenceWords::new(complete), FenceEnd::default()));
        // SAFETY: the fence keeps the words.
        unsafe { Self::new(NonNull::from(&words.0), value, words.clone()).noting(NonNull::from(&words.1)) }
    }

    /// The same fence, which also calls `then` when the CPU of this process ends it. This is true of all
    /// clones that are made from now on.
    pub fn telling(self, then: Then) -> Self {
        Self { then: Some(then), ..self }
    }

    /// Whether its end calls such a function.
    pub fn tells(&self) -> bool {
        self.then.is_some()
    }

    fn words(&self) -> &FenceWords {
        // SAFETY: valid as long as `mapped` lives, by the promise given to `new`.
        unsafe { self.words.as_ref() }
    }

    /// The word, in host shared memory.
    pub fn word(&self) -> &AtomicU64 {
        &self.words().word
    }

    /// The value from which on it is complete.
    pub fn value(&self) -> u64 {
        self.value
    }

    /// What keeps the word mapped: the same for all words of a pool.
    pub fn mapped(&self) -> &Arc<dyn Any + Send + Sync> {
        &self.mapped
    }

    /// Notes when it ended, in nanoseconds of `CLOCK_MONOTONIC`. The completer calls this before it completes
    /// the fence, perhaps a while before. If it dies in between, no process reads the note.
    pub fn note_end(&self, at_ns: u64) {
        // SAFETY: valid as long as `mapped` lives, by the promise given to `noting`.
        if let Some(end) = self.end.map(|end| unsafe { &*end.as_ptr() }) {
            end.at_ns.store(at_ns, Ordering::Relaxed);
            // A reader that finds this value finds its moment, or that of a later value (release, paired with
            // the acquire below).
            end.value.store(self.value, Ordering::Release);
        }
    }

    /// Clears the noted end: for an owner that begins a new generation of the slot.
    pub fn forget_end(&self) {
        // SAFETY: as above.
        if let Some(end) = self.end.map(|end| unsafe { &*end.as_ptr() }) {
            end.value.store(0, Ordering::Relaxed);
        }
    }

    /// When a complete fence ended, in nanoseconds of `CLOCK_MONOTONIC`, if its completer has noted that. If
    /// the words are just being reused, this may be a later moment. It may be any number, if the process that
    /// wrote it is broken or hostile.
    pub fn ended_at_ns(&self) -> Option<u64> {
        // SAFETY: as above.
        let end = self.end.map(|end| unsafe { &*end.as_ptr() })?;
        (end.value.load(Ordering::Acquire) == self.value).then(|| end.at_ns.load(Ordering::Relaxed))
    }

    /// Its state. If complete, all that was written before it was completed is visible (acquire).
    pub fn state(&self) -> FenceState {
        match self.word().load(Ordering::Acquire) {
            POISON.. => FenceState::Poisoned,
            word if word >= self.value => FenceState::Complete,
            _ => FenceState::Pending,
        }
    }

    /// Waits until it is complete or poisoned, for `timeout` at most. Returns `Pending` if that time has
    /// passed.
    ///
    /// A completer that calls [`complete`](Self::complete) wakes the sleepers. Devices write the word without
    /// waking, so this also polls: for some microseconds without a pause, then in pauses that grow to a
    /// millisecond.
    ///
    /// The bytes may have to be written or copied on this very core. After the first spins, every look
    /// therefore yields to other threads first. If no other thread takes the core, that goes on for a few
    /// times as long as a wake-up takes. If one does, it happens only twice: if other threads wait in the
    /// same way, each yield is a switch between threads.
    #[cfg(not(loom))]
    pub fn wait(&self, timeout: Duration) -> FenceState {
        const SPINS: u32 = 20;
        const LOOKS: Duration = Duration::from_micros(80);
        /// If a look took longer than this, another thread had the core.
        const TURN: Duration = Duration::from_micros(2);
        const TURNS: u32 = 2;
        const LONGEST: Duration = Duration::from_millis(1);
        for _ in 0..SPINS {
            match self.state() {
                FenceState::Pending => std::hint::spin_loop(),
                state => return state,
            }
        }
        let start = std::time::Instant::now();
        let (mut looked, mut turns) = (Duration::ZERO, 0);
        while turns < TURNS && looked < LOOKS {
            std::thread::yield_now();
            match self.state() {
                FenceState::Pending => {}
                state => return state,
            }
            let now = start.elapsed();
            turns += u32::from(now - looked > TURN);
            looked = now;
        }
        let mut pause = Duration::from_micros(10);
        loop {
            let left = timeout.saturating_sub(start.elapsed());
            // Before the look: if the word changes after the look, the sleep ends at once.
            let seen = self.announce();
            // The look comes after the clock, so a wait that times out has looked at its last moment.
            let state = self.state();
            if state != FenceState::Pending || left.is_zero() {
                return state;
            }
            self.sleep(seen, pause.min(left));
            pause = (pause * 2).min(LONGEST);
        }
    }

    /// Sleeper, steps 1 and 2: announces that it will sleep until this fence ends, and returns the word to
    /// sleep on. Check that word, or the state, before sleeping.
    pub fn announce(&self) -> u64 {
        self.words().awaited.fetch_max(self.value, Ordering::SeqCst);
        between_sequentially_consistent();
        self.word().load(Ordering::SeqCst)
    }

    /// Completer, step 2: whether a sleeper must be woken. A sleeper that announces itself after this sees
    /// the end.
    pub fn must_wake(&self) -> bool {
        between_sequentially_consistent();
        self.words().awaited.load(Ordering::SeqCst) >= self.value
    }

    /// The lower half of the word, which every new value changes: the futex to sleep on.
    #[cfg(not(loom))]
    pub fn futex(&self) -> &AtomicU32 {
        let upper = usize::from(cfg!(target_endian = "big"));
        // SAFETY: one half of the word, aligned to its size, valid as long as `self`. Only the kernel reads
        // through this reference, in one access, and compares it with what was seen.
        unsafe { NonNull::from(self.word()).cast::<AtomicU32>().add(upper).as_ref() }
    }

    /// Sleeps until the word differs from `seen` and a completer wakes this, for `pause` at most.
    #[cfg(not(loom))]
    fn sleep(&self, seen: u64, pause: Duration) {
        let pause =
            futex::Timespec { tv_sec: pause.as_secs() as i64, tv_nsec: i64::from(pause.subsec_nanos()) };
        // However this ends, the caller looks again. Processes share the word, so it is no private futex.
        let _ = futex::wait(self.futex(), futex::Flags::empty(), seen as u32, Some(&pause));
    }

    /// Wakes the sleepers. If the completer dies before this, they sleep to the end of their pause.
    fn wake(&self) {
        #[cfg(not(loom))]
        if self.must_wake() {
            let _ = futex::wake(self.futex(), futex::Flags::empty(), u32::MAX >> 1);
        }
        if let Some(then) = &self.then {
            then();
        }
    }

    /// Completes it now: for an owner whose bytes the CPU has written, or work that it has waited for.
    pub fn complete(&self) {
        // A reader that sees it complete sees the bytes (release). This never overwrites a poisoned word,
        // because only the fences of dead owners are poisoned. A swap, because sleepers are looked for after
        // it in the total order.
        self.word().swap(self.value, Ordering::SeqCst);
        self.wake();
    }

    /// Completes the fence of a copy, or poisons it if `source`, the fence of the copied bytes, is poisoned.
    /// The copier has waited for `source`, so `source` does not change any more, and has seen that the copy
    /// is done.
    pub fn complete_unless_poisoned(&self, source: Option<&Self>) {
        if source.is_some_and(|source| source.state() == FenceState::Poisoned) {
            self.poison();
        } else {
            self.complete();
        }
    }

    /// Poisons it if it is pending: for a process that found the owner dead. Returns whether it was pending.
    pub fn poison(&self) -> bool {
        let word = self.word();
        let seen = word.load(Ordering::Acquire);
        // A device may still be completing it for a dead process: then the completion counts.
        let poisoned = seen < self.value
            && word.compare_exchange(seen, POISON, Ordering::SeqCst, Ordering::Acquire).is_ok();
        if poisoned {
            self.wake();
        }
        poisoned
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

    #[test]
    fn who_completes_it_wakes_who_waits() {
        let fence = Fence::of_process(0, 1);
        let theirs = fence.clone();
        let waiting = std::thread::spawn(move || theirs.wait(Duration::from_secs(60)));
        std::thread::sleep(Duration::from_millis(5));
        fence.complete();
        assert_eq!(waiting.join().unwrap(), FenceState::Complete);
        assert_eq!(fence.wait(Duration::ZERO), FenceState::Complete);
    }

    #[test]
    fn an_end_is_noted_for_its_value_until_it_is_forgotten() {
        let fence = Fence::of_process(0, 1);
        assert_eq!(fence.ended_at_ns(), None);
        fence.note_end(17);
        assert_eq!(fence.ended_at_ns(), Some(17));
        let later = Fence { value: 2, ..fence.clone() };
        assert_eq!(later.ended_at_ns(), None, "that was another one's");
        later.note_end(18);
        assert_eq!((fence.ended_at_ns(), later.ended_at_ns()), (None, Some(18)));
        later.forget_end();
        assert_eq!(later.ended_at_ns(), None);
    }

    #[test]
    fn whoever_waits_for_a_poisoned_word_goes_on_also_where_it_is_compared_cyclically() {
        for value in [1, 65_537, 1 << 40] {
            let fence = Fence::of_process(value - 1, value);
            assert_eq!(fence.state(), FenceState::Pending);
            assert!(fence.poison());
            assert_eq!(fence.state(), FenceState::Poisoned);
            // What CUDA's cuStreamWaitValue64 with CU_STREAM_WAIT_VALUE_GEQ compares.
            let word = fence.word().load(Ordering::Relaxed);
            assert!((word.wrapping_sub(value) as i64) >= 0, "a device would wait for ever");
            assert!(!fence.poison(), "poisoned once");
        }
        assert!(!Fence::of_process(7, 7).poison(), "what is complete stays complete");
    }
}
