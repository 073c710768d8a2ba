//! Visitors: one pass over the members of any message, on which CDR, printing and conversion are built.
//!
//! A value calls the visitor's method for its type: a number calls [`Visitor::number`], a sequence
//! [`Visitor::sequence`], a generated structure [`Visitor::structure`], and so on. A visitor that needs the
//! parts of a value passes a visitor to them. [`Structure::visit_members`] lists the members once, for
//! reading and for writing.

use crate::api::{List, Maybe, Table, Text, WideText};
use crate::bulk::BulkRef;
use crate::ros::RosidlBuffer;
use crate::value::{Key, Plain, Value};

/// How a type may change over time, which decides how CDR encodes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Extensibility {
    /// The type never changes.
    Final,
    /// Members may be added at the end.
    Appendable,
    /// Members may be added, removed and reordered.
    Mutable,
}

/// The schema's properties of a member of a structure or a case of a union.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemberInfo {
    /// The name in the schema.
    pub name: &'static str,
    /// The member id.
    pub id: u32,
    /// Whether the member is part of the key.
    pub key: bool,
    /// Whether the member may be absent.
    pub optional: bool,
    /// Whether a reader that does not know the member must refuse the message.
    pub must_understand: bool,
    /// Whether the member lies in the body of a flat message.
    pub bulk: bool,
}

impl MemberInfo {
    /// No member.
    pub const NONE: Self = Self::new("", 0);

    /// An ordinary member.
    pub const fn new(name: &'static str, id: u32) -> Self {
        Self { name, id, key: false, optional: false, must_understand: false, bulk: false }
    }

    /// Marks the member as part of the key.
    #[must_use]
    pub const fn key(mut self) -> Self {
        self.key = true;
        self
    }

    /// Marks the member as one that may be absent.
    #[must_use]
    pub const fn optional(mut self) -> Self {
        self.optional = true;
        self
    }

    /// Marks the member as one for which a reader that does not know it must refuse the message.
    #[must_use]
    pub const fn must_understand(mut self) -> Self {
        self.must_understand = true;
        self
    }

    /// Marks the member as one that lies in the body of a flat message.
    #[must_use]
    pub const fn bulk(mut self) -> Self {
        self.bulk = true;
        self
    }
}

/// The schema's properties of a structure or a union.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TypeInfo {
    /// The fully qualified name in the schema.
    pub name: &'static str,
    /// How the type may change.
    pub extensibility: Extensibility,
    /// The members, those of the bases first; of a union, the cases.
    pub members: &'static [MemberInfo],
}

/// The innermost element of a value. The element of an array is that of its elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Element {
    /// An integer, a floating-point number or a character.
    Number,
    /// A boolean.
    Boolean,
    /// An enum or a bitmask.
    Enumerated,
    /// Anything else.
    Other,
}

/// The properties of a type that encodings need before they see a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Whether the type is an array.
    pub is_array: bool,
    /// The innermost element.
    pub element: Element,
    /// The size of the innermost element in bytes; 0 if it is [`Element::Other`].
    pub size: usize,
}

impl Shape {
    /// Any type that is not made of numbers.
    pub const OTHER: Self = Self { is_array: false, element: Element::Other, size: 0 };

    /// A type that is one element.
    pub const fn one(element: Element, size: usize) -> Self {
        Self { is_array: false, element, size }
    }

    /// An array of this type.
    #[must_use]
    pub const fn array(self) -> Self {
        Self { is_array: true, ..self }
    }

    /// Whether the innermost element is a number or a boolean, which CDR calls primitive.
    pub const fn is_made_of_primitives(self) -> bool {
        matches!(self.element, Element::Number | Element::Boolean)
    }

    /// Whether the type itself is a number or a boolean.
    pub const fn is_primitive(self) -> bool {
        !self.is_array && self.is_made_of_primitives()
    }
}

/// An integer, a floating-point number or a character.
pub trait Number: Plain {
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

    /// A sequence of bytes in memory that only ROS can read. They can be neither shown nor encoded.
    fn rosidl_buffer(&mut self, buffer: RosidlBuffer) -> Result<(), Self::Error>;

    /// An array; its elements may be arrays.
    fn array<T: Value>(&mut self, elements: &[T]) -> Result<(), Self::Error>;

    /// A map.
    fn map<K: Key, V: Value, M: Table<K, V>>(&mut self, table: &M) -> Result<(), Self::Error>;

    /// An optional member.
    fn optional<T: Value>(&mut self, value: Option<&T>) -> Result<(), Self::Error>;

    /// A structure.
    fn structure<T: Structure>(&mut self, value: &T) -> Result<(), Self::Error>;

    /// A union.
    fn union<T: Union>(&mut self, value: &T) -> Result<(), Self::Error>;

    /// A bulk member of a flat message, whose elements lie in the message's body.
    fn bulk<T: Plain, const N: usize>(&mut self, reference: &BulkRef<T, N>) -> Result<(), Self::Error>;
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
    fn text<T: Text>(&mut self, text: &mut T) -> Result<(), Self::Error>;

    /// A string of 16-bit units.
    fn wide_text<T: WideText>(&mut self, text: &mut T) -> Result<(), Self::Error>;

    /// A sequence.
    fn sequence<T: Value, L: List<T>>(&mut self, list: &mut L) -> Result<(), Self::Error>;

    /// An array; its elements may be arrays.
    fn array<T: Value>(&mut self, elements: &mut [T]) -> Result<(), Self::Error>;

    /// A map.
    fn map<K: Key, V: Value, M: Table<K, V>>(&mut self, table: &mut M) -> Result<(), Self::Error>;

    /// An optional member.
    fn optional<T: Value, M: Maybe<T>>(&mut self, value: &mut M) -> Result<(), Self::Error>;

    /// A structure.
    fn structure<T: Structure>(&mut self, value: &mut T) -> Result<(), Self::Error>;

    /// A union.
    fn union<T: Union>(&mut self, value: &mut T) -> Result<(), Self::Error>;

    /// A bulk member of a flat message, whose elements lie in the message's body.
    fn bulk<T: Plain, const N: usize>(&mut self, reference: &mut BulkRef<T, N>) -> Result<(), Self::Error>;
}
