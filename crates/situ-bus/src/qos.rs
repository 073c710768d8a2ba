//! Quality of service, in the terms of DDS and ROS.

use std::fmt;
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

impl History {
    /// How many messages it keeps; 0: all.
    pub(crate) fn kept(self) -> u64 {
        match self {
            Self::KeepLast(number) => number.max(1) as u64,
            Self::KeepAll => 0,
        }
    }
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
    /// How it shows that it is alive.
    pub liveliness: Liveliness,
    /// With [`Liveliness::ManualByTopic`], the longest time between two signs of life. Without one, it is
    /// alive as long as its process is.
    pub lease: Option<Duration>,
    /// Offers what present subscribers request: reliability, durability, deadline, liveliness and lease are
    /// chosen when it is created, and replace those above. See
    /// [`QosProfile::BestAvailable`](crate::QosProfile::BestAvailable).
    pub best_available: bool,
    /// The limit of free memory, in bytes. If more is free when a slot is freed, all free memory except half
    /// the limit is returned to the system at once. Without a limit, memory is returned when it was not
    /// needed for some seconds, or when [`trim`](crate::RawPublisher::trim) is called. If the limit is below
    /// the size of a few messages, each of them costs system calls.
    pub trim_above: Option<u64>,
    /// Up to [`MAX_USER_DATA`](crate::MAX_USER_DATA) bytes that other participants find in the graph, and
    /// that Situ does not interpret.
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
            liveliness: Liveliness::Automatic,
            lease: None,
            best_available: false,
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
    /// How publishers have to show that they are alive.
    pub liveliness: Liveliness,
    /// The longest time between two signs of life of a publisher that it accepts. `None`: any.
    pub lease: Option<Duration>,
    /// Requests what present publishers offer: reliability, durability, deadline, liveliness and lease are
    /// chosen when it is created, and replace those above. See
    /// [`QosProfile::BestAvailable`](crate::QosProfile::BestAvailable).
    pub best_available: bool,
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
    /// Up to [`MAX_USER_DATA`](crate::MAX_USER_DATA) bytes that other participants find in the graph, and
    /// that Situ does not interpret.
    pub user_data: Vec<u8>,
}

impl Default for SubscriberQos {
    fn default() -> Self {
        Self {
            reliability: Reliability::BestEffort,
            durability: Durability::Volatile,
            history: History::KeepAll,
            deadline: None,
            liveliness: Liveliness::Automatic,
            lease: None,
            best_available: false,
            trust: Trust::default(),
            limits: Limits::default(),
            max_held: MAX_HELD,
            reception_times: false,
            user_data: Vec::new(),
        }
    }
}

/// How a publisher shows that it is alive.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Liveliness {
    /// It is alive as long as its process is.
    #[default]
    Automatic,
    /// It also has to publish or to call [`assert_liveliness`](crate::RawPublisher::assert_liveliness) within
    /// each lease.
    ManualByTopic,
}

/// A policy in which an offer may not satisfy a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u32)]
pub enum QosPolicy {
    /// The subscriber is reliable, the publisher is not.
    Reliability = 1,
    /// The subscriber requests earlier messages, the publisher keeps none.
    Durability = 2,
    /// The publisher promises messages less often than the subscriber expects them.
    Deadline = 4,
    /// The publisher shows less often, or in a weaker way, that it is alive than the subscriber expects.
    Liveliness = 8,
}

impl QosPolicy {
    /// All policies that are compared, in the order in which they are named.
    pub const ALL: [Self; 4] = [Self::Reliability, Self::Durability, Self::Deadline, Self::Liveliness];

    /// Its name: `reliability`, `durability`, `deadline` or `liveliness`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Reliability => "reliability",
            Self::Durability => "durability",
            Self::Deadline => "deadline",
            Self::Liveliness => "liveliness",
        }
    }
}

/// A set of policies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash)]
pub struct QosPolicies(u32);

impl QosPolicies {
    /// Whether it has none: an offer satisfies a request.
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Whether it has this one.
    pub fn contains(self, policy: QosPolicy) -> bool {
        self.0 & policy as u32 != 0
    }

    /// Its policies, in the order of [`QosPolicy::ALL`].
    pub fn iter(self) -> impl Iterator<Item = QosPolicy> {
        QosPolicy::ALL.into_iter().filter(move |policy| self.contains(*policy))
    }

    /// The sum of the numbers of its policies, for other languages.
    pub fn to_bits(self) -> u32 {
        self.0
    }

    pub(crate) fn add(&mut self, others: Self) {
        self.0 |= others.0;
    }
}

impl FromIterator<QosPolicy> for QosPolicies {
    fn from_iter<I: IntoIterator<Item = QosPolicy>>(policies: I) -> Self {
        Self(policies.into_iter().fold(0, |bits, policy| bits | policy as u32))
    }
}

impl fmt::Display for QosPolicies {
    /// The names, separated by commas.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<_> = self.iter().map(QosPolicy::name).collect();
        f.write_str(&names.join(", "))
    }
}

impl PublisherQos {
    /// The policies in which this offer does not satisfy a request. If there are any, the two do not match:
    /// they exchange no messages.
    pub fn mismatch(&self, requested: &SubscriberQos) -> QosPolicies {
        Terms::of_publisher(self).mismatch(Terms::of_subscriber(requested))
    }
}

/// The part of the quality of service that decides whether two endpoints match, as it is stored in shared
/// memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Terms {
    pub reliable: bool,
    pub transient_local: bool,
    /// 0 means no deadline.
    pub deadline_ns: u64,
    pub manual: bool,
    /// 0 means no end.
    pub lease_ns: u64,
}

impl Terms {
    pub(crate) fn of_publisher(qos: &PublisherQos) -> Self {
        Self {
            reliable: qos.reliability == Reliability::Reliable,
            transient_local: qos.durability == Durability::TransientLocal,
            deadline_ns: nanoseconds(qos.deadline),
            manual: qos.liveliness == Liveliness::ManualByTopic,
            lease_ns: nanoseconds(qos.lease),
        }
    }

    pub(crate) fn of_subscriber(qos: &SubscriberQos) -> Self {
        Self {
            reliable: qos.reliability == Reliability::Reliable,
            transient_local: qos.durability == Durability::TransientLocal,
            deadline_ns: nanoseconds(qos.deadline),
            manual: qos.liveliness == Liveliness::ManualByTopic,
            lease_ns: nanoseconds(qos.lease),
        }
    }

    /// The policies in which the offer `self` does not satisfy `requested`.
    pub(crate) fn mismatch(self, requested: Self) -> QosPolicies {
        let is_longer =
            |offered: u64, requested: u64| requested != 0 && (offered == 0 || offered > requested);
        let weaker = [
            (QosPolicy::Reliability, requested.reliable && !self.reliable),
            (QosPolicy::Durability, requested.transient_local && !self.transient_local),
            (QosPolicy::Deadline, is_longer(self.deadline_ns, requested.deadline_ns)),
            (
                QosPolicy::Liveliness,
                (requested.manual && !self.manual) || is_longer(self.lease_ns, requested.lease_ns),
            ),
        ];
        weaker.into_iter().filter(|(_, is_weaker)| *is_weaker).map(|(policy, _)| policy).collect()
    }

    /// Whether the offer `self` satisfies `requested`.
    #[inline]
    pub(crate) fn satisfies(self, requested: Self) -> bool {
        self.mismatch(requested).is_empty()
    }
}

pub(crate) fn nanoseconds(time: Option<Duration>) -> u64 {
    time.map_or(0, |time| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX).max(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// No deadline, or no lease.
    const NEVER: u64 = 0;

    fn terms(reliable: bool, transient_local: bool, deadline_ns: u64) -> Terms {
        Terms { reliable, transient_local, deadline_ns, manual: false, lease_ns: NEVER }
    }

    /// The rules of DDS, each offer with each request: the value that is offered, the one that is requested,
    /// and whether they are compatible.
    #[test]
    fn offers_satisfy_requests_as_in_dds() {
        let check = |offered: Terms, requested: Terms, expected: &[QosPolicy]| {
            let found: Vec<_> = offered.mismatch(requested).iter().collect();
            assert_eq!(found, expected, "{offered:?} for {requested:?}");
        };
        let base = terms(false, false, NEVER);
        // Reliable is more than best effort, transient local more than volatile, manual by topic more than
        // automatic.
        for (offered, requested, fits) in
            [(false, false, true), (false, true, false), (true, false, true), (true, true, true)]
        {
            let broken = |policy| if fits { vec![] } else { vec![policy] };
            let reliable = |reliable| Terms { reliable, ..base };
            check(reliable(offered), reliable(requested), &broken(QosPolicy::Reliability));
            let transient_local = |transient_local| Terms { transient_local, ..base };
            check(transient_local(offered), transient_local(requested), &broken(QosPolicy::Durability));
            let manual = |manual| Terms { manual, ..base };
            check(manual(offered), manual(requested), &broken(QosPolicy::Liveliness));
        }
        // An offered time is at most the requested one. Without one it is infinite.
        for (offered, requested, fits) in [
            (NEVER, NEVER, true),
            (NEVER, 5, false),
            (5, NEVER, true),
            (4, 5, true),
            (5, 5, true),
            (6, 5, false),
            (u64::MAX, u64::MAX - 1, false),
        ] {
            let broken = |policy| if fits { vec![] } else { vec![policy] };
            let deadline = |deadline_ns| Terms { deadline_ns, ..base };
            check(deadline(offered), deadline(requested), &broken(QosPolicy::Deadline));
            let lease = |lease_ns| Terms { lease_ns, ..base };
            check(lease(offered), lease(requested), &broken(QosPolicy::Liveliness));
        }
        // All at once, and each named once.
        let most = Terms { reliable: true, transient_local: true, deadline_ns: 1, manual: true, lease_ns: 1 };
        check(most, most, &[]);
        check(most, base, &[]);
        check(base, most, &QosPolicy::ALL);
        assert_eq!(base.mismatch(most).to_string(), "reliability, durability, deadline, liveliness");
    }

    #[test]
    fn the_public_structures_are_compared_by_the_same_rules() {
        let offered = PublisherQos { lease: Some(Duration::from_millis(2)), ..Default::default() };
        let requested = SubscriberQos {
            reliability: Reliability::Reliable,
            lease: Some(Duration::from_millis(1)),
            ..Default::default()
        };
        let mismatch = offered.mismatch(&requested);
        assert!(mismatch.contains(QosPolicy::Reliability) && mismatch.contains(QosPolicy::Liveliness));
        assert_eq!(mismatch.to_bits(), 9);
        assert!(offered.mismatch(&SubscriberQos::default()).is_empty());
    }
}
