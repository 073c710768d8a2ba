//! The names: OMG IDL and ROS interface files become one model, its hashes, and code.

mod flat_layout;
pub mod generate;
mod graph;
pub mod model;
mod schema;
mod source;

pub use flat_layout::{
    BULK_ALIGN, BulkField, ContainerLayout, Extent, FlatLayout, FlatMember, FlatObstacle, FlatReason,
    MAX_BULK_FIELDS, MAX_FLAT_SIZE, optional as optional_layout,
};
pub use graph::MAX_NESTING;
pub use schema::Schema;
pub use source::{FileId, Source, Sources, Span};
