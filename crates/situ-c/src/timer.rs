//! Guard conditions, clocks and timers for C.

use std::time::Duration;

use situ_bus::{Clock, GuardCondition, SimulatedClock, Timer, TimerCall, now_ns};

use crate::error::{guard, guard_value, situ_error, situ_status};
use crate::types::{FOREVER, given, target};

/// `situ_guard_condition`.
pub struct situ_guard_condition(pub(crate) GuardCondition);

/// `situ_clock`.
pub struct situ_clock(SimulatedClock);

/// `situ_timer`.
pub struct situ_timer(pub(crate) Timer);

/// `situ_timer_call`.
#[repr(C)]
#[derive(Debug, Default, Clone, Copy)]
pub struct situ_timer_call {
    pub scheduled_ns: u64,
    pub reported_ns: u64,
    pub missed: u64,
}

/// `situ_timer_state`.
#[repr(C)]
#[derive(Debug, Default, Clone, Copy)]
pub struct situ_timer_state {
    pub period_ns: u64,
    pub left_ns: u64,
    pub calls: u64,
    pub missed: u64,
    pub last: situ_timer_call,
}

/// Nanoseconds, at most the largest number.
fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

impl From<TimerCall> for situ_timer_call {
    fn from(call: TimerCall) -> Self {
        Self {
            scheduled_ns: nanoseconds(call.scheduled),
            reported_ns: nanoseconds(call.reported),
            missed: call.missed,
        }
    }
}

/// Creates a guard condition.
///
/// # Safety
/// The pointers are null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn situ_guard_condition_create(
    condition: *mut *mut situ_guard_condition,
    error: *mut situ_error,
) -> situ_status {
    let create = || {
        let target = target(condition, "condition")?;
        let made = Box::new(situ_guard_condition(GuardCondition::new()));
        // SAFETY: not null, and valid for writes as the caller promises.
        unsafe { target.write(Box::into_raw(made)) };
        Ok(situ_status::Ok)
    };
    // SAFETY: `error` is null or valid.
    unsafe { guard(error, create) }
}

/// Destroys a guard condition.
///
/// # Safety
/// `condition` is null, or a live handle that is not used any more.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn situ_guard_condition_destroy(condition: *mut situ_guard_condition) {
    if !condition.is_null() {
        // SAFETY: it came from `Box::into_raw`, and the caller gives it up.
        guard_value(|| drop(unsafe { Box::from_raw(condition) }));
    }
}

/// Triggers a guard condition. A signal handler may call this.
///
/// # Safety
/// `condition` is null or a live handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn situ_guard_condition_trigger(condition: *const situ_guard_condition) {
    // SAFETY: the caller's promise. The call cannot panic, so it does nothing that a signal handler must not
    // do.
    if let Some(condition) = unsafe { condition.as_ref() } {
        condition.0.trigger();
    }
}

/// Whether a guard condition was triggered and not reported yet.
///
/// # Safety
/// `condition` is null or a live handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn situ_guard_condition_is_triggered(condition: *const situ_guard_condition) -> i32 {
    // SAFETY: the caller's promise.
    unsafe { condition.as_ref() }.map_or(0, |condition| i32::from(condition.0.is_triggered()))
}

/// Creates a simulated clock.
///
/// # Safety
/// The pointers are null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn situ_clock_create(
    time_ns: u64,
    clock: *mut *mut situ_clock,
    error: *mut situ_error,
) -> situ_status {
    let create = || {
        let target = target(clock, "clock")?;
        let made = Box::new(situ_clock(SimulatedClock::new(Duration::from_nanos(time_ns))));
        // SAFETY: not null, and valid for writes as the caller promises.
        unsafe { target.write(Box::into_raw(made)) };
        Ok(situ_status::Ok)
    };
    // SAFETY: `error` is null or valid.
    unsafe { guard(error, create) }
}

/// Destroys a simulated clock. Timers keep it.
///
/// # Safety
/// `clock` is null, or a live handle that is not used any more.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn situ_clock_destroy(clock: *mut situ_clock) {
    if !clock.is_null() {
        // SAFETY: it came from `Box::into_raw`, and the caller gives it up.
        guard_value(|| drop(unsafe { Box::from_raw(clock) }));
    }
}

/// The time of a simulated clock, or of the steady clock.
///
/// # Safety
/// `clock` is null or a live handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn situ_clock_now(clock: *const situ_clock) -> u64 {
    // SAFETY: the caller's promise.
    let clock = unsafe { clock.as_ref() };
    guard_value(|| clock.map_or_else(now_ns, |clock| nanoseconds(clock.0.now())))
}

/// Calls `change` with a clock.
///
/// # Safety
/// `clock` is null or a live handle.
unsafe fn change(clock: *const situ_clock, change: impl FnOnce(&SimulatedClock)) {
    // SAFETY: the caller's promise.
    if let Some(clock) = unsafe { clock.as_ref() } {
        guard_value(|| change(&clock.0));
    }
}

/// Sets a simulated clock.
///
/// # Safety
/// `clock` is null or a live handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn situ_clock_set(clock: *const situ_clock, time_ns: u64) {
    // SAFETY: the caller's promise is passed on.
    unsafe { change(clock, |clock| clock.set(Duration::from_nanos(time_ns))) };
}

/// Advances a simulated clock.
///
/// # Safety
/// `clock` is null or a live handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn situ_clock_advance(clock: *const situ_clock, by_ns: u64) {
    // SAFETY: the caller's promise is passed on.
    unsafe { change(clock, |clock| clock.advance(Duration::from_nanos(by_ns))) };
}

/// Lets a simulated clock run.
///
/// # Safety
/// `clock` is null or a live handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn situ_clock_run(clock: *const situ_clock, rate: f64) {
    // SAFETY: the caller's promise is passed on.
    unsafe { change(clock, |clock| clock.run(rate)) };
}

/// Whether a simulated clock stands still.
///
/// # Safety
/// `clock` is null or a live handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn situ_clock_is_paused(clock: *const situ_clock) -> i32 {
    // SAFETY: the caller's promise.
    let clock = unsafe { clock.as_ref() };
    guard_value(|| clock.map_or(0, |clock| i32::from(clock.0.is_paused())))
}

/// Creates a timer.
///
/// # Safety
/// `clock` is null or a live handle; the other pointers are null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn situ_timer_create(
    clock: *const situ_clock,
    period_ns: u64,
    once: u32,
    timer: *mut *mut situ_timer,
    error: *mut situ_error,
) -> situ_status {
    let create = || {
        let target = target(timer, "timer")?;
        // SAFETY: the caller's promise.
        let clock = unsafe { clock.as_ref() }.map_or_else(Clock::steady, |clock| clock.0.clock());
        let period = Duration::from_nanos(period_ns);
        let timer = match once {
            0 => Timer::periodic_by(&clock, period)?,
            _ => Timer::one_shot_by(&clock, period)?,
        };
        // SAFETY: not null, and valid for writes as the caller promises.
        unsafe { target.write(Box::into_raw(Box::new(situ_timer(timer)))) };
        Ok(situ_status::Ok)
    };
    // SAFETY: `error` is null or valid.
    unsafe { guard(error, create) }
}

/// Destroys a timer.
///
/// # Safety
/// `timer` is null, or a live handle that is not used any more.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn situ_timer_destroy(timer: *mut situ_timer) {
    if !timer.is_null() {
        // SAFETY: it came from `Box::into_raw`, and the caller gives it up.
        guard_value(|| drop(unsafe { Box::from_raw(timer) }));
    }
}

/// Starts a timer's period again.
///
/// # Safety
/// `timer` is null or a live handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn situ_timer_reset(timer: *const situ_timer) {
    // SAFETY: the caller's promise.
    if let Some(timer) = unsafe { timer.as_ref() } {
        guard_value(|| timer.0.reset());
    }
}

/// Stops a timer.
///
/// # Safety
/// `timer` is null or a live handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn situ_timer_cancel(timer: *const situ_timer) {
    // SAFETY: the caller's promise.
    if let Some(timer) = unsafe { timer.as_ref() } {
        guard_value(|| timer.0.cancel());
    }
}

/// Changes a timer's period.
///
/// # Safety
/// `timer` is null or a live handle; `error` is null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn situ_timer_set_period(
    timer: *const situ_timer,
    period_ns: u64,
    error: *mut situ_error,
) -> situ_status {
    let set = || {
        // SAFETY: the caller's promise.
        unsafe { given(timer, "timer") }?.0.set_period(Duration::from_nanos(period_ns))?;
        Ok(situ_status::Ok)
    };
    // SAFETY: `error` is null or valid.
    unsafe { guard(error, set) }
}

/// The state of a timer.
///
/// # Safety
/// `timer` is null or a live handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn situ_timer_get_state(timer: *const situ_timer) -> situ_timer_state {
    guard_value(|| {
        // SAFETY: the caller's promise.
        let Some(situ_timer(timer)) = (unsafe { timer.as_ref() }) else { return Default::default() };
        situ_timer_state {
            period_ns: nanoseconds(timer.period()),
            left_ns: timer.left().map_or(FOREVER, nanoseconds),
            calls: timer.calls(),
            missed: timer.missed(),
            last: timer.last_call().into(),
        }
    })
}
