//! `string<N>` in flat storage.

use std::borrow::Borrow;
use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::mem::MaybeUninit;
use std::ops::Deref;
use std::ptr;

use crate::storage::hand_over::HandOverText;
use crate::value::container::{Text, check};
use crate::value::error::{BoundError, ValidateError, ValidateProblem};
use crate::value::in_place::{Composite, InPlace, SelfContained, clone_value, default_value};
use crate::value::traits::{Key, Validation, Value, Visitor, VisitorMut};

/// UTF-8 text of at most `N` bytes, inline: `{u32 len; char[N + 1]}`, with a terminating zero for C.
///
/// ```
/// let mut name = situ_layout::FlatString::<8>::default();
/// name.try_assign("lidar")?;
/// assert_eq!(name, "lidar");
/// assert!(name.try_push_str("-left").is_err());
/// # Ok::<(), situ_layout::BoundError>(())
/// ```
#[repr(C)]
pub struct FlatString<const N: usize> {
    len: u32,
    bytes: [MaybeUninit<u8>; N],
    // The place of the terminating zero when all N bytes are in use. In C, `bytes` and this field are one
    // array of N + 1.
    last: MaybeUninit<u8>,
}

impl<const N: usize> FlatString<N> {
    /// The offset of the characters.
    const BYTES_OFFSET: usize = std::mem::offset_of!(Self, bytes);

    /// Copies the text.
    pub fn try_from_str(text: &str) -> Result<Self, BoundError> {
        check(Some(N), text.len())?;
        let mut string = Self::default();
        string.write(0, text);
        Ok(string)
    }

    /// The length in bytes.
    pub const fn len(&self) -> usize {
        let len = self.len as usize;
        if len > N { N } else { len }
    }

    /// Whether there is no text.
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The greatest length in bytes.
    pub const fn capacity(&self) -> usize {
        N
    }

    /// The text as bytes.
    pub const fn as_bytes(&self) -> &[u8] {
        // SAFETY: the pointer has the provenance of the whole string; bytes up to len are initialized.
        unsafe {
            let start = ptr::from_ref(self).cast::<u8>().add(Self::BYTES_OFFSET);
            std::slice::from_raw_parts(start, self.len())
        }
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
        self.write(0, text);
        Ok(())
    }

    /// Appends to the text.
    pub fn try_push_str(&mut self, text: &str) -> Result<(), BoundError> {
        let len = self.len();
        check(Some(N), len.saturating_add(text.len()))?;
        self.write(len, text);
        Ok(())
    }

    /// Makes the text empty.
    pub fn clear(&mut self) {
        self.write(0, "");
    }

    /// Writes text that fits after the first `at` bytes, then the terminating zero, then the length.
    fn write(&mut self, at: usize, text: &str) {
        let end = at + text.len();
        debug_assert!(end <= N);
        // SAFETY: the pointer has the provenance of the whole string; at + text.len() <= N, and N + 1 bytes
        // lie there.
        unsafe {
            let start = ptr::from_mut(self).cast::<u8>().add(Self::BYTES_OFFSET);
            ptr::copy_nonoverlapping(text.as_ptr(), start.add(at), text.len());
            start.add(end).write(0);
        }
        self.len = end as u32;
    }
}

impl<const N: usize> HandOverText for FlatString<N> {}

// SAFETY: both functions write the length, the text it covers, and the terminating zero; the rest may be
// uninitialized.
unsafe impl<const N: usize> InPlace for FlatString<N> {
    type Class = Composite;

    unsafe fn default_at(dst: *mut Self) {
        const { assert!(N < u32::MAX as usize, "the bound of a flat string must be less than 2^32 - 1") };
        // SAFETY: dst is valid for writes of Self, which ends with N + 1 bytes of text.
        unsafe {
            (&raw mut (*dst).len).write(0);
            dst.cast::<u8>().add(Self::BYTES_OFFSET).write(0);
        }
    }

    unsafe fn clone_at(&self, dst: *mut Self) {
        let bytes = self.as_bytes();
        // SAFETY: as above, and len <= N.
        unsafe {
            (&raw mut (*dst).len).write(bytes.len() as u32);
            let start = dst.cast::<u8>().add(Self::BYTES_OFFSET);
            ptr::copy_nonoverlapping(bytes.as_ptr(), start, bytes.len());
            start.add(bytes.len()).write(0);
        }
    }
}

impl<const N: usize> Value for FlatString<N> {
    unsafe fn validate_at(src: *const Self, _: &Validation) -> Result<(), ValidateError> {
        // SAFETY: the caller promises aligned and initialized bytes; a FlatString takes any bytes.
        let string = unsafe { &*src };
        let length = u64::from(string.len);
        if length > N as u64 {
            return Err(ValidateProblem::TooLong { length, bound: N as u64 }.into());
        }
        let length = string.len();
        // SAFETY: length <= N, and N + 1 initialized bytes lie there.
        if unsafe { src.cast::<u8>().add(Self::BYTES_OFFSET + length).read() } != 0 {
            return Err(ValidateProblem::NotTerminated { length }.into());
        }
        std::str::from_utf8(string.as_bytes())
            .map(|_| ())
            .map_err(|error| ValidateProblem::NotUtf8 { valid_up_to: error.valid_up_to() }.into())
    }

    fn visit<V: Visitor>(&self, visitor: &mut V) -> Result<(), V::Error> {
        visitor.text(self)
    }

    fn visit_mut<V: VisitorMut>(&mut self, visitor: &mut V) -> Result<(), V::Error> {
        visitor.text(self)
    }
}

impl<const N: usize> Key for FlatString<N> {}

// SAFETY: the text lies within.
unsafe impl<const N: usize> SelfContained for FlatString<N> {}

impl<const N: usize> Text for FlatString<N> {
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

impl<const N: usize> Default for FlatString<N> {
    fn default() -> Self {
        default_value()
    }
}

impl<const N: usize> Clone for FlatString<N> {
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

impl<const N: usize> AsRef<str> for FlatString<N> {
    fn as_ref(&self) -> &str {
        self.as_str()
    }
}

impl<const N: usize> Borrow<str> for FlatString<N> {
    fn borrow(&self) -> &str {
        self.as_str()
    }
}

impl<const N: usize> TryFrom<&str> for FlatString<N> {
    type Error = BoundError;

    fn try_from(text: &str) -> Result<Self, BoundError> {
        Self::try_from_str(text)
    }
}

impl<const N: usize> PartialEq for FlatString<N> {
    fn eq(&self, other: &Self) -> bool {
        self.as_str() == other.as_str()
    }
}

impl<const N: usize> Eq for FlatString<N> {}

impl<const N: usize> PartialEq<str> for FlatString<N> {
    fn eq(&self, other: &str) -> bool {
        self.as_str() == other
    }
}

impl<const N: usize> PartialEq<&str> for FlatString<N> {
    fn eq(&self, other: &&str) -> bool {
        self.as_str() == *other
    }
}

impl<const N: usize> PartialOrd for FlatString<N> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<const N: usize> Ord for FlatString<N> {
    fn cmp(&self, other: &Self) -> Ordering {
        self.as_str().cmp(other.as_str())
    }
}

impl<const N: usize> Hash for FlatString<N> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.as_str().hash(state);
    }
}

impl<const N: usize> fmt::Debug for FlatString<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.as_str(), f)
    }
}

impl<const N: usize> fmt::Display for FlatString<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self.as_str(), f)
    }
}
