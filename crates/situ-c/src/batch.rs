//! Batches for C: several loans published by one call, and several messages taken by one call.

use std::ffi::c_void;
use std::mem::MaybeUninit;

use situ_bus::{Published, RawSample, TakeError};

use crate::error::{Failure, guard, guard_value, situ_error, situ_status};
use crate::loan::{Batch, published, situ_loan};
use crate::subscriber::{found, let_go, situ_sample, situ_subscriber};
use crate::types::{given, target};

/// Publishes loans in their order, with one wake-up.
///
/// # Safety
/// `loans` is null, or leads to `count` loans. Each is as for
/// [`situ_loan_publish`](crate::publisher::situ_loan_publish). The others are null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn situ_loan_publish_all(
    loans: *mut situ_loan,
    count: usize,
    published_count: *mut usize,
    sequence: *mut u64,
    error: *mut situ_error,
) -> situ_status {
    let mut done = Published::default();
    let publish = || {
        // SAFETY: the caller's promise.
        if let Some(batch) = unsafe { Batch::of(loans, count) }? {
            // SAFETY: the structures of the published loans are emptied below.
            unsafe { batch.publisher.raw.publish_each(batch.loans(), &mut done) }?;
        }
        Ok(situ_status::Ok)
    };
    // SAFETY: `error` is null or valid.
    let status = unsafe { guard(error, publish) };
    // SAFETY: these were published, also if a later one failed.
    guard_value(|| unsafe { published(loans, done.count) });
    // SAFETY: null or valid, as the caller promises.
    unsafe { store(published_count, Some(done.count)) };
    // SAFETY: as above.
    unsafe { store(sequence, done.last) };
    status
}

/// Stores a result that the caller may not want.
///
/// # Safety
/// `target` is null or valid for writes.
unsafe fn store<T>(target: *mut T, value: Option<T>) {
    if let (false, Some(value)) = (target.is_null(), value) {
        // SAFETY: the caller's promise.
        unsafe { target.write(value) };
    }
}

/// Takes the messages that are there, with one move of the cursor.
///
/// # Safety
/// `subscriber` is null or a live handle that no other thread uses. `samples` is null, or has room for `most`
/// samples. The others are null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn situ_subscriber_take_many(
    subscriber: *mut situ_subscriber,
    most: usize,
    samples: *mut situ_sample,
    taken: *mut usize,
    error: *mut situ_error,
) -> situ_status {
    let mut count = 0;
    let take = || {
        let first = if most == 0 { samples } else { target(samples, "samples")? };
        // SAFETY: the caller's promise.
        let subscriber = unsafe { given(subscriber, "subscriber") }?;
        subscriber.raw.take_each(most, |raw| {
            // SAFETY: fewer than `most` so far, for which the caller has room.
            unsafe { situ_sample::write(first.add(count), raw) };
            count += 1;
            Ok::<_, TakeError>(())
        })?;
        Ok(found(count > 0))
    };
    // SAFETY: `error` is null or valid.
    let status = unsafe { guard(error, take) };
    // SAFETY: null or valid, as the caller promises.
    unsafe { store(taken, Some(count)) };
    status
}

/// Why a batch ends before it has as many messages as may be taken.
enum Ended {
    ByCaller,
    Failed(TakeError),
}

impl From<TakeError> for Ended {
    fn from(error: TakeError) -> Self {
        Self::Failed(error)
    }
}

/// A sample in this frame, released at the end, also if the caller's function panics.
struct Given(MaybeUninit<situ_sample>);

impl Given {
    #[inline]
    fn new(raw: RawSample) -> Self {
        let mut sample = MaybeUninit::uninit();
        // SAFETY: valid for writes.
        unsafe { situ_sample::write(sample.as_mut_ptr(), raw) };
        Self(sample)
    }
}

impl Drop for Given {
    #[inline]
    fn drop(&mut self) {
        // SAFETY: `new` wrote it. A caller that took the message out left the state 0.
        drop(unsafe { let_go(self.0.as_mut_ptr()) });
    }
}

/// Gives the messages that are there to a function, with one move of the cursor.
///
/// # Safety
/// `subscriber` is null or a live handle that no other thread uses, and that `give` does not use. `give` is
/// null, or may be called with a sample and `context`. The others are null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn situ_subscriber_take_each(
    subscriber: *mut situ_subscriber,
    most: usize,
    give: Option<unsafe extern "C" fn(sample: *mut situ_sample, context: *mut c_void) -> u32>,
    context: *mut c_void,
    taken: *mut usize,
    error: *mut situ_error,
) -> situ_status {
    let mut count = 0;
    let take = || {
        // SAFETY: the caller's promise.
        let subscriber = unsafe { given(subscriber, "subscriber") }?;
        let give = give.ok_or_else(|| Failure::argument("`give` is NULL"))?;
        let result = subscriber.raw.take_each(most, |raw| {
            count += 1;
            let mut sample = Given::new(raw);
            // SAFETY: the caller's promise.
            if unsafe { give(sample.0.as_mut_ptr(), context) } == 0 { Err(Ended::ByCaller) } else { Ok(()) }
        });
        match result {
            Ok(_) | Err(Ended::ByCaller) => Ok(found(count > 0)),
            Err(Ended::Failed(error)) => Err(error.into()),
        }
    };
    // SAFETY: `error` is null or valid.
    let status = unsafe { guard(error, take) };
    // SAFETY: null or valid, as the caller promises.
    unsafe { store(taken, Some(count)) };
    status
}
