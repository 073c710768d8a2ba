//! The operations that the containers of all storage policies share, for code that is generic over the
//! storage.
//!
//! Every container also has these methods as inherent ones, so code for one storage need not import the
//! traits.

use std::borrow::Cow;
use std::mem::MaybeUninit;
use std::ops::{Deref, DerefMut};

use crate::support::shared_bytes::NoMemory;
use crate::value::error::{BoundError, OpaqueBuffer};

/// A string: [`FlatString`](crate::FlatString), [`BoundedString`](crate::BoundedString) or [`String`].
pub trait TextField: Deref<Target = str> + Default + AsRef<str> {
    /// The greatest length in bytes; `None` if there is no bound.
    const BOUND: Option<usize>;

    /// Replaces the text.
    fn try_assign(&mut self, text: &str) -> Result<(), BoundError>;

    /// Reserves memory for a replacement text of `len` bytes. Call it for lengths that come from outside. The
    /// current text may be lost.
    fn try_reserve(&mut self, len: usize) -> Result<(), NoMemory> {
        let _ = len;
        Ok(())
    }

    /// Appends to the text.
    fn try_push_str(&mut self, text: &str) -> Result<(), BoundError>;

    /// Makes the text empty.
    fn clear(&mut self);

    /// The text, with U+FFFD in place of bytes that are not UTF-8. Only a string that C code wrote can
    /// contain such bytes.
    fn to_text(&self) -> Cow<'_, str> {
        Cow::Borrowed(self)
    }
}

/// A string of 16-bit characters: [`FlatWString`](crate::FlatWString),
/// [`BoundedWString`](crate::BoundedWString) or [`WString`](crate::WString).
pub trait WideTextField: Deref<Target = [u16]> + Default {
    /// The greatest length in 16-bit units; `None` if there is no bound.
    const BOUND: Option<usize>;

    /// Replaces the text by these 16-bit units.
    fn try_assign(&mut self, units: &[u16]) -> Result<(), BoundError>;

    /// Reserves memory for a replacement text of `len` units; see [`TextField::try_reserve`].
    fn try_reserve(&mut self, len: usize) -> Result<(), NoMemory> {
        let _ = len;
        Ok(())
    }

    /// Replaces the text by the UTF-16 form of a string.
    fn try_assign_str(&mut self, text: &str) -> Result<(), BoundError>;

    /// Replaces the text by the 16-bit units of an iterator.
    fn try_assign_iter(&mut self, units: impl ExactSizeIterator<Item = u16>) -> Result<(), BoundError>;

    /// Makes the text empty.
    fn clear(&mut self);
}

/// A sequence: [`FlatSequence`](crate::FlatSequence), [`BoundedVec`](crate::BoundedVec) or [`Vec`].
pub trait SequenceField<T>: Deref<Target = [T]> + DerefMut + Default {
    /// The greatest number of elements; `None` if there is no bound.
    const BOUND: Option<usize>;
    /// Whether the elements are stored inline, so that growing allocates nothing.
    const INLINE: bool;

    /// The elements. Fails if they are in memory that this program cannot read.
    #[doc(hidden)]
    fn elements(&self) -> Result<&[T], OpaqueBuffer> {
        Ok(self)
    }

    /// Reserves memory for `additional` more elements. Call it for numbers that come from outside.
    fn try_reserve(&mut self, additional: usize) -> Result<(), NoMemory> {
        let _ = additional;
        Ok(())
    }

    /// Appends an element.
    fn try_push(&mut self, element: T) -> Result<(), BoundError>;

    /// Appends a default element, built in place, and returns a reference to it.
    fn try_push_default(&mut self) -> Result<&mut T, BoundError>;

    /// Appends copies of all elements.
    fn try_extend_from_slice(&mut self, elements: &[T]) -> Result<(), BoundError>;

    /// Appends `additional` elements that `fill` writes; if it fails, nothing is appended.
    ///
    /// # Safety
    /// When `fill` returns `Ok`, it has initialized the whole slice.
    unsafe fn try_extend_with<E: From<BoundError>>(
        &mut self,
        additional: usize,
        fill: impl FnOnce(&mut [MaybeUninit<T>]) -> Result<(), E>,
    ) -> Result<(), E>;

    /// Shortens to `len` elements, or grows with default elements.
    fn try_resize(&mut self, len: usize) -> Result<(), BoundError>;

    /// Shortens to `len` elements; does nothing if there are no more.
    fn truncate(&mut self, len: usize);

    /// Removes all elements.
    fn clear(&mut self);

    /// Shortens to `len` elements, or grows with elements that the caller assigns before they are read.
    #[doc(hidden)]
    fn try_resize_vacant(&mut self, len: usize) -> Result<(), BoundError> {
        self.try_resize(len)
    }

    /// Replaces the elements by copies of these.
    fn try_assign(&mut self, elements: &[T]) -> Result<(), BoundError> {
        check(Self::BOUND, elements.len())?;
        self.clear();
        self.try_extend_from_slice(elements)
    }
}

/// A map: [`FlatMap`](crate::FlatMap), [`BoundedMap`](crate::BoundedMap) or
/// [`BTreeMap`](std::collections::BTreeMap).
pub trait MapField<K, V>: Default {
    /// The greatest number of entries; `None` if there is no bound.
    const BOUND: Option<usize>;

    /// Whether an insertion may allocate, and therefore ends the program where there is no memory.
    const ALLOCATES: bool;

    /// The number of entries.
    fn entry_count(&self) -> usize;

    /// The value of a key.
    fn get(&self, key: &K) -> Option<&V>;

    /// A mutable reference to the value of a key.
    fn get_mut(&mut self, key: &K) -> Option<&mut V>;

    /// Sets the value of a key and returns the previous value.
    fn try_insert(&mut self, key: K, value: V) -> Result<Option<V>, BoundError>;

    /// Sets the value of a key to the default, in place, and returns a reference to it.
    fn try_entry(&mut self, key: K) -> Result<&mut V, BoundError>;

    /// Removes a key and returns its value.
    fn remove(&mut self, key: &K) -> Option<V>;

    /// All entries, in ascending order of their keys.
    fn entries<'a>(&'a self) -> impl Iterator<Item = (&'a K, &'a V)>
    where
        K: 'a,
        V: 'a;

    /// Removes all entries.
    fn clear(&mut self);
}

/// An optional member: [`FlatOptional`](crate::FlatOptional) or [`Option`].
pub trait OptionalField<T>: Default {
    /// The value, if there is one.
    fn as_ref(&self) -> Option<&T>;

    /// A mutable reference to the value, if there is one.
    fn as_mut(&mut self) -> Option<&mut T>;

    /// Makes it present.
    fn set(&mut self, value: T);

    /// Makes it present with a default value, built in place, and returns a reference to it.
    fn set_default(&mut self) -> &mut T;

    /// Makes it absent.
    fn clear(&mut self);
}

/// Fails if `size` exceeds the bound.
pub(crate) const fn check(bound: Option<usize>, size: usize) -> Result<(), BoundError> {
    match bound {
        Some(bound) if size > bound => Err(BoundError::new(bound, size)),
        _ => Ok(()),
    }
}

/// Shortens an owned text to the bound. The text is owned if U+FFFD replaced bytes that were not UTF-8, which
/// may have made it longer than the bound.
#[doc(hidden)]
pub fn within(text: Cow<'_, str>, bound: Option<usize>) -> Cow<'_, str> {
    match (text, bound) {
        (Cow::Owned(mut text), Some(bound)) => {
            text.truncate(text.floor_char_boundary(bound));
            Cow::Owned(text)
        }
        (text, _) => text,
    }
}
