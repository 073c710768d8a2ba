//! The place of a bulk member in the body of a message.

use std::fmt;
use std::marker::PhantomData;

/// The alignment of every bulk member within the body, in bytes.
pub const BULK_ALIGN: usize = 64;

/// The bound of a bulk sequence that has none in the schema.
pub const UNBOUNDED: usize = usize::MAX;

/// The end of the bulk data laid out so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BulkCursor {
    end: usize,
}

impl BulkCursor {
    /// Reserves the range of `len` elements and returns its offset; `None` on overflow.
    pub fn advance<T>(&mut self, len: usize) -> Option<u64> {
        let start = self.end.checked_next_multiple_of(BULK_ALIGN)?;
        self.end = start.checked_add(len.checked_mul(size_of::<T>())?)?;
        // A slice must be able to cover the body.
        isize::try_from(self.end).ok()?;
        u64::try_from(start).ok()
    }

    /// The size of a body that ends here.
    pub const fn end(&self) -> usize {
        self.end
    }
}

/// A bulk member in the head of a flat message: the offset of its elements in the body, and their number.
///
/// Two descriptors are equal when they name the same range; compare the slices to compare the elements.
#[repr(C)]
pub struct BulkRef<T, const N: usize = UNBOUNDED> {
    pub(crate) offset: u64,
    pub(crate) len: u64,
    element: PhantomData<fn() -> T>,
}

impl<T, const N: usize> BulkRef<T, N> {
    /// Makes a descriptor. Each use checks it against the body.
    pub const fn new(offset: u64, len: u64) -> Self {
        Self { offset, len, element: PhantomData }
    }

    /// The offset of the elements, in bytes from the start of the body.
    pub const fn offset(&self) -> u64 {
        self.offset
    }

    /// The number of elements, at most the bound.
    pub const fn len(&self) -> usize {
        if self.len > N as u64 { N } else { self.len as usize }
    }

    /// Whether there are no elements.
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }
}

impl<T, const N: usize> Clone for BulkRef<T, N> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T, const N: usize> Copy for BulkRef<T, N> {}

impl<T, const N: usize> PartialEq for BulkRef<T, N> {
    fn eq(&self, other: &Self) -> bool {
        (self.offset, self.len) == (other.offset, other.len)
    }
}

impl<T, const N: usize> Eq for BulkRef<T, N> {}

impl<T, const N: usize> Default for BulkRef<T, N> {
    fn default() -> Self {
        Self::new(0, 0)
    }
}

impl<T, const N: usize> fmt::Debug for BulkRef<T, N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "BulkRef {{ offset: {}, len: {} }}", self.offset, self.len)
    }
}
