//! What both strategies of a pool's owner work on: the mapped control file, the memory, and where each slot lies.

use std::sync::Arc;

use super::format::{DirectoryEntry, PoolHeader};
use super::{AllocateError, DEVICE_GRANULE, GRANULE, PoolStatistics, SlotId};
use crate::control::SlotControl;
use crate::domain::{DomainError, Memory};
use crate::fence::POISON;
use crate::mapping::Mapping;
use crate::sync::atomic::{AtomicU64, Ordering};

/// The first byte of memory that a field beside it keeps mapped; null for memory that the CPU may not touch. Cached, so
/// that neither a second pointer nor a virtual call stands between a slot and its bytes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Base(pub(super) *mut u8);

// SAFETY: an address; what may be done with the bytes behind it is argued where they are used.
unsafe impl Send for Base {}
// SAFETY: as above.
unsafe impl Sync for Base {}

/// Where a slot lies, in granules; a size of 0: it has no memory.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Place {
    pub(super) offset: u32,
    pub(super) size: u32,
    pub(super) lent: bool,
    /// The size class among whose free slots it is found, where there are such.
    pub(super) class: u8,
}

/// A pool's files as their owner has them, and its private list of slots.
pub(super) struct Table {
    pub(super) header: PoolHeader,
    pub(super) mapped: Arc<Mapping>,
    control: Base,
    pub(super) bytes: Arc<dyn Memory>,
    /// Where the CPU finds all slots that have memory; null where it may not touch them, and before the first
    /// one.
    data: Base,
    host: bool,
    /// So many bytes of memory there are at most. Less than the capacity where slots grow in their place.
    pub(super) limit: u64,
    pub(super) places: Vec<Place>,
    pub(super) statistics: PoolStatistics,
    /// Sizes are multiples of so many granules, a power of two, and with them offsets.
    unit: u32,
}

impl Table {
    pub(super) fn new(header: PoolHeader, mapped: Mapping, bytes: Arc<dyn Memory>, limit: u64) -> Self {
        let host = matches!(bytes.host(0, 0), Ok(Some(_)));
        Self {
            header,
            control: Base(mapped.base()),
            mapped: Arc::new(mapped),
            data: Base(std::ptr::null_mut()),
            host,
            limit: limit.min(header.capacity),
            unit: if host { 1 } else { (DEVICE_GRANULE / GRANULE) as u32 },
            bytes,
            places: Vec::new(),
            statistics: PoolStatistics::default(),
        }
    }

    /// How many granules the pool has.
    pub(super) fn granules(&self) -> u32 {
        (self.header.capacity / GRANULE as u64) as u32
    }

    /// A size in bytes in granules, rounded up, if the pool can ever hold it.
    #[inline]
    pub(super) fn granules_of(&self, size: usize) -> Result<u32, AllocateError> {
        let too_large = || AllocateError::TooLarge { size: size as u64, capacity: self.limit };
        let granules = u32::try_from(size.max(1).div_ceil(GRANULE)).map_err(|_| too_large())?;
        let granules = granules.checked_add(self.unit - 1).ok_or_else(too_large)? & !(self.unit - 1);
        if u64::from(granules) * GRANULE as u64 > self.limit { Err(too_large()) } else { Ok(granules) }
    }

    /// Whether there may be so many granules of memory more.
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

    /// Gives a range in granules real memory.
    pub(super) fn back(&mut self, offset: u32, size: u32) -> Result<(), DomainError> {
        let (offset, size) = (u64::from(offset) * GRANULE as u64, u64::from(size) * GRANULE as u64);
        self.bytes.back(offset, size)?;
        // All that had memory before is found from there, too; loans go on with the address that they have.
        if let Some(data) = self.bytes.host(0, offset + size)? {
            self.data = Base(data);
        }
        Ok(())
    }

    /// Whether somebody has registered any slot with a device.
    pub(super) fn is_registered(&self) -> bool {
        (0..self.places.len()).any(|slot| self.control(slot as SlotId).is_registered())
    }

    /// Gives the memory behind a range in granules back. Not of a pool of which somebody has registered a slot with a device: a range may be
    /// another slot's by now than the one that was registered.
    pub(super) fn unback(&self, offset: u32, size: u32) {
        if self.is_registered() {
            return;
        }
        self.bytes.unback(u64::from(offset) * GRANULE as u64, u64::from(size) * GRANULE as u64);
    }

    /// A number that no slot had before, if there is one left.
    pub(super) fn new_slot(&mut self) -> Option<SlotId> {
        let slot = self.places.len() as u32;
        (slot < self.header.slots).then(|| {
            self.places.push(Place::default());
            // Generations of different pools begin at different numbers, so that a row which is left over from
            // an earlier pool of the same place in the topic does not match by chance.
            self.control(slot).start_at(self.header.id & 0xffff);
            slot
        })
    }

    /// Says where a slot lies that nobody can pin.
    ///
    /// What begins there is zeroed: a reader may come for a message of 65,536 generations ago, whose row looks like one of now, and what
    /// others have left there must not look like what it wants.
    pub(super) fn place_at(&mut self, slot: SlotId, offset: u32, size: u32) {
        self.places[slot as usize] = Place { offset, size, lent: false, class: 0 };
        if let (begin, GRANULE..) = self.memory(slot) {
            for word in 0..GRANULE / size_of::<AtomicU64>() {
                // SAFETY: the slot has at least a granule, which is aligned to its size, and nobody but such a reader accesses it, by
                // atomics.
                unsafe { &*begin.cast::<AtomicU64>().add(word) }.store(0, Ordering::Relaxed);
            }
        }
        let entry = self.entry(slot);
        // Release: who finds the slot there finds what was zeroed.
        entry.offset.store(u64::from(offset) * GRANULE as u64, Ordering::Release);
        entry.capacity.store(u64::from(size) * GRANULE as u64, Ordering::Relaxed);
    }

    /// Says that a slot, which may be pinned, has more or less memory than before, behind what is used of it.
    pub(super) fn resize(&mut self, slot: SlotId, size: u32) {
        self.entry(slot).capacity.store(u64::from(size) * GRANULE as u64, Ordering::Relaxed);
        self.places[slot as usize].size = size;
    }

    /// Sees to it that a range in granules has one address, whichever parts of it have memory.
    pub(super) fn keep_place(&self, offset: u32, size: u32) -> Result<(), DomainError> {
        self.bytes.keep_place(u64::from(offset) * GRANULE as u64, u64::from(size) * GRANULE as u64)
    }

    /// Marks a slot as handed out.
    #[inline]
    pub(super) fn lend(&mut self, slot: SlotId) {
        if !self.host {
            self.heal(slot);
        }
        self.places[slot as usize].lent = true;
        self.statistics.in_use += 1;
    }

    /// Work of a device that failed leaves its fence poisoned, although its owner lives. Nobody can pin the slot now and
    /// nothing is enqueued for it, so its word may begin again: at the present generation, which is as much as saying
    /// that everything before is over, and less than what the next message completes.
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
        self.statistics.in_use -= 1;
        Some(*place)
    }

    #[inline]
    pub(super) fn control(&self, slot: SlotId) -> &SlotControl {
        assert!(slot < self.header.slots);
        let offset = self.header.controls_offset as usize + slot as usize * size_of::<SlotControl>();
        // SAFETY: `parts` laid the controls of all slots out within the mapping, which `mapped` keeps, aligned; they
        // consist of atomics, so that sharing them with other processes is no data race, and any bits are valid.
        unsafe { &*self.control.0.add(offset).cast::<SlotControl>() }
    }

    fn entry(&self, slot: SlotId) -> &DirectoryEntry {
        assert!(slot < self.header.slots);
        let offset = self.header.directory_offset as usize + slot as usize * size_of::<DirectoryEntry>();
        // SAFETY: as in `control`.
        unsafe { &*self.control.0.add(offset).cast::<DirectoryEntry>() }
    }

    /// The first byte of a slot and how many there are: none where the CPU may not touch them.
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
