//! Quality of service, in the field's words.

use std::time::Duration;

use crate::trust::{Limits, Trust};

/// Whether messages may be lost between a publisher and a subscriber.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Reliability {
    /// A publisher never waits; a subscriber that is too slow loses messages and learns how many.
    #[default]
    BestEffort,
    /// A publisher waits for subscribers that are reliable and keep all.
    Reliable,
}

/// How many messages a subscriber can find when it looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum History {
    /// At most this many of the newest; older ones that it has not taken are skipped.
    KeepLast(usize),
    /// All of them. With [`Reliability::Reliable`] the publisher waits rather than overwrite one.
    KeepAll,
}

/// What a subscriber that comes late finds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Durability {
    /// Only what is published from then on.
    #[default]
    Volatile,
    /// Also the last messages that publishers keep (as many as their depth).
    TransientLocal,
}

/// What a reliable publisher does when a subscriber has no room.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WhenFull {
    /// Wait, at most this long; without a limit for as long as the subscriber lives. A second, unless told
    /// otherwise.
    Block(Option<Duration>),
    /// Give the message back at once.
    Fail,
}

/// How many samples a subscriber may hold, unless told otherwise: a pool has at least 1,024 slots more than
/// its publisher needs.
const MAX_HELD: usize = 256;
/// How long a reliable publisher waits for a subscriber, unless told otherwise.
pub(crate) const BLOCK: Duration = Duration::from_secs(1);

/// What a publisher offers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PublisherQos {
    /// Whether it waits for reliable subscribers.
    pub reliability: Reliability,
    /// What it keeps for subscribers that come late.
    pub durability: Durability,
    /// How many of its last messages stay available. Also how far a reliable publisher runs ahead.
    pub depth: usize,
    /// What to do when a reliable subscriber has no room.
    pub when_full: WhenFull,
    /// It promises to publish at least this often.
    pub deadline: Option<Duration>,
    /// Messages older than this are not delivered any more.
    pub lifespan: Option<Duration>,
    /// The limit of free memory, in bytes. If more is free when a slot comes back, all but half the limit
    /// goes back to the system at once. Without a limit, memory goes back when it was not needed for some
    /// seconds, or when [`trim`](crate::RawPublisher::trim) is called. With a limit below what a few messages
    /// need, each of them costs system calls.
    pub trim_above: Option<u64>,
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
        }
    }
}

/// What a subscriber asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SubscriberQos {
    /// Whether every message must reach it.
    pub reliability: Reliability,
    /// Whether it wants what was published before it came.
    pub durability: Durability,
    /// How many messages it can find when it looks.
    pub history: History,
    /// It expects a message at least this often.
    pub deadline: Option<Duration>,
    /// The publishers whose messages it reads where they lie.
    pub trust: Trust,
    /// How much it takes from others.
    pub limits: Limits,
    /// How many samples it may hold at a time, of publishers that are there: what is held, its publisher
    /// cannot use again. A take beyond that is an error, and the message waits. At least 1; 256 unless told
    /// otherwise.
    pub max_held: usize,
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
        }
    }
}

/// The first thing in which an offer and a request do not meet.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum QosMismatch {
    /// A reliable subscriber and a publisher that does not wait.
    #[error("the subscriber asks for reliable delivery, the publisher offers best effort")]
    Reliability,
    /// A subscriber that wants history and a publisher that keeps none.
    #[error("the subscriber asks for transient-local durability, the publisher offers volatile")]
    Durability,
    /// A publisher that promises less often than the subscriber expects.
    #[error("the subscriber expects a message every {requested:?}, the publisher promises {offered}")]
    Deadline {
        /// What the subscriber expects.
        requested: Duration,
        /// What the publisher promises, in words.
        offered: String,
    },
}

/// The part of the quality of service that both sides must agree on, as it lies in shared memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Terms {
    pub reliable: bool,
    pub transient_local: bool,
    /// 0: none.
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

    /// Whether what `self` offers is what `requested` asks for.
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

/// How many whole deadlines lie between two moments.
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
