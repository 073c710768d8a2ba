//! `sequence<T>` and `sequence<T, N>` in heap storage.

use std::fmt;
use std::mem::MaybeUninit;
use std::ops::{Deref, DerefMut};

use crate::storage::bulk::{BulkError, BulkField, append_copies};
use crate::storage::hand_over::{GivenList, HandOverList};
use crate::storage::methods::{not_flat, visit_as, write_whole};
use crate::support::shared_bytes::{NoMemory, SharedBytes};
use crate::value::container::{SequenceField, check};
use crate::value::error::BoundError;
use crate::value::in_place::{Composite, InPlace, default_value};
use crate::value::traits::{BulkElement, Value};

/// A vector of at most `N` elements.
///
/// ```
/// let mut ranges = situ_layout::BoundedVec::<f32, 2>::default();
/// ranges.try_extend_from_slice(&[1.0, 2.0])?;
/// assert_eq!(ranges.try_push(3.0).unwrap_err().bound, 2);
/// # Ok::<(), situ_layout::BoundError>(())
/// ```
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BoundedVec<T, const N: usize> {
    elements: Vec<T>,
}

impl<T, const N: usize> BoundedVec<T, N> {
    /// No elements.
    pub const fn new() -> Self {
        Self { elements: Vec::new() }
    }

    /// Takes over a vector.
    pub fn try_from_vec(elements: Vec<T>) -> Result<Self, BoundError> {
        check(Some(N), elements.len())?;
        Ok(Self { elements })
    }

    /// Returns the inner vector.
    pub fn into_vec(self) -> Vec<T> {
        self.elements
    }

    /// The greatest number of elements.
    pub const fn capacity(&self) -> usize {
        N
    }

    /// The elements.
    pub fn as_slice(&self) -> &[T] {
        &self.elements
    }

    /// The elements as a mutable slice.
    pub fn as_mut_slice(&mut self) -> &mut [T] {
        &mut self.elements
    }

    /// Appends an element.
    pub fn try_push(&mut self, element: T) -> Result<(), BoundError> {
        check(Some(N), self.elements.len() + 1)?;
        self.elements.push(element);
        Ok(())
    }

    /// Appends all elements of an iterator. On failure, keeps those that fitted.
    pub fn try_extend(&mut self, elements: impl IntoIterator<Item = T>) -> Result<(), BoundError> {
        elements.into_iter().try_for_each(|element| self.try_push(element))
    }

    /// Removes the last element.
    pub fn pop(&mut self) -> Option<T> {
        self.elements.pop()
    }

    /// Shortens to `len` elements; does nothing if there are no more.
    pub fn truncate(&mut self, len: usize) {
        self.elements.truncate(len);
    }

    /// Removes all elements.
    pub fn clear(&mut self) {
        self.elements.clear();
    }
}

impl<T: Value, const N: usize> BoundedVec<T, N> {
    /// Copies the elements of a slice.
    pub fn try_from_slice(elements: &[T]) -> Result<Self, BoundError> {
        check(Some(N), elements.len())?;
        Ok(Self { elements: elements.to_vec() })
    }

    /// Appends a default element and returns a reference to it.
    pub fn try_push_default(&mut self) -> Result<&mut T, BoundError> {
        check(Some(N), self.elements.len() + 1)?;
        SequenceField::try_push_default(&mut self.elements)
    }

    /// Appends copies of all elements.
    pub fn try_extend_from_slice(&mut self, elements: &[T]) -> Result<(), BoundError> {
        check(Some(N), self.elements.len().saturating_add(elements.len()))?;
        self.elements.extend_from_slice(elements);
        Ok(())
    }

    /// Replaces the elements by copies of these.
    pub fn try_assign(&mut self, elements: &[T]) -> Result<(), BoundError> {
        check(Some(N), elements.len())?;
        self.elements.clear();
        self.elements.extend_from_slice(elements);
        Ok(())
    }

    /// Shortens to `len` elements, or grows with default elements.
    pub fn try_resize(&mut self, len: usize) -> Result<(), BoundError> {
        check(Some(N), len)?;
        SequenceField::try_resize(&mut self.elements, len)
    }
}

impl<T: Value, const N: usize> SequenceField<T> for BoundedVec<T, N> {
    const BOUND: Option<usize> = if N == usize::MAX { None } else { Some(N) };
    const INLINE: bool = false;

    fn try_reserve(&mut self, additional: usize) -> Result<(), NoMemory> {
        SequenceField::try_reserve(&mut self.elements, additional)
    }

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
        check(Some(N), self.elements.len().saturating_add(additional))?;
        // SAFETY: the caller's promise is the same.
        unsafe { self.elements.try_extend_with(additional, fill) }
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

impl<T: Value> SequenceField<T> for Vec<T> {
    const BOUND: Option<usize> = None;
    const INLINE: bool = false;

    #[inline]
    fn try_reserve(&mut self, additional: usize) -> Result<(), NoMemory> {
        let bytes = || additional.saturating_mul(size_of::<T>());
        // This calls the inherent method of the same name.
        Vec::try_reserve(self, additional).map_err(|_| NoMemory { bytes: bytes() })
    }

    fn try_push(&mut self, element: T) -> Result<(), BoundError> {
        self.push(element);
        Ok(())
    }

    fn try_push_default(&mut self) -> Result<&mut T, BoundError> {
        self.push(default_value());
        let last = self.len() - 1;
        Ok(&mut self[last])
    }

    fn try_extend_from_slice(&mut self, elements: &[T]) -> Result<(), BoundError> {
        self.extend_from_slice(elements);
        Ok(())
    }

    unsafe fn try_extend_with<E: From<BoundError>>(
        &mut self,
        additional: usize,
        fill: impl FnOnce(&mut [MaybeUninit<T>]) -> Result<(), E>,
    ) -> Result<(), E> {
        self.reserve(additional);
        fill(&mut self.spare_capacity_mut()[..additional])?;
        let len = self.len() + additional;
        // SAFETY: the capacity was reserved, and the caller promises that the elements are initialized.
        unsafe { self.set_len(len) };
        Ok(())
    }

    fn try_resize(&mut self, len: usize) -> Result<(), BoundError> {
        self.resize_with(len, default_value);
        Ok(())
    }

    fn truncate(&mut self, len: usize) {
        self.truncate(len);
    }

    fn clear(&mut self) {
        self.clear();
    }
}

impl<T: Value, const N: usize> HandOverList<T> for BoundedVec<T, N> {
    fn give(&mut self) -> GivenList<'_, T> {
        self.elements.give()
    }

    fn take(&mut self, elements: GivenList<'_, T>) -> Result<(), BoundError> {
        check(Some(N), elements.as_slice().len())?;
        self.elements.take(elements)
    }
}

impl<T: Value> HandOverList<T> for Vec<T> {
    fn give(&mut self) -> GivenList<'_, T> {
        GivenList::Rust(std::mem::take(self))
    }

    fn take(&mut self, elements: GivenList<'_, T>) -> Result<(), BoundError> {
        match elements {
            GivenList::Lent(elements) => self.try_assign(elements)?,
            GivenList::Rust(elements) => *self = elements,
            GivenList::C(elements) => *self = elements.into_vec(),
        }
        Ok(())
    }
}

// SAFETY: both functions write a whole value.
unsafe impl<T: Value, const N: usize> InPlace for BoundedVec<T, N> {
    type Class = Composite;

    write_whole!();
}

// SAFETY: both functions write a whole value.
unsafe impl<T: Value> InPlace for Vec<T> {
    type Class = Composite;

    write_whole!();
}

impl<T: Value, const N: usize> Value for BoundedVec<T, N> {
    not_flat!();

    visit_as!(sequence);
}

impl<T: Value> Value for Vec<T> {
    not_flat!();

    visit_as!(sequence);
}

impl<T, const N: usize> Default for BoundedVec<T, N> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T, const N: usize> Deref for BoundedVec<T, N> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        &self.elements
    }
}

impl<T, const N: usize> DerefMut for BoundedVec<T, N> {
    fn deref_mut(&mut self) -> &mut [T] {
        &mut self.elements
    }
}

impl<T, const N: usize> TryFrom<Vec<T>> for BoundedVec<T, N> {
    type Error = BoundError;

    fn try_from(elements: Vec<T>) -> Result<Self, BoundError> {
        Self::try_from_vec(elements)
    }
}

impl<T, const N: usize> IntoIterator for BoundedVec<T, N> {
    type Item = T;
    type IntoIter = std::vec::IntoIter<T>;

    fn into_iter(self) -> Self::IntoIter {
        self.elements.into_iter()
    }
}

impl<'a, T, const N: usize> IntoIterator for &'a BoundedVec<T, N> {
    type Item = &'a T;
    type IntoIter = std::slice::Iter<'a, T>;

    fn into_iter(self) -> Self::IntoIter {
        self.elements.iter()
    }
}

impl<'a, T, const N: usize> IntoIterator for &'a mut BoundedVec<T, N> {
    type Item = &'a mut T;
    type IntoIter = std::slice::IterMut<'a, T>;

    fn into_iter(self) -> Self::IntoIter {
        self.elements.iter_mut()
    }
}

impl<T: fmt::Debug, const N: usize> fmt::Debug for BoundedVec<T, N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.elements, f)
    }
}

impl<T: BulkElement, const N: usize> BulkField<T> for BoundedVec<T, N> {
    const BOUND: usize = N;
    const IN_BODY: bool = false;

    fn element_count(&self) -> usize {
        self.len()
    }

    fn place(&mut self, _offset: u64, len: usize) {
        // `measure_bulk` has checked the bound; a vector that stays shorter is safe in any case.
        let within_bound = self.try_resize(len);
        debug_assert!(within_bound.is_ok());
    }

    fn elements<'a>(&'a self, _body: &'a [u8]) -> Result<&'a [T], BulkError> {
        Ok(self)
    }

    fn elements_mut<'a>(&'a mut self, _body: &'a mut [u8]) -> Result<&'a mut [T], BulkError> {
        Ok(self)
    }

    fn fill(&mut self, _offset: u64, elements: &[T], _body: &mut [u8]) -> Result<(), BulkError> {
        // The caller has checked the bound.
        let within_bound = self.try_assign(elements);
        debug_assert!(within_bound.is_ok());
        Ok(())
    }

    fn fill_with_copies(
        &mut self,
        _offset: u64,
        count: usize,
        bytes: SharedBytes<'_>,
        _body: &mut [u8],
    ) -> Result<(), BulkError> {
        self.clear();
        append_copies(self, count, bytes)
    }
}
