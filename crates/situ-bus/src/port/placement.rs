//! In which memory domain a publisher's bodies lie, or a subscriber takes.

use situ_memory::{DomainId, HOST, PageOptions, Strategy};

/// In which memory domain a publisher's bodies lie or a subscriber takes, and how much memory that may use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Placement {
    /// The memory domain. The default is the host's shared memory.
    pub domain: DomainId,
    /// The limit for the bodies of a publisher, or for the copies that a subscriber makes, in bytes. The
    /// default is all available memory where memory is used piece by piece (the host), and 256 MiB where it
    /// is allocated at once.
    pub capacity: Option<u64>,
    /// Whether a publisher copies its messages into every domain with a subscriber, right after publishing.
    /// Otherwise the first subscriber that takes a message in a domain copies it. Copies into a device are
    /// enqueued, and made while the publisher goes on. A publisher that is faster than the device leaves some
    /// copies to the subscribers. A publisher that is dropped waits for its copies, for one second at most.
    pub eager_copies: bool,
    /// Whether the messages in a domain other than the host's may be serialized. By default that is an error,
    /// because the payload on a device is then no value that kernels can use. A participant that sets it
    /// reads or writes the bytes of the encoding there by itself.
    pub serialized: bool,
    /// How a publisher's pool of messages, or of bodies if they lie on a device, is allocated. A ring has 256
    /// MiB unless `capacity` is set, and one message that is held for a long time exhausts it. Fixed slots
    /// have the capacity that they need. Regions in host memory need slots that grow: they are built in size
    /// classes or, up to their size, in fixed slots, whatever else is set here.
    pub strategy: Strategy,
    /// Which pages that pool should have. [`RawPublisher::pages`](crate::RawPublisher::pages) tells what the
    /// kernel answered.
    pub pages: PageOptions,
}

impl Default for Placement {
    fn default() -> Self {
        Self {
            domain: HOST,
            capacity: None,
            eager_copies: false,
            serialized: false,
            strategy: Strategy::SizeClasses,
            pages: PageOptions::default(),
        }
    }
}
