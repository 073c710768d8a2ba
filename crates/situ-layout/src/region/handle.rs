//! Handles to what lies in a region: an image or its memory, and an offset. There are no references to containers, which must
//! not be moved or exchanged; numbers and plain structs are seen as Rust values.
//!
//! All access is by offsets within the image's bytes, and checked against them. A handle can therefore never read or write
//! outside of the image, not even one that was made for a wrong type.

use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};

use super::convert::{LoadInto, StoreError, StoreFrom};
use super::error::Full;
use super::memory::Memory;
use super::stored::{Assign, Bool, Plain, Stored};
use crate::assign::{AssignError, Bodies};

/// What lies at an offset of an image, to be read.
pub struct Ref<'r, T> {
    image: &'r [u8],
    at: u32,
    of: PhantomData<fn() -> T>,
}

impl<T> Clone for Ref<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Ref<'_, T> {}

impl<'r, T: Stored> Ref<'r, T> {
    #[inline]
    pub(super) fn new(image: &'r [u8], at: u32) -> Self {
        Self { image, at, of: PhantomData }
    }
    #[inline]
    pub(super) fn image(self) -> &'r [u8] {
        self.image
    }
    #[inline]
    pub(super) fn at(self) -> u32 {
        self.at
    }

    /// The value as a message with another storage, whose bulk members go to `body` if it is flat.
    pub fn load_into<M>(self, message: &mut M, body: &mut [u8]) -> Result<(), AssignError>
    where
        T: LoadInto<M>,
    {
        T::load(self, message, &mut Bodies::new(&[], body))
    }

    /// The value as a message on the heap.
    pub fn to_message<M: Default>(self) -> Result<M, AssignError>
    where
        T: LoadInto<M>,
    {
        let mut message = M::default();
        self.load_into(&mut message, &mut [])?;
        Ok(message)
    }

    /// A part of the value; for the accessors that [`region_struct`](crate::region_struct) makes.
    #[doc(hidden)]
    #[inline]
    pub fn part<M: Stored>(self, offset: u32) -> Ref<'r, M> {
        Ref::new(self.image, self.at + offset)
    }
}

/// What lies at an offset of a region, to be changed.
pub struct Mut<'r, T> {
    memory: &'r mut Memory,
    at: u32,
    of: PhantomData<fn() -> T>,
}

impl<'r, T: Stored> Mut<'r, T> {
    #[inline]
    pub(super) fn new(memory: &'r mut Memory, at: u32) -> Self {
        Self { memory, at, of: PhantomData }
    }
    #[inline]
    pub(super) fn memory(&mut self) -> &mut Memory {
        self.memory
    }
    #[inline]
    pub(super) fn at(&self) -> u32 {
        self.at
    }

    /// The same, to be read.
    #[inline]
    pub fn as_ref(&self) -> Ref<'_, T> {
        Ref::new(self.memory.bytes(), self.at)
    }

    /// The same for a shorter time, so that this handle can be used again.
    #[inline]
    pub fn reborrow(&mut self) -> Mut<'_, T> {
        Mut::new(self.memory, self.at)
    }

    /// Assigns a value: a number, a boolean, text, a slice, a plain struct. When there is no room, what is there is still valid.
    #[inline]
    pub fn set<V>(&mut self, value: V) -> Result<(), Full>
    where
        T: Assign<V>,
    {
        T::assign(self.memory, self.at, value)
    }

    /// Stores the value of a message with another storage. Bulk members of a flat message lie in its `body`.
    pub fn store<V>(&mut self, message: &V, body: &[u8]) -> Result<(), StoreError>
    where
        T: StoreFrom<V>,
    {
        T::store(self.memory, self.at, message, body)
    }

    /// A part of the value; for the accessors that [`region_struct`](crate::region_struct) makes.
    #[doc(hidden)]
    #[inline]
    pub fn part<M: Stored>(&mut self, offset: u32) -> Mut<'_, M> {
        Mut::new(self.memory, self.at + offset)
    }
}

/// `count` plain values at an offset.
#[inline]
pub(super) fn plain_slice<T: Plain>(image: &[u8], at: u32, count: u32) -> &[T] {
    let bytes = &image[at as usize..at as usize + count as usize * size_of::<T>()];
    let first = bytes.as_ptr().cast::<T>();
    assert!(first.is_aligned(), "the image lies at a multiple of 16, and numbers at one of their alignment");
    // SAFETY: the bytes are there, aligned as the line before says, and borrowed as long as the slice; any bytes are values.
    unsafe { std::slice::from_raw_parts(first, count as usize) }
}

/// The same, to be changed.
#[inline]
pub(super) fn plain_slice_mut<T: Plain>(image: &mut [u8], at: u32, count: u32) -> &mut [T] {
    let bytes = &mut image[at as usize..at as usize + count as usize * size_of::<T>()];
    let first = bytes.as_mut_ptr().cast::<T>();
    assert!(first.is_aligned(), "the image lies at a multiple of 16, and numbers at one of their alignment");
    // SAFETY: as above, and the bytes are borrowed exclusively; whatever is written is initialized, as there is no padding.
    unsafe { std::slice::from_raw_parts_mut(first, count as usize) }
}

impl<T: Plain> Deref for Ref<'_, T> {
    type Target = T;
    #[inline]
    fn deref(&self) -> &T {
        &plain_slice(self.image, self.at, 1)[0]
    }
}

impl<T: Plain> Deref for Mut<'_, T> {
    type Target = T;
    #[inline]
    fn deref(&self) -> &T {
        &plain_slice(self.memory.bytes(), self.at, 1)[0]
    }
}

impl<T: Plain> DerefMut for Mut<'_, T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        &mut plain_slice_mut(self.memory.bytes_mut(), self.at, 1)[0]
    }
}

impl Ref<'_, Bool> {
    /// The boolean.
    #[inline]
    pub fn get(self) -> bool {
        self.image[self.at as usize] != 0
    }
}

impl<'r, T: Stored, const N: usize> Ref<'r, [T; N]> {
    /// An element, if there is one of that index.
    #[inline]
    pub fn get(self, index: usize) -> Option<Ref<'r, T>> {
        (index < N).then(|| self.part(index as u32 * T::SIZE))
    }
}

impl<T: Stored, const N: usize> Mut<'_, [T; N]> {
    /// An element, if there is one of that index.
    #[inline]
    pub fn get_mut(&mut self, index: usize) -> Option<Mut<'_, T>> {
        (index < N).then(|| self.part(index as u32 * T::SIZE))
    }
}
