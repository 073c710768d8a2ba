//! `wstring` and `wstring<N>` in heap storage.

use std::fmt;
use std::ops::Deref;

use crate::support::shared_bytes::NoMemory;
use crate::value::container::{WideText, check};
use crate::value::error::{BoundError, ValidateError, ValidateProblem};
use crate::value::in_place::{Composite, InPlace};
use crate::value::traits::{Key, Validation, Value, Visitor, VisitorMut};

/// A string of 16-bit units; UTF-16 by convention.
pub type WString = BoundedWString<{ usize::MAX }>;

/// A string of at most `N` 16-bit units. They are UTF-16 by convention; no code requires that they are well
/// formed.
#[derive(Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BoundedWString<const N: usize> {
    units: Vec<u16>,
}

impl<const N: usize> BoundedWString<N> {
    /// Copies 16-bit units.
    pub fn try_from_units(units: &[u16]) -> Result<Self, BoundError> {
        check(Some(N), units.len())?;
        Ok(Self { units: units.to_vec() })
    }

    /// The 16-bit units.
    pub fn as_slice(&self) -> &[u16] {
        &self.units
    }

    /// The greatest length in 16-bit units.
    pub const fn capacity(&self) -> usize {
        N
    }

    /// Replaces the text by these 16-bit units.
    pub fn try_assign(&mut self, units: &[u16]) -> Result<(), BoundError> {
        check(Some(N), units.len())?;
        self.units.clear();
        self.units.extend_from_slice(units);
        Ok(())
    }

    /// Replaces the text by the UTF-16 form of a string.
    pub fn try_assign_str(&mut self, text: &str) -> Result<(), BoundError> {
        check(Some(N), text.encode_utf16().count())?;
        self.units.clear();
        self.units.extend(text.encode_utf16());
        Ok(())
    }

    /// Replaces the text by the 16-bit units of an iterator.
    pub fn try_assign_iter(&mut self, units: impl ExactSizeIterator<Item = u16>) -> Result<(), BoundError> {
        check(Some(N), units.len())?;
        self.units.clear();
        self.units.extend(units);
        Ok(())
    }

    /// Makes the text empty.
    pub fn clear(&mut self) {
        self.units.clear();
    }
}

impl<const N: usize> WideText for BoundedWString<N> {
    const BOUND: Option<usize> = if N == usize::MAX { None } else { Some(N) };

    fn try_assign(&mut self, units: &[u16]) -> Result<(), BoundError> {
        self.try_assign(units)
    }

    fn try_reserve(&mut self, len: usize) -> Result<(), NoMemory> {
        self.units.clear();
        self.units.try_reserve_exact(len.min(N)).map_err(|_| NoMemory { bytes: len.saturating_mul(2) })
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

// SAFETY: both functions write a whole value.
unsafe impl<const N: usize> InPlace for BoundedWString<N> {
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

impl<const N: usize> Value for BoundedWString<N> {
    unsafe fn validate_at(_: *const Self, _: &Validation) -> Result<(), ValidateError> {
        Err(ValidateProblem::NotFlat.into())
    }

    fn visit<V: Visitor>(&self, visitor: &mut V) -> Result<(), V::Error> {
        visitor.wide_text(self)
    }

    fn visit_mut<V: VisitorMut>(&mut self, visitor: &mut V) -> Result<(), V::Error> {
        visitor.wide_text(self)
    }
}

impl<const N: usize> Key for BoundedWString<N> {}

impl<const N: usize> Deref for BoundedWString<N> {
    type Target = [u16];

    fn deref(&self) -> &[u16] {
        &self.units
    }
}

impl<const N: usize> fmt::Debug for BoundedWString<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&String::from_utf16_lossy(&self.units), f)
    }
}

impl<const N: usize> fmt::Display for BoundedWString<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&String::from_utf16_lossy(&self.units), f)
    }
}
