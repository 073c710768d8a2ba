//! C++20 code for a schema.

use super::{GeneratedFile, Options};
use crate::Schema;

/// Generates C++20 code.
pub(super) fn generate(_schema: &Schema, _options: &Options) -> Vec<GeneratedFile> {
    Vec::new()
}
