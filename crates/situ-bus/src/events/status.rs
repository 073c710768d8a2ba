//! What events tell: the status structures of DDS, and the counts behind them.

use crate::qos::{QosPolicies, QosPolicy};

/// How many endpoints on the other side match: publishers for a subscriber, subscribers for a publisher.
///
/// An endpoint that comes and goes between two looks is not counted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct MatchedStatus {
    /// How many have ever matched.
    pub total_count: u64,
    /// How many of them since the last call.
    pub total_count_change: u64,
    /// How many match now.
    pub current_count: u64,
    /// How many more or fewer than at the last call.
    pub current_count_change: i64,
}

/// How many endpoints on the other side do not match, because of their quality of service.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct IncompatibleQosStatus {
    /// How many were found so far.
    pub total_count: u64,
    /// How many of them since the last call.
    pub total_count_change: u64,
    /// The first policy in which the last one differs.
    pub last_policy: Option<QosPolicy>,
    /// All policies in which any of them differs.
    pub policies: QosPolicies,
}

/// How many deadlines passed without a message: those that a publisher offers, or a subscriber requests.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct DeadlineMissedStatus {
    /// How many so far.
    pub total_count: u64,
    /// How many of them since the last call.
    pub total_count_change: u64,
}

/// How often a publisher with manual liveliness did not show in time that it is alive.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct LivelinessLostStatus {
    /// How often so far.
    pub total_count: u64,
    /// How often since the last call.
    pub total_count_change: u64,
}

/// How many of the publishers that match a subscriber are alive. One that leaves, or whose process ends, is
/// in neither number.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct LivelinessChangedStatus {
    /// How many are alive.
    pub alive_count: u64,
    /// How many have not shown in time that they are alive.
    pub not_alive_count: u64,
    /// How many more or fewer are alive than at the last call.
    pub alive_count_change: i64,
    /// How many more or fewer are not alive than at the last call.
    pub not_alive_count_change: i64,
}

/// How many messages a subscriber has lost.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct MessagesLostStatus {
    /// How many so far.
    pub total_count: u64,
    /// How many of them since the last call.
    pub total_count_change: u64,
}

/// The kinds of events, as bits.
pub(crate) mod kind {
    pub const MATCHED: u32 = 1;
    pub const INCOMPATIBLE: u32 = 2;
    pub const DEADLINE: u32 = 4;
    /// Lost for a publisher, changed for a subscriber.
    pub const LIVELINESS: u32 = 8;
    pub const LOST: u32 = 16;
}

/// A number, and its value at the last call of the program.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Count {
    pub(crate) now: u64,
    told: u64,
}

impl Count {
    fn has_changed(self) -> bool {
        self.now != self.told
    }

    /// The number, and how many more it is than at the last call.
    fn take(&mut self) -> (u64, i64) {
        let told = std::mem::replace(&mut self.told, self.now);
        (self.now, self.now.wrapping_sub(told) as i64)
    }

    /// The same of a number that does not decrease.
    fn take_total(&mut self) -> (u64, u64) {
        let (now, change) = self.take();
        (now, change as u64)
    }
}

/// All counts of one endpoint.
#[derive(Debug, Default)]
pub struct Counts {
    pub(crate) matched: Count,
    pub(crate) matches: Count,
    pub(crate) incompatible: Count,
    pub(crate) last_policy: Option<QosPolicy>,
    pub(crate) policies: QosPolicies,
    pub(crate) deadlines: Count,
    pub(crate) leases_lost: Count,
    pub(crate) alive: Count,
    pub(crate) not_alive: Count,
    pub(crate) messages_lost: Count,
}

impl Counts {
    /// The kinds of events that have something to tell.
    pub(crate) fn news(&self) -> u32 {
        let news = [
            (kind::MATCHED, self.matched.has_changed() || self.matches.has_changed()),
            (kind::INCOMPATIBLE, self.incompatible.has_changed()),
            (kind::DEADLINE, self.deadlines.has_changed()),
            (
                kind::LIVELINESS,
                self.leases_lost.has_changed() || self.alive.has_changed() || self.not_alive.has_changed(),
            ),
            (kind::LOST, self.messages_lost.has_changed()),
        ];
        news.into_iter().filter(|(_, is_new)| *is_new).fold(0, |bits, (kind, _)| bits | kind)
    }
}

mod sealed {
    use super::Counts;

    pub trait Sealed: Sized {
        const KIND: u32;
        fn take(counts: &mut Counts) -> Self;
    }
}

pub(crate) use sealed::Sealed;

/// What an [`Event`](crate::Event) tells. Only the status structures of this crate implement it.
pub trait EventStatus: Sealed + Copy + Send + Sync + 'static {}

macro_rules! status {
    ($($name:ident, $kind:expr, $counts:ident => $make:expr;)*) => {
        $(
            impl EventStatus for $name {}

            impl Sealed for $name {
                const KIND: u32 = $kind;

                fn take($counts: &mut Counts) -> Self {
                    $make
                }
            }
        )*
    };
}

status! {
    MatchedStatus, kind::MATCHED, counts => {
        let (total_count, total_count_change) = counts.matched.take_total();
        let (current_count, current_count_change) = counts.matches.take();
        Self { total_count, total_count_change, current_count, current_count_change }
    };
    IncompatibleQosStatus, kind::INCOMPATIBLE, counts => {
        let (total_count, total_count_change) = counts.incompatible.take_total();
        let (last_policy, policies) = (counts.last_policy, counts.policies);
        Self { total_count, total_count_change, last_policy, policies }
    };
    DeadlineMissedStatus, kind::DEADLINE, counts => {
        let (total_count, total_count_change) = counts.deadlines.take_total();
        Self { total_count, total_count_change }
    };
    LivelinessLostStatus, kind::LIVELINESS, counts => {
        let (total_count, total_count_change) = counts.leases_lost.take_total();
        Self { total_count, total_count_change }
    };
    LivelinessChangedStatus, kind::LIVELINESS, counts => {
        let (alive_count, alive_count_change) = counts.alive.take();
        let (not_alive_count, not_alive_count_change) = counts.not_alive.take();
        Self { alive_count, not_alive_count, alive_count_change, not_alive_count_change }
    };
    MessagesLostStatus, kind::LOST, counts => {
        let (total_count, total_count_change) = counts.messages_lost.take_total();
        Self { total_count, total_count_change }
    };
}
