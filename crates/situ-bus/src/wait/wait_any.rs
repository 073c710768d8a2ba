//! Waits for several topics at once.

use std::time::Duration;

use situ_memory::HOST;

use crate::clock::Deadline;
use crate::observe::hook::{self, Step};
use crate::port::subscriber::RawSubscriber;
use crate::wait::interrupt::{Interrupted, Wait};
use crate::wait::readiness::Readiness;
use crate::wait::sleep::Slept;
use crate::wait::sleep_until::{GLANCE, sleep_until_one_ends};
use crate::wake::SLICE;

/// Waits until one of the subscribers has something to take, at most for `timeout` (without a limit if
/// `None`). Returns the index of the first subscriber that has, or `None` if the time is over. See
/// [`RawSubscriber::wait`] for what counts as something to take.
///
/// The kernel waits for 127 topics in one call. For each further 127, the calling thread has a helper thread
/// that sleeps on them. A helper starts when it is first needed, and ends with the calling thread.
pub fn wait_any(subscribers: &[&RawSubscriber], timeout: Option<Duration>) -> Option<usize> {
    // Without an interrupter, the wait cannot be interrupted.
    wait_any_with(subscribers, Wait::limit(timeout)).unwrap_or(None)
}

/// As [`wait_any`], but other events may end the wait: see [`Wait`]. Returns an error then.
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
        // Announce first, then check, then sleep: see `wake` and `situ_memory::fence`.
        let mut words: Vec<_> = subscribers
            .iter()
            .map(|subscriber| {
                let wake = subscriber.core().topic.wakes().of(subscriber.domain() == HOST);
                (wake.futex(), wake.announce())
            })
            .collect();
        // Either it is not interrupted, or the kernel finds another value.
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
        let incomplete: Vec<_> = incomplete.iter().map(|(topic, awaited)| (*topic, awaited)).collect();
        match sleep_until_one_ends(&mut words, &incomplete, slice, how.signals) {
            Some(Slept::Signal) if how.signals => return Err(Interrupted::BySignal),
            Some(_) => subscribers.iter().for_each(|subscriber| subscriber.look_after_the_dead()),
            None => {}
        }
    }
}
