//! Visitors: one pass over the members of any message, on which CDR, printing and conversion are built once.
//!
//! A type says what it is by calling one method of the visitor: a number calls [`Visitor::number`], a sequence
//! [`Visitor::sequence`], a generated structure [`Visitor::structure`], and so on. A visitor that wants to know what is
//! inside hands its own visitor on. [`Structure::visit_members`] lists the members once, for reading and for writing.

use crate::api::{List, Maybe, Table, Text, WideText};
use crate::bulk::BulkRef;
use crate::ros::RosidlBuffer;
use crate::value::{Key, Plain, Value};

/// How a type may change over time, which decides how CDR encodes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Extensibility {
    /// Never.
    Final,
    /// Members may be added at the end.
    Appendable,
    /// Members may come, go and change places.
    Mutable,
}

/// What is known about a member of a structure or a case of a union.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemberInfo {
    /// Its name in the schema.
    pub name: &'static str,
    /// Its member id.
    pub id: u32,
    /// Whether it is part of the key.
    pub key: bool,
    /// Whether it may be absent.
    pub optional: bool,
    /// Whether a reader that does not know it must refuse the message.
    pub must_understand: bool,
    /// Whether it lies in the body of a flat message.
    pub bulk: bool,
}

impl MemberInfo {
    /// No member.
    pub const NONE: Self = Self::new("", 0);

    /// An ordinary member.
    pub const fn new(name: &'static str, id: u32) -> Self {
        Self { name, id, key: false, optional: false, must_understand: false, bulk: false }
    }

    /// Part of the key.
    #[must_use]
    pub const fn key(mut self) -> Self {
        self.key = true;
        self
    }

    /// It may be absent.
    #[must_use]
    pub const fn optional(mut self) -> Self {
        self.optional = true;
        self
    }

    /// A reader that does not know it must refuse the message.
    #[must_use]
    pub const fn must_understand(mut self) -> Self {
        self.must_understand = true;
        self
    }

    /// It lies in the body of a flat message.
    #[must_use]
    pub const fn bulk(mut self) -> Self {
        self.bulk = true;
        self
    }
}

/// What is known about a structure or a union.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TypeInfo {
    /// Its fully qualified name in the schema.
    pub name: &'static str,
    /// How it may change.
    pub extensibility: Extensibility,
    /// Its members, those of its bases first; of a union, its cases.
    pub members: &'static [MemberInfo],
}

/// The innermost element of a value, arrays looked through.
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

/// What encodings need to know about a type before they see a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Whether it is an array.
    pub is_array: bool,
    /// The innermost element.
    pub element: Element,
    /// The size of the innermost element in bytes; 0 if it is [`Element::Other`].
    pub size: usize,
}

impl Shape {
    /// Anything that is not made of numbers.
    pub const OTHER: Self = Self { is_array: false, element: Element::Other, size: 0 };

    /// A type that is one element.
    pub const fn one(element: Element, size: usize) -> Self {
        Self { is_array: false, element, size }
    }

    /// An array of these.
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
    /// Reads it from exactly as many bytes as it has, in this machine's byte order.
    fn from_ne_slice(bytes: &[u8]) -> Option<Self>;

    /// Writes it to exactly as many bytes as it has, in this machine's byte order.
    fn with_ne_bytes<R>(self, write: impl FnOnce(&[u8]) -> R) -> R;

    /// The number with its bytes in the other order.
    #[must_use]
    fn swapped(self) -> Self;
}

/// A generated enum: any 32-bit value is one, some have names.
pub trait Enumeration: Value + Copy {
    /// The names, in the order of the schema.
    const NAMES: &'static [(i32, &'static str)];

    /// From its value.
    fn from_value(value: i32) -> Self;

    /// Its value.
    fn value(self) -> i32;

    /// Its name, if it has one.
    fn name(self) -> Option<&'static str> {
        let value = self.value();
        Self::NAMES.iter().find(|(of, _)| *of == value).map(|(_, name)| *name)
    }
}

/// A generated bitmask.
pub trait Bitmask: Value + Copy {
    /// The unsigned integer that stores it.
    type Bits: Number;

    /// The names of the flags and their positions, in the order of the schema.
    const FLAGS: &'static [(u8, &'static str)];

    /// From its bits.
    fn from_bits(bits: Self::Bits) -> Self;

    /// Its bits.
    fn bits(self) -> Self::Bits;
}

/// A type that may say which case a union holds.
pub trait Discriminator: Value + Copy + PartialEq {
    /// The value as a number that labels can be compared with.
    fn raw(self) -> i128;

    /// From the number of a label.
    fn from_raw(raw: i128) -> Self;
}

/// A generated structure.
pub trait Structure: Value {
    /// What is known about it.
    const INFO: &'static TypeInfo;

    /// Calls the visitor for every member, in the order of the schema, those of bases first.
    fn visit_members<V: MemberVisitor<Self>>(visitor: &mut V) -> Result<(), V::Error>;
}

/// Is called for each member of a structure.
pub trait MemberVisitor<S> {
    /// What ends the visit early.
    type Error;

    /// One member, and how to get at it.
    fn member<T: Value>(
        &mut self,
        info: &'static MemberInfo,
        get: impl Fn(&S) -> &T,
        get_mut: impl Fn(&mut S) -> &mut T,
    ) -> Result<(), Self::Error>;
}

/// A generated union.
pub trait Union: Value {
    /// What is known about it.
    const INFO: &'static TypeInfo;

    /// The type that says which case it holds: a number, a boolean or an enum.
    type Discriminator: Discriminator;

    /// Which case it holds.
    fn discriminator(&self) -> Self::Discriminator;

    /// The case that a discriminator selects, if any, and the shape of its value.
    fn case_of(discriminator: Self::Discriminator) -> Option<(&'static MemberInfo, Shape)>;

    /// Visits the value of the case it holds; nothing if the discriminator selects none.
    fn visit_case<V: Visitor>(&self, visitor: &mut V) -> Result<(), V::Error>;

    /// Chooses the case of a discriminator. A case that was not held before begins with its default value.
    fn select(&mut self, discriminator: Self::Discriminator);

    /// Visits the value of the case it holds, to change it.
    fn visit_case_mut<V: VisitorMut>(&mut self, visitor: &mut V) -> Result<(), V::Error>;
}

/// Sees values.
pub trait Visitor {
    /// What ends the visit early.
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

    /// A sequence of bytes that lie where only ROS can read them: nothing that could be shown or encoded.
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

/// Sees values and may change them.
pub trait VisitorMut {
    /// What ends the visit early.
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
