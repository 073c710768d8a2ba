//! The mapping of a file of shared memory that grows with its use: see [`FileWindows`].

use std::fs::File;
use std::io;
use std::os::fd::AsFd;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicPtr, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use crate::os::beneath::Beneath;
use crate::os::mapped_range::Access;
use crate::os::mapping::{Mapping, MemoryError};
use crate::os::pages::{PageOptions, PageOutcome, aligned_hint, prefer_pages};
use crate::pool::{malformed, system};

/// The smallest window: enough for most topics.
const LEAST: u64 = 2 << 20;
/// A new window is this many times as large as needed, so that few windows follow it.
const AHEAD: u64 = 16;
/// No file is mapped beyond this offset, whatever its pool's header says.
pub(crate) const MOST: u64 = 1 << 38;
/// The limit on the bytes of other processes' files that are mapped in one process: a quarter of its
/// addresses. A peer can make a file large at no cost.
const MAX_OF_OTHERS: u64 = 1 << 45;

/// The bytes of other processes' files that are mapped at the moment.
static OF_OTHERS: AtomicU64 = AtomicU64::new(0);

/// Where the file comes from when more of it must be mapped.
#[derive(Debug, Clone)]
pub(crate) enum Source {
    /// This process made it and keeps it open.
    Own(Arc<File>),
    /// Another process's file. It is opened again when it is needed, which is seldom. Otherwise a subscriber
    /// to a thousand topics would need a thousand more open files.
    Other {
        /// The device and inode that identify it.
        identity: (u64, u64),
        /// Whether it was opened for writing, which drivers that register its pages need.
        writable: bool,
    },
}

/// A file of shared memory and the windows through which this process sees it.
///
/// ```text
///   file       |##########################|          grows as its owner gives slots memory
///   window 1   |-------|                             the first; stays, samples and loans point into it
///   window 2   |-----------------------------------| the newest: all offsets, and more than the file has
///                                         ^ reach: what the newest window and the file both have
/// ```
///
/// A window is a plain mapping from offset 0, larger than what is used. Addresses behind the end of the file
/// cost nothing, and become usable when the file grows. When a window is too small, a larger one is mapped
/// beside it. Pages are shared, so a pointer into an older window still sees the same bytes. Older windows
/// are unmapped with the newest one. Each is at least 16 times as large as the one before. Nearly every pool
/// therefore has one window, and all windows together are hardly larger than the newest.
///
/// The alternative, one reservation of addresses that is filled with `MAP_FIXED`, would need the addresses of
/// the largest possible pool from the start, and a system call for each step.
///
/// Windows hold no memory that the file does not have, also where `mlockall(MCL_FUTURE)` applies: see
/// [`Mapping::without_filling`].
#[derive(Debug)]
pub(crate) struct FileWindows {
    path: PathBuf,
    source: Source,
    access: Access,
    limit: u64,
    /// The first byte of the newest window. Stored before `reach`.
    base: AtomicPtr<u8>,
    reach: AtomicU64,
    windows: Mutex<Vec<Mapping>>,
    /// Where memory was found: begin and end of ranges that do not touch, in order.
    found: Mutex<Vec<(u64, u64)>>,
    /// The wished pages, if the owner has told.
    pages: OnceLock<PageOptions>,
}

impl FileWindows {
    /// For a file of which at most `limit` bytes are used. Maps nothing yet.
    pub(crate) fn new(
        path: PathBuf,
        source: Source,
        access: Access,
        limit: u64,
    ) -> Result<Self, MemoryError> {
        if limit > MOST {
            return Err(malformed(
                &path,
                format!("{limit} bytes are promised, and at most {MOST} are mapped"),
            ));
        }
        let (base, reach) = (AtomicPtr::new(std::ptr::null_mut()), AtomicU64::new(0));
        let (windows, found) = (Mutex::default(), Mutex::default());
        let pages = OnceLock::new();
        Ok(Self { path, source, access, limit, base, reach, windows, found, pages })
    }

    /// The largest number of bytes that may be used.
    pub(crate) fn limit(&self) -> u64 {
        self.limit
    }

    #[cfg(feature = "cuda")]
    pub(crate) fn access(&self) -> Access {
        self.access
    }

    /// The first byte of the newest window.
    pub(crate) fn base(&self) -> *mut u8 {
        self.base.load(Ordering::Acquire)
    }

    /// The first byte of a window that has everything before `end`. The file must have all of that.
    pub(crate) fn reach(&self, end: u64) -> Result<*mut u8, MemoryError> {
        // Acquire: the thread that stored this `reach` had stored the base of a window that has it.
        if end <= self.reach.load(Ordering::Acquire) {
            let base = self.base();
            // Nothing is mapped, so any address will do.
            return Ok(if base.is_null() { std::ptr::dangling_mut() } else { base });
        }
        self.reach_further(end, true)
    }

    /// The first byte of a window that has everything before `end`, whether the file has it already or not.
    /// What the file gets there later can be used by addresses in this window.
    pub(crate) fn cover(&self, end: u64) -> Result<*mut u8, MemoryError> {
        self.reach_further(end, false)
    }

    #[cold]
    fn reach_further(&self, end: u64, in_file: bool) -> Result<*mut u8, MemoryError> {
        let mut windows = self.windows();
        let mapped = windows.last().map_or(0, |window| window.len() as u64);
        if end > mapped || in_file {
            let file = self.file()?;
            let file = file.as_ref();
            let size = file.metadata().map_err(|source| system("look at", &self.path, source))?.len();
            // All of its last page can be used.
            let size = size.next_multiple_of(4096);
            if end > self.limit || (in_file && end > size) {
                let has = size.min(self.limit);
                return Err(malformed(&self.path, format!("{has} bytes, {end} promised")));
            }
            let mapped = if end > mapped { self.map(&mut windows, file, end)? } else { mapped };
            self.reach.store(mapped.min(size).min(self.limit), Ordering::Release);
        }
        Ok(self.base())
    }

    /// Adds a window with everything before `end`; returns its size.
    fn map(
        &self,
        windows: &mut MutexGuard<'_, Vec<Mapping>>,
        file: &File,
        end: u64,
    ) -> Result<u64, MemoryError> {
        let exactly = end.next_multiple_of(LEAST);
        let ample = end.next_power_of_two().saturating_mul(AHEAD).clamp(LEAST, MOST);
        let ample = ample.min(self.limit.next_multiple_of(4096)).max(exactly);
        // Where addresses are limited, the smallest window must do.
        let window = self.window(file, ample).or_else(|error| match error {
            _ if ample > exactly => self.window(file, exactly),
            error => Err(error),
        })?;
        if let Some(pages) = self.pages.get() {
            // The answer is the one that the first window got.
            prefer(&window, pages);
        }
        self.base.store(window.base(), Ordering::Release);
        let len = window.len() as u64;
        windows.push(window);
        Ok(len)
    }

    fn window(&self, file: &File, len: u64) -> Result<Mapping, MemoryError> {
        self.count(len)?;
        let is_huge = self.pages.get().is_some_and(|pages| pages.huge);
        let hint = if is_huge { aligned_hint(len as usize) } else { std::ptr::null_mut() };
        let mapped = Mapping::without_filling_near(hint, file.as_fd(), len as usize, self.access);
        mapped.map_err(|source| {
            self.uncount(len);
            MemoryError::not_mapped(&self.path, source)
        })
    }

    /// Counts what is mapped of other processes' files, and refuses more than the limit.
    fn count(&self, len: u64) -> Result<(), MemoryError> {
        if let Source::Own(_) = self.source {
            return Ok(());
        }
        let add = |mapped: u64| mapped.checked_add(len).filter(|sum| *sum <= MAX_OF_OTHERS);
        OF_OTHERS.try_update(Ordering::Relaxed, Ordering::Relaxed, add).map(drop).map_err(|mapped| {
            let (path, limit) = (self.path.clone(), MAX_OF_OTHERS);
            MemoryError::TooMuchMapped { path, wanted: len, mapped, limit }
        })
    }

    fn uncount(&self, len: u64) {
        if let Source::Other { .. } = self.source {
            OF_OTHERS.fetch_sub(len, Ordering::Relaxed);
        }
    }

    fn windows(&self) -> MutexGuard<'_, Vec<Mapping>> {
        self.windows.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The file itself.
    fn file(&self) -> Result<Arc<File>, MemoryError> {
        let (identity, writable) = match &self.source {
            Source::Own(file) => return Ok(file.clone()),
            Source::Other { identity, writable } => (*identity, *writable),
        };
        let file = reopen(&self.path, writable).map_err(|source| system("open", &self.path, source))?;
        let metadata = file.metadata().map_err(|source| system("look at", &self.path, source))?;
        if (metadata.dev(), metadata.ino()) != identity {
            return Err(malformed(&self.path, "it was replaced by another file"));
        }
        Ok(Arc::new(file))
    }

    /// Makes sure that a range of the file is no hole. In a memory file system, reading a hole through a
    /// mapping takes memory on this process's account, and raises `SIGBUS` where there is none.
    ///
    /// Ranges with memory are looked for only once. This does not see an owner that makes a hole there later,
    /// but such an owner could as well shorten the file.
    pub(crate) fn find(&self, offset: u64, end: u64) -> Result<(), MemoryError> {
        let mut found = self.found.lock().unwrap_or_else(PoisonError::into_inner);
        let at = found.partition_point(|(_, until)| *until < offset);
        if offset == end || found.get(at).is_some_and(|(from, until)| *from <= offset && end <= *until) {
            return Ok(());
        }
        let file = self.file()?;
        let hole = match rustix::fs::seek(&*file, rustix::fs::SeekFrom::Hole(offset)) {
            Ok(hole) => hole,
            // The offset is behind the end of the file.
            Err(rustix::io::Errno::NXIO) => offset,
            // A file system that knows of no holes has none.
            Err(rustix::io::Errno::INVAL) => end,
            Err(error) => return Err(system("look for memory in", &self.path, error.into())),
        };
        // All of its last page can be used.
        let hole = if hole > offset { hole.next_multiple_of(4096) } else { hole };
        if hole > offset {
            let touched = found[at..].iter().take_while(|(from, _)| *from <= hole).count();
            let (from, until) = found[at..at + touched]
                .iter()
                .fold((offset, hole), |(from, until), range| (from.min(range.0), until.max(range.1)));
            found.splice(at..at + touched, [(from, until)]);
        }
        if hole >= end { Ok(()) } else { Err(MemoryError::Hole { path: self.path.clone(), offset, end }) }
    }

    /// The offset in the file of an address in one of the windows.
    pub(crate) fn offset_of(&self, address: u64) -> Option<u64> {
        let windows = self.windows();
        windows.iter().rev().find_map(|window| {
            let offset = address.checked_sub(window.base() as u64)?;
            (offset < window.len() as u64).then_some(offset)
        })
    }

    /// See [`Mapping::while_writable`], of the window that has this address.
    #[cfg(feature = "cuda")]
    pub(crate) fn while_writable<T>(&self, address: u64, work: impl FnOnce() -> T) -> io::Result<T> {
        let windows = self.windows();
        let has = |window: &&Mapping| {
            address.checked_sub(window.base() as u64).is_some_and(|offset| offset < window.len() as u64)
        };
        let found = windows.iter().rev().find(has).ok_or(rustix::io::Errno::FAULT)?;
        found.while_writable(work)
    }

    /// Owner, once, before its first window: asks for a kind of pages in all of the file.
    pub(crate) fn prefer(&self, pages: &PageOptions) -> Result<PageOutcome, MemoryError> {
        let _ = self.pages.set(*pages);
        self.cover(LEAST.min(self.limit))?;
        let windows = self.windows();
        Ok(windows.last().map_or_else(PageOutcome::default, |window| prefer(window, pages)))
    }

    /// Owner: see [`Mapping::populate`].
    pub(crate) fn populate(&self, offset: u64, len: u64) {
        if let Some(window) = self.windows().last() {
            window.populate(offset as usize, len as usize);
        }
    }
}

impl Drop for FileWindows {
    fn drop(&mut self) {
        let windows = std::mem::take(self.windows.get_mut().unwrap_or_else(PoisonError::into_inner));
        windows.iter().for_each(|window| self.uncount(window.len() as u64));
    }
}

fn prefer(window: &Mapping, pages: &PageOptions) -> PageOutcome {
    // SAFETY: the range is this mapping.
    unsafe { prefer_pages(window.base(), window.len(), pages) }
}

/// Opens another process's file again, by the path that the kernel gave for it when it was open. No component
/// of that path was a link, and none is followed now. This waits for no pipe.
fn reopen(path: &Path, write: bool) -> io::Result<File> {
    Beneath::without_links(path)?.open(write)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_opened_again_is_not_looked_for_behind_links() {
        let scratch = situ_testkit::Scratch::new("windows");
        let (first, second) = (scratch.join("first"), scratch.join("second"));
        std::fs::create_dir_all(&first).unwrap();
        std::fs::write(first.join("data"), [7; 8192]).unwrap();
        let path = first.join("data").canonicalize().unwrap();
        let source = crate::os::shared_file::identify(&File::open(&path).unwrap(), &path).unwrap();
        let windows = || FileWindows::new(path.clone(), source.clone(), Access::Read, 8192).unwrap();
        // SAFETY: the window has the byte, and no code changes it.
        assert_eq!(unsafe { windows().reach(8192).unwrap().add(8191).read() }, 7);
        // The same file, through a directory that is a link now.
        std::fs::rename(&first, &second).unwrap();
        std::os::unix::fs::symlink(&second, &first).unwrap();
        let refused = windows().reach(8192);
        assert!(matches!(&refused, Err(MemoryError::System { action: "open", .. })), "{refused:?}");
    }
}
