//! How values are converted between storages in Rust.

use super::Generator;
use super::call::{Argument, Call};
use super::types::{self, Dependence};
use crate::model::{Member, Type};

/// How a value is converted between storages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Conversion {
    /// It does not depend on the storage.
    Copy,
    /// It is of a generated type that does.
    Nested,
    Text,
    Wide,
    Bulk,
    List(Box<Self>),
    Array(Box<Self>),
    Maybe(Box<Self>),
    Map(Box<Self>, Box<Self>),
}

/// A conversion in one direction, by functions of `situ-layout`.
pub struct Direction {
    /// The module with the functions for everything but nested values.
    module: &'static str,
    /// The function for nested values.
    nested: &'static str,
    /// The parameters of each function, before those for what a container holds.
    parameters: &'static str,
    /// Why the functions may be called in a closure, if they are unsafe.
    reason: Option<&'static str>,
}

/// Assigns a value in another storage.
pub const ASSIGN: Direction = Direction {
    module: "assign",
    nested: "AssignFrom::assign_parts",
    parameters: "target, source, bodies",
    reason: None,
};

/// Takes over a value in another storage.
pub const TAKE: Direction =
    Direction { module: "take", nested: "TakeFrom::take_from", parameters: "target, source", reason: None };

/// Lends a value to C.
pub const LEND: Direction = Direction {
    module: "ros::lend",
    nested: "ros::Lend::lend_at",
    parameters: "source, dst, block",
    reason: Some("it is called with the place of an element"),
};

impl Generator<'_> {
    /// How a value is converted.
    pub fn conversion(&self, ty: &Type) -> Conversion {
        if types::storage(self.schema, ty) == Dependence::None {
            return Conversion::Copy;
        }
        match self.schema.resolve(ty) {
            Type::Primitive(_) => Conversion::Copy,
            Type::String { .. } => Conversion::Text,
            Type::WString { .. } => Conversion::Wide,
            Type::Sequence { element, .. } => Conversion::List(self.conversion(element).into()),
            Type::Array { element, dimensions } => {
                let element = self.conversion(element);
                dimensions.iter().fold(element, |element, _| Conversion::Array(element.into()))
            }
            Type::Map { key, value, .. } => {
                Conversion::Map(self.conversion(key).into(), self.conversion(value).into())
            }
            Type::Named(_) => Conversion::Nested,
        }
    }

    /// How a member is converted.
    pub fn member_conversion(&self, member: &Member) -> Conversion {
        if member.bulk {
            Conversion::Bulk
        } else if member.optional {
            Conversion::Maybe(self.conversion(&member.ty).into())
        } else {
            self.conversion(&member.ty)
        }
    }

    /// The call that converts these values.
    pub fn convert(&self, how: &Conversion, direction: &Direction, arguments: &[&str]) -> Call {
        // Optional members and maps are not taken over; what they hold is assigned.
        let inner = if direction.module == "take" { &ASSIGN } else { direction };
        let (function, held) = match how {
            Conversion::Copy => ("copy", vec![]),
            Conversion::Nested => return Call::new(self.layout(direction.nested), arguments),
            Conversion::Text => ("text", vec![]),
            Conversion::Wide => ("wide", vec![]),
            Conversion::Bulk => ("bulk", vec![]),
            Conversion::List(element) if **element == Conversion::Copy => ("list_of_copies", vec![]),
            Conversion::List(element) => ("list", vec![self.converter(element, direction)]),
            Conversion::Array(element) => ("array", vec![self.converter(element, direction)]),
            Conversion::Maybe(value) => ("maybe", vec![self.converter(value, inner)]),
            Conversion::Map(key, value) => {
                ("map", vec![self.converter(key, inner), self.converter(value, inner)])
            }
        };
        let mut call = Call::new(self.layout(&format!("{}::{function}", direction.module)), arguments);
        call.arguments.extend(held);
        call
    }

    /// A function that converts what a container holds.
    pub fn converter(&self, how: &Conversion, direction: &Direction) -> Argument {
        let call = self.convert(how, direction, &[]);
        if call.arguments.is_empty() {
            return Argument::Plain(call.function);
        }
        let parameters: Vec<&str> = direction.parameters.split(", ").collect();
        let call = self.convert(how, direction, &parameters);
        Argument::Closure(direction.parameters, direction.reason, call.into())
    }
}
