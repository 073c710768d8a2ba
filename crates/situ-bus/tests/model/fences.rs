//! Fences: a message is published before its bytes are complete, and its owner may die before they are.

use super::*;
use situ_memory::{Fence, FenceState};

/// One slot whose message is in the first row.
struct Shared {
    rows: Rows,
    of: Slot,
    slots: Payloads,
}

impl Shared {
    fn new() -> Arc<Self> {
        Arc::new(Self { rows: Rows::new(2), of: Slot::new(1), slots: Payloads::new(1) })
    }
    fn publish(&self) {
        let reference = Reference { generation: self.of.generation(), ..slot(0) };
        assert_eq!(self.rows.ring().publish(0, reference, admit), Ok(0));
    }
}

/// The fence of the slot's present message, as `PoolOwner::fence` and `PoolMetadata::fence` compute it.
fn fence(shared: &Arc<Shared>) -> Fence {
    let value = shared.of.control.generation().wrapping_add(1);
    // SAFETY: the word lies in memory that the fence keeps alive.
    unsafe { Fence::new(std::ptr::NonNull::from(shared.of.control.fence()), value, shared.clone()) }
}

fn fill_then_complete(shared: &Arc<Shared>) {
    shared.slots.write(0, 10);
    fence(shared).complete();
}

/// The same by a read-modify-write: of stores without an order, loom may later return either one.
fn fill_then_swap(shared: &Arc<Shared>) {
    shared.slots.write(0, 10);
    fence(shared).word().swap(fence(shared).value(), Ordering::SeqCst);
}

/// A publisher publishes, its device fills the slot, and a reader reads when `ready` permits. The publisher
/// may be found dead meanwhile.
fn published_early(
    device: impl Fn(&Arc<Shared>) + Copy + Send + Sync + 'static,
    ready: impl Fn(&Fence) -> bool + Copy + Send + Sync + 'static,
    poison: impl Fn(&Fence) + Copy + Send + Sync + 'static,
) {
    explore(3, move || {
        let shared = Shared::new();
        let working = {
            let shared = shared.clone();
            thread::spawn(move || device(&shared))
        };
        let reader = {
            let shared = shared.clone();
            thread::spawn(move || {
                let Look::Here(found) = shared.rows.ring().look(0) else { return false };
                if !shared.of.hold(0, found.generation) {
                    return false;
                }
                let complete = ready(&fence(&shared));
                if complete {
                    assert_eq!(shared.slots.read(0), 10);
                }
                shared.of.release(0);
                complete
            })
        };
        shared.publish();
        poison(&fence(&shared));
        let complete = reader.join().unwrap();
        working.join().unwrap();
        // A read-modify-write, so that it is the last value.
        let word = shared.of.control.fence().word().fetch_or(0, Ordering::SeqCst);
        assert!(word != 0, "a waiting thread would never wake");
        assert!(!complete || word == 1, "a complete fence was poisoned");
    });
}

fn is_complete(fence: &Fence) -> bool {
    fence.state() == FenceState::Complete
}

fn poison(fence: &Fence) {
    fence.poison();
}

/// A participant that sees a fence complete sees the bytes. A participant that waits for a dead owner
/// continues. A complete message is never poisoned.
#[test]
fn bytes_are_complete_when_the_fence_is() {
    published_early(fill_then_complete, is_complete, |_| {});
    published_early(fill_then_swap, is_complete, poison);
    published_early(|shared| shared.slots.write(0, 9), is_complete, poison);
}

#[test]
#[should_panic(expected = "Causality violation")]
fn broken_a_fence_is_completed_before_the_bytes_are() {
    published_early(
        |shared| {
            fence(shared).complete();
            shared.slots.write(0, 10);
        },
        is_complete,
        |_| {},
    );
}

#[test]
#[should_panic(expected = "Causality violation")]
fn broken_a_reader_does_not_wait_for_the_fence() {
    published_early(fill_then_complete, |_| true, |_| {});
}

#[test]
#[should_panic(expected = "a waiting thread would never wake")]
fn broken_the_fence_of_a_dead_owner_is_not_poisoned() {
    published_early(|_| {}, is_complete, |_| {});
}

#[test]
#[should_panic(expected = "a complete fence was poisoned")]
fn broken_poison_that_is_no_swap() {
    published_early(fill_then_swap, is_complete, |fence| {
        if fence.state() == FenceState::Pending {
            fence.word().swap(situ_memory::POISON, Ordering::SeqCst);
        }
    });
}

/// An owner that reuses its slot: not before all readers have released it, and not before its own device has
/// finished.
fn used_again(may: impl Fn(&Arc<Shared>) -> bool + Copy + Send + Sync + 'static) {
    explore(3, move || {
        let shared = Shared::new();
        let working = {
            let shared = shared.clone();
            let first = fence(&shared);
            thread::spawn(move || {
                shared.slots.write(0, 10);
                first.complete();
            })
        };
        shared.publish();
        if may(&shared) && shared.of.reclaim() {
            let second = fence(&shared);
            assert_eq!(second.state(), FenceState::Pending, "complete before it was begun");
            shared.slots.write(0, 20);
            second.complete();
            assert_eq!(second.state(), FenceState::Complete, "an older signal came later");
        }
        working.join().unwrap();
    });
}

#[test]
fn a_slot_is_not_used_again_while_it_is_being_filled() {
    used_again(|shared| is_complete(&fence(shared)));
}

#[test]
#[should_panic(expected = "Causality violation")]
fn broken_a_slot_is_used_again_while_it_is_being_filled() {
    used_again(|_| true);
}

/// As `Fence::wait`, but no thread wakes by time: one that sleeps for ever is a deadlock, which loom reports.
fn wait(fence: &Fence, futex: &Futex) {
    while fence.state() == FenceState::Pending {
        let seen = fence.announce();
        if fence.state() == FenceState::Pending {
            futex.wait_if(|| fence.word().load(Ordering::SeqCst) == seen);
        }
    }
}

/// One waits for the generation that `end` ends. Another one comes late, and waits for the generation before.
fn ended(
    wait: impl Fn(&Fence, &Futex) + Copy + Send + Sync + 'static,
    end: impl Fn(&Fence, &Futex) + Copy + Send + Sync + 'static,
) {
    explore(3, move || {
        let shared = Shared::new();
        let earlier = fence(&shared);
        earlier.complete();
        shared.of.control.retire();
        let futex = Arc::new(Futex::new());
        let waiting = {
            let (fence, futex) = (fence(&shared), futex.clone());
            thread::spawn(move || wait(&fence, &futex))
        };
        let late = {
            let futex = futex.clone();
            thread::spawn(move || {
                earlier.announce();
                wait(&earlier, &futex);
            })
        };
        end(&fence(&shared), &futex);
        waiting.join().unwrap();
        late.join().unwrap();
    });
}

/// As `Fence::wake`.
fn wake(fence: &Fence, futex: &Futex) {
    if fence.must_wake() {
        futex.wake();
    }
}

fn complete_and_wake(fence: &Fence, futex: &Futex) {
    fence.complete();
    wake(fence, futex);
}

/// A participant that sleeps until a fence ends is woken, although the waker first checks for sleepers.
#[test]
fn sleepers_until_a_fence_ends_are_woken() {
    ended(wait, complete_and_wake);
    ended(wait, |fence, futex| {
        assert!(fence.poison());
        wake(fence, futex);
    });
}

#[test]
#[should_panic(expected = "deadlock")]
fn broken_a_waker_checks_for_sleepers_before_the_fence_ends() {
    ended(wait, |fence, futex| {
        let must = fence.must_wake();
        fence.complete();
        if must {
            futex.wake();
        }
    });
}

#[test]
#[should_panic(expected = "deadlock")]
fn broken_a_sleeper_does_not_check_the_fence_again() {
    ended(
        |fence, futex| {
            while fence.state() == FenceState::Pending {
                let seen = fence.announce();
                futex.wait_if(|| fence.word().load(Ordering::SeqCst) == seen);
            }
        },
        complete_and_wake,
    );
}
