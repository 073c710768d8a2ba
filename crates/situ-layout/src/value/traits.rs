//! Values, and the visitors that pass over them: two halves of one concept, on which CDR, printing and
//! conversion are built.
//!
//! A value calls the visitor's method for its type: a number calls [`Visitor::number`], a sequence
//! [`Visitor::sequence`], a generated structure [`Visitor::structure`], and so on. A visitor that needs the
//! parts of a value passes a visitor to them. [`Structure::visit_members`] lists the members once, for
//! reading and for writing.

use std::fmt::Debug;

use crate::value::bulk_ref::BulkRef;
use crate::value::container::{MapField, OptionalField, SequenceField, TextField, WideTextField};
use crate::value::error::{OpaqueBuffer, ValidateError};
use crate::value::in_place::{InPlace, SelfContained};
use crate::value::shape::{MemberInfo, Shape, TypeInfo};

/// The context that validation of flat bytes needs.
#[derive(Clone, Copy, Debug)]
pub struct Validation {
    /// The size of the message's body.
    pub body_len: usize,
}

/// Any type that can be a member of a message: primitives, containers, and generated types.
pub trait Value: InPlace + Clone + PartialEq + Debug + Send + Sync + 'static {
    /// The properties of the type that encodings need before they see a value.
    const SHAPE: Shape = Shape::OTHER;

    /// Checks that the bytes at `src` are a valid value. Types with heap storage always fail.
    ///
    /// # Safety
    /// `src` is aligned and valid for reads of `size_of::<Self>()` initialized bytes.
    unsafe fn validate_at(src: *const Self, validation: &Validation) -> Result<(), ValidateError>;

    /// Calls the visitor's method for this type.
    fn visit<V: Visitor>(&self, visitor: &mut V) -> Result<(), V::Error>;

    /// Calls the visitor's method for this type, with a mutable reference.
    fn visit_mut<V: VisitorMut>(&mut self, visitor: &mut V) -> Result<(), V::Error>;
}

/// A value that may be the key of a map.
pub trait MapKey: Value + Ord {}

/// A value of fixed size without variable-length parts. It may be the element of bulk data.
///
/// # Safety
/// [`Value::validate_at`] of the type accepts valid values only, and the type is [`SelfContained`].
#[diagnostic::on_unimplemented(
    message = "`{Self}` has no fixed size, so it cannot be the element of a `@bulk` sequence",
    note = "bulk elements are numbers, booleans, characters, enums, bitmasks, and arrays and structures of these"
)]
pub unsafe trait BulkElement: Value + SelfContained + Copy {}

/// An integer, a floating-point number or a character.
pub trait Number: BulkElement {
    /// Reads the number from exactly as many bytes as it has, in this machine's byte order.
    fn from_ne_slice(bytes: &[u8]) -> Option<Self>;

    /// Writes the number to exactly as many bytes as it has, in this machine's byte order.
    fn with_ne_bytes<R>(self, write: impl FnOnce(&[u8]) -> R) -> R;

    /// The number with its bytes in the opposite order.
    #[must_use]
    fn swapped(self) -> Self;
}

/// A generated enum. Any 32-bit value is valid; some values have names.
pub trait Enumeration: Value + Copy {
    /// The names, in the order of the schema.
    const NAMES: &'static [(i32, &'static str)];

    /// Converts from the enum's value.
    fn from_value(value: i32) -> Self;

    /// The enum's value.
    fn value(self) -> i32;

    /// The name of the value, if it has one.
    fn name(self) -> Option<&'static str> {
        let value = self.value();
        Self::NAMES.iter().find(|(of, _)| *of == value).map(|(_, name)| *name)
    }
}

/// A generated bitmask.
pub trait Bitmask: Value + Copy {
    /// The unsigned integer that stores the flags.
    type Bits: Number;

    /// The names of the flags and their positions, in the order of the schema.
    const FLAGS: &'static [(u8, &'static str)];

    /// Converts from the bits.
    fn from_bits(bits: Self::Bits) -> Self;

    /// The bits.
    fn bits(self) -> Self::Bits;
}

/// A type that can select the case of a union.
pub trait Discriminator: Value + Copy + PartialEq {
    /// The value as a number that can be compared with labels.
    fn raw(self) -> i128;

    /// Converts from the number of a label.
    fn from_raw(raw: i128) -> Self;
}

/// A generated structure.
pub trait Structure: Value {
    /// The schema's properties of the structure.
    const INFO: &'static TypeInfo;

    /// Calls the visitor for every member, in the order of the schema. Members of bases come first.
    fn visit_members<V: MemberVisitor<Self>>(visitor: &mut V) -> Result<(), V::Error>;
}

/// A visitor for the members of a structure.
pub trait MemberVisitor<S> {
    /// The error that ends the visit early.
    type Error;

    /// Visits one member. The functions access the member in a structure.
    fn member<T: Value>(
        &mut self,
        info: &'static MemberInfo,
        get: impl Fn(&S) -> &T,
        get_mut: impl Fn(&mut S) -> &mut T,
    ) -> Result<(), Self::Error>;
}

/// A generated union.
pub trait Union: Value {
    /// The schema's properties of the union.
    const INFO: &'static TypeInfo;

    /// The type of the discriminator: a number, a boolean or an enum.
    type Discriminator: Discriminator;

    /// The discriminator of the current case.
    fn discriminator(&self) -> Self::Discriminator;

    /// The case that a discriminator selects, if any, and the shape of its value.
    fn case_of(discriminator: Self::Discriminator) -> Option<(&'static MemberInfo, Shape)>;

    /// Visits the value of the current case. Does nothing if the discriminator selects none.
    fn visit_case<V: Visitor>(&self, visitor: &mut V) -> Result<(), V::Error>;

    /// Selects the case of a discriminator. A newly selected case begins with its default value.
    fn select(&mut self, discriminator: Self::Discriminator);

    /// Visits the value of the current case, with a mutable reference.
    fn visit_case_mut<V: VisitorMut>(&mut self, visitor: &mut V) -> Result<(), V::Error>;
}

/// A visitor that reads values.
pub trait Visitor {
    /// The error that ends the visit early.
    type Error;

    /// A boolean.
    fn boolean(&mut self, value: bool) -> Result<(), Self::Error>;

    /// A number or character.
    fn number<T: Number>(&mut self, value: T) -> Result<(), Self::Error>;

    /// An enum.
    fn enumeration<T: Enumeration>(&mut self, value: T) -> Result<(), Self::Error> {
        self.number(value.value())
    }

    /// A bitmask.
    fn bitmask<T: Bitmask>(&mut self, value: T) -> Result<(), Self::Error> {
        self.number(value.bits())
    }

    /// A string.
    fn text(&mut self, text: &str) -> Result<(), Self::Error>;

    /// A string of 16-bit units.
    fn wide_text(&mut self, units: &[u16]) -> Result<(), Self::Error>;

    /// A sequence.
    fn sequence<T: Value>(&mut self, elements: &[T]) -> Result<(), Self::Error>;

    /// A sequence of bytes in memory that this program cannot read. They can be neither shown nor encoded.
    fn opaque_buffer(&mut self, buffer: OpaqueBuffer) -> Result<(), Self::Error>;

    /// An array; its elements may be arrays.
    fn array<T: Value>(&mut self, elements: &[T]) -> Result<(), Self::Error>;

    /// A map.
    fn map<K: MapKey, V: Value, M: MapField<K, V>>(&mut self, table: &M) -> Result<(), Self::Error>;

    /// An optional member.
    fn optional<T: Value>(&mut self, value: Option<&T>) -> Result<(), Self::Error>;

    /// A structure.
    fn structure<T: Structure>(&mut self, value: &T) -> Result<(), Self::Error>;

    /// A union.
    fn union<T: Union>(&mut self, value: &T) -> Result<(), Self::Error>;

    /// A bulk member of a flat message. Its elements lie in the message's body.
    fn bulk<T: BulkElement, const N: usize>(&mut self, reference: &BulkRef<T, N>) -> Result<(), Self::Error>;
}

/// A visitor that may change values.
pub trait VisitorMut {
    /// The error that ends the visit early.
    type Error;

    /// A boolean.
    fn boolean(&mut self, value: &mut bool) -> Result<(), Self::Error>;

    /// A number or character.
    fn number<T: Number>(&mut self, value: &mut T) -> Result<(), Self::Error>;

    /// An enum.
    fn enumeration<T: Enumeration>(&mut self, value: &mut T) -> Result<(), Self::Error> {
        let mut number = value.value();
        self.number(&mut number)?;
        *value = T::from_value(number);
        Ok(())
    }

    /// A bitmask.
    fn bitmask<T: Bitmask>(&mut self, value: &mut T) -> Result<(), Self::Error> {
        let mut bits = value.bits();
        self.number(&mut bits)?;
        *value = T::from_bits(bits);
        Ok(())
    }

    /// A string.
    fn text<T: TextField>(&mut self, text: &mut T) -> Result<(), Self::Error>;

    /// A string of 16-bit units.
    fn wide_text<T: WideTextField>(&mut self, text: &mut T) -> Result<(), Self::Error>;

    /// A sequence.
    fn sequence<T: Value, L: SequenceField<T>>(&mut self, list: &mut L) -> Result<(), Self::Error>;

    /// An array; its elements may be arrays.
    fn array<T: Value>(&mut self, elements: &mut [T]) -> Result<(), Self::Error>;

    /// A map.
    fn map<K: MapKey, V: Value, M: MapField<K, V>>(&mut self, table: &mut M) -> Result<(), Self::Error>;

    /// An optional member.
    fn optional<T: Value, M: OptionalField<T>>(&mut self, value: &mut M) -> Result<(), Self::Error>;

    /// A structure.
    fn structure<T: Structure>(&mut self, value: &mut T) -> Result<(), Self::Error>;

    /// A union.
    fn union<T: Union>(&mut self, value: &mut T) -> Result<(), Self::Error>;

    /// A bulk member of a flat message. Its elements lie in the message's body.
    fn bulk<T: BulkElement, const N: usize>(
        &mut self,
        reference: &mut BulkRef<T, N>,
    ) -> Result<(), Self::Error>;
}
