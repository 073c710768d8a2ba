//! Bulk members: big arrays in the body of a message, and their descriptors in its head.

use std::mem::MaybeUninit;

use thiserror::Error;

use crate::api::List;
use crate::bulk_ref::BulkRef;
use crate::error::{BoundError, OpaqueBuffer, ValidateError, ValidateProblem};
use crate::in_place::{Composite, InPlace, SelfContained};
use crate::shared::{NoMemory, SharedBytes};
use crate::value::{Plain, Validation, Value, Visitor, VisitorMut};

/// Why a bulk member cannot be read as a slice.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
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

/// How a bulk member is stored: a vector ([`Heap`](crate::Heap)) or a descriptor ([`Flat`](crate::Flat)).
pub trait BulkField<T: Plain>: Sized {
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
pub(crate) fn append_copies<T: Plain>(
    list: &mut impl List<T>,
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

impl<T: Plain, const N: usize> BulkRef<T, N> {
    /// The elements' range in a body of `body` bytes.
    fn range(&self, body: usize) -> Result<std::ops::Range<usize>, BulkError> {
        let outside =
            || BulkError::OutsideBody { offset: self.offset, len: self.len, size: size_of::<T>(), body };
        let start = usize::try_from(self.offset).map_err(|_| outside())?;
        let bytes = self.len().checked_mul(size_of::<T>()).ok_or_else(outside)?;
        let end = start.checked_add(bytes).ok_or_else(outside)?;
        if end > body { Err(outside()) } else { Ok(start..end) }
    }

    /// Fails unless the first element is aligned.
    fn check_aligned(&self, start: *const T) -> Result<(), BulkError> {
        if start.is_aligned() {
            Ok(())
        } else {
            Err(BulkError::Misaligned { offset: self.offset, align: align_of::<T>() })
        }
    }

    /// The elements in the message's body. Fails if the body belongs to another message, or if an element is
    /// not valid. Only types that have invalid bit patterns, such as booleans, need the second check.
    pub fn slice<'b>(&self, body: &'b [u8]) -> Result<&'b [T], BulkError> {
        if self.is_empty() {
            return Ok(&[]);
        }
        let bytes = &body[self.range(body.len())?];
        let start = bytes.as_ptr().cast::<T>();
        self.check_aligned(start)?;
        if !T::DENSE {
            for index in 0..self.len() {
                // SAFETY: the range covers len elements, aligned, and the bytes of the body are initialized.
                unsafe { T::validate_at(start.add(index), &Validation { body_len: body.len() }) }
                    .map_err(|error| BulkError::Invalid { index, problem: error.problem })?;
            }
        }
        // SAFETY: the range lies within the body and covers len elements, the start is aligned, and the bytes
        // are initialized. The elements are valid: dense ones always, others were validated. The lifetime is
        // the body's.
        Ok(unsafe { std::slice::from_raw_parts(start, self.len()) })
    }

    /// The elements in the message's body as a mutable slice. Elements that are not valid, as in fresh
    /// memory, become the default.
    pub fn slice_mut<'b>(&self, body: &'b mut [u8]) -> Result<&'b mut [T], BulkError> {
        if self.is_empty() {
            return Ok(&mut []);
        }
        let body_len = body.len();
        let bytes = &mut body[self.range(body_len)?];
        let start = bytes.as_mut_ptr().cast::<T>();
        self.check_aligned(start)?;
        if !T::DENSE {
            for index in 0..self.len() {
                // SAFETY: the range covers len elements, aligned, and the bytes of the body are initialized
                // and exclusively borrowed.
                unsafe {
                    if T::validate_at(start.add(index), &Validation { body_len }).is_err() {
                        T::default_at(start.add(index));
                    }
                }
            }
        }
        // SAFETY: as in `slice`; the exclusive borrow of the body makes the elements exclusive.
        Ok(unsafe { std::slice::from_raw_parts_mut(start, self.len()) })
    }
}

impl<T: Plain, const N: usize> BulkField<T> for BulkRef<T, N> {
    const BOUND: usize = N;
    const IN_BODY: bool = true;

    fn element_count(&self) -> usize {
        self.len()
    }

    fn place(&mut self, offset: u64, len: usize) {
        *self = Self::new(offset, len as u64);
    }

    fn elements<'a>(&'a self, body: &'a [u8]) -> Result<&'a [T], BulkError> {
        self.slice(body)
    }

    fn in_body<'a>(&self, body: SharedBytes<'a>) -> Result<Option<SharedBytes<'a>>, BulkError> {
        if self.is_empty() {
            return Ok(Some(SharedBytes::EMPTY));
        }
        let range = self.range(body.len())?;
        Ok(body.get(range.start, range.len()))
    }

    fn elements_mut<'a>(&'a mut self, body: &'a mut [u8]) -> Result<&'a mut [T], BulkError> {
        self.slice_mut(body)
    }
}

// SAFETY: both functions write a whole descriptor.
unsafe impl<T: Plain, const N: usize> InPlace for BulkRef<T, N> {
    type Class = Composite;

    unsafe fn default_at(dst: *mut Self) {
        // SAFETY: the caller promises that dst is valid for writes and aligned.
        unsafe { dst.write(Self::default()) }
    }

    unsafe fn clone_at(&self, dst: *mut Self) {
        // SAFETY: as above.
        unsafe { dst.write(*self) }
    }
}

impl<T: Plain, const N: usize> Value for BulkRef<T, N> {
    unsafe fn validate_at(src: *const Self, validation: &Validation) -> Result<(), ValidateError> {
        // SAFETY: the caller promises initialized, aligned bytes; any two u64 form a descriptor.
        let Self { offset, len, .. } = unsafe { src.read() };
        if len > N as u64 {
            return Err(ValidateProblem::TooLong { length: len, bound: N as u64 }.into());
        }
        let body = validation.body_len as u64;
        let bytes = len.saturating_mul(size_of::<T>() as u64);
        if offset.checked_add(bytes).is_none_or(|end| end > body) {
            return Err(ValidateProblem::OutsideBody { offset, bytes, body }.into());
        }
        let align = align_of::<T>();
        if !offset.is_multiple_of(align as u64) {
            return Err(ValidateProblem::Misaligned { offset, align }.into());
        }
        Ok(())
    }

    fn visit<V: Visitor>(&self, visitor: &mut V) -> Result<(), V::Error> {
        visitor.bulk(self)
    }

    fn visit_mut<V: VisitorMut>(&mut self, visitor: &mut V) -> Result<(), V::Error> {
        visitor.bulk(self)
    }
}

// SAFETY: a descriptor is two numbers relative to the body.
unsafe impl<T: Plain, const N: usize> SelfContained for BulkRef<T, N> {}
