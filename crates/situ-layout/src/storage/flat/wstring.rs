//! `wstring<N>` in flat storage.

use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::mem::MaybeUninit;
use std::ops::Deref;
use std::ptr;

use crate::value::container::{WideText, check};
use crate::value::error::{BoundError, ValidateError, ValidateProblem};
use crate::value::in_place::{Composite, InPlace, SelfContained, clone_value, default_value};
use crate::value::traits::{Key, Validation, Value, Visitor, VisitorMut};

/// Text of at most `N` 16-bit units, inline: `{u32 len; u16[N + 1]}`, with a terminating zero for C.
///
/// The units are UTF-16 by convention; no code requires that they are well formed.
#[repr(C)]
pub struct FlatWString<const N: usize> {
    len: u32,
    units: [MaybeUninit<u16>; N],
    // The place of the terminating zero when all N units are in use. In C, `units` and this field are one
    // array of N + 1.
    last: MaybeUninit<u16>,
}

impl<const N: usize> FlatWString<N> {
    /// The offset of the units.
    const UNITS_OFFSET: usize = std::mem::offset_of!(Self, units);

    /// Copies 16-bit units.
    pub fn try_from_units(units: &[u16]) -> Result<Self, BoundError> {
        let mut string = Self::default();
        string.try_assign(units)?;
        Ok(string)
    }

    /// The length in 16-bit units.
    pub const fn len(&self) -> usize {
        let len = self.len as usize;
        if len > N { N } else { len }
    }

    /// Whether there is no text.
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The greatest length in 16-bit units.
    pub const fn capacity(&self) -> usize {
        N
    }

    /// The 16-bit units.
    pub const fn as_slice(&self) -> &[u16] {
        // SAFETY: the pointer has the provenance of the whole string; units up to len are initialized.
        unsafe {
            let start = ptr::from_ref(self).cast::<u8>().add(Self::UNITS_OFFSET).cast::<u16>();
            std::slice::from_raw_parts(start, self.len())
        }
    }

    /// Replaces the text by these 16-bit units.
    pub fn try_assign(&mut self, units: &[u16]) -> Result<(), BoundError> {
        check(Some(N), units.len())?;
        self.write(units.iter().copied());
        Ok(())
    }

    /// Replaces the text by the UTF-16 form of a string.
    pub fn try_assign_str(&mut self, text: &str) -> Result<(), BoundError> {
        let count = text.encode_utf16().count();
        check(Some(N), count)?;
        self.write(text.encode_utf16());
        Ok(())
    }

    /// Replaces the text by the 16-bit units of an iterator.
    pub fn try_assign_iter(&mut self, units: impl ExactSizeIterator<Item = u16>) -> Result<(), BoundError> {
        check(Some(N), units.len())?;
        self.write(units);
        Ok(())
    }

    /// Writes at most N units, the terminating zero, and the length.
    fn write(&mut self, units: impl Iterator<Item = u16>) {
        // SAFETY: the pointer has the provenance of the whole string.
        let start = unsafe { ptr::from_mut(self).cast::<u8>().add(Self::UNITS_OFFSET).cast::<u16>() };
        let mut count = 0;
        for unit in units.take(N) {
            // SAFETY: count < N, and N + 1 units lie there.
            unsafe { start.add(count).write(unit) };
            count += 1;
        }
        // SAFETY: count <= N, and N + 1 units lie there.
        unsafe { start.add(count).write(0) };
        self.len = count as u32;
    }

    /// Makes the text empty.
    pub fn clear(&mut self) {
        self.write(std::iter::empty());
    }
}

// SAFETY: both functions write the length, the text it covers, and the terminating zero; the rest may be
// uninitialized.
unsafe impl<const N: usize> InPlace for FlatWString<N> {
    type Class = Composite;

    unsafe fn default_at(dst: *mut Self) {
        const { assert!(N < u32::MAX as usize, "the bound of a flat string must be less than 2^32 - 1") };
        // SAFETY: dst is valid for writes of Self, which ends with N + 1 units of text.
        unsafe {
            (&raw mut (*dst).len).write(0);
            dst.cast::<u8>().add(Self::UNITS_OFFSET).cast::<u16>().write(0);
        }
    }

    unsafe fn clone_at(&self, dst: *mut Self) {
        let units = self.as_slice();
        // SAFETY: as above, and len <= N.
        unsafe {
            (&raw mut (*dst).len).write(units.len() as u32);
            let start = dst.cast::<u8>().add(Self::UNITS_OFFSET).cast::<u16>();
            ptr::copy_nonoverlapping(units.as_ptr(), start, units.len());
            start.add(units.len()).write(0);
        }
    }
}

impl<const N: usize> Value for FlatWString<N> {
    unsafe fn validate_at(src: *const Self, _: &Validation) -> Result<(), ValidateError> {
        // SAFETY: the caller promises aligned and initialized bytes; a FlatWString takes any bytes.
        let string = unsafe { &*src };
        let length = u64::from(string.len);
        if length > N as u64 {
            return Err(ValidateProblem::TooLong { length, bound: N as u64 }.into());
        }
        let length = string.len();
        // SAFETY: length <= N, and N + 1 initialized units lie there.
        if unsafe { src.cast::<u8>().add(Self::UNITS_OFFSET).cast::<u16>().add(length).read() } != 0 {
            return Err(ValidateProblem::NotTerminated { length }.into());
        }
        Ok(())
    }

    fn visit<V: Visitor>(&self, visitor: &mut V) -> Result<(), V::Error> {
        visitor.wide_text(self)
    }

    fn visit_mut<V: VisitorMut>(&mut self, visitor: &mut V) -> Result<(), V::Error> {
        visitor.wide_text(self)
    }
}

impl<const N: usize> Key for FlatWString<N> {}

// SAFETY: the text lies within.
unsafe impl<const N: usize> SelfContained for FlatWString<N> {}

impl<const N: usize> WideText for FlatWString<N> {
    const BOUND: Option<usize> = Some(N);

    fn try_assign(&mut self, units: &[u16]) -> Result<(), BoundError> {
        self.try_assign(units)
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

impl<const N: usize> Default for FlatWString<N> {
    fn default() -> Self {
        default_value()
    }
}

impl<const N: usize> Clone for FlatWString<N> {
    fn clone(&self) -> Self {
        clone_value(self)
    }
}

impl<const N: usize> Deref for FlatWString<N> {
    type Target = [u16];

    fn deref(&self) -> &[u16] {
        self.as_slice()
    }
}

impl<const N: usize> PartialEq for FlatWString<N> {
    fn eq(&self, other: &Self) -> bool {
        self.as_slice() == other.as_slice()
    }
}

impl<const N: usize> Eq for FlatWString<N> {}

impl<const N: usize> PartialOrd for FlatWString<N> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<const N: usize> Ord for FlatWString<N> {
    fn cmp(&self, other: &Self) -> Ordering {
        self.as_slice().cmp(other.as_slice())
    }
}

impl<const N: usize> Hash for FlatWString<N> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.as_slice().hash(state);
    }
}

impl<const N: usize> fmt::Debug for FlatWString<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&String::from_utf16_lossy(self.as_slice()), f)
    }
}

impl<const N: usize> fmt::Display for FlatWString<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&String::from_utf16_lossy(self.as_slice()), f)
    }
}
