//! The sources of a region's memory and their options. The memory comes from the heap, from a caller's
//! buffer, or from any [`Backing`], such as a reserved window of address space.

use std::marker::PhantomData;
use std::ptr::NonNull;

use super::allocation::Allocation;
use super::memory::{DEFAULT_LIMIT, GRANULE, MAX_SIZE, words};

/// How a region uses its memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// The greatest size of the image in bytes, at most [`MAX_SIZE`](super::MAX_SIZE); [`DEFAULT_LIMIT`] by
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

/// Memory in which a region can be edited. An implementation only provides memory: the region keeps its image
/// at the front and its own data at the end.
///
/// # Safety
/// The memory that `memory` and `grow` return begins at a multiple of 16, is initialized, readable
/// and writable. No other code uses it until the next call of `grow`, or until the backing is dropped. Moving
/// the backing does not move the memory.
pub unsafe trait Backing: Send + Sync {
    /// The memory, and its size in bytes.
    fn memory(&mut self) -> (NonNull<u8>, usize);

    /// Whether the memory is zero when it is first returned.
    fn is_zero(&self) -> bool;

    /// Makes the memory at least `total` bytes, if possible. The old content is at the front, the rest is
    /// zero. The memory may move.
    fn grow(&mut self, total: usize) -> Option<(NonNull<u8>, usize)>;
}

/// A region on the heap, which moves when it grows.
pub enum Heap {}

/// A region in a caller's buffer, which does not grow.
pub struct Buffer<'a>(PhantomData<&'a mut [u8]>);

/// The owner of the memory.
pub(super) enum Store {
    /// The caller; the memory does not grow.
    Borrowed,
    /// The memory itself: a heap allocation of this many bytes.
    Heap(usize),
    /// A backing, from a box. The data it borrows outlives the region, which is generic over it.
    Other(NonNull<dyn Backing>),
}

/// The size of the memory that an image of `room` bytes needs together with its bitmap.
pub const fn total_for(room: u32) -> usize {
    room as usize + words(room) * 8
}

/// The greatest size of an image that fits into memory of `total` bytes together with its bitmap.
pub(super) fn room_of(total: usize) -> u32 {
    let total = total.min(total_for(MAX_SIZE));
    // A kilobyte of image needs one word of bitmap; the last word may cover less.
    let mut room = (total / 1032 * 1024 + (total % 1032).saturating_sub(8)) as u32 / GRANULE * GRANULE;
    while total_for(room + GRANULE) <= total && room < MAX_SIZE {
        room += GRANULE;
    }
    room
}
