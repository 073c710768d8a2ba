//! Slots that grow in their place: regions are built in them, whose references shall stay good.
//!
//! ```text
//!   file  | slot a: memory |   room without memory    | slot b: memory |   room without memory    |
//!         ^ offset         ^ size                     ^
//! ```
//!
//! The file is sparse, so room costs nothing but addresses, of which a window has them all from the start
//! ([`FileWindows`](crate::os::file_windows::FileWindows)). A slot keeps its room as long as it is one, and the
//! memory that it was given: the next message finds it warm, without a system call. What much exceeds the
//! last messages goes back when the message is published, or the slot is freed.

use super::free_list::FreeList;
use super::table::Table;
use super::{AllocateError, GRANULE, SlotId};
use crate::domain::traits::DomainError;
use crate::pool::size_class::{class_of, class_size};

/// The class of slots that grow.
pub(super) const GROWS: u8 = u8::MAX;
/// Memory comes and goes in pages, of so many granules.
const PAGE: u32 = (4096 / GRANULE) as u32;
/// So much more than what is usual is kept in any case: a system call for each message would cost more.
const SLACK: u32 = 16 * PAGE;

#[derive(Default)]
pub(super) struct Growing {
    /// By slot, in granules: how large it can become. 0 for those that do not grow.
    rooms: Vec<u32>,
    /// Those that are free.
    pub(super) free: FreeList,
    /// What the last messages used, in granules: at once more, little by little less.
    usual: u32,
    /// Somebody has registered a slot of the pool with a device: no memory is given back any more.
    keeps_all: bool,
}

impl Growing {
    /// A slot has so many granules more of the file than its room, for whole pages; and because slots begin
    /// at different places of their first pages: their headers would compete for the same lines of the cache.
    pub(super) const STAGGER: u32 = 3 * PAGE;

    /// The room in granules for one of `granules` now that shall grow to `room` bytes: the same for most, so
    /// that slots can be used again.
    pub(super) fn room_for(&self, table: &Table, granules: u32, room: usize) -> u32 {
        let most = table.granules() / 2;
        let wanted =
            u32::try_from(room.div_ceil(GRANULE)).unwrap_or(most).clamp(granules, most.max(granules));
        class_size(class_of(wanted.max(PAGE)))
    }

    /// The most recently freed slot that can grow so far.
    #[inline]
    pub(super) fn reuse(&mut self, room: u32) -> Option<SlotId> {
        self.free.pop_if(|slot| self.rooms[slot as usize] >= room)
    }

    /// Free again: it was not lent after all.
    pub(super) fn put_back(&mut self, slot: SlotId) {
        self.free.push(slot);
    }

    /// Gives a slot a place with room, but no memory. What it has of the file is larger than the room by
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
        // What other slots left in these pages goes, so that memory comes as zeroes.
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

    /// Whether memory that a slot is given may hold what was there before.
    pub(super) fn is_unclean(&self) -> bool {
        self.keeps_all
    }

    /// Gives a slot memory for so many granules at least.
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

    /// A slot came back.
    pub(super) fn deallocate(&mut self, table: &mut Table, slot: SlotId) {
        self.shrink(table, slot, 0);
        self.free.push(slot);
    }

    /// A message was published that uses so many bytes of its slot.
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
        let keeps = used.max(self.usual).max(1);
        let most = keeps.saturating_add(keeps / 3).saturating_add(SLACK);
        let place = table.places[slot as usize];
        if place.size > most && !self.keeps_all {
            self.shrink_to(table, slot, whole_pages(place.offset, keeps));
        }
    }

    /// Readers of the message may hold it: they look at what it uses, and nowhere behind that.
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

/// So many granules from an offset on, and those up to the end of the last page.
fn whole_pages(offset: u32, granules: u32) -> u32 {
    (offset + granules).next_multiple_of(PAGE) - offset
}
