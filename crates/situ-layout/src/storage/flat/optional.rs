//! `@optional T` in flat storage.

use std::fmt;
use std::mem::{MaybeUninit, offset_of};

use crate::value::container::OptionalField;
use crate::value::error::{ValidateError, ValidateProblem};
use crate::value::in_place::{Composite, InPlace, SelfContained, clone_value};
use crate::value::traits::{Validation, Value, Visitor, VisitorMut};

/// A value that may be absent, inline: `{u8 present; T value}`.
#[repr(C)]
pub struct FlatOptional<T> {
    present: u8,
    value: MaybeUninit<T>,
}

impl<T> FlatOptional<T> {
    /// No value.
    pub const fn none() -> Self {
        Self { present: 0, value: MaybeUninit::uninit() }
    }

    /// A value.
    pub const fn some(value: T) -> Self {
        Self { present: 1, value: MaybeUninit::new(value) }
    }

    /// Whether there is a value.
    pub const fn is_some(&self) -> bool {
        self.present == 1
    }

    /// Whether there is no value.
    pub const fn is_none(&self) -> bool {
        !self.is_some()
    }

    /// The value, if there is one.
    pub const fn as_ref(&self) -> Option<&T> {
        if self.is_some() {
            // SAFETY: the value is initialized while it is present.
            Some(unsafe { self.value.assume_init_ref() })
        } else {
            None
        }
    }

    /// A mutable reference to the value, if there is one.
    pub const fn as_mut(&mut self) -> Option<&mut T> {
        if self.is_some() {
            // SAFETY: the value is initialized while it is present.
            Some(unsafe { self.value.assume_init_mut() })
        } else {
            None
        }
    }

    /// Makes it present, or changes the value.
    pub fn set(&mut self, value: T) {
        self.clear();
        self.value.write(value);
        self.present = 1;
    }

    /// Takes the value out.
    pub fn take(&mut self) -> Option<T> {
        if self.is_none() {
            return None;
        }
        self.present = 0;
        // SAFETY: the value was present, and the cleared flag gives it up.
        Some(unsafe { self.value.assume_init_read() })
    }

    /// Makes it absent.
    pub fn clear(&mut self) {
        drop(self.take());
    }
}

impl<T: Value> FlatOptional<T> {
    /// Makes it present with a default value, built in place, and returns a reference to it.
    pub fn set_default(&mut self) -> &mut T {
        self.clear();
        // SAFETY: the pointer is to a whole value, and default_at initializes it before the flag is set.
        unsafe { T::default_at(self.value.as_mut_ptr()) };
        self.present = 1;
        // SAFETY: initialized above.
        unsafe { self.value.assume_init_mut() }
    }
}

// SAFETY: both functions write the flag, and the value if it is present.
unsafe impl<T: Value> InPlace for FlatOptional<T> {
    type Class = Composite;

    unsafe fn default_at(dst: *mut Self) {
        // SAFETY: dst is valid for writes of Self.
        unsafe { (&raw mut (*dst).present).write(0) }
    }

    unsafe fn clone_at(&self, dst: *mut Self) {
        // SAFETY: as above.
        unsafe {
            (&raw mut (*dst).present).write(u8::from(self.is_some()));
            if let Some(value) = self.as_ref() {
                value.clone_at((&raw mut (*dst).value).cast::<T>());
            }
        }
    }
}

impl<T: Value> Value for FlatOptional<T> {
    unsafe fn validate_at(src: *const Self, validation: &Validation) -> Result<(), ValidateError> {
        // SAFETY: the caller promises an initialized flag.
        match unsafe { (&raw const (*src).present).read() } {
            0 => Ok(()),
            // SAFETY: the value's bytes are initialized and aligned as the caller promises.
            1 => unsafe {
                T::validate_at(src.cast::<u8>().add(offset_of!(Self, value)).cast::<T>(), validation)
            },
            value => Err(ValidateProblem::NotABool { value }.into()),
        }
    }

    fn visit<V: Visitor>(&self, visitor: &mut V) -> Result<(), V::Error> {
        visitor.optional(self.as_ref())
    }

    fn visit_mut<V: VisitorMut>(&mut self, visitor: &mut V) -> Result<(), V::Error> {
        visitor.optional(self)
    }
}

// SAFETY: a flag and a value that is self-contained.
unsafe impl<T: SelfContained> SelfContained for FlatOptional<T> {}

impl<T: Value> OptionalField<T> for FlatOptional<T> {
    fn as_ref(&self) -> Option<&T> {
        self.as_ref()
    }

    fn as_mut(&mut self) -> Option<&mut T> {
        self.as_mut()
    }

    fn set(&mut self, value: T) {
        self.set(value);
    }

    fn set_default(&mut self) -> &mut T {
        self.set_default()
    }

    fn clear(&mut self) {
        self.clear();
    }
}

impl<T> Drop for FlatOptional<T> {
    fn drop(&mut self) {
        self.clear();
    }
}

impl<T> Default for FlatOptional<T> {
    fn default() -> Self {
        Self::none()
    }
}

impl<T: Value> Clone for FlatOptional<T> {
    fn clone(&self) -> Self {
        clone_value(self)
    }
}

impl<T> From<Option<T>> for FlatOptional<T> {
    fn from(value: Option<T>) -> Self {
        value.map_or_else(Self::none, Self::some)
    }
}

impl<T: PartialEq> PartialEq for FlatOptional<T> {
    fn eq(&self, other: &Self) -> bool {
        self.as_ref() == other.as_ref()
    }
}

impl<T: fmt::Debug> fmt::Debug for FlatOptional<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.as_ref(), f)
    }
}
