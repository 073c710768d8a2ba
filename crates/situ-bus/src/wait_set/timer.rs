//! Timers: periodic or one shot, by the steady clock or by a simulated one.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::wait_set::clock::Clock;
use crate::wait_set::guard_condition::Target;

/// A timer for a wait set or an executor. It runs from its creation on, and may be attached to one set at a
/// time. Clones are the same timer.
///
/// A periodic timer keeps its phase: it is due at its start plus a multiple of its period. If several periods
/// pass before it is reported, it is reported once, with the number of [missed](TimerCall::missed) periods. A
/// burst never follows.
#[derive(Debug, Clone)]
pub struct Timer {
    pub(crate) shared: Arc<TimerShared>,
}

/// Why a timer cannot be made.
#[derive(Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum TimerError {
    /// The period is zero.
    #[error("a period of 0 has no end: use a period of 1 ns or more, or a guard condition")]
    ZeroPeriod,
    /// The period is too long.
    #[error("a time of {0:?} is too long for a timer: the longest is 584 years")]
    TooLong(Duration),
}

situ_layout::debug_as_text!(TimerError);

/// One report of a timer.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TimerCall {
    /// When the timer was due, by its clock.
    pub scheduled: Duration,
    /// When it was reported, by its clock.
    pub reported: Duration,
    /// The number of whole periods that passed without a report before this one.
    pub missed: u64,
}

#[derive(Debug)]
pub(crate) struct TimerShared {
    clock: Clock,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    period_ns: u64,
    is_periodic: bool,
    /// When it is due. `None`: it was cancelled, or its one shot is over.
    due_ns: Option<u64>,
    calls: u64,
    missed: u64,
    last: TimerCall,
    target: Option<Target>,
    /// The due time that the set knows of. An earlier one has to be reported to the set.
    known_ns: u64,
}

/// What a set finds when it looks at a timer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Looked {
    /// It was due, and is due again then.
    Due(Option<u64>),
    /// It is due then.
    Later(u64),
    /// It does not run.
    Idle,
}

impl Timer {
    /// A timer that is due after each period of the steady clock.
    pub fn periodic(period: Duration) -> Result<Self, TimerError> {
        Self::periodic_by(&Clock::steady(), period)
    }

    /// A timer that is due after each period of this clock.
    pub fn periodic_by(clock: &Clock, period: Duration) -> Result<Self, TimerError> {
        Self::new(clock, period, true)
    }

    /// A timer that is due once, after this time of the steady clock, and again after each
    /// [`reset`](Self::reset).
    pub fn one_shot(delay: Duration) -> Result<Self, TimerError> {
        Self::one_shot_by(&Clock::steady(), delay)
    }

    /// A timer that is due once, after this time of the clock, and again after each [`reset`](Self::reset).
    pub fn one_shot_by(clock: &Clock, delay: Duration) -> Result<Self, TimerError> {
        Self::new(clock, delay, false)
    }

    fn new(clock: &Clock, period: Duration, is_periodic: bool) -> Result<Self, TimerError> {
        let period_ns = checked(period, is_periodic)?;
        let due_ns = Some(clock.now_ns().saturating_add(period_ns));
        Ok(Self::with(clock, period_ns, is_periodic, due_ns))
    }

    /// A timer by the steady clock that does not run until [`TimerShared::start_by`].
    pub(crate) fn stopped() -> Self {
        Self::with(&Clock::steady(), 0, false, None)
    }

    fn with(clock: &Clock, period_ns: u64, is_periodic: bool, due_ns: Option<u64>) -> Self {
        let state = State {
            period_ns,
            is_periodic,
            due_ns,
            calls: 0,
            missed: 0,
            last: TimerCall::default(),
            target: None,
            known_ns: u64::MAX,
        };
        let clock = clock.clone();
        Self { shared: Arc::new(TimerShared { clock, state: Mutex::new(state) }) }
    }

    /// Starts its period again, also after it was cancelled.
    pub fn reset(&self) {
        let due_ns = self.shared.clock.now_ns().saturating_add(self.shared.lock().period_ns);
        self.shared.start(due_ns);
    }

    /// Changes its period, and starts it again.
    pub fn set_period(&self, period: Duration) -> Result<(), TimerError> {
        let mut state = self.shared.lock();
        state.period_ns = checked(period, state.is_periodic)?;
        drop(state);
        self.reset();
        Ok(())
    }

    /// Stops it until it is [reset](Self::reset). A report that a wait has returned already is not taken
    /// back.
    pub fn cancel(&self) {
        self.shared.lock().due_ns = None;
    }

    /// Whether it runs: it was not cancelled, and its one shot is not over.
    pub fn is_running(&self) -> bool {
        self.shared.lock().due_ns.is_some()
    }

    /// Its period, or the delay of its one shot.
    pub fn period(&self) -> Duration {
        Duration::from_nanos(self.shared.lock().period_ns)
    }

    /// The time until it is due, by its clock. `None` if it does not run.
    pub fn left(&self) -> Option<Duration> {
        let due_ns = self.shared.lock().due_ns?;
        Some(Duration::from_nanos(due_ns.saturating_sub(self.shared.clock.now_ns())))
    }

    /// How often it was reported.
    pub fn calls(&self) -> u64 {
        self.shared.lock().calls
    }

    /// How many periods passed without a report of their own.
    pub fn missed(&self) -> u64 {
        self.shared.lock().missed
    }

    /// Its last report. All zeroes before the first one.
    pub fn last_call(&self) -> TimerCall {
        self.shared.lock().last
    }

    /// The clock that it follows.
    pub fn clock(&self) -> &Clock {
        &self.shared.clock
    }
}

fn checked(period: Duration, is_periodic: bool) -> Result<u64, TimerError> {
    match u64::try_from(period.as_nanos()) {
        Ok(0) if is_periodic => Err(TimerError::ZeroPeriod),
        Ok(period_ns) => Ok(period_ns),
        Err(_) => Err(TimerError::TooLong(period)),
    }
}

impl TimerShared {
    fn lock(&self) -> MutexGuard<'_, State> {
        // Each change leaves the state consistent before anything can panic.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn clock(&self) -> &Clock {
        &self.clock
    }

    /// Sets when it is due, and tells the set if that is earlier than the set knows.
    fn start(&self, due_ns: u64) {
        self.start_in(self.lock(), due_ns);
    }

    /// Makes it due at this time, unless it is due before.
    pub(crate) fn start_by(&self, due_ns: u64) {
        let state = self.lock();
        if state.due_ns.is_none_or(|present_ns| due_ns < present_ns) {
            self.start_in(state, due_ns);
        }
    }

    fn start_in(&self, mut state: MutexGuard<'_, State>, due_ns: u64) {
        state.due_ns = Some(due_ns);
        // The set finds a later time when the earlier one has come. So a timer that is reset again and again,
        // as a watchdog is, makes no system call.
        if due_ns < state.known_ns {
            state.known_ns = due_ns;
            if let Some(target) = &state.target {
                target.bell.ring(&target.link);
            }
        }
    }

    /// Makes it tell this target. `false` if it is attached already.
    pub(crate) fn attach(&self, target: Target) -> bool {
        let mut state = self.lock();
        if state.target.is_some() {
            return false;
        }
        state.known_ns = u64::MAX;
        state.target = Some(target);
        true
    }

    /// Makes it tell nothing.
    pub(crate) fn detach(&self) {
        self.lock().target = None;
    }

    /// Starts the period again after the clock was set back.
    pub(crate) fn restart_after_jump(&self) {
        let now_ns = self.clock.now_ns();
        let mut state = self.lock();
        let latest = now_ns.saturating_add(state.period_ns);
        state.due_ns = state.due_ns.map(|due_ns| due_ns.min(latest));
    }

    /// Reports it if it is due.
    pub(crate) fn look(&self, now_ns: u64) -> Looked {
        let mut state = self.lock();
        let Some(due_ns) = state.due_ns else {
            state.known_ns = u64::MAX;
            return Looked::Idle;
        };
        if due_ns > now_ns {
            state.known_ns = due_ns;
            return Looked::Later(due_ns);
        }
        let missed = if state.is_periodic { (now_ns - due_ns) / state.period_ns } else { 0 };
        state.calls += 1;
        state.missed += missed;
        state.last = TimerCall {
            scheduled: Duration::from_nanos(due_ns),
            reported: Duration::from_nanos(now_ns),
            missed,
        };
        state.due_ns = state.is_periodic.then(|| {
            let passed = state.period_ns.saturating_mul(missed.saturating_add(1));
            due_ns.saturating_add(passed)
        });
        state.known_ns = state.due_ns.unwrap_or(u64::MAX);
        Looked::Due(state.due_ns)
    }
}
