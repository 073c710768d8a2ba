//! A pool of host shared memory: its files, its owner's allocator, and other processes' view of it.
//!
//! The format is `spec/pool.md`. Only the owner allocates and frees, and what it needs for that lives in its own
//! memory: nobody else can corrupt it, and there is no lock to die with. What others need to find a slot's bytes is
//! the directory, which they map read-only and whose entries they check before use.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::AsFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use offset_allocator::{Allocation, Allocator};

use crate::control::{Held, SlotControl};
use crate::domain::{DomainId, DomainKind};
use crate::mapping::{Access, Mapping, MemoryError, find_memory};
use crate::size_class::{class_of, class_size};
use crate::sync::atomic::{AtomicU64, Ordering};

/// The unit of allocation in bytes: a cache line.
pub const GRANULE: usize = 64;
const PAGE: usize = 4096;
const MAGIC: u64 = u64::from_le_bytes(*b"SITUPOOL");
const VERSION: u32 = 1;
/// The slot's number in a row has 16 bits.
const MOST_SLOTS: u32 = 1 << 16;

/// How many small slots are cut at once: a power of two.
const SLAB: usize = 16;
/// Up to which size in bytes a slot counts as small.
const SLAB_MOST_SIZE: usize = 1024;

/// The number of a slot in its pool.
pub type SlotId = u32;

/// The first page of a pool's control file.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct PoolHeader {
    magic: u64,
    version: u32,
    header_size: u32,
    /// The pool's own number, drawn at random.
    pub id: u64,
    /// The node that owns it.
    pub owner: u64,
    domain_kind: u32,
    domain_number: u32,
    /// How slots are allocated; 1: size classes over an offset allocator.
    strategy: u32,
    /// How many slots there can be.
    pub slots: u32,
    directory_offset: u64,
    controls_offset: u64,
    /// How large the data file may become, in bytes.
    pub capacity: u64,
}

const _: () = assert!(size_of::<PoolHeader>() == 72);
const STRATEGY_SIZE_CLASSES: u32 = 1;

/// Where a slot's bytes are, as its owner wrote it.
#[repr(C)]
struct DirectoryEntry {
    offset: AtomicU64,
    capacity: AtomicU64,
}

/// How to make a pool.
#[derive(Debug, Clone)]
pub struct PoolOptions {
    /// The pool's number.
    pub id: u64,
    /// The node that owns it.
    pub owner: u64,
    /// The domain of its memory.
    pub domain: DomainId,
    /// At most so many slots; rounded up to a multiple of 64, at most 65,536.
    pub slots: u32,
    /// At most so many bytes. Nothing is used before it is allocated.
    pub capacity: u64,
    /// Permission bits of the files.
    pub mode: u32,
    /// The group of the files, if not the process' own.
    pub group: Option<u32>,
}

/// What a pool holds at the moment.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PoolStatistics {
    /// Slots that have memory.
    pub slots: usize,
    /// Slots that are handed out.
    pub in_use: usize,
    /// Bytes of memory behind all slots.
    pub bytes: u64,
}

/// Why a slot could not be allocated.
#[derive(Debug, thiserror::Error)]
pub enum AllocateError {
    /// The message can never fit.
    #[error(
        "a message of {size} bytes is larger than the pool's capacity of {capacity} bytes; raise the capacity"
    )]
    TooLarge {
        /// What was asked for, in bytes.
        size: u64,
        /// What the pool can hold at most.
        capacity: u64,
    },
    /// Everything is in use.
    #[error(
        "the pool is exhausted: {in_use} of at most {slots} slots are in use ({bytes} of {capacity} bytes), so there is \
         no room for {size} bytes; let subscribers release samples or raise the capacity"
    )]
    Exhausted {
        /// What was asked for, in bytes.
        size: u64,
        /// Slots handed out.
        in_use: usize,
        /// The most slots there can be.
        slots: u32,
        /// Bytes of memory behind the pool's slots.
        bytes: u64,
        /// The most bytes there can be.
        capacity: u64,
    },
    /// The system has no memory left.
    #[error(transparent)]
    Memory(#[from] MemoryError),
}

/// Why another process' pool could not be imported.
#[derive(Debug, thiserror::Error)]
pub enum ViewError {
    /// It is gone: its owner ended and its last message was dropped.
    #[error("the pool {0} no longer exists")]
    Gone(PathBuf),
    /// It cannot be mapped or is not a pool.
    #[error(transparent)]
    Memory(#[from] MemoryError),
}

fn system(action: &'static str, path: &Path, source: io::Error) -> MemoryError {
    MemoryError::System { action, path: path.to_owned(), source }
}

fn malformed(path: &Path, reason: impl Into<String>) -> MemoryError {
    MemoryError::Malformed { path: path.to_owned(), reason: reason.into() }
}

/// The path of the data file beside a control file.
fn data_path(control: &Path) -> PathBuf {
    control.with_extension("data")
}

fn create(path: &Path, size: u64, options: &PoolOptions) -> Result<File, MemoryError> {
    let file = OpenOptions::new()
        .read(true)
        .write(true)
        .create_new(true)
        .mode(options.mode)
        .open(path)
        .map_err(|source| system("create", path, source))?;
    if let Some(group) = options.group {
        rustix::fs::fchown(&file, None, Some(rustix::fs::Gid::from_raw(group)))
            .map_err(|source| system("give to the group", path, source.into()))?;
        rustix::fs::fchmod(&file, rustix::fs::Mode::from_raw_mode(options.mode))
            .map_err(|source| system("set the permissions of", path, source.into()))?;
    }
    file.set_len(size).map_err(|source| system("size", path, source))?;
    Ok(file)
}

/// Where the parts of a control file with `slots` slots lie: directory, controls, end.
fn parts(slots: u32) -> (usize, usize, usize) {
    let directory = PAGE;
    let controls = (directory + slots as usize * size_of::<DirectoryEntry>()).next_multiple_of(PAGE);
    (directory, controls, controls + (slots as usize * size_of::<SlotControl>()).next_multiple_of(PAGE))
}

/// A slot as its owner sees it.
#[derive(Clone, Copy)]
struct Slot {
    allocation: Allocation,
    /// In granules.
    size: u32,
}

/// A pool, seen by the process that owns it. Dropping it leaves the files; [`unlink`](Self::unlink) removes them.
pub struct PoolOwner {
    control_path: PathBuf,
    header: PoolHeader,
    control: Mapping,
    data: Mapping,
    data_file: File,
    /// Made when the first slot is: a topic that never publishes should cost nothing.
    ranges: Option<Allocator<u32>>,
    slots: Vec<Option<Slot>>,
    /// Numbers below `slots.len()` that have no memory at present.
    spare: Vec<SlotId>,
    /// Free slots with memory, by size class; the most recently freed, whose lines are warm, is last.
    free: Vec<Vec<SlotId>>,
    statistics: PoolStatistics,
}

impl PoolOwner {
    /// Creates the files of a pool and maps them.
    pub fn create(control_path: &Path, options: &PoolOptions) -> Result<Self, MemoryError> {
        let slots = options.slots.clamp(64, MOST_SLOTS).next_multiple_of(64);
        // The offset allocator counts granules in 32 bits.
        let most = (u64::from(u32::MAX) - 64) * GRANULE as u64;
        let capacity = options.capacity.clamp(PAGE as u64, most).next_multiple_of(PAGE as u64);
        let (directory_offset, controls_offset, end) = parts(slots);
        let control_file = create(control_path, end as u64, options)?;
        // The directory and the controls are written, also by readers, at moments when no error could be told.
        find_memory(control_file.as_fd(), 0, end as u64)
            .map_err(|source| system("find memory for", control_path, source))?;
        let control = Mapping::new(control_file.as_fd(), 0, end, Access::ReadWrite)
            .map_err(|source| system("map", control_path, source))?;
        let data_path = data_path(control_path);
        let data_file = create(&data_path, capacity, options)?;
        let data = Mapping::new(data_file.as_fd(), 0, capacity as usize, Access::ReadWrite)
            .map_err(|source| system("map", &data_path, source))?;
        let header = PoolHeader {
            magic: MAGIC,
            version: VERSION,
            header_size: size_of::<PoolHeader>() as u32,
            id: options.id,
            owner: options.owner,
            domain_kind: options.domain.kind as u32,
            domain_number: options.domain.number,
            strategy: STRATEGY_SIZE_CLASSES,
            slots,
            directory_offset: directory_offset as u64,
            controls_offset: controls_offset as u64,
            capacity,
        };
        // SAFETY: the mapping is larger than a header, page aligned, writable, and nobody else knows the file yet.
        unsafe { control.base().cast::<PoolHeader>().write(header) };
        Ok(Self {
            control_path: control_path.to_owned(),
            header,
            control,
            data,
            data_file,
            ranges: None,
            slots: Vec::new(),
            spare: Vec::new(),
            free: Vec::new(),
            statistics: PoolStatistics::default(),
        })
    }

    /// The pool's header.
    pub fn header(&self) -> &PoolHeader {
        &self.header
    }

    /// What the pool holds at the moment.
    pub fn statistics(&self) -> PoolStatistics {
        self.statistics
    }

    /// A slot of at least `size` bytes, aligned to a cache line. Its contents are whatever was there before.
    ///
    /// Takes the most recently freed slot of the size class; only when there is none does it cut a new one, and only
    /// then does it call the system.
    pub fn allocate(&mut self, size: usize) -> Result<SlotId, AllocateError> {
        let granules = size.max(1).div_ceil(GRANULE);
        if granules as u64 > self.header.capacity / GRANULE as u64 {
            return Err(AllocateError::TooLarge { size: size as u64, capacity: self.header.capacity });
        }
        let class = class_of(granules as u32);
        if let Some(slot) = self.free.get_mut(class).and_then(Vec::pop) {
            self.statistics.in_use += 1;
            return Ok(slot);
        }
        self.cut(class, granules as u32)
    }

    /// Cuts new slots out of the pool's memory; the slow path of [`allocate`](Self::allocate).
    ///
    /// Small slots are cut by the slab, and handed out in an order in which neighbours do not follow each other:
    /// publishers use their slots in turn, and where turns have a constant stride, the readers' processors prefetch the
    /// next slot's lines away from the owner, who is just about to write them.
    #[cold]
    fn cut(&mut self, class: usize, granules: u32) -> Result<SlotId, AllocateError> {
        let first = self.cut_one(class, granules)?;
        if class_size(class) as usize * GRANULE <= SLAB_MOST_SIZE {
            let slab: Vec<SlotId> = (1..SLAB).map_while(|_| self.cut_one(class, granules).ok()).collect();
            self.statistics.in_use -= slab.len();
            // From the end of the list they come out in steps of 7, modulo the slab.
            let turns = (1..SLAB).rev().map(|turn| turn * 7 % SLAB);
            self.free[class].extend(turns.filter_map(|turn| slab.get(turn - 1)));
        }
        Ok(first)
    }

    fn cut_one(&mut self, class: usize, granules: u32) -> Result<SlotId, AllocateError> {
        // Rounding up to the class must not make impossible what just fits.
        let size = class_size(class).min((self.header.capacity / GRANULE as u64) as u32).max(granules);
        let exhausted = |pool: &Self| AllocateError::Exhausted {
            size: u64::from(granules) * GRANULE as u64,
            in_use: pool.statistics.in_use,
            slots: pool.header.slots,
            bytes: pool.statistics.bytes,
            capacity: pool.header.capacity,
        };
        let mut allocation = self.range_of(size);
        if allocation.is_none() || (self.spare.is_empty() && self.slots.len() as u32 >= self.header.slots) {
            // Free slots of other classes hold the memory or the numbers: give them back and try again.
            self.trim();
            allocation = allocation.or_else(|| self.range_of(size));
        }
        let Some(allocation) = allocation else { return Err(exhausted(self)) };
        let slot = match self.spare.pop() {
            Some(slot) => slot,
            None if (self.slots.len() as u32) < self.header.slots => {
                self.slots.push(None);
                let slot = self.slots.len() as u32 - 1;
                // Generations of different pools begin at different numbers, so that a row which is left over from
                // an earlier pool of the same place in the topic does not match by chance.
                self.control(slot).start_at(self.header.id & 0xffff);
                slot
            }
            None => {
                self.release_range(allocation);
                return Err(exhausted(self));
            }
        };
        let (offset, len) = (u64::from(allocation.offset) * GRANULE as u64, u64::from(size) * GRANULE as u64);
        let mut backed = self.back(offset, len);
        if backed.is_err() && self.free.iter().any(|class| !class.is_empty()) {
            // The system has nothing left, but free slots of other classes have.
            self.trim();
            backed = self.back(offset, len);
        }
        if let Err(error) = backed {
            self.release_range(allocation);
            self.spare.push(slot);
            return Err(error.into());
        }
        let entry = self.entry(slot);
        // Relaxed: readers look here only after they have pinned the slot, which orders this before.
        entry.offset.store(offset, Ordering::Relaxed);
        entry.capacity.store(len, Ordering::Relaxed);
        self.slots[slot as usize] = Some(Slot { allocation, size });
        if self.free.len() <= class {
            self.free.resize_with(class + 1, Vec::new);
        }
        self.statistics.slots += 1;
        self.statistics.in_use += 1;
        self.statistics.bytes += len;
        Ok(slot)
    }

    fn range_of(&mut self, size: u32) -> Option<Allocation> {
        let header = &self.header;
        let ranges = self.ranges.get_or_insert_with(|| {
            Allocator::with_max_allocs((header.capacity / GRANULE as u64) as u32, header.slots * 2)
        });
        ranges.allocate(size)
    }

    fn release_range(&mut self, allocation: Allocation) {
        if let Some(ranges) = &mut self.ranges {
            ranges.free(allocation);
        }
    }

    /// Gives a range real memory now: running out is an error here, where it would be a `SIGBUS` at the first write.
    fn back(&self, offset: u64, len: u64) -> Result<(), MemoryError> {
        find_memory(self.data_file.as_fd(), offset, len)
            .map_err(|source| system("find memory for", &data_path(&self.control_path), source))?;
        self.data.populate(offset as usize, len as usize);
        Ok(())
    }

    /// Gives the memory of all free slots back to the system.
    pub fn trim(&mut self) {
        for slot in self.free.iter_mut().flat_map(std::mem::take).collect::<Vec<_>>() {
            if let Some(Slot { allocation, size }) = self.slots[slot as usize].take() {
                let (offset, len) =
                    (u64::from(allocation.offset) * GRANULE as u64, u64::from(size) * GRANULE as u64);
                let (start, end) =
                    (offset.next_multiple_of(PAGE as u64), (offset + len) / PAGE as u64 * PAGE as u64);
                if start < end {
                    let mode = rustix::fs::FallocateFlags::PUNCH_HOLE | rustix::fs::FallocateFlags::KEEP_SIZE;
                    // Best effort: a file system without holes merely keeps the memory.
                    let _ = rustix::fs::fallocate(&self.data_file, mode, start, end - start);
                }
                self.release_range(allocation);
                self.spare.push(slot);
                self.statistics.slots -= 1;
                self.statistics.bytes -= len;
            }
        }
    }

    /// Returns a slot that was allocated and that no reader holds or can reach any more (see [`SlotControl::retire`]).
    #[inline]
    pub fn free(&mut self, slot: SlotId) {
        let Some(Slot { size, .. }) = self.slots[slot as usize] else { return };
        // The class by which slots of this very size are found: rounding down for one that was cut to the capacity.
        let class = class_of(size);
        let class = if class_size(class) > size { class.saturating_sub(1) } else { class };
        if self.free.len() <= class {
            self.free.resize_with(class + 1, Vec::new);
        }
        self.free[class].push(slot);
        self.statistics.in_use -= 1;
    }

    /// The control of an allocated slot.
    #[inline]
    pub fn control(&self, slot: SlotId) -> &SlotControl {
        assert!(slot < self.header.slots);
        let offset = self.header.controls_offset as usize + slot as usize * size_of::<SlotControl>();
        // SAFETY: `parts` laid the controls of all slots out within the mapping, aligned; they consist of atomics, so
        // that sharing them with other processes is no data race, and any bits are valid.
        unsafe { &*self.control.base().add(offset).cast::<SlotControl>() }
    }

    #[inline]
    fn entry(&self, slot: SlotId) -> &DirectoryEntry {
        assert!(slot < self.header.slots);
        let offset = self.header.directory_offset as usize + slot as usize * size_of::<DirectoryEntry>();
        // SAFETY: as in `control`.
        unsafe { &*self.control.base().add(offset).cast::<DirectoryEntry>() }
    }

    /// The first byte of an allocated slot, and how many there are.
    #[inline]
    pub fn memory(&self, slot: SlotId) -> (*mut u8, usize) {
        match self.slots[slot as usize] {
            Some(Slot { allocation, size }) => {
                let offset = allocation.offset as usize * GRANULE;
                (self.data.base().wrapping_add(offset), size as usize * GRANULE)
            }
            None => (std::ptr::dangling_mut(), 0),
        }
    }

    /// A checked range of the pool's memory.
    pub(crate) fn range(&self, offset: usize, len: usize) -> Result<*mut u8, MemoryError> {
        match offset.checked_add(len) {
            Some(end) if end <= self.data.len() => Ok(self.data.base().wrapping_add(offset)),
            _ => Err(malformed(&self.control_path, format!("bytes {offset}+{len} lie outside of the pool"))),
        }
    }

    /// Removes the files. Those who have them mapped keep them.
    pub fn unlink(&self) {
        unlink_pool(&self.control_path);
    }
}

/// Removes the files of a pool, if they are there.
pub(crate) fn unlink_pool(control: &Path) {
    let _ = std::fs::remove_file(control);
    let _ = std::fs::remove_file(data_path(control));
}

/// A pool, seen by a process that reads from it.
#[derive(Debug)]
pub struct PoolView {
    path: PathBuf,
    header: PoolHeader,
    directory: Mapping,
    controls: Mapping,
    data: Mapping,
}

impl PoolView {
    /// Maps another process' pool: its bytes and directory read-only, its controls for pinning.
    ///
    /// Everything in the header is checked against the sizes of the files, so that no later access can leave them.
    pub fn open(control_path: &Path) -> Result<Self, ViewError> {
        // It may be anything: links are not followed, and a pipe is not waited for.
        let flags = rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::NONBLOCK;
        let open = |path: &Path, write: bool| {
            let mut options = OpenOptions::new();
            match options.read(true).write(write).custom_flags(flags.bits() as i32).open(path) {
                Ok(file) => Ok(file),
                Err(error) if error.kind() == io::ErrorKind::NotFound => {
                    Err(ViewError::Gone(control_path.to_owned()))
                }
                Err(error) => Err(system("open", path, error).into()),
            }
        };
        let control_file = open(control_path, true)?;
        let header = read_header(&control_file, control_path)?;
        let (_, controls_offset, end) = parts(header.slots);
        let map = |file: &File, path: &Path, offset: usize, len: usize, access| {
            Mapping::new(file.as_fd(), offset as u64, len, access)
                .map_err(|source| system("map", path, source))
        };
        let directory = map(&control_file, control_path, 0, controls_offset, Access::Read)?;
        let controls =
            map(&control_file, control_path, controls_offset, end - controls_offset, Access::ReadWrite)?;
        let data_path = data_path(control_path);
        let data_file = open(&data_path, false)?;
        let size = data_file.metadata().map_err(|source| system("look at", &data_path, source))?.len();
        if size < header.capacity {
            return Err(malformed(&data_path, format!("{size} bytes, {} promised", header.capacity)).into());
        }
        let data = map(&data_file, &data_path, 0, header.capacity as usize, Access::Read)?;
        Ok(Self { path: control_path.to_owned(), header, directory, controls, data })
    }

    /// The pool's header, as it was when it was opened.
    pub fn header(&self) -> &PoolHeader {
        &self.header
    }

    /// The control of a slot, or nothing for a number that the pool does not have.
    #[inline]
    pub fn control(&self, slot: SlotId) -> Option<&SlotControl> {
        let control = self.controls.at::<SlotControl>(slot as usize * size_of::<SlotControl>())?;
        // SAFETY: `at` checked bounds and alignment; a control consists of atomics, and any bits are valid.
        Some(unsafe { &*control })
    }

    /// The bytes of a pinned slot: where they begin and how many there are. Nothing if the directory, which another
    /// process writes, names a place outside of the pool.
    #[inline]
    pub fn memory(&self, slot: SlotId) -> Option<(*const u8, usize)> {
        if slot >= self.header.slots {
            return None;
        }
        let entry = self.directory.at::<DirectoryEntry>(
            self.header.directory_offset as usize + slot as usize * size_of::<DirectoryEntry>(),
        )?;
        // SAFETY: `at` checked bounds and alignment; an entry consists of atomics.
        let entry = unsafe { &*entry };
        let offset = usize::try_from(entry.offset.load(Ordering::Relaxed)).ok()?;
        let len = usize::try_from(entry.capacity.load(Ordering::Relaxed)).ok()?;
        if offset.checked_add(len)? > self.data.len() || !offset.is_multiple_of(GRANULE) {
            return None;
        }
        Some((self.data.base().wrapping_add(offset).cast_const(), len))
    }

    /// A checked range of the pool's memory.
    pub(crate) fn range(&self, offset: usize, len: usize) -> Result<*const u8, MemoryError> {
        match offset.checked_add(len) {
            Some(end) if end <= self.data.len() => Ok(self.data.base().wrapping_add(offset).cast_const()),
            _ => Err(malformed(&self.path, format!("bytes {offset}+{len} lie outside of the pool"))),
        }
    }

    /// Lets go of every slot that `place` holds: for a reader that is known to be dead and whose place is not given
    /// to anybody else meanwhile. Gives how many it held.
    pub fn release_all(&self, place: usize) -> usize {
        (0..self.header.slots)
            .filter_map(|slot| self.control(slot))
            .filter(|control| control.holds(place))
            .map(|control| control.release(place))
            .count()
    }

    /// How many slots are held by anybody, and how many have memory.
    pub fn usage(&self) -> (usize, usize) {
        let with_memory =
            (0..self.header.slots).take_while(|slot| matches!(self.memory(*slot), Some((_, 1..))));
        with_memory.fold((0, 0), |(held, all), slot| {
            let is_held = self.control(slot).is_some_and(|control| control.held() == Held::Yes);
            (held + usize::from(is_held), all + 1)
        })
    }

    /// How many bytes of memory the files of the pool at this path take; 0 if it is gone.
    pub fn memory_bytes(control_path: &Path) -> u64 {
        use std::os::unix::fs::MetadataExt;
        let blocks = |path: &Path| path.metadata().map_or(0, |metadata| metadata.blocks());
        (blocks(control_path) + blocks(&data_path(control_path))) * 512
    }

    /// Removes the files of the pool at this path.
    pub fn unlink(control_path: &Path) {
        unlink_pool(control_path);
    }
}

/// Reads and checks a header.
fn read_header(file: &File, path: &Path) -> Result<PoolHeader, MemoryError> {
    use std::os::unix::fs::FileExt;
    let mut bytes = [0u8; size_of::<PoolHeader>()];
    file.read_exact_at(&mut bytes, 0).map_err(|source| system("read", path, source))?;
    // SAFETY: a header is plain numbers without padding; the bytes need no alignment for an unaligned read.
    let header = unsafe { bytes.as_ptr().cast::<PoolHeader>().read_unaligned() };
    let (directory, controls, end) = parts(header.slots.clamp(64, MOST_SLOTS));
    let size = file.metadata().map_err(|source| system("look at", path, source))?.len();
    let checks = [
        (header.magic == MAGIC, "it does not begin with SITUPOOL"),
        (header.version == VERSION, "it was written by another version of Situ"),
        (
            (64..=MOST_SLOTS).contains(&header.slots) && header.slots.is_multiple_of(64),
            "impossible number of slots",
        ),
        (header.directory_offset == directory as u64, "the directory is not where it belongs"),
        (header.controls_offset == controls as u64, "the controls are not where they belong"),
        (size >= end as u64, "the file is too short"),
        (DomainKind::from_number(header.domain_kind).is_some(), "unknown memory domain"),
        (
            usize::try_from(header.capacity).is_ok_and(|c| c > 0 && c.is_multiple_of(PAGE)),
            "impossible capacity",
        ),
    ];
    match checks.iter().find(|(ok, _)| !ok) {
        Some((_, reason)) => Err(malformed(path, *reason)),
        None => Ok(header),
    }
}

impl PoolHeader {
    /// The domain of the pool's memory.
    pub fn domain(&self) -> DomainId {
        DomainId {
            kind: DomainKind::from_number(self.domain_kind).unwrap_or(DomainKind::Host),
            number: self.domain_number,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::mem::offset_of;

    use super::*;

    /// The rows of the table below a heading of `spec/pool.md`: offset, size, name.
    fn table(heading: &str) -> Vec<(usize, usize, &'static str)> {
        let page = include_str!("../../../spec/pool.md");
        let section = page.split(&format!("### {heading}\n")).nth(1).expect("the section is there");
        let section = section.split("\n#").next().unwrap();
        section
            .lines()
            .filter_map(|line| {
                let mut cells = line.strip_prefix("| ")?.split('|').map(str::trim);
                let (offset, size) = (cells.next()?.parse().ok()?, cells.next()?.parse().ok()?);
                Some((offset, size, cells.next()?.trim_matches('`')))
            })
            .collect()
    }

    #[test]
    fn the_specification_names_every_field_where_it_is() {
        assert_eq!(
            table("Header"),
            [
                (offset_of!(PoolHeader, magic), 8, "magic"),
                (offset_of!(PoolHeader, version), 4, "version"),
                (offset_of!(PoolHeader, header_size), 4, "header_size"),
                (offset_of!(PoolHeader, id), 8, "id"),
                (offset_of!(PoolHeader, owner), 8, "owner"),
                (offset_of!(PoolHeader, domain_kind), 4, "domain_kind"),
                (offset_of!(PoolHeader, domain_number), 4, "domain_number"),
                (offset_of!(PoolHeader, strategy), 4, "strategy"),
                (offset_of!(PoolHeader, slots), 4, "slots"),
                (offset_of!(PoolHeader, directory_offset), 8, "directory_offset"),
                (offset_of!(PoolHeader, controls_offset), 8, "controls_offset"),
                (offset_of!(PoolHeader, capacity), 8, "capacity"),
            ]
        );
        assert_eq!(
            table("Directory entry"),
            [
                (offset_of!(DirectoryEntry, offset), 8, "offset"),
                (offset_of!(DirectoryEntry, capacity), 8, "capacity"),
            ]
        );
        assert_eq!(table("Control"), crate::control::FIELDS);
        assert_eq!(size_of::<DirectoryEntry>(), 16);
        // Worked out by hand for 64 slots: a page; 64 x 16, to a whole page; 64 x 128.
        assert_eq!(parts(64), (4096, 8192, 16384));
        assert_eq!(parts(65536), (4096, 1_052_672, 9_441_280));
    }
}
