//! The names: OMG IDL and ROS interface files become one model, its hashes, and code.
//!
//! A [`Loader`] reads interface files and makes a [`Schema`] of them. A schema gives code ([`codegen`], or
//! [`BuildScript`] in a build), the text and hashes that topics carry, and the first difference of two types.
//! With it, messages can be read and written without compiled types ([`dynamic`]).
//!
//! ```text
//! .idl .msg .srv .action .situ ──▶ frontend ──▶ schema ──┬──▶ codegen      Rust, C++, crates for rclrs
//!                                                │       ├──▶ identity     canonical text, hashes, difference
//!                                                ▼       └──▶ dynamic      values read, printed, written
//!                                         model, layout
//!
//! .proto ──▶ proto    its own model; readers and writers in Rust and C++
//! ```
//!
//! | Room | Content |
//! |---|---|
//! | `source` | Source texts, positions in them, and errors that show them. |
//! | `frontend` | Finds, parses and resolves interface files. |
//! | `model` | The definitions that every front end makes and every generator reads. |
//! | `layout` | Where members lie in flat messages and in regions. |
//! | `schema` | All definitions with their graph, and questions about them. |
//! | `identity` | Canonical text, hashes, and the first difference of two types. |
//! | `codegen` | Code generators, and the helper for build scripts. |
//! | `proto` | `.proto` files, which have a model and generators of their own. |
//! | `dynamic` | Messages without compiled types. |

pub mod codegen;
#[cfg(feature = "dynamic")]
pub mod dynamic;
mod frontend;
mod identity;
mod layout;
pub mod model;
#[cfg(feature = "proto")]
pub mod proto;
mod schema;
mod source;

pub use codegen::build_script::{BuildError, BuildScript};
pub use frontend::loader::{Format, Loader};
pub use identity::diff::{Difference, diff};
pub use layout::flat::{
    BULK_ALIGN, BulkField, ContainerLayout, Extent, FlatLayout, FlatMember, FlatObstacle, FlatReason,
    MAX_BULK_FIELDS, MAX_FLAT_SIZE, optional as optional_layout,
};
pub use layout::region::{
    MAX_REGION_SIZE, RegionLayout, RegionMember, RegionObstacle, RegionReason, RegionType,
};
pub use model::graph::MAX_NESTING;
pub use schema::Schema;
pub use source::diagnostic::{Diagnostic, SchemaError};
pub use source::{FileId, Source, Sources, Span};

/// The example of the README is compiled as a test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
pub struct Readme;
