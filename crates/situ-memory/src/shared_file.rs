//! Files of shared memory, for the domains whose memory they are: made, looked at, and given memory and holes by their owner.

use std::fs::{File, OpenOptions};
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use crate::domain::MemoryRequest;
use crate::mapping::{Access, Mapping, MemoryError, find_memory};
use crate::pool::{malformed, system};

const PAGE: u64 = 4096;

/// A new file of shared memory, of the size that was asked for but without memory behind it.
pub(crate) fn create_file(path: &Path, request: &MemoryRequest) -> Result<File, MemoryError> {
    let file = OpenOptions::new()
        .read(true)
        .write(true)
        .create_new(true)
        .mode(request.mode)
        .open(path)
        .map_err(|source| system("create", path, source))?;
    if let Some(group) = request.group {
        rustix::fs::fchown(&file, None, Some(rustix::fs::Gid::from_raw(group)))
            .map_err(|source| system("give to the group", path, source.into()))?;
        rustix::fs::fchmod(&file, rustix::fs::Mode::from_raw_mode(request.mode))
            .map_err(|source| system("set the permissions of", path, source.into()))?;
    }
    file.set_len(request.size).map_err(|source| system("size", path, source))?;
    Ok(file)
}

/// Whether a file has the bytes that a header promises: beyond its end a mapping is a trap.
pub(crate) fn check_size(file: &File, path: &Path, promised: u64) -> Result<(), MemoryError> {
    let size = file.metadata().map_err(|source| system("look at", path, source))?.len();
    if size < promised {
        return Err(malformed(path, format!("{size} bytes, {promised} promised")));
    }
    Ok(())
}

/// What a descriptor refers to, for errors.
pub(crate) fn path_of(file: &File) -> PathBuf {
    let link = format!("/proc/self/fd/{}", file.as_raw_fd());
    std::fs::read_link(&link).unwrap_or_else(|_| link.into())
}

/// What is behind a mapping of a file. Only the owner needs the file itself, to find memory for it.
#[derive(Debug)]
pub(crate) struct Backing {
    path: PathBuf,
    owned: Option<File>,
}

impl Backing {
    /// Of a file that was mapped with this access.
    pub(crate) fn new(path: PathBuf, file: File, access: Access) -> Self {
        Self { path, owned: (access == Access::ReadWrite).then_some(file) }
    }

    pub(crate) fn is_owned(&self) -> bool {
        self.owned.is_some()
    }

    /// Owner: gives a range memory, also in its mapping. The range lies in both.
    pub(crate) fn back(&self, mapping: &Mapping, offset: u64, len: u64) -> Result<(), MemoryError> {
        let Some(file) = self.owned.as_ref().filter(|_| len > 0) else { return Ok(()) };
        find_memory(file.as_fd(), offset, len)
            .map_err(|source| system("find memory for", &self.path, source))?;
        mapping.populate(offset as usize, len as usize);
        Ok(())
    }

    /// Owner: gives the whole pages of a range back. Best effort: a file system without holes merely keeps the memory.
    pub(crate) fn unback(&self, offset: u64, len: u64) {
        let Some(file) = &self.owned else { return };
        let (start, end) = (offset.next_multiple_of(PAGE), offset.saturating_add(len) / PAGE * PAGE);
        if start < end {
            let mode = rustix::fs::FallocateFlags::PUNCH_HOLE | rustix::fs::FallocateFlags::KEEP_SIZE;
            let _ = rustix::fs::fallocate(file, mode, start, end - start);
        }
    }
}
