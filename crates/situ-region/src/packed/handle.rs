//! Handles to read values of a packed image, and the accessors of structs that all handles have.

use std::marker::PhantomData;
use std::ops::Deref;

use crate::value::handle::Ref;
use crate::value::plain::Plain;
use crate::value::scalar::Bool;
use crate::value::stored::Stored;

/// A handle to read a value of a packed image. It has the accessors of [`Ref`].
///
/// Making a handle checks that its value lies within the image, at a multiple of its alignment. So a handle
/// never reads outside of the image, even if the image was changed after its check.
pub struct Packed<'r, T> {
    image: &'r [u8],
    /// The value lies within the image, and its address is a multiple of its alignment.
    at: u32,
    of: PhantomData<fn() -> T>,
}

impl<T> Clone for Packed<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Packed<'_, T> {}

/// Whether `count` values at `at` lie within the image, at a multiple of their alignment.
#[inline]
fn is_inside<T: Stored>(image: &[u8], at: u32, count: u32) -> bool {
    let bytes = u64::from(count) * u64::from(T::PACKED_SIZE);
    let address = image.as_ptr().addr().wrapping_add(at as usize);
    u64::from(at) + bytes <= image.len() as u64 && address.is_multiple_of(T::PACKED_ALIGN as usize)
}

/// Panics because a handle would leave its image.
#[cold]
#[inline(never)]
fn outside(at: u32, image: usize) -> ! {
    panic!("a value at offset {at} does not lie in a packed image of {image} bytes, or is not aligned")
}

impl<'r, T: Stored> Packed<'r, T> {
    /// A handle to the value at an offset. The value must lie within the image.
    #[inline]
    pub(crate) fn new(image: &'r [u8], at: u32) -> Self {
        if !is_inside::<T>(image, at, 1) {
            outside(at, image.len());
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
}

/// Consecutive values of a packed image.
pub struct PackedValues<'r, T> {
    image: &'r [u8],
    at: u32,
    left: u32,
    of: PhantomData<fn() -> T>,
}

impl<'r, T: Stored> PackedValues<'r, T> {
    #[inline]
    pub(crate) fn new(image: &'r [u8], first: u32, count: u32) -> Self {
        if count != 0 && !is_inside::<T>(image, first, count) {
            outside(first, image.len());
        }
        Self { image, at: first, left: count, of: PhantomData }
    }
}

impl<'r, T: Stored> Iterator for PackedValues<'r, T> {
    type Item = Packed<'r, T>;
    #[inline]
    fn next(&mut self) -> Option<Packed<'r, T>> {
        self.left = self.left.checked_sub(1)?;
        let value = Packed { image: self.image, at: self.at, of: PhantomData };
        self.at = self.at.wrapping_add(T::PACKED_SIZE);
        Some(value)
    }
    #[inline]
    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left as usize, Some(self.left as usize))
    }
}

impl<T: Stored> DoubleEndedIterator for PackedValues<'_, T> {
    #[inline]
    fn next_back(&mut self) -> Option<Self::Item> {
        self.left = self.left.checked_sub(1)?;
        Some(Packed { image: self.image, at: self.at + self.left * T::PACKED_SIZE, of: PhantomData })
    }
}

impl<T: Stored> ExactSizeIterator for PackedValues<'_, T> {}

impl<T: Plain> Deref for Packed<'_, T> {
    type Target = T;
    #[inline]
    fn deref(&self) -> &T {
        // SAFETY: the value lies within the image, at a multiple of its alignment, and is borrowed as long as
        // the image. Plain values have the same bytes in all forms, and any bytes are a value.
        unsafe { &*self.image.as_ptr().add(self.at as usize).cast() }
    }
}

impl Packed<'_, Bool> {
    /// The value of the boolean.
    #[inline]
    pub fn get(self) -> bool {
        self.image[self.at as usize] != 0
    }
}

/// A handle to read a struct, [`Ref`] or [`Packed`]. The accessors of a struct return handles of the same
/// form.
pub trait Access<'r> {
    /// The handle to a member.
    type Of<T: Stored>;
}

impl<'r, S> Access<'r> for Ref<'r, S> {
    type Of<T: Stored> = Ref<'r, T>;
}

impl<'r, S> Access<'r> for Packed<'r, S> {
    type Of<T: Stored> = Packed<'r, T>;
}
