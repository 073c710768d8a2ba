//! The entry of a message in a memory domain: which participant copies, which share, and which takes over.

use super::*;
use loom::sync::atomic::AtomicBool;
use situ_bus::protocol::copy_state::{CopyState, Found};

/// Two messages in one domain, and a copy pool of one slot for each taker.
struct Shared {
    words: [AtomicU64; 2],
    /// Each with a ledger for each taker.
    owned: Vec<Slot>,
    slots: Payloads,
    /// Takers that were found dead.
    dead: Vec<AtomicBool>,
    /// The place at which subscribers wait for the copier.
    wake: Bed,
    /// Copies that became `READY`, not seen by the model: it is no part of the protocol.
    copies: std::sync::atomic::AtomicU32,
}

impl Shared {
    fn new(takers: usize) -> Self {
        Self {
            words: [AtomicU64::new(0), AtomicU64::new(0)],
            owned: (0..takers).map(|_| Slot::new(takers)).collect(),
            slots: Payloads::new(takers),
            dead: (0..takers).map(|_| AtomicBool::new(false)).collect(),
            wake: Bed::new(),
            copies: std::sync::atomic::AtomicU32::new(0),
        }
    }
    fn entry(&self, message: usize) -> CopyState<'_> {
        CopyState::new(&self.words[message], message as u64, 2)
    }
    fn slot_of(&self, taker: usize) -> Reference {
        Reference { pool: taker as u16, slot: 0, generation: self.owned[taker].generation() }
    }
    fn count(&self) -> u32 {
        self.copies.load(std::sync::atomic::Ordering::Relaxed)
    }

    /// Copies into the own slot, as `Copies::bring`.
    fn copy(&self, taker: usize, message: usize, claim: u64) -> bool {
        self.slots.write(taker, 10 + message as u64);
        let ready = self.entry(message).finish(claim).is_some();
        if ready {
            self.copies.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
            self.wake.notify();
        }
        ready
    }

    /// Dies. Waking the others stands for their periodic checks.
    fn die(&self, taker: usize) {
        self.dead[taker].store(true, Ordering::SeqCst);
        self.wake.notify();
    }

    /// Waits while a live copier copies.
    fn wait(&self, entry: CopyState<'_>) {
        self.wake.sleep_until(|| match entry.look().0 {
            Found::Copying(slot) => self.dead[usize::from(slot.pool)].load(Ordering::SeqCst),
            _ => true,
        });
    }

    /// Takes the message in this domain, as `RawSubscriber` does: copies it, or waits for the copier.
    /// `patient` says whether it waits for a live one.
    fn take(&self, taker: usize, message: usize, patient: bool) -> Option<u64> {
        let entry = self.entry(message);
        loop {
            let (found, word) = entry.look();
            match found {
                Found::Passed => return None,
                Found::Ready(slot) => return self.share(taker, entry, slot, word),
                Found::Copying(slot)
                    if patient && !self.dead[usize::from(slot.pool)].load(Ordering::SeqCst) =>
                {
                    self.wait(entry);
                    continue;
                }
                Found::Absent | Found::Copying(_) => {}
            }
            if let Some(claim) = entry.claim(word, self.slot_of(taker)) {
                if self.copy(taker, message, claim) {
                    return Some(self.slots.read(taker));
                }
                // Taken over: a copy that was never ready is not held.
                assert!(self.owned[taker].reclaim());
            }
        }
    }

    fn share(&self, taker: usize, entry: CopyState<'_>, slot: Reference, word: u64) -> Option<u64> {
        let copier = usize::from(slot.pool);
        let of = &self.owned[copier];
        if !of.hold(taker, slot.generation) {
            return None;
        }
        let bytes = entry.still(word).then(|| self.slots.read(copier));
        of.release(taker);
        bytes
    }
}

/// Takers that all want the same message.
fn takers(number: usize, take: impl Fn(&Shared, usize) -> Option<u64> + Copy + Send + Sync + 'static) {
    explore(if number > 2 { 2 } else { 3 }, move || {
        let shared = Arc::new(Shared::new(number));
        let others: Vec<_> = (1..number)
            .map(|taker| {
                let shared = shared.clone();
                thread::spawn(move || assert_eq!(take(&shared, taker), Some(10)))
            })
            .collect();
        assert_eq!(take(&shared, 0), Some(10));
        others.into_iter().for_each(|other| other.join().unwrap());
        assert_eq!(shared.count(), 1, "copied more than once");
    });
}

/// For any number of takers, one copies, and all see the whole copy.
#[test]
fn a_message_is_copied_once() {
    let patiently = |shared: &Shared, taker| shared.take(taker, 0, true);
    takers(2, patiently);
    takers(3, patiently);
}

#[test]
#[should_panic(expected = "copied more than once")]
fn broken_a_claim_from_a_word_that_was_not_read_before() {
    takers(2, |shared, taker| {
        let entry = shared.entry(0);
        let (found, _) = entry.look();
        if found == Found::Absent {
            // Any state by now.
            while let (_, word) = entry.look()
                && let Some(claim) = entry.claim(word, shared.slot_of(taker))
            {
                if shared.copy(taker, 0, claim) {
                    return Some(10);
                }
            }
        }
        shared.take(taker, 0, true)
    });
}

#[test]
#[should_panic(expected = "Causality violation")]
fn broken_ready_before_the_bytes_are() {
    takers(2, |shared, taker| {
        let entry = shared.entry(0);
        if let (Found::Absent, word) = entry.look()
            && let Some(claim) = entry.claim(word, shared.slot_of(taker))
        {
            entry.finish(claim);
            shared.wake.notify();
            shared.slots.write(taker, 10);
            return Some(10);
        }
        shared.take(taker, 0, true)
    });
}

/// Taker 0 dies while it copies. The others find it dead, one of them takes over, and the rest share its
/// copy.
#[test]
fn a_dead_copier_is_replaced() {
    explore(2, || {
        let shared = Arc::new(Shared::new(3));
        let dying = {
            let shared = shared.clone();
            thread::spawn(move || {
                let entry = shared.entry(0);
                if let (Found::Absent, word) = entry.look()
                    && entry.claim(word, shared.slot_of(0)).is_some()
                {
                    shared.slots.write(0, 99);
                    shared.die(0);
                }
            })
        };
        let other = {
            let shared = shared.clone();
            thread::spawn(move || assert_eq!(shared.take(1, 0, true), Some(10)))
        };
        assert_eq!(shared.take(2, 0, true), Some(10));
        dying.join().unwrap();
        other.join().unwrap();
        assert_eq!(shared.count(), 1);
    });
}

/// A copier that was only slow is replaced. Its copy is never seen, and no subscriber sees half of one.
#[test]
fn a_slow_copier_may_be_overtaken() {
    explore(3, || {
        let shared = Arc::new(Shared::new(2));
        let slow = {
            let shared = shared.clone();
            thread::spawn(move || {
                let bytes = shared.take(0, 0, true);
                assert_eq!(bytes, Some(10));
            })
        };
        assert_eq!(shared.take(1, 0, false), Some(10));
        slow.join().unwrap();
        assert_eq!(shared.count(), 1, "of two copies one is ready");
    });
}

/// A copier retires its copy of one message and brings another into the same slot, while a late taker shares
/// the first.
fn recycling(
    share: impl Fn(&Shared, CopyState<'_>, Reference, u64) -> Option<u64> + Copy + Send + Sync + 'static,
) {
    explore(3, move || {
        let shared = Arc::new(Shared::new(2));
        let late = {
            let shared = shared.clone();
            thread::spawn(move || {
                let entry = shared.entry(0);
                if let (Found::Ready(slot), word) = entry.look()
                    && let Some(bytes) = share(&shared, entry, slot, word)
                {
                    assert_eq!(bytes, 10);
                }
            })
        };
        let bring = |message| {
            let (_, word) = shared.entry(message).look();
            let claim = shared.entry(message).claim(word, shared.slot_of(0)).unwrap();
            assert!(shared.copy(0, message, claim));
        };
        bring(0);
        if shared.owned[0].reclaim() {
            bring(1);
        }
        late.join().unwrap();
        assert!(!shared.owned[0].is_held(), "all takers released it");
    });
}

#[test]
fn a_copy_that_is_shared_is_not_recycled() {
    recycling(|shared, entry, slot, word| shared.share(1, entry, slot, word));
}

#[test]
#[should_panic(expected = "Causality violation")]
fn broken_a_copy_is_shared_without_holding_it() {
    recycling(|shared, entry, slot, word| entry.still(word).then(|| shared.slots.read(slot.pool.into())));
}
