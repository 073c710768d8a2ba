//! The host's shared memory as a domain: files in a memory file system, mapped read-only by everybody but their owner.

use std::any::Any;
use std::fs::{File, OpenOptions};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::domain::{
    Capabilities, Domain, DomainError, DomainId, HOST, Memory, MemoryRequest, Sharing, Stream, StreamOrder,
    check_range,
};
use crate::immediate::ImmediateStream;
use crate::mapping::{Access, Mapping, MemoryError, find_memory};
use crate::pool::{malformed, system};

const PAGE: u64 = 4096;

/// The host's shared memory. Its streams do their work at once, in the call.
#[derive(Debug, Clone, Copy, Default)]
pub struct HostDomain;

impl Domain for HostDomain {
    fn id(&self) -> DomainId {
        HOST
    }

    fn name(&self) -> String {
        "host shared memory".to_owned()
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities {
            host_access: true,
            outlives_owner: true,
            sharing: Sharing::File,
            order: StreamOrder::Host,
        }
    }

    fn create(&self, path: &Path, request: &MemoryRequest) -> Result<Arc<dyn Memory>, DomainError> {
        let file = create_file(path, request)?;
        let len =
            usize::try_from(request.size).map_err(|_| malformed(path, "larger than the address space"))?;
        let mapping = Mapping::new(file.as_fd(), 0, len, Access::ReadWrite)
            .map_err(|source| system("map", path, source))?;
        Ok(Arc::new(HostMemory { mapping, path: path.to_owned(), file: Some(file) }))
    }

    fn import(&self, descriptor: OwnedFd, size: u64) -> Result<Arc<dyn Memory>, DomainError> {
        let file = File::from(descriptor);
        let path = path_of(&file);
        check_size(&file, &path, size)?;
        let len = usize::try_from(size).map_err(|_| malformed(&path, "larger than the address space"))?;
        let mapping = Mapping::new(file.as_fd(), 0, len, Access::Read)
            .map_err(|source| system("map", &path, source))?;
        Ok(Arc::new(HostMemory { mapping, path, file: None }))
    }

    fn stream(&self) -> Result<Arc<dyn Stream>, DomainError> {
        Ok(Arc::new(ImmediateStream::new(HOST)))
    }
}

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

/// Gives the whole pages of a range of a file back. Best effort: a file system without holes merely keeps the memory.
pub(crate) fn punch(file: &File, offset: u64, len: u64) {
    let (start, end) = (offset.next_multiple_of(PAGE), offset.saturating_add(len) / PAGE * PAGE);
    if start < end {
        let mode = rustix::fs::FallocateFlags::PUNCH_HOLE | rustix::fs::FallocateFlags::KEEP_SIZE;
        let _ = rustix::fs::fallocate(file, mode, start, end - start);
    }
}

/// A file of host shared memory, mapped.
#[derive(Debug)]
struct HostMemory {
    mapping: Mapping,
    path: PathBuf,
    /// Only the owner needs it.
    file: Option<File>,
}

impl Memory for HostMemory {
    fn domain(&self) -> DomainId {
        HOST
    }

    fn size(&self) -> u64 {
        self.mapping.len() as u64
    }

    fn address(&self) -> u64 {
        self.mapping.base() as u64
    }

    fn host(&self) -> Option<*mut u8> {
        Some(self.mapping.base())
    }

    fn back(&self, offset: u64, len: u64) -> Result<(), DomainError> {
        check_range(self, offset, len)?;
        let Some(file) = &self.file else { return Err(read_only()) };
        if len == 0 {
            return Ok(());
        }
        find_memory(file.as_fd(), offset, len)
            .map_err(|source| system("find memory for", &self.path, source))?;
        self.mapping.populate(offset as usize, len as usize);
        Ok(())
    }

    fn unback(&self, offset: u64, len: u64) {
        if let Some(file) = &self.file {
            punch(file, offset, len);
        }
    }

    fn export(&self) -> Result<Option<OwnedFd>, DomainError> {
        Ok(None)
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

fn read_only() -> DomainError {
    DomainError::Refused {
        domain: HOST,
        action: "write".to_owned(),
        reason: "the memory belongs to another process".to_owned(),
    }
}
