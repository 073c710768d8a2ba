//! A strategy of the program's own: its allocator chooses ranges, and this checks each answer before it
//! becomes a slot.
//!
//! The allocator is not trusted. The slots in use are listed here, in the order of their places, so a range
//! that would overlap one of them is found before the slot is lent. The list has room for as many slots as
//! were ever in use at a time, so a steady stream allocates nothing.

use std::ops::Range;

use super::backed::Backed;
use super::strategy::{Allocator, Misplacement};
use super::table::{Place, Table};
use super::{AllocateError, GRANULE, SlotId};

/// A slot in use, with its range in granules.
#[derive(Clone, Copy)]
struct Used {
    begin: u32,
    end: u32,
    slot: SlotId,
}

pub(super) struct Own {
    allocator: Box<dyn Allocator>,
    /// The slots in use, in the order of their places.
    used: Vec<Used>,
    /// Numbers of slots that are not in use.
    spare: Vec<SlotId>,
    backed: Backed,
}

impl Own {
    pub(super) fn new(allocator: Box<dyn Allocator>) -> Self {
        Self { allocator, used: Vec::new(), spare: Vec::new(), backed: Backed::default() }
    }

    pub(super) fn allocate(&mut self, table: &mut Table, granules: u32) -> Result<SlotId, AllocateError> {
        let size = bytes(granules);
        let Some(range) = self.allocator.allocate(size) else { return Err(table.exhausted(granules)) };
        let (begin, end) = self.check(table, size, &range).map_err(|fault| {
            let (begin, end) = (range.start, range.end);
            AllocateError::Misplaced { size, begin, end, fault }
        })?;
        let number = match self.spare.pop() {
            Some(slot) => Ok(slot),
            None => table.new_slot().and_then(|slot| slot.ok_or_else(|| table.exhausted(granules))),
        };
        let slot = number.inspect_err(|_| self.allocator.deallocate(range.clone()))?;
        if let Err(error) = self.backed.ensure(table, begin, end - begin) {
            self.spare.push(slot);
            self.allocator.deallocate(range);
            return Err(error);
        }
        table.place_at(slot, begin, end - begin);
        let at = self.used.partition_point(|used| used.begin < begin);
        self.used.insert(at, Used { begin, end, slot });
        table.statistics.slots += 1;
        table.lend(slot);
        Ok(slot)
    }

    /// Allocates so many slots, which gives their ranges memory, and returns them. Returns which they were.
    ///
    /// An allocator that then chooses other ranges has reserved nothing; its next slots find memory as usual.
    pub(super) fn reserve(
        &mut self,
        table: &mut Table,
        messages: usize,
        granules: u32,
    ) -> Result<Vec<(u32, u32)>, AllocateError> {
        let mut slots = Vec::new();
        let made = (0..messages).try_for_each(|_| {
            slots.push(self.allocate(table, granules)?);
            Ok(())
        });
        let place = |slot: &SlotId| table.places[*slot as usize];
        let ranges = slots.iter().map(place).map(|place| (place.offset, place.offset + place.size)).collect();
        slots.iter().rev().for_each(|slot| self.deallocate(table, *slot));
        made.map(|()| ranges).map_err(|error| table.after_return(error, granules))
    }

    /// The range in granules, if a slot can lie there.
    fn check(&self, table: &Table, size: u64, range: &Range<u64>) -> Result<(u32, u32), Misplacement> {
        let unit = table.unit();
        if range.end > table.header.capacity {
            return Err(Misplacement::Outside { bytes: table.header.capacity });
        }
        if range.end.checked_sub(range.start).is_none_or(|len| len < size) {
            return Err(Misplacement::TooSmall);
        }
        if !range.start.is_multiple_of(unit) || !range.end.is_multiple_of(unit) {
            return Err(Misplacement::Unaligned { unit });
        }
        // A capacity has at most 2^32 granules less some.
        let (begin, end) = ((range.start / GRANULE as u64) as u32, (range.end / GRANULE as u64) as u32);
        // Ranges in use do not overlap, so the first one that ends behind the begin is the first candidate.
        match self.used.get(self.used.partition_point(|used| used.end <= begin)) {
            Some(Used { begin, end: until, slot }) if *begin < end => {
                Err(Misplacement::Overlaps { slot: *slot, begin: bytes(*begin), end: bytes(*until) })
            }
            _ => Ok((begin, end)),
        }
    }

    pub(super) fn deallocate(&mut self, table: &mut Table, slot: SlotId) {
        let Some(Place { offset, size, .. }) = table.take_back(slot) else { return };
        table.take_place(slot);
        let at = self.used.partition_point(|used| used.begin < offset);
        if self.used.get(at).is_some_and(|used| used.slot == slot) {
            self.used.remove(at);
        }
        self.spare.push(slot);
        table.statistics.slots -= 1;
        self.allocator.deallocate(bytes(offset)..bytes(offset + size));
    }

    /// Gives the memory behind all slots back that are not in use. Returns how many bytes the system got.
    pub(super) fn trim(&mut self, table: &mut Table) -> u64 {
        self.backed.give_back(table, self.used.iter().map(|used| (used.begin, used.end)))
    }
}

fn bytes(granules: u32) -> u64 {
    u64::from(granules) * GRANULE as u64
}
