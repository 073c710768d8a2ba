//! What an endpoint tells other participants about itself.

use std::time::Duration;

use situ_memory::DomainId;

use crate::node::endpoint::EndpointId;
use crate::qos::{Durability, History, Liveliness, PublisherQos, Reliability, SubscriberQos};
use crate::topic::Encoding;

/// The kind of an endpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u32)]
pub enum EndpointRole {
    /// A publisher of a topic.
    Publisher = 1,
    /// A subscriber of a topic.
    Subscriber = 2,
    /// A client of a service.
    Client = 3,
    /// A server of a service.
    Server = 4,
}

impl EndpointRole {
    /// All roles.
    pub const ALL: [Self; 4] = [Self::Publisher, Self::Subscriber, Self::Client, Self::Server];

    /// Whether it belongs to a service and not to a topic.
    pub fn is_of_service(self) -> bool {
        matches!(self, Self::Client | Self::Server)
    }
}

/// The quality of service that an endpoint offers or requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EndpointQos {
    /// Whether messages may be lost.
    pub reliability: Reliability,
    /// Which messages late subscribers receive.
    pub durability: Durability,
    /// How many messages a subscriber keeps, or stay available from a publisher.
    pub history: History,
    /// The longest time between two messages that is promised or expected.
    pub deadline: Option<Duration>,
    /// The age from which messages are no longer delivered.
    pub lifespan: Option<Duration>,
    /// How a publisher shows that it is alive.
    pub liveliness: Liveliness,
    /// The longest time between two signs of life.
    pub lease: Option<Duration>,
}

impl From<&PublisherQos> for EndpointQos {
    fn from(qos: &PublisherQos) -> Self {
        Self {
            reliability: qos.reliability,
            durability: qos.durability,
            history: History::KeepLast(qos.depth.max(1)),
            deadline: qos.deadline,
            lifespan: qos.lifespan,
            liveliness: qos.liveliness,
            lease: qos.lease,
        }
    }
}

impl From<&SubscriberQos> for EndpointQos {
    fn from(qos: &SubscriberQos) -> Self {
        Self {
            reliability: qos.reliability,
            durability: qos.durability,
            history: match qos.history {
                History::KeepLast(number) => History::KeepLast(number.max(1)),
                History::KeepAll => History::KeepAll,
            },
            deadline: qos.deadline,
            lifespan: None,
            liveliness: qos.liveliness,
            lease: qos.lease,
        }
    }
}

/// A publisher, a subscriber, a client or a server, as its node describes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EndpointInfo {
    /// Its id, with that of its node.
    pub id: EndpointId,
    /// What it is.
    pub role: EndpointRole,
    /// The name of its topic or service.
    pub name: String,
    /// The name of its type: for a service `<request> -> <reply>`. A name of more than 544 bytes is cut.
    pub type_name: String,
    /// The hash of its type's schema.
    pub schema_hash: u64,
    /// The hash of the layout of its messages; 0 if there is none.
    pub layout_hash: u64,
    /// The encoding of its messages. For a service, that of requests.
    pub encoding: Encoding,
    /// The memory domain of its messages. For a service, that of requests.
    pub domain: DomainId,
    /// The quality of service.
    pub qos: EndpointQos,
    /// Up to 256 bytes that Situ does not interpret.
    pub user_data: Vec<u8>,
}
