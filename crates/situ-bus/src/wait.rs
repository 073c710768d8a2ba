//! Waiting for several topics at once.

use std::ffi::c_void;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Duration;

use rustix::thread::futex;
use situ_memory::HOST;

use crate::clock::{Deadline, now_ns};
use crate::hook::{self, Step};
use crate::readiness::{Awaited, Readiness};
use crate::subscriber::RawSubscriber;
use crate::topic::Topic;
use crate::wake::{SLICE, WakeWord};

/// The kernel waits for at most this many words in one call.
const MOST_WORDS: usize = 128;
/// How long to sleep between looks where the kernel cannot wait for several words (before Linux 5.16, and in some
/// sandboxes).
const POLL: Duration = Duration::from_micros(200);

/// How long to sleep while something is not complete: devices that complete it wake nobody.
pub(crate) const GLANCE: Duration = Duration::from_millis(1);

/// Waits until one of the subscribers has something to take, at most for `timeout` (for ever without one). Gives the
/// index of the first that has; nothing if the time is over. What there is to take, [`RawSubscriber::wait`] says.
pub fn wait_any(subscribers: &[&RawSubscriber], timeout: Option<Duration>) -> Option<usize> {
    if let Some(index) = subscribers.iter().position(|subscriber| subscriber.readiness().is_ready()) {
        return Some(index);
    }
    if let [only] = subscribers {
        return only.wait(timeout).then_some(0);
    }
    let _step = hook::watcher().map(|watcher| watcher.step(None, Step::Wait, None, 0));
    let deadline = Deadline::after(timeout);
    loop {
        // First announce, then look, then sleep: see `wake` and `situ_memory::fence`.
        let mut words: Vec<_> = subscribers
            .iter()
            .map(|subscriber| {
                let word = subscriber.core().topic.wake();
                (word.futex(), announce(word, subscriber.domain() == HOST))
            })
            .collect();
        let mut incomplete = Vec::new();
        for (index, subscriber) in subscribers.iter().enumerate() {
            match subscriber.readiness() {
                Readiness::Nothing => {}
                Readiness::Incomplete(awaited) => incomplete.push((&subscriber.core().topic, awaited)),
                Readiness::Ready | Readiness::Stale | Readiness::Overdue(_) => return Some(index),
            }
        }
        let slice = deadline.slice(if incomplete.is_empty() { SLICE } else { GLANCE })?;
        if sleep_until_one_ends(&mut words, &incomplete, slice) {
            subscribers.iter().for_each(|subscriber| subscriber.look_after_the_dead());
        }
    }
}

/// Announces a sleeper; one that `takes_on_host` has no use for what is not complete.
pub(crate) fn announce(word: &WakeWord, takes_on_host: bool) -> u32 {
    if takes_on_host { word.announce_until_complete() } else { word.announce() }
}

/// Sleeps like [`sleep_on_any`], also until something becomes complete, and sees to it that it ends where its owner is dead. Not if something
/// has become complete already; whether it slept.
pub(crate) fn sleep_until_one_ends<'a>(
    words: &mut Vec<(&'a AtomicU32, u32)>,
    incomplete: &'a [(&Arc<Topic>, Awaited)],
    time: Duration,
) -> bool {
    for (_, awaited) in incomplete {
        match awaited.announce() {
            Some(word) => words.push(word),
            None => return false,
        }
    }
    sleep_on_any(words, time);
    for (topic, awaited) in incomplete {
        awaited.look_after_if_pending(topic);
    }
    true
}

/// Sleeps until one of the words is woken or has changed, or for `time`. May return early.
pub(crate) fn sleep_on_any(words: &[(&AtomicU32, u32)], time: Duration) {
    static UNSUPPORTED: AtomicBool = AtomicBool::new(false);
    if let [(word, announced)] = words {
        let time = futex::Timespec { tv_sec: time.as_secs() as i64, tv_nsec: i64::from(time.subsec_nanos()) };
        let _ = futex::wait(word, futex::Flags::empty(), *announced, Some(&time));
        return;
    }
    if words.is_empty() || words.len() > MOST_WORDS || UNSUPPORTED.load(Ordering::Relaxed) {
        return std::thread::sleep(time.min(POLL));
    }
    let mut waiters = [const { futex::Wait::new() }; MOST_WORDS];
    for (waiter, (word, announced)) in waiters.iter_mut().zip(words) {
        waiter.uaddr = futex::WaitPtr::new(std::ptr::from_ref(*word).cast_mut().cast::<c_void>());
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
