//! Executors for C.

use std::ffi::{CStr, c_int, c_void};
use std::fmt;
use std::ops::ControlFlow;
use std::time::Duration;

use situ_bus::{
    CallbackError, CallbackFailure, CallbackGroup, Executor, IoReadiness, Permanent, Source, SourceId,
    SpinError, Stopper, Temporary,
};

use crate::error::{Failure, TEXT_SIZE, guard, guard_value, situ_error, situ_status};
use crate::event::{event_source, situ_event};
use crate::node::situ_node;
use crate::subscriber::{found, situ_subscriber};
use crate::timer::{situ_guard_condition, situ_timer};
use crate::types::{given, limit, target};
use crate::wait_set::{condition_source, descriptor, io_of, subscriber_source, timer_source};

/// `situ_executor`.
pub struct situ_executor {
    executor: Executor,
    stopper: Stopper,
}

/// `situ_callback_group`.
pub struct situ_callback_group(CallbackGroup);

type Call = unsafe extern "C" fn(*mut c_void, u32, *mut situ_error) -> i32;
type Release = unsafe extern "C" fn(*mut c_void);
type Handle = unsafe extern "C" fn(*mut c_void, u64, *const situ_error) -> i32;

/// `situ_callback`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct situ_callback {
    pub call: Option<Call>,
    pub release: Option<Release>,
    pub context: *mut c_void,
    pub parallel: u32,
}

/// A callback of the caller, released when this is dropped.
struct Code {
    call: Call,
    release: Option<Release>,
    context: *mut c_void,
}

// SAFETY: the header says that a callback runs on the threads that spin, and that its context is for that.
unsafe impl Send for Code {}
// SAFETY: as above. Only callbacks that the caller declares parallel run on several threads at once.
unsafe impl Sync for Code {}

impl Drop for Code {
    fn drop(&mut self) {
        if let Some(release) = self.release {
            // SAFETY: the caller promises that it may be called once, and it is not called while `call` runs.
            unsafe { release(self.context) };
        }
    }
}

/// The error of a callback.
#[derive(Debug)]
struct Failed {
    status: situ_status,
    text: String,
}

impl fmt::Display for Failed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl std::error::Error for Failed {}

/// The text of an error that a callback wrote, without what is not UTF-8.
fn text_of(error: &situ_error) -> String {
    CStr::from_bytes_until_nul(&error.text).map_or_else(
        |_| String::from_utf8_lossy(&error.text).into_owned(),
        |text| text.to_string_lossy().into_owned(),
    )
}

impl Code {
    /// Runs the callback.
    fn run(&self, readiness: IoReadiness) -> Result<(), CallbackError> {
        let mut error = situ_error { status: 0, text: [0; TEXT_SIZE] };
        // SAFETY: the caller promises that it may be called, and the error is valid for writes.
        let status = unsafe { (self.call)(self.context, io_of(readiness), &mut error) };
        if status >= 0 {
            return Ok(());
        }
        let known = situ_status::ALL.iter().find(|(known, _)| *known as i32 == status);
        let mut text = text_of(&error);
        if text.is_empty() {
            text = format!("the callback returned {status} without a text");
        }
        let status = known.map_or(situ_status::Internal, |(known, _)| *known);
        let error = Failed { status, text }.into();
        Err(match status {
            situ_status::Removed | situ_status::Forked => Permanent(error).into(),
            situ_status::Held => Temporary(error).into(),
            _ => error,
        })
    }
}

/// The status and text of a failed callback.
fn failure_of(failure: &CallbackFailure) -> Failure {
    match failure.error().downcast_ref::<Failed>() {
        Some(failed) => Failure::new(failed.status, &failed.text),
        None => Failure::new(situ_status::Internal, failure),
    }
}

impl From<SpinError> for Failure {
    fn from(error: SpinError) -> Self {
        match error {
            SpinError::Failed(failure) => failure_of(&failure),
            SpinError::Wait(error) => error.into(),
            SpinError::Spinning => Self::new(situ_status::Busy, SpinError::Spinning),
            error @ SpinError::Thread { .. } => Self::new(situ_status::System, error),
        }
    }
}

/// Creates an executor.
///
/// # Safety
/// `node` is null or a live handle; the other pointers are null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn situ_executor_create(
    node: *const situ_node,
    executor: *mut *mut situ_executor,
    error: *mut situ_error,
) -> situ_status {
    let create = || {
        let target = target(executor, "executor")?;
        // SAFETY: the caller's promise.
        let executor = Executor::new(&unsafe { given(node, "node") }?.node)?;
        let made = Box::new(situ_executor { stopper: executor.stopper(), executor });
        // SAFETY: not null, and valid for writes as the caller promises.
        unsafe { target.write(Box::into_raw(made)) };
        Ok(situ_status::Ok)
    };
    // SAFETY: `error` is null or valid.
    unsafe { guard(error, create) }
}

/// Destroys an executor, and releases its callbacks.
///
/// # Safety
/// `executor` is null, or a live handle that is not used any more.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn situ_executor_destroy(executor: *mut situ_executor) {
    if !executor.is_null() {
        // SAFETY: it came from `Box::into_raw`, and the caller gives it up.
        guard_value(|| drop(unsafe { Box::from_raw(executor) }));
    }
}

/// Creates a callback group.
///
/// # Safety
/// The pointers are null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn situ_callback_group_create(
    exclusive: u32,
    group: *mut *mut situ_callback_group,
    error: *mut situ_error,
) -> situ_status {
    let create = || {
        let target = target(group, "group")?;
        let made = match exclusive {
            0 => CallbackGroup::reentrant(),
            _ => CallbackGroup::mutually_exclusive(),
        };
        // SAFETY: not null, and valid for writes as the caller promises.
        unsafe { target.write(Box::into_raw(Box::new(situ_callback_group(made)))) };
        Ok(situ_status::Ok)
    };
    // SAFETY: `error` is null or valid.
    unsafe { guard(error, create) }
}

/// Destroys a callback group. Callbacks keep it.
///
/// # Safety
/// `group` is null, or a live handle that is not used any more.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn situ_callback_group_destroy(group: *mut situ_callback_group) {
    if !group.is_null() {
        // SAFETY: it came from `Box::into_raw`, and the caller gives it up.
        guard_value(|| drop(unsafe { Box::from_raw(group) }));
    }
}

/// Where a callback is added, and what it is.
pub(crate) struct Added {
    pub(crate) executor: *mut situ_executor,
    pub(crate) group: *const situ_callback_group,
    pub(crate) callback: *const situ_callback,
    pub(crate) id: *mut u64,
    pub(crate) error: *mut situ_error,
}

impl Added {
    /// Adds the callback for a source.
    ///
    /// # Safety
    /// The handles are null or live, and the other pointers null or valid.
    pub(crate) unsafe fn add(self, source: impl FnOnce() -> Result<Source, Failure>) -> situ_status {
        let add = || {
            // SAFETY: the caller's promise.
            let callback = unsafe { given(self.callback, "callback") }?;
            let Some(call) = callback.call else {
                return Err(Failure::argument("`callback->call` is NULL"));
            };
            // From here on it is released, also if adding fails.
            let code = Code { call, release: callback.release, context: callback.context };
            let run = move |readiness| code.run(readiness);
            // SAFETY: the caller's promise.
            let (executor, group) = unsafe { (given(self.executor, "executor")?, self.group.as_ref()) };
            let (executor, source) = (&executor.executor, source()?);
            let added = match (group, callback.parallel) {
                (Some(group), 0) => executor.in_group(&group.0).add(source, run),
                (None, 0) => executor.add(source, run),
                (Some(group), _) => executor.in_group(&group.0).add_parallel(source, run),
                (None, _) => executor.add_parallel(source, run),
            }?;
            // SAFETY: valid for writes if it is not null.
            if let Some(id) = unsafe { self.id.as_mut() } {
                *id = added.to_number();
            }
            Ok(situ_status::Ok)
        };
        // SAFETY: `error` is null or valid.
        unsafe { guard(self.error, add) }
    }
}

/// Adds a callback for a subscriber.
///
/// # Safety The handles are null or live, and no other thread uses the subscriber. The callback's functions
/// may be called with its context, by the threads that spin. The other pointers are null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn situ_executor_add_subscriber(
    executor: *mut situ_executor,
    group: *const situ_callback_group,
    subscriber: *const situ_subscriber,
    callback: *const situ_callback,
    id: *mut u64,
    error: *mut situ_error,
) -> situ_status {
    let added = Added { executor, group, callback, id, error };
    // SAFETY: the caller's promise is passed on.
    unsafe { added.add(|| subscriber_source(subscriber)) }
}

/// Adds a callback for a guard condition.
///
/// # Safety
/// As for [`situ_executor_add_subscriber`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn situ_executor_add_guard_condition(
    executor: *mut situ_executor,
    group: *const situ_callback_group,
    condition: *const situ_guard_condition,
    callback: *const situ_callback,
    id: *mut u64,
    error: *mut situ_error,
) -> situ_status {
    let added = Added { executor, group, callback, id, error };
    // SAFETY: the caller's promise is passed on.
    unsafe { added.add(|| condition_source(condition)) }
}

/// Adds a callback for a timer.
///
/// # Safety
/// As for [`situ_executor_add_subscriber`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn situ_executor_add_timer(
    executor: *mut situ_executor,
    group: *const situ_callback_group,
    timer: *const situ_timer,
    callback: *const situ_callback,
    id: *mut u64,
    error: *mut situ_error,
) -> situ_status {
    let added = Added { executor, group, callback, id, error };
    // SAFETY: the caller's promise is passed on.
    unsafe { added.add(|| timer_source(timer)) }
}

/// Adds a callback for an event.
///
/// # Safety
/// As for [`situ_executor_add_subscriber`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn situ_executor_add_event(
    executor: *mut situ_executor,
    group: *const situ_callback_group,
    event: *const situ_event,
    callback: *const situ_callback,
    id: *mut u64,
    error: *mut situ_error,
) -> situ_status {
    let added = Added { executor, group, callback, id, error };
    // SAFETY: the caller's promise is passed on.
    unsafe { added.add(|| event_source(event)) }
}

/// Adds a callback for a descriptor.
///
/// # Safety
/// As for [`situ_executor_add_subscriber`], and `fd` stays open until the callback is removed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn situ_executor_add_descriptor(
    executor: *mut situ_executor,
    group: *const situ_callback_group,
    fd: c_int,
    io: u32,
    callback: *const situ_callback,
    id: *mut u64,
    error: *mut situ_error,
) -> situ_status {
    let added = Added { executor, group, callback, id, error };
    // SAFETY: the caller's promise is passed on.
    unsafe { added.add(|| descriptor(fd, io)) }
}

/// Removes a callback.
///
/// # Safety
/// `executor` is null or a live handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn situ_executor_remove(executor: *mut situ_executor, id: u64) -> i32 {
    // SAFETY: the caller's promise.
    let executor = unsafe { executor.as_ref() };
    let remove = |executor: &situ_executor| executor.executor.remove(SourceId::from_number(id));
    guard_value(|| executor.map_or(0, |executor| i32::from(remove(executor))))
}

/// The handler of the caller.
struct Handler {
    handle: Handle,
    context: *mut c_void,
}

// SAFETY: the header says that it runs on the threads that spin, one at a time.
unsafe impl Send for Handler {}

impl Handler {
    fn decide(&self, failure: &CallbackFailure) -> ControlFlow<()> {
        let mut error = situ_error { status: 0, text: [0; TEXT_SIZE] };
        // SAFETY: the error is valid for writes.
        unsafe { guard(&mut error, || Err(failure_of(failure))) };
        // SAFETY: the caller promises that it may be called; the error is valid during the call.
        match unsafe { (self.handle)(self.context, failure.id().to_number(), &error) } {
            0 => ControlFlow::Break(()),
            _ => ControlFlow::Continue(()),
        }
    }
}

/// Sets what decides after an error.
///
/// # Safety
/// `executor` is null or a live handle. `handle` is null or may be called with `context`, by the threads that
/// spin, until it is replaced or the executor is destroyed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn situ_executor_on_error(
    executor: *mut situ_executor,
    handle: Option<Handle>,
    context: *mut c_void,
) {
    // SAFETY: the caller's promise.
    let Some(executor) = (unsafe { executor.as_ref() }) else { return };
    guard_value(|| match handle {
        Some(handle) => {
            let handler = Handler { handle, context };
            executor.executor.on_error(move |failure| handler.decide(failure));
        }
        // What an executor without a handler does.
        None => executor.executor.on_error(|_| ControlFlow::Break(())),
    });
}

/// Lets threads look for something to do for a time before they sleep.
///
/// # Safety
/// `executor` is null or a live handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn situ_executor_busy_wait(executor: *mut situ_executor, limit_ns: u64) {
    // SAFETY: the caller's promise.
    let executor = unsafe { executor.as_ref() };
    let limit = Duration::from_nanos(limit_ns);
    guard_value(|| executor.map_or((), |executor| executor.executor.set_busy_wait(limit)));
}

/// Runs callbacks until the executor is stopped.
///
/// # Safety
/// `executor` is null or a live handle; `error` is null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn situ_executor_spin(
    executor: *mut situ_executor,
    threads: usize,
    error: *mut situ_error,
) -> situ_status {
    let spin = || {
        if threads == 0 {
            return Err(Failure::argument("`threads` is 0: at least the calling thread spins"));
        }
        // SAFETY: the caller's promise.
        unsafe { given(executor, "executor") }?.executor.spin_threads(threads)?;
        Ok(situ_status::Ok)
    };
    // SAFETY: `error` is null or valid.
    unsafe { guard(error, spin) }
}

/// Runs one callback.
///
/// # Safety
/// `executor` is null or a live handle; `error` is null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn situ_executor_spin_once(
    executor: *mut situ_executor,
    timeout_ns: u64,
    error: *mut situ_error,
) -> situ_status {
    let spin = || {
        // SAFETY: the caller's promise.
        let executor = unsafe { given(executor, "executor") }?;
        Ok(found(executor.executor.spin_once(limit(timeout_ns))?))
    };
    // SAFETY: `error` is null or valid.
    unsafe { guard(error, spin) }
}

/// Runs each callback that is ready now once.
///
/// # Safety
/// `executor` is null or a live handle; `count` and `error` are null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn situ_executor_spin_some(
    executor: *mut situ_executor,
    count: *mut usize,
    error: *mut situ_error,
) -> situ_status {
    let spin = || {
        // SAFETY: the caller's promise.
        let ran = unsafe { given(executor, "executor") }?.executor.spin_some()?;
        // SAFETY: valid for writes if it is not null.
        if let Some(count) = unsafe { count.as_mut() } {
            *count = ran;
        }
        Ok(situ_status::Ok)
    };
    // SAFETY: `error` is null or valid.
    unsafe { guard(error, spin) }
}

/// Stops an executor. A signal handler may call this.
///
/// # Safety
/// `executor` is null or a live handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn situ_executor_stop(executor: *const situ_executor) {
    // SAFETY: the caller's promise. The call cannot panic, so it does nothing that a signal handler must not
    // do.
    if let Some(executor) = unsafe { executor.as_ref() } {
        executor.stopper.stop();
    }
}

/// Returns the executor's descriptor.
///
/// # Safety
/// `executor` is null or a live handle; `fd` and `error` are null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn situ_executor_fd(
    executor: *mut situ_executor,
    fd: *mut c_int,
    error: *mut situ_error,
) -> situ_status {
    let make = || {
        let target = target(fd, "fd")?;
        // SAFETY: the caller's promise.
        let made = unsafe { given(executor, "executor") }?.executor.fd()?;
        // SAFETY: not null, and valid as the caller promises.
        unsafe { target.write(made) };
        Ok(situ_status::Ok)
    };
    // SAFETY: `error` is null or valid.
    unsafe { guard(error, make) }
}
