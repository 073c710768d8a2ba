//! Where the memory of a region comes from: the heap, a buffer of the caller's, or anything that implements [`Backing`], such as
//! a reserved window of address space; and the policies that go with it.

use std::marker::PhantomData;
use std::ptr::NonNull;

use super::allocation::Allocation;
use super::memory::{DEFAULT_LIMIT, GRANULE, MAX_SIZE, words};

/// How a region uses its memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// How large the image may become, in bytes; at most [`MAX_SIZE`](super::MAX_SIZE), [`DEFAULT_LIMIT`] by default, and at least what
    /// it begins with. A buffer is its own limit.
    pub limit: u32,
    /// For how many bytes of image there is room from the beginning. 0 by default.
    pub reserve: u32,
    /// How large a container, or memory that moves, becomes when it is full, in percent of what it was; at least 100. 200 by default.
    pub growth_percent: u16,
    /// Whether freed blocks become zero at once, so that nothing that was erased stays in the live image; else they do when
    /// they are used again. On by default.
    pub zero_on_free: bool,
    /// Which granules blocks take.
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

/// Memory that a region can be edited in. An implementation need not do more than hand out memory: the region keeps its
/// image at the front and what it knows about it at the end.
///
/// # Safety
/// What `memory` and `grow` return begins at a multiple of 16, is initialized, readable and writable, and nobody else uses it
/// until the next call of `grow`, or until the backing is dropped. Moving the backing does not move the memory.
pub unsafe trait Backing: Send + Sync {
    /// The memory, and its size in bytes.
    fn memory(&mut self) -> (NonNull<u8>, usize);

    /// Whether the memory is zero when it is handed out first.
    fn is_zero(&self) -> bool;

    /// Makes the memory at least `total` bytes, if that is possible: what was in it is at the front, the rest is zero. It may move.
    fn grow(&mut self, total: usize) -> Option<(NonNull<u8>, usize)>;
}

/// A region on the heap, which moves when it grows.
pub enum Heap {}

/// A region in a buffer of the caller's, which does not grow.
pub struct Buffer<'a>(PhantomData<&'a mut [u8]>);

/// Who the memory belongs to.
pub(super) enum Store {
    /// Somebody else; it does not grow.
    Borrowed,
    /// The memory itself: so many bytes of the heap.
    Heap(usize),
    /// A backing, from a box. What it borrows outlives the region, which is generic over it.
    Other(NonNull<dyn Backing>),
}

/// How much memory an image of `room` bytes needs together with its bitmap.
pub const fn total_for(room: u32) -> usize {
    room as usize + words(room) * 8
}

/// The largest image that memory of `total` bytes has room for, together with its bitmap.
pub(super) fn room_of(total: usize) -> u32 {
    let total = total.min(total_for(MAX_SIZE));
    // A kilobyte of image has a word of bitmap; the last word may cover less.
    let mut room = (total / 1032 * 1024 + (total % 1032).saturating_sub(8)) as u32 / GRANULE * GRANULE;
    while total_for(room + GRANULE) <= total && room < MAX_SIZE {
        room += GRANULE;
    }
    room
}
