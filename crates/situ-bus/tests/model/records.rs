//! Models of the private records of a subscriber's samples: alone, and together with the slot that a sample
//! holds, where the process may die between any two steps.
//!
//! Mutations that the first model finds, each one in a broken variant below: any `Acquire` or `Release` of
//! `protocol/record_state.rs` made `Relaxed` (six of them), a plain store of LAST in `forget`, and FREE
//! stored before the pool is out. Each of the six, made by hand in that file, fails
//! `samples_outlive_their_subscriber`. The second model finds a sample that releases its slot before its last
//! read, a record that is given back before its last use, and a place that is freed while its process still
//! runs.

use std::sync::Arc;

use loom::cell::UnsafeCell;
use loom::sync::Arc as Counted;
use loom::thread;
use situ_bus::protocol::ledger::HeldSlot;
use situ_bus::protocol::record_state::RecordState;
use situ_bus::protocol::ring::{Look, Reference};
use situ_memory::sync::atomic::{AtomicU32, AtomicU64, Ordering, fence};
use situ_memory::{SlotControl, short_generation};

use super::{Payloads, Rows, Slot, admit, explore, slot};

/// The protocol of a record's state.
trait State: Sized + Send + Sync + 'static {
    fn new() -> Self;
    fn is_free(&self) -> bool;
    fn give(&self);
    fn give_back<Pool>(&self, take_out: impl FnOnce() -> Pool);
    fn forget<Pool>(&self, has_it: impl FnOnce() -> bool, take_out: impl FnOnce() -> Pool);
}

impl State for RecordState {
    fn new() -> Self {
        Self::new()
    }
    fn is_free(&self) -> bool {
        self.is_free()
    }
    fn give(&self) {
        self.give();
    }
    fn give_back<Pool>(&self, take_out: impl FnOnce() -> Pool) {
        // SAFETY: the model keeps the memory of all records to its end.
        unsafe { Self::give_back(self, take_out) };
    }
    fn forget<Pool>(&self, has_it: impl FnOnce() -> bool, take_out: impl FnOnce() -> Pool) {
        self.forget(has_it, take_out);
    }
}

/// What is wrong with [`Broken`].
const NOTHING: u32 = 0;
const FREE_IS_NOT_ACQUIRED: u32 = 1;
const A_DROP_DOES_NOT_RELEASE: u32 = 2;
const FORGETTING_DOES_NOT_RELEASE: u32 = 3;
const LAST_IS_NOT_ACQUIRED: u32 = 4;
const FORGETTING_DOES_NOT_ACQUIRE: u32 = 5;
const THE_LAST_DROP_DOES_NOT_RELEASE: u32 = 6;
const LAST_IS_STORED: u32 = 7;
const FREE_BEFORE_THE_POOL_IS_OUT: u32 = 8;

/// The protocol once more, with one error.
struct Broken<const ERROR: u32>(AtomicU32);

const FREE: u32 = 0;
const USED: u32 = 1;
const LAST: u32 = 2;

impl<const ERROR: u32> Broken<ERROR> {
    fn order(error: u32, right: Ordering) -> Ordering {
        if ERROR == error { Ordering::Relaxed } else { right }
    }
}

impl<const ERROR: u32> State for Broken<ERROR> {
    fn new() -> Self {
        Self(AtomicU32::new(FREE))
    }
    fn is_free(&self) -> bool {
        self.0.load(Self::order(FREE_IS_NOT_ACQUIRED, Ordering::Acquire)) == FREE
    }
    fn give(&self) {
        self.0.store(USED, Ordering::Relaxed);
    }
    fn give_back<Pool>(&self, take_out: impl FnOnce() -> Pool) {
        let (release, acquire) = (
            Self::order(A_DROP_DOES_NOT_RELEASE, Ordering::Release),
            Self::order(LAST_IS_NOT_ACQUIRED, Ordering::Acquire),
        );
        if self.0.compare_exchange(USED, FREE, release, acquire).is_ok() {
            return;
        }
        let free = || self.0.store(FREE, Self::order(THE_LAST_DROP_DOES_NOT_RELEASE, Ordering::Release));
        if ERROR == FREE_BEFORE_THE_POOL_IS_OUT {
            free();
            drop(take_out());
        } else {
            let pool = take_out();
            free();
            drop(pool);
        }
    }
    fn forget<Pool>(&self, has_it: impl FnOnce() -> bool, take_out: impl FnOnce() -> Pool) {
        if self.0.load(Ordering::Acquire) == LAST || !has_it() {
            return;
        }
        if ERROR == LAST_IS_STORED {
            match self.0.load(Ordering::Acquire) {
                FREE => drop(take_out()),
                _ => self.0.store(LAST, Ordering::Release),
            }
            return;
        }
        let release = Self::order(FORGETTING_DOES_NOT_RELEASE, Ordering::Release);
        let acquire = Self::order(FORGETTING_DOES_NOT_ACQUIRE, Ordering::Acquire);
        if self.0.compare_exchange(USED, LAST, release, acquire).is_err() {
            drop(take_out());
        }
    }
}

/// A record: the message's number and the word of the ledger, and the pool.
struct Record<S: State> {
    state: S,
    fields: UnsafeCell<(u64, usize)>,
    pool: UnsafeCell<Option<Counted<Pool<S>>>>,
    /// Read by each access to the record, and written by its end: loom reports an access that may follow it.
    memory: UnsafeCell<()>,
}

type Records<S> = Arc<[Record<S>; 2]>;

// SAFETY: the models check exactly this: no two accesses of what a record contains race.
unsafe impl<S: State> Sync for Record<S> {}
// SAFETY: as above.
unsafe impl<S: State> Send for Record<S> {}

impl<S: State> Record<S> {
    fn new() -> Self {
        let (fields, pool) = (UnsafeCell::new((0, 0)), UnsafeCell::new(None));
        Self { state: S::new(), fields, pool, memory: UnsafeCell::new(()) }
    }
    fn both() -> Records<S> {
        Arc::new([Self::new(), Self::new()])
    }
    /// The state, in memory that must not be freed yet.
    fn state(&self) -> &S {
        self.memory.with(|_| ());
        &self.state
    }
    fn write(&self, number: u64, word: usize) {
        // SAFETY: the pointer is valid; loom checks that no other thread uses it.
        self.fields.with_mut(|fields| unsafe { *fields = (number, word) });
    }
    fn read(&self) -> (u64, usize) {
        // SAFETY: as above.
        self.fields.with(|fields| unsafe { *fields })
    }
    fn pool_number(&self) -> Option<u64> {
        self.memory.with(|_| ());
        // SAFETY: as above.
        self.pool.with(|pool| unsafe { (*pool).as_ref().map(|pool| pool.number) })
    }
    fn take_out(&self) -> Option<Counted<Pool<S>>> {
        self.memory.with(|_| ());
        // SAFETY: as above.
        self.pool.with_mut(|pool| unsafe { (*pool).take() })
    }
    /// As `SampleRecords::take`.
    fn take(&self, number: u64, pool: &Counted<Pool<S>>) {
        self.state().give();
        self.write(number, 0);
        if self.pool_number() != Some(pool.number) {
            let kept = Some(pool.clone());
            // SAFETY: as above.
            drop(self.pool.with_mut(|pool| unsafe { std::mem::replace(&mut *pool, kept) }));
        }
    }
    /// As a sample's life on another thread.
    fn use_and_drop(&self, number: u64, pool: u64) {
        assert_eq!(
            (self.read(), self.pool_number()),
            ((number, 0), Some(pool)),
            "the record of another sample"
        );
        self.state().give_back(|| self.take_out());
    }
    /// As `SampleRecords::forget`.
    fn forget(&self, number: Option<u64>) {
        let has_it = || match number {
            Some(_) => self.pool_number() == number,
            None => self.pool_number().is_some(),
        };
        self.state().forget(has_it, || self.take_out());
    }
}

/// What keeps the records.
struct Core<S: State> {
    records: Records<S>,
}

impl<S: State> Drop for Core<S> {
    fn drop(&mut self) {
        for record in &*self.records {
            record.memory.with_mut(|_| ());
        }
    }
}

/// A mapped pool, which keeps the core.
struct Pool<S: State> {
    number: u64,
    _core: Counted<Core<S>>,
}

/// A subscriber takes two messages, lets go of the pool of the first and ends, while other threads drop the
/// samples. Loom reports each pool and core that is never freed.
fn samples_outlive<S: State>() {
    // A record that is given to one thread after the other.
    explore(3, || {
        let records = Record::<S>::both();
        let core = Counted::new(Core { records: records.clone() });
        let pools = [1, 2].map(|number| Counted::new(Pool { number, _core: core.clone() }));
        let hand = |index: usize, number: u64, pool: u64| {
            let records = records.clone();
            thread::spawn(move || records[index].use_and_drop(number, pool))
        };
        records[0].take(10, &pools[0]);
        let first = hand(0, 10, 1);
        let index = usize::from(!records[0].state().is_free());
        records[index].take(11, &pools[1]);
        let second = hand(index, 11, 2);
        let [one, two] = pools;
        drop(one);
        records.iter().for_each(|record| record.forget(Some(1)));
        // The end. A subscriber keeps the core until all its records were asked.
        drop(two);
        records.iter().for_each(|record| record.forget(None));
        drop(core);
        first.join().unwrap();
        second.join().unwrap();
        for record in &*records {
            assert!(record.state.is_free(), "a record is lost");
        }
    });
    // The subscriber lets go of the pool, and then uses the record for a message of another one.
    explore(3, || {
        let records = Record::<S>::both();
        let core = Counted::new(Core { records: records.clone() });
        let [one, two] = [1, 2].map(|number| Counted::new(Pool { number, _core: core.clone() }));
        records[0].take(10, &one);
        let other = {
            let records = records.clone();
            thread::spawn(move || records[0].use_and_drop(10, 1))
        };
        drop(one);
        records[0].forget(Some(1));
        if records[0].state().is_free() {
            assert_eq!(records[0].pool_number(), None, "the forgotten pool is kept");
            records[0].take(11, &two);
            records[0].use_and_drop(11, 2);
        }
        records[0].forget(None);
        drop((two, core));
        other.join().unwrap();
        assert!(records[0].state.is_free(), "a record is lost");
    });
}

/// No record is used by two samples, none is touched after it was freed, and each pool and the core are freed
/// once.
#[test]
fn samples_outlive_their_subscriber() {
    samples_outlive::<RecordState>();
}

/// The copy of the protocol with the errors, without an error.
#[test]
fn the_protocol_without_an_error_is_the_same() {
    samples_outlive::<Broken<NOTHING>>();
}

macro_rules! broken {
    ($($name:ident: $error:ident, $expected:literal;)*) => {
        $(#[test]
        #[should_panic(expected = $expected)]
        fn $name() {
            samples_outlive::<Broken<$error>>();
        })*
    };
}

broken! {
    broken_a_free_record_is_not_acquired: FREE_IS_NOT_ACQUIRED, "Causality violation";
    broken_a_drop_does_not_release: A_DROP_DOES_NOT_RELEASE, "Causality violation";
    broken_forgetting_does_not_release: FORGETTING_DOES_NOT_RELEASE, "Causality violation";
    broken_a_drop_does_not_acquire_what_was_forgotten: LAST_IS_NOT_ACQUIRED, "Causality violation";
    broken_forgetting_does_not_acquire_a_drop: FORGETTING_DOES_NOT_ACQUIRE, "Causality violation";
    broken_the_last_drop_does_not_release: THE_LAST_DROP_DOES_NOT_RELEASE, "Causality violation";
    broken_forgetting_stores_without_a_swap: LAST_IS_STORED, "Arc leaked";
    broken_a_record_is_free_before_its_pool_is_out: FREE_BEFORE_THE_POOL_IS_OUT, "Causality violation";
}

/// How many steps a thread does before its process dies.
struct Life(usize);

impl Life {
    /// Before each step: whether the thread still does it.
    fn goes_on(&mut self) -> bool {
        self.0 = self.0.saturating_sub(1);
        self.0 != 0
    }
}

/// A process with a subscriber in place 0, two slots of another process, and the rows that name them.
struct World {
    rows: Rows,
    /// The slot that its owner reuses, and the ledger.
    of: Slot,
    /// The slot of message 1, which stays.
    other: SlotControl,
    /// Whether the place is taken.
    taken: AtomicU32,
    /// Of the descriptor of the slot that is reused.
    sequence: AtomicU64,
    payloads: Payloads,
    records: Records<RecordState>,
}

/// How a sample reads the message and releases the slot.
type Drops = fn(&World, &Record<RecordState>, &mut Life) -> Option<()>;

impl World {
    fn publish(&self, number: u64) {
        let (index, control) = if number == 1 { (1, &self.other) } else { (0, &self.of.control) };
        self.payloads.write(index, 10 + number);
        let generation = short_generation(control.generation());
        let reference = Reference { generation, ..slot(index as u16) };
        let published = self.rows.ring().publish(number, reference, |number| {
            if index == 0 {
                self.sequence.store(number + 1, Ordering::Relaxed);
            }
            admit(number)
        });
        assert_eq!(published, Ok(number));
    }

    /// As `retire` and `reclaim` of a publisher, which looks at ledgers of taken places only.
    fn reclaim(&self) -> bool {
        self.of.control.retire();
        fence(Ordering::SeqCst);
        self.taken.load(Ordering::SeqCst) == 0 || !self.of.is_held()
    }

    /// As `RawSubscriber::pin`: takes message `number` into a record. `None`: the process died.
    /// `Some(None)`: there is no such message any more, or no free record.
    fn take(&self, number: u64, life: &mut Life) -> Option<Option<usize>> {
        let Look::Here(found) = self.rows.ring().look(number) else { return Some(None) };
        let Some(index) = self.records.iter().position(|record| record.state.is_free()) else {
            return Some(None);
        };
        let (record, ledger) = (&self.records[index], &self.of.ledgers[0]);
        let control = if found.slot == 1 { &self.other } else { &self.of.control };
        let name = HeldSlot { pool: found.pool, slot: found.slot };
        life.goes_on().then_some(())?;
        record.state.give();
        life.goes_on().then_some(())?;
        let word = ledger.free(0).unwrap();
        if !life.goes_on() {
            // Named, and dead before it looked at the generation, which is then any.
            let _ = ledger.hold(word, name, control, short_generation(control.generation()));
            return None;
        }
        let is_held = ledger.hold(word, name, control, found.generation);
        life.goes_on().then_some(())?;
        if !is_held {
            record.state.give_back(|| ());
            return Some(None);
        }
        record.write(number, word);
        Some(Some(index))
    }

    fn read(&self, record: &Record<RecordState>) -> usize {
        let (number, word) = record.read();
        match number {
            1 => assert_eq!(self.payloads.read(1), 11),
            _ if self.sequence.load(Ordering::Relaxed) == number + 1 => {
                assert_eq!(self.payloads.read(0), 10 + number, "another message's bytes");
            }
            _ => {}
        }
        word
    }

    /// As a sample's use and drop.
    fn drop_sample(&self, record: &Record<RecordState>, life: &mut Life) -> Option<()> {
        let word = self.read(record);
        life.goes_on().then_some(())?;
        self.of.ledgers[0].release(word);
        life.goes_on().then_some(())?;
        record.state.give_back(|| ());
        life.goes_on().then_some(())
    }

    /// The subscriber's thread. The first sample goes to another thread.
    fn run(this: &Arc<Self>, [mut life, mut of_other]: [Life; 2], drops: Drops) {
        let mut other = None;
        for number in 0..2 {
            match this.take(number, &mut life) {
                None => break,
                Some(None) => {}
                Some(Some(index)) if other.is_none() => {
                    let this = this.clone();
                    let mut life = std::mem::replace(&mut of_other, Life(0));
                    other = Some(thread::spawn(move || {
                        drops(&this, &this.records[index], &mut life);
                    }));
                }
                Some(Some(index)) => {
                    if drops(this, &this.records[index], &mut life).is_none() {
                        break;
                    }
                }
            }
        }
        if let Some(other) = other {
            other.join().unwrap();
        }
    }
}

/// The steps of a thread that does not die.
const ALL: usize = 100;

/// The process dies after this number of steps of each of its two threads. Meanwhile the slot's owner reuses
/// the slot as soon as it may. After the end of the process, the place is freed, and the slot is the owner's.
fn process_dies(steps: [usize; 2], drops: Drops, waits: bool) {
    explore(2, move || {
        let world = Arc::new(World {
            rows: Rows::new(4),
            of: Slot::new(1),
            other: SlotControl::new(),
            taken: AtomicU32::new(1),
            sequence: AtomicU64::new(0),
            payloads: Payloads::new(2),
            records: Record::both(),
        });
        world.publish(0);
        world.publish(1);
        let process = {
            let world = world.clone();
            thread::spawn(move || World::run(&world, steps.map(Life), drops))
        };
        let mut published = 2;
        if world.reclaim() {
            world.publish(2);
            published = 3;
        }
        // The lock of a process is free when all its threads have ended.
        let process = if waits { process.join().map(|()| None).unwrap() } else { Some(process) };
        if steps == [ALL; 2] && waits {
            assert_eq!(world.of.ledgers[0].held().count(), 0, "a slot stays held");
            assert!(world.records.iter().all(|record| record.state.is_free()), "a record is lost");
        }
        // As `repair::free_places`.
        world.taken.store(0, Ordering::SeqCst);
        assert!(world.reclaim(), "the dead subscriber's slot is lost");
        world.publish(published);
        // The next subscriber in the place has all words, and holds the slot until it releases it.
        if waits {
            world.of.ledgers[0].clear();
            world.taken.store(1, Ordering::SeqCst);
            assert!(world.of.hold(0, world.of.generation()));
            assert!(!world.reclaim(), "a slot is reused while it is held");
            world.of.release(0);
            assert!(world.reclaim(), "a slot stays held");
        }
        if let Some(process) = process {
            process.join().unwrap();
        }
    });
}

/// Wherever a process dies, no slot that it held is lost, and none is reused while one of its threads may
/// read it.
#[test]
fn a_process_dies_with_samples() {
    for first in (1..=9).chain([ALL]) {
        for second in (1..=3).chain([ALL]) {
            process_dies([first, second], World::drop_sample, true);
        }
    }
}

#[test]
#[should_panic(expected = "Causality violation")]
fn broken_a_sample_releases_before_it_reads() {
    let releases_first: Drops = |world, record, _| {
        let (_, word) = record.read();
        world.of.ledgers[0].release(word);
        world.read(record);
        Some(record.state.give_back(|| ()))
    };
    process_dies([ALL; 2], releases_first, true);
}

#[test]
#[should_panic(expected = "Causality violation")]
fn broken_a_record_is_given_back_before_its_last_use() {
    let gives_back_first: Drops = |world, record, _| {
        record.state.give_back(|| ());
        let word = world.read(record);
        world.of.ledgers[0].release(word);
        Some(())
    };
    process_dies([ALL; 2], gives_back_first, true);
}

#[test]
#[should_panic(expected = "Causality violation")]
fn broken_a_place_is_freed_before_its_process_has_ended() {
    process_dies([ALL; 2], World::drop_sample, false);
}
