//! Maps files of shared memory. No other code maps files.

use std::ffi::c_void;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::path::PathBuf;
use std::ptr::NonNull;

use rustix::fs::FallocateFlags;
use rustix::mm::{MapFlags, MprotectFlags, ProtFlags};

use crate::os::extent::Extent;
use crate::os::fork::{Hold, Registered, register};
use crate::os::guard::Guarded;
use crate::os::pages::populate;

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

/// Why a file of shared memory could not be created or mapped.
#[derive(thiserror::Error)]
pub enum MemoryError {
    /// The kernel refused to create, size or map a file.
    #[error("cannot {action} {path}: {source}{}", advice(.source))]
    System {
        /// What was tried, for instance "create" or "map".
        action: &'static str,
        /// The file.
        path: PathBuf,
        /// What the kernel answered.
        source: io::Error,
    },
    /// Bytes that another process lends have no memory. Reading them would take memory from this process, or
    /// end it if there is none.
    #[error(
        "{path} has no memory from byte {offset} to {end}, where a message should lie; its owner is broken or hostile"
    )]
    Hole {
        /// The file.
        path: PathBuf,
        /// Where the range begins.
        offset: u64,
        /// Where it ends.
        end: u64,
    },
    /// A file was shortened while it was mapped, and [the guard](crate::guard) kept the process alive.
    #[error(
        "{path} was made shorter while it was in use, and its contents are lost; find out which program did that, and restart its owner"
    )]
    Truncated {
        /// The file.
        path: PathBuf,
    },
    /// The file is not what it should be.
    #[error("{path} is not usable: {reason}; remove it with `situ clean` if nothing uses it")]
    Malformed {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// Other processes' files take too many of this process's addresses.
    #[error(
        "{path} is not mapped: it would take {wanted} bytes of addresses, {mapped} are taken by other participants' files, and \
         at most {limit} may be; a participant has made its files too large: look for it with `situ doctor`"
    )]
    TooMuchMapped {
        /// The file.
        path: PathBuf,
        /// The bytes that it would take.
        wanted: u64,
        /// The bytes that are taken.
        mapped: u64,
        /// The largest allowed number of bytes.
        limit: u64,
    },
}

situ_layout::debug_as_text!(MemoryError);

/// What to do about the common errors.
fn advice(error: &io::Error) -> &'static str {
    match rustix::io::Errno::from_io_error(error) {
        Some(rustix::io::Errno::NOSPC) => {
            " (shared memory is full: enlarge it, for instance `mount -o remount,size=8G /dev/shm`)"
        }
        Some(rustix::io::Errno::ACCESS | rustix::io::Errno::PERM) => {
            " (it belongs to another user: see SITU_ROOT and the group setting)"
        }
        Some(rustix::io::Errno::AGAIN) => {
            " (the program locks its memory, and may not lock so much: raise `ulimit -l`)"
        }
        Some(rustix::io::Errno::NOMEM) => {
            " (no addresses or no mappings are left: see `ulimit -v` and /proc/sys/vm/max_map_count)"
        }
        Some(rustix::io::Errno::MFILE) => " (too many open files: raise `ulimit -n`)",
        _ => "",
    }
}

/// Gives a range of a file of a memory file system real memory now. Without memory this is an error here,
/// where it would be a `SIGBUS` at the first access. On failure the range is left without memory.
pub fn find_memory(file: BorrowedFd<'_>, offset: u64, len: u64) -> io::Result<()> {
    // Many kernels give up, and undo their work, when a signal arrives. The range is therefore split into
    // pieces that take less time than the interval between the signals of any profiler. Each is retried until
    // it is done.
    const PIECE: u64 = 1 << 20;
    let end = offset.checked_add(len).ok_or(rustix::io::Errno::FBIG)?;
    if len > PIECE {
        // Do not try what cannot succeed: piece by piece it would take all memory before it fails.
        let system = rustix::fs::fstatvfs(file)?;
        if system.f_blocks != 0 && len > system.f_bavail.saturating_mul(system.f_frsize) {
            return Err(rustix::io::Errno::NOSPC.into());
        }
    }
    let mut at = offset;
    while at < end {
        let piece = PIECE.min(end - at);
        match rustix::fs::fallocate(file, FallocateFlags::empty(), at, piece) {
            Ok(()) => at += piece,
            Err(rustix::io::Errno::INTR) => {}
            Err(error) => {
                if at > offset {
                    let hole = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
                    let _ = rustix::fs::fallocate(file, hole, offset, at - offset);
                }
                return Err(error.into());
            }
        }
    }
    Ok(())
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

/// A range of a file in this process's address space. Unmapped on drop.
#[derive(Debug)]
pub struct Mapping {
    extent: Extent,
    access: Access,
    /// `None` once it is about to be unmapped.
    held: Option<Known>,
}

/// The mapping's entries in the guard's table and in the list for forked children. They are dropped in this
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

// SAFETY: a mapping is an address range; each access to its bytes says why it is sound.
unsafe impl Send for Mapping {}
// SAFETY: as above; `Mapping` itself has no interior state.
unsafe impl Sync for Mapping {}

impl Mapping {
    /// Maps `len` bytes of `file` from `offset` (a multiple of the page size), shared with every other
    /// process.
    pub fn new(file: BorrowedFd<'_>, offset: u64, len: usize, access: Access) -> io::Result<Self> {
        Self::near(std::ptr::null_mut(), file, offset, len, access)
    }

    /// The same at an address, if no other mapping is there.
    fn near(
        hint: *mut c_void,
        file: BorrowedFd<'_>,
        offset: u64,
        len: usize,
        access: Access,
    ) -> io::Result<Self> {
        let protection = match access {
            Access::None => ProtFlags::empty(),
            Access::Read => ProtFlags::READ,
            Access::ReadWrite => ProtFlags::READ | ProtFlags::WRITE,
        };
        // SAFETY: the kernel chooses the address, so no existing mapping is replaced.
        let base =
            unsafe { rustix::mm::mmap(hint, len, protection, MapFlags::SHARED, file.as_fd(), offset) }?;
        let base =
            NonNull::new(base.cast::<u8>()).ok_or_else(|| io::Error::other("mapped at address zero"))?;
        let extent = Extent { base, len, protection };
        Ok(Self { extent, access, held: Some(Known::new(extent)) })
    }

    /// Maps the first `len` bytes of `file`, which may be fewer, without taking memory for its holes.
    ///
    /// Where the program has called `mlockall(MCL_FUTURE)`, the kernel finds memory for every page of a new
    /// mapping, those in holes of the file included. That would fill the file system. The mapping therefore
    /// begins without access, so that nothing is filled. If it is locked, its pages then become locked as
    /// they are used (`MLOCK_ONFAULT`).
    pub fn without_filling(file: BorrowedFd<'_>, len: usize, access: Access) -> io::Result<Self> {
        Self::without_filling_near(std::ptr::null_mut(), file, len, access)
    }

    /// The same at an address, if no other mapping is there.
    pub(crate) fn without_filling_near(
        hint: *mut c_void,
        file: BorrowedFd<'_>,
        len: usize,
        access: Access,
    ) -> io::Result<Self> {
        let mut map = Self::near(hint, file, 0, len, Access::None)?;
        let first = map.base().cast::<c_void>();
        lock_as_used(map.extent.base, len)?;
        if access != Access::None {
            // SAFETY: as above; no code has a pointer to it yet.
            unsafe { rustix::mm::mprotect(first, len, access.protection()) }?;
            map.access = access;
            map.extent.protection = ProtFlags::from_bits_retain(access.protection().bits());
            map.held = None;
            map.held = Some(Known::new(map.extent));
        }
        Ok(map)
    }

    /// The first byte.
    #[inline]
    pub fn base(&self) -> *mut u8 {
        self.extent.base.as_ptr()
    }

    /// How many bytes are mapped.
    #[inline]
    #[allow(clippy::len_without_is_empty)]
    pub fn len(&self) -> usize {
        self.extent.len
    }

    /// The access that this process has here.
    #[inline]
    pub fn access(&self) -> Access {
        self.access
    }

    /// Whether its file was shortened, as [the guard](crate::guard) has found: then some of it is private
    /// zeroes.
    pub fn is_damaged(&self) -> bool {
        let guarded = self.held.as_ref().and_then(|held| held.guarded.as_ref());
        guarded.is_some_and(Guarded::is_damaged)
    }

    /// A pointer to a `T` at `offset`, if it lies within and is aligned.
    #[inline]
    pub fn at<T>(&self, offset: usize) -> Option<*mut T> {
        let end = offset.checked_add(size_of::<T>())?;
        if end > self.extent.len || !offset.is_multiple_of(align_of::<T>()) {
            return None;
        }
        Some(self.extent.base.as_ptr().wrapping_add(offset).cast())
    }

    /// Replaces the shared bytes by private zeroes at the same address. From then on this process reads and
    /// writes memory that no other process sees, and that cannot run out of a file system's space. In a
    /// forked child this happens with all mappings. Other threads may use the mapping meanwhile: each of
    /// their accesses finds either the old or the new memory. This may be called between `fork` and `exec`.
    pub fn detach(&self) -> io::Result<()> {
        self.extent.detach()
    }

    /// Lets this process write whole pages that it may otherwise only read, while `work` runs. An error if
    /// the file was not opened for writing.
    pub fn while_writable<T>(&self, offset: usize, len: usize, work: impl FnOnce() -> T) -> io::Result<T> {
        let allow = |flags: MprotectFlags| {
            let first = self.extent.base.as_ptr().wrapping_add(offset);
            // SAFETY: the range lies in this mapping, and readers of it still read the same bytes.
            unsafe { rustix::mm::mprotect(first.cast::<c_void>(), len, flags) }
        };
        if self.access != Access::Read {
            return Ok(work());
        }
        assert!(offset.checked_add(len).is_some_and(|end| end <= self.extent.len.next_multiple_of(PAGE)));
        allow(MprotectFlags::READ | MprotectFlags::WRITE)?;
        let done = work();
        allow(MprotectFlags::READ)?;
        Ok(done)
    }

    /// Changes what this process may do with a mapping that was made for [writing](Access::ReadWrite). Other
    /// threads may use it meanwhile. The guard and forked children still replace it by memory that can be
    /// written.
    pub fn protect(&self, access: Access) -> io::Result<()> {
        assert!(self.access == Access::ReadWrite, "its file may have been opened for reading only");
        let first = self.extent.base.as_ptr().cast::<c_void>();
        // SAFETY: the range is this mapping. Its users keep to the access that they asked for last.
        unsafe { rustix::mm::mprotect(first, self.extent.len, access.protection()) }?;
        Ok(())
    }

    /// Makes pages present for writing. Using them then costs no page fault, and readers see that they are no
    /// holes.
    pub fn populate(&self, offset: usize, len: usize) {
        let start = offset / PAGE * PAGE;
        let end = offset.saturating_add(len).min(self.extent.len);
        if start < end && self.access == Access::ReadWrite {
            // SAFETY: the range lies in this mapping, which is readable and writable.
            unsafe { populate(self.extent.base.as_ptr().wrapping_add(start), end - start) };
        }
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // This comes first: otherwise a child that is forked in between, or the guard, would replace another
        // mapping that lies there by then.
        self.held = None;
        // SAFETY: the range was mapped by `new`, and no reference to it can outlive `self`.
        let _ = unsafe { rustix::mm::munmap(self.extent.base.as_ptr().cast::<c_void>(), self.extent.len) };
    }
}
