//! The header of an image of a region, and errors of images.

use situ_layout::InvalidProblem;

use super::super::error::Path;
use super::super::packed_read;
use super::super::region_read::{ROOT, VERSION};

/// What the header of an image says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RegionHeader {
    /// Whether the image is canonical.
    pub is_canonical: bool,
    /// Whether the image is packed.
    pub is_packed: bool,
    /// The hash of the schema; 0 for types that can be appended to.
    pub schema_hash: u64,
    /// The hash of the layout.
    pub layout_hash: u64,
    /// The size of the image in bytes.
    pub size: u32,
}

impl RegionHeader {
    /// Reads the header of an image.
    pub fn of(image: &[u8]) -> Result<Self, ImageError> {
        let there = image.len() as u64;
        let error = |offset, problem| ImageError { path: Path::default(), offset, problem };
        let is_packed = packed_read::is_packed(image);
        let least = if is_packed { packed_read::FIRST } else { ROOT };
        if there < least {
            return Err(error(0, InvalidProblem::TooSmall { found: there, least }));
        }
        let number = |at: usize| u64::from_le_bytes(image[at..at + 8].try_into().unwrap_or_default());
        if image[..4] != *b"SRGN" {
            return Err(error(0, InvalidProblem::NotARegion));
        }
        let (version, form) = (u16::from_le_bytes([image[4], image[5]]), image[6]);
        if version != VERSION {
            return Err(error(4, InvalidProblem::OtherFormat { found: version, here: VERSION }));
        }
        if form > packed_read::FORM {
            return Err(error(6, InvalidProblem::UnknownForm { form }));
        }
        if image[7] != 0 {
            return Err(error(7, InvalidProblem::NotZero { at: 7 }));
        }
        let (size, root) = (number(24) as u32, (number(24) >> 32) as u32);
        if u64::from(size) != there {
            return Err(error(24, InvalidProblem::WrongSize { found: size, there }));
        }
        if u64::from(root) != ROOT && !is_packed {
            return Err(error(28, InvalidProblem::Outside { to: root.into(), size }));
        }
        Ok(Self { is_canonical: form == 0, is_packed, schema_hash: number(8), layout_hash: number(16), size })
    }
}

/// An image is not one of the type.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}: {problem} (at offset {offset})", path.text())]
pub struct ImageError {
    pub(in crate::dynamic) path: Path,
    /// The offset in the image, in bytes.
    pub offset: u64,
    /// What is wrong.
    pub problem: InvalidProblem,
}

situ_layout::debug_as_text!(ImageError);
