//! Bulk members in flat storage: a descriptor in the head of a message, and its elements in the body.

use crate::storage::bulk::{BulkError, BulkField};
use crate::support::shared_bytes::SharedBytes;
use crate::value::bulk_ref::BulkRef;
use crate::value::error::{ValidateError, ValidateProblem};
use crate::value::in_place::{Composite, InPlace, SelfContained};
use crate::value::traits::{BulkElement, Validation, Value, Visitor, VisitorMut};

impl<T: BulkElement, const N: usize> BulkRef<T, N> {
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

impl<T: BulkElement, const N: usize> BulkField<T> for BulkRef<T, N> {
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
unsafe impl<T: BulkElement, const N: usize> InPlace for BulkRef<T, N> {
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

impl<T: BulkElement, const N: usize> Value for BulkRef<T, N> {
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
unsafe impl<T: BulkElement, const N: usize> SelfContained for BulkRef<T, N> {}
