//! Memory of an emulated device: a file that is mapped without access rights for the program, and with them
//! for the device.

use std::any::Any;
use std::fs::File;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::sync::Arc;

use super::Device;
use crate::domain::traits::{DomainError, DomainId, Memory, MemoryRequest, check_range};
use crate::os::beneath::Beneath;
use crate::os::file_windows::{FileWindows, Source};
use crate::os::mapped_range::Access;
use crate::os::shared_file::{Backing, create_file, identify, path_of};

/// A file that only the device may read, and only its owner's device may write.
#[derive(Debug)]
pub(super) struct EmulatedMemory {
    device: Arc<Device>,
    /// The program's mapping: addresses that name bytes, and trap every access.
    trap: FileWindows,
    /// The device's mapping.
    bytes: FileWindows,
    backing: Backing,
}

impl EmulatedMemory {
    pub(super) fn create(
        device: &Arc<Device>,
        place: &Beneath,
        request: &MemoryRequest,
    ) -> Result<Self, DomainError> {
        device.check()?;
        if device.faults.strikes_allocation() {
            let action = format!("make memory of {} bytes", request.size);
            return Err(device.refused(action, "it was made to fail"));
        }
        // The file grows as slots get memory.
        let file = Arc::new(create_file(place, &MemoryRequest { size: 0, ..request.clone() })?);
        let backing = Backing::own(place.path().to_owned(), file.clone());
        Self::of(device, place.path(), Source::Own(file), Access::ReadWrite, request.size, backing)
    }

    pub(super) fn import(device: &Arc<Device>, descriptor: OwnedFd, size: u64) -> Result<Self, DomainError> {
        device.check()?;
        let file = File::from(descriptor);
        let path = path_of(&file);
        let source = identify(&file, &path)?;
        Self::of(device, &path, source, Access::Read, size, Backing::other(path.clone()))
    }

    fn of(
        device: &Arc<Device>,
        path: &Path,
        source: Source,
        access: Access,
        size: u64,
        backing: Backing,
    ) -> Result<Self, DomainError> {
        let windows = |access| FileWindows::new(path.to_owned(), source.clone(), access, size);
        let (trap, bytes) = (windows(Access::None)?, windows(access)?);
        // It has an address from the start.
        trap.cover(size.min(1))?;
        Ok(Self { device: device.clone(), trap, bytes, backing })
    }

    /// The device's address of a range, for reading.
    pub(super) fn source(&self, offset: u64, len: u64) -> Result<*const u8, DomainError> {
        check_range(self, offset, len)?;
        Ok(self.bytes.reach(offset + len)?.wrapping_add(offset as usize).cast_const())
    }

    /// The device's address of a range, for writing.
    pub(super) fn target(&self, offset: u64, len: u64) -> Result<*mut u8, DomainError> {
        self.check_owned()?;
        Ok(self.source(offset, len)?.cast_mut())
    }

    fn check_owned(&self) -> Result<(), DomainError> {
        if self.backing.is_owned() {
            return Ok(());
        }
        Err(self.device.refused("write", "the memory belongs to another process"))
    }
}

impl Memory for EmulatedMemory {
    fn domain(&self) -> DomainId {
        self.device.id
    }

    fn size(&self) -> u64 {
        self.bytes.limit()
    }

    fn address(&self) -> u64 {
        self.trap.base() as u64
    }

    fn host(&self, offset: u64, len: u64) -> Result<Option<*mut u8>, DomainError> {
        // The program may not touch it. But from now on the device can, whatever happens to the file.
        self.source(offset, len)?;
        Ok(None)
    }

    fn find(&self, offset: u64, len: u64) -> Result<(), DomainError> {
        check_range(self, offset, len)?;
        Ok(self.bytes.find(offset, offset + len)?)
    }

    fn back(&self, offset: u64, len: u64) -> Result<(), DomainError> {
        self.device.check()?;
        self.check_owned()?;
        check_range(self, offset, len)?;
        if self.device.faults.strikes_allocation() {
            return Err(self.device.refused(format!("allocate {len} bytes"), "it was made to fail"));
        }
        self.trap.cover(offset + len)?;
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
