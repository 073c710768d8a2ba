//! Waits for a moment: sleeps until shortly before it, and then watches the clock.

use std::time::{Duration, Instant};

/// Waits for moments, and learns how late the system wakes this thread.
///
/// A thread that sleeps until a moment always wakes after it, by some 50 microseconds on an idle machine and
/// by more on others. This one sleeps until that much earlier, and spends the rest awake.
#[derive(Debug, Default)]
pub(super) struct Alarm {
    /// How much too late a sleep ended lately, at most.
    early: Duration,
}

impl Alarm {
    /// The longest time spent awake before a moment. It bounds what a wait costs.
    const MOST: Duration = Duration::from_micros(200);

    /// Returns at a moment, or soon after it.
    pub(super) fn wait_until(&mut self, due: Instant) {
        let left = due.saturating_duration_since(Instant::now());
        if let Some(sleep) = left.checked_sub(self.early).filter(|sleep| !sleep.is_zero()) {
            let wake = Instant::now() + sleep;
            std::thread::sleep(sleep);
            self.learn(wake.elapsed());
        }
        while Instant::now() < due {
            std::hint::spin_loop();
        }
    }

    /// Notes how late a sleep ended. What was noted before counts less and less.
    fn learn(&mut self, late: Duration) {
        self.early = late.max(self.early - self.early / 64).min(Self::MOST);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_early_by_the_delay_of_the_last_sleeps_but_not_without_limit() {
        let mut alarm = Alarm::default();
        let micros = |alarm: &Alarm| alarm.early.as_nanos() as f64 / 1000.0;
        alarm.learn(Duration::from_micros(64));
        assert_eq!(micros(&alarm), 64.0);
        alarm.learn(Duration::from_micros(10));
        assert_eq!(micros(&alarm), 63.0);
        alarm.learn(Duration::from_secs(1));
        assert_eq!(alarm.early, Alarm::MOST);
        for _ in 0..1000 {
            alarm.learn(Duration::from_micros(5));
        }
        assert_eq!(micros(&alarm), 5.0);
    }

    #[test]
    fn a_wait_never_ends_before_its_moment() {
        let mut alarm = Alarm::default();
        for micros in [0, 1, 50, 300, 1000, 5000, 20, 400] {
            let due = Instant::now() + Duration::from_micros(micros);
            alarm.wait_until(due);
            assert!(Instant::now() >= due);
        }
        alarm.wait_until(Instant::now() - Duration::from_secs(1));
    }
}
