//! Writes an image of a region anew by the schema of its type: canonical or packed.

use situ_layout::InvalidProblem;
use situ_region::dynamic::Form;

use super::error::{Path, ReadError, WriteError};
use super::from_region;
use super::packed_read;
use super::region_check::{ImageError, RegionHeader, check_region};
use super::region_types::{RegionTypes, RegionTypesError};
use super::region_write::{to_packed, to_region};
use crate::model::TypeId;
use crate::schema::Schema;

/// Why an image cannot be written in another form.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RewriteError {
    /// The type has no regions.
    #[error(transparent)]
    Types(#[from] RegionTypesError),
    /// The image is not a good one of the type.
    #[error(transparent)]
    Image(#[from] ImageError),
    /// The image cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// The value cannot be written.
    #[error(transparent)]
    Write(#[from] WriteError),
    /// The image is packed, or has another version, and links in it share values.
    #[error(
        "links of the image share values; without a program that has the compiled type, \
         only an image that is not packed, of this version, is converted with these"
    )]
    Shared,
}

situ_layout::debug_as_text!(RewriteError);

/// Writes an image of any form, of which `image` has exactly the bytes, in one of the forms. Links that share
/// a value do so in the new image too. The image is checked first.
///
/// An image with the versions of the schema that is not packed is copied, with chains of links of any length.
/// Others are read as a [`Value`](super::Value), which does not show shared links: if there are any, the
/// error is [`RewriteError::Shared`].
pub fn rewrite_region(
    schema: &Schema,
    id: TypeId,
    image: &[u8],
    form: Form,
) -> Result<Vec<u8>, RewriteError> {
    let types = RegionTypes::of(schema, id)?;
    let types = types.types();
    let header = RegionHeader::of(image)?;
    if header.layout_hash != types.layout_hash() {
        let (found, wanted) = (header.layout_hash, types.layout_hash());
        let problem =
            InvalidProblem::OtherType { name: schema.name(id).to_string(), which: "layout", found, wanted };
        return Err(ImageError { path: Path::default(), offset: 16, problem }.into());
    }
    let (value, shares_values) = if !header.is_packed {
        let counted = check_region(schema, id, image)?;
        if types.is_own(image) {
            return Ok(types.rewrite(image, form));
        }
        (from_region(schema, id, image)?, counted.shares_values)
    } else {
        packed_read::read(schema, id, image)?
    };
    if shares_values {
        return Err(RewriteError::Shared);
    }
    Ok(match form {
        Form::Canonical => to_region(schema, id, &value)?,
        Form::Packed => to_packed(schema, id, &value)?,
    })
}
