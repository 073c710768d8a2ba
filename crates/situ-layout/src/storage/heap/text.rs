//! `string`, `wstring`, `string<N>` and `wstring<N>` in heap storage.

use std::ops::Deref;

use crate::storage::hand_over::{GivenText, HandOverText};
use crate::storage::methods::{not_flat, visit_as, write_whole};
use crate::storage::text::text_traits;
use crate::support::shared_bytes::NoMemory;
use crate::value::container::{TextField, WideTextField, check};
use crate::value::error::BoundError;
use crate::value::in_place::{Composite, InPlace};
use crate::value::traits::{MapKey, Value};

/// The memory of a text. Its default does not unwind.
pub trait TextMemory: Clone + Default {}

impl TextMemory for String {}
impl TextMemory for Vec<u16> {}

/// Text of at most `N` units in a `T`: a [`String`], or a vector of 16-bit units.
#[derive(Clone, Default)]
pub struct BoundedText<T, const N: usize> {
    text: T,
}

/// A string of at most `N` bytes.
pub type BoundedString<const N: usize> = BoundedText<String, N>;

/// A string of at most `N` 16-bit units. They are UTF-16 by convention; no code requires that they are well
/// formed.
pub type BoundedWString<const N: usize> = BoundedText<Vec<u16>, N>;

/// A string of 16-bit units; UTF-16 by convention.
pub type WString = BoundedWString<{ usize::MAX }>;

impl<T, const N: usize> BoundedText<T, N> {
    /// The greatest length in units: in bytes, or in 16-bit units.
    pub const fn capacity(&self) -> usize {
        N
    }
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

impl<const N: usize> BoundedWString<N> {
    /// Copies 16-bit units.
    pub fn try_from_units(units: &[u16]) -> Result<Self, BoundError> {
        check(Some(N), units.len())?;
        Ok(Self { text: units.to_vec() })
    }

    /// The 16-bit units.
    pub fn as_slice(&self) -> &[u16] {
        &self.text
    }

    /// Replaces the text by these 16-bit units.
    pub fn try_assign(&mut self, units: &[u16]) -> Result<(), BoundError> {
        check(Some(N), units.len())?;
        self.text.clear();
        self.text.extend_from_slice(units);
        Ok(())
    }

    /// Replaces the text by the UTF-16 form of a string.
    pub fn try_assign_str(&mut self, text: &str) -> Result<(), BoundError> {
        check(Some(N), text.encode_utf16().count())?;
        self.text.clear();
        self.text.extend(text.encode_utf16());
        Ok(())
    }

    /// Replaces the text by the 16-bit units of an iterator.
    pub fn try_assign_iter(&mut self, units: impl ExactSizeIterator<Item = u16>) -> Result<(), BoundError> {
        check(Some(N), units.len())?;
        self.text.clear();
        self.text.extend(units);
        Ok(())
    }

    /// Makes the text empty.
    pub fn clear(&mut self) {
        self.text.clear();
    }
}

impl<T: Deref, const N: usize> Deref for BoundedText<T, N> {
    type Target = T::Target;

    fn deref(&self) -> &T::Target {
        &self.text
    }
}

text_traits!(narrow BoundedString);
text_traits!(wide BoundedWString);

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

// SAFETY: both functions write a whole value.
unsafe impl<T: TextMemory, const N: usize> InPlace for BoundedText<T, N> {
    type Class = Composite;

    write_whole!();
}

impl<const N: usize> Value for BoundedString<N> {
    not_flat!();

    visit_as!(text);
}

impl<const N: usize> Value for BoundedWString<N> {
    not_flat!();

    visit_as!(wide_text);
}

impl<const N: usize> TextField for BoundedString<N> {
    const BOUND: Option<usize> = Some(N);

    fn try_assign(&mut self, text: &str) -> Result<(), BoundError> {
        self.try_assign(text)
    }

    fn try_reserve(&mut self, len: usize) -> Result<(), NoMemory> {
        TextField::try_reserve(&mut self.text, len.min(N))
    }

    fn try_push_str(&mut self, text: &str) -> Result<(), BoundError> {
        self.try_push_str(text)
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

impl<const N: usize> WideTextField for BoundedWString<N> {
    const BOUND: Option<usize> = if N == usize::MAX { None } else { Some(N) };

    fn try_assign(&mut self, units: &[u16]) -> Result<(), BoundError> {
        self.try_assign(units)
    }

    fn try_reserve(&mut self, len: usize) -> Result<(), NoMemory> {
        self.text.clear();
        self.text.try_reserve_exact(len.min(N)).map_err(|_| NoMemory { bytes: len.saturating_mul(2) })
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

impl TextField for String {
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
unsafe impl InPlace for String {
    type Class = Composite;

    write_whole!();
}

impl Value for String {
    not_flat!();

    visit_as!(text);
}

impl MapKey for String {}
