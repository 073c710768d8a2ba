//! The quality of service of a service's topics: no message is lost, unless its receiver keeps only the last
//! ones, and no participant waits for another one without a limit.

use super::options::ServiceOptions;
use crate::qos::{Durability, History, PublisherQos, Reliability, SubscriberQos, WhenFull};

/// Of requests and of replies. Each call of `publish` has its own limit for waiting.
pub(super) fn sending(options: &ServiceOptions) -> PublisherQos {
    PublisherQos {
        reliability: Reliability::Reliable,
        durability: Durability::Volatile,
        depth: options.depth,
        when_full: WhenFull::Fail,
        ..PublisherQos::default()
    }
}

/// Of requests and of replies.
pub(super) fn taking(options: &ServiceOptions) -> SubscriberQos {
    SubscriberQos {
        reliability: Reliability::Reliable,
        durability: Durability::Volatile,
        history: match options.keep_last {
            0 => History::KeepAll,
            number => History::KeepLast(number),
        },
        trust: options.trust,
        limits: options.limits,
        max_held: options.max_held,
        ..SubscriberQos::default()
    }
}
