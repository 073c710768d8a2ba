//! The ids of publishers and subscribers, and the size of their messages' user headers.

use situ_memory::sync::atomic::Ordering;

use crate::node::endpoint::EndpointId;
use crate::port::publisher::RawPublisher;
use crate::port::subscriber::RawSubscriber;

impl RawPublisher {
    /// Its id.
    pub fn id(&self) -> EndpointId {
        let number = self.topic.publisher(self.entry).tenure.pool();
        EndpointId { node: self.node.life.id(), number }
    }

    /// The size of its messages' user headers in bytes; 0: they have none.
    pub fn user_header_size(&self) -> usize {
        self.topic.user_header_size()
    }
}

impl RawSubscriber {
    /// Its id.
    pub fn id(&self) -> EndpointId {
        let number = self.core().own.number.load(Ordering::Relaxed);
        EndpointId { node: self.core().node.life.id(), number }
    }

    /// The number of the next message to be published on its topic, as of now.
    pub fn published(&self) -> u64 {
        self.core().topic.end()
    }

    /// The size of its messages' user headers in bytes; 0: they have none.
    pub fn user_header_size(&self) -> usize {
        self.core().topic.user_header_size()
    }
}
