//! Publishers for C.

use std::ffi::c_char;
use std::ptr::null;

use situ_bus::{GROWING_ROOM, PublishError, RawLoan};

use crate::error::{guard, guard_value, situ_error, situ_status};
use crate::lender::{Lender, situ_publisher};
use crate::loan::{Lent, give_away, situ_loan};
use crate::memory::situ_publisher_create_with;
use crate::node::situ_node;
use crate::types::{given, situ_placement, situ_publisher_qos, situ_type, target};

/// `situ_publisher_statistics`.
#[repr(C)]
#[derive(Default)]
pub struct situ_publisher_statistics {
    pub subscribers: u64,
    pub deadlines_missed: u64,
    pub slots: u64,
    pub slots_in_use: u64,
    pub memory_bytes: u64,
}

/// Joins a topic as publisher.
///
/// # Safety
/// As the header says: handles are live, texts end with a zero, pointers are null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn situ_publisher_create(
    node: *const situ_node,
    topic: *const c_char,
    description: *const situ_type,
    qos: *const situ_publisher_qos,
    publisher: *mut *mut situ_publisher,
    error: *mut situ_error,
) -> situ_status {
    // SAFETY: the caller's promise is passed on.
    unsafe { situ_publisher_create_in(node, topic, description, qos, null(), publisher, error) }
}

/// Joins a topic as publisher, with bodies in a memory domain.
///
/// # Safety
/// As for [`situ_publisher_create`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn situ_publisher_create_in(
    node: *const situ_node,
    topic: *const c_char,
    description: *const situ_type,
    qos: *const situ_publisher_qos,
    placement: *const situ_placement,
    publisher: *mut *mut situ_publisher,
    error: *mut situ_error,
) -> situ_status {
    // SAFETY: the caller's promise is passed on.
    unsafe { situ_publisher_create_with(node, topic, description, qos, placement, null(), publisher, error) }
}

/// Leaves the topic, at once or when the last loan is returned.
///
/// # Safety
/// `publisher` is null, or a live handle that is from now on used only through its loans.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn situ_publisher_destroy(publisher: *mut situ_publisher) {
    // SAFETY: the caller's promise is passed on.
    unsafe { Lender::destroy(publisher) };
}

/// Lends memory for a head and a body.
///
/// # Safety
/// `publisher` is null or a live handle that no other thread uses; the others are null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn situ_publisher_loan(
    publisher: *mut situ_publisher,
    head_size: usize,
    head_align: usize,
    body_size: usize,
    loan: *mut situ_loan,
    error: *mut situ_error,
) -> situ_status {
    let lend = || {
        let target = target(loan, "loan")?;
        // SAFETY: the caller's promise.
        let shared = unsafe { given(publisher, "publisher") }?;
        let raw = shared.raw.loan(head_size, head_align, body_size)?;
        // SAFETY: not null, and valid as the caller promises; it is a loan of the publisher.
        unsafe { situ_publisher::lend(publisher, target, Lent::Message(raw)) };
        Ok(situ_status::Ok)
    };
    // SAFETY: `error` is null or valid.
    unsafe { guard(error, lend) }
}

/// Lends memory for a body that grows in place.
///
/// # Safety
/// As for [`situ_publisher_loan`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn situ_publisher_loan_growing(
    publisher: *mut situ_publisher,
    body_size: usize,
    room: usize,
    loan: *mut situ_loan,
    error: *mut situ_error,
) -> situ_status {
    let lend = || {
        let target = target(loan, "loan")?;
        // SAFETY: the caller's promise.
        let shared = unsafe { given(publisher, "publisher") }?;
        let room = if room == 0 { GROWING_ROOM } else { room };
        let raw = shared.raw.loan_growing(body_size, room)?;
        // SAFETY: not null, and valid as the caller promises; it is a loan of the publisher.
        unsafe { situ_publisher::lend(publisher, target, Lent::Message(raw)) };
        Ok(situ_status::Ok)
    };
    // SAFETY: `error` is null or valid.
    unsafe { guard(error, lend) }
}

/// Publishes a loan.
///
/// # Safety
/// `loan` is null, all zero, or was lent and not copied since; its publisher is used by no other thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn situ_loan_publish(
    loan: *mut situ_loan,
    sequence: *mut u64,
    error: *mut situ_error,
) -> situ_status {
    // SAFETY: the caller's promise is passed on.
    unsafe { publish_by(loan, sequence, error, |raw| raw.publish_or_return()) }
}

/// Publishes a loan with the given operation.
///
/// # Safety
/// As for [`situ_loan_publish`].
#[inline]
pub(crate) unsafe fn publish_by(
    loan: *mut situ_loan,
    sequence: *mut u64,
    error: *mut situ_error,
    way: impl for<'a> FnOnce(RawLoan<'a>) -> Result<u64, (PublishError, RawLoan<'a>)>,
) -> situ_status {
    let publish = || {
        // SAFETY: the caller's promise.
        let number = unsafe {
            give_away(loan, |lent| match lent {
                Lent::Message(raw) => {
                    way(raw).map_err(|(error, raw)| (Box::new(error.into()), Lent::Message(raw)))
                }
                other => Err((other.is_no("message of a topic, which can be published"), other)),
            })
        }?;
        if !sequence.is_null() {
            // SAFETY: not null, and valid as the caller promises.
            unsafe { sequence.write(number) };
        }
        Ok(situ_status::Ok)
    };
    // SAFETY: `error` is null or valid.
    unsafe { guard(error, publish) }
}

/// Gives the memory of free slots back to the system.
///
/// # Safety
/// `publisher` is null or a live handle that no other thread uses.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn situ_publisher_trim(publisher: *mut situ_publisher) -> u64 {
    guard_value(|| {
        // SAFETY: the caller's promise.
        unsafe { publisher.as_ref() }.map_or(0, |publisher| publisher.raw.trim())
    })
}

/// Writes the 16 bytes of a publisher's id; zeroes for a null handle.
///
/// # Safety
/// `publisher` is null or a live handle that no other thread uses; `id` is null or has room for 16 bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn situ_publisher_id(publisher: *const situ_publisher, id: *mut u8) {
    guard_value(|| {
        // SAFETY: the caller's promise.
        let bytes = unsafe { publisher.as_ref() }.map_or([0; 16], |it| it.raw.id().to_bytes());
        if !id.is_null() {
            // SAFETY: not null, and with room for 16 bytes as the caller promises.
            unsafe { id.copy_from_nonoverlapping(bytes.as_ptr(), bytes.len()) };
        }
    });
}

/// The statistics of a publisher.
///
/// # Safety
/// `publisher` is null or a live handle that no other thread uses.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn situ_publisher_get_statistics(
    publisher: *const situ_publisher,
) -> situ_publisher_statistics {
    guard_value(|| {
        // SAFETY: the caller's promise.
        let Some(publisher) = (unsafe { publisher.as_ref() }) else { return Default::default() };
        let memory = publisher.raw.memory();
        situ_publisher_statistics {
            subscribers: publisher.raw.subscribers() as u64,
            deadlines_missed: publisher.raw.deadlines_missed(),
            slots: memory.slots as u64,
            slots_in_use: memory.in_use as u64,
            memory_bytes: memory.bytes,
        }
    })
}
