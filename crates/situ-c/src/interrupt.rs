//! Interrupters for C, and waits that an interrupter or a signal may end.

use situ_bus::{Interrupter, Wait, wait_any_with};

use crate::error::{Failure, guard, guard_value, situ_error, situ_status};
use crate::lender::situ_publisher;
use crate::subscriber::{check_process, found, raw_of, situ_subscriber};
use crate::types::{given, limit, target};

/// `situ_interrupter`.
pub struct situ_interrupter(pub(crate) Interrupter);

/// `situ_waiting`.
#[repr(C)]
pub struct situ_waiting {
    pub timeout_ns: u64,
    pub interrupter: *const situ_interrupter,
    pub until_a_signal: u32,
}

/// Reads how to wait.
///
/// # Safety
/// `how` is null or valid, and its interrupter null or a live handle for as long as the result is used.
pub(crate) unsafe fn read<'a>(how: *const situ_waiting) -> Result<Wait<'a>, Failure> {
    // SAFETY: the caller's promise.
    let how = unsafe { given(how, "how") }?;
    let wait = Wait::limit(limit(how.timeout_ns));
    let wait = if how.until_a_signal != 0 { wait.until_a_signal() } else { wait };
    // SAFETY: the caller's promise.
    let interrupter: Option<&'a situ_interrupter> = unsafe { how.interrupter.as_ref() };
    Ok(match interrupter {
        Some(interrupter) => wait.until(&interrupter.0),
        None => wait,
    })
}

/// Creates an interrupter.
///
/// # Safety
/// The pointers are null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn situ_interrupter_create(
    interrupter: *mut *mut situ_interrupter,
    error: *mut situ_error,
) -> situ_status {
    let create = || {
        let target = target(interrupter, "interrupter")?;
        // SAFETY: not null, and valid for writes as the caller promises.
        unsafe { target.write(Box::into_raw(Box::new(situ_interrupter(Interrupter::new())))) };
        Ok(situ_status::Ok)
    };
    // SAFETY: `error` is null or valid.
    unsafe { guard(error, create) }
}

/// Destroys an interrupter.
///
/// # Safety
/// `interrupter` is null, or a live handle that is not used any more.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn situ_interrupter_destroy(interrupter: *mut situ_interrupter) {
    if !interrupter.is_null() {
        // SAFETY: it came from `Box::into_raw`, and the caller gives it up.
        guard_value(|| drop(unsafe { Box::from_raw(interrupter) }));
    }
}

/// Ends waits. A signal handler may call this.
///
/// # Safety
/// `interrupter` is null or a live handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn situ_interrupter_interrupt(interrupter: *const situ_interrupter) {
    // SAFETY: the caller's promise. The call cannot panic, so it does nothing that a signal handler must not
    // do.
    if let Some(interrupter) = unsafe { interrupter.as_ref() } {
        interrupter.0.interrupt();
    }
}

/// Resets an interrupter, so that future waits sleep again.
///
/// # Safety
/// `interrupter` is null or a live handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn situ_interrupter_reset(interrupter: *const situ_interrupter) {
    // SAFETY: the caller's promise.
    if let Some(interrupter) = unsafe { interrupter.as_ref() } {
        interrupter.0.reset();
    }
}

/// Returns whether an interrupter ends waits now.
///
/// # Safety
/// `interrupter` is null or a live handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn situ_interrupter_is_interrupted(interrupter: *const situ_interrupter) -> i32 {
    // SAFETY: the caller's promise.
    unsafe { interrupter.as_ref() }.map_or(0, |interrupter| i32::from(interrupter.0.is_interrupted()))
}

/// Sets the interrupter that ends a publisher's waits for room.
///
/// # Safety
/// `publisher` is null or a live handle that no other thread uses; `interrupter` is null or a live handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn situ_publisher_set_interrupter(
    publisher: *mut situ_publisher,
    interrupter: *const situ_interrupter,
) {
    guard_value(|| {
        // SAFETY: the caller's promise.
        let (publisher, interrupter) = unsafe { (publisher.as_ref(), interrupter.as_ref()) };
        if let Some(publisher) = publisher {
            publisher.raw.set_interrupter(interrupter.map(|interrupter| &interrupter.0));
        }
    });
}

/// Waits until a message can be taken, or an interrupter or a signal ends the wait.
///
/// # Safety
/// `subscriber` is null or a live handle that no other thread uses. `how` is null or valid; its interrupter
/// is null or a live handle. `error` is null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn situ_subscriber_wait_with(
    subscriber: *mut situ_subscriber,
    how: *const situ_waiting,
    error: *mut situ_error,
) -> situ_status {
    let wait = || {
        // SAFETY: the caller's promise.
        let (subscriber, how) = unsafe { (given(subscriber, "subscriber")?, read(how)?) };
        check_process(subscriber)?;
        Ok(found(subscriber.raw.wait_with(how)?))
    };
    // SAFETY: `error` is null or valid.
    unsafe { guard(error, wait) }
}

/// Waits until one of several subscribers has a message, or an interrupter or a signal ends the wait.
///
/// # Safety
///
/// `subscribers` leads to `count` pointers, each as for [`situ_subscriber_wait_with`]. The other pointers are
/// as for it, too.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn situ_wait_any_with(
    subscribers: *const *mut situ_subscriber,
    count: usize,
    how: *const situ_waiting,
    index: *mut usize,
    error: *mut situ_error,
) -> situ_status {
    let wait = || {
        let target = target(index, "index")?;
        // SAFETY: the caller's promise.
        let (raw, how) = unsafe { (raw_of(subscribers, count)?, read(how)?) };
        let ready = wait_any_with(&raw, how)?;
        if let Some(ready) = ready {
            // SAFETY: not null, and valid as the caller promises.
            unsafe { target.write(ready) };
        }
        Ok(found(ready.is_some()))
    };
    // SAFETY: `error` is null or valid.
    unsafe { guard(error, wait) }
}
