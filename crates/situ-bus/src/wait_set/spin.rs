//! Looks for something ready for a short time before a wait sleeps.
//!
//! A sleep costs both sides a system call, and the waiting side the time until its core runs it again: 2 us
//! to 20 us, more on virtual machines. A thread that waits for an answer which comes sooner saves all of this
//! if it keeps looking, and the publisher then finds no sleeper to wake.
//!
//! A thread spins only where that has paid off: each wait tells how long it took, whether it slept or not. If
//! waits are longer than the limit, no time is spent on looking. So a program that waits for the next image
//! of a camera never spins.
//!
//! While it spins, the thread offers its core to others every few microseconds. If another thread takes it,
//! the core has something better to do: this thread sleeps at once.

use std::time::Duration;

use crate::clock::now_ns;

/// How sure one must be to spin: the number of short waits in a row.
const ENOUGH: u8 = 8;
/// The most that is remembered of short waits.
const MOST: u8 = 16;
/// How much one long wait outweighs short ones.
const LONG_WEIGHT: u8 = 4;
/// How often the core is offered to other threads.
const OFFER_NS: u64 = 3_000;
/// If the core comes back later than this, another thread had it. A call that finds no other thread takes
/// less than 1 us.
const TAKEN_NS: u64 = 5_000;
/// How many pauses of the core lie between two looks.
const PAUSES: u32 = 4;

/// What a waiting thread knows of its waits.
#[derive(Debug, Default)]
pub(crate) struct Spin {
    short_waits: u8,
}

impl Spin {
    /// Whether looking is likely to find something in time.
    pub(crate) fn is_promising(&self) -> bool {
        self.short_waits >= ENOUGH
    }

    /// A wait has ended. It found something within the limit, or not.
    pub(crate) fn learn(&mut self, is_short: bool) {
        self.short_waits = if is_short {
            (self.short_waits + 1).min(MOST)
        } else {
            self.short_waits.saturating_sub(LONG_WEIGHT)
        };
    }

    /// Calls `look` until it returns true, at most for `time`. Returns whether it did.
    pub(crate) fn until(&mut self, time: Duration, mut look: impl FnMut() -> bool) -> bool {
        let begin = now_ns();
        let end = begin.saturating_add(time.as_nanos() as u64);
        let mut offer_at = begin + OFFER_NS;
        loop {
            if look() {
                return true;
            }
            for _ in 0..PAUSES {
                std::hint::spin_loop();
            }
            let now = now_ns();
            if now >= end {
                return false;
            }
            if now >= offer_at {
                std::thread::yield_now();
                let back = now_ns();
                if back - now > TAKEN_NS {
                    self.short_waits = 0;
                    return look();
                }
                offer_at = back + OFFER_NS;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_spins_after_short_waits_and_stops_after_long_ones() {
        let mut spin = Spin::default();
        for _ in 0..7 {
            spin.learn(true);
            assert!(!spin.is_promising());
        }
        spin.learn(true);
        assert!(spin.is_promising());
        // One long wait among many short ones changes nothing, three do.
        (0..100).for_each(|_| spin.learn(true));
        spin.learn(false);
        assert!(spin.is_promising());
        spin.learn(false);
        spin.learn(false);
        assert!(!spin.is_promising());
    }

    #[test]
    fn looking_ends_with_success_or_with_the_time() {
        let mut looks = 0;
        let found = Spin::default().until(Duration::from_secs(3600), || {
            looks += 1;
            looks == 3
        });
        // It may have ended early because another thread had the core.
        assert!(found || looks >= 1);
        assert!(!Spin::default().until(Duration::from_micros(10), || false));
    }
}
