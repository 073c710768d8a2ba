//! A range of addresses at which a file is mapped. No other code maps files.

use std::ffi::c_void;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::ptr::NonNull;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rustix::mm::{MapFlags, MprotectFlags, ProtFlags};

use crate::os::extent::Extent;
use crate::os::fork::{Hold, Process, Registered, register};
use crate::os::guard::Guarded;

const PAGE: usize = 4096;

/// What a mapping allows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// No access: every access raises `SIGSEGV`. For memory that has an address but is not the CPU's.
    None,
    /// Reading only: a write raises `SIGSEGV`.
    Read,
    /// Reading and writing.
    ReadWrite,
}

impl Access {
    fn protection(self) -> MprotectFlags {
        match self {
            Self::None => MprotectFlags::empty(),
            Self::Read => MprotectFlags::READ,
            Self::ReadWrite => MprotectFlags::READ | MprotectFlags::WRITE,
        }
    }
}

/// Locks the pages of a range as they are used (`MLOCK_ONFAULT`), if the range is locked as a whole, as by
/// `mlockall`. Otherwise the kernel would find memory for all of it as soon as it becomes writable. The range
/// is mapped, has one access, and begins at a page.
pub(crate) fn lock_as_used(begin: NonNull<u8>, len: usize) -> io::Result<()> {
    let first = begin.as_ptr().cast::<c_void>();
    // SAFETY: the range is mapped. Asking to invalidate pages changes none of a memory file system's pages,
    // and no private ones.
    let locked = unsafe { rustix::mm::msync(first, PAGE.min(len), rustix::mm::MsyncFlags::INVALIDATE) };
    if locked == Err(rustix::io::Errno::BUSY) {
        // SAFETY: as above; locking does not change contents.
        let lazily = unsafe { rustix::mm::mlock_with(first, len, rustix::mm::MlockFlags::ONFAULT) };
        if lazily.is_err() {
            // SAFETY: as above.
            unsafe { rustix::mm::munlock(first, len) }?;
        }
    }
    Ok(())
}

/// A range of addresses at which a file is mapped. Unmapped on drop.
#[derive(Debug)]
pub(super) struct MappedRange {
    extent: Extent,
    /// The largest access: that of the descriptor by which it was mapped, as far as is known.
    most: Access,
    /// The number of its present writers. If it was mapped for writing, it is writable exactly while there
    /// are some.
    writers: Mutex<usize>,
    /// The process that made it. A forked child has private zeroes here.
    process: Process,
    /// `None` once it is about to be unmapped.
    held: Option<Known>,
}

/// The range's entries in the guard's table and in the list for forked children. They are dropped in this
/// order, because the guard's place uses the other's number.
#[derive(Debug)]
struct Known {
    guarded: Option<Guarded>,
    _registered: Registered,
}

impl Known {
    fn new(extent: Extent) -> Self {
        let registered = register(Hold::Mapping(extent));
        let begin = extent.base.as_ptr() as usize;
        let guarded = Guarded::new(registered.number(), begin, extent.len, extent.protection.bits());
        Self { guarded, _registered: registered }
    }
}

// SAFETY: a range is addresses; each access to the bytes says why it is sound.
unsafe impl Send for MappedRange {}
// SAFETY: as above; its other state is behind a lock.
unsafe impl Sync for MappedRange {}

impl MappedRange {
    /// Maps `len` bytes of `file` from `offset` (a multiple of the page size), shared with every other
    /// process; at `hint`, if no other mapping is there. If it may be written, it has one writer.
    pub(super) fn new(
        hint: *mut c_void,
        file: BorrowedFd<'_>,
        offset: u64,
        len: usize,
        access: Access,
    ) -> io::Result<Arc<Self>> {
        let extent = map(hint, file, offset, len, access)?;
        Ok(Self::of(extent, access))
    }

    /// The same from the file's beginning, without taking memory for holes.
    ///
    /// Where the program has called `mlockall(MCL_FUTURE)`, the kernel finds memory for every page of a new
    /// mapping, those in holes of the file included. That would fill the file system. The mapping therefore
    /// begins without access, so that nothing is filled. If it is locked, its pages then become locked as
    /// they are used (`MLOCK_ONFAULT`).
    pub(super) fn without_filling(
        hint: *mut c_void,
        file: BorrowedFd<'_>,
        len: usize,
        access: Access,
    ) -> io::Result<Arc<Self>> {
        let mut extent = map(hint, file, 0, len, Access::None)?;
        let first = extent.base.as_ptr().cast::<c_void>();
        let opened = lock_as_used(extent.base, len).and_then(|()| {
            // SAFETY: the range was just mapped, and no code has a pointer to it yet.
            unsafe { rustix::mm::mprotect(first, len, access.protection()) }.map_err(io::Error::from)
        });
        extent.protection = ProtFlags::from_bits_retain(access.protection().bits());
        let range = Self::of(extent, access);
        opened.map(|()| range)
    }

    fn of(extent: Extent, access: Access) -> Arc<Self> {
        let (writers, process) = (Mutex::new(usize::from(access == Access::ReadWrite)), Process::this());
        Arc::new(Self { extent, most: access, writers, process, held: Some(Known::new(extent)) })
    }

    pub(super) fn extent(&self) -> Extent {
        self.extent
    }

    /// Whether it can be made writable.
    pub(super) fn may_write(&self) -> bool {
        self.most == Access::ReadWrite
    }

    /// Whether this process made it, and not an ancestor that this was forked from.
    pub(super) fn is_ours(&self) -> bool {
        self.process.is_this()
    }

    /// See [`Mapping::is_damaged`](super::mapping::Mapping::is_damaged).
    pub(super) fn is_damaged(&self) -> bool {
        let guarded = self.held.as_ref().and_then(|held| held.guarded.as_ref());
        guarded.is_some_and(Guarded::is_damaged)
    }

    fn writers(&self) -> MutexGuard<'_, usize> {
        // The number is consistent at every step.
        self.writers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// One more participant writes. An error if the kernel refuses, as it does if the file was opened for
    /// reading.
    pub(super) fn begin_writing(&self) -> io::Result<()> {
        // A forked child has memory of its own, and its parent may have held the lock.
        if !self.is_ours() {
            return Ok(());
        }
        let mut writers = self.writers();
        if *writers == 0 {
            self.protect(MprotectFlags::READ | MprotectFlags::WRITE)?;
        }
        *writers += 1;
        Ok(())
    }

    /// One participant writes no longer.
    pub(super) fn end_writing(&self) -> io::Result<()> {
        if !self.is_ours() {
            return Ok(());
        }
        let mut writers = self.writers();
        if *writers == 1 {
            self.protect(MprotectFlags::READ)?;
        }
        *writers -= 1;
        Ok(())
    }

    fn protect(&self, flags: MprotectFlags) -> io::Result<()> {
        let first = self.extent.base.as_ptr().cast::<c_void>();
        // SAFETY: the range is mapped, and stays readable. Participants write only while they are counted.
        Ok(unsafe { rustix::mm::mprotect(first, self.extent.len, flags) }?)
    }
}

fn map(
    hint: *mut c_void,
    file: BorrowedFd<'_>,
    offset: u64,
    len: usize,
    access: Access,
) -> io::Result<Extent> {
    let protection = ProtFlags::from_bits_retain(access.protection().bits());
    // SAFETY: the kernel chooses the address, so no existing mapping is replaced.
    let base = unsafe { rustix::mm::mmap(hint, len, protection, MapFlags::SHARED, file.as_fd(), offset) }?;
    let base = NonNull::new(base.cast::<u8>()).ok_or_else(|| io::Error::other("mapped at address zero"))?;
    Ok(Extent { base, len, protection })
}

impl Drop for MappedRange {
    fn drop(&mut self) {
        // This comes first: otherwise a child that is forked in between, or the guard, would replace another
        // mapping that lies there by then.
        self.held = None;
        // SAFETY: the range was mapped by `map`, and no reference to it can outlive `self`.
        let _ = unsafe { rustix::mm::munmap(self.extent.base.as_ptr().cast::<c_void>(), self.extent.len) };
    }
}
