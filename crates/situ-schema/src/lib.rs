//! The names: OMG IDL and ROS interface files become one model, its hashes, and code.

mod ast;
mod build_script;
mod canonical;
mod diagnostic;
mod differ;
pub mod dynamic;
mod files;
mod flat_layout;
pub mod generate;
mod graph;
mod idl;
mod loader;
pub mod model;
#[cfg(feature = "proto")]
pub mod proto;
mod region_layout;
mod resolve;
mod ros;
mod schema;
mod side;
mod signature;
mod source;

pub use build_script::{BuildError, BuildScript};
pub use diagnostic::{Diagnostic, SchemaError};
pub use differ::{Difference, differ};

pub use flat_layout::{
    BULK_ALIGN, BulkField, ContainerLayout, Extent, FlatLayout, FlatMember, FlatObstacle, FlatReason,
    MAX_BULK_FIELDS, MAX_FLAT_SIZE, optional as optional_layout,
};
pub use graph::MAX_NESTING;
pub use loader::{Format, Loader};
pub use region_layout::{
    MAX_REGION_SIZE, RegionLayout, RegionMember, RegionObstacle, RegionReason, RegionType,
};
pub use schema::Schema;
pub use source::{FileId, Source, Sources, Span};
