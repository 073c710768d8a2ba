//! Whether a message can be taken on the host now, or only when a device has completed it.
//!
//! A message may be published before its body is complete. A subscriber on a device lets its stream wait. On
//! the host nothing can be read until then. So the message counts as *ready* only when its bytes, or the copy
//! of them in host memory, are complete or will never be.
//!
//! The check holds no slot, so the reactor's thread may check for a subscriber of another thread. Like an
//! observer (see `observe`), it reads the message's descriptor in place, and then checks that the slot was
//! not recycled in the meantime. If it was, the message counts as ready, and the take skips it.

use std::sync::atomic::{AtomicU32, AtomicU64};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use situ_memory::sync::atomic::{Ordering, fence};
use situ_memory::{Access, Domains, Fence, FenceState, PoolMetadata, PoolView, SlotId, short_generation};

use crate::clock::now_ns;
use crate::node::liveness::NodeId;
use crate::protocol::copy_state::Found;
use crate::protocol::ring::Look;
use crate::timeouts::{FENCE_TIMEOUT, POLL_INTERVAL, copier_grace};
use crate::topic::format::{BODY_ENTRY, BODY_IN_SLOT, DESCRIPTOR, Descriptor, HOST_COLUMN};
use crate::topic::{StateWord, Topic};
use crate::wait::fence::repair_if_dead;

/// How often the pools of publishers that are gone are unmapped.
const TIDY_NS: u64 = 1_000_000_000;
/// How many messages are checked to find a complete one.
const MAX_LOOKS: usize = 64;

/// The state of the next message for a subscriber on the host.
#[derive(Debug)]
pub(crate) enum Readiness {
    /// No message is published.
    Nothing,
    /// The next `take` returns a message or an error without waiting for a device.
    Ready,
    /// The message is published, but not complete.
    Incomplete(PendingFence),
    /// A copy exists but never completed. The next `take` copies again.
    Stale,
    /// The message is incomplete and the time limit has passed. The next `take` returns an error.
    TimedOut(Duration),
}

/// The fence that has to end before a message is ready, and the node that ends it.
#[derive(Debug)]
pub(crate) struct PendingFence {
    fence: Fence,
    owner: NodeId,
    /// The size of the copy in bytes, if it is a copy of a complete message.
    copy: Option<u64>,
}

impl Readiness {
    /// Whether there is something to take.
    pub(crate) fn is_ready(&self) -> bool {
        matches!(self, Self::Ready | Self::Stale | Self::TimedOut(_))
    }
}

impl PendingFence {
    /// Waits for the fence, at most for `time`. If its owner is dead, ensures that the fence ends.
    pub(crate) fn wait(&self, topic: &Topic, time: Duration) {
        if self.fence.wait(time) == FenceState::Pending {
            self.look_after(topic);
        }
    }

    /// If the fence's owner is dead, ensures that the fence ends.
    pub(crate) fn look_after(&self, topic: &Topic) {
        repair_if_dead(topic, self.owner, &self.fence);
    }

    /// Like `look_after`, unless the fence has ended.
    pub(crate) fn look_after_if_pending(&self, topic: &Topic) {
        if self.fence.state() == FenceState::Pending {
            self.look_after(topic);
        }
    }

    /// Announces a sleeper that waits for the fence's end, and returns the word to sleep on and its value.
    /// `None` if the fence has ended.
    pub(crate) fn announce(&self) -> Option<(&AtomicU32, u32)> {
        let seen = self.fence.announce();
        (self.fence.state() == FenceState::Pending).then(|| (self.fence.futex(), seen as u32))
    }
}

/// Determines the readiness of one topic's messages for one subscriber.
#[derive(Debug)]
pub(crate) struct ReadinessTracker {
    /// Whether the subscriber takes on a device: then every published message is ready.
    in_order: bool,
    keep_last: u64,
    /// The last message that was found incomplete, and since when. It is shared by all trackers of this
    /// subscriber.
    since: Arc<Mutex<Option<(u64, u64)>>>,
    /// The first message that a take has put off since the reactor last read this.
    put_off: Arc<AtomicU64>,
    /// The pools of heads, and those of bodies and copies without their memory, by their entries.
    heads: Vec<Option<(u64, PoolView)>>,
    others: Vec<Option<(u64, PoolMetadata)>>,
    tidied_ns: u64,
    /// When the tracker last checked whether the nodes that complete a message are alive.
    looked_ns: u64,
}

impl ReadinessTracker {
    pub(crate) fn new(in_order: bool, keep_last: u64) -> Self {
        let (heads, others) = (Vec::new(), Vec::new());
        let (since, put_off) = (Arc::default(), Arc::new(AtomicU64::new(u64::MAX)));
        let tidied_ns = now_ns();
        Self { in_order, keep_last, since, put_off, heads, others, tidied_ns, looked_ns: 0 }
    }

    /// A tracker for the same subscriber in another thread.
    pub(crate) fn for_watch(&self) -> Self {
        Self {
            since: self.since.clone(),
            put_off: self.put_off.clone(),
            ..Self::new(self.in_order, self.keep_last)
        }
    }

    /// Returns the state of the message that a subscriber with the cursor `next` takes, and the message's
    /// number.
    pub(crate) fn look(&mut self, topic: &Topic, next: u64) -> (Readiness, u64) {
        if !topic.is_published(next) {
            return (Readiness::Nothing, next);
        }
        if self.in_order || !topic.has_devices() {
            return (Readiness::Ready, next);
        }
        let number = match self.keep_last {
            0 => next,
            last if topic.has_more_than(last, next) => {
                self.choose(topic, next, topic.end().saturating_sub(last).max(next))
            }
            _ => next,
        };
        (self.look_at(topic, number), number)
    }

    /// Chooses the message to take for a subscriber that keeps the last few, which begin at `first`: that
    /// message or, if it is incomplete, the newest complete one before it. Without this, if each message is
    /// published before the previous one is complete, there would never be a message to take. If none is
    /// complete, returns `next`, so that none is skipped.
    pub(crate) fn choose(&mut self, topic: &Topic, next: u64, first: u64) -> u64 {
        let mut newest_first = (next.saturating_add(1)..=first).rev().take(MAX_LOOKS);
        newest_first.find(|number| self.awaited(topic, *number).is_none()).unwrap_or(next)
    }

    /// Notes that a take puts off message `number`, which is incomplete.
    pub(crate) fn put_off(&mut self, topic: &Topic, number: u64, awaited: &PendingFence) {
        self.put_off.fetch_min(number, Ordering::AcqRel);
        // A subscriber that only takes, and never waits, has no other thread that checks the owner. It does
        // not check at once, because a check takes several system calls.
        let now = now_ns();
        if now.saturating_sub(self.since(now).max(self.looked_ns)) > POLL_INTERVAL.as_nanos() as u64 {
            awaited.look_after(topic);
            self.looked_ns = now;
        }
    }

    /// Returns the first message that a take has put off since the last call, or `u64::MAX` if there is none.
    pub(crate) fn take_put_off(&self) -> u64 {
        self.put_off.swap(u64::MAX, Ordering::AcqRel)
    }

    /// Since when the last incomplete message is known to be incomplete; `now` if there was none.
    fn since(&self, now: u64) -> u64 {
        self.since.lock().unwrap_or_else(PoisonError::into_inner).map_or(now, |(_, since)| since)
    }

    /// Returns the state of a published message.
    pub(crate) fn look_at(&mut self, topic: &Topic, number: u64) -> Readiness {
        let Some(awaited) = self.awaited(topic, number) else { return Readiness::Ready };
        let now = now_ns();
        let mut found = self.since.lock().unwrap_or_else(PoisonError::into_inner);
        // A message before the last incomplete one has been waited for at least as long as that one.
        let since = match *found {
            Some((last, since)) if number <= last => since,
            _ => found.insert((number, now)).1,
        };
        let waited = Duration::from_nanos(now.saturating_sub(since));
        if waited > FENCE_TIMEOUT {
            return Readiness::TimedOut(waited);
        }
        match awaited.copy {
            Some(len) if waited > copier_grace(len) => Readiness::Stale,
            _ => Readiness::Incomplete(awaited),
        }
    }

    /// Returns the fence that has to end before a message is ready. `None` if the message is ready, has
    /// passed, or is malformed.
    fn awaited(&mut self, topic: &Topic, number: u64) -> Option<PendingFence> {
        self.tidy(topic);
        let Look::Here(reference) = topic.ring_of(number).look(number) else { return None };
        let slot = SlotId::from(reference.slot);
        let view = head_pool(&mut self.heads, topic, reference.pool, number)?;
        let generation = view.control(slot)?.generation();
        let (memory, len) = view.memory(slot)?;
        if short_generation(generation) != reference.generation || len < DESCRIPTOR {
            return None;
        }
        // SAFETY: the view checked that `len` bytes from `memory` lie in the pool and are aligned to 64. A
        // descriptor consists of atomics, for which any bits are valid, and a write by another process
        // meanwhile is no data race.
        let descriptor = unsafe { &*memory.cast::<Descriptor>() };
        let body_pool = descriptor.body_pool.load(Ordering::Relaxed);
        let body_slot = descriptor.body_slot.load(Ordering::Relaxed);
        let body_size = descriptor.body_size.load(Ordering::Relaxed);
        if body_pool == BODY_IN_SLOT {
            return None;
        }
        let awaited = match topic.entry(HOST_COLUMN, number).look().0 {
            Found::Ready(copy) => {
                let pool = other_pool(&mut self.others, topic, copy.pool, number, StateWord::is_of_copies);
                let of_copy = pool.and_then(|pool| {
                    let fence = pool.fence(SlotId::from(copy.slot))?;
                    // The fence's value is the generation plus 1.
                    let current = short_generation(fence.value().wrapping_sub(1)) == copy.generation;
                    current.then(|| (fence, NodeId(pool.header().owner)))
                });
                match of_copy.map(|(fence, owner)| (fence.state(), fence, owner)) {
                    Some((FenceState::Complete, ..)) => return None,
                    Some((FenceState::Pending, fence, owner)) => {
                        Some(PendingFence { fence, owner, copy: Some(body_size) })
                    }
                    // The next take copies again.
                    Some((FenceState::Poisoned, ..)) | None => None,
                }
            }
            Found::Passed => return None,
            Found::Absent | Found::Copying(_) => None,
        };
        let body_entry = (body_pool & BODY_ENTRY) as u16;
        let of_body = other_pool(&mut self.others, topic, body_entry, number, StateWord::is_of_bodies)
            .and_then(|pool| Some((pool.fence(body_slot)?, NodeId(pool.header().owner))))
            .filter(|(fence, _)| fence.state() == FenceState::Pending);
        let awaited = match (awaited, of_body) {
            // A copy that waits for the body itself may take as long as the body.
            (Some(copy), Some(_)) => Some(PendingFence { copy: None, ..copy }),
            (Some(copy), None) => Some(copy),
            (None, of_body) => of_body.map(|(fence, owner)| PendingFence { fence, owner, copy: None }),
        };
        // The loads above come before those below (acquire fence). If any of them had read a later message's
        // bytes, the generation, which was raised before those bytes were written, would be seen here. The
        // body lives as long as the head. The message's number shows that the generation is the row's, and
        // not one with the same low bits.
        let here = descriptor.sequence.load(Ordering::Relaxed);
        fence(Ordering::Acquire);
        let control = head_pool(&mut self.heads, topic, reference.pool, number)?.control(slot)?;
        awaited.filter(|_| control.generation() == generation && here == number.wrapping_add(1))
    }

    /// Unmaps the pools of publishers that are gone, because their memory would stay otherwise.
    fn tidy(&mut self, topic: &Topic) {
        let now = now_ns();
        if now.saturating_sub(self.tidied_ns) < TIDY_NS {
            return;
        }
        self.tidied_ns = now;
        self.heads
            .iter_mut()
            .enumerate()
            .for_each(|(index, pool)| _ = pool.take_if(|it| gone(topic, index, it.0)));
        self.others
            .iter_mut()
            .enumerate()
            .for_each(|(index, pool)| _ = pool.take_if(|it| gone(topic, index, it.0)));
    }
}

/// Whether an entry of the topic does not belong to this pool any more.
fn gone(topic: &Topic, index: usize, number: u64) -> bool {
    let entry = topic.publisher(index);
    !StateWord::read(&entry.state).has_pool() || entry.tenure.pool() != number
}

fn head_pool<'p>(
    pools: &'p mut Vec<Option<(u64, PoolView)>>,
    topic: &Topic,
    entry: u16,
    sequence: u64,
) -> Option<&'p PoolView> {
    let number = known(topic, entry, sequence, None)?;
    opened(pools, entry, number, || {
        PoolView::open(&Domains::host_only(), topic.pool_path(number), Access::Read).ok()
    })
}

fn other_pool<'p>(
    pools: &'p mut Vec<Option<(u64, PoolMetadata)>>,
    topic: &Topic,
    entry: u16,
    sequence: u64,
    of: fn(StateWord) -> bool,
) -> Option<&'p PoolMetadata> {
    let number = known(topic, entry, sequence, Some(of))?;
    opened(pools, entry, number, || PoolMetadata::open(topic.pool_path(number), Access::ReadWrite).ok())
}

/// Returns the number of an entry's pool, if the entry exists, its pool is of this kind, and a message of
/// this number, or a copy of it, can lie in it.
fn known(topic: &Topic, entry: u16, sequence: u64, of: Option<fn(StateWord) -> bool>) -> Option<u64> {
    let entry = topic.named_entry(usize::from(entry))?;
    let word = StateWord::read(&entry.state);
    match of {
        Some(of) if !of(word) => None,
        // Copies are of messages that are older than their pool.
        Some(_) if word.is_of_copies() => Some(entry.tenure.pool()),
        _ => entry.tenure.of(sequence),
    }
}

/// Returns the pool that was opened for an entry before, or opens it.
fn opened<P>(
    pools: &mut Vec<Option<(u64, P)>>,
    entry: u16,
    number: u64,
    open: impl FnOnce() -> Option<P>,
) -> Option<&P> {
    let index = usize::from(entry);
    if pools.len() <= index {
        pools.resize_with(index + 1, || None);
    }
    let place = &mut pools[index];
    if place.as_ref().is_none_or(|(known, _)| *known != number) {
        *place = open().map(|pool| (number, pool));
    }
    place.as_ref().map(|(_, pool)| pool)
}
