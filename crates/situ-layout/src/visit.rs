//! One pass over the members of any message: visitors, and the properties of types and members.

pub use crate::shape::{Element, Extensibility, MemberInfo, Shape, TypeInfo};
pub use crate::value::{
    Bitmask, Discriminator, Enumeration, MemberVisitor, Number, Structure, Union, Visitor, VisitorMut,
};
