//! Waiting for several topics at once.

use std::ffi::c_void;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use rustix::thread::futex;

use crate::clock::{Deadline, now_ns};
use crate::hook::{self, Step};
use crate::subscriber::RawSubscriber;
use crate::wake::{SLICE, WakeWord};

/// The kernel waits for at most this many words in one call.
const MOST_WORDS: usize = 128;
/// How long to sleep between looks where the kernel cannot wait for several words (before Linux 5.16, and in some
/// sandboxes).
const POLL: Duration = Duration::from_micros(200);

/// Waits until one of the subscribers has something to take, at most for `timeout` (for ever without one). Gives the
/// index of the first that has; nothing if the time is over.
pub fn wait_any(subscribers: &[&RawSubscriber], timeout: Option<Duration>) -> Option<usize> {
    let ready = || subscribers.iter().position(|subscriber| subscriber.has_next());
    if let Some(index) = ready() {
        return Some(index);
    }
    let _step = hook::watcher().map(|watcher| watcher.step(None, Step::Wait, None, 0));
    let deadline = Deadline::after(timeout);
    let mut words = Vec::with_capacity(subscribers.len());
    loop {
        words.clear();
        for subscriber in subscribers {
            let word = subscriber.core().topic.wake();
            words.push((word, word.announce()));
        }
        if let Some(index) = ready() {
            return Some(index);
        }
        let slice = deadline.slice(SLICE)?;
        sleep_on_any(&words, slice);
        if let Some(index) = ready() {
            return Some(index);
        }
        for subscriber in subscribers {
            subscriber.look_after_the_dead();
        }
    }
}

/// Sleeps until one of the words is woken or has changed, or for `time`. May return early.
pub(crate) fn sleep_on_any(words: &[(&WakeWord, u32)], time: Duration) {
    static UNSUPPORTED: AtomicBool = AtomicBool::new(false);
    if let [(word, announced)] = words {
        return word.sleep(*announced, time);
    }
    if words.is_empty() || words.len() > MOST_WORDS || UNSUPPORTED.load(Ordering::Relaxed) {
        return std::thread::sleep(time.min(POLL));
    }
    let mut waiters = [const { futex::Wait::new() }; MOST_WORDS];
    for (waiter, (word, announced)) in waiters.iter_mut().zip(words) {
        waiter.uaddr = futex::WaitPtr::new(std::ptr::from_ref(word.futex()).cast_mut().cast::<c_void>());
        waiter.val = u64::from(*announced);
        waiter.flags = futex::WaitFlags::SIZE_U32;
    }
    let end = now_ns().saturating_add(u64::try_from(time.as_nanos()).unwrap_or(u64::MAX));
    let end = futex::Timespec { tv_sec: (end / 1_000_000_000) as i64, tv_nsec: (end % 1_000_000_000) as i64 };
    let result = futex::waitv(
        &waiters[..words.len()],
        futex::WaitvFlags::empty(),
        Some(&end),
        futex::ClockId::Monotonic,
    );
    use rustix::io::Errno;
    // Anything but having been woken, changed, interrupted or timed out: the call is not there, or a sandbox forbids it.
    if !matches!(result, Ok(_) | Err(Errno::AGAIN | Errno::INTR | Errno::TIMEDOUT)) {
        UNSUPPORTED.store(true, Ordering::Relaxed);
    }
}
