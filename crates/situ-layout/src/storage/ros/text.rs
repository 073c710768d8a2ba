//! Strings and wide strings with the layout of ROS 2's C code: `{U* data; size_t size; size_t capacity}`. The
//! capacity includes the terminating zero.

use std::borrow::Cow;
use std::mem::ManuallyDrop;
use std::ops::Deref;
use std::ptr;
use std::str::Utf8Error;

use super::memory::{allocate, may_change_hands, release, resize, try_resize};
use super::{NO_BOUND, bound};
use crate::storage::methods::{not_flat, visit_as, write_whole};
use crate::storage::text::{TextUnit, text_traits};
use crate::support::shared_bytes::NoMemory;
use crate::value::container::{TextField, WideTextField, check};
use crate::value::error::BoundError;
use crate::value::in_place::{InPlace, Scalar};
use crate::value::traits::Value;

/// Text of at most `N` units in memory of the C allocator.
// There are two states. Either `data` is null and both numbers are 0, or `data` is C memory for `capacity`
// units. Then the first `size` units are the text, and the next unit is 0.
#[repr(C)]
pub struct RosText<U, const N: usize = NO_BOUND> {
    pub(super) data: *mut U,
    pub(super) size: usize,
    pub(super) capacity: usize,
}

/// Text of at most `N` bytes in memory of the C allocator. It is bit for bit a `rosidl_runtime_c__String`.
///
/// ```
/// let mut name = situ_layout::RosString::<5>::try_from_str("front")?;
/// assert_eq!(name, "front");
/// assert_eq!(name.try_push_str("s").unwrap_err().size, 6);
/// # Ok::<(), situ_layout::BoundError>(())
/// ```
pub type RosString<const N: usize = NO_BOUND> = RosText<u8, N>;

/// Text of at most `N` 16-bit units in memory of the C allocator. It is bit for bit a
/// `rosidl_runtime_c__U16String`.
///
/// The units are UTF-16 by convention; no code requires that they are well formed.
pub type RosWString<const N: usize = NO_BOUND> = RosText<u16, N>;

// SAFETY: a text owns its units and has no interior mutability.
unsafe impl<U: TextUnit, const N: usize> Send for RosText<U, N> {}
// SAFETY: as above.
unsafe impl<U: TextUnit, const N: usize> Sync for RosText<U, N> {}

impl<U: TextUnit, const N: usize> RosText<U, N> {
    /// A text without memory. C code must not receive it.
    pub(super) const VACANT: Self = Self { data: ptr::null_mut(), size: 0, capacity: 0 };

    /// The smallest allocation, in units. A default text needs one unit, because C code that writes messages
    /// expects the terminating zero even of an empty text. The C library gives at least 16 bytes for an
    /// allocation of one byte.
    const LEAST: usize = 16 / size_of::<U>();

    /// A text in memory that it does not own, with room for the units and a zero. It may be read and must not
    /// be dropped.
    pub(crate) const fn lent(data: *mut U, size: usize) -> Self {
        Self { data, size, capacity: size + 1 }
    }

    /// The greatest length in units: in bytes, or in 16-bit units.
    pub const fn capacity(&self) -> usize {
        N
    }

    /// The number of units that fit into its memory, including the terminating zero, as in C.
    pub const fn memory_capacity(&self) -> usize {
        self.capacity
    }

    /// The units, without the terminating zero.
    const fn as_units(&self) -> &[U] {
        if self.data.is_null() {
            return &[];
        }
        // SAFETY: data holds size units.
        unsafe { std::slice::from_raw_parts(self.data, self.size) }
    }

    /// Makes the text empty. The memory is kept.
    pub fn clear(&mut self) {
        self.make_room(0);
        self.write(0, &[]);
    }

    /// Replaces the text by these units.
    fn assign(&mut self, units: &[U]) -> Result<(), BoundError> {
        check(bound(N), units.len())?;
        self.make_room(units.len());
        self.write(0, units);
        Ok(())
    }

    /// Makes room for `len` units and the zero. The current text may be lost.
    fn make_room(&mut self, len: usize) {
        if len >= self.capacity {
            *self = Self::with_room(len);
        }
    }

    /// A text with room for `len` units and the zero, neither of which is written.
    fn with_room(len: usize) -> Self {
        let capacity = len.saturating_add(1).max(Self::LEAST);
        Self { data: allocate::<U>(capacity).as_ptr(), size: 0, capacity }
    }

    /// As [`make_room`](Self::make_room), but fails if there is no memory. The text is empty after an
    /// allocation.
    fn try_make_room(&mut self, len: usize) -> Result<(), NoMemory> {
        let len = len.min(N);
        if len >= self.capacity {
            let capacity = len.saturating_add(1).max(Self::LEAST);
            // SAFETY: data is null or of the C allocator.
            let data = unsafe { try_resize(self.data, capacity) };
            let data = data.ok_or(NoMemory { bytes: capacity.saturating_mul(size_of::<U>()) })?;
            (self.data, self.capacity) = (data.as_ptr(), capacity);
            self.write(0, &[]);
        }
        Ok(())
    }

    /// Writes units after the first `at` units, then the zero. There is room for both.
    fn write(&mut self, at: usize, units: &[U]) {
        let end = at + units.len();
        debug_assert!(end < self.capacity);
        // SAFETY: there is room for end + 1 units. The given units do not lie there, because this text is
        // borrowed exclusively.
        unsafe {
            ptr::copy_nonoverlapping(units.as_ptr(), self.data.add(at), units.len());
            self.data.add(end).write(U::ZERO);
        }
        self.size = end;
    }

    /// A copy of the units, with one allocation.
    fn copy_of(units: &[U]) -> Self {
        let mut copy = Self::with_room(units.len());
        copy.write(0, units);
        copy
    }
}

/// The text of the bytes. Names are mostly ASCII, which is checked many bytes at a time.
fn checked(bytes: &[u8]) -> Result<&str, Utf8Error> {
    if bytes.is_ascii() {
        // SAFETY: ASCII is UTF-8.
        Ok(unsafe { std::str::from_utf8_unchecked(bytes) })
    } else {
        std::str::from_utf8(bytes)
    }
}

impl<const N: usize> RosString<N> {
    /// Copies the text, with one allocation.
    pub fn try_from_str(text: &str) -> Result<Self, BoundError> {
        let mut string = Self::VACANT;
        string.try_assign(text)?;
        Ok(string)
    }

    /// The text as bytes, without the NUL.
    pub const fn as_bytes(&self) -> &[u8] {
        self.as_units()
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

    /// Replaces the text.
    pub fn try_assign(&mut self, text: &str) -> Result<(), BoundError> {
        self.assign(text.as_bytes())
    }

    /// Appends to the text.
    pub fn try_push_str(&mut self, text: &str) -> Result<(), BoundError> {
        let end = self.size.saturating_add(text.len());
        check(bound(N), end)?;
        if end >= self.capacity {
            let capacity = (end + 1).max(self.capacity.saturating_mul(2)).max(Self::LEAST);
            // SAFETY: data is null or of the C allocator.
            self.data = unsafe { resize(self.data, capacity) }.as_ptr();
            self.capacity = capacity;
        }
        self.write(self.size, text.as_bytes());
        Ok(())
    }
}

impl<const N: usize> RosWString<N> {
    /// Copies 16-bit units, with one allocation.
    pub fn try_from_units(units: &[u16]) -> Result<Self, BoundError> {
        let mut string = Self::VACANT;
        string.try_assign(units)?;
        Ok(string)
    }

    /// The 16-bit units, without the terminating zero.
    pub const fn as_slice(&self) -> &[u16] {
        self.as_units()
    }

    /// Replaces the text by these 16-bit units.
    pub fn try_assign(&mut self, units: &[u16]) -> Result<(), BoundError> {
        self.assign(units)
    }

    /// Replaces the text by the UTF-16 form of a string.
    pub fn try_assign_str(&mut self, text: &str) -> Result<(), BoundError> {
        self.assign_iter(text.encode_utf16(), text.encode_utf16().count())
    }

    /// Replaces the text by the 16-bit units of an iterator.
    pub fn try_assign_iter(&mut self, units: impl ExactSizeIterator<Item = u16>) -> Result<(), BoundError> {
        let count = units.len();
        self.assign_iter(units, count)
    }

    /// Replaces the text by at most `count` units of an iterator. The text is empty while the iterator runs,
    /// which may unwind.
    fn assign_iter(&mut self, units: impl Iterator<Item = u16>, count: usize) -> Result<(), BoundError> {
        check(bound(N), count)?;
        self.make_room(count);
        self.write(0, &[]);
        let mut len = 0;
        for unit in units.take(count) {
            // SAFETY: there is room for count units.
            unsafe { self.data.add(len).write(unit) };
            len += 1;
        }
        self.write(len, &[]);
        Ok(())
    }
}

impl<U: TextUnit, const N: usize> Default for RosText<U, N> {
    fn default() -> Self {
        let mut text = Self::with_room(0);
        text.write(0, &[]);
        text
    }
}

impl<U, const N: usize> Drop for RosText<U, N> {
    fn drop(&mut self) {
        // SAFETY: the memory is null or C's, and is not used afterwards.
        unsafe { release(self.data) }
    }
}

impl<const N: usize> Clone for RosString<N> {
    fn clone(&self) -> Self {
        Self::copy_of(self.as_units())
    }
}

impl<const N: usize> Clone for RosWString<N> {
    fn clone(&self) -> Self {
        // C code may have written more than the bound. The copy has at most the bound.
        let units = self.as_slice();
        Self::copy_of(&units[..units.len().min(N)])
    }
}

impl<const N: usize> Deref for RosString<N> {
    type Target = str;

    fn deref(&self) -> &str {
        self.as_str()
    }
}

impl<const N: usize> Deref for RosWString<N> {
    type Target = [u16];

    fn deref(&self) -> &[u16] {
        self.as_slice()
    }
}

text_traits!(narrow RosString);
text_traits!(wide RosWString);

// SAFETY: all functions write a whole value; a vacant one owns no memory.
unsafe impl<U: TextUnit, const N: usize> InPlace for RosText<U, N>
where
    Self: Clone,
{
    type Class = Scalar;

    write_whole!();

    unsafe fn vacant_at(dst: *mut Self) {
        // SAFETY: the caller promises that dst is valid for writes and aligned.
        unsafe { dst.write(Self::VACANT) }
    }
}

impl<const N: usize> Value for RosString<N> {
    not_flat!();

    visit_as!(text);
}

impl<const N: usize> Value for RosWString<N> {
    not_flat!();

    visit_as!(wide_text);
}

impl<const N: usize> TextField for RosString<N> {
    const BOUND: Option<usize> = bound(N);

    fn try_assign(&mut self, text: &str) -> Result<(), BoundError> {
        self.try_assign(text)
    }

    fn try_reserve(&mut self, len: usize) -> Result<(), NoMemory> {
        self.try_make_room(len)
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

impl<const N: usize> WideTextField for RosWString<N> {
    const BOUND: Option<usize> = bound(N);

    fn try_assign(&mut self, units: &[u16]) -> Result<(), BoundError> {
        self.try_assign(units)
    }

    fn try_reserve(&mut self, len: usize) -> Result<(), NoMemory> {
        self.try_make_room(len)
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
