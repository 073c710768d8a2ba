//! The clock that messages are stamped with: `CLOCK_MONOTONIC`, the same in every process of a machine.

use std::time::Duration;

/// Nanoseconds since the machine started.
#[inline]
pub fn now_ns() -> u64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// The same as it was some milliseconds ago at most: reading it costs less.
#[inline]
pub(crate) fn coarse_ns() -> u64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::MonotonicCoarse);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// A moment in the future until which something may be waited for; none for ever.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Deadline(Option<u64>);

impl Deadline {
    pub(crate) fn after(time: Option<Duration>) -> Self {
        Self(time.map(|time| now_ns().saturating_add(u64::try_from(time.as_nanos()).unwrap_or(u64::MAX))))
    }

    /// How long it may still be waited, at most `slice`; nothing if the time is over.
    pub(crate) fn slice(&self, slice: Duration) -> Option<Duration> {
        match self.0 {
            None => Some(slice),
            Some(end) => {
                let now = now_ns();
                (now < end).then(|| slice.min(Duration::from_nanos(end - now)))
            }
        }
    }
}
