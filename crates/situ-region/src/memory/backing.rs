//! The sources of a region's memory: the heap, a caller's buffer, or any [`Backing`], such as a reserved
//! window of address space.

use std::marker::PhantomData;
use std::ptr::NonNull;

use crate::memory::granule::{GRANULE, MAX_SIZE, words};

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
pub enum HeapMemory {}

/// A region in a caller's buffer, which does not grow.
pub struct Buffer<'a>(PhantomData<&'a mut [u8]>);

/// The owner of the memory.
pub(crate) enum Store {
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
pub(crate) fn room_of(total: usize) -> u32 {
    let total = total.min(total_for(MAX_SIZE));
    // A kilobyte of image needs one word of bitmap; the last word may cover less.
    let mut room = (total / 1032 * 1024 + (total % 1032).saturating_sub(8)) as u32 / GRANULE * GRANULE;
    while total_for(room + GRANULE) <= total && room < MAX_SIZE {
        room += GRANULE;
    }
    room
}
