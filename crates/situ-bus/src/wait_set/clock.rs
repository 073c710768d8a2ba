//! The clocks that timers follow: the machine's steady clock, or a clock that a program sets.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use crate::clock::now_ns;
use crate::wait_set::bell::Bell;

/// A clock that timers follow. Cheap to clone.
#[derive(Debug, Clone, Default)]
pub struct Clock {
    simulated: Option<Arc<Simulated>>,
}

/// A clock that the program sets, for simulated time. It stands still until it is set, advanced or started.
/// Clones are the same clock.
///
/// ```
/// use std::time::Duration;
/// use situ_bus::SimulatedClock;
///
/// let clock = SimulatedClock::new(Duration::from_secs(100));
/// clock.advance(Duration::from_secs(5));
/// assert_eq!(clock.now(), Duration::from_secs(105));
/// clock.set(Duration::from_secs(3));
/// assert_eq!(clock.now(), Duration::from_secs(3));
/// ```
#[derive(Debug, Clone)]
pub struct SimulatedClock {
    shared: Arc<Simulated>,
}

#[derive(Debug)]
struct Simulated {
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    /// The time at `since`, which is a time of the steady clock.
    base_ns: u64,
    since_ns: u64,
    /// Simulated seconds in one second. 0: it stands still.
    rate: f64,
    /// How often the time was set to an earlier one.
    jumps: u64,
    /// The sets that have timers by this clock.
    listeners: Vec<Weak<Bell>>,
}

impl State {
    fn now_ns(&self) -> u64 {
        if self.rate == 0.0 {
            return self.base_ns;
        }
        let passed = now_ns().saturating_sub(self.since_ns) as f64 * self.rate;
        self.base_ns.saturating_add(passed as u64)
    }
}

impl Simulated {
    fn lock(&self) -> MutexGuard<'_, State> {
        // Each change is one assignment, so a panic leaves it consistent.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes the time or the rate, and wakes the sets that have timers by it.
    fn change(&self, change: impl FnOnce(&mut State, u64)) {
        let mut state = self.lock();
        let before = state.now_ns();
        (state.base_ns, state.since_ns) = (before, now_ns());
        change(&mut state, before);
        if state.base_ns < before {
            state.jumps += 1;
        }
        state.listeners.retain(|bell| bell.upgrade().inspect(|bell| bell.wake()).is_some());
    }
}

fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

impl Clock {
    /// The machine's steady clock, `CLOCK_MONOTONIC`, which never jumps.
    pub fn steady() -> Self {
        Self::default()
    }

    /// The present time: since the machine's start, or what a simulated clock was set to.
    pub fn now(&self) -> Duration {
        Duration::from_nanos(self.now_ns())
    }

    pub(crate) fn now_ns(&self) -> u64 {
        self.simulated.as_ref().map_or_else(now_ns, |simulated| simulated.lock().now_ns())
    }

    /// How long to wait until this time, or `None` if the clock stands still.
    pub(crate) fn until(&self, due_ns: u64) -> Option<Duration> {
        let Some(simulated) = &self.simulated else {
            return Some(Duration::from_nanos(due_ns.saturating_sub(now_ns())));
        };
        let state = simulated.lock();
        let left = due_ns.saturating_sub(state.now_ns());
        // Rounded up, so that the timer is due when the wait ends.
        (left == 0 || state.rate > 0.0)
            .then(|| Duration::from_nanos(if left == 0 { 0 } else { (left as f64 / state.rate) as u64 + 1 }))
    }

    /// How often the time was set to an earlier one.
    pub(crate) fn jumps(&self) -> u64 {
        self.simulated.as_ref().map_or(0, |simulated| simulated.lock().jumps)
    }

    /// Wakes the thread behind `bell` at each change of the time.
    pub(crate) fn listen(&self, bell: &Arc<Bell>) {
        if let Some(simulated) = &self.simulated {
            let mut state = simulated.lock();
            state.listeners.retain(|other| other.strong_count() > 0);
            state.listeners.push(Arc::downgrade(bell));
        }
    }

    /// Whether both are the same clock.
    pub(crate) fn is(&self, other: &Self) -> bool {
        match (&self.simulated, &other.simulated) {
            (None, None) => true,
            (Some(one), Some(other)) => Arc::ptr_eq(one, other),
            _ => false,
        }
    }
}

impl SimulatedClock {
    /// A clock that stands still at this time.
    pub fn new(time: Duration) -> Self {
        let state = State {
            base_ns: nanoseconds(time),
            since_ns: now_ns(),
            rate: 0.0,
            jumps: 0,
            listeners: Vec::new(),
        };
        Self { shared: Arc::new(Simulated { state: Mutex::new(state) }) }
    }

    /// The clock for timers.
    pub fn clock(&self) -> Clock {
        Clock { simulated: Some(self.shared.clone()) }
    }

    /// The present time.
    pub fn now(&self) -> Duration {
        Duration::from_nanos(self.shared.lock().now_ns())
    }

    /// Sets the time. Timers that are due by then are due now, each once. After a step back, each timer
    /// starts its period again.
    pub fn set(&self, time: Duration) {
        self.shared.change(|state, _| state.base_ns = nanoseconds(time));
    }

    /// Advances the time.
    pub fn advance(&self, by: Duration) {
        self.shared.change(|state, before| state.base_ns = before.saturating_add(nanoseconds(by)));
    }

    /// Lets the time pass by itself: `rate` simulated seconds in each second. With 0, a negative number or
    /// NaN it stands still.
    pub fn run(&self, rate: f64) {
        self.shared.change(|state, _| state.rate = if rate > 0.0 { rate } else { 0.0 });
    }

    /// Stops the time.
    pub fn pause(&self) {
        self.run(0.0);
    }

    /// Whether the time stands still.
    pub fn is_paused(&self) -> bool {
        self.shared.lock().rate == 0.0
    }
}

impl From<&SimulatedClock> for Clock {
    fn from(clock: &SimulatedClock) -> Self {
        clock.clock()
    }
}
