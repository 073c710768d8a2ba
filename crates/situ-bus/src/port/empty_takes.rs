//! Which takes without a message read the clock.

use std::cell::Cell;

use crate::clock::coarse_ns;

/// A subscriber that is asked all the time reads the clock once in this many times.
const MAX_PASSED: u32 = 16;

/// Which takes without a message read the clock. Reading it takes longer than all else that such a take does,
/// so a loop that does nothing but take would notice its message later.
///
/// As long as the clock has moved since it was read, every take reads it. If it has not, the takes come
/// faster than the clock's ticks, and the number of takes that do not read it is doubled.
#[derive(Debug, Default)]
pub(crate) struct EmptyTakes {
    /// How many takes do not read the clock from now on.
    passing: Cell<u32>,
    /// How many were passed after the clock was read.
    passed: Cell<u32>,
    /// What it showed then.
    read_ns: Cell<u64>,
}

impl EmptyTakes {
    /// The time in some of the calls, otherwise `None`.
    #[inline(always)]
    pub(super) fn now_and_then(&self) -> Option<u64> {
        match self.passing.get() {
            0 => Some(self.read()),
            left => {
                self.passing.set(left - 1);
                None
            }
        }
    }

    /// Whether the last call read the clock.
    #[inline(always)]
    pub(crate) fn has_just_read(&self) -> bool {
        self.passing.get() == self.passed.get()
    }

    /// Makes the next call read the clock.
    pub(crate) fn reset(&self) {
        self.passed.set(0);
        self.passing.set(0);
    }

    #[cold]
    #[inline(never)]
    fn read(&self) -> u64 {
        let now = coarse_ns();
        let has_moved = self.read_ns.replace(now) != now;
        let passed = if has_moved { 0 } else { (self.passed.get() * 2 + 1).min(MAX_PASSED - 1) };
        self.passed.set(passed);
        self.passing.set(passed);
        now
    }
}
