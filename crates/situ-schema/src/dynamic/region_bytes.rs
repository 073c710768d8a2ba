//! Reads images of regions of all forms.

use std::sync::Arc;

use super::error::ReadError;
use super::packed_read::{self, is_packed};
use super::region_read::{ROOT, Reader, check, sized};
use super::value::Value;
use crate::model::TypeId;
use crate::schema::Schema;

/// Reads a region, or a packed image of one. The layout must be the schema's: the hash in the image is not
/// checked. The image says its size, and how many members its writer knew of each struct that can be appended
/// to. Members that the writer did not know get their defaults. Members that the schema does not know are
/// skipped.
///
/// The bytes should be a snapshot or be held: if another process changes them, the value mixes old and new
/// data.
pub fn from_region(schema: &Schema, id: TypeId, image: &[u8]) -> Result<Value, ReadError> {
    check(schema, id, image)?;
    if is_packed(image) {
        return packed_read::read(schema, id, sized(image)?).map(|(value, _)| value);
    }
    let mut reader = Reader::new(schema, sized(image)?, Arc::default());
    reader.versions(id)?;
    reader.definition(id, ROOT)
}
