//! Publishers and loans for C.

use std::cell::Cell;
use std::ffi::{c_char, c_void};
use std::ptr::{null, null_mut};

use situ_bus::{DetachedLoan, GROWING_ROOM, PublishError, RawLoan, RawPublisher};

use crate::error::{Failure, guard, guard_value, situ_error, situ_status};
use crate::node::situ_node;
use crate::types::{
    encoding, given, read_placement, read_publisher_qos, read_type, situ_placement, situ_publisher_qos,
    situ_type, target, text,
};

/// `situ_publisher`: exists until it is destroyed *and* has no loans.
pub struct situ_publisher {
    pub(crate) raw: RawPublisher,
    lent: Cell<usize>,
    destroyed: Cell<bool>,
}

/// The `state_` of a loan that is lent: a number that uninitialized memory is unlikely to contain.
const LENT: u32 = 0x4c6f_616e;

/// `situ_loan`.
#[repr(C)]
pub struct situ_loan {
    pub head: *mut c_void,
    pub head_size: usize,
    pub body: *mut c_void,
    pub body_size: usize,
    pub encoding: u32,
    state: u32,
    publisher: *mut situ_publisher,
    detached: [u64; 6],
}

const _: () = assert!(size_of::<DetachedLoan>() <= size_of::<[u64; 6]>());
const _: () = assert!(align_of::<DetachedLoan>() <= align_of::<u64>());

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

impl situ_loan {
    /// Stores a loan in the caller's structure.
    ///
    /// # Safety
    /// `target` is valid for writes, and `raw` a loan of `publisher`, which counts it.
    #[inline]
    unsafe fn write(target: *mut Self, publisher: *mut situ_publisher, raw: RawLoan<'_>, encoding: u32) {
        let mut loan = Self {
            head: raw.head().cast(),
            head_size: raw.head_size(),
            body: raw.body().cast(),
            body_size: raw.body_size(),
            encoding,
            state: LENT,
            publisher,
            detached: [0; 6],
        };
        // SAFETY: there is room for it, as asserted above.
        unsafe { (&raw mut loan.detached).cast::<DetachedLoan>().write(raw.detach()) };
        // SAFETY: the caller's promise.
        unsafe { target.write(loan) };
    }

    /// Takes the loan out of the caller's structure, if there is one. Afterwards the structure holds no loan.
    ///
    /// # Safety
    /// `loan` is null or valid, all zero or written by [`write`](Self::write), and the publisher is only used
    /// through shared references meanwhile.
    #[inline]
    unsafe fn read<'a>(loan: *mut Self) -> Option<(&'a situ_publisher, RawLoan<'a>)> {
        // SAFETY: the caller's promise.
        let loan = unsafe { loan.as_mut() }?;
        if loan.state != LENT {
            return None;
        }
        loan.state = 0;
        loan.head = null_mut();
        loan.body = null_mut();
        // SAFETY: `write` stored it, and the state, reset above, ensures that it is read only once.
        let detached = unsafe { (&raw const loan.detached).cast::<DetachedLoan>().read() };
        // SAFETY: a publisher stays as long as it has loans.
        let publisher = unsafe { &*loan.publisher };
        // SAFETY: `write` stored the publisher along with its loan.
        Some((publisher, unsafe { publisher.raw.attach(detached) }))
    }
}

/// Counts a returned loan. Removes the publisher if it was destroyed before and this was its last loan.
///
/// # Safety
/// `publisher` is a live handle, and no reference to it is used after this.
#[inline]
unsafe fn came_back(publisher: *mut situ_publisher) {
    // SAFETY: the caller's promise.
    let shared = unsafe { &*publisher };
    shared.lent.set(shared.lent.get() - 1);
    if shared.destroyed.get() && shared.lent.get() == 0 {
        // SAFETY: it came from `Box::into_raw`; its owner gave it up, and it has no loans.
        drop(unsafe { Box::from_raw(publisher) });
    }
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
    let create = || {
        let target = target(publisher, "publisher")?;
        // SAFETY: the caller passes a live handle, texts and valid pointers.
        let (node, topic) = unsafe { (given(node, "node")?, text(topic, "topic")?) };
        // SAFETY: as above.
        let (description, (qos, stamps)) = unsafe { (read_type(description)?, read_publisher_qos(qos)?) };
        // SAFETY: as above.
        let placement = unsafe { read_placement(placement) }?;
        let raw = RawPublisher::create_in(&node.node, topic, &description, qos, &placement)?;
        let raw = if stamps { raw } else { raw.without_stamps() };
        let made = Box::new(situ_publisher { raw, lent: Cell::new(0), destroyed: Cell::new(false) });
        // SAFETY: not null, and valid for writes as the caller promises.
        unsafe { target.write(Box::into_raw(made)) };
        Ok(situ_status::Ok)
    };
    // SAFETY: `error` is null or valid.
    unsafe { guard(error, create) }
}

/// Leaves the topic, at once or when the last loan is returned.
///
/// # Safety
/// `publisher` is null, or a live handle that is from now on used only through its loans.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn situ_publisher_destroy(publisher: *mut situ_publisher) {
    guard_value(|| {
        // SAFETY: the caller's promise.
        let Some(shared) = (unsafe { publisher.as_ref() }) else { return };
        shared.destroyed.set(true);
        if shared.lent.get() == 0 {
            // SAFETY: it came from `Box::into_raw`, the caller gives it up, and it has no loans.
            drop(unsafe { Box::from_raw(publisher) });
        }
    });
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
        shared.lent.set(shared.lent.get() + 1);
        let encoding = raw.encoding() as u32;
        // SAFETY: not null, and valid as the caller promises; the loan was counted.
        unsafe { situ_loan::write(target, publisher, raw, encoding) };
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
        shared.lent.set(shared.lent.get() + 1);
        let encoding = raw.encoding() as u32;
        // SAFETY: not null, and valid as the caller promises; the loan was counted.
        unsafe { situ_loan::write(target, publisher, raw, encoding) };
        Ok(situ_status::Ok)
    };
    // SAFETY: `error` is null or valid.
    unsafe { guard(error, lend) }
}

/// Makes the body of a loan larger in place.
///
/// # Safety
/// As for [`situ_loan_publish`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn situ_loan_grow(
    loan: *mut situ_loan,
    body_size: usize,
    error: *mut situ_error,
) -> situ_status {
    let grow = || {
        // SAFETY: the caller's promise.
        unsafe { with_loan(loan, |raw| Ok(raw.grow_body(body_size)?)) }?;
        // SAFETY: `with_loan` found a loan in it. A body that the caller had reduced gets the requested size.
        unsafe { (*loan).body_size = (*loan).body_size.max(body_size) };
        Ok(situ_status::Ok)
    };
    // SAFETY: `error` is null or valid.
    unsafe { guard(error, grow) }
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
        let wanted = unsafe { given(loan, "loan") }?;
        let (number, body_size, handle) = (wanted.encoding, wanted.body_size, wanted.publisher);
        // SAFETY: the caller's promise.
        let Some((_, mut raw)) = (unsafe { situ_loan::read(loan) }) else {
            return Err(Failure::argument(
                "`loan` holds no loan: it was published or discarded before, or never lent",
            ));
        };
        let refused = if body_size > raw.body_size() {
            Some(Failure::argument(format_args!(
                "`loan->body_size` is {body_size}, but only {} bytes were lent",
                raw.body_size()
            )))
        } else {
            raw.shrink_body(body_size);
            encoding(number).map(|encoding| raw.set_encoding(encoding)).err()
        };
        let result = match refused {
            Some(failure) => Err((failure, raw)),
            None => way(raw).map_err(|(error, raw)| (error.into(), raw)),
        };
        match result {
            Ok(number) => {
                // SAFETY: a live handle, because it had a loan; `raw` was its last user here.
                unsafe { came_back(handle) };
                if !sequence.is_null() {
                    // SAFETY: not null, and valid as the caller promises.
                    unsafe { sequence.write(number) };
                }
                Ok(situ_status::Ok)
            }
            Err((failure, raw)) => {
                // SAFETY: the structure from which it was read.
                unsafe { situ_loan::write(loan, handle, raw, number) };
                Err(failure)
            }
        }
    };
    // SAFETY: `error` is null or valid.
    unsafe { guard(error, publish) }
}

/// Calls `look` with a loan, and stores the loan again.
///
/// # Safety
/// As for [`situ_loan_publish`].
pub(crate) unsafe fn with_loan<R>(
    loan: *mut situ_loan,
    look: impl FnOnce(&mut RawLoan<'_>) -> Result<R, Failure>,
) -> Result<R, Failure> {
    // SAFETY: the caller's promise.
    let wanted = unsafe { given(loan, "loan") }?;
    let (encoding, body_size, handle) = (wanted.encoding, wanted.body_size, wanted.publisher);
    // SAFETY: the caller's promise.
    let Some((_, mut raw)) = (unsafe { situ_loan::read(loan) }) else {
        return Err(Failure::argument("`loan` holds no loan"));
    };
    let whole = raw.body_size();
    let result = look(&mut raw);
    // A body that the caller reduced stays reduced, unless its size changed now.
    let body_size = if raw.body_size() == whole { body_size } else { raw.body_size() };
    // SAFETY: the structure from which it was read.
    unsafe {
        situ_loan::write(loan, handle, raw, encoding);
        (*loan).body_size = body_size;
    }
    result
}

/// Returns a loan without publishing it.
///
/// # Safety
/// As for [`situ_loan_publish`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn situ_loan_discard(loan: *mut situ_loan) {
    guard_value(|| {
        // SAFETY: the caller's promise.
        if let Some((_, raw)) = unsafe { situ_loan::read(loan) } {
            drop(raw);
            // SAFETY: `read` found a loan, so the structure is valid and names its publisher, which is alive.
            unsafe { came_back((*loan).publisher) };
        }
    });
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
