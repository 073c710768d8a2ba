//! Strings with the layout of ROS 2's C code: `{char* data; size_t size; size_t capacity}`. The capacity
//! includes the NUL.

use std::borrow::{Borrow, Cow};
use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::mem::ManuallyDrop;
use std::ops::Deref;
use std::ptr;
use std::str::Utf8Error;

use super::memory::{allocate, may_change_hands, release, resize, try_resize};
use super::{NO_BOUND, bound};
use crate::support::shared_bytes::NoMemory;
use crate::value::container::{Text, check};
use crate::value::error::{BoundError, ValidateError, ValidateProblem};
use crate::value::in_place::{InPlace, Scalar};
use crate::value::traits::{Key, Validation, Value, Visitor, VisitorMut};

/// The smallest allocation, in bytes. A default string needs one byte, because C code that writes messages
/// expects the terminating NUL even of an empty string. The C library gives at least this many bytes for an
/// allocation of one byte.
const LEAST: usize = 16;

/// The text of the bytes. Names are mostly ASCII, which is checked many bytes at a time.
fn checked(bytes: &[u8]) -> Result<&str, Utf8Error> {
    if bytes.is_ascii() {
        // SAFETY: ASCII is UTF-8.
        Ok(unsafe { std::str::from_utf8_unchecked(bytes) })
    } else {
        std::str::from_utf8(bytes)
    }
}

/// Text of at most `N` bytes in memory of the C allocator. It is bit for bit a `rosidl_runtime_c__String`.
///
/// ```
/// let mut name = situ_layout::RosString::<5>::try_from_str("front")?;
/// assert_eq!(name, "front");
/// assert_eq!(name.try_push_str("s").unwrap_err().size, 6);
/// # Ok::<(), situ_layout::BoundError>(())
/// ```
// There are two states. Either `data` is null and both numbers are 0, or `data` is C memory for `capacity`
// bytes. Then the first `size` bytes are the text, and the next byte is a NUL.
#[repr(C)]
pub struct RosString<const N: usize = NO_BOUND> {
    pub(super) data: *mut u8,
    pub(super) size: usize,
    pub(super) capacity: usize,
}

// SAFETY: a string owns its bytes and has no interior mutability.
unsafe impl<const N: usize> Send for RosString<N> {}
// SAFETY: as above.
unsafe impl<const N: usize> Sync for RosString<N> {}

impl<const N: usize> RosString<N> {
    /// A string without memory. C code must not receive it.
    pub(super) const VACANT: Self = Self { data: ptr::null_mut(), size: 0, capacity: 0 };

    /// A string in memory that it does not own, with room for the text and a NUL. It may be read and must not
    /// be dropped.
    pub(crate) const fn lent(data: *mut u8, size: usize) -> Self {
        Self { data, size, capacity: size + 1 }
    }

    /// Copies the text, with one allocation.
    pub fn try_from_str(text: &str) -> Result<Self, BoundError> {
        let mut string = Self::VACANT;
        string.try_assign(text)?;
        Ok(string)
    }

    /// The text as bytes, without the NUL.
    pub const fn as_bytes(&self) -> &[u8] {
        if self.data.is_null() {
            return &[];
        }
        // SAFETY: data holds size bytes.
        unsafe { std::slice::from_raw_parts(self.data, self.size) }
    }

    /// The text. If it is not UTF-8, which C code may write, the part before the first malformed character.
    pub fn as_str(&self) -> &str {
        let bytes = self.as_bytes();
        match checked(bytes) {
            Ok(text) => text,
            // SAFETY: the error says up to where the bytes are UTF-8.
            Err(error) => unsafe { std::str::from_utf8_unchecked(&bytes[..error.valid_up_to()]) },
        }
    }

    /// The text, with U+FFFD in place of bytes that are not UTF-8.
    pub fn to_string_lossy(&self) -> Cow<'_, str> {
        // Checking the whole text at once is faster than searching for the first byte that is not UTF-8.
        match checked(self.as_bytes()) {
            Ok(text) => Cow::Borrowed(text),
            Err(_) => String::from_utf8_lossy(self.as_bytes()),
        }
    }

    /// The text as a Rust string. It has the same memory if the program uses
    /// [`use_c_allocator!`](crate::use_c_allocator), otherwise it is a copy. U+FFFD replaces bytes that are
    /// not UTF-8.
    pub fn into_string(self) -> String {
        if !may_change_hands::<u8>() || self.data.is_null() || checked(self.as_bytes()).is_err() {
            return self.to_string_lossy().into_owned();
        }
        let this = ManuallyDrop::new(self);
        // SAFETY: the memory has capacity bytes, and the first size bytes are UTF-8. It came from the
        // program's allocator, which frees memory without its layout.
        unsafe { String::from_raw_parts(this.data, this.size, this.capacity) }
    }

    /// Takes over a string: its memory if the program uses [`use_c_allocator!`](crate::use_c_allocator),
    /// otherwise a copy.
    pub fn try_from_string(text: String) -> Result<Self, BoundError> {
        check(bound(N), text.len())?;
        if !may_change_hands::<u8>() || text.capacity() == 0 {
            return Self::try_from_str(&text);
        }
        let mut bytes = text.into_bytes();
        let size = bytes.len();
        bytes.reserve_exact(1);
        bytes.push(0);
        let mut bytes = ManuallyDrop::new(bytes);
        Ok(Self { data: bytes.as_mut_ptr(), size, capacity: bytes.capacity() })
    }

    /// The greatest length in bytes.
    pub const fn capacity(&self) -> usize {
        N
    }

    /// The number of bytes that fit into its memory, including the NUL, as in C.
    pub const fn memory_capacity(&self) -> usize {
        self.capacity
    }

    /// Replaces the text.
    pub fn try_assign(&mut self, text: &str) -> Result<(), BoundError> {
        check(bound(N), text.len())?;
        if text.len() >= self.capacity {
            let capacity = (text.len() + 1).max(LEAST);
            let data = allocate::<u8>(capacity).as_ptr();
            *self = Self { data, size: 0, capacity };
        }
        self.write(0, text);
        Ok(())
    }

    /// Appends to the text.
    pub fn try_push_str(&mut self, text: &str) -> Result<(), BoundError> {
        let end = self.size.saturating_add(text.len());
        check(bound(N), end)?;
        if end >= self.capacity {
            let capacity = (end + 1).max(self.capacity.saturating_mul(2)).max(LEAST);
            // SAFETY: data is null or of the C allocator.
            self.data = unsafe { resize(self.data, capacity) }.as_ptr();
            self.capacity = capacity;
        }
        self.write(self.size, text);
        Ok(())
    }

    /// Makes the text empty. The memory is kept.
    pub fn clear(&mut self) {
        if self.data.is_null() {
            *self = Self::default();
        }
        self.write(0, "");
    }

    /// Writes text after the first `at` bytes, then the NUL. There is room for both.
    fn write(&mut self, at: usize, text: &str) {
        let end = at + text.len();
        debug_assert!(end < self.capacity);
        // SAFETY: there is room for end + 1 bytes. The text does not lie there, because this string is
        // borrowed exclusively.
        unsafe {
            ptr::copy_nonoverlapping(text.as_ptr(), self.data.add(at), text.len());
            self.data.add(end).write(0);
        }
        self.size = end;
    }
}

impl<const N: usize> Default for RosString<N> {
    fn default() -> Self {
        let data = allocate::<u8>(LEAST).as_ptr();
        // SAFETY: there is room for LEAST bytes.
        unsafe { data.write(0) };
        Self { data, size: 0, capacity: LEAST }
    }
}

impl<const N: usize> Drop for RosString<N> {
    fn drop(&mut self) {
        // SAFETY: the memory is null or C's, and is not used afterwards.
        unsafe { release(self.data) }
    }
}

impl<const N: usize> Clone for RosString<N> {
    fn clone(&self) -> Self {
        let capacity = self.size.saturating_add(1).max(LEAST);
        let data = allocate::<u8>(capacity).as_ptr();
        let bytes = self.as_bytes();
        // SAFETY: there is room for the bytes and a NUL in memory that was just allocated.
        unsafe {
            ptr::copy_nonoverlapping(bytes.as_ptr(), data, bytes.len());
            data.add(bytes.len()).write(0);
        }
        Self { data, size: bytes.len(), capacity }
    }
}

impl<const N: usize> Text for RosString<N> {
    const BOUND: Option<usize> = bound(N);

    fn try_assign(&mut self, text: &str) -> Result<(), BoundError> {
        self.try_assign(text)
    }

    fn try_reserve(&mut self, len: usize) -> Result<(), NoMemory> {
        let len = len.min(N);
        if len >= self.capacity {
            let capacity = len.saturating_add(1).max(LEAST);
            // SAFETY: data is null or of the C allocator.
            let data = unsafe { try_resize(self.data, capacity) }.ok_or(NoMemory { bytes: capacity })?;
            (self.data, self.capacity) = (data.as_ptr(), capacity);
            self.write(0, "");
        }
        Ok(())
    }

    fn try_push_str(&mut self, text: &str) -> Result<(), BoundError> {
        self.try_push_str(text)
    }

    fn clear(&mut self) {
        self.clear();
    }

    fn to_text(&self) -> Cow<'_, str> {
        self.to_string_lossy()
    }
}

// SAFETY: all functions write a whole value; a vacant one owns no memory.
unsafe impl<const N: usize> InPlace for RosString<N> {
    type Class = Scalar;

    unsafe fn default_at(dst: *mut Self) {
        // SAFETY: the caller promises that dst is valid for writes and aligned.
        unsafe { dst.write(Self::default()) }
    }

    unsafe fn vacant_at(dst: *mut Self) {
        // SAFETY: as above.
        unsafe { dst.write(Self::VACANT) }
    }

    unsafe fn clone_at(&self, dst: *mut Self) {
        // SAFETY: as above.
        unsafe { dst.write(self.clone()) }
    }
}

impl<const N: usize> Value for RosString<N> {
    unsafe fn validate_at(_: *const Self, _: &Validation) -> Result<(), ValidateError> {
        Err(ValidateProblem::NotFlat.into())
    }

    fn visit<V: Visitor>(&self, visitor: &mut V) -> Result<(), V::Error> {
        visitor.text(self)
    }

    fn visit_mut<V: VisitorMut>(&mut self, visitor: &mut V) -> Result<(), V::Error> {
        visitor.text(self)
    }
}

impl<const N: usize> Key for RosString<N> {}

impl From<&str> for RosString {
    fn from(text: &str) -> Self {
        // Without a bound, nothing is too long.
        Self::try_from_str(text).unwrap_or_default()
    }
}

impl From<String> for RosString {
    fn from(text: String) -> Self {
        // As above.
        Self::try_from_string(text).unwrap_or_default()
    }
}

impl<const N: usize> From<RosString<N>> for String {
    fn from(text: RosString<N>) -> Self {
        text.into_string()
    }
}

impl<const N: usize> Deref for RosString<N> {
    type Target = str;

    fn deref(&self) -> &str {
        self.as_str()
    }
}

impl<const N: usize> AsRef<str> for RosString<N> {
    fn as_ref(&self) -> &str {
        self.as_str()
    }
}

impl<const N: usize> Borrow<str> for RosString<N> {
    fn borrow(&self) -> &str {
        self.as_str()
    }
}

impl<const N: usize> PartialEq for RosString<N> {
    fn eq(&self, other: &Self) -> bool {
        self.as_str() == other.as_str()
    }
}

impl<const N: usize> Eq for RosString<N> {}

impl<const N: usize> PartialEq<str> for RosString<N> {
    fn eq(&self, other: &str) -> bool {
        self.as_str() == other
    }
}

impl<const N: usize> PartialEq<&str> for RosString<N> {
    fn eq(&self, other: &&str) -> bool {
        self.as_str() == *other
    }
}

impl<const N: usize> PartialOrd for RosString<N> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<const N: usize> Ord for RosString<N> {
    fn cmp(&self, other: &Self) -> Ordering {
        self.as_str().cmp(other.as_str())
    }
}

impl<const N: usize> Hash for RosString<N> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.as_str().hash(state);
    }
}

impl<const N: usize> fmt::Debug for RosString<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.to_string_lossy(), f)
    }
}

impl<const N: usize> fmt::Display for RosString<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.to_string_lossy(), f)
    }
}
