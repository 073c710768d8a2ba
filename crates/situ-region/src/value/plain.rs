//! Values without links and padding, which are accessible as Rust values in place.

use crate::memory::blocks::{Memory, MemoryMut};
use crate::value::stored::Stored;

/// Values without links and padding, for which any bytes are valid. They are accessible as Rust values in
/// place.
///
/// # Safety
/// The type is `repr(C)` or a number, and has the size and alignment of [`Stored`]. It has no
/// padding, and any bytes are a valid value.
pub unsafe trait Plain: Stored + Copy {}

/// Writes the bytes of a plain value.
#[inline]
pub(crate) fn put<T: Plain>(memory: &mut Memory, at: u32, value: T) {
    put_in(memory.bytes_mut(), at, std::slice::from_ref(&value));
}

/// Writes consecutive plain values.
#[doc(hidden)]
#[inline]
pub fn put_plain<T: Plain>(MemoryMut(memory): MemoryMut<'_>, at: u32, values: &[T]) {
    put_in(memory.bytes_mut(), at, values);
}

#[inline]
pub(crate) fn put_in<T: Plain>(image: &mut [u8], at: u32, values: &[T]) {
    // SAFETY: plain values have no padding, so that all bytes are initialized; the extent is that of the
    // slice.
    let bytes = unsafe { std::slice::from_raw_parts(values.as_ptr().cast::<u8>(), size_of_val(values)) };
    image[at as usize..at as usize + bytes.len()].copy_from_slice(bytes);
}

/// `count` plain values at an offset.
#[inline]
pub(crate) fn plain_slice<T: Plain>(image: &[u8], at: u32, count: u32) -> &[T] {
    let bytes = &image[at as usize..at as usize + count as usize * size_of::<T>()];
    let first = bytes.as_ptr().cast::<T>();
    assert!(first.is_aligned(), "the image lies at a multiple of 16, and numbers at one of their alignment");
    // SAFETY: the bytes exist, are aligned as checked above, and are borrowed as long as the slice; any bytes
    // are values.
    unsafe { std::slice::from_raw_parts(first, count as usize) }
}

/// As [`plain_slice`], mutable.
#[inline]
pub(crate) fn plain_slice_mut<T: Plain>(image: &mut [u8], at: u32, count: u32) -> &mut [T] {
    let bytes = &mut image[at as usize..at as usize + count as usize * size_of::<T>()];
    let first = bytes.as_mut_ptr().cast::<T>();
    assert!(first.is_aligned(), "the image lies at a multiple of 16, and numbers at one of their alignment");
    // SAFETY: as above, and the bytes are borrowed exclusively. Written bytes are initialized, as there is no
    // padding.
    unsafe { std::slice::from_raw_parts_mut(first, count as usize) }
}

/// Consecutive plain values, in place.
#[doc(hidden)]
pub fn plain_values<T: Plain>(image: &[u8], at: u32, count: u32) -> &[T] {
    plain_slice(image, at, count)
}
