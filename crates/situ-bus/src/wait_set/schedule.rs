//! Which timer of a set is due next: one heap for each clock.
//!
//! A timer that is reset or cancelled stays in its heap. When its old time comes, the set looks at the timer
//! and puts it where it belongs. An entry that was replaced by an earlier one is dropped when it comes up, or
//! when such entries are the majority.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::Arc;
use std::time::Duration;

use crate::wait_set::bell::Bell;
use crate::wait_set::clock::Clock;

/// Entries that may be replaced before a heap is cleaned.
const SPARE: usize = 64;

/// The timers of one clock.
#[derive(Debug)]
struct Heap {
    clock: Clock,
    /// How many attached timers follow the clock.
    timers: usize,
    /// The jumps back that the set has seen.
    jumps: u64,
    entries: BinaryHeap<Reverse<(u64, u64)>>,
}

/// All timers of a set.
#[derive(Debug, Default)]
pub(crate) struct Schedule {
    heaps: Vec<Heap>,
}

impl Schedule {
    /// Adds a timer of this clock. Changes of the clock wake the set from now on.
    pub(crate) fn add(&mut self, clock: &Clock, bell: &Arc<Bell>) {
        if let Some(heap) = self.heaps.iter_mut().find(|heap| heap.clock.is(clock)) {
            heap.timers += 1;
            return;
        }
        clock.listen(bell);
        let (clock, jumps) = (clock.clone(), clock.jumps());
        self.heaps.push(Heap { clock, timers: 1, jumps, entries: BinaryHeap::new() });
    }

    /// Removes a timer of this clock.
    pub(crate) fn remove(&mut self, clock: &Clock) {
        if let Some(index) = self.heaps.iter().position(|heap| heap.clock.is(clock)) {
            self.heaps[index].timers -= 1;
            if self.heaps[index].timers == 0 {
                self.heaps.swap_remove(index);
            }
        }
    }

    /// The set looks at the timer `key` at this time. `is_valid` tells whether an entry was not replaced.
    pub(crate) fn at(&mut self, clock: &Clock, due_ns: u64, key: u64, is_valid: impl Fn(u64, u64) -> bool) {
        let Some(heap) = self.heaps.iter_mut().find(|heap| heap.clock.is(clock)) else { return };
        if heap.entries.len() > 2 * heap.timers + SPARE {
            heap.entries.retain(|Reverse((due_ns, key))| is_valid(*due_ns, *key));
        }
        heap.entries.push(Reverse((due_ns, key)));
    }

    /// Calls `due` with each entry whose time has come: its time, its key, and the present time of its clock.
    pub(crate) fn pop_due(&mut self, mut due: impl FnMut(u64, u64)) {
        for heap in &mut self.heaps {
            if heap.entries.is_empty() {
                continue;
            }
            let now_ns = heap.clock.now_ns();
            while let Some(Reverse((due_ns, key))) = heap.entries.peek().copied()
                && due_ns <= now_ns
            {
                heap.entries.pop();
                due(due_ns, key);
            }
        }
    }

    /// Whether a clock was set back since the last call.
    pub(crate) fn has_jumped_back(&mut self) -> bool {
        let mut jumped = false;
        for heap in &mut self.heaps {
            let jumps = heap.clock.jumps();
            jumped |= std::mem::replace(&mut heap.jumps, jumps) != jumps;
        }
        jumped
    }

    /// The time until the first entry comes up. `None` if there is none, or the clocks stand still.
    pub(crate) fn next(&self) -> Option<Duration> {
        let first = |heap: &Heap| {
            let Reverse((due_ns, _)) = heap.entries.peek()?;
            heap.clock.until(*due_ns)
        };
        self.heaps.iter().filter_map(first).min()
    }
}
