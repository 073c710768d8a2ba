//! Copies that streams are still making from a publisher's slots.

use std::time::Duration;

use situ_memory::{Fence, FenceState, SlotId};

/// Copies that are only enqueued, with the slots of their messages. Such a slot must not be reused until its
/// copy ends.
#[derive(Default)]
pub(crate) struct Enqueued(pub(super) Vec<(SlotId, Fence)>);

impl Enqueued {
    /// Whether a stream still copies from this slot.
    #[inline]
    pub(crate) fn use_slot(&self, slot: SlotId) -> bool {
        self.0.iter().any(|(of, fence)| *of == slot && fence.state() == FenceState::Pending)
    }

    /// The number of copies that are not over.
    pub(super) fn pending(&self) -> usize {
        self.0.iter().filter(|(_, fence)| fence.state() == FenceState::Pending).count()
    }

    /// Removes the copies that are over.
    pub(super) fn forget(&mut self) {
        self.0.retain(|(_, fence)| fence.state() == FenceState::Pending);
    }

    /// Waits until one of them is over, at most for `timeout`. Returns whether one is over.
    pub(crate) fn wait_for_one(&mut self, timeout: Duration) -> bool {
        self.forget();
        self.0.first().is_some_and(|(_, fence)| fence.wait(timeout) != FenceState::Pending)
    }
}
