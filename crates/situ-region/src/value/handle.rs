//! Handles to values in a region: an image or its memory, and an offset. There are no references to
//! containers, because containers must not be moved or exchanged. Numbers and plain structs are accessible as
//! Rust values.
//!
//! Making a handle checks that its value lies within the image, at a multiple of its alignment. This happens
//! at the root, and for each link that is followed. Members lie within their value, so they need no second
//! check. A handle can therefore never read or write outside of the region's memory, not even a handle of a
//! wrong type. The memory cannot be exchanged for another one either: implementations of the traits receive
//! it as a [`MemoryMut`].

use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;

use crate::memory::blocks::Memory;
use crate::memory::granule::GRANULE;
use crate::value::plain::Plain;
use crate::value::stored::Stored;

/// A handle to read the value at an offset of an image.
pub struct Ref<'r, T> {
    image: &'r [u8],
    /// The value lies within the image, and its address is a multiple of its alignment.
    at: u32,
    of: PhantomData<fn() -> T>,
}

impl<T> Clone for Ref<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Ref<'_, T> {}

/// Whether a value of `size` bytes at `at` ends within `image` bytes.
#[inline]
fn ends_within(at: u32, size: u32, image: usize) -> bool {
    u64::from(at) + u64::from(size) <= image as u64
}

/// Panics because a handle would leave its image.
#[cold]
#[inline(never)]
fn outside(at: u32, size: u32, image: usize) -> ! {
    panic!(
        "{size} bytes at offset {at} do not lie in an image of {image} bytes, or not at a multiple of their alignment"
    )
}

/// Whether an `M` at `offset` of a `T` lies within it, at a multiple of its alignment. The compiler evaluates
/// all of this.
#[inline]
const fn is_part<T: Stored, M: Stored>(offset: u32) -> bool {
    offset <= T::SIZE
        && M::SIZE <= T::SIZE - offset
        && offset.is_multiple_of(M::ALIGN)
        && T::ALIGN.is_multiple_of(M::ALIGN)
}

/// Reads the first numbers of a container, one by one. A processor stalls on a number that was just written
/// if one load reads it together with another number.
///
/// # Safety
/// There are `N` aligned numbers, and no other code changes them during the call.
#[inline]
unsafe fn read_numbers<const N: usize>(first: *const u32) -> [u32; N] {
    // SAFETY: the caller's promise.
    std::array::from_fn(|i| u32::from_le(unsafe { first.add(i).read() }))
}

/// Whether a container begins with `count` numbers at its alignment.
const fn begins_with_numbers<T: Stored>(count: usize) -> bool {
    count * 4 <= T::SIZE as usize && T::ALIGN.is_multiple_of(4)
}

impl<'r, T: Stored> Ref<'r, T> {
    /// A handle to the value at an offset. The value must lie within the image.
    #[inline]
    pub(crate) fn new(image: &'r [u8], at: u32) -> Self {
        let address = image.as_ptr().addr().wrapping_add(at as usize);
        if !ends_within(at, T::SIZE, image.len()) || !address.is_multiple_of(T::ALIGN as usize) {
            outside(at, T::SIZE, image.len());
        }
        Self { image, at, of: PhantomData }
    }
    #[inline]
    pub(crate) fn image(self) -> &'r [u8] {
        self.image
    }
    #[inline]
    pub(crate) fn at(self) -> u32 {
        self.at
    }

    /// The first numbers of a container.
    #[inline]
    pub(crate) fn numbers<const N: usize>(self) -> [u32; N] {
        const { assert!(begins_with_numbers::<T>(N)) };
        // SAFETY: the value begins with the numbers and lies within the image.
        unsafe { read_numbers(self.image.as_ptr().add(self.at as usize).cast()) }
    }

    /// A part of the value, for the accessors that [`region_struct`](crate::region_struct) makes.
    #[doc(hidden)]
    #[inline]
    pub fn part<M: Stored>(self, offset: u32) -> Ref<'r, M> {
        assert!(is_part::<T, M>(offset), "a part lies within the whole");
        Ref { image: self.image, at: self.at + offset, of: PhantomData }
    }
}

/// A handle to change the value at an offset of a region.
pub struct Mut<'r, T> {
    memory: &'r mut Memory,
    /// The value lay within the image when the handle was made. The image may become shorter if a region's
    /// bytes are corrupt. The guarantee is therefore about the memory's room, which never shrinks: the value
    /// lies within it. The offset is a multiple of the value's alignment, and the memory begins at a multiple
    /// of 16.
    at: u32,
    of: PhantomData<fn() -> T>,
}

impl<'r, T: Stored> Mut<'r, T> {
    /// A handle to the value at an offset. The value must lie within the image.
    #[inline]
    pub(crate) fn new(memory: &'r mut Memory, at: u32) -> Self {
        const { assert!(GRANULE.is_multiple_of(T::ALIGN), "what lies in a region is aligned to 16 at most") };
        let size = memory.bytes().len();
        if !ends_within(at, T::SIZE, size) || !at.is_multiple_of(T::ALIGN) {
            outside(at, T::SIZE, size);
        }
        Self { memory, at, of: PhantomData }
    }
    #[inline]
    pub(crate) fn memory(&mut self) -> &mut Memory {
        self.memory
    }
    #[inline]
    pub(crate) fn at(&self) -> u32 {
        self.at
    }

    /// The address of the value.
    #[inline]
    fn place(&self) -> NonNull<u8> {
        // SAFETY: the value lies within the memory's room.
        unsafe { self.memory.base().add(self.at as usize) }
    }

    /// The first numbers of a container.
    #[inline]
    pub(crate) fn numbers<const N: usize>(&self) -> [u32; N] {
        const { assert!(begins_with_numbers::<T>(N)) };
        // SAFETY: the value begins with the numbers and lies within the room.
        unsafe { read_numbers(self.place().as_ptr().cast()) }
    }

    /// The container, for changes together with the block it leads to.
    #[inline]
    pub(crate) fn open(&mut self) -> Open<'_> {
        const { assert!(begins_with_numbers::<T>(4)) };
        let (first, base, size) = (self.place().cast(), self.memory.base(), self.memory.bytes().len());
        Open { first, at: self.at, base, size, memory: self.memory }
    }

    /// A handle to read the same value.
    #[inline]
    pub fn as_ref(&self) -> Ref<'_, T> {
        Ref::new(self.memory.bytes(), self.at)
    }

    /// A handle with a shorter lifetime, so that this one can be used again.
    #[inline]
    pub fn reborrow(&mut self) -> Mut<'_, T> {
        Mut { memory: self.memory, at: self.at, of: PhantomData }
    }

    /// A part of the value, for the accessors that [`region_struct`](crate::region_struct) makes.
    #[doc(hidden)]
    #[inline]
    pub fn part<M: Stored>(&mut self, offset: u32) -> Mut<'_, M> {
        assert!(is_part::<T, M>(offset), "a part lies within the whole");
        // SAFETY: the part lies within the value, the value lies within the room, and the room is less than 4
        // GiB.
        let at = unsafe { self.at.unchecked_add(offset) };
        Mut { memory: self.memory, at, of: PhantomData }
    }
}

/// A container that is changed together with the block it leads to. The address and size of the memory are
/// loaded once for both. To load them again after each written number would take as long as the change.
pub(crate) struct Open<'m> {
    /// The first of its four numbers, which lie within the room.
    first: NonNull<u32>,
    at: u32,
    base: NonNull<u8>,
    size: usize,
    memory: &'m mut Memory,
}

impl Open<'_> {
    /// The first numbers.
    #[inline]
    pub(crate) fn numbers<const N: usize>(&self) -> [u32; N] {
        const { assert!(N <= 4) };
        // SAFETY: there are four.
        unsafe { read_numbers(self.first.as_ptr()) }
    }

    /// Changes one of the numbers.
    #[inline]
    pub(crate) fn set_number<const I: usize>(&mut self, value: u32) {
        const { assert!(I < 4) };
        // SAFETY: there are four, and the memory is borrowed exclusively.
        unsafe { self.first.add(I).write(value.to_le()) };
        // The compiler must assume that this write changed the memory's address or size, and that the next
        // line changes the number. Both statements below tell it otherwise, so that later code need not load
        // these values again or wait for the number.
        self.memory.stays_at(self.base);
        let size = self.memory.bytes().len();
        // SAFETY: there are four.
        let number = unsafe { self.first.add(I).read() };
        // SAFETY: the write went to the image, not to the fields of the memory.
        unsafe { std::hint::assert_unchecked(size == self.size && number == value.to_le()) };
    }

    /// The target of a link with this distance.
    #[inline]
    pub(crate) fn target(&self, link: u32) -> u32 {
        self.at.wrapping_add(link)
    }

    /// The image.
    #[inline]
    pub(crate) fn image(&mut self) -> &mut [u8] {
        // SAFETY: these are the address and size of the memory, which this borrows exclusively.
        unsafe { std::slice::from_raw_parts_mut(self.base.as_ptr(), self.size) }
    }
}

/// Consecutive values that lie within the image.
#[doc(hidden)]
pub struct Values<'r, T> {
    image: &'r [u8],
    at: u32,
    left: u32,
    of: PhantomData<fn() -> T>,
}

impl<'r, T: Stored> Values<'r, T> {
    #[inline]
    pub(crate) fn new(image: &'r [u8], first: u32, count: u32) -> Self {
        const { assert!(T::SIZE.is_multiple_of(T::ALIGN), "where one is aligned, so is the next") };
        let address = image.as_ptr().addr().wrapping_add(first as usize);
        let bytes = u64::from(count) * u64::from(T::SIZE);
        let good =
            u64::from(first) + bytes <= image.len() as u64 && address.is_multiple_of(T::ALIGN as usize);
        if count != 0 && !good {
            outside(first, T::SIZE, image.len());
        }
        Self { image, at: first, left: count, of: PhantomData }
    }
}

impl<'r, T: Stored> Iterator for Values<'r, T> {
    type Item = Ref<'r, T>;
    #[inline]
    fn next(&mut self) -> Option<Ref<'r, T>> {
        self.left = self.left.checked_sub(1)?;
        let value = Ref { image: self.image, at: self.at, of: PhantomData };
        self.at = self.at.wrapping_add(T::SIZE);
        Some(value)
    }
    #[inline]
    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left as usize, Some(self.left as usize))
    }
}

impl<T: Stored> DoubleEndedIterator for Values<'_, T> {
    #[inline]
    fn next_back(&mut self) -> Option<Self::Item> {
        self.left = self.left.checked_sub(1)?;
        Some(Ref { image: self.image, at: self.at + self.left * T::SIZE, of: PhantomData })
    }
}

impl<T: Stored> ExactSizeIterator for Values<'_, T> {}

impl<T: Plain> Deref for Ref<'_, T> {
    type Target = T;
    #[inline]
    fn deref(&self) -> &T {
        // SAFETY: the value lies within the image, at a multiple of its alignment, and is borrowed as long as
        // the image. Any bytes are a value.
        unsafe { &*self.image.as_ptr().add(self.at as usize).cast() }
    }
}

impl<T: Plain> Deref for Mut<'_, T> {
    type Target = T;
    #[inline]
    fn deref(&self) -> &T {
        // SAFETY: the value lies within the initialized room, at a multiple of its alignment. Any bytes are a
        // value, and the memory is borrowed as long as the reference.
        unsafe { self.place().cast().as_ref() }
    }
}

impl<T: Plain> DerefMut for Mut<'_, T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: as above, and the memory is borrowed exclusively. Written bytes are initialized, as there
        // is no padding.
        unsafe { self.place().cast().as_mut() }
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
