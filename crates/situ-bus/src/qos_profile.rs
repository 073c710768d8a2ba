//! The profiles of ROS: named choices of quality of service, and the one that adapts to the other side.

use std::time::Duration;

use crate::qos::{Durability, History, Liveliness, PublisherQos, Reliability, SubscriberQos, Terms};

/// A profile of ROS, with the values that `rmw` defines. A profile's depth is the depth of a publisher, and
/// how many messages a subscriber keeps.
///
/// ```
/// use situ_bus::{History, PublisherQos, QosProfile, Reliability, SubscriberQos};
/// let qos = SubscriberQos::from(QosProfile::SensorData);
/// assert_eq!((qos.reliability, qos.history), (Reliability::BestEffort, History::KeepLast(5)));
/// let qos = PublisherQos { depth: 20, ..QosProfile::Default.into() };
/// assert_eq!(qos.reliability, Reliability::Reliable);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum QosProfile {
    /// The last 10, reliable, volatile.
    Default,
    /// The last 5, best effort, volatile.
    SensorData,
    /// The last 10, reliable, volatile.
    Services,
    /// The last 1000, reliable, volatile.
    Parameters,
    /// The last 1000, reliable, volatile.
    ParameterEvents,
    /// What Situ has without a choice: [`PublisherQos::default`] and [`SubscriberQos::default`].
    SystemDefault,
    /// The last 10, and otherwise the most that matches the endpoints that are present when it is created. It
    /// does not change later.
    ///
    /// A *subscriber* is reliable, transient local or manual by topic if all publishers are; it requests the
    /// longest of their deadlines and leases. Without a publisher, all of them are: the request is reliable,
    /// transient local, manual by topic, without deadline and lease.
    ///
    /// A *publisher* is reliable and transient local; it is manual by topic if a subscriber is; it offers the
    /// shortest deadline and lease that a subscriber requests.
    BestAvailable,
}

impl QosProfile {
    /// Its depth.
    fn depth(self) -> usize {
        match self {
            Self::Default | Self::Services | Self::BestAvailable => 10,
            Self::SensorData => 5,
            Self::Parameters | Self::ParameterEvents => 1000,
            Self::SystemDefault => PublisherQos::default().depth,
        }
    }

    fn reliability(self) -> Reliability {
        match self {
            Self::SensorData | Self::SystemDefault => Reliability::BestEffort,
            _ => Reliability::Reliable,
        }
    }
}

impl From<QosProfile> for PublisherQos {
    fn from(profile: QosProfile) -> Self {
        Self {
            reliability: profile.reliability(),
            depth: profile.depth(),
            best_available: profile == QosProfile::BestAvailable,
            ..Self::default()
        }
    }
}

impl From<QosProfile> for SubscriberQos {
    fn from(profile: QosProfile) -> Self {
        if profile == QosProfile::SystemDefault {
            return Self::default();
        }
        Self {
            reliability: profile.reliability(),
            history: History::KeepLast(profile.depth()),
            best_available: profile == QosProfile::BestAvailable,
            ..Self::default()
        }
    }
}

fn reliability(terms: Terms) -> Reliability {
    if terms.reliable { Reliability::Reliable } else { Reliability::BestEffort }
}

fn durability(terms: Terms) -> Durability {
    if terms.transient_local { Durability::TransientLocal } else { Durability::Volatile }
}

fn liveliness(terms: Terms) -> Liveliness {
    if terms.manual { Liveliness::ManualByTopic } else { Liveliness::Automatic }
}

fn time(ns: u64) -> Option<Duration> {
    (ns != 0).then(|| Duration::from_nanos(ns))
}

impl PublisherQos {
    /// Adapts to the requests of these subscribers, if it shall.
    pub(crate) fn adapted_to(self, requested: impl Iterator<Item = Terms>) -> Self {
        if !self.best_available {
            return self;
        }
        let shortest = |a: u64, b: u64| if a == 0 || b == 0 { a.max(b) } else { a.min(b) };
        let most =
            Terms { reliable: true, transient_local: true, deadline_ns: 0, manual: false, lease_ns: 0 };
        let terms = requested.fold(most, |most, one| Terms {
            deadline_ns: shortest(most.deadline_ns, one.deadline_ns),
            manual: most.manual || one.manual,
            lease_ns: shortest(most.lease_ns, one.lease_ns),
            ..most
        });
        Self {
            reliability: reliability(terms),
            durability: durability(terms),
            deadline: time(terms.deadline_ns),
            liveliness: liveliness(terms),
            lease: time(terms.lease_ns),
            ..self
        }
    }
}

impl SubscriberQos {
    /// Adapts to the offers of these publishers, if it shall.
    pub(crate) fn adapted_to(self, offered: impl Iterator<Item = Terms>) -> Self {
        if !self.best_available {
            return self;
        }
        let longest = |a: u64, b: u64| if a == 0 || b == 0 { 0 } else { a.max(b) };
        let least = |a: Terms, b: Terms| Terms {
            reliable: a.reliable && b.reliable,
            transient_local: a.transient_local && b.transient_local,
            deadline_ns: longest(a.deadline_ns, b.deadline_ns),
            manual: a.manual && b.manual,
            lease_ns: longest(a.lease_ns, b.lease_ns),
        };
        let none = Terms { reliable: true, transient_local: true, deadline_ns: 0, manual: true, lease_ns: 0 };
        let terms = offered.reduce(least).unwrap_or(none);
        Self {
            reliability: reliability(terms),
            durability: durability(terms),
            deadline: time(terms.deadline_ns),
            liveliness: liveliness(terms),
            lease: time(terms.lease_ns),
            ..self
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn terms(reliable: bool, transient_local: bool, manual: bool, deadline_ns: u64, lease_ns: u64) -> Terms {
        Terms { reliable, transient_local, deadline_ns, manual, lease_ns }
    }

    #[test]
    fn profiles_have_the_values_of_rmw() {
        for (profile, depth, reliability) in [
            (QosProfile::Default, 10, Reliability::Reliable),
            (QosProfile::SensorData, 5, Reliability::BestEffort),
            (QosProfile::Services, 10, Reliability::Reliable),
            (QosProfile::Parameters, 1000, Reliability::Reliable),
            (QosProfile::ParameterEvents, 1000, Reliability::Reliable),
        ] {
            let (offered, requested) = (PublisherQos::from(profile), SubscriberQos::from(profile));
            assert_eq!((offered.depth, offered.reliability), (depth, reliability), "{profile:?}");
            assert_eq!(
                (requested.history, requested.reliability),
                (History::KeepLast(depth), reliability),
                "{profile:?}"
            );
            assert!(offered.mismatch(&requested).is_empty() && !offered.best_available);
            assert_eq!((offered.durability, requested.durability), Default::default());
            assert_eq!((offered.deadline, offered.lifespan, offered.lease), (None, None, None));
        }
        assert_eq!(PublisherQos::from(QosProfile::SystemDefault), PublisherQos::default());
        assert_eq!(SubscriberQos::from(QosProfile::SystemDefault), SubscriberQos::default());
    }

    #[test]
    fn the_best_available_request_matches_all_publishers() {
        let best = SubscriberQos::from(QosProfile::BestAvailable);
        let adapted =
            |offered: &[Terms]| Terms::of_subscriber(&best.clone().adapted_to(offered.iter().copied()));
        assert_eq!(adapted(&[]), terms(true, true, true, 0, 0));
        assert_eq!(adapted(&[terms(true, true, true, 5, 7)]), terms(true, true, true, 5, 7));
        let both = [terms(true, false, true, 5, 0), terms(false, true, true, 9, 3)];
        assert_eq!(adapted(&both), terms(false, false, true, 9, 0));
        assert!(both.iter().all(|offered| offered.satisfies(adapted(&both))));
        let plain = SubscriberQos::default();
        assert_eq!(plain.clone().adapted_to(both.into_iter()), plain);
    }

    #[test]
    fn the_best_available_offer_satisfies_all_subscribers() {
        let best = PublisherQos::from(QosProfile::BestAvailable);
        let adapted =
            |requested: &[Terms]| Terms::of_publisher(&best.clone().adapted_to(requested.iter().copied()));
        assert_eq!(adapted(&[]), terms(true, true, false, 0, 0));
        let both = [terms(true, false, false, 5, 0), terms(false, true, true, 9, 3)];
        assert_eq!(adapted(&both), terms(true, true, true, 5, 3));
        assert!(both.iter().all(|requested| adapted(&both).satisfies(*requested)));
    }
}
