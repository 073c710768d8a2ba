//! Rust code for a schema.

use super::{GeneratedFile, Options};
use crate::Schema;

/// Generates Rust code.
pub(super) fn generate(_schema: &Schema, _options: &Options) -> Vec<GeneratedFile> {
    Vec::new()
}
