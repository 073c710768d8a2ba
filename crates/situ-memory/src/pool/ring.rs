//! A strict ring of bytes: allocated at the head, freed from the tail, numbers in turns.
//!
//! ```text
//!     0          tail                 head          capacity
//!     | unused   | lent | free | lent | unused      |
//!                                ^ returned early: waits until everything before it was returned
//! ```
//!
//! A slot that does not fit before the end begins at 0 again, and the bytes skipped at the end belong to it.
//! When everything was returned, the ring begins anew at 0, so that a message of its whole size always fits
//! an empty one.

use super::format::PAGE;
use super::table::Table;
use super::{AllocateError, GRANULE, SlotId};

/// The smallest number of granules that get memory at a time: 1 MiB, so that hardly any message pays for it.
const STEP: u32 = (1 << 20) / GRANULE as u32;

#[derive(Default)]
pub(super) struct Ring {
    /// The number of slots that were ever handed out, and of those that the tail has passed. Modulo the
    /// number of slots they are the next slot and the oldest one.
    next: u64,
    oldest: u64,
    /// Positions in granules, counted on past the end.
    head: u64,
    tail: u64,
    /// By number: the head after the slot.
    ends: Vec<u64>,
    /// The number of granules from 0 that have memory.
    backed: u32,
}

impl Ring {
    pub(super) fn allocate(&mut self, table: &mut Table, granules: u32) -> Result<SlotId, AllocateError> {
        let (slots, capacity) = (u64::from(table.header.slots), u64::from(table.granules()));
        if self.next == self.oldest {
            (self.head, self.tail) = (0, 0);
        }
        let size = u64::from(granules);
        let at = self.head % capacity;
        let left_out = if at + size > capacity { capacity - at } else { 0 };
        let end = self.head + left_out + size;
        if end - self.tail > capacity || self.next - self.oldest == slots {
            return Err(table.exhausted(granules));
        }
        let offset = if left_out > 0 { 0 } else { at as u32 };
        self.back_up_to(table, offset + granules)?;
        let slot = (self.next % slots) as SlotId;
        if slot as usize >= table.places.len() {
            // Slot numbers are used in turn, so this is the next one; and it is below the number of slots.
            table.new_slot()?;
            self.ends.push(0);
        }
        table.place_at(slot, offset, granules);
        self.ends[slot as usize] = end;
        (self.head, self.next) = (end, self.next + 1);
        table.statistics.slots += 1;
        table.lend(slot);
        Ok(slot)
    }

    /// Makes sure that everything before `end` has memory: on its first lap the ring takes memory in steps.
    #[inline]
    fn back_up_to(&mut self, table: &mut Table, end: u32) -> Result<(), AllocateError> {
        if end <= self.backed {
            return Ok(());
        }
        let step = self.backed.saturating_add(STEP).clamp(end, table.granules().max(end));
        let upper = match table.back(self.backed, step - self.backed) {
            Ok(()) => step,
            Err(_) if step > end => {
                table.back(self.backed, end - self.backed)?;
                end
            }
            Err(error) => return Err(error.into()),
        };
        table.statistics.bytes += u64::from(upper - self.backed) * GRANULE as u64;
        self.backed = upper;
        Ok(())
    }

    /// Gives memory and numbers to the next `messages` slots of this size. Returns the range in granules in
    /// which they lie.
    pub(super) fn reserve(
        &mut self,
        table: &mut Table,
        messages: usize,
        granules: u32,
    ) -> Result<(u32, u32), AllocateError> {
        let (slots, capacity) = (u64::from(table.header.slots), u64::from(table.granules()));
        let (messages, granules) = (messages as u64, u64::from(granules));
        let is_empty = self.next == self.oldest;
        let (begin, in_use) = if is_empty { (0, 0) } else { (self.head % capacity, self.head - self.tail) };
        // Those behind the end begin at 0 again.
        let before_end = ((capacity - begin) / granules).min(messages);
        let begins_anew = before_end < messages;
        let left_out = if begins_anew { capacity - begin - before_end * granules } else { 0 };
        let needed = in_use + left_out + messages * granules;
        if needed > capacity || self.next - self.oldest + messages > slots {
            return Err(table.exhausted(granules as u32));
        }
        let end = if begins_anew { capacity } else { begin + messages * granules } as u32;
        self.back_up_to(table, end)?;
        while (table.places.len() as u64) < (self.next + messages).min(slots) {
            table.new_slot()?;
            self.ends.push(0);
        }
        Ok((if begins_anew { 0 } else { begin as u32 }, end))
    }

    pub(super) fn deallocate(&mut self, table: &mut Table, slot: SlotId) {
        if table.take_back(slot).is_none() {
            return;
        }
        let slots = u64::from(table.header.slots);
        while self.oldest < self.next {
            let oldest = (self.oldest % slots) as usize;
            if table.places[oldest].lent {
                break;
            }
            self.tail = self.ends[oldest];
            self.oldest += 1;
            table.statistics.slots -= 1;
        }
    }

    /// Gives all memory back if nothing is lent. Returns how many bytes the system got.
    pub(super) fn trim(&mut self, table: &mut Table) -> u64 {
        if self.oldest != self.next || table.is_registered() {
            return 0;
        }
        table.statistics.bytes = 0;
        // Up to the end of its last page, of which no byte is used.
        let backed = std::mem::take(&mut self.backed).next_multiple_of((PAGE / GRANULE) as u32);
        table.unback(0, backed);
        u64::from(backed) * GRANULE as u64
    }
}
