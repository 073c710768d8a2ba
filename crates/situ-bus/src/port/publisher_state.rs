//! The state of a publisher: its pools, and which of their slots are published, held or free.

use std::collections::VecDeque;

use situ_memory::{Held, PoolOwner, SlotId};

use crate::clock::now_ns;
use crate::copy::enqueued::Enqueued;
use crate::node::process_watch::ProcessWatch;
use crate::port::bodies::Bodies;
use crate::port::prefetch::prefetch_for_write;
use crate::protocol::flow_window::FlowWindow;
use crate::topic::format::DESCRIPTOR;

pub(crate) struct Inner {
    pub(crate) pool: PoolOwner,
    /// The bodies, if they lie in another domain than the heads.
    pub(crate) bodies: Option<Box<Bodies>>,
    /// Copies that are still enqueued.
    pub(crate) enqueued: Enqueued,
    /// Published messages that are still available, oldest first.
    pub(crate) published: VecDeque<(u64, SlotId)>,
    /// Slots that were retired while a reader held them, in the order of the next checks.
    pub(crate) held: VecDeque<SlotId>,
    /// The probable end of the topic.
    pub(crate) next: u64,
    pub(crate) window: FlowWindow,
    pub(crate) process_watch: ProcessWatch,
    pub(crate) trimming: Trimming,
    pub(crate) published_ns: u64,
    pub(crate) missed: u64,
}

impl std::fmt::Debug for Inner {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Inner").field("next", &self.next).field("pool", &self.pool.statistics()).finish()
    }
}

/// When a publisher last returned memory to the system, and its limit.
pub(crate) struct Trimming {
    pub(crate) looked_ns: u64,
    pub(crate) unstamped: u32,
    /// The limit of free memory, in bytes.
    pub(crate) above: u64,
}

impl Trimming {
    pub(crate) fn new(above: Option<u64>) -> Self {
        Self { looked_ns: now_ns(), unstamped: 0, above: above.unwrap_or(u64::MAX) }
    }
}

/// Retires a slot. If it is not held, it is the next to be lent, so its first cache lines are prefetched.
#[inline]
pub(crate) fn retire(inner: &mut Inner, slot: SlotId) {
    match inner.pool.control(slot).retire() {
        Held::No if is_idle(inner, slot) => {
            free(inner, slot);
            let memory = inner.pool.memory(slot).0;
            prefetch_for_write(memory);
            prefetch_for_write(memory.wrapping_add(DESCRIPTOR));
        }
        Held::Yes | Held::No => inner.held.push_back(slot),
    }
}

/// Whether no device is still filling a slot's body, and no stream is still copying from the slot. A late
/// copy would contain parts of the next message.
#[inline]
pub(crate) fn is_idle(inner: &Inner, slot: SlotId) -> bool {
    inner.bodies.as_ref().is_none_or(|bodies| !bodies.is_pending(slot)) && !inner.enqueued.use_slot(slot)
}

/// Frees a slot, and its body with it.
#[inline]
pub(crate) fn free(inner: &mut Inner, slot: SlotId) {
    inner.pool.deallocate(slot);
    if let Some(bodies) = &mut inner.bodies {
        bodies.release(slot);
    }
    give_excess_back(inner);
}

/// Checks the next `most` held slots, and frees those that are not held any more.
#[inline]
pub(crate) fn give_back(inner: &mut Inner, most: usize) {
    for _ in 0..inner.held.len().min(most) {
        // Round-robin: slots that are held for a long time must not block the slots behind them.
        let Some(slot) = inner.held.pop_front() else { return };
        match inner.pool.control(slot).held() {
            Held::No if is_idle(inner, slot) => free(inner, slot),
            Held::Yes | Held::No => inner.held.push_back(slot),
        }
    }
}

/// Returns free memory to the system after a slot was freed, if there is more of it than the limit. Half the
/// limit is kept, so that not every message pays for it.
#[inline]
pub(crate) fn give_excess_back(inner: &mut Inner) {
    let above = inner.trimming.above;
    if inner.pool.free_bytes() > above {
        inner.pool.give_back_down_to(above / 2);
    }
    if let Some(bodies) = &mut inner.bodies
        && bodies.pool.free_bytes() > above
    {
        bodies.pool.give_back_down_to(above / 2);
    }
}
