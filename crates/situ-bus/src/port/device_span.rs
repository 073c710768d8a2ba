//! Spans: ranges of a memory domain's memory.

use std::marker::PhantomData;
use std::sync::Arc;

use situ_memory::Memory;

/// A range of a memory domain's memory that holds elements of type `U`, for work on the domain's streams. It
/// is valid as long as the loan or sample that it came from: keep that until the streams have passed the
/// work.
pub struct DeviceSpan<'a, U> {
    memory: &'a Arc<dyn Memory>,
    offset: u64,
    len: usize,
    element: PhantomData<fn() -> U>,
}

impl<'a, U> DeviceSpan<'a, U> {
    pub(crate) fn new(memory: &'a Arc<dyn Memory>, offset: u64, len: usize) -> Self {
        Self { memory, offset, len, element: PhantomData }
    }

    /// The memory of the span.
    pub fn memory(&self) -> &'a Arc<dyn Memory> {
        self.memory
    }

    /// Its offset in that memory, in bytes.
    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// Its address for work on the domain's streams. The CPU may use it only if the domain is the host's.
    pub fn address(&self) -> u64 {
        let bytes = (self.len as u64).saturating_mul(size_of::<U>() as u64);
        match self.memory.host(self.offset, bytes) {
            Ok(Some(first)) => first as u64,
            _ => self.memory.address().wrapping_add(self.offset),
        }
    }

    /// The number of elements.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether it has no elements.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Its size in bytes.
    pub fn size(&self) -> u64 {
        (self.len * size_of::<U>()) as u64
    }

    /// The part of a bulk member: `len` elements at `offset` bytes. Empty if it would reach beyond this span.
    pub(crate) fn part<V>(&self, offset: u64, len: usize) -> DeviceSpan<'a, V> {
        let size = len.checked_mul(size_of::<V>()).and_then(|size| u64::try_from(size).ok());
        let fits = size.and_then(|size| size.checked_add(offset)).is_some_and(|end| end <= self.size());
        let at = if fits { self.offset.wrapping_add(offset) } else { self.offset };
        DeviceSpan::new(self.memory, at, if fits { len } else { 0 })
    }
}

impl<U> Clone for DeviceSpan<'_, U> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<U> Copy for DeviceSpan<'_, U> {}

impl<U> std::fmt::Debug for DeviceSpan<'_, U> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("DeviceSpan")
            .field("domain", &self.memory.domain())
            .field("offset", &self.offset)
            .field("len", &self.len)
            .finish()
    }
}
