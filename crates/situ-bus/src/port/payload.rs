//! The payload of a taken message, if it does not lie behind the message's head.

use std::sync::Arc;

use situ_memory::Fence;

use crate::node::liveness::NodeId;
use crate::port::pool_cache::{Mapped, Pin};

/// The payload of a taken message, if it does not lie behind the message's head.
#[derive(Debug)]
pub(crate) struct Payload {
    pub(crate) mapped: Arc<Mapped>,
    pub(crate) offset: u64,
    pub(crate) len: u64,
    /// The size of the message's body: 0 if the payload is the head, or the whole message.
    pub(crate) body_size: usize,
    pub(crate) fence: Option<Fence>,
    /// The node that completes the fence.
    pub(crate) owner: NodeId,
    /// The pin of a copy. A payload that the publisher wrote needs only the pin of the head.
    pub(crate) _copy: Option<Pin>,
    /// The pin of the head, if it is shared by a stream that copies the payload.
    pub(crate) _head: Option<Arc<Pin>>,
}

impl Payload {
    /// Whether it lies in memory that only trusted users may write.
    pub(crate) fn is_in_place(&self) -> bool {
        self.mapped.in_place
    }
}
