//! The flat form (`spec/flat.md`): sizes, alignments and offsets of types that have a fixed size, bulk fields
//! aside.
//!
//! ```text
//!   layout   works out the layout of a type
//!   table    the layouts of all types of a schema
//!   queries  what generators ask: is a type flat, has it bulk fields, and why not
//! ```

mod layout;
mod queries;
mod table;

pub use layout::{
    BULK_ALIGN, BulkField, ContainerLayout, Extent, FlatLayout, FlatMember, FlatObstacle, FlatReason,
    MAX_BULK_FIELDS, MAX_FLAT_SIZE, optional,
};
pub(crate) use table::FlatTable;
