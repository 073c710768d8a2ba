//! Files of shared memory, for the domains that use them: creation, checks, and the owner's adding of memory
//! and holes.

use std::fs::File;
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::domain::traits::MemoryRequest;
use crate::os::beneath::Beneath;
use crate::os::file_windows::{FileWindows, Source};
use crate::os::mapping::{MemoryError, find_memory};
use crate::pool::{malformed, system};

const PAGE: u64 = 4096;

/// A new file of shared memory, of the requested size but without memory behind it.
pub(crate) fn create_file(place: &Beneath, request: &MemoryRequest) -> Result<File, MemoryError> {
    let file =
        place.create(request.mode, request.group).map_err(|source| system("create", place.path(), source))?;
    file.set_len(request.size).map_err(|source| system("size", place.path(), source))?;
    Ok(file)
}

/// The identity of a file that another process made. It must be a regular file: a device or a pipe has no
/// bytes to map. Whether it has the bytes that a header promises is checked where they are used, because it
/// grows.
pub(crate) fn identify(file: &File, path: &Path) -> Result<Source, MemoryError> {
    let metadata = file.metadata().map_err(|source| system("look at", path, source))?;
    if !metadata.is_file() {
        return Err(malformed(path, "it is no regular file"));
    }
    let flags = rustix::fs::fcntl_getfl(file).map_err(|source| system("look at", path, source.into()))?;
    let writable = flags.intersection(rustix::fs::OFlags::ACCMODE) == rustix::fs::OFlags::RDWR;
    Ok(Source::Other { identity: (metadata.dev(), metadata.ino()), writable })
}

/// The path of the file that a descriptor refers to, for errors.
pub(crate) fn path_of(file: &File) -> PathBuf {
    let link = format!("/proc/self/fd/{}", file.as_raw_fd());
    std::fs::read_link(&link).unwrap_or_else(|_| link.into())
}

/// The file behind a mapping. Only the owner needs the file itself, to find memory for it.
#[derive(Debug)]
pub(crate) struct Backing {
    path: PathBuf,
    owned: Option<Arc<File>>,
}

impl Backing {
    /// For a file that this process made.
    pub(crate) fn own(path: PathBuf, file: Arc<File>) -> Self {
        Self { path, owned: Some(file) }
    }

    /// For another process's file.
    pub(crate) fn other(path: PathBuf) -> Self {
        Self { path, owned: None }
    }

    pub(crate) fn is_owned(&self) -> bool {
        self.owned.is_some()
    }

    /// Owner: gives a range memory, also in its windows. The file grows if it ends before the range.
    pub(crate) fn back(&self, windows: &FileWindows, offset: u64, len: u64) -> Result<(), MemoryError> {
        let Some(file) = self.owned.as_ref().filter(|_| len > 0) else { return Ok(()) };
        find_memory(file.as_fd(), offset, len)
            .map_err(|source| system("find memory for", &self.path, source))?;
        // Memory without an address is of no use.
        windows.reach(offset + len).inspect_err(|_| self.unback(offset, len))?;
        windows.populate(offset, len);
        Ok(())
    }

    /// Owner: gives the whole pages of a range back. Best effort: a file system without holes keeps the
    /// memory.
    pub(crate) fn unback(&self, offset: u64, len: u64) {
        let Some(file) = &self.owned else { return };
        let (start, end) = (offset.next_multiple_of(PAGE), offset.saturating_add(len) / PAGE * PAGE);
        if start < end {
            let mode = rustix::fs::FallocateFlags::PUNCH_HOLE | rustix::fs::FallocateFlags::KEEP_SIZE;
            let _ = rustix::fs::fallocate(file, mode, start, end - start);
        }
    }
}
