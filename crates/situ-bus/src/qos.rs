//! Quality of service, in the terms of DDS and ROS.

use std::time::Duration;

use crate::trust::{Limits, Trust};

/// Whether messages may be lost between a publisher and a subscriber.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Reliability {
    /// A publisher never waits. A subscriber that is too slow loses messages and learns their number.
    #[default]
    BestEffort,
    /// A publisher waits for subscribers that are reliable and keep all messages.
    Reliable,
}

/// How many of the published messages a subscriber can still take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum History {
    /// At most this number of the newest messages. Older ones that it has not taken are skipped.
    KeepLast(usize),
    /// All messages. With [`Reliability::Reliable`] the publisher waits instead of overwriting one.
    KeepAll,
}

/// Which messages a late subscriber receives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Durability {
    /// Only messages that are published after it has joined.
    #[default]
    Volatile,
    /// Also the last messages that publishers keep (as many as their depth).
    TransientLocal,
}

/// What a reliable publisher does when a subscriber has no room.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WhenFull {
    /// Wait at most this long, or without a limit as long as the subscriber lives. The default is one second.
    Block(Option<Duration>),
    /// Return the message to the caller at once.
    Fail,
}

/// The default for the number of samples that a subscriber may hold. A pool has at least 1,024 slots more
/// than its publisher needs.
const MAX_HELD: usize = 256;
/// How long a reliable publisher waits for a subscriber by default.
pub(crate) const BLOCK: Duration = Duration::from_secs(1);

/// The quality of service that a publisher offers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PublisherQos {
    /// Whether it waits for reliable subscribers.
    pub reliability: Reliability,
    /// Which messages it keeps for late subscribers.
    pub durability: Durability,
    /// How many of its last messages stay available, and how far a reliable publisher may run ahead.
    pub depth: usize,
    /// What to do when a reliable subscriber has no room.
    pub when_full: WhenFull,
    /// The publisher promises to publish at least this often.
    pub deadline: Option<Duration>,
    /// Messages that are older than this are no longer delivered.
    pub lifespan: Option<Duration>,
    /// The limit of free memory, in bytes. If more is free when a slot is freed, all free memory except half
    /// the limit is returned to the system at once. Without a limit, memory is returned when it was not
    /// needed for some seconds, or when [`trim`](crate::RawPublisher::trim) is called. If the limit is below
    /// the size of a few messages, each of them costs system calls.
    pub trim_above: Option<u64>,
    /// Up to [`MAX_USER_DATA`](crate::MAX_USER_DATA) bytes that other participants find in the graph, and that
    /// Situ does not interpret.
    pub user_data: Vec<u8>,
}

impl Default for PublisherQos {
    fn default() -> Self {
        Self {
            reliability: Reliability::BestEffort,
            durability: Durability::Volatile,
            depth: 8,
            when_full: WhenFull::Block(Some(BLOCK)),
            deadline: None,
            lifespan: None,
            trim_above: None,
            user_data: Vec::new(),
        }
    }
}

/// The quality of service that a subscriber requests.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SubscriberQos {
    /// Whether every message must reach it.
    pub reliability: Reliability,
    /// Whether it requests messages that were published before it joined.
    pub durability: Durability,
    /// How many of the published messages it can still take.
    pub history: History,
    /// The subscriber expects a message at least this often.
    pub deadline: Option<Duration>,
    /// The publishers whose messages it reads in place.
    pub trust: Trust,
    /// How large messages and pools may be.
    pub limits: Limits,
    /// How many samples it may hold at a time, because a publisher cannot reuse the memory of a held sample.
    /// A take beyond the limit is an error, and the message stays available. At least 1 and at most 493; the
    /// default is 256.
    pub max_held: usize,
    /// Whether samples have the time at which they were taken
    /// ([`RawSample::received_at_ns`](crate::RawSample::received_at_ns)). This costs a read of the clock for
    /// each message.
    pub reception_times: bool,
    /// Up to [`MAX_USER_DATA`](crate::MAX_USER_DATA) bytes that other participants find in the graph, and that
    /// Situ does not interpret.
    pub user_data: Vec<u8>,
}

impl Default for SubscriberQos {
    fn default() -> Self {
        Self {
            reliability: Reliability::BestEffort,
            durability: Durability::Volatile,
            history: History::KeepAll,
            deadline: None,
            trust: Trust::default(),
            limits: Limits::default(),
            max_held: MAX_HELD,
            reception_times: false,
            user_data: Vec::new(),
        }
    }
}

/// The first term in which an offer does not satisfy a request.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
pub enum QosMismatch {
    /// The subscriber is reliable, the publisher is not.
    #[error("the subscriber asks for reliable delivery, the publisher offers best effort")]
    Reliability,
    /// The subscriber requests earlier messages, the publisher keeps none.
    #[error("the subscriber asks for transient-local durability, the publisher offers volatile")]
    Durability,
    /// The publisher promises messages less often than the subscriber expects them.
    #[error("the subscriber expects a message every {requested:?}, the publisher promises {offered}")]
    Deadline {
        /// What the subscriber expects.
        requested: Duration,
        /// What the publisher promises, as text.
        offered: String,
    },
}

situ_layout::debug_as_text!(QosMismatch);

/// The part of the quality of service that both sides must agree on, as it is stored in shared memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Terms {
    pub reliable: bool,
    pub transient_local: bool,
    /// 0 means no deadline.
    pub deadline_ns: u64,
}

impl Terms {
    pub(crate) fn of_publisher(qos: &PublisherQos) -> Self {
        Self {
            reliable: qos.reliability == Reliability::Reliable,
            transient_local: qos.durability == Durability::TransientLocal,
            deadline_ns: nanoseconds(qos.deadline),
        }
    }

    pub(crate) fn of_subscriber(qos: &SubscriberQos) -> Self {
        Self {
            reliable: qos.reliability == Reliability::Reliable,
            transient_local: qos.durability == Durability::TransientLocal,
            deadline_ns: nanoseconds(qos.deadline),
        }
    }

    /// Checks whether the offer `self` satisfies `requested`.
    pub(crate) fn satisfies(self, requested: Self) -> Result<(), QosMismatch> {
        if requested.reliable && !self.reliable {
            return Err(QosMismatch::Reliability);
        }
        if requested.transient_local && !self.transient_local {
            return Err(QosMismatch::Durability);
        }
        if requested.deadline_ns != 0 && (self.deadline_ns == 0 || self.deadline_ns > requested.deadline_ns) {
            return Err(QosMismatch::Deadline {
                requested: Duration::from_nanos(requested.deadline_ns),
                offered: match self.deadline_ns {
                    0 => "no deadline".to_owned(),
                    promised => format!("one every {:?}", Duration::from_nanos(promised)),
                },
            });
        }
        Ok(())
    }
}

pub(crate) fn nanoseconds(time: Option<Duration>) -> u64 {
    time.map_or(0, |time| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX).max(1))
}

/// Returns the number of whole deadlines between two times.
pub(crate) fn periods(from_ns: u64, to_ns: u64, deadline: Option<Duration>) -> u64 {
    match nanoseconds(deadline) {
        0 => 0,
        period => to_ns.saturating_sub(from_ns) / period,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn offers_and_requests_meet_as_documented() {
        let terms = |reliable, transient_local, deadline_ns| Terms { reliable, transient_local, deadline_ns };
        assert_eq!(terms(true, true, 5).satisfies(terms(false, false, 0)), Ok(()));
        assert_eq!(terms(true, true, 5).satisfies(terms(true, true, 5)), Ok(()));
        assert_eq!(terms(false, true, 5).satisfies(terms(true, false, 0)), Err(QosMismatch::Reliability));
        assert_eq!(terms(true, false, 0).satisfies(terms(true, true, 0)), Err(QosMismatch::Durability));
        for offered in [0, 6] {
            assert!(matches!(
                terms(true, true, offered).satisfies(terms(true, true, 5)),
                Err(QosMismatch::Deadline { .. })
            ));
        }
    }
}
