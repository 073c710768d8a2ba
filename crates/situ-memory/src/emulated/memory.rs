//! Memory of an emulated device: a file, mapped without access rights for the program and with them for the device.

use std::any::Any;
use std::fs::File;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::Device;
use crate::domain::{DomainError, DomainId, Memory, MemoryRequest, check_range};
use crate::mapping::{Access, Mapping};
use crate::pool::{malformed, system};
use crate::shared_file::{Backing, check_size, create_file, path_of};

/// A file that only the device may read, and only its owner's device may write.
#[derive(Debug)]
pub(super) struct EmulatedMemory {
    device: Arc<Device>,
    /// What the program sees: an address to name bytes by, and a trap.
    trap: Mapping,
    /// What the device sees.
    bytes: Mapping,
    backing: Backing,
}

impl EmulatedMemory {
    pub(super) fn create(
        device: &Arc<Device>,
        path: &Path,
        request: &MemoryRequest,
    ) -> Result<Self, DomainError> {
        device.check()?;
        if device.faults.strikes_allocation() {
            let action = format!("make memory of {} bytes", request.size);
            return Err(device.refused(action, "it was made to fail"));
        }
        let file = create_file(path, request)?;
        Self::map(device, path.to_owned(), file, request.size, Access::ReadWrite)
    }

    pub(super) fn import(device: &Arc<Device>, descriptor: OwnedFd, size: u64) -> Result<Self, DomainError> {
        device.check()?;
        let file = File::from(descriptor);
        let path = path_of(&file);
        check_size(&file, &path, size)?;
        Self::map(device, path, file, size, Access::Read)
    }

    fn map(
        device: &Arc<Device>,
        path: PathBuf,
        file: File,
        size: u64,
        access: Access,
    ) -> Result<Self, DomainError> {
        let len = usize::try_from(size).map_err(|_| malformed(&path, "larger than the address space"))?;
        let map = |access| {
            Mapping::new(file.as_fd(), 0, len, access).map_err(|source| system("map", &path, source))
        };
        let (trap, bytes) = (map(Access::None)?, map(access)?);
        Ok(Self { device: device.clone(), trap, bytes, backing: Backing::new(path, file, access) })
    }

    /// Where the device finds a range, for reading.
    pub(super) fn source(&self, offset: u64, len: u64) -> Result<*const u8, DomainError> {
        check_range(self, offset, len)?;
        Ok(self.bytes.base().wrapping_add(offset as usize).cast_const())
    }

    /// Where the device finds a range, for writing.
    pub(super) fn target(&self, offset: u64, len: u64) -> Result<*mut u8, DomainError> {
        if !self.backing.is_owned() {
            return Err(self.device.refused("write", "the memory belongs to another process"));
        }
        Ok(self.source(offset, len)?.cast_mut())
    }
}

impl Memory for EmulatedMemory {
    fn domain(&self) -> DomainId {
        self.device.id
    }

    fn size(&self) -> u64 {
        self.trap.len() as u64
    }

    fn address(&self) -> u64 {
        self.trap.base() as u64
    }

    fn host(&self) -> Option<*mut u8> {
        None
    }

    fn back(&self, offset: u64, len: u64) -> Result<(), DomainError> {
        self.device.check()?;
        let _ = self.target(offset, len)?;
        if self.device.faults.strikes_allocation() {
            return Err(self.device.refused(format!("allocate {len} bytes"), "it was made to fail"));
        }
        Ok(self.backing.back(&self.bytes, offset, len)?)
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
