//! Sleeps on any number of words until one of them changes.
//!
//! The kernel waits for at most 128 words in one call. If there are more, the calling thread sleeps on the
//! first of them, and helper threads of its own sleep on the others:
//!
//! ```text
//!   caller                                         helper
//!   1. job = words; control += 1, wake             1. c = control; words = job
//!   2. sleep on the first words and on `done`      2. sleep on words, and on control being c
//!   3. job = none; control += 1, wake              3. control is c? done += 1, wake
//! ```
//!
//! The caller does not wait for its helpers in step 3. If the words' memory is unmapped by then, a late
//! helper passes the kernel addresses that it cannot read, which is an error, or addresses of other memory.
//! On those it does not sleep, because `control` has changed. Only the kernel reads them. If a helper changes
//! `done` late, the next sleep ends early, and the caller checks and sleeps again.

use std::cell::RefCell;
use std::ffi::c_void;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use rustix::io::Errno;
use rustix::thread::futex;
use situ_memory::fork::Process;

use crate::clock::now_ns;

/// The kernel waits for at most this many words in one call.
const MAX_WORDS: usize = 128;
/// How many of them are the caller's words: one more is needed for the word that ends the sleep.
const GROUP: usize = MAX_WORDS - 1;
/// How long to sleep between checks if the kernel cannot wait for several words (before Linux 5.16, and in
/// some sandboxes; `situ doctor` reports it).
const POLL: Duration = Duration::from_micros(200);
/// The same if the system cannot create a helper thread.
const WITHOUT_HELP: Duration = Duration::from_millis(1);

/// A word, and its value as long as it has not changed.
pub(crate) type Word<'a> = (&'a AtomicU32, u32);

/// Why a sleep ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Slept {
    /// A word was woken or changed, the time is over, or the sleep ended early.
    Enough,
    /// A signal was handled on this thread.
    Signal,
}

/// Whether the kernel can wait for several words at once: since Linux 5.16, unless a sandbox forbids it.
pub(crate) fn waits_for_several() -> bool {
    static ANSWER: OnceLock<bool> = OnceLock::new();
    // A kernel that has the call refuses to wait for no word.
    *ANSWER.get_or_init(|| {
        let answer = futex::waitv(&[], futex::WaitvFlags::empty(), None, futex::ClockId::Monotonic);
        answer.is_err_and(|error| error == Errno::INVAL)
    })
}

/// Sleeps on some words, at most 128, given by their addresses.
pub(crate) fn sleep_on_group(words: impl ExactSizeIterator<Item = (usize, u32)>, time: Option<Duration>) {
    wait_for(words, time);
}

/// Sleeps until one of the words is woken or has changed, or for `time`. May return early. With `signals`,
/// the result tells whether a signal handler has run.
pub(crate) fn sleep_on_any(words: &[Word<'_>], time: Duration, signals: bool) -> Slept {
    match words {
        [] => {
            std::thread::sleep(time.min(POLL));
            Slept::Enough
        }
        [only] => sleep_on(*only, time),
        // After most signals, the kernel restarts a call for several words. It never restarts a call for a
        // single word.
        words if signals => sleep_with_help(&[], words, time),
        words if words.len() > MAX_WORDS => {
            let (own, others) = words.split_at(GROUP);
            sleep_with_help(own, others, time)
        }
        words => {
            wait_for(words.iter().map(of_word), Some(time));
            Slept::Enough
        }
    }
}

/// Sleeps on one word.
fn sleep_on((word, announced): Word<'_>, time: Duration) -> Slept {
    let time = futex::Timespec { tv_sec: time.as_secs() as i64, tv_nsec: i64::from(time.subsec_nanos()) };
    match futex::wait(word, futex::Flags::empty(), announced, Some(&time)) {
        Err(Errno::INTR) => Slept::Signal,
        _ => Slept::Enough,
    }
}

fn of_word((word, value): &Word<'_>) -> (usize, u32) {
    (std::ptr::from_ref(*word).addr(), *value)
}

/// Sleeps on at most [`MAX_WORDS`] words by one call. Returns whether the kernel supports that; if not, it
/// has slept for [`POLL`].
fn wait_for(words: impl Iterator<Item = (usize, u32)>, time: Option<Duration>) -> bool {
    static UNSUPPORTED: AtomicBool = AtomicBool::new(false);
    let poll = || {
        std::thread::sleep(time.map_or(POLL, |time| time.min(POLL)));
        false
    };
    if UNSUPPORTED.load(Ordering::Relaxed) {
        return poll();
    }
    let mut waiters = [const { futex::Wait::new() }; MAX_WORDS];
    let mut count = 0;
    for (waiter, (address, value)) in waiters.iter_mut().zip(words) {
        waiter.uaddr = futex::WaitPtr::new(std::ptr::without_provenance_mut::<c_void>(address));
        waiter.val = u64::from(value);
        waiter.flags = futex::WaitFlags::SIZE_U32;
        count += 1;
    }
    let end = time.map(|time| {
        let end = now_ns().saturating_add(u64::try_from(time.as_nanos()).unwrap_or(u64::MAX));
        futex::Timespec { tv_sec: (end / 1_000_000_000) as i64, tv_nsec: (end % 1_000_000_000) as i64 }
    });
    let flags = futex::WaitvFlags::empty();
    match futex::waitv(&waiters[..count], flags, end.as_ref(), futex::ClockId::Monotonic) {
        // Woken, changed, interrupted or timed out, or a word's memory is gone.
        Ok(_) | Err(Errno::AGAIN | Errno::INTR | Errno::TIMEDOUT | Errno::FAULT) => true,
        // The kernel does not have the call, and will not have it later.
        Err(Errno::NOSYS) => {
            UNSUPPORTED.store(true, Ordering::Relaxed);
            poll()
        }
        // Out of memory, or forbidden by a sandbox: this may differ next time.
        Err(_) => poll(),
    }
}

/// The task of a helper.
#[derive(Default)]
struct Job {
    /// The addresses of the words, and their values.
    words: Vec<(usize, u32)>,
    ended: bool,
}

/// The state that a helper and the thread that it helps share.
#[derive(Default)]
struct Shared {
    /// Changes with each job. The helper also sleeps on it.
    control: AtomicU32,
    job: Mutex<Job>,
    /// Belongs to the helped thread. Changes when one of the words was woken.
    done: Arc<AtomicU32>,
}

impl Shared {
    fn job(&self) -> MutexGuard<'_, Job> {
        // The guarded job is replaced as a whole.
        self.job.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Gives the helper another job, which replaces the last one.
    fn give(&self, words: &[Word<'_>], ended: bool) {
        let mut job = self.job();
        job.words.clear();
        job.words.extend(words.iter().map(of_word));
        job.ended = ended;
        // Under the lock, so that a helper never combines one job's words with another job's number.
        self.control.fetch_add(1, Ordering::SeqCst);
        drop(job);
        wake(&self.control);
    }
}

fn wake(word: &AtomicU32) {
    let _ = futex::wake(word, futex::Flags::empty(), i32::MAX as u32);
}

/// The body of a helper thread.
fn help(shared: &Shared) {
    let mut words = Vec::with_capacity(MAX_WORDS);
    loop {
        let control = {
            let job = shared.job();
            if job.ended {
                return;
            }
            words.clear();
            words.extend_from_slice(&job.words);
            shared.control.load(Ordering::SeqCst)
        };
        if words.is_empty() {
            let _ = futex::wait(&shared.control, futex::Flags::empty(), control, None);
            continue;
        }
        wait_for(words.iter().copied().chain([of_word(&(&shared.control, control))]), None);
        let mut job = shared.job();
        if shared.control.load(Ordering::SeqCst) == control {
            // The change is reported once. Until the next job, there is nothing to do.
            job.words.clear();
            drop(job);
            shared.done.fetch_add(1, Ordering::SeqCst);
            wake(&shared.done);
        }
    }
}

/// The helpers of one thread, which end with it.
struct Helpers {
    done: Arc<AtomicU32>,
    helpers: Vec<Arc<Shared>>,
    process: Process,
}

impl Helpers {
    fn new() -> Self {
        Self { done: Arc::default(), helpers: Vec::new(), process: Process::this() }
    }

    /// Returns this many helpers. An error if the system cannot create a thread.
    fn ready(&mut self, number: usize) -> std::io::Result<&[Arc<Shared>]> {
        if !self.process.is_this() {
            // A forked child has none of its parent's threads.
            std::mem::forget(std::mem::replace(self, Self::new()));
        }
        while self.helpers.len() < number {
            let shared = Arc::new(Shared { done: self.done.clone(), ..Shared::default() });
            let theirs = shared.clone();
            situ_memory::thread::spawn("situ-wait", move || help(&theirs))?;
            self.helpers.push(shared);
        }
        Ok(&self.helpers[..number])
    }
}

impl Drop for Helpers {
    fn drop(&mut self) {
        if self.process.is_this() {
            self.helpers.iter().for_each(|helper| helper.give(&[], true));
        }
    }
}

/// Sleeps on some words itself, and on the others by helpers.
#[cold]
fn sleep_with_help(own: &[Word<'_>], others: &[Word<'_>], time: Duration) -> Slept {
    thread_local! {
        static HELPERS: RefCell<Helpers> = RefCell::new(Helpers::new());
    }
    let help = |helpers: &RefCell<Helpers>| {
        let mut helpers = helpers.try_borrow_mut().ok()?;
        let done = helpers.done.clone();
        let announced = done.load(Ordering::SeqCst);
        let groups = others.chunks(GROUP);
        let ready = helpers.ready(groups.len()).ok()?;
        ready.iter().zip(groups).for_each(|(helper, words)| helper.give(words, false));
        let slept = match own {
            [] => sleep_on((&done, announced), time),
            own => {
                wait_for(own.iter().map(of_word).chain([of_word(&(&done, announced))]), Some(time));
                Slept::Enough
            }
        };
        ready.iter().for_each(|helper| helper.give(&[], false));
        Some(slept)
    };
    HELPERS.try_with(help).ok().flatten().unwrap_or_else(|| {
        // No thread can be created, or this one is ending: at least the first words end the sleep.
        let first = if own.is_empty() { &others[..others.len().min(MAX_WORDS)] } else { own };
        wait_for(first.iter().map(of_word), Some(time.min(WITHOUT_HELP)));
        Slept::Enough
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The number of times that this thread has given up its core to wait.
    fn sleeps() -> u64 {
        let status = std::fs::read_to_string("/proc/thread-self/status").unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("voluntary_ctxt_switches:")).unwrap();
        line.trim().parse().unwrap()
    }

    #[test]
    fn one_failed_call_does_not_disable_waiting_for_several_words() {
        let words = [AtomicU32::new(0), AtomicU32::new(0)];
        // No word begins at an odd address.
        let odd = (std::ptr::from_ref(&words[0]).addr() + 1, 0);
        assert!(!wait_for([odd].into_iter(), Some(Duration::from_secs(100))));
        let before = sleeps();
        let time = Duration::from_millis(200);
        assert_eq!(sleep_on_any(&[(&words[0], 0), (&words[1], 0)], time, false), Slept::Enough);
        // With a check every 200 us, the number would be 1000.
        assert!(sleeps() - before < 100);
    }
}
