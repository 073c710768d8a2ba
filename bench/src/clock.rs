//! A clock that is cheap enough for single hops: the time-stamp counter if the kernel trusts it, otherwise
//! CLOCK_MONOTONIC.

use std::sync::OnceLock;

use crate::os::monotonic_ns;

struct Scale {
    /// Nanoseconds of a tick. Exactly one if the kernel's clock is used.
    ns: f64,
    counter: bool,
}

static SCALE: OnceLock<Scale> = OnceLock::new();

fn scale() -> &'static Scale {
    SCALE.get_or_init(|| {
        if !trusted() {
            return Scale { ns: 1.0, counter: false };
        }
        let (t0, c0) = (monotonic_ns(), counter());
        while monotonic_ns() - t0 < 10_000_000 {}
        let (t1, c1) = (monotonic_ns(), counter());
        Scale { ns: (t1 - t0) as f64 / (c1 - c0) as f64, counter: true }
    })
}

fn trusted() -> bool {
    cfg!(target_arch = "x86_64")
        && std::fs::read_to_string("/sys/devices/system/clocksource/clocksource0/current_clocksource")
            .is_ok_and(|source| source.trim() == "tsc")
}

#[cfg(target_arch = "x86_64")]
fn counter() -> u64 {
    // SAFETY: every x86-64 processor has the instruction.
    unsafe { core::arch::x86_64::_rdtsc() }
}

#[cfg(not(target_arch = "x86_64"))]
fn counter() -> u64 {
    monotonic_ns()
}

/// A stopwatch. The clock is chosen when it is created.
#[derive(Clone, Copy)]
pub struct Clock {
    ns: f64,
    counter: bool,
}

impl Clock {
    /// Chooses and calibrates the clock, once for each process.
    pub fn new() -> Self {
        let scale = scale();
        Self { ns: scale.ns, counter: scale.counter }
    }

    /// Now, in ticks.
    #[inline(always)]
    pub fn now(self) -> u64 {
        if self.counter { counter() } else { monotonic_ns() }
    }

    /// Converts ticks to nanoseconds.
    #[inline(always)]
    pub fn ns(self, ticks: u64) -> f64 {
        ticks as f64 * self.ns
    }
}
