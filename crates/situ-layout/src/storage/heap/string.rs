//! `string` and `string<N>` in heap storage.

use std::borrow::Borrow;
use std::fmt;
use std::ops::Deref;

use crate::storage::hand_over::{GivenText, HandOverText};
use crate::support::shared_bytes::NoMemory;
use crate::value::container::{Text, check};
use crate::value::error::{BoundError, ValidateError, ValidateProblem};
use crate::value::in_place::{Composite, InPlace};
use crate::value::traits::{Key, Validation, Value, Visitor, VisitorMut};

/// A string of at most `N` bytes.
#[derive(Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BoundedString<const N: usize> {
    text: String,
}

impl<const N: usize> BoundedString<N> {
    /// Copies the text.
    pub fn try_from_str(text: &str) -> Result<Self, BoundError> {
        check(Some(N), text.len())?;
        Ok(Self { text: text.to_owned() })
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Returns the inner string.
    pub fn into_string(self) -> String {
        self.text
    }

    /// The greatest length in bytes.
    pub const fn capacity(&self) -> usize {
        N
    }

    /// Replaces the text.
    pub fn try_assign(&mut self, text: &str) -> Result<(), BoundError> {
        check(Some(N), text.len())?;
        self.text.clear();
        self.text.push_str(text);
        Ok(())
    }

    /// Appends to the text.
    pub fn try_push_str(&mut self, text: &str) -> Result<(), BoundError> {
        check(Some(N), self.text.len().saturating_add(text.len()))?;
        self.text.push_str(text);
        Ok(())
    }

    /// Makes the text empty.
    pub fn clear(&mut self) {
        self.text.clear();
    }
}

impl<const N: usize> Text for BoundedString<N> {
    const BOUND: Option<usize> = Some(N);

    fn try_assign(&mut self, text: &str) -> Result<(), BoundError> {
        self.try_assign(text)
    }

    fn try_reserve(&mut self, len: usize) -> Result<(), NoMemory> {
        Text::try_reserve(&mut self.text, len.min(N))
    }

    fn try_push_str(&mut self, text: &str) -> Result<(), BoundError> {
        self.try_push_str(text)
    }

    fn clear(&mut self) {
        self.clear();
    }
}

impl Text for String {
    const BOUND: Option<usize> = None;

    #[inline]
    fn try_assign(&mut self, text: &str) -> Result<(), BoundError> {
        if self.capacity() < text.len() {
            // Allocates memory of exactly this size, and moves no bytes of the old text.
            *self = Self::from(text);
        } else {
            self.clear();
            self.push_str(text);
        }
        Ok(())
    }

    #[inline]
    fn try_reserve(&mut self, len: usize) -> Result<(), NoMemory> {
        if self.capacity() < len {
            // As above.
            *self = Self::new();
            self.try_reserve_exact(len).map_err(|_| NoMemory { bytes: len })?;
        }
        Ok(())
    }

    fn try_push_str(&mut self, text: &str) -> Result<(), BoundError> {
        self.push_str(text);
        Ok(())
    }

    fn clear(&mut self) {
        self.clear();
    }
}

impl<const N: usize> HandOverText for BoundedString<N> {
    fn give(&mut self) -> GivenText<'_> {
        self.text.give()
    }

    fn take(&mut self, text: GivenText<'_>) -> Result<(), BoundError> {
        let text = text.into_string_within(N);
        check(Some(N), text.len())?;
        self.text = text;
        Ok(())
    }
}

impl HandOverText for String {
    #[inline]
    fn give(&mut self) -> GivenText<'_> {
        GivenText::Rust(std::mem::take(self))
    }

    #[inline]
    fn take(&mut self, text: GivenText<'_>) -> Result<(), BoundError> {
        *self = text.into_string();
        Ok(())
    }
}

// SAFETY: both functions write a whole value.
unsafe impl<const N: usize> InPlace for BoundedString<N> {
    type Class = Composite;

    unsafe fn default_at(dst: *mut Self) {
        // SAFETY: the caller promises that dst is valid for writes and aligned.
        unsafe { dst.write(Self::default()) }
    }

    unsafe fn clone_at(&self, dst: *mut Self) {
        // SAFETY: as above.
        unsafe { dst.write(self.clone()) }
    }
}

// SAFETY: both functions write a whole value.
unsafe impl InPlace for String {
    type Class = Composite;

    unsafe fn default_at(dst: *mut Self) {
        // SAFETY: the caller promises that dst is valid for writes and aligned.
        unsafe { dst.write(Self::new()) }
    }

    unsafe fn clone_at(&self, dst: *mut Self) {
        // SAFETY: as above.
        unsafe { dst.write(self.clone()) }
    }
}

impl<const N: usize> Value for BoundedString<N> {
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

impl Value for String {
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

impl<const N: usize> Key for BoundedString<N> {}
impl Key for String {}

impl<const N: usize> Deref for BoundedString<N> {
    type Target = str;

    fn deref(&self) -> &str {
        &self.text
    }
}

impl<const N: usize> AsRef<str> for BoundedString<N> {
    fn as_ref(&self) -> &str {
        &self.text
    }
}

impl<const N: usize> Borrow<str> for BoundedString<N> {
    fn borrow(&self) -> &str {
        &self.text
    }
}

impl<const N: usize> TryFrom<&str> for BoundedString<N> {
    type Error = BoundError;

    fn try_from(text: &str) -> Result<Self, BoundError> {
        Self::try_from_str(text)
    }
}

impl<const N: usize> TryFrom<String> for BoundedString<N> {
    type Error = BoundError;

    fn try_from(text: String) -> Result<Self, BoundError> {
        check(Some(N), text.len())?;
        Ok(Self { text })
    }
}

impl<const N: usize> PartialEq<str> for BoundedString<N> {
    fn eq(&self, other: &str) -> bool {
        self.text == other
    }
}

impl<const N: usize> PartialEq<&str> for BoundedString<N> {
    fn eq(&self, other: &&str) -> bool {
        self.text == *other
    }
}

impl<const N: usize> fmt::Debug for BoundedString<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.text, f)
    }
}

impl<const N: usize> fmt::Display for BoundedString<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.text, f)
    }
}
