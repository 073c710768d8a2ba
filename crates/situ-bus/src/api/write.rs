//! Writes values from private memory into lent memory.

use situ_layout::{FlatMessage, Message, StorageKind};
use situ_wire::EncodeError;

use crate::port::loan::{LoanError, RawLoan};
use crate::port::sample::CopyCounter;
use crate::service::answer::RawReplyLoan;
use crate::service::client::RawRequestLoan;

/// Lent memory for a message.
///
/// # Safety
/// The head and the body are memory that only this reaches. The head begins at a multiple of 64 bytes, and
/// has the size that was lent.
pub(crate) unsafe trait Lent {
    /// The beginning of the head.
    fn head_at(&self) -> *mut u8;
    /// The body.
    fn body_mut(&mut self) -> &mut [u8];
}

// SAFETY: as the documentation of `RawLoan` says.
unsafe impl Lent for RawLoan<'_> {
    #[inline]
    fn head_at(&self) -> *mut u8 {
        self.head()
    }

    #[inline]
    fn body_mut(&mut self) -> &mut [u8] {
        self.body_bytes()
    }
}

// SAFETY: it has a `RawLoan` of its own.
unsafe impl Lent for RawRequestLoan<'_> {
    #[inline]
    fn head_at(&self) -> *mut u8 {
        self.head()
    }

    #[inline]
    fn body_mut(&mut self) -> &mut [u8] {
        self.body_bytes()
    }
}

// SAFETY: it has a `RawLoan` of its own.
unsafe impl Lent for RawReplyLoan<'_> {
    #[inline]
    fn head_at(&self) -> *mut u8 {
        self.head()
    }

    #[inline]
    fn body_mut(&mut self) -> &mut [u8] {
        self.body_bytes()
    }
}

/// Why a value could not be written.
pub(crate) enum WriteFailure<E> {
    /// No memory could be lent.
    Lend(E),
    /// It cannot be serialized.
    Encode(EncodeError),
    /// It refers to bulk data, but has no body.
    BulkWithoutBody,
}

/// Lends memory and writes a value into it. A flat value is copied, another one is serialized. `lend` lends
/// for the size and alignment of a head and the size of a body. Both ways count as a copy.
pub(crate) fn write_value<T: Message, L: Lent, E>(
    value: &T,
    lend: impl FnOnce(usize, usize, usize) -> Result<L, E>,
) -> Result<L, WriteFailure<E>> {
    match T::STORAGE {
        StorageKind::Flat => {
            if value.bulk_lengths() != T::BulkLengths::default() {
                return Err(WriteFailure::BulkWithoutBody);
            }
            let loan = lend(size_of::<T>(), align_of::<T>(), 0).map_err(WriteFailure::Lend)?;
            // SAFETY: the loan's head is large enough and aligned, only this loan can reach it, and it cannot
            // overlap `value`, which existed before.
            unsafe { value.clone_at(loan.head_at().cast::<T>()) };
            CopyCounter::of_process().count(size_of::<T>());
            Ok(loan)
        }
        StorageKind::Heap | StorageKind::Ros => {
            let size = situ_wire::encoded_size(value, situ_wire::Encoding::Xcdr1);
            let size = size.map_err(WriteFailure::Encode)?;
            let mut loan = lend(0, 1, size).map_err(WriteFailure::Lend)?;
            let written = situ_wire::encode_into(value, loan.body_mut(), situ_wire::Encoding::Xcdr1);
            written.map_err(WriteFailure::Encode)?;
            CopyCounter::of_process().count(size);
            Ok(loan)
        }
    }
}

/// The size of the body of a message whose bulk members have these lengths.
#[inline(always)]
pub(crate) fn body_size_of<T: FlatMessage>(lengths: &T::BulkLengths) -> Result<usize, LoanError> {
    T::body_size(lengths).ok_or(LoanError::Size {
        head_size: size_of::<T>(),
        head_align: align_of::<T>(),
        body_size: usize::MAX,
        reason: "a bulk member exceeds its bound or the address space",
    })
}

/// Default-initializes a message in memory that was lent for the size and the alignment of `T`, and a body of
/// [`body_size_of`] the same lengths.
#[inline(always)]
pub(crate) fn init_flat<T: FlatMessage, L: Lent>(loan: &L, lengths: &T::BulkLengths) {
    // SAFETY: the loan's head is large enough and aligned (`loan` rejects alignments beyond 64), only this
    // loan can reach it, and `body_size` accepted the lengths.
    unsafe { T::init_at(loan.head_at().cast::<T>(), lengths) };
}

/// Lends memory for a message whose bulk members have these lengths, and initializes it in place.
#[inline(always)]
pub(crate) fn lend_flat<T: FlatMessage, L: Lent, E: From<LoanError>>(
    lengths: &T::BulkLengths,
    lend: impl FnOnce(usize, usize, usize) -> Result<L, E>,
) -> Result<L, E> {
    let loan = lend(size_of::<T>(), align_of::<T>(), body_size_of::<T>(lengths)?)?;
    init_flat::<T, L>(&loan, lengths);
    Ok(loan)
}
