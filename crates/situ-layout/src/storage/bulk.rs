//! How a storage holds bulk members, the big arrays of a message, and why one cannot be read.

use std::mem::MaybeUninit;

use thiserror::Error;

use crate::support::shared_bytes::{NoMemory, SharedBytes};
use crate::value::container::SequenceField;
use crate::value::error::{BoundError, OpaqueBuffer, ValidateProblem};
use crate::value::traits::{BulkElement, Validation};

/// Why a bulk member cannot be read as a slice.
#[derive(Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum BulkError {
    /// The member does not lie within the body.
    #[error(
        "bulk data at {offset}, {len} elements of {size} bytes, lies outside the body of {body} bytes; was the \
             body taken from another message?"
    )]
    OutsideBody {
        /// Where the data begins, in bytes from the start of the body.
        offset: u64,
        /// The number of elements.
        len: u64,
        /// The size of one element.
        size: usize,
        /// The size of the body.
        body: usize,
    },
    /// An element is not a valid value.
    #[error("bulk element {index} is not valid: {problem}")]
    Invalid {
        /// The index of the element.
        index: usize,
        /// What is wrong with it.
        problem: ValidateProblem,
    },
    /// The data is not aligned for its elements.
    #[error("bulk data at {offset} is not aligned to {align}; a body must begin at a multiple of 64 bytes")]
    Misaligned {
        /// Where the data begins, in bytes from the start of the body.
        offset: u64,
        /// The alignment the elements need.
        align: usize,
    },
    /// The elements are in memory that this program cannot read.
    #[error(transparent)]
    OpaqueBuffer(#[from] OpaqueBuffer),
    /// There is no memory for a copy of the elements.
    #[error(transparent)]
    NoMemory(#[from] NoMemory),
}

crate::debug_as_text!(BulkError);

/// How a bulk member is stored: a vector ([`Heap`](crate::Heap)) or a descriptor ([`Flat`](crate::Flat)).
pub trait BulkField<T: BulkElement>: Sized {
    /// The greatest number of elements.
    const BOUND: usize;
    /// Whether the elements lie in the message's body.
    const IN_BODY: bool;

    /// The number of elements.
    fn element_count(&self) -> usize;

    /// Makes the member hold `len` elements at `offset` in the body. A vector grows with default elements.
    fn place(&mut self, offset: u64, len: usize);

    /// The elements, given the message's body (which vectors ignore).
    fn elements<'a>(&'a self, body: &'a [u8]) -> Result<&'a [T], BulkError>;

    /// The bytes of the elements in the message's body, which another process may change at any time. `None`
    /// if the elements lie in the member itself.
    fn in_body<'a>(&self, body: SharedBytes<'a>) -> Result<Option<SharedBytes<'a>>, BulkError> {
        let _ = body;
        Ok(None)
    }

    /// The elements as a mutable slice, given the message's body (which vectors ignore).
    fn elements_mut<'a>(&'a mut self, body: &'a mut [u8]) -> Result<&'a mut [T], BulkError>;

    /// Makes the member hold copies of these elements, at most its bound, at `offset` in the body. Vectors
    /// copy them into fresh memory without writing defaults first.
    fn fill(&mut self, offset: u64, elements: &[T], body: &mut [u8]) -> Result<(), BulkError> {
        self.place(offset, elements.len());
        self.elements_mut(body)?.copy_from_slice(elements);
        Ok(())
    }

    /// As [`fill`](Self::fill), from the bytes of `count` elements that another process may change at any
    /// time. The check reads the copy.
    fn fill_with_copies(
        &mut self,
        offset: u64,
        count: usize,
        bytes: SharedBytes<'_>,
        body: &mut [u8],
    ) -> Result<(), BulkError> {
        let mut elements = Vec::new();
        append_copies(&mut elements, count, bytes)?;
        self.fill(offset, &elements, body)
    }
}

/// Appends copies of `count` elements. Dense elements are always valid; others are validated in the copy.
pub(crate) fn append_copies<T: BulkElement>(
    list: &mut impl SequenceField<T>,
    count: usize,
    bytes: SharedBytes<'_>,
) -> Result<(), BulkError> {
    if count.checked_mul(size_of::<T>()) != Some(bytes.len()) {
        let size = size_of::<T>();
        return Err(BulkError::OutsideBody { offset: 0, len: count as u64, size, body: bytes.len() });
    }
    list.try_reserve(count)?;
    let fill = |places: &mut [MaybeUninit<T>]| {
        bytes.copy_to_uninit(places);
        if !T::DENSE {
            for (index, place) in places.iter().enumerate() {
                // SAFETY: the place is aligned, and its bytes were written.
                unsafe { T::validate_at(place.as_ptr(), &Validation { body_len: 0 }) }
                    .map_err(|error| CopyError::Bulk(BulkError::Invalid { index, problem: error.problem }))?;
            }
        }
        Ok(())
    };
    // SAFETY: the source has the bytes of all elements, so all are written, and they are valid.
    unsafe { list.try_extend_with(count, fill) }.map_err(|error: CopyError| match error {
        CopyError::Bulk(error) => error,
        CopyError::Bound(error) => {
            let (len, size) = (error.size as u64, size_of::<T>());
            BulkError::OutsideBody { offset: 0, len, size, body: bytes.len() }
        }
    })
}

enum CopyError {
    Bulk(BulkError),
    Bound(BoundError),
}

impl From<BoundError> for CopyError {
    fn from(error: BoundError) -> Self {
        Self::Bound(error)
    }
}
