//! Free slots of one kind: the most recently freed first. Also counts how many were not needed for a while,
//! and how many are to stay.

use super::SlotId;

#[derive(Default)]
pub(super) struct FreeList {
    /// The most recently freed slot, whose cache lines are warm, is last.
    slots: Vec<SlotId>,
    /// This number of slots at the beginning has been free since the last [`take_idle`](Self::take_idle),
    /// because slots are added and removed at the end.
    idle: usize,
    /// This number of slots stays in the list when memory is given back.
    pub(super) reserved: usize,
}

impl FreeList {
    #[inline]
    pub(super) fn push(&mut self, slot: SlotId) {
        self.slots.push(slot);
    }

    /// Takes the most recently freed slot.
    #[inline]
    pub(super) fn pop(&mut self) -> Option<SlotId> {
        let slot = self.slots.pop();
        self.idle = self.idle.min(self.slots.len());
        slot
    }

    /// Takes the most recently freed slot that `will_do` accepts.
    #[inline]
    pub(super) fn pop_if(&mut self, will_do: impl Fn(SlotId) -> bool) -> Option<SlotId> {
        let at = self.slots.iter().rposition(|slot| will_do(*slot))?;
        self.idle = self.idle.min(at);
        Some(self.slots.remove(at))
    }

    /// The slot that [`pop`](Self::pop) takes next.
    #[inline]
    pub(super) fn next(&self) -> Option<SlotId> {
        self.slots.last().copied()
    }

    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.slots.is_empty()
    }

    #[inline]
    pub(super) fn len(&self) -> usize {
        self.slots.len()
    }

    /// The `count` slots that are taken next.
    pub(super) fn last(&self, count: usize) -> &[SlotId] {
        &self.slots[self.slots.len().saturating_sub(count)..]
    }

    /// All but the reserved ones.
    pub(super) fn take_all(&mut self) -> Vec<SlotId> {
        self.idle = 0;
        if self.reserved == 0 {
            return std::mem::take(&mut self.slots);
        }
        self.take_first(self.unreserved(0), |_| true)
    }

    /// How many slots may go, if `keep` slots stay and those that are reserved.
    fn unreserved(&self, keep: usize) -> usize {
        self.slots.len().saturating_sub(keep.max(self.reserved))
    }

    /// Takes the slots that have been free since the last call, but leaves `keep` slots. Takes the longest
    /// free first, and stops when `more` returns false.
    pub(super) fn take_idle(&mut self, keep: usize, more: impl FnMut(SlotId) -> bool) -> Vec<SlotId> {
        let taken = self.take_first(self.idle.min(self.unreserved(keep)), more);
        self.idle = self.slots.len();
        taken
    }

    /// Takes the longest free slots first, until `more` returns false.
    pub(super) fn take_oldest(&mut self, more: impl FnMut(SlotId) -> bool) -> Vec<SlotId> {
        let taken = self.take_first(self.unreserved(0), more);
        self.idle = self.idle.saturating_sub(taken.len());
        taken
    }

    fn take_first(&mut self, most: usize, mut more: impl FnMut(SlotId) -> bool) -> Vec<SlotId> {
        let count = self.slots[..most].iter().take_while(|slot| more(**slot)).count();
        self.slots.drain(..count).collect()
    }
}
