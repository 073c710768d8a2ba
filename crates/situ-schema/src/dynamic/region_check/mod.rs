//! Checks an image of a region by the schema of its type, and counts where its bytes go.
//!
//! The walk claims each block once, as compiled readers do: a canonical image with a cursor, a live one with
//! a bitmap of its granules. Every byte of an image that passes therefore belongs to the header, to the root,
//! to the table of versions, to one block, or to nothing.
//!
//! Compiled readers also check the layout hash, the indices of hash tables, the shape of trees in
//! canonical images, and cycles of shared links that are longer than 64 links.

mod counts;
mod header;
mod walk;

pub use counts::{MemberBytes, RegionBytes};
pub use header::{ImageError, RegionHeader};

use std::sync::Arc;

use situ_layout::InvalidProblem;

use super::error::Path;
use super::flat_read::array_at;
use super::region_read::{ROOT, Reader, check, sized};
use crate::model::TypeId;
use crate::schema::Schema;
use walk::Walk;

/// The size of a granule, in bytes.
const GRANULE: u64 = 16;
/// Where the part of the header begins that a region needs while it is changed.
const WORKING: usize = 32;
/// Where the header says where the table of versions begins.
const TABLE_AT: u64 = 60;

fn round_up(bytes: u64) -> u64 {
    bytes.next_multiple_of(GRANULE)
}

/// Checks an image that is not packed, of which `image` has exactly the bytes, and counts its bytes.
pub fn check_region(schema: &Schema, id: TypeId, image: &[u8]) -> Result<RegionBytes, ImageError> {
    let header = RegionHeader::of(image)?;
    let error = |offset, problem| ImageError { path: Path::default(), offset, problem };
    if header.is_packed {
        return Err(error(6, InvalidProblem::UnknownForm { form: image[6] }));
    }
    let bad_versions = |at: u64| error(at, InvalidProblem::BadVersions { at: at as u32 });
    let has_versions = has_versions(schema, id);
    let wanted = if has_versions { 0 } else { schema.schema_hash(id) };
    if header.schema_hash != wanted {
        let (name, found) = (schema.name(id).to_string(), header.schema_hash);
        return Err(error(8, InvalidProblem::OtherType { name, which: "schema", found, wanted }));
    }
    if header.is_canonical {
        let unused = WORKING..if has_versions { TABLE_AT } else { ROOT } as usize;
        let set = unused.filter(|at| image.get(*at).is_some_and(|byte| *byte != 0)).min();
        if let Some(at) = set {
            return Err(error(at as u64, InvalidProblem::NotZero { at: at as u32 }));
        }
    }
    let table = array_at(image, TABLE_AT).map_or(0, u32::from_le_bytes);
    check(schema, id, image).map_err(|_| error(0, InvalidProblem::NotARegion))?;
    let mut reader = Reader::new(schema, sized(image).unwrap_or(image), Arc::default());
    reader.versions(id).map_err(|_| bad_versions(u64::from(table)))?;
    let mut walk = Walk::new(reader, id, header);
    walk.read_sizes(id).map_err(|()| bad_versions(u64::from(table)))?;
    walk.run(id)
}

/// Whether images of a type have a table of versions.
fn has_versions(schema: &Schema, id: TypeId) -> bool {
    schema.closure_without_aliases(id).into_iter().any(|id| schema.is_appended_in_regions(id))
}
