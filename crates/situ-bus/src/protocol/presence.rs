//! Whether a topic has a subscriber, as a publisher remembers it until members come or go.
//!
//! Each call of a service asks twice: the client for a server, and the server for the client. The answer is in
//! the place of the other side, on the cache line of its cursor, which it writes with every message that it
//! takes. To read the answer there costs a transfer of that line in each direction. So it is remembered with
//! the number of changes of the topic's members. The words that count them share their cache lines with words
//! that a publisher reads anyway, and change only when members do.
//!
//! ```text
//!   one that asks                      member that leaves, or a process that finds it dead
//!   1. c = changes         (SeqCst)    1. state of the place: gone   (SeqCst)
//!   2. a place is taken?   (SeqCst)    2. changes += 1               (SeqCst)
//!      yes: remembers c
//! ```
//!
//! Suppose that the answer is remembered although the member's 1 is over. Then 2 came before the member's 1,
//! so *c* is from before its 2. From the member's 2 on, `changes` is another number, and the places are read
//! again. Absence is never remembered.
//!
//! A process that dies between its 1 and 2, or that may not write `changes`, leaves an answer that is not
//! true any more. So the caller [forgets](Presence::forget) it whenever it looks after the other side's
//! process, which happens every few milliseconds.

use std::cell::Cell;

/// Whether a topic has a subscriber.
#[derive(Debug, Default)]
pub struct Presence {
    /// The number of changes before a subscriber was seen.
    seen: Cell<Option<u64>>,
}

impl Presence {
    /// Whether there is a subscriber. `changes` counts the changes of members, and `look` reads the places.
    #[inline]
    pub fn is_there(&self, changes: impl FnOnce() -> u64, look: impl FnOnce() -> bool) -> bool {
        let changes = changes();
        self.seen.get() == Some(changes) || self.look(changes, look)
    }

    #[cold]
    #[inline(never)]
    fn look(&self, changes: u64, look: impl FnOnce() -> bool) -> bool {
        let is_there = look();
        self.seen.set(is_there.then_some(changes));
        is_there
    }

    /// Reads the places when it is asked the next time.
    pub fn forget(&self) {
        self.seen.set(None);
    }
}
