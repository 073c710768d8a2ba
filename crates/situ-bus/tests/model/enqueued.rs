//! Enqueued copies: they are shown before they are made, shared through their fence, and made again if their
//! copier dies.

use super::*;
use loom::sync::atomic::AtomicBool;
use situ_bus::protocol::copy_state::{CopyState, Found};
use situ_memory::{Fence, FenceState};

/// One message in one domain: a copy pool of one slot for each taker, and the slot of the message itself.
struct Shared {
    word: AtomicU64,
    owned: Vec<Slot>,
    slots: Payloads,
    source: Slot,
    wake: Bed,
    /// For subscribers that cannot use incomplete messages.
    complete: Bed,
    /// The copier was killed, and its process has ended.
    ended: AtomicBool,
    copies: std::sync::atomic::AtomicU32,
}

/// The payload of the message itself.
const SOURCE: usize = 2;

impl Shared {
    /// As `Wakes::notify`.
    fn notify(&self) {
        self.wake.notify();
        self.complete.notify();
    }
    /// As `Wakes::notify_early`.
    fn notify_early(&self) {
        self.wake.notify();
    }
    fn new() -> Arc<Self> {
        Arc::new(Self {
            word: AtomicU64::new(0),
            owned: vec![Slot::new(2), Slot::new(2)],
            slots: Payloads::new(3),
            source: Slot::new(0),
            wake: Bed::new(),
            complete: Bed::new(),
            ended: AtomicBool::new(false),
            copies: std::sync::atomic::AtomicU32::new(0),
        })
    }
    fn entry(&self) -> CopyState<'_> {
        CopyState::new(&self.word, 0, 2)
    }
    fn slot_of(&self, taker: usize) -> Reference {
        Reference { pool: taker as u16, slot: 0, generation: self.owned[taker].generation() }
    }
    fn count(&self) {
        self.copies.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    }
}

fn fence_of(shared: &Arc<Shared>, control: &SlotControl) -> Fence {
    let value = control.generation().wrapping_add(1);
    // SAFETY: the word lies in memory that the fence keeps alive.
    unsafe { Fence::new(std::ptr::NonNull::from(control.fence()), value, shared.clone()) }
}

/// Claims, and shows the entry before the copy exists: `Copies::enqueue_copy`.
fn enqueue(shared: &Arc<Shared>, taker: usize) -> Option<Fence> {
    let (Found::Absent, word) = shared.entry().look() else { return None };
    let fence = fence_of(shared, &shared.owned[taker].control);
    let claim = shared.entry().claim(word, shared.slot_of(taker))?;
    shared.entry().finish(claim)?;
    shared.count();
    // Participants that wait for the entry. Those that wait for the bytes sleep on.
    shared.notify_early();
    Some(fence)
}

/// The stream's work for this copy. A fence is completed by a store. Of two stores without an order, loom may
/// later return either one, so it is a read-modify-write here.
fn make(shared: &Arc<Shared>, taker: usize, fence: &Fence, tell: fn(&Shared)) {
    shared.slots.write(taker, 10);
    fence.word().swap(fence.value(), Ordering::SeqCst);
    tell(shared);
}

/// Takes the message: shares the copy when `usable` says so, or makes one in the call.
fn take(shared: &Arc<Shared>, taker: usize, usable: impl Fn(&Shared, &Fence) -> bool + Copy) -> u64 {
    loop {
        let (found, word) = shared.entry().look();
        if let Found::Ready(slot) = found {
            let of = &shared.owned[usize::from(slot.pool)];
            if of.hold(taker, slot.generation) && shared.entry().still(word) {
                let is_usable = usable(shared, &fence_of(shared, &of.control));
                let bytes = is_usable.then(|| shared.slots.read(slot.pool.into()));
                of.release(taker);
                if let Some(bytes) = bytes {
                    return bytes;
                }
            }
        } else if let Found::Copying(_) = found {
            shared.wake.sleep_until(|| {
                !matches!(shared.entry().look().0, Found::Copying(_)) || shared.ended.load(Ordering::SeqCst)
            });
            if !shared.ended.load(Ordering::SeqCst) {
                continue;
            }
        }
        if let Some(claim) = shared.entry().claim(word, shared.slot_of(taker)) {
            shared.slots.write(taker, 10);
            fence_of(shared, &shared.owned[taker].control).complete();
            assert!(
                shared.entry().finish(claim).is_some(),
                "the copier lives, so its claim is not taken over"
            );
            shared.count();
            return 10;
        }
    }
}

/// Like a subscriber on the host: it cannot use incomplete messages.
fn is_complete_after_a_while(shared: &Shared, fence: &Fence) -> bool {
    shared.complete.sleep_until(|| fence.state() != FenceState::Pending);
    fence.state() == FenceState::Complete
}

/// A copier whose stream copies after the entry was shown, and a subscriber that takes meanwhile.
fn shared_early(usable: impl Fn(&Shared, &Fence) -> bool + Copy + Send + Sync + 'static, tell: fn(&Shared)) {
    explore(3, move || {
        let shared = Shared::new();
        let other = {
            let shared = shared.clone();
            thread::spawn(move || assert_eq!(take(&shared, 1, usable), 10))
        };
        if let Some(fence) = enqueue(&shared, 0) {
            make(&shared, 0, &fence, tell);
        }
        other.join().unwrap();
        assert_eq!(shared.copies.load(std::sync::atomic::Ordering::Relaxed), 1, "copied more than once");
    });
}

#[test]
fn an_enqueued_copy_is_shared_when_it_is_made() {
    shared_early(is_complete_after_a_while, Shared::notify);
}

#[test]
#[should_panic(expected = "deadlock")]
fn broken_the_end_of_an_enqueued_copy_wakes_early_sleepers_only() {
    shared_early(is_complete_after_a_while, Shared::notify_early);
}

#[test]
#[should_panic(expected = "left == right")]
fn broken_an_enqueued_copy_is_read_before_it_is_made() {
    shared_early(|_, _| true, Shared::notify);
}

#[test]
#[should_panic(expected = "copied more than once")]
fn broken_no_taker_waits_for_an_enqueued_copy() {
    shared_early(|_, fence| fence.state() == FenceState::Complete, Shared::notify);
}

/// The copier dies after it has shown the entry; its stream may have made the copy, or half of it.
fn copier_dies(poison: impl Fn(&Fence) + Copy + Send + Sync + 'static) {
    explore(3, move || {
        let shared = Shared::new();
        let dying = {
            let shared = shared.clone();
            thread::spawn(move || {
                if enqueue(&shared, 0).is_some() {
                    shared.slots.write(0, 9);
                }
                shared.ended.store(true, Ordering::SeqCst);
                shared.notify();
            })
        };
        let other = {
            let shared = shared.clone();
            thread::spawn(move || assert_eq!(take(&shared, 1, is_complete_after_a_while), 10))
        };
        dying.join().unwrap();
        poison(&fence_of(&shared, &shared.owned[0].control));
        shared.notify();
        other.join().unwrap();
    });
}

#[test]
fn an_enqueued_copy_of_a_dead_copier_is_repeated() {
    copier_dies(|fence| _ = fence.poison());
}

#[test]
#[should_panic(expected = "deadlock")]
fn broken_an_enqueued_copy_of_a_dead_copier_is_not_poisoned() {
    copier_dies(|_| {});
}

/// A copy of a message that never became complete: its publisher dies, and its copier's stream continues.
fn source_dies(end: impl Fn(&Fence, &Fence) + Copy + Send + Sync + 'static) {
    explore(3, move || {
        let shared = Shared::new();
        let copier = {
            let shared = shared.clone();
            thread::spawn(move || {
                let Some(fence) = enqueue(&shared, 0) else { return };
                let source = fence_of(&shared, &shared.source.control);
                shared.wake.sleep_until(|| source.state() != FenceState::Pending);
                shared.slots.write(0, shared.slots.read(SOURCE));
                end(&fence, &source);
                shared.notify();
            })
        };
        let publisher = {
            let shared = shared.clone();
            thread::spawn(move || {
                shared.slots.write(SOURCE, 9);
                // Half written, when it dies.
                fence_of(&shared, &shared.source.control).poison();
                shared.notify();
            })
        };
        publisher.join().unwrap();
        copier.join().unwrap();
        if let (Found::Ready(_), _) = shared.entry().look() {
            let complete = fence_of(&shared, &shared.owned[0].control).state() == FenceState::Complete;
            assert!(!complete || shared.slots.read(0) == 10, "garbage is taken for a message");
        }
    });
}

#[test]
fn a_copy_of_a_poisoned_message_is_poisoned() {
    source_dies(|fence, source| fence.complete_unless_poisoned(Some(source)));
}

#[test]
#[should_panic(expected = "garbage is taken for a message")]
fn broken_a_copy_of_a_poisoned_message_is_complete() {
    source_dies(|fence, _| fence.complete());
}
