//! A pool, as used by processes that do not own it: its metadata, and its bytes if they have access to its
//! domain.

use std::fs::{File, Metadata};
use std::io;
use std::os::fd::AsFd;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::ptr::NonNull;
use std::sync::atomic::AtomicPtr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use super::format::{CONTROLS_OFFSET, CUT_OFFSET, MAGIC, PAGE, control_size, data_path, read_header};
use super::table::Base;
use super::{GRANULE, PoolHeader, SlotId, ViewError, malformed, system};
use crate::domain::set::Domains;
use crate::domain::traits::{Domain, DomainError, Memory, Sharing};
use crate::os::beneath::{Beginning, Beneath, beginning};
use crate::os::fd_passing::{self, Answer};
use crate::os::guard;
use crate::os::mapped_range::Access;
use crate::os::mapping::{Mapping, MemoryError};
use crate::sync::atomic::AtomicU64;
use crate::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use crate::sync::fence::Fence;
use crate::sync::slot_control::SlotControl;

/// How long an owner may take to hand out a descriptor: its thread does nothing else, unless it is stopped.
const TIMEOUT: Duration = Duration::from_secs(2);

/// What a process can see of another process's pool without its bytes: for readers, repair and inspection. It
/// lies in host shared memory, so it needs no access to the pool's domain.
#[derive(Debug)]
pub struct PoolMetadata {
    place: Beneath,
    header: PoolHeader,
    /// How many bytes of its memory this reader uses: all, or the limit that it was opened with.
    within: u64,
    /// The user that owns the control file.
    user: u32,
    /// See [`PoolView::is_only_ours`].
    only_ours: bool,
    mapped: Arc<Mapping>,
    /// The first byte of `mapped`.
    base: Base,
    /// How many slots are known to have a control.
    cut: AtomicU64,
}

fn open(control: &Beneath, place: &Beneath, write: bool) -> Result<File, ViewError> {
    match place.open(write) {
        Ok(file) => Ok(file),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            Err(ViewError::Gone(control.path().to_owned()))
        }
        Err(error) => Err(system("open", place.path(), error).into()),
    }
}

/// Whether only this process's user and the superuser may write to a file.
fn is_only_ours(metadata: &Metadata) -> bool {
    let trusted = [rustix::process::geteuid().as_raw(), 0];
    trusted.contains(&metadata.uid()) && metadata.mode() & 0o022 == 0
}

impl PoolMetadata {
    /// Maps a pool's control file. Only who ends or awaits fences needs to write it.
    ///
    /// The header is checked against the size of the file, so that no later access can leave the file.
    pub fn open(place: impl Into<Beneath>, access: Access) -> Result<Self, ViewError> {
        let place = place.into();
        let (file, control_path) = (open(&place, &place, access == Access::ReadWrite)?, place.path());
        let header = read_header(&file, control_path)?;
        let metadata = file.metadata().map_err(|source| system("look at", control_path, source))?;
        let (user, only_ours) = (metadata.uid(), is_only_ours(&metadata));
        let mapped = Mapping::without_filling(file.as_fd(), control_size(header.slots), access)
            .map_err(|source| MemoryError::not_mapped(control_path, source))?;
        let (base, cut, within) = (Base(mapped.base()), AtomicU64::new(0), header.capacity);
        Ok(Self { place, header, within, user, only_ours, mapped: Arc::new(mapped), base, cut })
    }

    /// The path of the control file.
    pub fn path(&self) -> &Path {
        self.place.path()
    }

    /// The pool's header, as it was when it was opened.
    pub fn header(&self) -> &PoolHeader {
        &self.header
    }

    /// The control of a slot; `None` for a number that the pool does not have.
    #[inline]
    pub fn control(&self, slot: SlotId) -> Option<&SlotControl> {
        if u64::from(slot) >= self.cut.load(Relaxed) && !self.is_cut(slot) {
            return None;
        }
        // SAFETY: the controls of all slots lie in the mapping, which `mapped` keeps, aligned. A control
        // consists of atomics, and any bits are valid.
        Some(unsafe {
            let first = self.base.0.add(CONTROLS_OFFSET).cast::<SlotControl>();
            &*first.add(slot as usize)
        })
    }

    /// Whether the owner has cut this slot: others have no control yet.
    #[cold]
    fn is_cut(&self, slot: SlotId) -> bool {
        // SAFETY: the word lies in the first page of the mapping, aligned.
        let cut = unsafe { &*self.base.0.add(CUT_OFFSET).cast::<AtomicU64>() };
        // Acquire: the controls had memory before they were counted.
        let cut = cut.load(Acquire).min(u64::from(self.header.slots));
        self.cut.store(cut, Relaxed);
        u64::from(slot) < cut
    }

    /// The fence of a held slot's bytes. `None` also if the control file is mapped for reading only.
    pub fn fence(&self, slot: SlotId) -> Option<Fence> {
        if self.mapped.access() != Access::ReadWrite {
            return None;
        }
        let control = self.control(slot)?;
        let value = control.generation().wrapping_add(1);
        let (words, end) = (NonNull::from(control.fence()), NonNull::from(control.fence_end()));
        // SAFETY: the words lie in the mapping of the controls, which the fence keeps.
        Some(unsafe { Fence::new(words, value, self.mapped.clone()).noting(end) })
    }

    /// Notes that this process has registered the bytes of a slot that it holds with a device's driver: see
    /// [`SlotControl::note_registered`]. Returns false if it may not write that.
    pub fn note_registered(&self, slot: SlotId) -> bool {
        if self.mapped.access() == Access::ReadWrite {
            return self.control(slot).map(SlotControl::note_registered).is_some();
        }
        let writable = Self::open(&self.place, Access::ReadWrite);
        writable.is_ok_and(|writable| {
            writable.header.id == self.header.id
                && writable.control(slot).map(SlotControl::note_registered).is_some()
        })
    }

    /// A slot's offset and length as in its control, which another process writes.
    #[inline]
    fn entry(&self, slot: SlotId) -> Option<(u64, u64)> {
        self.control(slot).map(SlotControl::place)
    }

    /// Offset and length of a held slot in the pool's memory. `None` if the control, which another
    /// process writes, names a place outside of the pool.
    #[inline]
    pub fn place(&self, slot: SlotId) -> Option<(u64, u64)> {
        let (offset, len) = self.entry(slot)?;
        let fits = offset.checked_add(len)? <= self.within && offset.is_multiple_of(GRANULE as u64);
        fits.then_some((offset, len))
    }

    /// The end of a slot that lies in the pool but beyond this reader's limit.
    pub fn beyond_reach(&self, slot: SlotId) -> Option<u64> {
        let (offset, len) = self.entry(slot)?;
        offset.checked_add(len).filter(|end| (self.within + 1..=self.header.capacity).contains(end))
    }

    /// Poisons the pending fences of an owner that is known to be dead, so that no process waits for it for
    /// ever. Returns how many there were, those of slots that were never published included.
    pub fn poison(&self) -> usize {
        (0..self.header.slots)
            .take_while(|slot| matches!(self.place(*slot), Some((_, 1..))))
            .filter_map(|slot| self.fence(slot))
            .filter(Fence::poison)
            .count()
    }

    /// Whether the control file was shortened while it was mapped, as [the guard](crate::guard) has found.
    pub fn is_damaged(&self) -> bool {
        self.mapped.is_damaged()
    }

    /// How many slots there are.
    pub fn slots(&self) -> usize {
        (0..self.header.slots).take_while(|slot| matches!(self.place(*slot), Some((_, 1..)))).count()
    }
}

/// Where the bytes of a slot are.
#[derive(Debug, Clone, Copy)]
pub struct Lent {
    /// Their offset in the pool's memory.
    pub offset: u64,
    /// Their address.
    pub memory: *const u8,
    /// Their number.
    pub len: usize,
}

/// A pool, as used by a process that reads from it.
#[derive(Debug)]
pub struct PoolView {
    metadata: PoolMetadata,
    bytes: Arc<dyn Memory>,
    /// Whether the CPU may touch the bytes.
    host: bool,
    /// The address at which the CPU finds everything before `reach`. Stored before `reach`, both under the
    /// lock.
    base: AtomicPtr<u8>,
    reach: AtomicU64,
    reaching: Mutex<()>,
    /// For each slot, the place that was found to have memory: offset and length in granules of 64 bytes, as
    /// two halves.
    found: Box<[std::sync::atomic::AtomicU64]>,
    only_ours: bool,
}

impl PoolView {
    /// Opens another process's pool and imports its memory, whose domain must be one of `domains`. Only who
    /// ends or awaits fences needs to write its control file.
    pub fn open(domains: &Domains, place: impl Into<Beneath>, access: Access) -> Result<Self, ViewError> {
        Self::open_within(domains, place, access, u64::MAX)
    }

    /// The same, but maps at most the first `most` bytes of its memory: slots that reach further have no
    /// place.
    pub fn open_within(
        domains: &Domains,
        place: impl Into<Beneath>,
        access: Access,
        most: u64,
    ) -> Result<Self, ViewError> {
        let mut metadata = PoolMetadata::open(place, access)?;
        metadata.within = metadata.within.min(most / PAGE as u64 * PAGE as u64).max(PAGE as u64);
        let domain = domains.get(metadata.header.domain())?;
        let (bytes, only_ours) = import(domain.as_ref(), &metadata)?;
        if let Some(fence) = metadata.fence(0) {
            domain.expect(&fence);
        }
        let host = bytes.host(0, 0)?.is_some();
        let (base, reach) = (AtomicPtr::new(std::ptr::null_mut()), AtomicU64::new(0));
        // SAFETY: all zeroes are an atomic number. (Pages that are never used get no memory.)
        let found = unsafe { Box::new_zeroed_slice(metadata.header.slots as usize).assume_init() };
        Ok(Self { metadata, bytes, host, base, reach, reaching: Mutex::new(()), found, only_ours })
    }

    /// Whether only this process's user and the superuser may write to the pool, by the owner and the
    /// permission bits that its files had when they were opened. If not, the bytes that this process reads
    /// may change at any time.
    pub fn is_only_ours(&self) -> bool {
        self.only_ours
    }

    /// The part of the pool that needs no access to its bytes.
    pub fn metadata(&self) -> &PoolMetadata {
        &self.metadata
    }

    /// The pool's header, as it was when it was opened.
    pub fn header(&self) -> &PoolHeader {
        &self.metadata.header
    }

    /// The memory that its slots are cut from. Only for reading.
    pub fn bytes(&self) -> &Arc<dyn Memory> {
        &self.bytes
    }

    /// The control of a slot; `None` for a number that the pool does not have.
    #[inline]
    pub fn control(&self, slot: SlotId) -> Option<&SlotControl> {
        self.metadata.control(slot)
    }

    /// The fence of a held slot's bytes.
    pub fn fence(&self, slot: SlotId) -> Option<Fence> {
        self.metadata.fence(slot)
    }

    /// Offset and length of a held slot in [`bytes`](Self::bytes): see [`PoolMetadata::place`]. From now on
    /// these bytes can be used, whatever happens to the pool's files.
    #[inline]
    pub fn place(&self, slot: SlotId) -> Option<(u64, u64)> {
        let (offset, len) = self.metadata.place(slot)?;
        // Acquire: the thread that stored this `reach` had stored a base that covers it.
        if offset + len > self.reach.load(Acquire) && self.reach(offset + len).is_err() {
            return None;
        }
        Some((offset, len))
    }

    /// Where the first byte of a slot was the last time: to fetch its lines before its control is here.
    /// Nothing may be accessed there.
    #[inline]
    pub fn last_address(&self, slot: SlotId) -> *const u8 {
        let known = self.found.get(slot as usize).map_or(0, |found| found.load(Relaxed));
        self.base.load(Relaxed).wrapping_add((known >> 32) as usize * GRANULE).cast_const()
    }

    /// The first byte of a held slot and its length. `None` where the CPU may not touch the bytes, or if
    /// the control, which another process writes, names a place outside of the pool or without memory.
    ///
    /// The first 64 bytes may be read at once. Before reading further, call [`find`](Self::find) to make sure
    /// that they have memory.
    #[inline]
    pub fn memory(&self, slot: SlotId) -> Option<(*const u8, usize)> {
        self.lent(slot).map(|lent| (lent.memory, lent.len))
    }

    /// The same, with the offset in the pool.
    #[inline]
    pub fn lent(&self, slot: SlotId) -> Option<Lent> {
        let (offset, len) = self.place(slot)?;
        if !self.host || self.find(slot, offset, (GRANULE as u64).min(len)).is_err() {
            return None;
        }
        let memory = self.base.load(Relaxed).wrapping_add(offset as usize).cast_const();
        Some(Lent { offset, memory, len: len as usize })
    }

    /// Makes sure that the `len` bytes at `offset` of a held slot have memory: see [`Memory::find`]. This
    /// looks once for each place that a slot has.
    #[inline]
    pub fn find(&self, slot: SlotId, offset: u64, len: u64) -> Result<(), ViewError> {
        let granules = (offset / GRANULE as u64, len.div_ceil(GRANULE as u64));
        let known = self.found.get(slot as usize).map_or(0, |found| found.load(Relaxed));
        if known >> 32 == granules.0 && known & 0xffff_ffff >= granules.1 {
            return Ok(());
        }
        self.find_anew(slot, (offset, len), granules)
    }

    #[cold]
    fn find_anew(
        &self,
        slot: SlotId,
        (offset, len): (u64, u64),
        granules: (u64, u64),
    ) -> Result<(), ViewError> {
        self.bytes.find(offset, len).map_err(|error| match error {
            DomainError::Memory(MemoryError::System { source, .. })
                if source.kind() == io::ErrorKind::NotFound =>
            {
                ViewError::Gone(self.metadata.path().to_owned())
            }
            error => error.into(),
        })?;
        // Two readers may find different lengths; the one that is overwritten is looked for again.
        if let Some(found) = self.found.get(slot as usize) {
            found.store(granules.0 << 32 | granules.1 & 0xffff_ffff, Relaxed);
        }
        Ok(())
    }

    /// Why [`memory`](Self::memory) returns nothing for a slot whose place lies in the pool, if it cannot be
    /// mapped.
    pub fn unreachable(&self, slot: SlotId) -> Option<ViewError> {
        let (offset, len) = self.metadata.place(slot)?;
        let reached = self.reach(offset + len).map_err(|error| match error {
            DomainError::Memory(MemoryError::System { source, path, .. })
                if source.kind() == io::ErrorKind::NotFound =>
            {
                ViewError::Gone(path)
            }
            error => error.into(),
        });
        reached.and_then(|()| self.find(slot, offset, (GRANULE as u64).min(len))).err()
    }

    /// Maps everything before `end`, if it is not mapped yet.
    #[cold]
    fn reach(&self, end: u64) -> Result<(), DomainError> {
        let _alone = self.reaching.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(base) = self.bytes.host(0, end)? {
            self.base.store(base, Relaxed);
        }
        self.reach.fetch_max(end, Release);
        Ok(())
    }

    /// Which of its files was shortened while it was mapped, if [the guard](crate::guard) has found one.
    #[cold]
    pub fn damage(&self) -> Option<MemoryError> {
        let base = self.base.load(Relaxed);
        let path = if self.metadata.is_damaged() {
            self.metadata.path().to_owned()
        } else if !base.is_null() && guard::is_damaged_at(base) {
            data_path(&self.metadata.place).path().to_owned()
        } else {
            return None;
        };
        Some(MemoryError::Truncated { path })
    }

    /// The bytes of memory that the pool at this path takes: that of its files. If its memory is no file,
    /// this adds its whole capacity, because such memory is taken as a whole. 0 if the pool is gone.
    pub fn memory_bytes(place: impl Into<Beneath>) -> u64 {
        let place = place.into();
        let blocks = |place: &Beneath| place.stat().ok().map(|stat| stat.st_blocks as u64 * 512);
        let Some(control) = blocks(&place) else { return 0 };
        let memory = blocks(&data_path(&place)).or_else(|| {
            let file = open(&place, &place, false).ok()?;
            Some(read_header(&file, place.path()).ok()?.capacity)
        });
        control + memory.unwrap_or(0)
    }

    /// Removes the files of the pool at this path, if the control file begins as one. Processes that have
    /// mapped them keep their mappings.
    ///
    /// The data file has no mark of its own, so it goes first: while it exists, the control file says which
    /// pool it belongs to.
    pub fn unlink(place: impl Into<Beneath>) {
        let control = place.into();
        let is_pool = |file: &File| beginning(file, &MAGIC.to_le_bytes()) != Beginning::Foreign;
        if control.open(false).is_ok_and(|file| is_pool(&file)) {
            data_path(&control).remove_if(|_| true);
            control.remove_if(is_pool);
        }
    }
}

/// Imports the memory of a pool, and checks that it is as large as its header says. Also returns whether only
/// our user may write to it.
fn import(domain: &dyn Domain, metadata: &PoolMetadata) -> Result<(Arc<dyn Memory>, bool), ViewError> {
    let (place, capacity) = (&metadata.place, metadata.within);
    let path = place.path();
    let (descriptor, only_ours) = match domain.capabilities().sharing {
        // For writing, if that is allowed. This process does not write, but drivers register only memory that
        // it may write.
        Sharing::File => {
            let data = data_path(place);
            let file = open(place, &data, true).or_else(|_| open(place, &data, false))?;
            let found = file.metadata().map_err(|source| system("look at", data.path(), source))?;
            (file.into(), metadata.only_ours && is_only_ours(&found))
        }
        // The sender must be the user that owns the control file.
        Sharing::Descriptor => match fd_passing::ask(metadata.header.id, metadata.user, capacity, TIMEOUT)? {
            Answer::Descriptor(descriptor) => (descriptor, metadata.only_ours),
            Answer::Gone => return Err(ViewError::Gone(path.to_owned())),
            Answer::Late => {
                return Err(DomainError::TimedOut { domain: domain.id(), waited: TIMEOUT }.into());
            }
        },
    };
    // A file has only as much as its owner has used so far: the rest is checked when a slot lies there.
    let bytes = domain.import(descriptor, capacity)?;
    if bytes.size() < capacity {
        return Err(malformed(path, format!("{} bytes, {capacity} promised", bytes.size())).into());
    }
    Ok((bytes, only_ours))
}
