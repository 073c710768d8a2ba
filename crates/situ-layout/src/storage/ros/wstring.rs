//! Wide strings with the layout of ROS 2's C code: `{uint16_t* data; size_t size; size_t capacity}`. The
//! capacity includes the terminating zero.

use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::ops::Deref;
use std::ptr;

use super::memory::{allocate, release, try_resize};
use super::{NO_BOUND, bound};
use crate::support::shared_bytes::NoMemory;
use crate::value::container::{WideText, check};
use crate::value::error::{BoundError, ValidateError, ValidateProblem};
use crate::value::in_place::{InPlace, Scalar};
use crate::value::traits::{Key, Validation, Value, Visitor, VisitorMut};

/// The smallest allocation, in 16-bit units.
const LEAST: usize = 8;

/// Text of at most `N` 16-bit units in memory of the C allocator. It is bit for bit a
/// `rosidl_runtime_c__U16String`.
///
/// The units are UTF-16 by convention; no code requires that they are well formed.
// There are two states. Either `data` is null and both numbers are 0, or `data` is C memory for `capacity`
// units. Then the first `size` units are the text, and the next unit is 0.
#[repr(C)]
pub struct RosWString<const N: usize = NO_BOUND> {
    data: *mut u16,
    size: usize,
    capacity: usize,
}

// SAFETY: a string owns its units and has no interior mutability.
unsafe impl<const N: usize> Send for RosWString<N> {}
// SAFETY: as above.
unsafe impl<const N: usize> Sync for RosWString<N> {}

impl<const N: usize> RosWString<N> {
    /// A string without memory. C code must not receive it.
    const VACANT: Self = Self { data: ptr::null_mut(), size: 0, capacity: 0 };

    /// A string in memory that it does not own, with room for the units and a zero. It may be read and must
    /// not be dropped.
    pub(crate) const fn lent(data: *mut u16, size: usize) -> Self {
        Self { data, size, capacity: size + 1 }
    }

    /// Copies 16-bit units, with one allocation.
    pub fn try_from_units(units: &[u16]) -> Result<Self, BoundError> {
        let mut string = Self::VACANT;
        string.try_assign(units)?;
        Ok(string)
    }

    /// The 16-bit units, without the terminating zero.
    pub const fn as_slice(&self) -> &[u16] {
        if self.data.is_null() {
            return &[];
        }
        // SAFETY: data holds size units.
        unsafe { std::slice::from_raw_parts(self.data, self.size) }
    }

    /// The greatest length in 16-bit units.
    pub const fn capacity(&self) -> usize {
        N
    }

    /// The number of units that fit into its memory, including the terminating zero, as in C.
    pub const fn memory_capacity(&self) -> usize {
        self.capacity
    }

    /// Replaces the text by these 16-bit units.
    pub fn try_assign(&mut self, units: &[u16]) -> Result<(), BoundError> {
        check(bound(N), units.len())?;
        self.make_room(units.len());
        // SAFETY: there is room for the units. They do not lie there, because this string is borrowed
        // exclusively.
        unsafe { ptr::copy_nonoverlapping(units.as_ptr(), self.data, units.len()) };
        self.end(units.len());
        Ok(())
    }

    /// Replaces the text by the UTF-16 form of a string.
    pub fn try_assign_str(&mut self, text: &str) -> Result<(), BoundError> {
        let count = text.encode_utf16().count();
        check(bound(N), count)?;
        self.write(text.encode_utf16(), count);
        Ok(())
    }

    /// Replaces the text by the 16-bit units of an iterator.
    pub fn try_assign_iter(&mut self, units: impl ExactSizeIterator<Item = u16>) -> Result<(), BoundError> {
        let count = units.len();
        check(bound(N), count)?;
        self.write(units, count);
        Ok(())
    }

    /// Makes the text empty. The memory is kept.
    pub fn clear(&mut self) {
        self.make_room(0);
        self.end(0);
    }

    /// Makes room for `len` units and the zero. The current text may be lost.
    fn make_room(&mut self, len: usize) {
        if len >= self.capacity {
            let capacity = len.saturating_add(1).max(LEAST);
            let data = allocate::<u16>(capacity).as_ptr();
            *self = Self { data, size: 0, capacity };
        }
        self.end(0);
    }

    /// Writes at most `count` units of an iterator.
    fn write(&mut self, units: impl Iterator<Item = u16>, count: usize) {
        self.make_room(count);
        let mut len = 0;
        for unit in units.take(count) {
            // SAFETY: there is room for count units.
            unsafe { self.data.add(len).write(unit) };
            len += 1;
        }
        self.end(len);
    }

    /// Ends the text after `len` units, which are written already.
    fn end(&mut self, len: usize) {
        // SAFETY: there is room for len units and the zero.
        unsafe { self.data.add(len).write(0) };
        self.size = len;
    }
}

impl<const N: usize> WideText for RosWString<N> {
    const BOUND: Option<usize> = bound(N);

    fn try_assign(&mut self, units: &[u16]) -> Result<(), BoundError> {
        self.try_assign(units)
    }

    fn try_reserve(&mut self, len: usize) -> Result<(), NoMemory> {
        let len = len.min(N);
        if len >= self.capacity {
            let capacity = len.saturating_add(1).max(LEAST);
            // SAFETY: data is null or of the C allocator.
            let data = unsafe { try_resize(self.data, capacity) };
            let data = data.ok_or(NoMemory { bytes: capacity.saturating_mul(2) })?;
            (self.data, self.capacity) = (data.as_ptr(), capacity);
            self.end(0);
        }
        Ok(())
    }

    fn try_assign_str(&mut self, text: &str) -> Result<(), BoundError> {
        self.try_assign_str(text)
    }

    fn try_assign_iter(&mut self, units: impl ExactSizeIterator<Item = u16>) -> Result<(), BoundError> {
        self.try_assign_iter(units)
    }

    fn clear(&mut self) {
        self.clear();
    }
}

// SAFETY: all functions write a whole value; a vacant one owns no memory.
unsafe impl<const N: usize> InPlace for RosWString<N> {
    type Class = Scalar;

    unsafe fn default_at(dst: *mut Self) {
        // SAFETY: the caller promises that dst is valid for writes and aligned.
        unsafe { dst.write(Self::default()) }
    }

    unsafe fn vacant_at(dst: *mut Self) {
        // SAFETY: as above.
        unsafe { dst.write(Self::VACANT) }
    }

    unsafe fn clone_at(&self, dst: *mut Self) {
        // SAFETY: as above.
        unsafe { dst.write(self.clone()) }
    }
}

impl<const N: usize> Value for RosWString<N> {
    unsafe fn validate_at(_: *const Self, _: &Validation) -> Result<(), ValidateError> {
        Err(ValidateProblem::NotFlat.into())
    }

    fn visit<V: Visitor>(&self, visitor: &mut V) -> Result<(), V::Error> {
        visitor.wide_text(self)
    }

    fn visit_mut<V: VisitorMut>(&mut self, visitor: &mut V) -> Result<(), V::Error> {
        visitor.wide_text(self)
    }
}

impl<const N: usize> Key for RosWString<N> {}

impl<const N: usize> Default for RosWString<N> {
    fn default() -> Self {
        let mut string = Self::VACANT;
        string.clear();
        string
    }
}

impl<const N: usize> Drop for RosWString<N> {
    fn drop(&mut self) {
        // SAFETY: the memory is null or C's, and is not used afterwards.
        unsafe { release(self.data) }
    }
}

impl<const N: usize> Clone for RosWString<N> {
    fn clone(&self) -> Self {
        let mut copy = Self::VACANT;
        // C code may have written more than the bound. The copy has at most the bound.
        let copied = copy.try_assign(&self.as_slice()[..self.size.min(N)]);
        debug_assert!(copied.is_ok());
        copy
    }
}

impl<const N: usize> Deref for RosWString<N> {
    type Target = [u16];

    fn deref(&self) -> &[u16] {
        self.as_slice()
    }
}

impl<const N: usize> PartialEq for RosWString<N> {
    fn eq(&self, other: &Self) -> bool {
        self.as_slice() == other.as_slice()
    }
}

impl<const N: usize> Eq for RosWString<N> {}

impl<const N: usize> PartialOrd for RosWString<N> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<const N: usize> Ord for RosWString<N> {
    fn cmp(&self, other: &Self) -> Ordering {
        self.as_slice().cmp(other.as_slice())
    }
}

impl<const N: usize> Hash for RosWString<N> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.as_slice().hash(state);
    }
}

impl<const N: usize> fmt::Debug for RosWString<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&String::from_utf16_lossy(self.as_slice()), f)
    }
}

impl<const N: usize> fmt::Display for RosWString<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&String::from_utf16_lossy(self.as_slice()), f)
    }
}
