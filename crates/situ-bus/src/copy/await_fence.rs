//! Waiting for a fence whose owner may die.

use std::time::{Duration, Instant};

use situ_memory::{Fence, FenceState};

use crate::copy::copy_error::CopyError;
use crate::node::liveness::NodeId;
use crate::timeouts::POLL_INTERVAL;
use crate::topic::Topic;
use crate::wait::fence::repair_if_dead;

/// Waits until a fence is complete, at most for `timeout`. Checks at intervals whether the fence's owner is
/// alive.
pub(crate) fn await_fence(
    topic: &Topic,
    owner: NodeId,
    fence: &Fence,
    timeout: Duration,
) -> Result<(), CopyError> {
    let start = Instant::now();
    loop {
        let left = timeout.saturating_sub(start.elapsed());
        match fence.wait(POLL_INTERVAL.min(left)) {
            FenceState::Complete => return Ok(()),
            FenceState::Poisoned => return Err(CopyError::Poisoned),
            FenceState::Pending if left.is_zero() => {
                return Err(CopyError::Incomplete { waited: start.elapsed() });
            }
            FenceState::Pending => repair_if_dead(topic, owner, fence),
        }
    }
}
