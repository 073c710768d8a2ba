//! The host's shared memory as a domain: files in a memory file system, which all processes but their owner
//! map read-only.

use std::any::Any;
use std::fs::File;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::sync::Arc;

use crate::domain::immediate::ImmediateStream;
use crate::domain::traits::{
    Capabilities, Domain, DomainError, DomainId, HOST, Memory, MemoryRequest, Sharing, Stream, StreamOrder,
    check_range,
};
use crate::os::beneath::Beneath;
use crate::os::file_windows::{FileWindows, Source};
use crate::os::mapped_range::Access;
use crate::os::pages::{PageOptions, PageOutcome};
use crate::os::shared_file::{Backing, create_file, identify, path_of};

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

    fn create(&self, place: &Beneath, request: &MemoryRequest) -> Result<Arc<dyn Memory>, DomainError> {
        // The file grows as slots get memory.
        let file = create_file(place, &MemoryRequest { size: 0, ..request.clone() })?;
        Ok(Arc::new(HostMemory::own(place.path().to_owned(), file, request.size)?))
    }

    fn import(&self, descriptor: OwnedFd, size: u64) -> Result<Arc<dyn Memory>, DomainError> {
        Ok(Arc::new(HostMemory::other(File::from(descriptor), size)?))
    }

    fn stream(&self) -> Result<Arc<dyn Stream>, DomainError> {
        Ok(Arc::new(ImmediateStream::new(HOST)))
    }
}

/// A file of host shared memory, mapped as far as it is used.
#[derive(Debug)]
pub(crate) struct HostMemory {
    windows: FileWindows,
    backing: Backing,
}

impl HostMemory {
    fn own(path: PathBuf, file: File, size: u64) -> Result<Self, DomainError> {
        let file = Arc::new(file);
        let windows = FileWindows::new(path.clone(), Source::Own(file.clone()), Access::ReadWrite, size)?;
        Ok(Self { windows, backing: Backing::own(path, file) })
    }

    fn other(file: File, size: u64) -> Result<Self, DomainError> {
        let path = path_of(&file);
        let source = identify(&file, &path)?;
        let windows = FileWindows::new(path.clone(), source, Access::Read, size)?;
        Ok(Self { windows, backing: Backing::other(path) })
    }

    /// The windows through which this process uses it.
    #[cfg(feature = "cuda")]
    pub(crate) fn windows(&self) -> &FileWindows {
        &self.windows
    }
}

impl Memory for HostMemory {
    fn domain(&self) -> DomainId {
        HOST
    }

    fn size(&self) -> u64 {
        self.windows.limit()
    }

    fn address(&self) -> u64 {
        self.windows.base() as u64
    }

    fn host(&self, offset: u64, len: u64) -> Result<Option<*mut u8>, DomainError> {
        check_range(self, offset, len)?;
        Ok(Some(self.windows.reach(offset + len)?.wrapping_add(offset as usize)))
    }

    fn offset_of(&self, address: u64) -> Option<u64> {
        self.windows.offset_of(address)
    }

    fn keep_place(&self, offset: u64, len: u64) -> Result<(), DomainError> {
        check_range(self, offset, len)?;
        self.windows.cover(offset + len)?;
        Ok(())
    }

    fn find(&self, offset: u64, len: u64) -> Result<(), DomainError> {
        check_range(self, offset, len)?;
        Ok(self.windows.find(offset, offset + len)?)
    }

    fn prefer(&self, pages: &PageOptions) -> Result<PageOutcome, DomainError> {
        Ok(self.windows.prefer(pages)?)
    }

    fn back(&self, offset: u64, len: u64) -> Result<(), DomainError> {
        check_range(self, offset, len)?;
        if !self.backing.is_owned() {
            return Err(read_only());
        }
        Ok(self.backing.back(&self.windows, offset, len)?)
    }

    fn unback(&self, offset: u64, len: u64) {
        self.backing.unback(offset, len);
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
