//! What both strategies of a pool's owner work on: the mapped control file, the memory, and where each slot
//! lies.

use std::ops::Range;
use std::os::fd::AsFd;
use std::sync::Arc;

use super::format::{CUT_OFFSET, PAGE, PoolHeader, end_of_controls, system};
use super::{AllocateError, DEVICE_GRANULE, GRANULE, PoolStatistics, SlotId};
use crate::domain::traits::{DomainError, Memory};
use crate::os::beneath::Beneath;
use crate::os::mapping::{Mapping, find_memory};
use crate::os::pages::{Outcome, PageOutcome, make_huge, populate};
use crate::sync::atomic::{AtomicU64, Ordering};
use crate::sync::fence::POISON;
use crate::sync::slot_control::SlotControl;

/// The first byte of memory that a field beside it keeps mapped; null for memory that the CPU may not touch.
/// It is cached, so that neither a second pointer nor a virtual call stands between a slot and its bytes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Base(pub(super) *mut u8);

// SAFETY: an address; what may be done with the bytes behind it is argued where they are used.
unsafe impl Send for Base {}
// SAFETY: as above.
unsafe impl Sync for Base {}

/// Where a slot lies, in granules. A size of 0: it has no memory.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Place {
    pub(super) offset: u32,
    pub(super) size: u32,
    pub(super) lent: bool,
    /// The size class whose list of free slots it belongs to, with the strategy that has classes.
    pub(super) class: u8,
}

/// A pool's files as their owner maps them, and its private list of slots.
pub(super) struct Table {
    pub(super) header: PoolHeader,
    /// The control file.
    pub(super) file: Beneath,
    pub(super) mapped: Arc<Mapping>,
    control: Base,
    pub(super) bytes: Arc<dyn Memory>,
    /// The address of the pool for the CPU, valid for all slots that have memory. Null where the CPU may not
    /// touch them, and before the first slot.
    data: Base,
    host: bool,
    /// The largest number of bytes of memory. Less than the capacity where slots grow in their place.
    pub(super) limit: u64,
    pub(super) places: Vec<Place>,
    pub(super) statistics: PoolStatistics,
    /// Sizes, and with them offsets, are multiples of this number of granules, a power of two.
    unit: u32,
    /// The granules of the slots that are not handed out.
    free: u64,
    /// The pages that got memory last, in bytes, if no memory was given back since.
    backed: Range<u64>,
    /// What became of the wishes for its pages.
    pub(super) pages: PageOutcome,
}

impl Table {
    pub(super) fn new(
        header: PoolHeader,
        (file, mapped): (Beneath, Mapping),
        bytes: Arc<dyn Memory>,
        limit: u64,
    ) -> Self {
        let host = matches!(bytes.host(0, 0), Ok(Some(_)));
        Self {
            header,
            file,
            control: Base(mapped.base()),
            mapped: Arc::new(mapped),
            data: Base(std::ptr::null_mut()),
            host,
            limit: limit.min(header.capacity),
            unit: if host { 1 } else { (DEVICE_GRANULE / GRANULE) as u32 },
            bytes,
            places: Vec::new(),
            free: 0,
            backed: 0..0,
            pages: PageOutcome::default(),
            statistics: PoolStatistics::default(),
        }
    }

    /// The number of granules of the pool.
    pub(super) fn granules(&self) -> u32 {
        (self.header.capacity / GRANULE as u64) as u32
    }

    /// Where slots begin and end: multiples of this number of bytes.
    pub(super) fn unit(&self) -> u64 {
        u64::from(self.unit) * GRANULE as u64
    }

    /// Makes the pages of ranges in granules present, which have memory, where the CPU may touch them. Makes
    /// huge pages of them if that was wished for.
    pub(super) fn populate(&mut self, mut ranges: Vec<(u32, u32)>) {
        const GRANULES: u32 = (PAGE / GRANULE) as u32;
        if self.data.0.is_null() {
            return;
        }
        ranges.sort_unstable();
        let mut runs: Vec<(u32, u32)> = Vec::new();
        for (begin, end) in ranges {
            let (begin, end) = (begin / GRANULES * GRANULES, end.next_multiple_of(GRANULES));
            match runs.last_mut() {
                Some(run) if begin <= run.1 => run.1 = end.max(run.1),
                _ => runs.push((begin, end)),
            }
        }
        self.pages.huge_bytes = 0;
        for (begin, end) in runs {
            let first = self.data.0.wrapping_add(begin as usize * GRANULE);
            let len = (end - begin) as usize * GRANULE;
            // SAFETY: the whole pages of slots that have memory, at the address that is valid for all of them
            // as long as `bytes` lives; the owner may write there.
            unsafe { populate(first, len) };
            if self.pages.huge != Outcome::NotAsked {
                // SAFETY: as above.
                let (made, refused) = unsafe { make_huge(first, len) };
                self.pages.huge_bytes += made;
                self.pages.huge = refused.unwrap_or(self.pages.huge);
            }
        }
    }

    /// A size in bytes as granules, rounded up, if the pool can ever hold it.
    #[inline]
    pub(super) fn granules_of(&self, size: usize) -> Result<u32, AllocateError> {
        let too_large = || AllocateError::TooLarge { size: size as u64, capacity: self.limit };
        let granules = u32::try_from(size.max(1).div_ceil(GRANULE)).map_err(|_| too_large())?;
        let granules = granules.checked_add(self.unit - 1).ok_or_else(too_large)? & !(self.unit - 1);
        if u64::from(granules) * GRANULE as u64 > self.limit { Err(too_large()) } else { Ok(granules) }
    }

    /// Whether the limit allows `granules` more of memory.
    pub(super) fn allows(&self, granules: u32) -> bool {
        self.statistics.bytes + u64::from(granules) * GRANULE as u64 <= self.limit
    }

    #[cold]
    pub(super) fn exhausted(&self, granules: u32) -> AllocateError {
        AllocateError::Exhausted {
            size: u64::from(granules) * GRANULE as u64,
            in_use: self.statistics.in_use,
            slots: self.header.slots,
            bytes: self.statistics.bytes,
            capacity: self.limit,
        }
    }

    /// The error with what is in use now, after slots were returned that had been allocated for a
    /// reservation.
    pub(super) fn after_return(&self, error: AllocateError, granules: u32) -> AllocateError {
        match error {
            AllocateError::Exhausted { .. } => self.exhausted(granules),
            error => error,
        }
    }

    /// Gives a range in granules real memory.
    pub(super) fn back(&mut self, offset: u32, size: u32) -> Result<(), DomainError> {
        let (offset, size) = (u64::from(offset) * GRANULE as u64, u64::from(size) * GRANULE as u64);
        // Small slots are cut side by side. The system is asked once for each page.
        if self.backed.contains(&offset) && offset + size <= self.backed.end {
            return Ok(());
        }
        let page = PAGE as u64;
        let pages = offset / page * page..(offset + size).next_multiple_of(page);
        self.bytes.back(pages.start, pages.end - pages.start)?;
        self.backed = pages;
        // The new address is valid for all older memory, too; loans continue with the address that they have.
        if let Some(data) = self.bytes.host(0, offset + size)? {
            self.data = Base(data);
        }
        Ok(())
    }

    /// Whether any process has registered a slot with a device.
    pub(super) fn is_registered(&self) -> bool {
        (0..self.places.len()).any(|slot| self.control(slot as SlotId).is_registered())
    }

    /// Gives the memory behind a range in granules back. It does nothing for a pool of which a process has
    /// registered a slot with a device: the range may belong to another slot by now than the registered one.
    pub(super) fn unback(&mut self, offset: u32, size: u32) {
        if self.is_registered() {
            return;
        }
        self.backed = 0..0;
        self.bytes.unback(u64::from(offset) * GRANULE as u64, u64::from(size) * GRANULE as u64);
    }

    /// Gives back the memory behind ranges in granules that belong to no slot any more. Returns how many
    /// bytes the system got.
    ///
    /// Memory goes by the page, and small slots share pages: a page goes back with its last slot. The parts
    /// of a page that belong to no slot hold nothing.
    pub(super) fn unback_free(&mut self, mut ranges: Vec<(u32, u32)>) -> u64 {
        const GRANULES: u32 = (PAGE / GRANULE) as u32;
        if ranges.is_empty() || self.is_registered() {
            return 0;
        }
        self.backed = 0..0;
        ranges.sort_unstable();
        let slots = self.places.iter().filter(|place| place.size > 0);
        let mut used: Vec<_> = slots.map(|place| (place.offset, place.offset + place.size)).collect();
        used.sort_unstable();
        let whole_pages = ranges.into_iter().map(|(begin, end)| {
            let after = used.partition_point(|slot| slot.0 < end);
            let before = after.checked_sub(1).map_or(0, |before| used[before].1);
            let next = used.get(after).map_or(u32::MAX, |slot| slot.0);
            let (first, last) = (begin / GRANULES * GRANULES, end.next_multiple_of(GRANULES));
            let first = if first < before { first + GRANULES } else { first };
            let last = if last > next { last - GRANULES } else { last };
            (first, last)
        });
        let mut given = 0;
        let mut give = |(first, last): (u32, u32)| {
            if first < last {
                self.bytes.unback(bytes(first), bytes(last - first));
                given += bytes(last - first);
            }
        };
        // Adjacent pages go in one system call.
        let mut run = (0, 0);
        for (first, last) in whole_pages {
            if first <= run.1 {
                run.1 = last.max(run.1);
            } else {
                give(run);
                run = (first, last);
            }
        }
        give(run);
        given
    }

    /// The bytes of the slots that are not handed out. Not valid for a ring, whose slots overlap earlier
    /// ones.
    #[inline]
    pub(super) fn free_bytes(&self) -> u64 {
        self.free * GRANULE as u64
    }

    /// The size of a slot in bytes.
    pub(super) fn bytes_of(&self, slot: SlotId) -> u64 {
        bytes(self.places[slot as usize].size)
    }

    /// Takes its place from a slot that is not handed out.
    pub(super) fn take_place(&mut self, slot: SlotId) -> Place {
        let place = std::mem::take(&mut self.places[slot as usize]);
        self.free -= u64::from(place.size);
        place
    }

    /// A number that no slot had before, if there is one left. Its control gets memory now.
    pub(super) fn new_slot(&mut self) -> Result<Option<SlotId>, AllocateError> {
        let slot = self.places.len() as u32;
        if slot >= self.header.slots {
            return Ok(None);
        }
        let begin = end_of_controls(slot);
        // The first page has memory from the start.
        if begin.is_multiple_of(PAGE) {
            let failed = |source| AllocateError::Memory(system("find memory for", self.file.path(), source));
            let file = self.file.open(true).map_err(failed)?;
            find_memory(file.as_fd(), begin as u64, PAGE as u64).map_err(failed)?;
        }
        self.places.push(Place::default());
        // Generations of different pools begin at different numbers. A row that is left from an earlier pool
        // at the same place in the topic therefore does not match by chance.
        self.control(slot).start_at(self.header.id & 0xffff);
        // Release: a reader that counts the slot finds its control.
        self.cut().store(u64::from(slot) + 1, Ordering::Release);
        Ok(Some(slot))
    }

    /// The number of slots whose controls have memory.
    fn cut(&self) -> &AtomicU64 {
        // SAFETY: the word lies in the first page of the mapping, which `mapped` keeps, aligned.
        unsafe { &*self.control.0.add(CUT_OFFSET).cast::<AtomicU64>() }
    }

    /// Records where a slot lies that no reader can pin.
    ///
    /// The first granule is zeroed. A reader may come for a message of 65,536 generations ago, whose row
    /// looks like a current one. The bytes that other slots left there must not look like that message.
    pub(super) fn place_at(&mut self, slot: SlotId, offset: u32, size: u32) {
        self.take_place(slot);
        self.places[slot as usize] = Place { offset, size, lent: false, class: 0 };
        self.free += u64::from(size);
        if let (begin, GRANULE..) = self.memory(slot) {
            for word in 0..GRANULE / size_of::<AtomicU64>() {
                // SAFETY: the slot has at least a granule, which is aligned to its size. Only such a reader
                // accesses it at the same time, by atomics.
                unsafe { &*begin.cast::<AtomicU64>().add(word) }.store(0, Ordering::Relaxed);
            }
        }
        // A reader that finds the slot there finds it zeroed.
        self.control(slot).put(u64::from(offset) * GRANULE as u64, u64::from(size) * GRANULE as u64);
    }

    /// Records that a slot, which may be pinned, has more or less memory behind its used bytes.
    pub(super) fn resize(&mut self, slot: SlotId, size: u32) {
        self.control(slot).resize(u64::from(size) * GRANULE as u64);
        let place = &mut self.places[slot as usize];
        if !place.lent {
            self.free = self.free - u64::from(place.size) + u64::from(size);
        }
        place.size = size;
    }

    /// Makes sure that a range in granules has one fixed address, whichever parts of it have memory.
    pub(super) fn keep_place(&self, offset: u32, size: u32) -> Result<(), DomainError> {
        self.bytes.keep_place(u64::from(offset) * GRANULE as u64, u64::from(size) * GRANULE as u64)
    }

    /// Marks a slot as handed out.
    #[inline]
    pub(super) fn lend(&mut self, slot: SlotId) {
        if !self.host {
            self.heal(slot);
        }
        let place = &mut self.places[slot as usize];
        place.lent = true;
        self.free -= u64::from(place.size);
        self.statistics.in_use += 1;
    }

    /// Repairs a poisoned fence whose owner lives: failed work of a device leaves it so. No reader can pin
    /// the slot now and nothing is enqueued for it, so its word may begin again at the present generation.
    /// That value says that everything before is over, and is less than what the next message completes.
    fn heal(&self, slot: SlotId) {
        let control = self.control(slot);
        if control.fence().word().load(Ordering::Relaxed) == POISON {
            control.fence().word().store(control.generation(), Ordering::Release);
        }
    }

    /// Marks a slot as returned, if it was handed out.
    #[inline]
    pub(super) fn take_back(&mut self, slot: SlotId) -> Option<Place> {
        let place = self.places.get_mut(slot as usize).filter(|place| place.lent)?;
        place.lent = false;
        self.free += u64::from(place.size);
        self.statistics.in_use -= 1;
        Some(*place)
    }

    #[inline]
    pub(super) fn control(&self, slot: SlotId) -> &SlotControl {
        assert!(slot < self.header.slots);
        let offset = self.header.controls_offset as usize + slot as usize * size_of::<SlotControl>();
        // SAFETY: the controls of all slots lie within the mapping, which `mapped` keeps, aligned. They
        // consist of atomics, so sharing them with other processes is no data race, and any
        // bits are valid.
        unsafe { &*self.control.0.add(offset).cast::<SlotControl>() }
    }

    /// The first byte of a slot and its size: 0 where the CPU may not touch its bytes.
    #[inline]
    pub(super) fn memory(&self, slot: SlotId) -> (*mut u8, usize) {
        match self.places[slot as usize] {
            Place { offset, size, .. } if size > 0 && !self.data.0.is_null() => {
                (self.data.0.wrapping_add(offset as usize * GRANULE), size as usize * GRANULE)
            }
            _ => (std::ptr::dangling_mut(), 0),
        }
    }
}

fn bytes(granules: u32) -> u64 {
    u64::from(granules) * GRANULE as u64
}
