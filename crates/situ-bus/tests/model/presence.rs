//! Models of what a publisher remembers of the other side: after a member has left, none is seen.

use std::sync::Arc;

use loom::thread;
use situ_bus::protocol::presence::Presence;
use situ_memory::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use super::explore;

/// A place, and the count of changes.
struct Members {
    is_taken: AtomicU32,
    changes: AtomicU64,
}

impl Members {
    fn look(&self) -> bool {
        self.is_taken.load(Ordering::SeqCst) != 0
    }
    fn changes(&self) -> u64 {
        self.changes.load(Ordering::SeqCst)
    }
    fn leave(&self) {
        self.is_taken.store(0, Ordering::SeqCst);
        self.changes.fetch_add(1, Ordering::SeqCst);
    }
    /// The same with both steps exchanged.
    fn leave_after_the_report(&self) {
        self.changes.fetch_add(1, Ordering::SeqCst);
        self.is_taken.store(0, Ordering::SeqCst);
    }
}

fn ask(members: &Members, presence: &Presence) -> bool {
    presence.is_there(|| members.changes(), || members.look())
}

/// The places are read before the count of changes.
fn ask_too_early(members: &Members, presence: &Presence) -> bool {
    let is_there = members.look();
    presence.is_there(|| members.changes(), || is_there)
}

fn leaves(
    leave: impl Fn(&Members) + Copy + Send + Sync + 'static,
    ask: impl Fn(&Members, &Presence) -> bool + Copy + Send + Sync + 'static,
) {
    explore(3, move || {
        let members = Arc::new(Members { is_taken: AtomicU32::new(1), changes: AtomicU64::new(0) });
        let member = {
            let members = members.clone();
            thread::spawn(move || leave(&members))
        };
        let presence = Presence::default();
        ask(&members, &presence);
        ask(&members, &presence);
        member.join().unwrap();
        assert!(!ask(&members, &presence), "a member that has left is remembered");
    });
}

#[test]
fn a_member_that_has_left_is_not_there() {
    leaves(Members::leave, ask);
}

#[test]
#[should_panic(expected = "is remembered")]
fn broken_a_member_reports_before_it_leaves() {
    leaves(Members::leave_after_the_report, ask);
}

#[test]
#[should_panic(expected = "is remembered")]
fn broken_places_are_read_before_the_count() {
    leaves(Members::leave, ask_too_early);
}
