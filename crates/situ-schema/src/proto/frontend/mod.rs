//! Reads `.proto` files into descriptors, and checks them by rules of protoc.
//!
//! ```text
//!   load        reads files and their imports, and reports mistakes at their places
//!   edition     rewrites files of editions as proto2, which the parser understands
//!   descriptor  descriptors, with the fields that the generators need
//!   position    lines and columns, and bytes of a text
//!   rules       rules of protoc that the parser does not check, or checks differently
//! ```

pub mod descriptor;
mod edition;
pub mod load;
mod position;
pub mod rules;
