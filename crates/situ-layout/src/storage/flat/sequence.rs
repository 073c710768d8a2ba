//! `sequence<T, N>` in flat storage.

use std::fmt;
use std::mem::{MaybeUninit, needs_drop, offset_of};
use std::ops::{Deref, DerefMut};
use std::ptr;

use crate::storage::hand_over::HandOverList;
use crate::storage::methods::visit_as;
use crate::value::container::{SequenceField, check};
use crate::value::error::{BoundError, ValidateError, ValidateProblem};
use crate::value::in_place::{Composite, InPlace, SelfContained, clone_value, default_value};
use crate::value::traits::{BulkElement, Validation, Value};

/// At most `N` elements, inline: `{u32 len; T[N]}`.
///
/// ```
/// let mut ranges = situ_layout::FlatSequence::<f32, 3>::default();
/// ranges.try_extend_from_slice(&[1.0, 2.0])?;
/// ranges.try_push(3.0)?;
/// assert_eq!(ranges.try_push(4.0).unwrap_err().size, 4);
/// assert_eq!(*ranges, [1.0, 2.0, 3.0]);
/// # Ok::<(), situ_layout::BoundError>(())
/// ```
#[repr(C)]
pub struct FlatSequence<T, const N: usize> {
    len: u32,
    elements: [MaybeUninit<T>; N],
}

impl<T, const N: usize> FlatSequence<T, N> {
    /// The number of elements.
    pub const fn len(&self) -> usize {
        let len = self.len as usize;
        if len > N { N } else { len }
    }

    /// Whether there are no elements.
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The greatest number of elements.
    pub const fn capacity(&self) -> usize {
        N
    }

    /// The elements.
    pub const fn as_slice(&self) -> &[T] {
        // SAFETY: elements up to len are initialized, and MaybeUninit<T> has the layout of T.
        unsafe { std::slice::from_raw_parts((&raw const self.elements).cast::<T>(), self.len()) }
    }

    /// The elements as a mutable slice.
    pub const fn as_mut_slice(&mut self) -> &mut [T] {
        let len = self.len();
        // SAFETY: as above.
        unsafe { std::slice::from_raw_parts_mut((&raw mut self.elements).cast::<T>(), len) }
    }

    /// Appends an element.
    pub fn try_push(&mut self, element: T) -> Result<(), BoundError> {
        let len = self.len();
        check(Some(N), len + 1)?;
        self.elements[len].write(element);
        self.len = len as u32 + 1;
        Ok(())
    }

    /// Removes the last element.
    pub fn pop(&mut self) -> Option<T> {
        let last = self.len().checked_sub(1)?;
        self.len = last as u32;
        // SAFETY: the element was occupied, and the shortened length gives it up.
        Some(unsafe { self.elements[last].assume_init_read() })
    }

    /// Shortens to `len` elements; does nothing if there are no more.
    pub fn truncate(&mut self, len: usize) {
        let old = self.len();
        if len >= old {
            return;
        }
        self.len = len as u32;
        if needs_drop::<T>() {
            // SAFETY: these elements were occupied, and the shortened length gives them up.
            unsafe {
                let start = (&raw mut self.elements).cast::<T>().add(len);
                ptr::drop_in_place(ptr::slice_from_raw_parts_mut(start, old - len));
            }
        }
    }

    /// Removes all elements.
    pub fn clear(&mut self) {
        self.truncate(0);
        self.len = 0;
    }

    /// The memory after the occupied elements.
    fn spare(&mut self) -> &mut [MaybeUninit<T>] {
        let len = self.len();
        &mut self.elements[len..]
    }
}

impl<T: Value, const N: usize> FlatSequence<T, N> {
    /// Copies the elements of a slice.
    pub fn try_from_slice(elements: &[T]) -> Result<Self, BoundError> {
        check(Some(N), elements.len())?;
        let mut sequence = Self::default();
        sequence.try_extend_from_slice(elements)?;
        Ok(sequence)
    }

    /// Appends a default element, built in place, and returns a reference to it.
    pub fn try_push_default(&mut self) -> Result<&mut T, BoundError> {
        let len = self.len();
        check(Some(N), len + 1)?;
        // SAFETY: the pointer is to a whole element, which default_at initializes before the length covers
        // it.
        unsafe { T::default_at(self.elements[len].as_mut_ptr()) };
        self.len = len as u32 + 1;
        // SAFETY: initialized above.
        Ok(unsafe { self.elements[len].assume_init_mut() })
    }

    /// Appends copies of all elements.
    pub fn try_extend_from_slice(&mut self, elements: &[T]) -> Result<(), BoundError> {
        let len = self.len();
        let new_len = len.saturating_add(elements.len());
        check(Some(N), new_len)?;
        // SAFETY: there is room for them after the occupied elements.
        unsafe { clone_elements(elements, self.spare().as_mut_ptr().cast::<T>()) };
        self.len = new_len as u32;
        Ok(())
    }

    /// Replaces the elements by copies of these.
    pub fn try_assign(&mut self, elements: &[T]) -> Result<(), BoundError> {
        check(Some(N), elements.len())?;
        self.clear();
        self.try_extend_from_slice(elements)
    }

    /// Appends all elements of an iterator. On failure, keeps those that fitted.
    pub fn try_extend(&mut self, elements: impl IntoIterator<Item = T>) -> Result<(), BoundError> {
        elements.into_iter().try_for_each(|element| self.try_push(element))
    }

    /// Shortens to `len` elements, or grows with default elements.
    pub fn try_resize(&mut self, len: usize) -> Result<(), BoundError> {
        check(Some(N), len)?;
        self.truncate(len);
        while self.len() < len {
            self.try_push_default()?;
        }
        Ok(())
    }
}

/// Copies elements to fresh memory, in one block if they are dense.
///
/// # Safety
/// `dst` is aligned, valid for writes of `src.len()` elements, and does not overlap `src`.
unsafe fn clone_elements<T: Value>(src: &[T], dst: *mut T) {
    if T::DENSE {
        // SAFETY: the caller promises room; dense values are copied as bytes.
        unsafe { ptr::copy_nonoverlapping(src.as_ptr(), dst, src.len()) };
    } else {
        for (index, element) in src.iter().enumerate() {
            // SAFETY: the caller promises room for all elements.
            unsafe { element.clone_at(dst.add(index)) };
        }
    }
}

impl<T: Value, const N: usize> HandOverList<T> for FlatSequence<T, N> {}

// SAFETY: both functions write the length and the elements it covers; the rest may be uninitialized.
unsafe impl<T: Value, const N: usize> InPlace for FlatSequence<T, N> {
    type Class = Composite;

    unsafe fn default_at(dst: *mut Self) {
        const { assert!(N <= u32::MAX as usize, "the bound of a flat sequence must be less than 2^32") };
        // SAFETY: dst is valid for writes of Self.
        unsafe { (&raw mut (*dst).len).write(0) }
    }

    unsafe fn clone_at(&self, dst: *mut Self) {
        let elements = self.as_slice();
        // SAFETY: as above, and len <= N.
        unsafe {
            (&raw mut (*dst).len).write(elements.len() as u32);
            clone_elements(elements, (&raw mut (*dst).elements).cast::<T>());
        }
    }
}

impl<T: Value, const N: usize> Value for FlatSequence<T, N> {
    unsafe fn validate_at(src: *const Self, validation: &Validation) -> Result<(), ValidateError> {
        // SAFETY: the caller promises an aligned, initialized length.
        let length = unsafe { (&raw const (*src).len).read() };
        if length as usize > N {
            return Err(ValidateProblem::TooLong { length: u64::from(length), bound: N as u64 }.into());
        }
        if T::DENSE {
            return Ok(());
        }
        for index in 0..length as usize {
            // SAFETY: index < length <= N, so the element lies within the initialized bytes.
            unsafe {
                let element = src.cast::<u8>().add(offset_of!(Self, elements)).cast::<T>().add(index);
                T::validate_at(element, validation).map_err(|error| error.in_element(index))?;
            }
        }
        Ok(())
    }

    visit_as!(sequence);
}

// SAFETY: a length and elements that are self-contained.
unsafe impl<T: SelfContained, const N: usize> SelfContained for FlatSequence<T, N> {}

impl<T: Value, const N: usize> SequenceField<T> for FlatSequence<T, N> {
    const BOUND: Option<usize> = Some(N);
    const INLINE: bool = true;

    fn try_push(&mut self, element: T) -> Result<(), BoundError> {
        self.try_push(element)
    }

    fn try_push_default(&mut self) -> Result<&mut T, BoundError> {
        self.try_push_default()
    }

    fn try_extend_from_slice(&mut self, elements: &[T]) -> Result<(), BoundError> {
        self.try_extend_from_slice(elements)
    }

    unsafe fn try_extend_with<E: From<BoundError>>(
        &mut self,
        additional: usize,
        fill: impl FnOnce(&mut [MaybeUninit<T>]) -> Result<(), E>,
    ) -> Result<(), E> {
        let len = self.len();
        let new_len = len.saturating_add(additional);
        check(Some(N), new_len)?;
        fill(&mut self.spare()[..additional])?;
        self.len = new_len as u32;
        Ok(())
    }

    fn try_resize(&mut self, len: usize) -> Result<(), BoundError> {
        self.try_resize(len)
    }

    fn truncate(&mut self, len: usize) {
        self.truncate(len);
    }

    fn clear(&mut self) {
        self.clear();
    }
}

impl<T, const N: usize> Drop for FlatSequence<T, N> {
    fn drop(&mut self) {
        self.truncate(0);
    }
}

impl<T: Value, const N: usize> Default for FlatSequence<T, N> {
    fn default() -> Self {
        default_value()
    }
}

impl<T: Value, const N: usize> Clone for FlatSequence<T, N> {
    fn clone(&self) -> Self {
        clone_value(self)
    }
}

impl<T, const N: usize> Deref for FlatSequence<T, N> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        self.as_slice()
    }
}

impl<T, const N: usize> DerefMut for FlatSequence<T, N> {
    fn deref_mut(&mut self) -> &mut [T] {
        self.as_mut_slice()
    }
}

impl<'a, T, const N: usize> IntoIterator for &'a FlatSequence<T, N> {
    type Item = &'a T;
    type IntoIter = std::slice::Iter<'a, T>;

    fn into_iter(self) -> Self::IntoIter {
        self.as_slice().iter()
    }
}

impl<'a, T, const N: usize> IntoIterator for &'a mut FlatSequence<T, N> {
    type Item = &'a mut T;
    type IntoIter = std::slice::IterMut<'a, T>;

    fn into_iter(self) -> Self::IntoIter {
        self.as_mut_slice().iter_mut()
    }
}

impl<T: BulkElement, const N: usize> TryFrom<&[T]> for FlatSequence<T, N> {
    type Error = BoundError;

    fn try_from(elements: &[T]) -> Result<Self, BoundError> {
        Self::try_from_slice(elements)
    }
}

impl<T: PartialEq, const N: usize> PartialEq for FlatSequence<T, N> {
    fn eq(&self, other: &Self) -> bool {
        self.as_slice() == other.as_slice()
    }
}

impl<T: fmt::Debug, const N: usize> fmt::Debug for FlatSequence<T, N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.as_slice(), f)
    }
}
