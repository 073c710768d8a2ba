//! The one model that every front end produces and every generator reads.
//!
//! Everything here is plain data. Questions that need the whole graph of types (Is this recursive? Where does
//! a member lie in memory?) are answered by [`crate::Schema`].
//!
//! ```text
//!   types       types of members, elements, constants and aliases
//!   definition  definitions and what they consist of
//!   name        names of definitions, and the numbers that stand for them
//!   graph       the references and the order of definitions, and which contain themselves
//! ```

mod definition;
pub(crate) mod graph;
mod name;
mod types;

pub use definition::{
    Action, Annotation, Bitmask, Case, Constant, DUMMY_MEMBER, Definition, Enum, Enumerator, Extensibility,
    Flag, Interface, Kind, Link, Literal, Lookup, Member, Raises, Service, Struct, Union,
};
pub(crate) use name::snake_case;
pub use name::{Name, TypeId};
pub use types::{MAX_ARRAY_LENGTH, MAX_DIMENSIONS, Primitive, Type};
