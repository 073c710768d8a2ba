//! Wait sets for C.

use std::ffi::c_int;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;
use std::time::Duration;

use situ_bus::{AttachError, Descriptor, IoReadiness, Source, SourceId, WaitError, WaitSet, Waitable};

use crate::error::{Failure, guard, guard_value, situ_error, situ_status};
use crate::event::{event_source, situ_event};
use crate::node::situ_node;
use crate::subscriber::{check_process, found, situ_subscriber};
use crate::timer::{situ_guard_condition, situ_timer};
use crate::types::{given, limit, target};

/// `situ_wait_set`.
pub struct situ_wait_set(WaitSet);

/// `situ_io`.
pub const READABLE: u32 = 1;
pub const WRITABLE: u32 = 2;
pub const CLOSED: u32 = 4;

/// `situ_ready`.
#[repr(C)]
pub struct situ_ready {
    pub id: u64,
    pub io: u32,
}

impl From<AttachError> for Failure {
    fn from(error: AttachError) -> Self {
        let status = match &error {
            AttachError::Forked => situ_status::Forked,
            AttachError::Attached { .. } | AttachError::OtherExecutor | AttachError::Descriptor { .. } => {
                situ_status::InvalidArgument
            }
            AttachError::Watch { .. } => situ_status::System,
        };
        Self::new(status, error)
    }
}

impl From<WaitError> for Failure {
    fn from(error: WaitError) -> Self {
        let status = match &error {
            WaitError::Forked => situ_status::Forked,
            WaitError::InUse => situ_status::Busy,
            WaitError::System { .. } => situ_status::System,
        };
        Self::new(status, error)
    }
}

/// What a descriptor is ready for, as a combination of `situ_io`.
pub fn io_of(readiness: IoReadiness) -> u32 {
    let bit = |is_set: bool, bit: u32| if is_set { bit } else { 0 };
    bit(readiness.readable, READABLE) | bit(readiness.writable, WRITABLE) | bit(readiness.closed, CLOSED)
}

/// A descriptor of the caller, which stays open while it is attached.
struct OfCaller(c_int);

impl AsFd for OfCaller {
    fn as_fd(&self) -> BorrowedFd<'_> {
        // SAFETY: the caller promises that it stays open while it is attached. It is not -1: `descriptor` has
        // checked that.
        unsafe { BorrowedFd::borrow_raw(self.0) }
    }
}

/// The source of a descriptor.
pub fn descriptor(fd: c_int, io: u32) -> Result<Source, Failure> {
    if fd < 0 {
        return Err(Failure::argument(format_args!("`fd` is {fd}, which is not a descriptor")));
    }
    let file = Arc::new(OfCaller(fd));
    let descriptor = match io & !CLOSED {
        READABLE => Descriptor::readable(file),
        WRITABLE => Descriptor::writable(file),
        3 => Descriptor::readable_or_writable(file),
        _ => {
            let text = format_args!("`io` is {io}: use SITU_READABLE, SITU_WRITABLE or both");
            return Err(Failure::argument(text));
        }
    };
    Ok(descriptor.source())
}

/// The source of a subscriber.
///
/// # Safety
/// `subscriber` is null or a live handle that no other thread uses.
pub unsafe fn subscriber_source(subscriber: *const situ_subscriber) -> Result<Source, Failure> {
    // SAFETY: the caller's promise.
    let subscriber = unsafe { given(subscriber, "subscriber") }?;
    check_process(subscriber)?;
    Ok(subscriber.raw.source())
}

/// The source of a guard condition.
///
/// # Safety
/// `condition` is null or a live handle.
pub unsafe fn condition_source(condition: *const situ_guard_condition) -> Result<Source, Failure> {
    // SAFETY: the caller's promise.
    Ok(unsafe { given(condition, "condition") }?.0.source())
}

/// The source of a timer.
///
/// # Safety
/// `timer` is null or a live handle.
pub unsafe fn timer_source(timer: *const situ_timer) -> Result<Source, Failure> {
    // SAFETY: the caller's promise.
    Ok(unsafe { given(timer, "timer") }?.0.source())
}

/// Creates a wait set.
///
/// # Safety
/// `node` is null or a live handle; the other pointers are null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn situ_wait_set_create(
    node: *const situ_node,
    set: *mut *mut situ_wait_set,
    error: *mut situ_error,
) -> situ_status {
    let create = || {
        let target = target(set, "set")?;
        // SAFETY: the caller's promise.
        let node = unsafe { given(node, "node") }?;
        let made = Box::new(situ_wait_set(WaitSet::new(&node.node)));
        // SAFETY: not null, and valid for writes as the caller promises.
        unsafe { target.write(Box::into_raw(made)) };
        Ok(situ_status::Ok)
    };
    // SAFETY: `error` is null or valid.
    unsafe { guard(error, create) }
}

/// Destroys a wait set.
///
/// # Safety
/// `set` is null, or a live handle that is not used any more.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn situ_wait_set_destroy(set: *mut situ_wait_set) {
    if !set.is_null() {
        // SAFETY: it came from `Box::into_raw`, and the caller gives it up.
        guard_value(|| drop(unsafe { Box::from_raw(set) }));
    }
}

/// Attaches a source, and writes its number.
///
/// # Safety
/// `set` is null or a live handle; `id` and `error` are null or valid.
pub(crate) unsafe fn attach(
    set: *mut situ_wait_set,
    source: impl FnOnce() -> Result<Source, Failure>,
    id: *mut u64,
    error: *mut situ_error,
) -> situ_status {
    let attach = || {
        let target = target(id, "id")?;
        // SAFETY: the caller's promise.
        let set = unsafe { given(set, "set") }?;
        let attached = set.0.attach_source(source()?)?;
        // SAFETY: not null, and valid for writes as the caller promises.
        unsafe { target.write(attached.to_number()) };
        Ok(situ_status::Ok)
    };
    // SAFETY: `error` is null or valid.
    unsafe { guard(error, attach) }
}

/// Attaches a subscriber.
///
/// # Safety
/// `set` is null or a live handle. `subscriber` is null or a live handle that no other thread uses. `id` and
/// `error` are null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn situ_wait_set_attach_subscriber(
    set: *mut situ_wait_set,
    subscriber: *const situ_subscriber,
    id: *mut u64,
    error: *mut situ_error,
) -> situ_status {
    // SAFETY: the caller's promise is passed on.
    unsafe { attach(set, || subscriber_source(subscriber), id, error) }
}

/// Attaches a guard condition.
///
/// # Safety
/// The handles are null or live; `id` and `error` are null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn situ_wait_set_attach_guard_condition(
    set: *mut situ_wait_set,
    condition: *const situ_guard_condition,
    id: *mut u64,
    error: *mut situ_error,
) -> situ_status {
    // SAFETY: the caller's promise is passed on.
    unsafe { attach(set, || condition_source(condition), id, error) }
}

/// Attaches a timer.
///
/// # Safety
/// The handles are null or live; `id` and `error` are null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn situ_wait_set_attach_timer(
    set: *mut situ_wait_set,
    timer: *const situ_timer,
    id: *mut u64,
    error: *mut situ_error,
) -> situ_status {
    // SAFETY: the caller's promise is passed on.
    unsafe { attach(set, || timer_source(timer), id, error) }
}

/// Attaches an event.
///
/// # Safety
/// The handles are null or live; `id` and `error` are null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn situ_wait_set_attach_event(
    set: *mut situ_wait_set,
    event: *const situ_event,
    id: *mut u64,
    error: *mut situ_error,
) -> situ_status {
    // SAFETY: the caller's promise is passed on.
    unsafe { attach(set, || event_source(event), id, error) }
}

/// Attaches a descriptor.
///
/// # Safety
/// `set` is null or a live handle; `fd` stays open while it is attached; `id` and `error` are null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn situ_wait_set_attach_descriptor(
    set: *mut situ_wait_set,
    fd: c_int,
    io: u32,
    id: *mut u64,
    error: *mut situ_error,
) -> situ_status {
    // SAFETY: the caller's promise is passed on.
    unsafe { attach(set, || descriptor(fd, io), id, error) }
}

/// Detaches a source.
///
/// # Safety
/// `set` is null or a live handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn situ_wait_set_detach(set: *mut situ_wait_set, id: u64) -> i32 {
    // SAFETY: the caller's promise.
    let set = unsafe { set.as_ref() };
    guard_value(|| set.map_or(0, |set| i32::from(set.0.detach(SourceId::from_number(id)))))
}

/// The number of attached sources.
///
/// # Safety
/// `set` is null or a live handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn situ_wait_set_size(set: *const situ_wait_set) -> usize {
    // SAFETY: the caller's promise.
    let set = unsafe { set.as_ref() };
    guard_value(|| set.map_or(0, |set| set.0.len()))
}

/// Lets waits look for something ready for a time before they sleep.
///
/// # Safety
/// `set` is null or a live handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn situ_wait_set_spin(set: *mut situ_wait_set, limit_ns: u64) {
    // SAFETY: the caller's promise.
    let set = unsafe { set.as_ref() };
    guard_value(|| set.map_or((), |set| set.0.set_spin(Duration::from_nanos(limit_ns))));
}

/// Waits until a source is ready.
///
/// # Safety
/// `set` is null or a live handle; `ready` has room for `capacity`; `count` and `error` are null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn situ_wait_set_wait(
    set: *mut situ_wait_set,
    timeout_ns: u64,
    ready: *mut situ_ready,
    capacity: usize,
    count: *mut usize,
    error: *mut situ_error,
) -> situ_status {
    let wait = || {
        let (ready, count) = (target(ready, "ready")?, target(count, "count")?);
        if capacity == 0 {
            return Err(Failure::argument("`capacity` is 0: there is no room for a source that is ready"));
        }
        // SAFETY: the caller's promise.
        let set = unsafe { given(set, "set") }?;
        let mut next = 0;
        let found_some = set.0.wait_with(capacity, limit(timeout_ns), &mut |source| {
            let one = situ_ready { id: source.id.to_number(), io: io_of(source.readiness) };
            // SAFETY: the set reports at most `capacity` sources, for which there is room.
            unsafe { ready.add(next).write(one) };
            next += 1;
        })?;
        // SAFETY: not null, and valid as the caller promises.
        unsafe { count.write(found_some) };
        Ok(found(found_some > 0))
    };
    // SAFETY: `error` is null or valid.
    unsafe { guard(error, wait) }
}

/// Returns the set's descriptor.
///
/// # Safety
/// `set` is null or a live handle; `fd` and `error` are null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn situ_wait_set_fd(
    set: *mut situ_wait_set,
    fd: *mut c_int,
    error: *mut situ_error,
) -> situ_status {
    let make = || {
        let target = target(fd, "fd")?;
        // SAFETY: the caller's promise.
        let made = unsafe { given(set, "set") }?.0.fd()?;
        // SAFETY: not null, and valid as the caller promises.
        unsafe { target.write(made) };
        Ok(situ_status::Ok)
    };
    // SAFETY: `error` is null or valid.
    unsafe { guard(error, make) }
}
