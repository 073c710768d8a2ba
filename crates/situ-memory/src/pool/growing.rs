//! Slots that grow in their place. Regions are built in them, and references into a region must stay valid.
//!
//! ```text
//!   file  | slot a: memory |   room without memory    | slot b: memory |   room without memory    |
//!         ^ offset         ^ size                     ^
//! ```
//!
//! The file is sparse, so room costs only addresses, and a window has all of them from the start
//! ([`FileWindows`](crate::os::file_windows::FileWindows)). A slot keeps its room for its lifetime, and the
//! memory that it was given. The next message finds that memory warm, without a system call. Memory far
//! beyond the size of the last messages goes back when the message is published or the slot is freed.

use super::free_list::FreeList;
use super::table::Table;
use super::{AllocateError, GRANULE, SlotId};
use crate::domain::traits::DomainError;
use crate::pool::size_class::{class_of, class_size};

/// The class of slots that grow.
pub(super) const GROWS: u8 = u8::MAX;
/// Granules per page: memory is added and given back in pages.
const PAGE: u32 = (4096 / GRANULE) as u32;
/// A slot keeps this much more than usual in any case: a system call for each message would cost more.
const SLACK: u32 = 16 * PAGE;

#[derive(Default)]
pub(super) struct Growing {
    /// By slot, in granules: the size that it can grow to. 0 for slots that do not grow.
    rooms: Vec<u32>,
    /// The free ones.
    pub(super) free: FreeList,
    /// What the last messages used, in granules: rises at once, falls gradually.
    usual: u32,
    /// Each slot keeps memory for this number of granules.
    pub(super) reserved: u32,
    /// A process has registered a slot of the pool with a device: no memory is given back any more.
    keeps_all: bool,
}

impl Growing {
    /// How many more granules of the file a slot has than its room. They round it to whole pages, and let
    /// slots begin at different offsets in their first pages. Otherwise the slots' headers would compete for
    /// the same cache lines.
    pub(super) const STAGGER: u32 = 3 * PAGE;

    /// The room in granules for a slot of `granules` that shall grow to `room` bytes. Most requests get the
    /// same room, so that slots can be reused.
    pub(super) fn room_for(&self, table: &Table, granules: u32, room: usize) -> u32 {
        let most = table.granules() / 2;
        let wanted =
            u32::try_from(room.div_ceil(GRANULE)).unwrap_or(most).clamp(granules, most.max(granules));
        class_size(class_of(wanted.max(PAGE)))
    }

    /// Takes the most recently freed slot that has that room.
    #[inline]
    pub(super) fn reuse(&mut self, room: u32) -> Option<SlotId> {
        self.free.pop_if(|slot| self.rooms[slot as usize] >= room)
    }

    /// Frees a slot that was not lent after all.
    pub(super) fn put_back(&mut self, slot: SlotId) {
        self.free.push(slot);
    }

    /// Gives a slot a place with room, but without memory. Its part of the file is larger than the room by
    /// [`STAGGER`](Self::STAGGER).
    pub(super) fn place(
        &mut self,
        table: &mut Table,
        slot: SlotId,
        (offset, room): (u32, u32),
    ) -> Result<(), DomainError> {
        let first = offset.next_multiple_of(PAGE);
        let end = (offset + room + Self::STAGGER) / PAGE * PAGE;
        let begin = first + slot * 5 % 16 * 3;
        let room = end - begin;
        // The old memory in these pages goes, so that new memory is zero.
        self.keeps_all = self.keeps_all || table.is_registered();
        table.unback(first, end - first);
        table.keep_place(begin, room)?;
        table.place_at(slot, begin, 0);
        table.places[slot as usize].class = GROWS;
        if self.rooms.len() <= slot as usize {
            self.rooms.resize(slot as usize + 1, 0);
        }
        self.rooms[slot as usize] = room;
        Ok(())
    }

    /// Whether memory that a slot is given may hold old bytes.
    pub(super) fn is_unclean(&self) -> bool {
        self.keeps_all
    }

    /// Gives a slot memory for at least `granules`.
    pub(super) fn back(
        &mut self,
        table: &mut Table,
        slot: SlotId,
        granules: u32,
    ) -> Result<(), AllocateError> {
        let place = table.places[slot as usize];
        let room = if place.class == GROWS { self.rooms[slot as usize] } else { place.size };
        if granules > room {
            let bytes = |granules: u32| u64::from(granules) * GRANULE as u64;
            return Err(AllocateError::NoRoom { size: bytes(granules), room: bytes(room) });
        }
        let size = whole_pages(place.offset, granules).min(room);
        let more = size - place.size;
        if !table.allows(more) {
            return Err(table.exhausted(more));
        }
        table.back(place.offset + place.size, more)?;
        table.resize(slot, size);
        table.statistics.bytes += u64::from(more) * GRANULE as u64;
        Ok(())
    }

    /// Takes back a returned slot.
    pub(super) fn deallocate(&mut self, table: &mut Table, slot: SlotId) {
        self.shrink(table, slot, 0);
        self.free.push(slot);
    }

    /// Called when a message was published that uses `used` bytes of its slot.
    #[inline]
    pub(super) fn give_tail_back(&mut self, table: &mut Table, slot: SlotId, used: usize) {
        let used = used.div_ceil(GRANULE) as u32;
        let less = self.usual.saturating_sub(used) / 8;
        self.usual = used.max(self.usual - less);
        self.shrink(table, slot, used);
    }

    /// Gives memory back, if it is much more than what is used and what is usual.
    #[inline]
    fn shrink(&mut self, table: &mut Table, slot: SlotId, used: u32) {
        let keeps = used.max(self.usual).max(self.reserved).max(1);
        let most = keeps.saturating_add(keeps / 3).saturating_add(SLACK);
        let place = table.places[slot as usize];
        if place.size > most && !self.keeps_all {
            self.shrink_to(table, slot, whole_pages(place.offset, keeps));
        }
    }

    /// Readers may hold the message: they read only the bytes that it uses.
    #[cold]
    fn shrink_to(&mut self, table: &mut Table, slot: SlotId, size: u32) {
        if table.is_registered() {
            self.keeps_all = true;
            return;
        }
        let place = table.places[slot as usize];
        table.resize(slot, size);
        table.unback(place.offset + size, place.size - size);
        table.statistics.bytes -= u64::from(place.size - size) * GRANULE as u64;
    }
}

/// `granules` from an offset on, and those up to the end of the last page.
fn whole_pages(offset: u32, granules: u32) -> u32 {
    (offset + granules).next_multiple_of(PAGE) - offset
}
