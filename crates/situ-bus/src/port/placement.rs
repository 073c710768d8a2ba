//! Where a publisher's bodies lie, and where a subscriber takes.

use situ_memory::{DomainId, HOST, Strategy};

/// Where a publisher's bodies lie, or where a subscriber takes, and what memory that may cost.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Placement {
    /// The memory domain. The host's shared memory unless told otherwise.
    pub domain: DomainId,
    /// The limit for the bodies of a publisher, or for the copies that a subscriber makes, in bytes. The
    /// default is all there is where memory is used piece by piece (the host), and 256 MiB where it is
    /// allocated at once.
    pub capacity: Option<u64>,
    /// Whether a publisher copies its messages into every domain with a subscriber, right after publishing,
    /// instead of leaving that to the first who takes there. Copies into a device are enqueued, and made
    /// while the publisher goes on; a publisher that is faster than the device leaves some to those who take.
    /// One that is dropped waits for them, for a second at most.
    pub eager_copies: bool,
    /// How a publisher's pool of messages, or of bodies if they lie on a device, is allocated. A ring is of
    /// 256 MiB unless `capacity` tells otherwise, and one message that is held for long exhausts it.
    pub strategy: Strategy,
}

impl Default for Placement {
    fn default() -> Self {
        Self { domain: HOST, capacity: None, eager_copies: false, strategy: Strategy::SizeClasses }
    }
}
