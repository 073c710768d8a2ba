//! The checks that streams of devices make before they call a driver: which device the memory is on, whether
//! it may be written, and where it ends.

use std::sync::Arc;

use crate::domain::traits::{DomainError, DomainId, Memory, check_range};

/// Memory of a device, as this process uses it.
pub(crate) trait DeviceMemory: Memory + Sized + 'static {
    /// Whether this process made it, and may write to it.
    fn owned(&self) -> bool;

    /// The error for an action that only the memory's owner may do.
    fn not_owned(&self, action: &str, reason: &str) -> DomainError {
        DomainError::Refused { domain: self.domain(), action: action.to_owned(), reason: reason.to_owned() }
    }

    /// [`Memory::back`] where the memory is one block that exists from the start.
    fn back_block(&self, offset: u64, len: u64) -> Result<(), DomainError> {
        if !self.owned() {
            return Err(self.not_owned("give memory to a pool", "it was imported: only its owner does"));
        }
        check_range(self, offset, len)
    }
}

/// A stream of a device, by the kind of memory that it works on.
pub(crate) trait DeviceStream {
    /// The memory of its device.
    type Memory: DeviceMemory;

    /// The domain that it works on.
    fn device(&self) -> DomainId;

    /// Whether memory of this kind is of this device, as this process has opened it.
    fn is_here(&self, memory: &Self::Memory) -> bool;

    /// Memory of this device.
    fn own<'m>(&self, memory: &'m Arc<dyn Memory>) -> Result<&'m Self::Memory, DomainError> {
        let ours = memory.as_any().downcast_ref::<Self::Memory>().filter(|memory| self.is_here(memory));
        ours.ok_or_else(|| DomainError::Foreign { domain: self.device(), found: memory.domain() })
    }

    /// Memory of this device that has this range, for reading.
    fn readable<'m>(
        &self,
        memory: &'m Arc<dyn Memory>,
        offset: u64,
        len: u64,
    ) -> Result<&'m Self::Memory, DomainError> {
        let own = self.own(memory)?;
        check_range(own, offset, len)?;
        Ok(own)
    }

    /// The same for writing: only the owner may write.
    fn writable<'m>(
        &self,
        memory: &'m Arc<dyn Memory>,
        offset: u64,
        len: u64,
    ) -> Result<&'m Self::Memory, DomainError> {
        let own = self.own(memory)?;
        if !own.owned() {
            return Err(own.not_owned("write", "the memory belongs to another process"));
        }
        check_range(own, offset, len)?;
        Ok(own)
    }

    /// An error if two ranges of the same memory have bytes in common.
    fn check_apart(
        &self,
        (from, from_offset): (&Arc<dyn Memory>, u64),
        (to, to_offset): (&Arc<dyn Memory>, u64),
        len: u64,
    ) -> Result<(), DomainError> {
        let overlap = Arc::ptr_eq(from, to)
            && from_offset < to_offset.saturating_add(len)
            && to_offset < from_offset.saturating_add(len);
        if !overlap {
            return Ok(());
        }
        Err(DomainError::Refused {
            domain: self.device(),
            action: format!("copy {len} bytes from {from_offset} to {to_offset}"),
            reason: "the ranges overlap".to_owned(),
        })
    }
}
