//! The options of a region.

use crate::memory::allocation::Allocation;

/// The default limit of a region's size, the same in each language.
pub const DEFAULT_LIMIT: u32 = 63 << 20;

/// How a region uses its memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// The greatest size of the image in bytes, at most [`MAX_SIZE`](crate::MAX_SIZE); [`DEFAULT_LIMIT`] by
    /// default. It is at least the initial size. A buffer is its own limit.
    pub limit: u32,
    /// The size of the image in bytes for which there is room from the beginning; 0 by default.
    pub reserve: u32,
    /// The new size of a container, or of memory that moves, when it is full, in percent of the old size. At
    /// least 100; 200 by default.
    pub growth_percent: u16,
    /// Whether freed blocks are zeroed at once, so that the live image contains no erased data. Otherwise
    /// they are zeroed when they are reused. On by default.
    pub zero_on_free: bool,
    /// The allocator that chooses the granules of blocks.
    pub allocation: Allocation,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            limit: DEFAULT_LIMIT,
            reserve: 0,
            growth_percent: 200,
            zero_on_free: true,
            allocation: Allocation::Bitmap,
        }
    }
}
