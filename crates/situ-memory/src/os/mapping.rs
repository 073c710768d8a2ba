//! Mappings of files of shared memory, and why there may be none.

use std::fs::File;
use std::io::{self, Read};
use std::os::fd::BorrowedFd;
use std::path::{Path, PathBuf};
use std::ptr::null_mut;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::fs::FallocateFlags;

use crate::os::extent::Extent;
use crate::os::mapped_range::{Access, MappedRange};
use crate::os::pages::populate;
use crate::os::shared_ranges;

const PAGE: usize = 4096;

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
    /// The file was written by a program with another version of Situ, which understands another version of
    /// its format.
    #[error(
        "{path} was written by another version of Situ: it has version {found} of the format of {format}, and this \
         program uses version {ours}; run programs of one version of Situ, and remove what others left with `situ clean`"
    )]
    OtherVersion {
        /// The file.
        path: PathBuf,
        /// The format: "topics", "pools" or "services".
        format: &'static str,
        /// The version that the file has.
        found: u32,
        /// The version that this program uses.
        ours: u32,
    },
    /// The kernel allows this process no further mapping.
    #[error(
        "{path} is not mapped: this process has {mapped} mappings, and the kernel allows {limit} \
         (vm.max_map_count). A topic takes up to 6: join fewer topics in one process, or allow more, for \
         instance `sysctl -w vm.max_map_count={}`", limit.saturating_mul(4)
    )]
    TooManyMappings {
        /// The file.
        path: PathBuf,
        /// The number of mappings that the process has.
        mapped: u64,
        /// The largest allowed number.
        limit: u64,
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

impl MemoryError {
    /// Why a file could not be mapped, by the kernel's answer.
    pub fn not_mapped(path: &Path, source: io::Error) -> Self {
        let path = path.to_owned();
        if rustix::io::Errno::from_io_error(&source) == Some(rustix::io::Errno::NOMEM)
            && let (Ok(mapped), Some(limit)) = (count_mappings(), mapping_limit())
            && mapped.saturating_add(NEAR_LIMIT) >= limit
        {
            return Self::TooManyMappings { path, mapped, limit };
        }
        Self::System { action: "map", path, source }
    }
}

/// With so few mappings left, the limit on their number is why the kernel refuses one: it keeps some, and
/// other threads may have given some back meanwhile.
const NEAR_LIMIT: u64 = 32;

/// The number of mappings of this process. Allocates nothing: the allocator may need a mapping.
fn count_mappings() -> io::Result<u64> {
    let mut maps = File::open("/proc/self/maps")?;
    let (mut bytes, mut lines) = ([0; 4096], 0);
    loop {
        match maps.read(&mut bytes) {
            Ok(0) => return Ok(lines),
            Ok(len) => lines += bytes[..len].iter().filter(|byte| **byte == b'\n').count() as u64,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

/// The largest number of mappings that the kernel allows a process.
fn mapping_limit() -> Option<u64> {
    std::fs::read_to_string("/proc/sys/vm/max_map_count").ok()?.trim().parse().ok()
}

/// What to do about the common errors of files in shared memory: a text to append, which may be empty.
pub fn advice(error: &io::Error) -> &'static str {
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

/// A range of a file in this process's address space. Unmapped on drop.
#[derive(Debug)]
pub struct Mapping {
    /// The addresses of `range`, for speed.
    extent: Extent,
    /// The access that the file was mapped for.
    access: Access,
    /// Whether this is one of the writers of `range`.
    writes: AtomicBool,
    /// The range, which other mappings of this process may share.
    range: Arc<MappedRange>,
}

// SAFETY: a mapping is an address range; each access to its bytes says why it is sound.
unsafe impl Send for Mapping {}
// SAFETY: as above; its atomic says which access it has.
unsafe impl Sync for Mapping {}

impl Mapping {
    /// Maps `len` bytes of `file` from `offset` (a multiple of the page size), shared with every other
    /// process.
    pub fn new(file: BorrowedFd<'_>, offset: u64, len: usize, access: Access) -> io::Result<Self> {
        Ok(Self::of(MappedRange::new(null_mut(), file, offset, len, access)?, access))
    }

    /// Maps the first `len` bytes of `file`, which may be fewer, without taking memory for its holes: see
    /// `MappedRange::without_filling`.
    ///
    /// A process has such a file mapped once for all its participants, if the order in which they come
    /// allows it. The mapping can be written while one of them may write: see `shared_ranges`.
    pub fn without_filling(file: BorrowedFd<'_>, len: usize, access: Access) -> io::Result<Self> {
        Ok(Self::of(shared_ranges::find_or_map(file, len, access)?, access))
    }

    /// The same at an address, if no other mapping is there. No other participant shares it.
    pub(crate) fn without_filling_near(
        hint: *mut std::ffi::c_void,
        file: BorrowedFd<'_>,
        len: usize,
        access: Access,
    ) -> io::Result<Self> {
        Ok(Self::of(MappedRange::without_filling(hint, file, len, access)?, access))
    }

    /// The mapping is one of the writers of a range that was found for writing.
    fn of(range: Arc<MappedRange>, access: Access) -> Self {
        let writes = AtomicBool::new(access == Access::ReadWrite);
        Self { extent: range.extent(), access, writes, range }
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

    /// The access that the file was mapped for. Another participant of this process may have more.
    #[inline]
    pub fn access(&self) -> Access {
        self.access
    }

    /// Whether its file was shortened, as [the guard](crate::guard) has found: then some of it is private
    /// zeroes.
    pub fn is_damaged(&self) -> bool {
        self.range.is_damaged()
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

    /// Lets this process write what it may otherwise only read, while `work` runs. An error if the file was
    /// not opened for writing.
    pub fn while_writable<T>(&self, work: impl FnOnce() -> T) -> io::Result<T> {
        if self.access != Access::Read {
            return Ok(work());
        }
        self.range.begin_writing()?;
        let done = work();
        self.range.end_writing()?;
        Ok(done)
    }

    /// Changes what this participant may do with a mapping that was made for [writing](Access::ReadWrite):
    /// it can be written while one of its participants may write. Other threads may use it meanwhile. The
    /// guard and forked children still replace it by memory that can be written.
    pub fn protect(&self, access: Access) -> io::Result<()> {
        assert!(self.access == Access::ReadWrite, "its file may have been opened for reading only");
        let writes = access == Access::ReadWrite;
        // Relaxed: callers that change the access do so one after the other.
        if self.writes.swap(writes, Ordering::Relaxed) == writes {
            return Ok(());
        }
        let changed = if writes { self.range.begin_writing() } else { self.range.end_writing() };
        // A refusal changes nothing.
        changed.inspect_err(|_| self.writes.store(!writes, Ordering::Relaxed))
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
        shared_ranges::leave(&self.range, *self.writes.get_mut());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refused_mapping_names_the_limit_if_it_is_near() {
        let mapped = count_mappings().unwrap();
        assert_eq!(mapped, std::fs::read_to_string("/proc/self/maps").unwrap().lines().count() as u64);
        // This process has few mappings: something else is the reason.
        let refused = MemoryError::not_mapped(Path::new("x"), rustix::io::Errno::NOMEM.into());
        assert!(matches!(&refused, MemoryError::System { action: "map", .. }), "{refused:?}");
        let path = PathBuf::from("x");
        let refused = MemoryError::TooManyMappings { path, mapped: 65_531, limit: 65_530 }.to_string();
        assert!(refused.contains("65530 (vm.max_map_count)"), "{refused}");
        assert!(refused.ends_with("`sysctl -w vm.max_map_count=262120`"), "{refused}");
    }
}
