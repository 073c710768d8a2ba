//! Slots of one size, all of which have numbers, places and memory before the first of them is lent.
//!
//! Number and place of a slot never change, so lending one is taking its number from a list.

use super::backed::Backed;
use super::format::PAGE;
use super::table::Table;
use super::{AllocateError, GRANULE, SlotId};

pub(super) struct FixedSlots {
    /// How many there are, as soon as they are cut.
    slots: u32,
    is_cut: bool,
    /// The size of each in granules.
    size: u32,
    /// The most recently freed one, whose cache lines are warm, is last.
    free: Vec<SlotId>,
    backed: Backed,
    /// Whether memory was given back, so that a free slot may have none.
    trimmed: bool,
}

impl FixedSlots {
    /// The size of a slot in bytes, and the bytes that all slots need, if a number can tell them.
    ///
    /// A slot of whole pages gets another `unit`, so that headers lie at different offsets in their pages.
    /// Otherwise they would compete for the same cache lines.
    pub(super) fn space(slots: u32, size: u64, unit: u64) -> Option<(u64, u64)> {
        let size = size.max(1).checked_next_multiple_of(unit)?;
        let size = if size.is_multiple_of(PAGE as u64) { size.checked_add(unit)? } else { size };
        let all = size.checked_mul(u64::from(slots))?;
        Some((size, all.checked_next_multiple_of(PAGE as u64)?))
    }

    /// `slots` slots of `size` granules, which are not cut yet.
    pub(super) fn new(slots: u32, size: u32) -> Self {
        Self { slots, is_cut: false, size, free: Vec::new(), backed: Backed::default(), trimmed: false }
    }

    /// Cuts the slots, unless they are cut, and gives all of them memory. Returns the range in granules of
    /// those that it has cut. After an error none is free, and a later call goes on.
    pub(super) fn cut(&mut self, table: &mut Table) -> Result<Option<(u32, u32)>, AllocateError> {
        if self.is_cut {
            return Ok(None);
        }
        let all = (0, self.slots * self.size);
        self.backed.ensure(table, all.0, all.1)?;
        while (table.places.len() as u32) < self.slots {
            let slot = table.new_slot()?.ok_or_else(|| table.exhausted(self.size))?;
            table.place_at(slot, slot * self.size, self.size);
        }
        // The first one is lent first.
        self.free = (0..self.slots).rev().collect();
        self.is_cut = true;
        table.statistics.slots = self.slots as usize;
        Ok(Some(all))
    }

    #[inline]
    pub(super) fn allocate(&mut self, table: &mut Table, granules: u32) -> Result<SlotId, AllocateError> {
        if granules > self.size {
            return Err(self.too_large(granules));
        }
        let slot = match self.free.pop() {
            Some(slot) => slot,
            None => self.first(table, granules)?,
        };
        if self.trimmed
            && let Err(error) = self.backed.ensure(table, table.places[slot as usize].offset, self.size)
        {
            self.free.push(slot);
            return Err(error);
        }
        table.lend(slot);
        Ok(slot)
    }

    /// The first slot, if none was cut yet.
    #[cold]
    fn first(&mut self, table: &mut Table, granules: u32) -> Result<SlotId, AllocateError> {
        self.cut(table)?;
        self.free.pop().ok_or_else(|| table.exhausted(granules))
    }

    #[cold]
    fn too_large(&self, granules: u32) -> AllocateError {
        let bytes = |granules: u32| u64::from(granules) * GRANULE as u64;
        AllocateError::LargerThanSlot { size: bytes(granules), slot: bytes(self.size) }
    }

    /// The slot that is lent next.
    #[inline]
    pub(super) fn next_free(&self) -> Option<SlotId> {
        self.free.last().copied()
    }

    #[inline]
    pub(super) fn deallocate(&mut self, table: &mut Table, slot: SlotId) {
        if table.take_back(slot).is_some() {
            self.free.push(slot);
        }
    }

    /// Gives the memory of free slots back. Returns how many bytes the system got.
    pub(super) fn trim(&mut self, table: &mut Table) -> u64 {
        let used = table.places.iter().filter(|place| place.lent);
        // Places are in the order of their numbers.
        let used: Vec<_> = used.map(|place| (place.offset, place.offset + place.size)).collect();
        let given = self.backed.give_back(table, used.into_iter());
        self.trimmed |= given > 0;
        given
    }

    /// Gives the next `messages` slots memory again, after it was given back. Returns them.
    pub(super) fn reserve(
        &mut self,
        table: &mut Table,
        messages: usize,
        granules: u32,
    ) -> Result<Vec<SlotId>, AllocateError> {
        if granules > self.size {
            return Err(self.too_large(granules));
        }
        self.cut(table)?;
        let Some(others) = self.free.len().checked_sub(messages) else {
            return Err(table.exhausted(granules));
        };
        let slots = self.free[others..].to_vec();
        for slot in &slots {
            self.backed.ensure(table, table.places[*slot as usize].offset, self.size)?;
        }
        self.trimmed &= others > 0;
        Ok(slots)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_of_whole_pages_begin_at_different_offsets() {
        assert_eq!(FixedSlots::space(3, 100, 64), Some((128, 4096)));
        assert_eq!(FixedSlots::space(16, 1 << 20, 64), Some((1_048_640, 16_781_312)));
        assert_eq!(FixedSlots::space(2, 8192, 256), Some((8448, 20_480)));
        assert_eq!(FixedSlots::space(1, 0, 64), Some((64, 4096)));
        assert_eq!(FixedSlots::space(2, u64::MAX - 64, 64), None);
    }
}
