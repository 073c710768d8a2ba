//! A memory domain of the application: anonymous sealed memory, which no file system limits.
//!
//! In a container `/dev/shm` often holds 64 MB. Memory of `memfd_create` counts against the container's
//! memory instead. It is no file beside the pool, so it is passed to other processes by descriptor, for
//! reading only. Because it is sealed, no process can truncate it while others have it mapped.

use std::any::Any;
use std::fs::File;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::path::PathBuf;
use std::sync::Arc;

use rustix::fs::{FallocateFlags, MemfdFlags, SealFlags};
use situ::memory::{
    Access, Beneath, Capabilities, Domain, DomainError, DomainId, DomainKind, ImmediateStream, Mapping,
    Memory, MemoryError, MemoryRequest, PageOptions, PageOutcome, Sharing, Stream, StreamOrder, check_range,
    find_memory, prefer_pages,
};

/// Numbers from 1024 on are free. All who share the memory must mean the same by it.
pub const ANONYMOUS: DomainId = DomainId { kind: DomainKind::from_number(1024), number: 0 };

/// What the system refused, in Situ's words.
fn system(action: &'static str, source: impl Into<std::io::Error>) -> DomainError {
    MemoryError::System { action, path: PathBuf::from("anonymous memory"), source: source.into() }.into()
}

fn refused(action: &str, reason: &str) -> DomainError {
    DomainError::Refused { domain: ANONYMOUS, action: action.to_owned(), reason: reason.to_owned() }
}

/// The domain: a handle without anything to hold.
#[derive(Debug, Clone, Copy, Default)]
pub struct AnonymousDomain;

impl Domain for AnonymousDomain {
    fn id(&self) -> DomainId {
        ANONYMOUS
    }

    fn name(&self) -> String {
        "anonymous memory".to_owned()
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities {
            host_access: true,
            outlives_owner: true,
            sharing: Sharing::Descriptor,
            order: StreamOrder::Host,
        }
    }

    fn create(&self, _place: &Beneath, request: &MemoryRequest) -> Result<Arc<dyn Memory>, DomainError> {
        let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
        let file =
            File::from(rustix::fs::memfd_create("situ", flags).map_err(|error| system("create", error))?);
        file.set_len(request.size).map_err(|error| system("size", error))?;
        rustix::fs::fcntl_add_seals(&file, SealFlags::SHRINK | SealFlags::GROW | SealFlags::SEAL)
            .map_err(|error| system("seal", error))?;
        let mapping = map(&file, request.size, Access::ReadWrite)?;
        Ok(Arc::new(AnonymousMemory { mapping, file: Some(file) }))
    }

    fn import(&self, descriptor: OwnedFd, size: u64) -> Result<Arc<dyn Memory>, DomainError> {
        // It may be anything: believe what the kernel says of it.
        let file = File::from(descriptor);
        let seals = rustix::fs::fcntl_get_seals(&file).map_err(|error| system("look at", error))?;
        let len = file.metadata().map_err(|error| system("look at", error))?.len();
        if !seals.contains(SealFlags::SHRINK) || len < size {
            return Err(refused("import memory", "it is not sealed, or shorter than its pool says"));
        }
        Ok(Arc::new(AnonymousMemory { mapping: map(&file, size, Access::Read)?, file: None }))
    }

    fn stream(&self) -> Result<Arc<dyn Stream>, DomainError> {
        Ok(Arc::new(ImmediateStream::new(ANONYMOUS)))
    }
}

fn map(file: &File, size: u64, access: Access) -> Result<Mapping, DomainError> {
    let len = usize::try_from(size).map_err(|_| refused("map", "larger than the address space"))?;
    Mapping::new(file.as_fd(), 0, len, access).map_err(|error| system("map", error))
}

/// Memory of the domain. Only its owner keeps the file.
#[derive(Debug)]
struct AnonymousMemory {
    mapping: Mapping,
    file: Option<File>,
}

impl AnonymousMemory {
    fn owned(&self) -> Result<&File, DomainError> {
        self.file.as_ref().ok_or_else(|| refused("write", "the memory belongs to another process"))
    }
}

impl Memory for AnonymousMemory {
    fn domain(&self) -> DomainId {
        ANONYMOUS
    }

    fn size(&self) -> u64 {
        self.mapping.len() as u64
    }

    fn address(&self) -> u64 {
        self.mapping.base() as u64
    }

    fn host(&self, offset: u64, len: u64) -> Result<Option<*mut u8>, DomainError> {
        check_range(self, offset, len)?;
        Ok(Some(self.mapping.base().wrapping_add(offset as usize)))
    }

    fn prefer(&self, pages: &PageOptions) -> Result<PageOutcome, DomainError> {
        // SAFETY: the range is this mapping.
        Ok(unsafe { prefer_pages(self.mapping.base(), self.mapping.len(), pages) })
    }

    fn back(&self, offset: u64, len: u64) -> Result<(), DomainError> {
        check_range(self, offset, len)?;
        find_memory(self.owned()?.as_fd(), offset, len).map_err(|error| system("find memory for", error))
    }

    fn unback(&self, offset: u64, len: u64) {
        let (start, end) = (offset.next_multiple_of(4096), (offset + len) / 4096 * 4096);
        if let Some(file) = &self.file
            && start < end
        {
            let hole = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
            let _ = rustix::fs::fallocate(file, hole, start, end - start);
        }
    }

    fn export(&self) -> Result<Option<OwnedFd>, DomainError> {
        // Opened again for reading: the receiver cannot write to it.
        let path = format!("/proc/self/fd/{}", self.owned()?.as_raw_fd());
        Ok(Some(File::open(path).map_err(|error| system("export", error))?.into()))
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}
