//! `.proto` files: writers and readers for their messages, in Rust and C++, without protoc or as its plugin.
//!
//! ```no_run
//! use situ_schema::proto::ProtoBuild;
//!
//! // In build.rs, with `situ-schema` (feature `proto`) among the build dependencies.
//! ProtoBuild::new().include("proto").file("proto/tour.proto").run();
//! ```

mod build;
mod codegen;
mod cpp;
mod error;
mod frontend;
mod methods;
mod model;
mod plugin;
mod rust;
mod text;

pub use build::ProtoBuild;
pub use error::ProtoError;
pub use plugin::answer_protoc;
pub use text::{TextError, TextFormat};
