//! How a participant that waits for a fence handles the death of its owner.

use situ_memory::Fence;

use crate::node::liveness::NodeId;
use crate::topic::Topic;

/// Repairs the topic if the fence's owner is dead, and poisons the fence once the owner's process has ended.
pub(crate) fn repair_if_dead(topic: &Topic, owner: NodeId, fence: &Fence) {
    if topic.repair_if_dead(owner) {
        fence.poison();
    }
}
