//! What generated enums and bitmasks have in common: they are numbers with names of their own.

use std::fmt::{self, Debug};

use crate::value::error::ValidateError;
use crate::value::in_place::{Composite, InPlace, SelfContained};
use crate::value::shape::{Element, Shape};
use crate::value::traits::{
    Bitmask, BulkElement, Discriminator, Enumeration, MapKey, Number, Validation, Value, Visitor, VisitorMut,
};

/// A generated enum or bitmask. From this trait it gets those that make it a member of a message.
///
/// # Safety
/// The type consists of its number, and any number is valid.
pub unsafe trait Newtype: Copy + Default + Ord + Debug + Send + Sync + 'static {
    /// The number.
    type Number: Number;

    /// Visits the value as what it is: an enum or a bitmask.
    fn visit_newtype<V: Visitor>(self, visitor: &mut V) -> Result<(), V::Error>;

    /// Visits the value as what it is, with a mutable reference.
    fn visit_newtype_mut<V: VisitorMut>(&mut self, visitor: &mut V) -> Result<(), V::Error>;
}

// SAFETY: both functions write a whole value. Any bytes are valid, as they form a number.
unsafe impl<T: Newtype> InPlace for T {
    type Class = Composite;

    const DENSE: bool = {
        assert!(size_of::<T>() == size_of::<T::Number>());
        true
    };

    unsafe fn default_at(dst: *mut Self) {
        // SAFETY: dst is valid for writes and aligned.
        unsafe { dst.write(T::default()) }
    }

    unsafe fn clone_at(&self, dst: *mut Self) {
        // SAFETY: as above.
        unsafe { dst.write(*self) }
    }
}

impl<T: Newtype> Value for T {
    const SHAPE: Shape = Shape::one(Element::Enumerated, size_of::<T::Number>());

    unsafe fn validate_at(_: *const Self, _: &Validation) -> Result<(), ValidateError> {
        Ok(())
    }

    fn visit<V: Visitor>(&self, visitor: &mut V) -> Result<(), V::Error> {
        self.visit_newtype(visitor)
    }

    fn visit_mut<V: VisitorMut>(&mut self, visitor: &mut V) -> Result<(), V::Error> {
        self.visit_newtype_mut(visitor)
    }
}

impl<T: Newtype> MapKey for T {}
// SAFETY: a number holds no pointer.
unsafe impl<T: Newtype> SelfContained for T {}
// SAFETY: a number is plain.
unsafe impl<T: Newtype> BulkElement for T {}

impl<T: Newtype + Enumeration> Discriminator for T {
    fn raw(self) -> i128 {
        i128::from(self.value())
    }

    fn from_raw(raw: i128) -> Self {
        T::from_value(raw as i32)
    }
}

/// Prints the name of an enum's value, or its type and its number.
pub fn fmt_enumeration<T: Enumeration>(f: &mut fmt::Formatter<'_>, name: &str, value: T) -> fmt::Result {
    match value.name() {
        Some(label) => f.write_str(label),
        None => f.debug_tuple(name).field(&value.value()).finish(),
    }
}

/// Prints the names of the flags that are set, and any remaining bits as a number.
pub fn fmt_bitmask<T: Bitmask<Bits: Into<u64>>>(
    f: &mut fmt::Formatter<'_>,
    name: &str,
    value: T,
) -> fmt::Result {
    let bits: u64 = value.bits().into();
    let mut rest = bits;
    let mut separator = "";
    write!(f, "{name}(")?;
    for (position, flag) in T::FLAGS {
        if bits >> position & 1 == 1 {
            rest &= !(1 << position);
            write!(f, "{separator}{flag}")?;
            separator = " | ";
        }
    }
    if rest != 0 {
        write!(f, "{separator}{rest:#x}")?;
    }
    f.write_str(")")
}
