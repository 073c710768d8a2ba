//! Models of growing: a ring is sealed while others publish into it and take from it.

use std::sync::Arc;

use loom::thread;
use situ_bus::protocol::ring::{ClaimError, Look, Reference, Ring};
use situ_bus::protocol::row;
use situ_memory::sync::atomic::Ordering;

use super::{Rows, admit, explore, slot};

/// Two rings. The second begins where the first is sealed.
struct Grown {
    old: Rows,
    new: Rows,
}

impl Grown {
    fn new(depth: usize) -> Arc<Self> {
        Arc::new(Self { old: Rows::new(depth), new: Rows::new(4) })
    }

    /// The ring behind the seal.
    fn further(&self, base: u64) -> Ring<'_> {
        Ring::beginning_at(base, row::Rows::Plain(&self.new.rows), &self.new.head)
    }

    /// As a publisher does it.
    fn publish(&self, from: u64, name: u16) -> u64 {
        match self.old.ring().publish(from, slot(name), admit) {
            Ok(number) => number,
            Err(ClaimError::Sealed) => {
                let base = self.old.ring().sealed_at().expect("a publisher that met the seal finds it");
                self.further(base).publish(from, slot(name), admit).expect("there is room")
            }
            Err(error) => panic!("{error:?}"),
        }
    }

    /// The result for a reader that begins at `number`.
    fn take(&self, number: u64) -> Look {
        match self.old.ring().look(number) {
            Look::Sealed => self.further(number).look(number),
            found => found,
        }
    }
}

/// Publishers race with the seal: each number has one message, there is no gap, and both rings agree on their
/// border.
fn publish_while_it_is_sealed(seal: impl Fn(&Rows) + Copy + Send + Sync + 'static) {
    explore(2, move || {
        let grown = Grown::new(2);
        // One lap and a row: the seal may take any row, and may be found as an earlier number's.
        for number in 0..2 {
            assert_eq!(grown.publish(number, 10 + number as u16), number);
        }
        let others = [1, 2].map(|name| {
            let grown = grown.clone();
            // One of them starts from far behind.
            thread::spawn(move || grown.publish(if name == 1 { 0 } else { 2 }, name))
        });
        seal(&grown.old);
        let numbers = others.map(|other| other.join().unwrap());
        let base = grown.old.ring().sealed_at().expect("it is sealed");
        assert!((2..=4).contains(&base), "sealed at {base}");
        assert_eq!(grown.further(base).end(), 4, "two and two messages, in both rings together");
        for (number, name) in numbers.into_iter().zip([1, 2]) {
            let ring = if number < base { grown.old.ring() } else { grown.further(base) };
            match ring.look(number) {
                Look::Here(found) => assert_eq!(found, slot(name)),
                // The seal took its row.
                Look::Passed(seal) => assert_eq!((seal, number + 2), (base, base)),
                other => panic!("{other:?} of message {number}, of a ring that was sealed at {base}"),
            }
        }
    });
}

#[test]
fn publishers_go_on_behind_the_seal() {
    publish_while_it_is_sealed(|rows| _ = rows.ring().seal(admit).unwrap());
}

/// A seal that moves the hint lets publishers pass and overwrite it.
#[test]
#[should_panic(expected = "it is sealed")]
fn broken_seals_that_move_the_hint() {
    publish_while_it_is_sealed(|rows| {
        let number = rows.ring().seal(admit).unwrap();
        rows.head.store(number + 1, Ordering::Release);
    });
}

/// A reader that goes from row to row finds every message once, in order, on both sides of the seal.
#[test]
fn readers_go_through_the_seal() {
    explore(2, || {
        let grown = Grown::new(4);
        let publisher = {
            let grown = grown.clone();
            thread::spawn(move || {
                for number in 0..2 {
                    assert_eq!(grown.publish(number, number as u16), number);
                }
            })
        };
        let sealer = {
            let grown = grown.clone();
            thread::spawn(move || grown.old.ring().seal(admit).unwrap())
        };
        let mut next = 0;
        for _ in 0..3 {
            match grown.take(next) {
                Look::Here(Reference { slot, .. }) => {
                    assert_eq!(u64::from(slot), next);
                    next += 1;
                }
                Look::NotYet => thread::yield_now(),
                other => panic!("{other:?} at {next}"),
            }
        }
        publisher.join().unwrap();
        let base = sealer.join().unwrap();
        while next < 2 {
            assert!(matches!(grown.take(next), Look::Here(found) if u64::from(found.slot) == next));
            next += 1;
        }
        assert_eq!(grown.take(2), Look::NotYet);
        assert!(base <= 2);
    });
}
