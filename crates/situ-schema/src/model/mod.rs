//! The one model that every front end produces and every generator reads.
//!
//! Everything here is plain data. Questions that need the whole graph of types (Is this recursive? Where does
//! a member lie in memory?) are answered by [`crate::Schema`].

mod definition;
pub(crate) mod graph;
mod name;
mod types;

pub use definition::{
    Action, Annotation, Bitmask, Case, Constant, Definition, Enum, Enumerator, Extensibility, Flag, Kind,
    Link, Literal, Lookup, Member, Service, Struct, Union,
};
pub use name::{Name, TypeId};
pub use types::{MAX_ARRAY_LENGTH, MAX_DIMENSIONS, Primitive, Type};
