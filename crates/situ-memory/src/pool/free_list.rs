//! Free slots of one kind: the most recently freed first, and how many of them were not needed for a while.

use super::SlotId;

#[derive(Default)]
pub(super) struct FreeList {
    /// The most recently freed, whose lines are warm, is last.
    slots: Vec<SlotId>,
    /// So many at the beginning have been free since the last [`take_idle`](Self::take_idle): slots come and go at the end.
    idle: usize,
}

impl FreeList {
    #[inline]
    pub(super) fn push(&mut self, slot: SlotId) {
        self.slots.push(slot);
    }

    /// The most recently freed.
    #[inline]
    pub(super) fn pop(&mut self) -> Option<SlotId> {
        let slot = self.slots.pop();
        self.idle = self.idle.min(self.slots.len());
        slot
    }

    /// The most recently freed of those that will do.
    #[inline]
    pub(super) fn pop_if(&mut self, will_do: impl Fn(SlotId) -> bool) -> Option<SlotId> {
        let at = self.slots.iter().rposition(|slot| will_do(*slot))?;
        self.idle = self.idle.min(at);
        Some(self.slots.remove(at))
    }

    pub(super) fn is_empty(&self) -> bool {
        self.slots.is_empty()
    }

    /// All of them.
    pub(super) fn take_all(&mut self) -> Vec<SlotId> {
        self.idle = 0;
        std::mem::take(&mut self.slots)
    }

    /// Those that have been free since the last call, but for as many as are to be kept; as long as `more` wants them, the
    /// longest free first.
    pub(super) fn take_idle(&mut self, keep: usize, more: impl FnMut(SlotId) -> bool) -> Vec<SlotId> {
        let taken = self.take_first(self.idle.min(self.slots.len().saturating_sub(keep)), more);
        self.idle = self.slots.len();
        taken
    }

    /// As long as `more` wants them, the longest free first.
    pub(super) fn take_oldest(&mut self, more: impl FnMut(SlotId) -> bool) -> Vec<SlotId> {
        let taken = self.take_first(self.slots.len(), more);
        self.idle = self.idle.saturating_sub(taken.len());
        taken
    }

    fn take_first(&mut self, most: usize, mut more: impl FnMut(SlotId) -> bool) -> Vec<SlotId> {
        let count = self.slots[..most].iter().take_while(|slot| more(**slot)).count();
        self.slots.drain(..count).collect()
    }
}
