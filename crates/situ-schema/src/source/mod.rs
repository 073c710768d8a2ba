//! Source texts, positions in them, and errors that show them.

pub(crate) mod diagnostic;
mod text;

pub use text::{FileId, Source, Sources, Span};
