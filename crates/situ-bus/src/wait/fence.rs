//! What a participant that waits for a fence does about its owner's death.

use situ_memory::Fence;

use crate::node::liveness::NodeId;
use crate::topic::Topic;

/// For who waits for a fence that is pending: should who completes it be dead, has the topic repaired; should its process have ended, poisons it.
pub(crate) fn repair_if_dead(topic: &Topic, owner: NodeId, fence: &Fence) {
    if topic.repair_if_dead(owner) {
        fence.poison();
    }
}
