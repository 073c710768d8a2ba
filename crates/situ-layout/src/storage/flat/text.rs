//! `string<N>` and `wstring<N>` in flat storage.

use std::mem::{MaybeUninit, offset_of};
use std::ops::Deref;
use std::ptr;

use crate::storage::hand_over::HandOverText;
use crate::storage::methods::visit_as;
use crate::storage::text::{TextUnit, text_traits};
use crate::value::container::{TextField, WideTextField, check};
use crate::value::error::{BoundError, ValidateError, ValidateProblem};
use crate::value::in_place::{Composite, InPlace, SelfContained, clone_value, default_value};
use crate::value::traits::{Validation, Value};

/// Text of at most `N` units, inline: `{u32 len; U[N + 1]}`, with a terminating zero for C.
#[repr(C)]
pub struct FlatText<U, const N: usize> {
    len: u32,
    units: [MaybeUninit<U>; N],
    // The place of the terminating zero when all N units are in use. In C, `units` and this field are one
    // array of N + 1.
    last: MaybeUninit<U>,
}

/// UTF-8 text of at most `N` bytes, inline: `{u32 len; char[N + 1]}`, with a terminating zero for C.
///
/// ```
/// let mut name = situ_layout::FlatString::<8>::default();
/// name.try_assign("lidar")?;
/// assert_eq!(name, "lidar");
/// assert!(name.try_push_str("-left").is_err());
/// # Ok::<(), situ_layout::BoundError>(())
/// ```
pub type FlatString<const N: usize> = FlatText<u8, N>;

/// Text of at most `N` 16-bit units, inline: `{u32 len; u16[N + 1]}`, with a terminating zero for C.
///
/// The units are UTF-16 by convention; no code requires that they are well formed.
pub type FlatWString<const N: usize> = FlatText<u16, N>;

impl<U: TextUnit, const N: usize> FlatText<U, N> {
    /// The offset of the units.
    const UNITS_OFFSET: usize = offset_of!(Self, units);

    /// The length in units: in bytes, or in 16-bit units.
    pub const fn len(&self) -> usize {
        let len = self.len as usize;
        if len > N { N } else { len }
    }

    /// Whether there is no text.
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The greatest length in units.
    pub const fn capacity(&self) -> usize {
        N
    }

    /// The units.
    const fn as_units(&self) -> &[U] {
        // SAFETY: the pointer has the provenance of the whole text; units up to len are initialized.
        unsafe {
            let start = ptr::from_ref(self).cast::<u8>().add(Self::UNITS_OFFSET).cast::<U>();
            std::slice::from_raw_parts(start, self.len())
        }
    }

    /// Makes the text empty.
    pub fn clear(&mut self) {
        self.write(0, &[]);
    }

    /// Writes units that fit after the first `at` units, then the terminating zero, then the length.
    fn write(&mut self, at: usize, units: &[U]) {
        let end = at + units.len();
        debug_assert!(end <= N);
        // SAFETY: the pointer has the provenance of the whole text; at + units.len() <= N, and N + 1 units
        // lie there.
        unsafe {
            let start = ptr::from_mut(self).cast::<u8>().add(Self::UNITS_OFFSET).cast::<U>();
            ptr::copy_nonoverlapping(units.as_ptr(), start.add(at), units.len());
            start.add(end).write(U::ZERO);
        }
        self.len = end as u32;
    }

    /// The units of text that another process wrote. Checks its length and its terminating zero.
    ///
    /// # Safety
    /// `src` is aligned and valid for reads of initialized bytes.
    unsafe fn checked<'a>(src: *const Self) -> Result<&'a [U], ValidateError> {
        // SAFETY: the caller's promise; a FlatText takes any bytes.
        let text = unsafe { &*src };
        let length = u64::from(text.len);
        if length > N as u64 {
            return Err(ValidateProblem::TooLong { length, bound: N as u64 }.into());
        }
        let length = text.len();
        // SAFETY: length <= N, and N + 1 initialized units lie there.
        if unsafe { src.cast::<u8>().add(Self::UNITS_OFFSET).cast::<U>().add(length).read() } != U::ZERO {
            return Err(ValidateProblem::NotTerminated { length }.into());
        }
        Ok(text.as_units())
    }
}

impl<const N: usize> FlatString<N> {
    /// Copies the text.
    pub fn try_from_str(text: &str) -> Result<Self, BoundError> {
        let mut string = Self::default();
        string.try_assign(text)?;
        Ok(string)
    }

    /// The text as bytes.
    pub const fn as_bytes(&self) -> &[u8] {
        self.as_units()
    }

    /// The text. If it is not UTF-8, which validation rejects, the part before the first malformed character.
    pub fn as_str(&self) -> &str {
        let bytes = self.as_bytes();
        match std::str::from_utf8(bytes) {
            Ok(text) => text,
            // SAFETY: the error says up to where the bytes are UTF-8.
            Err(error) => unsafe { std::str::from_utf8_unchecked(&bytes[..error.valid_up_to()]) },
        }
    }

    /// Replaces the text.
    pub fn try_assign(&mut self, text: &str) -> Result<(), BoundError> {
        check(Some(N), text.len())?;
        self.write(0, text.as_bytes());
        Ok(())
    }

    /// Appends to the text.
    pub fn try_push_str(&mut self, text: &str) -> Result<(), BoundError> {
        let len = self.len();
        check(Some(N), len.saturating_add(text.len()))?;
        self.write(len, text.as_bytes());
        Ok(())
    }
}

impl<const N: usize> FlatWString<N> {
    /// Copies 16-bit units.
    pub fn try_from_units(units: &[u16]) -> Result<Self, BoundError> {
        let mut string = Self::default();
        string.try_assign(units)?;
        Ok(string)
    }

    /// The 16-bit units.
    pub const fn as_slice(&self) -> &[u16] {
        self.as_units()
    }

    /// Replaces the text by these 16-bit units.
    pub fn try_assign(&mut self, units: &[u16]) -> Result<(), BoundError> {
        check(Some(N), units.len())?;
        self.write(0, units);
        Ok(())
    }

    /// Replaces the text by the UTF-16 form of a string.
    pub fn try_assign_str(&mut self, text: &str) -> Result<(), BoundError> {
        check(Some(N), text.encode_utf16().count())?;
        self.write_iter(text.encode_utf16());
        Ok(())
    }

    /// Replaces the text by the 16-bit units of an iterator.
    pub fn try_assign_iter(&mut self, units: impl ExactSizeIterator<Item = u16>) -> Result<(), BoundError> {
        check(Some(N), units.len())?;
        self.write_iter(units);
        Ok(())
    }

    /// Writes at most N units, the terminating zero, and the length.
    fn write_iter(&mut self, units: impl Iterator<Item = u16>) {
        // SAFETY: the pointer has the provenance of the whole text.
        let start = unsafe { ptr::from_mut(self).cast::<u8>().add(Self::UNITS_OFFSET).cast::<u16>() };
        let mut count = 0;
        for unit in units.take(N) {
            // SAFETY: count < N, and N + 1 units lie there.
            unsafe { start.add(count).write(unit) };
            count += 1;
        }
        self.write(count, &[]);
    }
}

// SAFETY: both functions write the length, the text it covers, and the terminating zero; the rest may be
// uninitialized.
unsafe impl<U: TextUnit, const N: usize> InPlace for FlatText<U, N> {
    type Class = Composite;

    unsafe fn default_at(dst: *mut Self) {
        const { assert!(N < u32::MAX as usize, "the bound of a flat string must be less than 2^32 - 1") };
        // SAFETY: dst is valid for writes of Self, which ends with N + 1 units of text.
        unsafe {
            (&raw mut (*dst).len).write(0);
            dst.cast::<u8>().add(Self::UNITS_OFFSET).cast::<U>().write(U::ZERO);
        }
    }

    unsafe fn clone_at(&self, dst: *mut Self) {
        let units = self.as_units();
        // SAFETY: as above, and len <= N.
        unsafe {
            (&raw mut (*dst).len).write(units.len() as u32);
            let start = dst.cast::<u8>().add(Self::UNITS_OFFSET).cast::<U>();
            ptr::copy_nonoverlapping(units.as_ptr(), start, units.len());
            start.add(units.len()).write(U::ZERO);
        }
    }
}

// SAFETY: the text lies within.
unsafe impl<U: SelfContained, const N: usize> SelfContained for FlatText<U, N> {}

impl<U: TextUnit, const N: usize> Default for FlatText<U, N> {
    fn default() -> Self {
        default_value()
    }
}

impl<U: TextUnit, const N: usize> Clone for FlatText<U, N> {
    fn clone(&self) -> Self {
        clone_value(self)
    }
}

impl<const N: usize> Deref for FlatString<N> {
    type Target = str;

    fn deref(&self) -> &str {
        self.as_str()
    }
}

impl<const N: usize> Deref for FlatWString<N> {
    type Target = [u16];

    fn deref(&self) -> &[u16] {
        self.as_slice()
    }
}

text_traits!(narrow FlatString);
text_traits!(wide FlatWString);

impl<const N: usize> TryFrom<&str> for FlatString<N> {
    type Error = BoundError;

    fn try_from(text: &str) -> Result<Self, BoundError> {
        Self::try_from_str(text)
    }
}

impl<const N: usize> Value for FlatString<N> {
    unsafe fn validate_at(src: *const Self, _: &Validation) -> Result<(), ValidateError> {
        // SAFETY: the caller's promise.
        let bytes = unsafe { Self::checked(src) }?;
        std::str::from_utf8(bytes)
            .map(|_| ())
            .map_err(|error| ValidateProblem::NotUtf8 { valid_up_to: error.valid_up_to() }.into())
    }

    visit_as!(text);
}

impl<const N: usize> Value for FlatWString<N> {
    unsafe fn validate_at(src: *const Self, _: &Validation) -> Result<(), ValidateError> {
        // SAFETY: the caller's promise.
        unsafe { Self::checked(src) }.map(|_| ())
    }

    visit_as!(wide_text);
}

impl<const N: usize> TextField for FlatString<N> {
    const BOUND: Option<usize> = Some(N);

    fn try_assign(&mut self, text: &str) -> Result<(), BoundError> {
        self.try_assign(text)
    }

    fn try_push_str(&mut self, text: &str) -> Result<(), BoundError> {
        self.try_push_str(text)
    }

    fn clear(&mut self) {
        self.clear();
    }
}

impl<const N: usize> HandOverText for FlatString<N> {}

impl<const N: usize> WideTextField for FlatWString<N> {
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
