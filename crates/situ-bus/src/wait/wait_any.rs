//! Waiting for several topics at once.

use std::time::Duration;

use situ_memory::HOST;

use crate::clock::Deadline;
use crate::observe::hook::{self, Step};
use crate::port::subscriber::RawSubscriber;
use crate::wait::interrupt::{Interrupted, Wait};
use crate::wait::readiness::Readiness;
use crate::wait::sleep::Slept;
use crate::wait::sleep_until::{GLANCE, announce, sleep_until_one_ends};
use crate::wake::SLICE;

/// Waits until one of the subscribers has something to take, at most for `timeout` (for ever without one).
/// Gives the index of the first that has; nothing if the time is over. What there is to take,
/// [`RawSubscriber::wait`] says.
///
/// The kernel waits for 127 topics in one call. For more the calling thread has helpers, threads that sleep
/// on the others; they are started when they are first needed, one for each further 127, and end with it.
pub fn wait_any(subscribers: &[&RawSubscriber], timeout: Option<Duration>) -> Option<usize> {
    // Nothing that was not asked for interrupts it.
    wait_any_with(subscribers, Wait::limit(timeout)).unwrap_or(None)
}

/// As [`wait_any`], but something else may end it: see [`Wait`]. An error if it did.
pub fn wait_any_with(subscribers: &[&RawSubscriber], how: Wait<'_>) -> Result<Option<usize>, Interrupted> {
    how.check()?;
    if let Some(index) = subscribers.iter().position(|subscriber| subscriber.readiness().is_ready()) {
        return Ok(Some(index));
    }
    if let ([only], true) = (subscribers, how.is_plain()) {
        return Ok(only.wait(how.timeout).then_some(0));
    }
    let _step = hook::watcher().map(|watcher| watcher.step(None, Step::Wait, None, 0));
    let deadline = Deadline::after(how.timeout);
    loop {
        how.check()?;
        // First announce, then look, then sleep: see `wake` and `situ_memory::fence`.
        let mut words: Vec<_> = subscribers
            .iter()
            .map(|subscriber| {
                let word = subscriber.core().topic.wake();
                (word.futex(), announce(word, subscriber.domain() == HOST))
            })
            .collect();
        // It is not interrupted, or the kernel finds another value.
        words.extend(how.interrupter.map(|interrupter| interrupter.futex()));
        let mut incomplete = Vec::new();
        for (index, subscriber) in subscribers.iter().enumerate() {
            match subscriber.readiness() {
                Readiness::Nothing => {}
                Readiness::Incomplete(awaited) => incomplete.push((&subscriber.core().topic, awaited)),
                Readiness::Ready | Readiness::Stale | Readiness::TimedOut(_) => return Ok(Some(index)),
            }
        }
        let slice = if incomplete.is_empty() { SLICE } else { GLANCE };
        let Some(slice) = deadline.slice(slice) else { return Ok(None) };
        match sleep_until_one_ends(&mut words, &incomplete, slice, how.signals) {
            Some(Slept::Signal) if how.signals => return Err(Interrupted::BySignal),
            Some(_) => subscribers.iter().for_each(|subscriber| subscriber.look_after_the_dead()),
            None => {}
        }
    }
}
