//! The payload of a message that was taken elsewhere than behind its head.

use std::sync::Arc;

use situ_memory::Fence;

use crate::node::liveness::NodeId;
use crate::port::pool_cache::{Mapped, Pin};

/// The payload of a message that was taken elsewhere than behind its head.
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
    /// The hold on a copy; the hold on the head is enough for what its publisher put there.
    pub(crate) _copy: Option<Pin>,
    /// The hold on the head, if a stream shares it that copies what the head belongs to.
    pub(crate) _head: Option<Arc<Pin>>,
}

impl Payload {
    /// Whether it lies in memory that only those may write who are trusted.
    pub(crate) fn is_in_place(&self) -> bool {
        self.mapped.in_place
    }
}
