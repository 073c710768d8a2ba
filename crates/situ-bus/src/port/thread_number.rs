//! The number of a thread.

use std::cell::Cell;

use crate::node::liveness::unique;

/// A number that no other thread of the machine has.
#[inline]
pub(crate) fn this_thread() -> u64 {
    thread_local! { static THREAD: Cell<u64> = const { Cell::new(0) } }
    // A thread that is ending has no number.
    THREAD
        .try_with(|thread| match thread.get() {
            0 => {
                thread.set(unique() | 1);
                thread.get()
            }
            known => known,
        })
        .unwrap_or(0)
}
