//! A range of a device's memory, for kernels and copies.

use std::sync::Arc;

use situ::memory::Memory;

/// A range of the device's memory.
#[derive(Clone, Debug)]
pub struct Span {
    /// The memory that it lies in.
    pub memory: Arc<dyn Memory>,
    /// Where it begins, in bytes.
    pub offset: u64,
    /// How long it is, in bytes.
    pub len: u64,
}
