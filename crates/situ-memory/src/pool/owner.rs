//! A pool, as used by the process that owns it.

use std::os::fd::AsFd;
use std::ptr::NonNull;
use std::sync::Arc;

use super::fixed_slots::FixedSlots;
use super::format::{MAX_CAPACITY, MAX_SLOTS, PAGE, control_size, data_path, system};
use super::own::Own;
use super::ring::Ring;
use super::size_classes::SizeClasses;
use super::table::{Place, Table};
use super::{
    AllocateError, DEVICE_GRANULE, GRANULE, PoolHeader, PoolOptions, PoolSpace, PoolStatistics, SlotId,
    Strategy,
};
use crate::domain::traits::{Domain, DomainError, Memory, MemoryRequest, Sharing};
use crate::os::beneath::Beneath;
use crate::os::fd_passing::Share;
use crate::os::mapped_range::Access;
use crate::os::mapping::{Mapping, MemoryError, find_memory};
use crate::os::pages::PageOutcome;
use crate::os::shared_file::create_file;
use crate::sync::fence::Fence;
use crate::sync::slot_control::{SlotControl, short_generation};

// Large, but inline: no pointer stands between a loan and its free list, and a pool has only one.
#[allow(clippy::large_enum_variant)]
enum Allocation {
    SizeClasses(SizeClasses),
    Ring(Ring),
    FixedSlots(FixedSlots),
    Own(Own),
}

/// A pool, as used by the process that owns it. Dropping it leaves the files; [`unlink`](Self::unlink)
/// removes them. Memory that is shared by descriptors is handed out only while this lives.
pub struct PoolOwner {
    table: Table,
    allocation: Allocation,
    /// Whether there is room for slots that grow.
    grows: bool,
    /// Whether the domain gives memory back in parts, as files do.
    gives_back: bool,
    /// Hands out the memory's descriptor, if the memory is shared in that way.
    _share: Option<Share>,
}

impl PoolOwner {
    /// Creates a pool's control file at `place`, and its memory in `domain`.
    pub fn create(
        domain: &dyn Domain,
        place: impl Into<Beneath>,
        options: &PoolOptions,
    ) -> Result<Self, DomainError> {
        let place = place.into();
        let control_path = place.path();
        let (slots, capacity, slot_size) = needs(domain, options)?;
        let slots = slots.clamp(64, MAX_SLOTS).next_multiple_of(64);
        let limit = capacity.clamp(PAGE as u64, MAX_CAPACITY).next_multiple_of(PAGE as u64);
        let is_file = domain.capabilities().sharing == Sharing::File && domain.capabilities().host_access;
        let grows = options.grows && is_file && options.strategy == Strategy::SizeClasses;
        let capacity = if grows { MAX_CAPACITY } else { limit };
        let end = control_size(slots);
        let request = MemoryRequest { size: end as u64, mode: options.mode, group: options.group };
        let control_file = create_file(&place, &request)?;
        // Controls are written in places that could not report an error. They get memory with their slots.
        find_memory(control_file.as_fd(), 0, PAGE as u64)
            .map_err(|source| system("find memory for", control_path, source))?;
        let control = Mapping::without_filling(control_file.as_fd(), end, Access::ReadWrite)
            .map_err(|source| MemoryError::not_mapped(control_path, source))?;
        let bytes = domain.create(&data_path(&place), &MemoryRequest { size: capacity, ..request })?;
        let pages = if options.pages.are_default() {
            PageOutcome::default()
        } else {
            bytes.prefer(&options.pages)?
        };
        // A device may have rounded the size up to its own units.
        let capacity = bytes.size().min(MAX_CAPACITY) / PAGE as u64 * PAGE as u64;
        let limit = if grows { limit } else { capacity };
        let header =
            PoolHeader::new((options.id, options.owner), domain.id(), &options.strategy, slots, capacity);
        // SAFETY: the mapping is larger than a header, page aligned and writable, and no other process uses
        // the file yet.
        unsafe { control.base().cast::<PoolHeader>().write(header) };
        let share = match (domain.capabilities().sharing, bytes.export()?) {
            (Sharing::Descriptor, Some(descriptor)) => {
                Some(Share::begin(options.id, options.group, descriptor, capacity)?)
            }
            (Sharing::Descriptor, None) => {
                let action = "share memory with other processes".to_owned();
                let reason = "it gives no descriptor".to_owned();
                return Err(DomainError::Refused { domain: domain.id(), action, reason });
            }
            (Sharing::File, _) => None,
        };
        let mut table = Table::new(header, (place.clone(), control), bytes, limit);
        table.pages = pages;
        let allocation = match &options.strategy {
            Strategy::SizeClasses => Allocation::SizeClasses(SizeClasses::default()),
            Strategy::Ring => Allocation::Ring(Ring::default()),
            Strategy::FixedSlots { slots, .. } => {
                let size = (slot_size / GRANULE as u64) as u32;
                Allocation::FixedSlots(FixedSlots::new(*slots, size))
            }
            Strategy::Own(own) => {
                let space = PoolSpace { bytes: table.header.capacity, unit: table.unit(), slots };
                Allocation::Own(Own::new(own.make(&space)))
            }
        };
        let pool = Self {
            grows,
            gives_back: domain.capabilities().sharing == Sharing::File,
            _share: share,
            table,
            allocation,
        };
        domain.expect(&pool.fence(0));
        Ok(pool)
    }

    /// Gives fixed slots their memory, which may take a while, for instance a second for some gigabytes.
    /// Other strategies take memory as they need it. Without this call the first allocation does it.
    pub fn prepare(&mut self) -> Result<(), DomainError> {
        let Allocation::FixedSlots(fixed) = &mut self.allocation else { return Ok(()) };
        let range = fixed.cut(&mut self.table).map_err(|error| match error {
            AllocateError::Memory(error) => error.into(),
            AllocateError::Domain(error) => error,
            other => DomainError::Refused {
                domain: self.table.header.domain(),
                action: "make fixed slots".to_owned(),
                reason: other.to_string(),
            },
        })?;
        self.table.populate(Vec::from_iter(range));
        Ok(())
    }

    /// The pool's header.
    pub fn header(&self) -> &PoolHeader {
        &self.table.header
    }

    /// What the pool holds at the moment.
    pub fn statistics(&self) -> PoolStatistics {
        self.table.statistics
    }

    /// What became of the wishes for its pages.
    pub fn pages(&self) -> PageOutcome {
        self.table.pages
    }

    /// The memory that its slots are cut from.
    pub fn bytes(&self) -> &Arc<dyn Memory> {
        &self.table.bytes
    }

    /// Allocates a slot of at least `size` bytes, aligned to [`GRANULE`], or to
    /// [`DEVICE_GRANULE`](super::DEVICE_GRANULE) where the CPU may not touch it. Its bytes are those of the
    /// slot's last use.
    #[inline]
    pub fn allocate(&mut self, size: usize) -> Result<SlotId, AllocateError> {
        let granules = self.table.granules_of(size)?;
        match &mut self.allocation {
            Allocation::SizeClasses(classes) => classes.allocate(&mut self.table, granules),
            Allocation::Ring(ring) => ring.allocate(&mut self.table, granules),
            Allocation::FixedSlots(fixed) => fixed.allocate(&mut self.table, granules),
            Allocation::Own(own) => own.allocate(&mut self.table, granules),
        }
    }

    /// Makes sure that the next `messages` slots of at most `size` bytes are allocated without a system call,
    /// and are written without a page fault where the CPU may touch them. Other processes see nothing of it.
    ///
    /// With size classes, so many free slots keep their memory until [`trim`](Self::trim), and smaller
    /// messages use them, too. A ring reserves what comes next. Fixed slots have all of that from the start;
    /// this gives them again what `trim` has taken.
    #[cold]
    pub fn reserve(&mut self, messages: usize, size: usize) -> Result<(), AllocateError> {
        let granules = self.check_room(messages, size)?;
        let table = &mut self.table;
        let slots = match &mut self.allocation {
            Allocation::SizeClasses(classes) => classes.reserve(table, messages, granules)?,
            Allocation::FixedSlots(fixed) => fixed.reserve(table, messages, granules)?,
            Allocation::Own(own) => {
                let ranges = own.reserve(table, messages, granules)?;
                table.populate(ranges);
                return Ok(());
            }
            Allocation::Ring(ring) => {
                let range = ring.reserve(table, messages, granules)?;
                table.populate(vec![range]);
                return Ok(());
            }
        };
        self.populate(slots);
        Ok(())
    }

    /// The same for slots that [grow](Self::allocate_growing).
    #[cold]
    pub fn reserve_growing(
        &mut self,
        messages: usize,
        size: usize,
        room: usize,
    ) -> Result<(), AllocateError> {
        let granules = self.check_room(messages, size)?;
        let slots = match &mut self.allocation {
            Allocation::SizeClasses(classes) if self.grows => {
                classes.reserve_growing(&mut self.table, messages, (granules, room))?
            }
            _ => return self.reserve(messages, size),
        };
        self.populate(slots);
        Ok(())
    }

    /// The size in granules, if the pool can ever hold so many messages of it.
    fn check_room(&self, messages: usize, size: usize) -> Result<u32, AllocateError> {
        let granules = self.table.granules_of(size)?;
        let all = (messages as u64).saturating_mul(u64::from(granules) * GRANULE as u64);
        if messages as u64 > u64::from(self.table.header.slots) || all > self.table.limit {
            return Err(self.table.exhausted(granules));
        }
        Ok(granules)
    }

    fn populate(&mut self, slots: Vec<SlotId>) {
        let places = slots.into_iter().map(|slot| self.table.places[slot as usize]);
        let ranges = places.map(|place| (place.offset, place.offset + place.size)).collect();
        self.table.populate(ranges);
    }

    /// The free slot that [`allocate`](Self::allocate) would hand out for this size. `None` if it would have
    /// to cut one, or if slots come in turns.
    #[inline]
    pub fn next_free(&self, size: usize) -> Option<SlotId> {
        match &self.allocation {
            Allocation::SizeClasses(classes) => classes.next_free(self.table.granules_of(size).ok()?),
            Allocation::FixedSlots(fixed) => fixed.next_free(),
            Allocation::Ring(_) | Allocation::Own(_) => None,
        }
    }

    /// The free slot that would be handed out next for the size of this slot, if slots do not come in turns.
    #[inline]
    pub fn next_free_like(&self, slot: SlotId) -> Option<SlotId> {
        match &self.allocation {
            Allocation::SizeClasses(classes) => classes.next_free_like(&self.table, slot),
            Allocation::FixedSlots(fixed) => fixed.next_free(),
            Allocation::Ring(_) | Allocation::Own(_) => None,
        }
    }

    /// Allocates a slot of at least `size` bytes that [`grow`](Self::grow) can enlarge in its place, up to
    /// `room` bytes or the room that the pool has. The file has room for all of that and its addresses stay
    /// the same. It gets memory as it grows. In a pool whose slots do not grow, this is a plain slot.
    pub fn allocate_growing(&mut self, size: usize, room: usize) -> Result<SlotId, AllocateError> {
        let granules = self.table.granules_of(size)?;
        match &mut self.allocation {
            Allocation::SizeClasses(classes) if self.grows => {
                classes.allocate_growing(&mut self.table, granules, room)
            }
            _ => self.allocate(size),
        }
    }

    /// Enlarges a lent slot in its place to at least `size` bytes. Returns the offset from which on the added
    /// bytes are zero.
    pub fn grow(&mut self, slot: SlotId, size: usize) -> Result<usize, AllocateError> {
        let has = self.place(slot).1;
        if size as u64 <= has {
            return Ok(has as usize);
        }
        let granules = self.table.granules_of(size)?;
        match &mut self.allocation {
            Allocation::SizeClasses(classes) => {
                classes.grow(&mut self.table, slot, granules)?;
                Ok(if classes.is_unclean() { size } else { has as usize })
            }
            _ => Err(AllocateError::NoRoom { size: size as u64, room: has }),
        }
    }

    /// Gives unneeded memory of a grown slot back to the system. It does so if the slot has much more than
    /// its message, which may be published, uses now, and much more than the last messages used.
    #[inline]
    pub fn give_tail_back(&mut self, slot: SlotId, used: usize) {
        if let Allocation::SizeClasses(classes) = &mut self.allocation {
            classes.give_tail_back(&mut self.table, slot, used);
        }
    }

    /// Gives the memory of free slots back to the system, reserved ones included, and that of a ring if no
    /// slot of it is lent. Returns the number of bytes. A device's memory is one block and stays, and so does
    /// memory that is registered with a device.
    ///
    /// No reader holds a free slot and none can pin it. It was never shared, or it was retired under a
    /// generation that no row names. If a reader of an older message looks at its bytes all the same, it
    /// finds no memory and gets an error.
    pub fn trim(&mut self) -> u64 {
        let given = match &mut self.allocation {
            Allocation::SizeClasses(classes) => {
                classes.release_reserved();
                classes.trim(&mut self.table)
            }
            Allocation::Ring(ring) => ring.trim(&mut self.table),
            Allocation::FixedSlots(fixed) => fixed.trim(&mut self.table),
            Allocation::Own(own) => own.trim(&mut self.table),
        };
        // Slots of other sizes can be cut from the freed memory, even if the system gets none.
        if self.gives_back { given } else { 0 }
    }

    /// The same for slots that have been free since the last call, about `most` bytes at most. A caller that
    /// does this every few seconds keeps the largest amount that it needed within such a period. Only size
    /// classes give memory back in this way.
    pub fn give_idle_back(&mut self, most: u64) -> u64 {
        match &mut self.allocation {
            Allocation::SizeClasses(classes) if self.gives_back => {
                classes.give_idle_back(&mut self.table, most)
            }
            _ => 0,
        }
    }

    /// The same until the free slots have at most `bytes` bytes: large slots first, and of each size the
    /// longest free ones. Only size classes give memory back in this way.
    #[cold]
    pub fn give_back_down_to(&mut self, bytes: u64) -> u64 {
        match &mut self.allocation {
            Allocation::SizeClasses(classes) if self.gives_back => {
                classes.give_back_down_to(&mut self.table, bytes)
            }
            _ => 0,
        }
    }

    /// The bytes of free slots that [`give_back_down_to`](Self::give_back_down_to) can give back.
    #[inline]
    pub fn free_bytes(&self) -> u64 {
        match &self.allocation {
            Allocation::SizeClasses(classes) if self.gives_back => {
                self.table.free_bytes().saturating_sub(classes.reserved_bytes())
            }
            _ => 0,
        }
    }

    /// The generation under which readers may hold an allocated slot once the caller has published it, as a
    /// row has it.
    #[inline]
    pub fn share(&self, slot: SlotId) -> u16 {
        short_generation(self.control(slot).generation())
    }

    /// Returns an allocated slot that was never shared, or that was [retired](SlotControl::retire) and that
    /// no reader holds any more. It may be handed out again at once. A slot that is not handed out stays
    /// unchanged.
    #[inline]
    pub fn deallocate(&mut self, slot: SlotId) {
        match &mut self.allocation {
            Allocation::SizeClasses(classes) => classes.deallocate(&mut self.table, slot),
            Allocation::Ring(ring) => ring.deallocate(&mut self.table, slot),
            Allocation::FixedSlots(fixed) => fixed.deallocate(&mut self.table, slot),
            Allocation::Own(own) => own.deallocate(&mut self.table, slot),
        }
    }

    /// The control of a slot.
    #[inline]
    pub fn control(&self, slot: SlotId) -> &SlotControl {
        self.table.control(slot)
    }

    /// The fence of the bytes that an allocated slot is being filled with.
    pub fn fence(&self, slot: SlotId) -> Fence {
        let control = self.control(slot);
        let (words, end) = (NonNull::from(control.fence()), NonNull::from(control.fence_end()));
        let value = control.generation().wrapping_add(1);
        // SAFETY: the words lie in the mapping of the control file, which the fence keeps.
        unsafe { Fence::new(words, value, self.table.mapped.clone()).noting(end) }
    }

    /// The first byte of an allocated slot, and its size: 0 where the CPU may not touch its bytes.
    #[inline]
    pub fn memory(&self, slot: SlotId) -> (*mut u8, usize) {
        self.table.memory(slot)
    }

    /// The offset of an allocated slot in the pool's [`bytes`](Self::bytes), and its size.
    #[inline]
    pub fn place(&self, slot: SlotId) -> (u64, u64) {
        let Place { offset, size, .. } = self.table.places[slot as usize];
        (u64::from(offset) * GRANULE as u64, u64::from(size) * GRANULE as u64)
    }

    /// Removes the files. Processes that have mapped them keep their mappings.
    pub fn unlink(&self) {
        super::PoolView::unlink(&self.table.file);
    }
}

/// The largest number of slots and bytes of a pool, and the size of its slots if they have one.
fn needs(domain: &dyn Domain, options: &PoolOptions) -> Result<(u32, u64, u64), DomainError> {
    let Strategy::FixedSlots { slots, size } = options.strategy else {
        return Ok((options.slots, options.capacity, 0));
    };
    let unit = if domain.capabilities().host_access { GRANULE } else { DEVICE_GRANULE };
    let space = FixedSlots::space(slots, size, unit as u64).filter(|(_, all)| *all <= MAX_CAPACITY);
    match space {
        Some((size, all)) if (1..=MAX_SLOTS).contains(&slots) => Ok((slots, all, size)),
        _ => Err(DomainError::Refused {
            domain: domain.id(),
            action: format!("make {slots} slots of {size} bytes"),
            reason: format!(
                "a pool has 1 to {MAX_SLOTS} slots and at most {MAX_CAPACITY} bytes; choose fewer or smaller ones"
            ),
        }),
    }
}
