//! Size classes in front, an offset allocator behind: slots are freed in any order, and at most a quarter is
//! wasted.

use offset_allocator::{Allocation, Allocator};

use super::free_list::FreeList;
use super::growing::{GROWS, Growing};
use super::table::{Place, Table};
use super::{AllocateError, GRANULE, SlotId};
use crate::pool::size_class::{class_of, class_size};

/// How many small slots are cut at once: a power of two.
const SLAB: usize = 16;
/// The largest size in bytes of a slot that counts as small.
const SLAB_MAX_SIZE: usize = 1024;

#[derive(Default)]
pub(super) struct SizeClasses {
    /// Made with the first slot: a topic that never publishes should cost nothing.
    ranges: Option<Allocator<u32>>,
    /// The range in `ranges` of each slot.
    allocations: Vec<Option<Allocation>>,
    /// Numbers of slots that have no memory at present.
    spare: Vec<SlotId>,
    /// Free slots with memory, by size class.
    free: Vec<FreeList>,
    /// Slots that grow in their place.
    growing: Growing,
    /// The bytes of the slots that are reserved.
    reserved_bytes: u64,
}

impl SizeClasses {
    /// Takes the most recently freed slot of the size class. If there is none, it cuts a new one; only then
    /// does it call the system.
    #[inline]
    pub(super) fn allocate(&mut self, table: &mut Table, granules: u32) -> Result<SlotId, AllocateError> {
        let class = class_of(granules);
        let slot = match self.free.get_mut(class).and_then(FreeList::pop) {
            Some(slot) => slot,
            None => self.find(table, class, granules)?,
        };
        table.lend(slot);
        Ok(slot)
    }

    /// The free slot that [`allocate`](Self::allocate) hands out next for this size. `None` if it would have
    /// to cut one.
    #[inline]
    pub(super) fn next_free(&self, granules: u32) -> Option<SlotId> {
        self.free.get(class_of(granules)).and_then(FreeList::next)
    }

    /// The same, for the size of another slot.
    #[inline]
    pub(super) fn next_free_like(&self, table: &Table, slot: SlotId) -> Option<SlotId> {
        let class = usize::from(table.places.get(slot as usize)?.class);
        self.free.get(class).and_then(FreeList::next)
    }

    #[inline]
    pub(super) fn deallocate(&mut self, table: &mut Table, slot: SlotId) {
        let Some(Place { class, .. }) = table.take_back(slot) else { return };
        if class == GROWS {
            return self.growing.deallocate(table, slot);
        }
        // The list exists since the slot was cut.
        if let Some(free) = self.free.get_mut(usize::from(class)) {
            free.push(slot);
        }
    }

    /// The slow path of [`allocate`](Self::allocate): takes a slot that was reserved for larger messages, or
    /// cuts new ones.
    #[cold]
    fn find(&mut self, table: &mut Table, class: usize, granules: u32) -> Result<SlotId, AllocateError> {
        let larger = self.free.iter_mut().skip(class + 1).filter(|free| free.reserved > 0);
        match larger.filter_map(FreeList::pop).next() {
            Some(slot) => Ok(slot),
            None => self.cut(table, class, granules),
        }
    }

    /// Makes sure that at least `messages` slots of a size are free, and keeps so many when memory is given
    /// back. Returns them.
    pub(super) fn reserve(
        &mut self,
        table: &mut Table,
        messages: usize,
        granules: u32,
    ) -> Result<Vec<SlotId>, AllocateError> {
        let class = class_of(granules);
        if self.free.len() <= class {
            self.free.resize_with(class + 1, FreeList::default);
        }
        // Kept from now on, so that cutting one does not give another back.
        let before = self.free[class].reserved;
        self.free[class].reserved = before.max(messages);
        let more =
            (self.free[class].reserved - before) as u64 * u64::from(class_size(class)) * GRANULE as u64;
        let mut missing = messages.saturating_sub(self.free[class].len());
        while missing > 0 {
            let had = self.free[class].len();
            match self.cut(table, class, granules) {
                Ok(slot) => self.free[class].push(slot),
                Err(error) => {
                    self.free[class].reserved = before;
                    return Err(error);
                }
            }
            missing = missing.saturating_sub(self.free[class].len().saturating_sub(had).max(1));
        }
        self.reserved_bytes += more;
        Ok(self.free[class].last(messages).to_vec())
    }

    /// The bytes of the reserved slots.
    #[inline]
    pub(super) fn reserved_bytes(&self) -> u64 {
        self.reserved_bytes
    }

    /// Forgets all reservations.
    pub(super) fn release_reserved(&mut self) {
        let lists = self.free.iter_mut().chain([&mut self.growing.free]);
        lists.for_each(|free| free.reserved = 0);
        self.growing.reserved = 0;
        self.reserved_bytes = 0;
    }

    /// Makes sure that at least `messages` slots that grow are free and have memory for `granules`. Returns
    /// them.
    pub(super) fn reserve_growing(
        &mut self,
        table: &mut Table,
        messages: usize,
        (granules, room): (u32, usize),
    ) -> Result<Vec<SlotId>, AllocateError> {
        let before = (self.growing.reserved, self.growing.free.reserved);
        self.growing.reserved = before.0.max(granules);
        let mut slots = Vec::new();
        let made = (0..messages).try_for_each(|_| {
            slots.push(self.allocate_growing(table, granules, room)?);
            Ok(())
        });
        slots.iter().rev().for_each(|slot| self.deallocate(table, *slot));
        match made {
            Ok(()) => self.growing.free.reserved = before.1.max(messages),
            Err(_) => (self.growing.reserved, self.growing.free.reserved) = before,
        }
        made.map(|()| slots).map_err(|error| table.after_return(error, granules))
    }

    /// Cuts new slots out of the pool's memory.
    ///
    /// Small slots are cut by the slab and handed out in an order that separates neighbours. Publishers use
    /// their slots in turn. If the turns had a constant stride, the readers' processors would prefetch the
    /// next slot's lines away from the owner, which is just about to write them.
    fn cut(&mut self, table: &mut Table, class: usize, granules: u32) -> Result<SlotId, AllocateError> {
        let first = self.cut_one(table, class, granules)?;
        if class_size(class) as usize * GRANULE <= SLAB_MAX_SIZE {
            let slab: Vec<SlotId> =
                (1..SLAB).map_while(|_| self.cut_one(table, class, granules).ok()).collect();
            // The slots leave the end of the list in steps of 7, modulo the slab.
            let turns = (1..SLAB).rev().map(|turn| turn * 7 % SLAB);
            turns.filter_map(|turn| slab.get(turn - 1)).for_each(|slot| self.free[class].push(*slot));
        }
        Ok(first)
    }

    fn cut_one(&mut self, table: &mut Table, class: usize, granules: u32) -> Result<SlotId, AllocateError> {
        // Rounding up to the class must not make impossible what just fits.
        let size = class_size(class).min(table.granules()).max(granules);
        let mut allocation = self.range_of(table, size);
        if allocation.is_none() || (self.spare.is_empty() && table.places.len() as u32 >= table.header.slots)
        {
            // Free slots of other classes hold the memory or the numbers: give them back and try again.
            self.trim(table);
            allocation = allocation.or_else(|| self.range_of(table, size));
        }
        if !table.allows(size) {
            self.trim(table);
            if let (false, Some(allocation)) = (table.allows(size), allocation.take()) {
                self.release_range(allocation);
            }
        }
        let Some(allocation) = allocation else { return Err(table.exhausted(granules)) };
        let slot = match self.number(table, granules) {
            Ok(slot) => slot,
            Err(error) => {
                self.release_range(allocation);
                return Err(error);
            }
        };
        let mut backed = table.back(allocation.offset, size);
        if backed.is_err() && self.free.iter().any(|class| !class.is_empty()) {
            // The system has no memory left, but free slots of other classes do.
            self.trim(table);
            backed = table.back(allocation.offset, size);
        }
        if let Err(error) = backed {
            self.release_range(allocation);
            self.spare.push(slot);
            return Err(error.into());
        }
        table.place_at(slot, allocation.offset, size);
        // The class whose list finds slots of this very size: rounded down for a slot that was cut to the
        // capacity.
        let found = class_of(size);
        let found = if class_size(found) > size { found.saturating_sub(1) } else { found };
        table.places[slot as usize].class = found as u8;
        if self.allocations.len() <= slot as usize {
            self.allocations.resize(slot as usize + 1, None);
        }
        self.allocations[slot as usize] = Some(allocation);
        if self.free.len() <= class {
            self.free.resize_with(class + 1, FreeList::default);
        }
        table.statistics.slots += 1;
        table.statistics.bytes += u64::from(size) * GRANULE as u64;
        Ok(slot)
    }

    /// A number for a new slot.
    fn number(&mut self, table: &mut Table, granules: u32) -> Result<SlotId, AllocateError> {
        match self.spare.pop() {
            Some(slot) => Ok(slot),
            None => table.new_slot()?.ok_or_else(|| table.exhausted(granules)),
        }
    }

    /// See [`PoolOwner::allocate_growing`](super::PoolOwner::allocate_growing).
    pub(super) fn allocate_growing(
        &mut self,
        table: &mut Table,
        granules: u32,
        room: usize,
    ) -> Result<SlotId, AllocateError> {
        let room = self.growing.room_for(table, granules, room);
        let slot = match self.growing.reuse(room) {
            Some(slot) => slot,
            None => self.cut_growing(table, granules, room)?,
        };
        if table.places[slot as usize].size < granules
            && let Err(error) = self.grow(table, slot, granules)
        {
            self.growing.put_back(slot);
            return Err(error);
        }
        table.lend(slot);
        Ok(slot)
    }

    /// Gives a growing slot room in the file, but no memory yet: `room`, or the largest part of it that is
    /// available.
    #[cold]
    fn cut_growing(&mut self, table: &mut Table, granules: u32, room: u32) -> Result<SlotId, AllocateError> {
        if self.spare.is_empty() && table.places.len() as u32 >= table.header.slots {
            self.trim(table);
        }
        let slot = self.number(table, granules)?;
        let (mut size, mut error) = (room, None);
        loop {
            if let Some(allocation) = self.range_of(table, size + Growing::STAGGER) {
                match self.growing.place(table, slot, (allocation.offset, size)) {
                    Ok(()) => {
                        if self.allocations.len() <= slot as usize {
                            self.allocations.resize(slot as usize + 1, None);
                        }
                        self.allocations[slot as usize] = Some(allocation);
                        table.statistics.slots += 1;
                        return Ok(slot);
                    }
                    Err(failed) => {
                        error = Some(failed.into());
                        self.release_range(allocation);
                    }
                }
            }
            // The file has less room, or the process has fewer addresses. A slot that was cut smaller before
            // will do.
            if let Some(reused) = self.growing.reuse(granules) {
                self.spare.push(slot);
                return Ok(reused);
            }
            if size / 2 < granules {
                self.spare.push(slot);
                return Err(error.unwrap_or_else(|| table.exhausted(granules)));
            }
            size /= 2;
        }
    }

    /// See [`PoolOwner::grow`](super::PoolOwner::grow).
    #[cold]
    pub(super) fn grow(
        &mut self,
        table: &mut Table,
        slot: SlotId,
        granules: u32,
    ) -> Result<(), AllocateError> {
        match self.growing.back(table, slot, granules) {
            Err(AllocateError::Exhausted { .. } | AllocateError::Memory(_)) => {
                // Free slots have memory that can be used.
                self.trim(table);
                self.growing.back(table, slot, granules)
            }
            result => result,
        }
    }

    /// See [`Growing::is_unclean`].
    pub(super) fn is_unclean(&self) -> bool {
        self.growing.is_unclean()
    }

    /// See [`PoolOwner::give_tail_back`](super::PoolOwner::give_tail_back).
    #[inline]
    pub(super) fn give_tail_back(&mut self, table: &mut Table, slot: SlotId, used: usize) {
        if table.places[slot as usize].class == GROWS {
            self.growing.give_tail_back(table, slot, used);
        }
    }

    fn range_of(&mut self, table: &Table, size: u32) -> Option<Allocation> {
        let ranges = self
            .ranges
            .get_or_insert_with(|| Allocator::with_max_allocs(table.granules(), table.header.slots * 2));
        ranges.allocate(size)
    }

    fn release_range(&mut self, allocation: Allocation) {
        if let Some(ranges) = &mut self.ranges {
            ranges.free(allocation);
        }
    }

    /// Gives the memory of all free slots that are not reserved back. Returns how many bytes the system got.
    pub(super) fn trim(&mut self, table: &mut Table) -> u64 {
        let lists = self.free.iter_mut().chain([&mut self.growing.free]);
        let slots = lists.flat_map(FreeList::take_all).collect();
        self.release(table, slots)
    }

    /// Gives back the memory of slots that have been free since the last call, about `most` bytes at most.
    pub(super) fn give_idle_back(&mut self, table: &mut Table, most: u64) -> u64 {
        let mut taken = 0;
        let mut more = |slot: SlotId| {
            let fits = taken < most;
            taken += if fits { table.bytes_of(slot) } else { 0 };
            fits
        };
        let mut slots = self.growing.free.take_idle(0, &mut more);
        for (class, free) in self.free.iter_mut().enumerate().rev() {
            // Small slots are cut by the slab, so some of them are always unused.
            let small = class_size(class) as usize * GRANULE <= SLAB_MAX_SIZE;
            slots.append(&mut free.take_idle(if small { SLAB } else { 0 }, &mut more));
        }
        self.release(table, slots)
    }

    /// Gives back memory of free slots until they have at most `mark` bytes: large ones first.
    pub(super) fn give_back_down_to(&mut self, table: &mut Table, mark: u64) -> u64 {
        let mut left = table.free_bytes();
        let mut more = |slot: SlotId| {
            let wanted = left > mark;
            left -= if wanted { table.bytes_of(slot) } else { 0 };
            wanted
        };
        let mut slots = self.growing.free.take_oldest(&mut more);
        for free in self.free.iter_mut().rev() {
            slots.append(&mut free.take_oldest(&mut more));
        }
        self.release(table, slots)
    }

    /// Takes their memory and their ranges from free slots that are in no list any more.
    fn release(&mut self, table: &mut Table, slots: Vec<SlotId>) -> u64 {
        let mut ranges = Vec::with_capacity(slots.len());
        for slot in slots {
            if let Some(allocation) = self.allocations[slot as usize].take() {
                let Place { offset, size, .. } = table.take_place(slot);
                ranges.push((offset, offset + size));
                self.release_range(allocation);
                self.spare.push(slot);
                table.statistics.slots -= 1;
                table.statistics.bytes -= u64::from(size) * GRANULE as u64;
            }
        }
        table.unback_free(ranges)
    }
}
