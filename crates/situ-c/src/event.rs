//! Events for C.

use situ_bus::{
    DeadlineMissedStatus, Event, IncompatibleQosStatus, LivelinessChangedStatus, LivelinessLostStatus,
    MatchedStatus, MessagesLostStatus, Source, Waitable,
};

use crate::error::{Failure, guard, guard_value, situ_error, situ_status};
use crate::lender::situ_publisher;
use crate::subscriber::{check_process, situ_subscriber};
use crate::types::{given, target};

/// `situ_event_kind`.
pub const MATCHED: u32 = 0;
pub const INCOMPATIBLE_QOS: u32 = 1;
pub const DEADLINE_MISSED: u32 = 2;
pub const LIVELINESS_LOST: u32 = 3;
pub const LIVELINESS_CHANGED: u32 = 4;
pub const MESSAGES_LOST: u32 = 5;

/// `situ_matched_status`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct situ_matched_status {
    pub total_count: u64,
    pub total_count_change: u64,
    pub current_count: u64,
    pub current_count_change: i64,
}

/// `situ_incompatible_qos_status`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct situ_incompatible_qos_status {
    pub total_count: u64,
    pub total_count_change: u64,
    pub last_policy: u32,
    pub policies: u32,
}

/// `situ_deadline_missed_status`, `situ_liveliness_lost_status` and `situ_messages_lost_status`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct situ_total_status {
    pub total_count: u64,
    pub total_count_change: u64,
}

pub use situ_total_status as situ_deadline_missed_status;
pub use situ_total_status as situ_liveliness_lost_status;
pub use situ_total_status as situ_messages_lost_status;

/// `situ_liveliness_changed_status`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct situ_liveliness_changed_status {
    pub alive_count: u64,
    pub not_alive_count: u64,
    pub alive_count_change: i64,
    pub not_alive_count_change: i64,
}

/// `situ_event_status`.
#[repr(C)]
#[derive(Clone, Copy)]
pub union situ_event_status {
    /// All bytes.
    zero: [u64; 4],
    pub matched: situ_matched_status,
    pub incompatible_qos: situ_incompatible_qos_status,
    pub deadline_missed: situ_deadline_missed_status,
    pub liveliness_lost: situ_liveliness_lost_status,
    pub liveliness_changed: situ_liveliness_changed_status,
    pub messages_lost: situ_messages_lost_status,
}

impl Default for situ_event_status {
    fn default() -> Self {
        Self { zero: [0; 4] }
    }
}

/// `situ_event`.
pub enum situ_event {
    Matched(Event<MatchedStatus>),
    IncompatibleQos(Event<IncompatibleQosStatus>),
    DeadlineMissed(Event<DeadlineMissedStatus>),
    LivelinessLost(Event<LivelinessLostStatus>),
    LivelinessChanged(Event<LivelinessChangedStatus>),
    MessagesLost(Event<MessagesLostStatus>),
}

impl situ_event {
    fn take(&self) -> situ_event_status {
        let mut status = situ_event_status::default();
        let total = |total_count, total_count_change| situ_total_status { total_count, total_count_change };
        match self {
            Self::Matched(event) => {
                let MatchedStatus { total_count, total_count_change, current_count, current_count_change } =
                    event.take();
                status.matched = situ_matched_status {
                    total_count,
                    total_count_change,
                    current_count,
                    current_count_change,
                };
            }
            Self::IncompatibleQos(event) => {
                let IncompatibleQosStatus { total_count, total_count_change, last_policy, policies } =
                    event.take();
                status.incompatible_qos = situ_incompatible_qos_status {
                    total_count,
                    total_count_change,
                    last_policy: last_policy.map_or(0, |policy| policy as u32),
                    policies: policies.to_bits(),
                };
            }
            Self::DeadlineMissed(event) => {
                let taken = event.take();
                status.deadline_missed = total(taken.total_count, taken.total_count_change);
            }
            Self::LivelinessLost(event) => {
                let taken = event.take();
                status.liveliness_lost = total(taken.total_count, taken.total_count_change);
            }
            Self::LivelinessChanged(event) => {
                let taken = event.take();
                status.liveliness_changed = situ_liveliness_changed_status {
                    alive_count: taken.alive_count,
                    not_alive_count: taken.not_alive_count,
                    alive_count_change: taken.alive_count_change,
                    not_alive_count_change: taken.not_alive_count_change,
                };
            }
            Self::MessagesLost(event) => {
                let taken = event.take();
                status.messages_lost = total(taken.total_count, taken.total_count_change);
            }
        }
        status
    }

    fn source(&self) -> Source {
        match self {
            Self::Matched(event) => event.source(),
            Self::IncompatibleQos(event) => event.source(),
            Self::DeadlineMissed(event) => event.source(),
            Self::LivelinessLost(event) => event.source(),
            Self::LivelinessChanged(event) => event.source(),
            Self::MessagesLost(event) => event.source(),
        }
    }
}

/// The source of an event.
///
/// # Safety
/// `event` is null or a live handle.
pub unsafe fn event_source(event: *const situ_event) -> Result<Source, Failure> {
    // SAFETY: the caller's promise.
    Ok(unsafe { given(event, "event") }?.source())
}

fn no_such_kind(kind: u32, side: &str) -> Failure {
    Failure::argument(format_args!("`kind` is {kind}, which is not a situ_event_kind of a {side}"))
}

/// Stores the event that `make` makes.
///
/// # Safety
/// `event` and `error` are null or valid for writes.
unsafe fn make_event(
    event: *mut *mut situ_event,
    error: *mut situ_error,
    make: impl FnOnce() -> Result<situ_event, Failure>,
) -> situ_status {
    let store = || {
        let target = target(event, "event")?;
        let made = Box::new(make()?);
        // SAFETY: not null, and valid for writes as the caller promises.
        unsafe { target.write(Box::into_raw(made)) };
        Ok(situ_status::Ok)
    };
    // SAFETY: `error` is null or valid.
    unsafe { guard(error, store) }
}

/// Makes an event of a publisher.
///
/// # Safety
/// `publisher` is null or a live handle that no other thread uses; the others are null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn situ_publisher_event(
    publisher: *const situ_publisher,
    kind: u32,
    event: *mut *mut situ_event,
    error: *mut situ_error,
) -> situ_status {
    let make = || {
        // SAFETY: the caller's promise.
        let raw = &unsafe { given(publisher, "publisher") }?.raw;
        if raw.is_inherited() {
            return Err(Failure::forked("topic", raw.topic()));
        }
        Ok(match kind {
            MATCHED => situ_event::Matched(raw.matched_event()),
            INCOMPATIBLE_QOS => situ_event::IncompatibleQos(raw.incompatible_qos_event()),
            DEADLINE_MISSED => situ_event::DeadlineMissed(raw.deadline_missed_event()),
            LIVELINESS_LOST => situ_event::LivelinessLost(raw.liveliness_lost_event()),
            other => return Err(no_such_kind(other, "publisher")),
        })
    };
    // SAFETY: the caller's promise.
    unsafe { make_event(event, error, make) }
}

/// Makes an event of a subscriber.
///
/// # Safety
/// `subscriber` is null or a live handle that no other thread uses; the others are null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn situ_subscriber_event(
    subscriber: *const situ_subscriber,
    kind: u32,
    event: *mut *mut situ_event,
    error: *mut situ_error,
) -> situ_status {
    let make = || {
        // SAFETY: the caller's promise.
        let subscriber = unsafe { given(subscriber, "subscriber") }?;
        check_process(subscriber)?;
        let raw = &subscriber.raw;
        Ok(match kind {
            MATCHED => situ_event::Matched(raw.matched_event()),
            INCOMPATIBLE_QOS => situ_event::IncompatibleQos(raw.incompatible_qos_event()),
            DEADLINE_MISSED => situ_event::DeadlineMissed(raw.deadline_missed_event()),
            LIVELINESS_CHANGED => situ_event::LivelinessChanged(raw.liveliness_changed_event()),
            MESSAGES_LOST => situ_event::MessagesLost(raw.messages_lost_event()),
            other => return Err(no_such_kind(other, "subscriber")),
        })
    };
    // SAFETY: the caller's promise.
    unsafe { make_event(event, error, make) }
}

/// Destroys an event.
///
/// # Safety
/// `event` is null, or a live handle that is not used any more.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn situ_event_destroy(event: *mut situ_event) {
    if !event.is_null() {
        // SAFETY: it came from `Box::into_raw`, and the caller gives it up.
        guard_value(|| drop(unsafe { Box::from_raw(event) }));
    }
}

/// Takes the status of an event.
///
/// # Safety
/// `event` is null or a live handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn situ_event_take(event: *const situ_event) -> situ_event_status {
    // SAFETY: the caller's promise.
    let event = unsafe { event.as_ref() };
    guard_value(|| event.map(situ_event::take).unwrap_or_default())
}

/// Shows that a publisher is alive.
///
/// # Safety
/// `publisher` is null or a live handle that no other thread uses.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn situ_publisher_assert_liveliness(publisher: *const situ_publisher) {
    // SAFETY: the caller's promise.
    let publisher = unsafe { publisher.as_ref() };
    guard_value(|| {
        if let Some(publisher) = publisher {
            publisher.raw.assert_liveliness();
        }
    });
}
