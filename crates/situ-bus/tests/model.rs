//! The model checker explores the protocols between processes. It tries every interleaving of a few steps (up
//! to a number of preemptions), and every value that a load may return under the memory model.
//!
//! ```sh
//! RUSTFLAGS="--cfg loom" cargo test -p situ-bus --test model --target-dir target/loom
//! ```
//!
//! Beside each model stands a broken variant of the protocol, in which the checker must find the error. So
//! each model is known to be able to fail, and shows why each step is where it is.
#![cfg(loom)]

/// The calls of clients, which are no protocol of their own, and what they need of the bus.
#[path = "../src/service/calls.rs"]
#[allow(dead_code)]
mod calls;
#[path = "model/cells.rs"]
mod cells;
#[path = "model/enqueued.rs"]
mod enqueued;
#[path = "model/entries.rs"]
mod entries;
#[path = "model/fences.rs"]
mod fences;
#[path = "model/presence.rs"]
mod presence;
#[path = "model/records.rs"]
mod records;
#[path = "model/replies.rs"]
mod replies;
#[path = "model/rows.rs"]
mod rows;
#[path = "model/sealing.rs"]
mod sealing;
#[path = "model/wrapping.rs"]
mod wrapping;

use std::sync::Arc;

use loom::cell::UnsafeCell;
use loom::sync::{Condvar, Mutex};
use loom::thread;
use situ_bus::protocol::flow_window::{Epoch, FlowWindow, begin, enter};
use situ_bus::protocol::ledger::{HeldSlot, Ledger};
use situ_bus::protocol::ring::{ClaimError, Look, Reference, Ring};
use situ_bus::protocol::row;
use situ_bus::wake::WakeWord;
use situ_memory::sync::atomic::{AtomicU32, AtomicU64, Ordering, fence};
use situ_memory::sync::between_sequentially_consistent;
use situ_memory::{SlotControl, short_generation};

/// What the calls of clients need.
mod node {
    pub(crate) mod endpoint {
        /// A server, by the number of its publisher of replies.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub(crate) struct EndpointId {
            pub(crate) number: u64,
        }
    }
}

/// Explores a model with at most this many preemptions: most errors need two.
fn explore(preemptions: usize, model: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(preemptions);
    builder.check(model);
}

/// A topic's rows and head in private memory.
struct Rows {
    rows: Vec<AtomicU64>,
    head: AtomicU64,
}

impl Rows {
    fn new(depth: usize) -> Self {
        Self { rows: (0..depth).map(|_| AtomicU64::new(0)).collect(), head: AtomicU64::new(0) }
    }
    fn ring(&self) -> Ring<'_> {
        Ring::new(row::Rows::Plain(&self.rows), &self.head)
    }
}

fn slot(slot: u16) -> Reference {
    Reference { pool: 0, slot, generation: 0 }
}

fn admit(_: u64) -> Result<(), ()> {
    Ok(())
}

/// Messages in memory that only the protocols protect: loom reports every access that they leave unordered.
struct Payloads(Vec<UnsafeCell<u64>>);

// SAFETY: the models check exactly this: no two accesses of a payload race.
unsafe impl Sync for Payloads {}
// SAFETY: numbers may be sent.
unsafe impl Send for Payloads {}

impl Payloads {
    fn new(number: usize) -> Self {
        Self((0..number).map(|_| UnsafeCell::new(0)).collect())
    }
    fn write(&self, slot: usize, value: u64) {
        // SAFETY: the pointer is valid; loom checks that no other thread uses it.
        self.0[slot].with_mut(|payload| unsafe { *payload = value });
    }
    fn read(&self, slot: usize) -> u64 {
        // SAFETY: as above.
        self.0[slot].with(|payload| unsafe { *payload })
    }
}

/// A claim without a compare-and-swap, which a ring must not use.
fn claim_by_store(rows: &Rows, reference: Reference) -> u64 {
    let mut number = 0;
    while rows.ring().look(number) != Look::NotYet {
        number += 1;
    }
    let word = 1 << 42 | u64::from(reference.slot) << 13;
    rows.rows[number as usize].store(word, Ordering::SeqCst);
    number
}

fn order(publish: impl Fn(&Rows, Reference) -> u64 + Copy + Send + Sync + 'static) {
    explore(2, move || {
        let rows = Arc::new(Rows::new(4));
        let others = [1, 2].map(|name| {
            let rows = rows.clone();
            thread::spawn(move || publish(&rows, slot(name)))
        });
        let mine = publish(&rows, slot(0));
        let numbers = [mine].into_iter().chain(others.map(|other| other.join().unwrap()));
        let mut seen = [false; 3];
        for (name, number) in numbers.enumerate() {
            assert!(!std::mem::replace(&mut seen[number as usize], true), "two messages have one number");
            assert!(matches!(rows.ring().look(number), Look::Here(found) if found == slot(name as u16)));
        }
        assert_eq!(rows.ring().end(), 3);
    });
}

/// Three publishers: each message has one number, the numbers have no hole, and each row holds its own
/// message.
#[test]
fn publishers_share_one_order() {
    order(|rows, reference| rows.ring().publish(0, reference, admit).unwrap());
}

#[test]
#[should_panic(expected = "two messages have one number")]
fn broken_claims_that_are_no_swap() {
    order(claim_by_store);
}

/// One publisher laps the ring while another is about to publish.
fn laps(depth: usize, messages: u64) {
    explore(2, move || {
        let rows = Arc::new(Rows::new(depth));
        let other = {
            let rows = rows.clone();
            thread::spawn(move || {
                for expected in 0..messages {
                    assert!(rows.ring().publish(expected, slot(1), admit).unwrap() >= expected);
                }
            })
        };
        let number = rows.ring().publish(0, slot(2), admit);
        assert!(number != Err(ClaimError::Corrupted), "the rows are fine");
        other.join().unwrap();
    });
}

/// A stale hint or row must never count as a contradiction. (The first fails if `Ring::publish` reads the
/// head with relaxed ordering, the second if it reads the rows so.)
#[test]
fn publishers_lap_each_other() {
    laps(1, 2);
    laps(2, 3);
}

/// A reader sees the whole message of every publisher as soon as it sees its row.
#[test]
fn a_published_message_is_visible() {
    explore(2, || {
        let shared = Arc::new((Rows::new(2), Payloads::new(2)));
        let publishers = [0, 1].map(|name| {
            let shared = shared.clone();
            thread::spawn(move || {
                let (rows, payloads) = &*shared;
                payloads.write(name, 10 + name as u64);
                rows.ring().publish(0, slot(name as u16), admit).unwrap();
            })
        });
        let (rows, payloads) = &*shared;
        for number in 0..2 {
            if let Look::Here(found) = rows.ring().look(number) {
                assert_eq!(payloads.read(found.slot.into()), 10 + u64::from(found.slot));
            }
        }
        for publisher in publishers {
            publisher.join().unwrap();
        }
    });
}

/// A slot, and the ledgers of those that may hold it.
struct Slot {
    control: SlotControl,
    ledgers: Vec<Ledger>,
}

const NAME: HeldSlot = HeldSlot { pool: 0, slot: 0 };

impl Slot {
    fn new(places: usize) -> Self {
        Self { control: SlotControl::new(), ledgers: (0..places).map(|_| Ledger::new()).collect() }
    }
    fn generation(&self) -> u16 {
        short_generation(self.control.generation())
    }
    /// As `RawSubscriber::hold`.
    fn hold(&self, place: usize, generation: u16) -> bool {
        let word = self.ledgers[place].free(0).unwrap();
        self.ledgers[place].hold(word, NAME, &self.control, generation)
    }
    fn release(&self, place: usize) {
        self.ledgers[place].release(0);
    }
    fn is_held(&self) -> bool {
        self.ledgers.iter().any(|ledger| ledger.held().any(|held| held == NAME))
    }
    /// As `retire` and `reclaim` of a publisher. Returns whether the slot is free.
    fn reclaim(&self) -> bool {
        self.control.retire();
        fence(Ordering::SeqCst);
        !self.is_held()
    }
}

/// An owner that reuses its only slot as soon as `reclaim` permits, and two readers that read what `hold`
/// permits.
fn slot_is_shared(
    readers: usize,
    reclaim: impl Fn(&Slot) -> bool + Copy + Send + Sync + 'static,
    hold: impl Fn(&Slot, usize, u16) -> bool + Copy + Send + Sync + 'static,
) {
    explore(3, move || {
        let shared = Arc::new((Rows::new(2), Slot::new(readers), AtomicU64::new(0), Payloads::new(1)));
        let readers: Vec<_> = (0..readers)
            .map(|place| {
                let shared = shared.clone();
                thread::spawn(move || {
                    let (rows, of, sequence, payloads) = &*shared;
                    let number = rows.ring().end().saturating_sub(1);
                    if let Look::Here(found) = rows.ring().look(number)
                        && hold(of, place, found.generation)
                    {
                        if sequence.load(Ordering::Relaxed) == number + 1 {
                            assert_eq!(payloads.read(0), 10 + number);
                        }
                        of.release(place);
                    }
                })
            })
            .collect();
        let (rows, of, sequence, payloads) = &*shared;
        let publish = |number: u64| {
            payloads.write(0, 10 + number);
            let reference = Reference { generation: of.generation(), ..slot(0) };
            let published = rows.ring().publish(number, reference, |number| {
                sequence.store(number + 1, Ordering::Relaxed);
                admit(number)
            });
            assert_eq!(published, Ok(number));
        };
        publish(0);
        if reclaim(of) {
            publish(1);
        }
        readers.into_iter().for_each(|reader| reader.join().unwrap());
        assert!(!of.is_held(), "all readers released it");
    });
}

/// A slot is never both free and held: no payload is overwritten while it is read. (Fails without the fence
/// in `Ledger::hold` that stands for sequential consistency.)
#[test]
fn a_held_slot_is_not_reused() {
    slot_is_shared(1, Slot::reclaim, Slot::hold);
    slot_is_shared(2, Slot::reclaim, Slot::hold);
}

#[test]
#[should_panic(expected = "Causality violation")]
fn broken_an_owner_looks_before_it_retires() {
    let looks_first = |of: &Slot| {
        let free = !of.is_held();
        of.control.retire();
        fence(Ordering::SeqCst);
        free
    };
    slot_is_shared(1, looks_first, Slot::hold);
}

#[test]
#[should_panic(expected = "Causality violation")]
fn broken_an_owner_looks_without_a_fence() {
    let without = |of: &Slot| {
        of.control.retire();
        !of.is_held()
    };
    slot_is_shared(1, without, Slot::hold);
}

#[test]
#[should_panic(expected = "Causality violation")]
fn broken_a_reader_looks_before_it_holds() {
    let looks_first = |of: &Slot, place: usize, generation: u16| {
        let fresh = of.generation() == generation;
        let _ = of.hold(place, generation);
        fresh
    };
    slot_is_shared(1, Slot::reclaim, looks_first);
}

/// A subscriber takes its place while an owner that may not see it yet reclaims a slot. It then holds a slot
/// of an earlier message.
fn newcomer(comes: impl Fn(&AtomicU64, &Slot, u16) -> bool + Copy + Send + Sync + 'static) {
    explore(3, move || {
        let shared = Arc::new((Rows::new(2), Slot::new(1), AtomicU64::new(0), Payloads::new(1)));
        let (rows, of, used, payloads) = &*shared;
        payloads.write(0, 10);
        rows.ring().publish(0, slot(0), admit).unwrap();
        let subscriber = {
            let shared = shared.clone();
            thread::spawn(move || {
                let (rows, of, used, payloads) = &*shared;
                if let Look::Here(found) = rows.ring().look(0)
                    && comes(used, of, found.generation)
                {
                    assert_eq!(payloads.read(0), 10);
                    of.release(0);
                }
            })
        };
        // As `Places::held_in`: only places that were ever taken.
        of.control.retire();
        fence(Ordering::SeqCst);
        if used.load(Ordering::SeqCst) == 0 || !of.is_held() {
            payloads.write(0, 11);
        }
        subscriber.join().unwrap();
    });
}

#[test]
fn a_newcomers_ledger_counts() {
    newcomer(|used, of, generation| {
        used.fetch_max(1, Ordering::SeqCst);
        between_sequentially_consistent();
        of.hold(0, generation)
    });
}

#[test]
#[should_panic(expected = "Causality violation")]
fn broken_a_newcomer_holds_before_its_place_counts() {
    newcomer(|used, of, generation| {
        let held = of.hold(0, generation);
        used.fetch_max(1, Ordering::SeqCst);
        held
    });
}

/// The kernel compares the word and goes to sleep in one step. No thread wakes by time here, so a lost
/// wake-up is a deadlock, which loom reports.
struct Futex {
    queue: Mutex<()>,
    sleepers: Condvar,
}

impl Futex {
    fn new() -> Self {
        Self { queue: Mutex::new(()), sleepers: Condvar::new() }
    }
    fn wait(&self, word: &AtomicU32, expected: u32) {
        self.wait_if(|| word.load(Ordering::SeqCst) == expected);
    }
    fn wait_if(&self, unchanged: impl FnOnce() -> bool) {
        let queue = self.queue.lock().unwrap();
        if unchanged() {
            drop(self.sleepers.wait(queue).unwrap());
        }
    }
    fn wake(&self) {
        let _queue = self.queue.lock().unwrap();
        self.sleepers.notify_all();
    }
}

/// Two words and the kernel's part of them.
struct Bed {
    word: WakeWord,
    futex: Futex,
}

impl Bed {
    fn new() -> Self {
        Self { word: WakeWord::new(), futex: Futex::new() }
    }
    /// As `WakeWord::notify`.
    fn notify(&self) {
        if self.word.must_wake() {
            self.futex.wake();
        }
    }
    /// As `RawSubscriber::wait`.
    fn sleep_until(&self, ready: impl Fn() -> bool) {
        while !ready() {
            let announced = self.word.announce();
            if ready() {
                return;
            }
            self.futex.wait(self.word.futex(), announced);
        }
    }
}

/// Sleepers that want all messages, and wakers that publish one each.
fn wake_up(
    sleepers: usize,
    wakers: usize,
    messages: u64,
    sleep: impl Fn(&Bed, &Rows, u64) + Copy + Send + Sync + 'static,
    notify: impl Fn(&Bed) + Copy + Send + Sync + 'static,
) {
    explore(if sleepers + wakers > 2 { 2 } else { 3 }, move || {
        let shared = Arc::new((Rows::new(4), Bed::new()));
        let others: Vec<_> = (1..sleepers + wakers)
            .map(|index| {
                let shared = shared.clone();
                thread::spawn(move || {
                    let (rows, bed) = &*shared;
                    if index < sleepers {
                        (0..messages * wakers as u64).for_each(|number| sleep(bed, rows, number));
                    } else {
                        for _ in 0..messages {
                            rows.ring().publish(0, slot(0), admit).unwrap();
                            notify(bed);
                        }
                    }
                })
            })
            .collect();
        let (rows, bed) = &*shared;
        (0..messages * wakers as u64).for_each(|number| sleep(bed, rows, number));
        others.into_iter().for_each(|other| other.join().unwrap());
    });
}

fn sleep(bed: &Bed, rows: &Rows, number: u64) {
    bed.sleep_until(|| rows.ring().look(number) != Look::NotYet);
}

/// No wake-up is lost, for several sleepers and several wakers.
#[test]
fn sleepers_are_woken() {
    wake_up(1, 1, 2, sleep, Bed::notify);
    wake_up(2, 1, 1, sleep, Bed::notify);
    wake_up(1, 2, 1, sleep, Bed::notify);
}

#[test]
#[should_panic(expected = "deadlock")]
fn broken_the_word_changes_after_the_wake_up() {
    let wakes_first = |bed: &Bed| {
        // Whether a sleeper is there is not public: this wakes always.
        bed.futex.wake();
        let _ = bed.word.must_wake();
    };
    wake_up(1, 1, 2, sleep, wakes_first);
}

#[test]
#[should_panic(expected = "deadlock")]
fn broken_a_sleeper_does_not_check_again() {
    let looks_once = |bed: &Bed, rows: &Rows, number: u64| {
        while rows.ring().look(number) == Look::NotYet {
            let announced = bed.word.announce();
            bed.futex.wait(bed.word.futex(), announced);
        }
    };
    wake_up(1, 1, 1, looks_once, Bed::notify);
}

/// A reliable publisher and its subscriber. Both sleep when they have no work. `room` messages may be ahead.
/// There is one slot more, for the message that waits for room.
fn back_pressure(messages: u64, room: u64, granted: u64) {
    explore(3, move || {
        struct Shared {
            rows: Rows,
            payloads: Payloads,
            cursor: AtomicU64,
            epoch: AtomicU64,
            wake: Bed,
            room: Bed,
        }
        let slots = room + 1;
        let shared = Arc::new(Shared {
            rows: Rows::new(2),
            payloads: Payloads::new(slots as usize),
            cursor: AtomicU64::new(0),
            epoch: AtomicU64::new(0),
            wake: Bed::new(),
            room: Bed::new(),
        });
        let publisher = {
            let shared = shared.clone();
            thread::spawn(move || {
                let mut window = FlowWindow::default();
                for number in 0..messages {
                    let index = number % slots;
                    shared.payloads.write(index as usize, 10 + number);
                    loop {
                        let mut claim = || {
                            shared.rows.ring().publish(number, slot(index as u16), |number| {
                                let slowest = || shared.cursor.load(Ordering::SeqCst);
                                window
                                    .admits(number, granted, Epoch::new(&shared.epoch), slowest)
                                    .then_some(())
                                    .ok_or(())
                            })
                        };
                        if claim().is_ok() {
                            break;
                        }
                        let announced = shared.room.word.announce();
                        if claim().is_ok() {
                            break;
                        }
                        shared.room.futex.wait(shared.room.word.futex(), announced);
                    }
                    shared.wake.notify();
                }
            })
        };
        for number in 0..messages {
            shared.wake.sleep_until(|| shared.rows.ring().look(number) != Look::NotYet);
            match shared.rows.ring().look(number) {
                Look::Here(found) => assert_eq!(shared.payloads.read(found.slot.into()), 10 + number),
                other => panic!("lost a message: {other:?}"),
            }
            // As `RawSubscriber::advance`.
            shared.cursor.swap(number + 1, Ordering::SeqCst);
            shared.room.notify();
        }
        publisher.join().unwrap();
    });
}

/// No row and no payload is overwritten before it is taken, and neither side sleeps for ever.
#[test]
fn a_reliable_publisher_waits_for_room() {
    back_pressure(3, 1, 1);
    back_pressure(3, 2, 2);
}

#[test]
#[should_panic(expected = "Causality violation")]
fn broken_a_publisher_runs_too_far_ahead() {
    back_pressure(3, 1, 2);
}

/// A subscriber comes while publishers that know of no subscriber publish. It takes nothing, so no message
/// from its cursor on may be overwritten.
fn registration(
    publishers: usize,
    enters: impl Fn(Ring<'_>, &AtomicU64, &AtomicU32, &AtomicU64) + Copy + Send + Sync + 'static,
) {
    explore(if publishers > 1 { 2 } else { 3 }, move || {
        let shared = Arc::new((Rows::new(1), AtomicU64::new(0), AtomicU32::new(0), AtomicU64::new(0)));
        let publishers: Vec<_> = (0..publishers)
            .map(|_| {
                let shared = shared.clone();
                thread::spawn(move || {
                    let (rows, cursor, active, epoch) = &*shared;
                    let mut window = FlowWindow::default();
                    for from in 0..2 {
                        let published = rows.ring().publish(from, slot(0), |number| {
                            let slowest = || match active.load(Ordering::SeqCst) {
                                0 => u64::MAX,
                                _ => cursor.load(Ordering::SeqCst),
                            };
                            window.admits(number, 1, Epoch::new(epoch), slowest).then_some(()).ok_or(())
                        });
                        if published.is_err() {
                            assert_eq!(published, Err(ClaimError::Refused(())));
                            return;
                        }
                    }
                })
            })
            .collect();
        let (rows, cursor, active, epoch) = &*shared;
        enters(rows.ring(), cursor, active, epoch);
        publishers.into_iter().for_each(|publisher| publisher.join().unwrap());
        let wanted = cursor.load(Ordering::SeqCst);
        assert!(!matches!(rows.ring().look(wanted), Look::Passed(_)), "message {wanted} was overwritten");
    });
}

#[test]
fn a_newcomer_loses_nothing() {
    let as_documented = |ring: Ring<'_>, cursor: &AtomicU64, active: &AtomicU32, epoch: &AtomicU64| {
        cursor.store(begin(ring, 0, 0), Ordering::Relaxed);
        active.store(1, Ordering::SeqCst);
        enter(ring, cursor, epoch, 0, 0);
    };
    registration(1, as_documented);
    registration(2, as_documented);
}

#[test]
#[should_panic(expected = "was overwritten")]
fn broken_a_newcomer_begins_before_it_is_known() {
    registration(1, |ring, cursor, active, epoch| {
        cursor.store(begin(ring, 0, 0), Ordering::SeqCst);
        active.store(1, Ordering::SeqCst);
        epoch.fetch_add(1, Ordering::SeqCst);
    });
}

#[test]
#[should_panic(expected = "was overwritten")]
fn broken_a_newcomer_does_not_change_the_epoch() {
    registration(1, |ring, cursor, active, _| {
        active.store(1, Ordering::SeqCst);
        between_sequentially_consistent();
        cursor.store(begin(ring, 0, 0), Ordering::SeqCst);
    });
}
