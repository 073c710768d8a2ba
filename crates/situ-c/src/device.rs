//! Memory domains for C: spans, fences, and streams.

use std::ffi::{c_char, c_void};
use std::sync::Arc;
use std::time::Duration;

use situ_bus::{DeviceSpan, IncompleteError};
use situ_memory::{DomainError, Fence, FenceState, Stream};

use crate::error::{Failure, guard, guard_value, situ_error, situ_status};
use crate::loan::{Lent, situ_loan, with_loan};
use crate::node::situ_node;
use crate::publisher::publish_by;
use crate::subscriber::{held, let_go, situ_sample, situ_subscriber};
use crate::types::{given, limit, read_domain, target};

/// `situ_stream`.
pub struct situ_stream {
    pub(crate) stream: Arc<dyn Stream>,
}

/// `situ_span`.
#[repr(C)]
pub struct situ_span {
    pub address: u64,
    pub size: u64,
    pub offset: u64,
    pub memory_size: u64,
    pub domain_kind: u32,
    pub domain_number: u32,
}

/// `situ_fence`.
#[repr(C)]
pub struct situ_fence {
    pub word: *mut u64,
    pub value: u64,
}

/// `situ_fence_state`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(C)]
pub enum situ_fence_state {
    Complete = 0,
    Pending = 1,
    Poisoned = 2,
}

impl From<DeviceSpan<'_, u8>> for situ_span {
    fn from(span: DeviceSpan<'_, u8>) -> Self {
        let domain = span.memory().domain();
        Self {
            address: span.address(),
            size: span.size(),
            offset: span.offset(),
            memory_size: span.memory().size(),
            domain_kind: domain.kind.number(),
            domain_number: domain.number,
        }
    }
}

fn to_c(fence: Option<&Fence>) -> situ_fence {
    match fence {
        Some(fence) => situ_fence { word: fence.word().as_ptr(), value: fence.value() },
        None => situ_fence { word: std::ptr::null_mut(), value: 0 },
    }
}

/// Converts a time limit from C, for waits that need one.
fn duration_of(timeout_ns: u64) -> Duration {
    limit(timeout_ns).unwrap_or(Duration::MAX)
}

/// The payload of a loan.
///
/// # Safety
/// As for [`situ_loan_publish`](crate::publisher::situ_loan_publish).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn situ_loan_span(
    loan: *mut situ_loan,
    span: *mut situ_span,
    error: *mut situ_error,
) -> situ_status {
    // SAFETY: the caller's promise is passed on.
    unsafe { span_of(loan, span, error, |raw| Ok(raw.span().into())) }
}

/// Places a message without a body in the domain of its publisher's bodies, and returns its span.
///
/// # Safety
/// As for [`situ_loan_span`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn situ_loan_span_of_message(
    loan: *mut situ_loan,
    span: *mut situ_span,
    error: *mut situ_error,
) -> situ_status {
    // SAFETY: the caller's promise is passed on.
    unsafe { span_of(loan, span, error, |raw| Ok(raw.span_of_message()?.into())) }
}

/// # Safety
/// As for [`situ_loan_span`].
unsafe fn span_of(
    loan: *mut situ_loan,
    span: *mut situ_span,
    error: *mut situ_error,
    find: impl FnOnce(&mut Lent<'_>) -> Result<situ_span, Failure>,
) -> situ_status {
    let look = || {
        let target = target(span, "span")?;
        // SAFETY: the caller's promise.
        let found = unsafe { with_loan(loan, find) }?;
        // SAFETY: not null, and valid as the caller promises.
        unsafe { target.write(found) };
        Ok(situ_status::Ok)
    };
    // SAFETY: `error` is null or valid.
    unsafe { guard(error, look) }
}

/// The fence that completes the body of a loan.
///
/// # Safety
/// As for [`situ_loan_span`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn situ_loan_fence(
    loan: *mut situ_loan,
    fence: *mut situ_fence,
    error: *mut situ_error,
) -> situ_status {
    let look = || {
        let target = target(fence, "fence")?;
        // SAFETY: the caller's promise.
        let found = unsafe { with_loan(loan, |raw| Ok(to_c(raw.fence().as_ref()))) }?;
        // SAFETY: not null, and valid as the caller promises.
        unsafe { target.write(found) };
        Ok(situ_status::Ok)
    };
    // SAFETY: `error` is null or valid.
    unsafe { guard(error, look) }
}

/// Publishes a loan in stream order.
///
/// # Safety
/// As for [`situ_loan_span`]; the stream is null or a live handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn situ_loan_publish_on(
    loan: *mut situ_loan,
    stream: *const situ_stream,
    sequence: *mut u64,
    error: *mut situ_error,
) -> situ_status {
    // SAFETY: the caller's promise.
    let stream = match unsafe { given(stream, "stream") } {
        Ok(stream) => stream,
        // SAFETY: `error` is null or valid.
        Err(failure) => return unsafe { guard(error, || Err(failure)) },
    };
    // SAFETY: the caller's promise is passed on.
    unsafe { publish_by(loan, sequence, error, |raw| raw.publish_on_or_return(stream.stream.as_ref())) }
}

/// Publishes a loan whose fence the caller completes.
///
/// # Safety
/// As for [`situ_loan_span`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn situ_loan_publish_signalled(
    loan: *mut situ_loan,
    sequence: *mut u64,
    error: *mut situ_error,
) -> situ_status {
    // SAFETY: the caller's promise is passed on.
    unsafe { publish_by(loan, sequence, error, |raw| raw.publish_signalled()) }
}

/// The payload of a sample.
///
/// # Safety
/// `sample` is null, all zero, or was taken and not copied since; the others are null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn situ_sample_span(
    sample: *const situ_sample,
    span: *mut situ_span,
    error: *mut situ_error,
) -> situ_status {
    let look = || {
        let target = target(span, "span")?;
        // SAFETY: the caller's promise.
        let found = unsafe { held(sample) }?.span().into();
        // SAFETY: not null, and valid as the caller promises.
        unsafe { target.write(found) };
        Ok(situ_status::Ok)
    };
    // SAFETY: `error` is null or valid.
    unsafe { guard(error, look) }
}

/// The fence that completes the payload of a sample.
///
/// # Safety
/// As for [`situ_sample_span`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn situ_sample_fence(
    sample: *const situ_sample,
    fence: *mut situ_fence,
    error: *mut situ_error,
) -> situ_status {
    let look = || {
        let target = target(fence, "fence")?;
        // SAFETY: the caller's promise.
        let found = to_c(unsafe { held(sample) }?.fence());
        // SAFETY: not null, and valid as the caller promises.
        unsafe { target.write(found) };
        Ok(situ_status::Ok)
    };
    // SAFETY: `error` is null or valid.
    unsafe { guard(error, look) }
}

/// The state of a sample's fence.
///
/// # Safety
/// As for [`situ_sample_span`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn situ_sample_state(sample: *const situ_sample) -> situ_fence_state {
    let mut state = situ_fence_state::Complete;
    guard_value(|| {
        // SAFETY: the caller's promise.
        let fence = unsafe { held(sample) }.ok().and_then(|raw| raw.fence());
        state = match fence.map(Fence::state) {
            None | Some(FenceState::Complete) => situ_fence_state::Complete,
            Some(FenceState::Pending) => situ_fence_state::Pending,
            Some(FenceState::Poisoned) => situ_fence_state::Poisoned,
        };
    });
    state
}

fn waited(result: Result<(), IncompleteError>) -> Result<situ_status, Failure> {
    match result {
        Ok(()) => Ok(situ_status::Ok),
        Err(IncompleteError::Pending { .. } | IncompleteError::Domain(DomainError::TimedOut { .. })) => {
            Ok(situ_status::Empty)
        }
        Err(IncompleteError::Domain(error)) => Err(error.into()),
        Err(error @ IncompleteError::Forked { .. }) => Err(Failure::new(situ_status::Forked, error)),
        Err(error) => Err(Failure::new(situ_status::Poisoned, error)),
    }
}

/// Waits until the payload of a sample is complete.
///
/// # Safety
/// As for [`situ_sample_span`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn situ_sample_synchronize(
    sample: *const situ_sample,
    timeout_ns: u64,
    error: *mut situ_error,
) -> situ_status {
    // SAFETY: the caller's promise.
    let wait = || waited(unsafe { held(sample) }?.synchronize(duration_of(timeout_ns)));
    // SAFETY: `error` is null or valid.
    unsafe { guard(error, wait) }
}

/// Makes a stream wait until the payload of a sample is complete.
///
/// # Safety
/// As for [`situ_sample_span`]; the stream is null or a live handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn situ_sample_wait_on(
    sample: *const situ_sample,
    stream: *const situ_stream,
    timeout_ns: u64,
    error: *mut situ_error,
) -> situ_status {
    let wait = || {
        // SAFETY: the caller's promise.
        let (raw, stream) = unsafe { (held(sample)?, given(stream, "stream")?) };
        waited(raw.wait_on(stream.stream.as_ref(), duration_of(timeout_ns)))
    };
    // SAFETY: `error` is null or valid.
    unsafe { guard(error, wait) }
}

/// Releases a message once a stream has passed the work enqueued so far. After an invalid argument the sample
/// is unchanged.
///
/// # Safety
/// As for [`situ_sample_release`](crate::subscriber::situ_sample_release); the stream is null or a live
/// handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn situ_sample_release_on(
    sample: *mut situ_sample,
    stream: *const situ_stream,
    error: *mut situ_error,
) -> situ_status {
    let release = || {
        // SAFETY: the caller's promise.
        let (_, stream) = unsafe { (held(sample)?, given(stream, "stream")?) };
        // SAFETY: the caller's promise.
        if let Some(raw) = unsafe { let_go(sample) } {
            raw.release_on(stream.stream.as_ref())?;
        }
        Ok(situ_status::Ok)
    };
    // SAFETY: `error` is null or valid.
    unsafe { guard(error, release) }
}

/// Takes the next message in stream order, if there is one.
///
/// # Safety
/// As for [`situ_subscriber_take`](crate::subscriber::situ_subscriber_take); the stream is null or a live
/// handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn situ_subscriber_take_on(
    subscriber: *mut situ_subscriber,
    stream: *const situ_stream,
    sample: *mut situ_sample,
    error: *mut situ_error,
) -> situ_status {
    let take = || {
        let target = target(sample, "sample")?;
        // SAFETY: the caller's promise.
        let (subscriber, stream) = unsafe { (given(subscriber, "subscriber")?, given(stream, "stream")?) };
        let Some(raw) = subscriber.raw.take_on(stream.stream.as_ref())? else {
            return Ok(situ_status::Empty);
        };
        // SAFETY: not null, and valid as the caller promises.
        unsafe { situ_sample::write(target, raw) };
        Ok(situ_status::Ok)
    };
    // SAFETY: `error` is null or valid.
    unsafe { guard(error, take) }
}

/// Creates a stream.
///
/// # Safety
/// As the header says: handles are live, texts end with a zero, pointers are null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn situ_stream_create(
    node: *const situ_node,
    domain: *const c_char,
    stream: *mut *mut situ_stream,
    error: *mut situ_error,
) -> situ_status {
    let create = || {
        let target = target(stream, "stream")?;
        // SAFETY: the caller's promise.
        let (node, domain) = unsafe { (given(node, "node")?, read_domain(domain, "domain")?) };
        let stream = node.node.domain(domain)?.stream()?;
        // SAFETY: not null, and valid as the caller promises.
        unsafe { target.write(Box::into_raw(Box::new(situ_stream { stream }))) };
        Ok(situ_status::Ok)
    };
    // SAFETY: `error` is null or valid.
    unsafe { guard(error, create) }
}

/// Destroys a stream.
///
/// # Safety
/// `stream` is null, or a live handle that is not used any more.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn situ_stream_destroy(stream: *mut situ_stream) {
    if !stream.is_null() {
        // SAFETY: it came from `Box::into_raw`, and the caller gives it up.
        guard_value(|| drop(unsafe { Box::from_raw(stream) }));
    }
}

/// Checks a part of a span, and returns its offset in the form that copies need.
fn part(span: &DeviceSpan<'_, u8>, offset: u64, size: u64) -> Result<u64, Failure> {
    match offset.checked_add(size) {
        Some(end) if end <= span.size() => Ok(span.offset() + offset),
        _ => Err(Failure::argument(format_args!(
            "bytes {offset}+{size} lie outside the payload of {} bytes",
            span.size()
        ))),
    }
}

/// Enqueues a copy of host bytes into the payload of a loan.
///
/// # Safety
/// As for [`situ_loan_span`]; `from` is readable for `size` bytes, and unchanged until the stream has passed
/// the copy.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn situ_stream_write(
    stream: *const situ_stream,
    from: *const c_void,
    loan: *mut situ_loan,
    offset: u64,
    size: u64,
    error: *mut situ_error,
) -> situ_status {
    let copy = || {
        // SAFETY: the caller's promise.
        let stream = unsafe { given(stream, "stream") }?;
        let from = target(from.cast_mut(), "from")?.cast::<u8>().cast_const();
        let enqueue = |raw: &mut Lent<'_>| {
            let span = raw.span();
            let at = part(&span, offset, size)?;
            // SAFETY: the caller's promise; only the holder of the loan uses the lent memory.
            Ok(unsafe { stream.stream.copy_from_host(from, span.memory(), at, size) }?)
        };
        // SAFETY: the caller's promise.
        unsafe { with_loan(loan, enqueue) }?;
        Ok(situ_status::Ok)
    };
    // SAFETY: `error` is null or valid.
    unsafe { guard(error, copy) }
}

/// Enqueues a copy of the payload of a sample to host memory.
///
/// # Safety
/// As for [`situ_sample_span`]; `to` is writable for `size` bytes, and not used until the stream has passed
/// the copy.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn situ_stream_read(
    stream: *const situ_stream,
    sample: *const situ_sample,
    offset: u64,
    to: *mut c_void,
    size: u64,
    error: *mut situ_error,
) -> situ_status {
    let copy = || {
        // SAFETY: the caller's promise.
        let (stream, raw) = unsafe { (given(stream, "stream")?, held(sample)?) };
        let (to, span) = (target(to, "to")?, raw.span());
        let at = part(&span, offset, size)?;
        // SAFETY: the caller's promise; memory that a sample holds does not change.
        unsafe { stream.stream.copy_to_host(span.memory(), at, to.cast(), size) }?;
        Ok(situ_status::Ok)
    };
    // SAFETY: `error` is null or valid.
    unsafe { guard(error, copy) }
}

/// Waits until all work on a stream is done.
///
/// # Safety
/// `stream` is null or a live handle; `error` is null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn situ_stream_synchronize(
    stream: *const situ_stream,
    timeout_ns: u64,
    error: *mut situ_error,
) -> situ_status {
    let wait = || {
        // SAFETY: the caller's promise.
        let stream = unsafe { given(stream, "stream") }?;
        waited(stream.stream.synchronize(duration_of(timeout_ns)).map_err(IncompleteError::from))
    };
    // SAFETY: `error` is null or valid.
    unsafe { guard(error, wait) }
}
