//! The host's shared memory as a domain: files in a memory file system, mapped read-only by everybody but their owner.

use std::any::Any;
use std::fs::File;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::domain::{
    Capabilities, Domain, DomainError, DomainId, HOST, Memory, MemoryRequest, Sharing, Stream, StreamOrder,
    check_range,
};
use crate::immediate::ImmediateStream;
use crate::mapping::{Access, Mapping};
use crate::pool::{malformed, system};
use crate::shared_file::{Backing, check_size, create_file, path_of};

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
        Ok(Arc::new(HostMemory::map(path.to_owned(), file, request.size, Access::ReadWrite)?))
    }

    fn import(&self, descriptor: OwnedFd, size: u64) -> Result<Arc<dyn Memory>, DomainError> {
        let file = File::from(descriptor);
        let path = path_of(&file);
        check_size(&file, &path, size)?;
        Ok(Arc::new(HostMemory::map(path, file, size, Access::Read)?))
    }

    fn stream(&self) -> Result<Arc<dyn Stream>, DomainError> {
        Ok(Arc::new(ImmediateStream::new(HOST)))
    }
}

/// A file of host shared memory, mapped.
#[derive(Debug)]
pub(crate) struct HostMemory {
    mapping: Mapping,
    backing: Backing,
}

impl HostMemory {
    fn map(path: PathBuf, file: File, size: u64, access: Access) -> Result<Self, DomainError> {
        let len = usize::try_from(size).map_err(|_| malformed(&path, "larger than the address space"))?;
        let mapping =
            Mapping::new(file.as_fd(), 0, len, access).map_err(|source| system("map", &path, source))?;
        Ok(Self { mapping, backing: Backing::new(path, file, access) })
    }
}

impl HostMemory {
    /// Where it is mapped.
    pub(crate) fn mapping(&self) -> &Mapping {
        &self.mapping
    }
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
        if !self.backing.is_owned() {
            return Err(read_only());
        }
        Ok(self.backing.back(&self.mapping, offset, len)?)
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
