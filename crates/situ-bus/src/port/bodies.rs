//! The pool of a publisher's bodies, if they lie in another domain than the heads.

use situ_memory::{AllocateError, Fence, FenceState, PoolOwner, SlotId};

use crate::copy::copy_pool::begin_fence;

/// No slot has this number: the head has no body in the pool of bodies.
pub(crate) const NO_BODY: SlotId = SlotId::MAX;
/// The pool of a publisher's bodies. A body's slot is used for as long as its head's.
pub(crate) struct Bodies {
    pub(crate) entry: usize,
    pub(crate) pool: PoolOwner,
    /// The body's slot for each slot of a head.
    of: Vec<SlotId>,
}

impl Bodies {
    pub(crate) fn new(entry: usize, pool: PoolOwner) -> Self {
        Self { entry, pool, of: Vec::new() }
    }

    /// Allocates a body of this size for a lent head.
    pub(crate) fn allocate(&mut self, head: SlotId, size: usize) -> Result<(), AllocateError> {
        let slot = self.pool.allocate(size)?;
        begin_fence(&self.pool, slot);
        let index = head as usize;
        if self.of.len() <= index {
            self.of.resize(index + 1, NO_BODY);
        }
        self.of[index] = slot;
        Ok(())
    }

    pub(crate) fn of(&self, head: SlotId) -> Option<SlotId> {
        self.of.get(head as usize).copied().filter(|slot| *slot != NO_BODY)
    }

    pub(crate) fn fence(&self, head: SlotId) -> Option<Fence> {
        self.of(head).map(|slot| self.pool.fence(slot))
    }

    /// Whether a device is still filling the body. Then its slot must not be reused yet: a late signal would
    /// complete the fence of the next message.
    pub(crate) fn is_pending(&self, head: SlotId) -> bool {
        self.fence(head).is_some_and(|fence| fence.state() == FenceState::Pending)
    }

    /// The fences of all bodies that a device is still filling.
    pub(crate) fn pending(&self) -> impl Iterator<Item = Fence> + '_ {
        let used = self.of.iter().filter(|slot| **slot != NO_BODY);
        used.map(|slot| self.pool.fence(*slot)).filter(|fence| fence.state() == FenceState::Pending)
    }

    /// Frees the body of a head that is not held any more.
    pub(crate) fn release(&mut self, head: SlotId) {
        if let Some(slot) = self.of(head) {
            self.of[head as usize] = NO_BODY;
            // The body is not held, but the next message in it needs another generation, because its fence
            // belongs to the generation.
            self.pool.control(slot).retire();
            self.pool.deallocate(slot);
        }
    }
}
