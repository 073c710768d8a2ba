//! The header of an image, and the places of its root and its table of versions.

use crate::image::lines::Facts;
use crate::image::versions::TABLE_AT;
use crate::memory::granule::{MAX_SIZE, ROOT, in_granules};
use crate::value::stored::Stored;

pub(crate) const MAGIC: u32 = 0x4e47_5253;
pub(crate) const VERSION: u8 = 2;

/// The schema hash in images of a type. It is 0 for an appendable type, because its schema changes.
pub(crate) fn schema_hash<T: Stored>(facts: &Facts) -> u64 {
    if facts.table.is_empty() { T::SCHEMA_HASH } else { 0 }
}

/// The offset of the first block of a canonical image.
pub(crate) const fn table_place<T: Stored>() -> u32 {
    behind_root(T::SIZE)
}

/// As [`table_place`], for a root of `size` bytes.
pub(crate) const fn behind_root(size: u32) -> u32 {
    ROOT + in_granules(size as u64) as u32
}

/// The size of a region that holds a default value.
pub(crate) fn first_size<T: Stored>() -> u32 {
    let blocks = in_granules(u64::from(T::SIZE)) + in_granules(T::facts().table.len() as u64);
    let size = u64::from(ROOT) + blocks;
    assert!(
        size <= u64::from(MAX_SIZE),
        "a region may have {MAX_SIZE} bytes, and this one begins with {size}"
    );
    size as u32
}

/// Writes the header of an image of `size` bytes; the rest is zero.
pub(crate) fn write_header<T: Stored>(image: &mut [u8], form: u8, size: u32) {
    let facts = T::facts();
    let table = if facts.table.is_empty() { 0 } else { table_place::<T>() };
    put_header(image, form, size, [schema_hash::<T>(facts), facts.layout], table);
}

/// As [`write_header`], with the schema hash, the layout hash, and the place of the table of versions, which
/// is 0 if there is none.
pub(crate) fn put_header(image: &mut [u8], form: u8, size: u32, [schema, layout]: [u64; 2], table: u32) {
    let header = &mut image[..ROOT as usize];
    header.fill(0);
    header[..4].copy_from_slice(&MAGIC.to_le_bytes());
    header[4] = VERSION;
    header[6] = form;
    header[8..16].copy_from_slice(&schema.to_le_bytes());
    header[16..24].copy_from_slice(&layout.to_le_bytes());
    header[24..28].copy_from_slice(&size.to_le_bytes());
    header[28..32].copy_from_slice(&ROOT.to_le_bytes());
    header[TABLE_AT as usize..].copy_from_slice(&table.to_le_bytes());
}
