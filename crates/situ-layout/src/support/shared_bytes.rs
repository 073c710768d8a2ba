//! Bytes that another process may change while they are read.
//!
//! A message in shared memory was checked once, but a hostile peer can change it a moment later. A `&[u8]` or
//! `&str` promises the compiler the opposite. Code that reads messages of other processes therefore takes
//! [`SharedBytes`]. These bytes can be copied out, but not borrowed. A decoder reads the copy, or checks the
//! bytes while it copies them; it reads each byte that decides something once.

use std::fmt;
use std::marker::PhantomData;
use std::mem::MaybeUninit;
use std::sync::atomic::AtomicU8;

use thiserror::Error;

/// There is no memory for a copy.
#[derive(Clone, Copy, PartialEq, Eq, Error)]
#[error("there are no {bytes} bytes of memory for a copy of the message")]
pub struct NoMemory {
    /// The size of the copy in bytes.
    pub bytes: usize,
}

crate::debug_as_text!(NoMemory);

/// Bytes that another process may change at any time. They can be copied out, but not borrowed.
///
/// ```
/// use situ_layout::SharedBytes;
///
/// let bytes = SharedBytes::from(&[1, 2, 3, 4]);
/// assert_eq!(bytes.get(1, 2).unwrap().try_to_vec()?, [2, 3]);
/// assert!(bytes.get(1, 4).is_none());
/// # Ok::<(), situ_layout::NoMemory>(())
/// ```
#[derive(Clone, Copy)]
pub struct SharedBytes<'a> {
    start: *const u8,
    len: usize,
    of: PhantomData<&'a [AtomicU8]>,
}

// SAFETY: like `&[AtomicU8]` that is only loaded from.
unsafe impl Send for SharedBytes<'_> {}
// SAFETY: as above.
unsafe impl Sync for SharedBytes<'_> {}

impl<'a> SharedBytes<'a> {
    /// No bytes.
    pub const EMPTY: Self = Self { start: std::ptr::dangling(), len: 0, of: PhantomData };

    /// Bytes of shared memory.
    ///
    /// # Safety
    /// `start` is valid for reads of `len` bytes during `'a`. The bytes may change, but only by writes of
    /// other processes or through other mappings, not through Rust references of this program.
    #[inline]
    pub const unsafe fn new(start: *const u8, len: usize) -> Self {
        Self { start, len, of: PhantomData }
    }

    /// The number of bytes.
    #[inline]
    pub const fn len(self) -> usize {
        self.len
    }

    /// Whether there are no bytes.
    #[inline]
    pub const fn is_empty(self) -> bool {
        self.len == 0
    }

    /// The address of the first byte.
    #[inline]
    pub const fn as_ptr(self) -> *const u8 {
        self.start
    }

    /// `len` bytes from `at` on; `None` if there are fewer.
    #[inline]
    pub fn get(self, at: usize, len: usize) -> Option<Self> {
        let rest = self.len.checked_sub(at)?;
        // In bounds, so the pointer stays within the memory.
        (len <= rest).then(|| Self { start: self.start.wrapping_add(at), len, of: PhantomData })
    }

    /// A copy of `N` bytes from `at` on; `None` if there are fewer.
    #[inline]
    pub fn array<const N: usize>(self, at: usize) -> Option<[u8; N]> {
        let part = self.get(at, N)?;
        let mut to = [0; N];
        // SAFETY: the part has N bytes, and so has the array, which is private.
        unsafe { copy(part.start, to.as_mut_ptr(), N) };
        Some(to)
    }

    /// Copies bytes until either side ends.
    #[inline]
    pub fn copy_to(self, to: &mut [u8]) {
        // SAFETY: both sides have that number of bytes; those of `to` are exclusively borrowed.
        unsafe { copy(self.start, to.as_mut_ptr(), self.len.min(to.len())) };
    }

    /// Copies bytes over values of any type, until either side ends.
    ///
    /// The values are only as valid as these bytes. The caller must make sure that they are initialized and
    /// valid.
    #[inline]
    pub fn copy_to_uninit<T>(self, to: &mut [MaybeUninit<T>]) {
        // SAFETY: as above.
        unsafe { copy(self.start, to.as_mut_ptr().cast::<u8>(), self.len.min(size_of_val(to))) };
    }

    /// A private copy.
    pub fn try_to_vec(self) -> Result<Vec<u8>, NoMemory> {
        let mut vec = Vec::new();
        self.try_copy_over(&mut vec)?;
        Ok(vec)
    }

    /// A private copy in the memory of a vector. The vector's former content is discarded.
    pub fn try_copy_over(self, vec: &mut Vec<u8>) -> Result<(), NoMemory> {
        vec.clear();
        vec.try_reserve_exact(self.len).map_err(|_| NoMemory { bytes: self.len })?;
        self.copy_to_uninit(&mut vec.spare_capacity_mut()[..self.len]);
        // SAFETY: the capacity was reserved, and all of it was written.
        unsafe { vec.set_len(self.len) };
        Ok(())
    }

    /// An iterator over the bytes, each read once.
    pub fn iter(self) -> impl ExactSizeIterator<Item = u8> + 'a {
        (0..self.len).map(move |at| {
            let mut byte = 0;
            // SAFETY: `at` is less than the length.
            unsafe { copy(self.start.wrapping_add(at), &raw mut byte, 1) };
            byte
        })
    }
}

impl Default for SharedBytes<'_> {
    fn default() -> Self {
        Self::EMPTY
    }
}

impl<'a> From<&'a [u8]> for SharedBytes<'a> {
    #[inline]
    fn from(bytes: &'a [u8]) -> Self {
        Self { start: bytes.as_ptr(), len: bytes.len(), of: PhantomData }
    }
}

impl<'a, const N: usize> From<&'a [u8; N]> for SharedBytes<'a> {
    #[inline]
    fn from(bytes: &'a [u8; N]) -> Self {
        bytes.as_slice().into()
    }
}

impl<'a> From<&'a Vec<u8>> for SharedBytes<'a> {
    #[inline]
    fn from(bytes: &'a Vec<u8>) -> Self {
        bytes.as_slice().into()
    }
}

impl<B: AsRef<[u8]> + ?Sized> PartialEq<B> for SharedBytes<'_> {
    fn eq(&self, other: &B) -> bool {
        let other = other.as_ref();
        self.len == other.len() && self.iter().eq(other.iter().copied())
    }
}

impl fmt::Debug for SharedBytes<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

/// The size in bytes from which the processor's copy instruction is worth its start-up cost.
#[cfg(all(target_arch = "x86_64", not(miri)))]
const LONG: usize = 512;

/// Copies bytes that other processes may change at the same time, and reads each once. The compiler can
/// neither read them again nor assume that they stay unchanged.
///
/// # Safety
/// `from` is valid for reads and `to` for writes of `len` bytes. No other code uses the memory of
/// `to`.
#[inline]
unsafe fn copy(from: *const u8, to: *mut u8, len: usize) {
    if len > 16 {
        // SAFETY: the caller's promise.
        unsafe { copy_many(from, to, len) };
        return;
    }
    // SAFETY: the caller's promise; `word` requires only that `from` is readable, and a byte is always
    // aligned.
    unsafe {
        match len {
            8 => word::<u64>(from, to),
            4 => word::<u32>(from, to),
            2 => word::<u16>(from, to),
            _ => (0..len).for_each(|at| to.add(at).write(from.add(at).read_volatile())),
        }
    }
}

/// Copies one number, in one access if it is aligned.
///
/// # Safety
/// As for [`copy`], of the number's size.
#[inline]
unsafe fn word<T>(from: *const u8, to: *mut u8) {
    if from.cast::<T>().is_aligned() {
        // SAFETY: aligned, and the caller's promise.
        unsafe { to.cast::<T>().write_unaligned(from.cast::<T>().read_volatile()) };
    } else {
        // SAFETY: the caller's promise.
        (0..size_of::<T>()).for_each(|at| unsafe { to.add(at).write(from.add(at).read_volatile()) });
    }
}

/// As [`copy`], for more than 16 bytes.
///
/// # Safety
/// As for [`copy`].
#[inline(never)]
unsafe fn copy_many(mut from: *const u8, mut to: *mut u8, mut len: usize) {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    if len >= LONG {
        // SAFETY: the caller's promise. The instruction reads and writes `len` bytes upwards, because the
        // calling convention keeps the direction flag clear. It is opaque to the compiler.
        unsafe {
            std::arch::asm!(
                "rep movsb",
                inout("rcx") len => _,
                inout("rsi") from => _,
                inout("rdi") to => _,
                options(nostack, preserves_flags)
            );
        }
        return;
    }
    // SAFETY: each step stays within the bytes that are left.
    unsafe {
        while len > 0 && !from.cast::<u64>().is_aligned() {
            to.write(from.read_volatile());
            (from, to, len) = (from.add(1), to.add(1), len - 1);
        }
        while len >= 8 {
            to.cast::<u64>().write_unaligned(from.cast::<u64>().read_volatile());
            (from, to, len) = (from.add(8), to.add(8), len - 8);
        }
        while len > 0 {
            to.write(from.read_volatile());
            (from, to, len) = (from.add(1), to.add(1), len - 1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copies_of_any_length_from_any_address_are_whole() {
        let source: Vec<u8> = (0..3000_u32).map(|i| (i * 7 + i / 256) as u8).collect();
        for at in 0..9 {
            for len in (0..70).chain([511, 512, 513, 1000, 2980]) {
                let part = SharedBytes::from(&source).get(at, len).unwrap();
                assert_eq!(part.try_to_vec().unwrap(), &source[at..at + len], "{at} {len}");
                let mut to = vec![0xee; len + 2];
                part.copy_to(&mut to[1..=len]);
                assert_eq!((to[0], to[len + 1]), (0xee, 0xee), "nothing beside it is written");
                assert_eq!(to[1..=len], source[at..at + len]);
            }
        }
        let part = SharedBytes::from(&source);
        assert_eq!(part.array::<8>(3).unwrap(), source[3..11]);
        assert_eq!(part.array::<3>(2998), None);
        assert!(part.get(3000, 0).is_some() && part.get(3001, 0).is_none());
        assert!(part.get(1, usize::MAX).is_none() && part.get(usize::MAX, 1).is_none());
        assert!(part == source && part.get(0, 5).unwrap() != source);
    }
}
