//! Models of the short numbers in a row: the slot's generation, which wraps (here after two), and the
//! publisher's entry, which is reused.

use std::sync::Arc;

use loom::thread;
use situ_bus::protocol::copy_state::{CopyState, Found};
use situ_bus::protocol::ring::{Look, Reference, Ring};
use situ_bus::protocol::row;
use situ_bus::protocol::tenure::Tenure;
use situ_memory::sync::atomic::{AtomicU64, Ordering};

use super::{Payloads, Rows, Slot, admit, explore, slot};

/// A slot with a message in a sealed ring, and the ring behind that.
struct Sealed {
    old: Rows,
    new: Rows,
    of: Slot,
    /// Of its descriptor.
    sequence: AtomicU64,
    payloads: Payloads,
}

impl Sealed {
    /// As a publisher does it.
    fn publish(&self, ring: Ring<'_>, number: u64) {
        self.payloads.write(0, 10 + number);
        let reference = Reference { generation: self.of.generation(), ..slot(0) };
        let published = ring.publish(number, reference, |number| {
            self.sequence.store(number + 1, Ordering::Relaxed);
            admit(number)
        });
        assert_eq!(published, Ok(number));
    }
}

/// A slow reader takes message 0 while its slot goes through two more generations, after which it has the
/// same low bit.
fn generations_come_round(is_it: impl Fn(&Sealed) -> bool + Copy + Send + Sync + 'static) {
    explore(3, move || {
        let shared = Arc::new(Sealed {
            old: Rows::new(1),
            new: Rows::new(4),
            of: Slot::new(1),
            sequence: AtomicU64::new(0),
            payloads: Payloads::new(1),
        });
        shared.publish(shared.old.ring(), 0);
        let reader = {
            let shared = shared.clone();
            thread::spawn(move || {
                let Look::Here(found) = shared.old.ring().look(0) else {
                    panic!("the row of a sealed ring does not change")
                };
                if shared.of.hold(0, found.generation) {
                    if is_it(&shared) {
                        assert_eq!(shared.payloads.read(0), 10, "the bytes of another message");
                    }
                    shared.of.release(0);
                }
            })
        };
        for number in 1..=2 {
            if !shared.of.reclaim() {
                break;
            }
            shared
                .publish(Ring::beginning_at(1, row::Rows::Plain(&shared.new.rows), &shared.new.head), number);
        }
        reader.join().unwrap();
        assert!(!shared.of.is_held(), "the reader released it");
    });
}

/// A taken message is the requested one, by the number in its descriptor.
#[test]
fn a_wrapped_generation_does_not_count_as_the_first() {
    generations_come_round(|shared| shared.sequence.load(Ordering::Relaxed) == 1);
}

#[test]
#[should_panic(expected = "Causality violation")]
fn broken_the_row_of_a_sealed_ring_is_trusted() {
    generations_come_round(|shared| matches!(shared.old.ring().look(0), Look::Here(_)));
}

/// A copier's slot holds its copy of message 0, and message 0's row stays for ever. The copier uses the slot
/// for two more messages, while a subscriber shares it.
fn copies_come_round(reclaim: impl Fn(&Slot, CopyState<'_>) -> bool + Copy + Send + Sync + 'static) {
    explore(3, move || {
        let shared = Arc::new((AtomicU64::new(0), AtomicU64::new(0), Slot::new(1), Payloads::new(1)));
        let bring = {
            let shared = shared.clone();
            move |number: u64| {
                let (first, second, of, payloads) = &*shared;
                let entry = match number {
                    0 => CopyState::new(first, 0, 1),
                    _ => CopyState::new(second, number, 1),
                };
                let target = Reference { generation: of.generation(), ..slot(0) };
                let claim = entry.claim(entry.look().1, target).unwrap();
                payloads.write(0, 10 + number);
                entry.finish(claim).unwrap();
            }
        };
        bring(0);
        let taker = {
            let shared = shared.clone();
            thread::spawn(move || {
                let (first, _, of, payloads) = &*shared;
                let entry = CopyState::new(first, 0, 1);
                // As `RawSubscriber::share`.
                if let (Found::Ready(found), word) = entry.look()
                    && of.hold(0, found.generation)
                {
                    if entry.still(word) {
                        assert_eq!(payloads.read(0), 10, "another message's copy");
                    }
                    of.release(0);
                }
            })
        };
        let (first, second, of, _) = &*shared;
        for number in 1..=2 {
            let before = if number == 1 { CopyState::new(first, 0, 1) } else { CopyState::new(second, 1, 1) };
            if !reclaim(of, before) {
                break;
            }
            bring(number);
        }
        taker.join().unwrap();
        assert!(!of.is_held(), "the taker released it");
    });
}

/// A copier takes its word back before it retires the slot. Then no word names a later generation.
#[test]
fn a_copy_whose_generation_wrapped_is_not_shared() {
    copies_come_round(|of, entry| {
        entry.forget_slot(0, 0);
        of.reclaim()
    });
}

#[test]
#[should_panic(expected = "Causality violation")]
fn broken_the_word_of_a_retired_copy_stays() {
    copies_come_round(|of, _| of.reclaim());
}

/// An entry whose first publisher published message 0 and left is reused by a second one, which publishes
/// message 1.
fn entry_is_given_away(pool_of: impl Fn(&Tenure, u64) -> Option<u64> + Copy + Send + Sync + 'static) {
    explore(3, move || {
        let shared = Arc::new((Rows::new(2), Tenure::new()));
        let (rows, tenure) = &*shared;
        tenure.begin(100, 0);
        rows.ring().publish(0, slot(0), admit).unwrap();
        let reader = {
            let shared = shared.clone();
            thread::spawn(move || {
                let (rows, tenure) = &*shared;
                for number in 0..2 {
                    if let Look::Here(_) = rows.ring().look(number) {
                        let pool = pool_of(tenure, number);
                        assert!(
                            pool == Some(100 + number) || (number == 0 && pool.is_none()),
                            "message {number} in pool {pool:?}"
                        );
                    }
                }
            })
        };
        tenure.begin(101, rows.ring().end());
        rows.ring().publish(0, slot(0), admit).unwrap();
        reader.join().unwrap();
    });
}

/// A row leads to the pool of the publisher that wrote it, or to none.
#[test]
fn a_reused_entry_means_the_right_pool() {
    entry_is_given_away(Tenure::of);
}

#[test]
#[should_panic(expected = "message 0 in pool Some(101)")]
fn broken_an_entry_always_means_its_present_publisher() {
    entry_is_given_away(|tenure, _| Some(tenure.pool()));
}

#[test]
#[should_panic(expected = "message 0 in pool Some(101)")]
fn broken_a_reader_reads_since_before_the_pool() {
    entry_is_given_away(|tenure, number| {
        let since = tenure.since();
        let pool = tenure.pool();
        (number >= since).then_some(pool)
    });
}
