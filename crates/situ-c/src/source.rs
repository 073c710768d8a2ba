//! Where a message comes from, and the user header that it carries beside its content.

use std::ffi::c_void;
use std::ptr::{null, null_mut};

use crate::error::guard_value;
use crate::loan::{situ_loan, with_loan};
use crate::subscriber::{held, situ_sample};

/// Writes the 16 bytes of the id of a message's publisher; zeroes if the sample holds no message.
///
/// # Safety
/// `sample` is null, all zero, or was taken and not copied since; it is not released meanwhile. `id` is null
/// or has room for 16 bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn situ_sample_publisher_id(sample: *const situ_sample, id: *mut u8) {
    guard_value(|| {
        // SAFETY: the caller's promise.
        let bytes = unsafe { held(sample) }.map_or([0; 16], |raw| raw.publisher_id().to_bytes());
        if !id.is_null() {
            // SAFETY: not null, and with room for 16 bytes as the caller promises.
            unsafe { id.copy_from_nonoverlapping(bytes.as_ptr(), bytes.len()) };
        }
    });
}

/// The number that the publisher gave the message, from 0; 0 if the sample holds no message.
///
/// # Safety
/// As for [`situ_sample_publisher_id`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn situ_sample_publisher_sequence(sample: *const situ_sample) -> u64 {
    // SAFETY: the caller's promise.
    guard_value(|| unsafe { held(sample) }.map_or(0, |raw| raw.publisher_sequence()))
}

/// The user header of a message, and its size; null and 0 if there is none.
///
/// # Safety
/// As for [`situ_sample_publisher_id`]; `size` is null or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn situ_sample_user_header(
    sample: *const situ_sample,
    size: *mut usize,
) -> *const c_void {
    guard_value(|| {
        // SAFETY: the caller's promise.
        let header = unsafe { held(sample) }.map_or(&[][..], |raw| raw.user_header());
        if !size.is_null() {
            // SAFETY: the caller's promise.
            unsafe { size.write(header.len()) };
        }
        if header.is_empty() { null() } else { header.as_ptr().cast() }
    })
}

/// The user header of a loan, to be written, and its size; null and 0 if there is none.
///
/// # Safety
/// `loan` is null, all zero, or was lent and not copied since; `size` is null or valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn situ_loan_user_header(loan: *mut situ_loan, size: *mut usize) -> *mut c_void {
    guard_value(|| {
        // SAFETY: the caller's promise.
        let header = unsafe { with_loan(loan, |lent| Ok(lent.user_header())) };
        let (address, length) = header.unwrap_or((null_mut(), 0));
        if !size.is_null() {
            // SAFETY: the caller's promise.
            unsafe { size.write(length) };
        }
        address
    })
}
