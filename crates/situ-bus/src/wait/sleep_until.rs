//! Sleeps until a message comes, or until a published message is complete.

use std::sync::Arc;
use std::time::Duration;

use crate::topic::Topic;
use crate::wait::readiness::PendingFence;
use crate::wait::sleep::{Slept, Word, sleep_on_any};
use crate::wake::SLICE;

/// How long to sleep while a message is incomplete: devices that complete it wake no sleeper.
pub(crate) const GLANCE: Duration = Duration::from_millis(1);

/// How long to sleep on the words of these topics: [`SLICE`], and longer for many, because each sleep costs
/// the kernel about 1 us for each word. With 120 topics it is less than a second. Not longer if a topic has
/// devices, which complete messages without waking a sleeper.
pub(crate) fn slice_for<'t>(topics: impl ExactSizeIterator<Item = &'t Arc<Topic>>) -> Duration {
    let number = u32::try_from(topics.len() / 16).unwrap_or(u32::MAX).min(9);
    if number == 0 || topics.into_iter().any(|topic| topic.has_devices()) {
        SLICE
    } else {
        SLICE * (1 + number)
    }
}

/// Sleeps like [`sleep_on_any`], and also wakes when an incomplete message completes. If the owner of a fence
/// is dead, ensures that the fence ends. Returns `None` without sleeping if a message has completed already.
pub(crate) fn sleep_until_one_ends<'a>(
    words: &mut Vec<Word<'a>>,
    incomplete: &[(&Arc<Topic>, &'a PendingFence)],
    time: Duration,
    signals: bool,
) -> Option<Slept> {
    for (_, awaited) in incomplete {
        words.push(awaited.announce()?);
    }
    let slept = sleep_on_any(words, time, signals);
    for (topic, awaited) in incomplete {
        awaited.look_after_if_pending(topic);
    }
    Some(slept)
}
