//! Models of the routing of replies: a client with two calls, and two servers, of which any may die between
//! any two steps.
//!
//! The calls are those of clients (`service/calls.rs`), and the topic of replies consists of the real ring,
//! tenures and ledger. `Client` states the few steps of `RawClient` between them once more.

use std::sync::Arc;
use std::sync::atomic::AtomicU32 as Unseen;

use loom::sync::Mutex;
use loom::thread;
use situ_bus::protocol::ledger::{HeldSlot, Ledger};
use situ_bus::protocol::ring::{Look, Reference};
use situ_bus::protocol::tenure::Tenure;
use situ_memory::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering, fence};
use situ_memory::{SlotControl, short_generation};

use super::calls::Calls;
use super::node::endpoint::EndpointId;
use super::{Payloads, Rows, admit, explore};

/// The number of steps of a process that does not die.
const ALL: usize = usize::MAX;
/// The messages that a server publishes at most.
const MESSAGES: usize = 2;
const PLACE_FREE: u32 = 0;
const PLACE_TAKEN: u32 = 1;

/// A part of a reply: of which of the two calls, and whether it is the last.
type Part = (usize, bool);

/// Server 0 answers call 0, in two parts.
const FIRST: &[Part] = &[(0, false), (0, true)];
/// Server 1 answers both calls.
const SECOND: &[Part] = &[(1, true), (0, true)];

/// A process that dies after some steps.
struct Life {
    left: usize,
}

impl Life {
    /// Whether it may do one more step.
    fn goes_on(&mut self) -> Option<()> {
        self.left = self.left.checked_sub(1)?;
        Some(())
    }
}

/// The topic of replies, and the servers' places at the topic of requests.
struct World {
    /// Who takes requests.
    places: [AtomicU32; 2],
    /// The processes of servers that have ended.
    dead: [AtomicBool; 2],
    /// The lock of the topic of replies. The kernel releases it when its owner dies.
    lock: Mutex<()>,
    /// Whether an entry of the topic of replies has a publisher.
    publishing: Vec<AtomicU32>,
    /// Whether entries stay as long as the client may take messages of theirs.
    keeps_entries: bool,
    /// The number of the message that the client takes next.
    cursor: AtomicU64,
    tenures: Vec<Tenure>,
    rows: Rows,
    /// The slots of both servers' pools.
    controls: Vec<SlotControl>,
    payloads: Payloads,
    ledger: Ledger,
    /// What the servers have published so far, by server and call, which the model only checks: bit 0 is any
    /// part, bit 1 is the last one.
    published: [[Unseen; 2]; 2],
}

/// The number of a server's pool. It is never 0.
fn pool_of(server: usize) -> u64 {
    server as u64 + 1
}

impl World {
    fn new(entries: usize, keeps_entries: bool) -> Arc<Self> {
        Arc::new(Self {
            places: [0, 1].map(|_| AtomicU32::new(PLACE_TAKEN)),
            dead: [0, 1].map(|_| AtomicBool::new(false)),
            lock: Mutex::new(()),
            publishing: (0..entries).map(|_| AtomicU32::new(PLACE_FREE)).collect(),
            keeps_entries,
            cursor: AtomicU64::new(0),
            tenures: (0..entries).map(|_| Tenure::new()).collect(),
            rows: Rows::new(4),
            controls: (0..2 * MESSAGES).map(|_| SlotControl::new()).collect(),
            payloads: Payloads::new(2 * MESSAGES),
            ledger: Ledger::new(),
            published: Default::default(),
        })
    }

    /// Joins the topic of replies. Returns the server's entry. `None`: it has died.
    fn join(&self, server: usize, life: &mut Life) -> Option<usize> {
        let _lock = self.lock.lock().unwrap();
        let is_there = |entry: usize| self.publishing[entry].load(Ordering::SeqCst) == PLACE_TAKEN;
        let is_needed = |entry: usize| self.keeps_entries && self.is_needed(entry);
        let entry = (0..self.publishing.len()).find(|entry| !is_there(*entry) && !is_needed(*entry))?;
        life.goes_on()?;
        self.tenures[entry].begin(pool_of(server), self.rows.ring().end());
        life.goes_on()?;
        self.publishing[entry].store(PLACE_TAKEN, Ordering::SeqCst);
        Some(entry)
    }

    /// As `repair` before an entry is given away: whether the client has not taken a message of it.
    fn is_needed(&self, entry: usize) -> bool {
        let ring = self.rows.ring();
        let numbers = self.cursor.load(Ordering::SeqCst)..ring.end();
        let is_its = |look| matches!(look, Look::Here(found) if usize::from(found.pool) == entry);
        numbers.into_iter().any(|number| is_its(ring.look(number)))
    }

    /// Answers. `None`: it has died, or it found no entry.
    fn serve(&self, server: usize, parts: &[Part], calls: [u64; 2], life: &mut Life) -> Option<()> {
        life.goes_on()?;
        let entry = self.join(server, life)?;
        for (index, &(call, is_last)) in parts.iter().enumerate() {
            life.goes_on()?;
            let slot = server * MESSAGES + index;
            self.payloads.write(slot, calls[call] << 1 | u64::from(is_last));
            life.goes_on()?;
            let generation = short_generation(self.controls[slot].generation());
            let reference = Reference { pool: entry as u16, slot: slot as u16, generation };
            self.rows.ring().publish(0, reference, admit).unwrap();
            self.published[server][call].fetch_or(1 | u32::from(is_last) << 1, Ordering::Relaxed);
        }
        life.goes_on()?;
        self.places[server].store(PLACE_FREE, Ordering::SeqCst);
        life.goes_on()?;
        self.publishing[entry].store(PLACE_FREE, Ordering::SeqCst);
        Some(())
    }

    fn run(&self, server: usize, parts: &[Part], calls: [u64; 2], steps: usize) {
        if self.serve(server, parts, calls, &mut Life { left: steps }).is_none() {
            self.dead[server].store(true, Ordering::SeqCst);
        }
    }

    /// As `Servers::check`: the places of dead servers are marked.
    fn mark_dead(&self) {
        for (place, dead) in self.places.iter().zip(&self.dead) {
            if dead.load(Ordering::SeqCst) {
                place.store(PLACE_FREE, Ordering::SeqCst);
            }
        }
    }
}

/// How a call has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    Replied,
    ServerGone,
}

/// How the client does what the broken variants leave out.
#[derive(Clone, Copy)]
struct Rules {
    /// Only the server of the first part counts from then on.
    keeps_server: bool,
    /// Before a call ends because its servers are gone, the client takes once more.
    takes_again: bool,
}

const RULES: Rules = Rules { keeps_server: true, takes_again: true };

struct Client<'w> {
    world: &'w World,
    calls: Calls,
    numbers: [u64; 2],
    next: u64,
    rules: Rules,
    /// The servers of each call's parts that were delivered.
    servers: [Vec<u64>; 2],
    ends: [Option<End>; 2],
}

impl<'w> Client<'w> {
    fn new(world: &'w World, rules: Rules) -> Self {
        let mut calls = Calls::new(2);
        let numbers = [0, 1].map(|_| calls.begin(0, u64::MAX).unwrap());
        Self { world, calls, numbers, next: 0, rules, servers: Default::default(), ends: [None; 2] }
    }

    /// As `RawClient::receive`: the call and the server of the next part that counts.
    fn receive(&mut self) -> Option<(u64, u64, bool)> {
        loop {
            let Look::Here(reference) = self.world.rows.ring().look(self.next) else { return None };
            let number = self.next;
            self.next += 1;
            // The pool of a message whose entry was given away is gone.
            let found = self.world.tenures[usize::from(reference.pool)].of(number);
            let value = found.map(|_| self.hold_and_read(reference));
            self.world.cursor.store(self.next, Ordering::SeqCst);
            let (Some(pool), Some(value)) = (found, value) else { continue };
            let server = EndpointId { number: pool };
            let (call, is_last) = (value >> 1, value & 1 != 0);
            let Some(known) = self.calls.get(call).filter(|call| !call.is_over) else { continue };
            let first = *known.server.get_or_insert(server);
            if self.rules.keeps_server && first != server {
                continue;
            }
            known.is_over = is_last;
            return Some((call, reference.slot as u64 / MESSAGES as u64, is_last));
        }
    }

    fn hold_and_read(&self, reference: Reference) -> u64 {
        let slot = usize::from(reference.slot);
        let held = HeldSlot { pool: reference.pool, slot: reference.slot };
        let word = self.world.ledger.free(0).unwrap();
        let control = &self.world.controls[slot];
        assert!(self.world.ledger.hold(word, held, control, reference.generation), "nothing is reused here");
        let value = self.world.payloads.read(slot);
        self.world.ledger.release(word);
        value
    }

    /// `sender` is the server that wrote the part, by its slot.
    fn deliver(&mut self, (call, sender, is_last): (u64, u64, bool)) {
        let index = self.numbers.iter().position(|number| *number == call).unwrap();
        assert_eq!(self.ends[index], None, "a reply to a call that is over");
        let servers = &mut self.servers[index];
        servers.push(sender);
        assert!(servers.iter().all(|server| *server == sender), "a reply of two servers");
        if is_last {
            let parts = if (sender, index) == (0, 0) { 2 } else { 1 };
            assert_eq!(servers.len(), parts, "a part is missing, or came twice");
            self.end(index, End::Replied);
        }
    }

    fn end(&mut self, index: usize, end: End) {
        assert!(self.calls.end(self.numbers[index]).is_some(), "it ends once");
        self.ends[index] = Some(end);
    }

    /// As `Servers::may_answer`, for a call that all servers got.
    fn may_answer(&self, server: Option<EndpointId>) -> bool {
        let is_there = |server: usize| self.world.places[server].load(Ordering::SeqCst) == PLACE_TAKEN;
        match server {
            Some(server) => is_there(server.number as usize - 1),
            None => is_there(0) || is_there(1),
        }
    }

    /// As `RawClient::take`.
    fn step(&mut self) {
        if let Some(reply) = self.receive() {
            return self.deliver(reply);
        }
        self.world.mark_dead();
        let orphan = self.calls.waiting().find(|call| !self.may_answer(call.server)).copied();
        let Some(orphan) = orphan else { return };
        if self.rules.takes_again
            && let Some(reply) = self.receive()
        {
            return self.deliver(reply);
        }
        let index = self.numbers.iter().position(|number| *number == orphan.number).unwrap();
        let published = self.world.published.iter().map(|calls| calls[index].load(Ordering::Relaxed));
        let published: Vec<u32> = published.collect();
        match orphan.server {
            Some(server) => assert_eq!(published[server.number as usize - 1] & 2, 0, "a reply is lost"),
            None => assert_eq!(published, [0, 0], "a reply is lost"),
        }
        self.end(index, End::ServerGone);
    }
}

/// How many preemptions are explored: where a server dies counts for one.
fn preemptions(steps: [usize; 2]) -> usize {
    if steps == [ALL; 2] { 2 } else { 1 }
}

/// Both servers answer, and die after so many of their steps. The client takes meanwhile, and afterwards.
fn route(steps: [usize; 2], rules: Rules) {
    explore(preemptions(steps), move || {
        let world = World::new(2, true);
        let mut client = Client::new(&world, rules);
        let numbers = client.numbers;
        let servers = [(0, FIRST), (1, SECOND)].map(|(server, parts)| {
            let world = world.clone();
            thread::spawn(move || world.run(server, parts, numbers, steps[server]))
        });
        for _ in 0..2 {
            client.step();
        }
        servers.into_iter().for_each(|server| server.join().unwrap());
        // Four messages at most, and the ends of two calls.
        for _ in 0..6 {
            client.step();
        }
        assert!(client.calls.is_empty(), "a call does not end: {:?}", client.ends);
        assert_eq!(world.ledger.held().count(), 0, "a slot stays held");
        if steps == [ALL; 2] {
            assert_eq!(client.ends, [Some(End::Replied); 2]);
        }
    });
}

/// The steps of the servers: to begin, to join, and to leave take five together, and each message takes two.
const STEPS: usize = 5 + 2 * MESSAGES;

#[test]
fn replies_of_two_servers_reach_their_calls() {
    route([ALL; 2], RULES);
}

/// Every call ends with a whole reply of one server, or because its servers are gone.
#[test]
fn calls_end_wherever_a_server_dies() {
    (0..STEPS).for_each(|steps| route([steps, ALL], RULES));
    (0..STEPS).for_each(|steps| route([ALL, steps], RULES));
}

#[test]
fn calls_end_wherever_both_servers_die() {
    for first in 0..STEPS {
        (0..STEPS).for_each(|second| route([first, second], RULES));
    }
}

#[test]
#[should_panic(expected = "a reply of two servers")]
fn broken_a_second_server_counts_after_the_first_part() {
    route([ALL; 2], Rules { keeps_server: false, ..RULES });
}

#[test]
#[should_panic(expected = "a reply is lost")]
fn broken_a_call_ends_without_a_last_look() {
    route([ALL; 2], Rules { takes_again: false, ..RULES });
}

/// A server dies after so many steps, and another one joins in its entry of the topic of replies.
fn entry_is_taken_over(steps: usize, keeps_entries: bool) {
    explore(3, move || {
        let world = World::new(1, keeps_entries);
        let mut client = Client::new(&world, RULES);
        let numbers = client.numbers;
        let servers = {
            let world = world.clone();
            thread::spawn(move || {
                world.run(0, FIRST, numbers, steps);
                // The next server repairs the topic.
                world.publishing[0].store(PLACE_FREE, Ordering::SeqCst);
                world.run(1, SECOND, numbers, ALL);
            })
        };
        client.step();
        client.step();
        servers.join().unwrap();
        for _ in 0..6 {
            client.step();
        }
        assert!(client.calls.is_empty(), "a call does not end: {:?}", client.ends);
    });
}

#[test]
fn an_entry_is_taken_over_when_its_replies_were_taken() {
    (0..STEPS).for_each(|steps| entry_is_taken_over(steps, true));
}

#[test]
#[should_panic(expected = "a reply is lost")]
fn broken_an_entry_is_taken_over_at_once() {
    (0..STEPS).for_each(|steps| entry_is_taken_over(steps, false));
}

/// A client with room for one call cancels it, and begins another one, while the first is answered.
fn cancelled(find: impl Fn(&mut Calls, u64) -> bool + Copy + Send + Sync + 'static) {
    explore(3, move || {
        let rows = Arc::new(Rows::new(4));
        let mut calls = Calls::new(1);
        let first = calls.begin(0, u64::MAX).unwrap();
        let server = {
            let rows = rows.clone();
            thread::spawn(move || {
                let reference = Reference { pool: 0, slot: first as u16, generation: 0 };
                rows.ring().publish(0, reference, admit).unwrap();
            })
        };
        calls.end(first).unwrap();
        calls.begin(0, u64::MAX).unwrap();
        let mut take = || match rows.ring().look(0) {
            Look::Here(found) => find(&mut calls, u64::from(found.slot)),
            _ => false,
        };
        let early = take();
        server.join().unwrap();
        assert!(!early && !take(), "the reply to another call");
    });
}

#[test]
fn the_reply_to_a_cancelled_call_reaches_no_later_one() {
    cancelled(|calls, call| calls.get(call).is_some());
}

#[test]
#[should_panic(expected = "the reply to another call")]
fn broken_calls_are_found_by_their_slots_alone() {
    cancelled(|calls, call| {
        let slot = calls.slot(call);
        calls.waiting().any(|other| other.number as usize % calls.most() == slot)
    });
}

/// The topic of replies of a client that dies, with a server that has one slot and uses it again.
struct Dying {
    place: AtomicU32,
    is_dead: AtomicBool,
    ledger: Ledger,
    control: SlotControl,
    rows: Rows,
    payloads: Payloads,
    /// The number of the message in the slot, plus 1.
    sequence: AtomicU64,
}

const HELD: HeldSlot = HeldSlot { pool: 0, slot: 0 };

impl Dying {
    /// Takes the newest reply, reads and releases it. `None`: the client has died.
    fn take(&self, life: &mut Life) -> Option<()> {
        let number = self.rows.ring().end().saturating_sub(1);
        let Look::Here(found) = self.rows.ring().look(number) else { return Some(()) };
        life.goes_on()?;
        let word = self.ledger.free(0).unwrap();
        if !self.ledger.hold(word, HELD, &self.control, found.generation) {
            return Some(());
        }
        life.goes_on()?;
        if self.sequence.load(Ordering::Relaxed) == number + 1 {
            assert_eq!(self.payloads.read(0), 10 + number);
        }
        life.goes_on()?;
        self.ledger.release(word);
        Some(())
    }

    fn publish(&self, number: u64) {
        self.payloads.write(0, 10 + number);
        let generation = short_generation(self.control.generation());
        let reference = Reference { pool: 0, slot: 0, generation };
        self.sequence.store(number + 1, Ordering::Relaxed);
        assert_eq!(self.rows.ring().publish(number, reference, admit), Ok(number));
    }

    /// As `retire` and `reclaim` of a publisher: the ledgers of places that are taken count.
    fn reclaim(&self) -> bool {
        self.control.retire();
        fence(Ordering::SeqCst);
        self.place.load(Ordering::SeqCst) == PLACE_FREE || self.ledger.held().count() == 0
    }
}

/// The client dies after so many steps. `repair` is what the server does when it has no slot.
fn client_dies(steps: usize, repair: impl Fn(&Dying) + Copy + Send + Sync + 'static) {
    explore(3, move || {
        let dying = Arc::new(Dying {
            place: AtomicU32::new(PLACE_TAKEN),
            is_dead: AtomicBool::new(false),
            ledger: Ledger::new(),
            control: SlotControl::new(),
            rows: Rows::new(2),
            payloads: Payloads::new(1),
            sequence: AtomicU64::new(0),
        });
        dying.publish(0);
        let client = {
            let dying = dying.clone();
            thread::spawn(move || {
                if dying.take(&mut Life { left: steps }).is_none() {
                    dying.is_dead.store(true, Ordering::SeqCst);
                }
            })
        };
        repair(&dying);
        if dying.reclaim() {
            dying.publish(1);
        }
        client.join().unwrap();
        repair(&dying);
        assert!(dying.reclaim(), "the slot of a reply is lost");
    });
}

/// As `Clients::forget_gone`: the place of a client whose process has ended does not count any more.
fn repair_if_dead(dying: &Dying) {
    if dying.is_dead.load(Ordering::SeqCst) {
        dying.place.store(PLACE_FREE, Ordering::SeqCst);
    }
}

#[test]
fn a_dead_client_keeps_no_slot() {
    (0..4).for_each(|steps| client_dies(steps, repair_if_dead));
    client_dies(ALL, repair_if_dead);
}

#[test]
#[should_panic(expected = "the slot of a reply is lost")]
fn broken_the_place_of_a_dead_client_counts() {
    client_dies(2, |_| {});
}

#[test]
#[should_panic(expected = "Causality violation")]
fn broken_the_place_of_a_living_client_is_released() {
    client_dies(ALL, |dying| dying.place.store(PLACE_FREE, Ordering::SeqCst));
}
