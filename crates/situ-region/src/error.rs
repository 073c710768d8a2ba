//! The errors of regions: a full region, an unsuitable buffer, a link that cannot be made, and an image that
//! does not fit. C++ has the same texts; `spec/vectors/region/errors.txt` lists them.

use situ_layout::{Invalid, InvalidProblem};
use thiserror::Error;

/// A region may not become larger.
#[derive(Clone, Copy, PartialEq, Eq, Error)]
#[error("the region is full: it may have {limit} bytes; give it a higher limit or a larger buffer")]
pub struct Full {
    /// The region's limit, in bytes.
    pub limit: u32,
}

situ_layout::debug_as_text!(Full);

/// A buffer cannot hold a region.
#[derive(Clone, Copy, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum BufferError {
    /// The buffer does not begin at a multiple of 16.
    #[error("the buffer does not begin at a multiple of 16; give one that does")]
    Misaligned,
    /// The buffer is too small.
    #[error(
        "there is room for {found} bytes, and {least} are needed; give a larger buffer or a higher limit"
    )]
    TooSmall {
        /// The size of the buffer in bytes.
        found: usize,
        /// The bytes needed.
        least: usize,
    },
}

situ_layout::debug_as_text!(BufferError);

/// A shared link cannot lead to the value.
#[derive(Clone, Copy, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ShareError {
    /// The value lies in another region.
    #[error("a link cannot lead to another region; copy the value")]
    OtherRegion,
    /// The value would hold a link to itself.
    #[error(
        "a value would hold a link to itself; lead back by a weak link, and share links to values of their own kind \
         where they lie, not within a value that is stored"
    )]
    Cycle,
    /// The link count of the value is at its maximum.
    #[error("too many links lead to the value")]
    TooMany,
    /// The region is full.
    #[error(transparent)]
    Full(#[from] Full),
}

situ_layout::debug_as_text!(ShareError);

/// A value cannot be moved to another place.
#[derive(Clone, Copy, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum MoveError {
    /// The two places lie in two regions.
    #[error("a value cannot be moved to another region; copy it")]
    OtherRegion,
    /// There is no value to move.
    #[error("there is no value to move")]
    Nothing,
    /// The new place lies in the value.
    #[error("a value cannot be moved into itself: one of the two places lies within the other")]
    Inside,
    /// The region is full.
    #[error(transparent)]
    Full(#[from] Full),
}

situ_layout::debug_as_text!(MoveError);

/// An image cannot be adopted into the memory of a backing.
#[derive(Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum AdoptError {
    /// The bytes are no region of the type.
    #[error(transparent)]
    Invalid(#[from] Invalid),
    /// The memory is not enough.
    #[error(transparent)]
    Buffer(#[from] BufferError),
}

situ_layout::debug_as_text!(AdoptError);

/// An error at an offset.
#[cold]
#[inline(never)]
pub(crate) fn invalid<T>(offset: u32, problem: InvalidProblem) -> Result<T, Invalid> {
    Err(Invalid::new(offset, problem))
}
