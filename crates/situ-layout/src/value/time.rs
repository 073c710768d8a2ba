//! Times and durations in messages: the clock, arithmetic, and conversions with `std::time`.
//!
//! The generator implements [`Timestamp`] for structs of exactly `int32 sec; uint32 nanosec;`, and
//! [`Timespan`] for those of them that are called `Duration`. `situ::common::Time` and
//! `builtin_interfaces/msg/Time` are such structs. In both, `nanosec` counts forward from `sec`: minus half a
//! second is -1 s and 500,000,000 ns.
//!
//! In C++, `situ/time.hpp` has functions of the same names.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use thiserror::Error;

const NANOS_PER_SEC: i64 = 1_000_000_000;

/// A time or a duration does not fit its new type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum TimeError {
    /// The seconds do not fit in an `int32`.
    #[error(
        "{nanos} ns do not fit in a message: 32 bits hold from -2147483648 s to 2147483647.999999999 s; use a nearer \
         epoch, or a member of type int64"
    )]
    OutOfRange {
        /// The value, in nanoseconds.
        nanos: i128,
    },
    /// A negative duration was to become a [`std::time::Duration`].
    #[error("{nanos} ns is negative, which std::time::Duration cannot be; use `to_nanos`")]
    Negative {
        /// The value, in nanoseconds.
        nanos: i64,
    },
}

/// A length of time to add to or subtract from a time: a [`std::time::Duration`], or a [`Timespan`].
pub trait Span {
    /// The length in nanoseconds.
    fn total_nanos(&self) -> i128;
}

impl Span for Duration {
    fn total_nanos(&self) -> i128 {
        i128::from(self.as_secs()) * i128::from(NANOS_PER_SEC) + i128::from(self.subsec_nanos())
    }
}

impl<T: Timespan> Span for T {
    fn total_nanos(&self) -> i128 {
        i128::from(self.to_nanos())
    }
}

/// The nanoseconds of two members. Every pair of members has a sum: the carry of too large nanoseconds too.
fn join((sec, nanosec): (i32, u32)) -> i64 {
    i64::from(sec) * NANOS_PER_SEC + i64::from(nanosec)
}

/// The two members of a number of nanoseconds: nanoseconds are below one second.
fn split(nanos: i128) -> Result<(i32, u32), TimeError> {
    let sec = nanos.div_euclid(i128::from(NANOS_PER_SEC));
    let sec = i32::try_from(sec).map_err(|_| TimeError::OutOfRange { nanos })?;
    // Below 1,000,000,000.
    Ok((sec, nanos.rem_euclid(i128::from(NANOS_PER_SEC)) as u32))
}

/// A point in time of a message: seconds since the epoch of its clock, and nanoseconds on top.
///
/// By convention the clock is the system clock, whose epoch is 1970-01-01 00:00 UTC, as in ROS. A message
/// that uses another clock says so in its documentation; the steady clock of a machine is
/// `situ_bus::steady_now`.
pub trait Timestamp: Sized {
    /// From the two members.
    fn from_parts(sec: i32, nanosec: u32) -> Self;

    /// The two members.
    fn parts(&self) -> (i32, u32);

    /// The time of the system clock. A clock outside the range gives the nearest time of the range, which
    /// ends on 2038-01-19.
    fn now() -> Self {
        let now = SystemTime::now();
        Self::from_system(now).unwrap_or_else(|_| match now < UNIX_EPOCH {
            true => Self::from_parts(i32::MIN, 0),
            false => Self::from_parts(i32::MAX, NANOS_PER_SEC as u32 - 1),
        })
    }

    /// From nanoseconds since the epoch.
    fn from_nanos(nanos: i64) -> Result<Self, TimeError> {
        split(i128::from(nanos)).map(|(sec, nanosec)| Self::from_parts(sec, nanosec))
    }

    /// Nanoseconds since the epoch.
    fn to_nanos(&self) -> i64 {
        join(self.parts())
    }

    /// From a time of the system clock.
    fn from_system(time: SystemTime) -> Result<Self, TimeError> {
        let nanos = match time.duration_since(UNIX_EPOCH) {
            Ok(after) => after.total_nanos(),
            Err(before) => -before.duration().total_nanos(),
        };
        split(nanos).map(|(sec, nanosec)| Self::from_parts(sec, nanosec))
    }

    /// The time as one of the system clock.
    fn to_system(&self) -> SystemTime {
        let nanos = self.to_nanos();
        let distance = Duration::from_nanos(nanos.unsigned_abs());
        if nanos < 0 { UNIX_EPOCH - distance } else { UNIX_EPOCH + distance }
    }

    /// The same time as another type, with nanoseconds below one second.
    fn convert<T: Timestamp>(&self) -> Result<T, TimeError> {
        T::from_nanos(self.to_nanos())
    }

    /// The time later by a span; earlier if the span is negative.
    fn plus(&self, span: impl Span) -> Result<Self, TimeError> {
        let nanos = i128::from(self.to_nanos()) + span.total_nanos();
        split(nanos).map(|(sec, nanosec)| Self::from_parts(sec, nanosec))
    }

    /// The time earlier by a span; later if the span is negative.
    fn minus(&self, span: impl Span) -> Result<Self, TimeError> {
        let nanos = i128::from(self.to_nanos()) - span.total_nanos();
        split(nanos).map(|(sec, nanosec)| Self::from_parts(sec, nanosec))
    }

    /// The span from another time to this one, which is negative if the other is later.
    fn since<D: Timespan>(&self, other: &impl Timestamp) -> Result<D, TimeError> {
        // Below 5e18 in magnitude, because each time is below 2.2e18.
        D::from_nanos(self.to_nanos() - other.to_nanos())
    }
}

/// A duration of a message: seconds and nanoseconds on top. It may be negative.
pub trait Timespan: Sized {
    /// From the two members.
    fn from_parts(sec: i32, nanosec: u32) -> Self;

    /// The two members.
    fn parts(&self) -> (i32, u32);

    /// From nanoseconds.
    fn from_nanos(nanos: i64) -> Result<Self, TimeError> {
        split(i128::from(nanos)).map(|(sec, nanosec)| Self::from_parts(sec, nanosec))
    }

    /// All of it in nanoseconds.
    fn to_nanos(&self) -> i64 {
        join(self.parts())
    }

    /// From the standard library's duration.
    fn from_std(duration: Duration) -> Result<Self, TimeError> {
        split(duration.total_nanos()).map(|(sec, nanosec)| Self::from_parts(sec, nanosec))
    }

    /// As the standard library's duration, which cannot be negative.
    fn to_std(&self) -> Result<Duration, TimeError> {
        let nanos = self.to_nanos();
        u64::try_from(nanos).map(Duration::from_nanos).map_err(|_| TimeError::Negative { nanos })
    }

    /// The same span as another type, with nanoseconds below one second.
    fn convert<T: Timespan>(&self) -> Result<T, TimeError> {
        T::from_nanos(self.to_nanos())
    }

    /// The sum of two spans.
    fn plus(&self, span: impl Span) -> Result<Self, TimeError> {
        split(i128::from(self.to_nanos()) + span.total_nanos())
            .map(|(sec, nanosec)| Self::from_parts(sec, nanosec))
    }

    /// The difference of two spans.
    fn minus(&self, span: impl Span) -> Result<Self, TimeError> {
        split(i128::from(self.to_nanos()) - span.total_nanos())
            .map(|(sec, nanosec)| Self::from_parts(sec, nanosec))
    }
}
