//! A stream for memory that the CPU may touch: every call does its work before it returns.

use std::any::Any;
use std::sync::Arc;
use std::time::Duration;

use crate::domain::traits::{DomainError, DomainId, Memory, Stream};
use crate::sync::fence::{Fence, FenceState};

/// A queue that is always empty, of a domain with [host access](crate::Capabilities::host_access). Its order
/// is [`StreamOrder::Host`](crate::StreamOrder::Host): the call itself waits for a fence.
#[derive(Debug)]
pub struct ImmediateStream {
    domain: DomainId,
}

impl ImmediateStream {
    /// A stream of this domain. It works on all memory of this domain that has a host address.
    pub fn new(domain: DomainId) -> Self {
        Self { domain }
    }

    /// The address of a range, for reading.
    fn source(&self, memory: &Arc<dyn Memory>, offset: u64, len: u64) -> Result<*mut u8, DomainError> {
        let foreign = DomainError::Foreign { domain: self.domain, found: memory.domain() };
        if memory.domain() != self.domain {
            return Err(foreign);
        }
        memory.host(offset, len)?.ok_or(foreign)
    }

    /// The address of a range, for writing.
    fn target(&self, memory: &Arc<dyn Memory>, offset: u64, len: u64) -> Result<*mut u8, DomainError> {
        let target = self.source(memory, offset, len)?;
        // Only the owner may back a range, even an empty one. This call checks that.
        memory.back(offset, 0)?;
        Ok(target)
    }
}

impl Stream for ImmediateStream {
    fn domain(&self) -> DomainId {
        self.domain
    }

    unsafe fn copy_from_host(
        &self,
        from: *const u8,
        to: &Arc<dyn Memory>,
        offset: u64,
        len: u64,
    ) -> Result<(), DomainError> {
        let target = self.target(to, offset, len)?;
        // SAFETY: the caller vouches for `from`; `target` is checked, writable, and the caller's alone.
        unsafe { std::ptr::copy(from, target, len as usize) };
        Ok(())
    }

    unsafe fn copy_to_host(
        &self,
        from: &Arc<dyn Memory>,
        offset: u64,
        to: *mut u8,
        len: u64,
    ) -> Result<(), DomainError> {
        let source = self.source(from, offset, len)?;
        // SAFETY: the caller vouches for `to`; `source` is checked.
        unsafe { std::ptr::copy(source, to, len as usize) };
        Ok(())
    }

    fn copy(
        &self,
        from: &Arc<dyn Memory>,
        from_offset: u64,
        to: &Arc<dyn Memory>,
        to_offset: u64,
        len: u64,
    ) -> Result<(), DomainError> {
        let from = self.source(from, from_offset, len)?;
        let target = self.target(to, to_offset, len)?;
        // SAFETY: both ranges are checked and mapped; they may overlap.
        unsafe { std::ptr::copy(from, target, len as usize) };
        Ok(())
    }

    fn wait(&self, fence: &Fence, timeout: Duration) -> Result<(), DomainError> {
        match fence.wait(timeout) {
            FenceState::Pending => Err(DomainError::TimedOut { domain: self.domain, waited: timeout }),
            FenceState::Complete | FenceState::Poisoned => Ok(()),
        }
    }

    fn signal(&self, fence: &Fence) -> Result<(), DomainError> {
        fence.complete();
        Ok(())
    }

    fn synchronize(&self, _timeout: Duration) -> Result<(), DomainError> {
        Ok(())
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}
