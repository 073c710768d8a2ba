//! The clock of message time stamps: `CLOCK_MONOTONIC`, which is the same in all processes of a machine.

use std::time::Duration;

use situ_layout::time::Timestamp;

/// Nanoseconds since the machine started.
#[inline]
pub fn now_ns() -> u64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// The time of the machine's steady clock, as a message has it: it never jumps, its epoch is the machine's
/// start, and it means nothing on another machine. The time of day is [`Timestamp::now`].
pub fn steady_now<T: Timestamp>() -> T {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    // 68 years after the machine's start the seconds do not fit.
    T::from_parts(i32::try_from(time.tv_sec).unwrap_or(i32::MAX), time.tv_nsec as u32)
}

/// The time of the last timer tick, at most some milliseconds ago. Reading it costs less than [`now_ns`].
#[inline]
pub(crate) fn coarse_ns() -> u64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::MonotonicCoarse);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// The time at which a wait ends. Without one, the wait has no limit.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Deadline(Option<u64>);

impl Deadline {
    pub(crate) fn after(time: Option<Duration>) -> Self {
        Self(time.map(|time| now_ns().saturating_add(u64::try_from(time.as_nanos()).unwrap_or(u64::MAX))))
    }

    /// The time left, at most `slice`. `None` if the deadline has passed.
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
