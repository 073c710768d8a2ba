//! Writes images of described types: canonical ones, and an image in another form.

use std::convert::Infallible;

use crate::dynamic::element::Dynamic;
use crate::dynamic::packed::write_packed;
use crate::dynamic::types::Types;
use crate::image::canonical::image_of;
use crate::image::header::{behind_root, put_header};
use crate::image::versions::{TABLE_AT, table_size};
use crate::image::writer::Writer;
use crate::memory::granule::{ROOT, in_granules, u32_at};
use crate::value::element::Element;

/// The form of an image that is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// Without gaps and room to grow; it can be edited further.
    Canonical,
    /// The smallest one, to be stored, sent and read.
    Packed,
}

impl Types {
    /// Whether an image is written by the same layouts, with the same versions of structs that can be
    /// appended to.
    pub fn is_own(&self, image: &[u8]) -> bool {
        if image.len() < ROOT as usize || image[16..24] != self.layout_hash.to_le_bytes() {
            return false;
        }
        if self.table.is_empty() {
            return true;
        }
        let at = u32_at(image, TABLE_AT);
        let table = table_size(image, at).map(|size| &image[at as usize..][..size as usize]);
        table == Some(&*self.table)
    }

    /// Writes a live or canonical image in one of the forms.
    ///
    /// # Panics
    ///
    /// It may panic if the image is not one that [`is_own`](Self::is_own), and that a check by its schema has
    /// accepted. An image of a [`DynamicRegion`](super::DynamicRegion) is always good.
    pub fn rewrite(&self, image: &[u8], form: Form) -> Vec<u8> {
        let write = |to: &mut [u8]| match form {
            Form::Canonical => write_canonical(self, image, to),
            Form::Packed => write_packed(self, image, to),
        };
        let Ok(written) = image_of(image.len(), write, |len| Ok::<_, Infallible>(vec![0; len]));
        written
    }
}

/// The size of a region that holds a default value.
pub(crate) fn first_size(types: &Types) -> u32 {
    // A struct has less than 2 GiB, and a table of versions is as long as the schema.
    behind_root(types.get(types.root).size) + in_granules(types.table.len() as u64) as u32
}

pub(crate) fn write_header(types: &Types, image: &mut [u8], form: u8, size: u32) {
    let table = if types.table.is_empty() { 0 } else { behind_root(types.get(types.root).size) };
    put_header(image, form, size, [types.schema_hash, types.layout_hash], table);
}

/// Writes the canonical image. Returns its size; if the buffer is smaller, the size is the error.
fn write_canonical(types: &Types, from: &[u8], to: &mut [u8]) -> Result<usize, usize> {
    let found = to.len();
    let mut writer = Writer::new(from, to, first_size(types));
    writer.types = Some(types);
    writer.put_bytes(behind_root(types.get(types.root).size), &types.table);
    Dynamic::new(types, types.root).write(&mut writer, ROOT, ROOT);
    writer.rest();
    let size = writer.end();
    if size as usize > found {
        return Err(size as usize);
    }
    write_header(types, to, 0, size);
    Ok(size as usize)
}
