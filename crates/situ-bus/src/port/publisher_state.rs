//! The state of a publisher: its pools, and which of their slots are published, held or free.

use std::collections::VecDeque;

use situ_memory::{PoolOwner, SlotId};

use crate::clock::now_ns;
use crate::copy::enqueued::Enqueued;
use crate::node::process_watch::ProcessWatch;
use crate::port::bodies::Bodies;
use crate::port::filling::{FEW, Filling};
use crate::port::pool_options::EAGER_SIZE;
use crate::port::prefetch::{prefetch, prefetch_for_write};
use crate::protocol::flow_window::FlowWindow;
use crate::topic::Topic;
use crate::topic::format::DESCRIPTOR;

pub(crate) struct Inner {
    pub(crate) pool: PoolOwner,
    /// The bodies, if they lie in another domain than the heads.
    pub(crate) bodies: Option<Box<Bodies>>,
    /// Copies that are still enqueued.
    pub(crate) enqueued: Enqueued,
    /// Published messages that are still available, oldest first.
    pub(crate) published: VecDeque<(u64, SlotId)>,
    /// Slots that were retired since the last look at the ledgers, and those that were held then.
    pub(crate) retired: VecDeque<SlotId>,
    /// How many of them were held at the last look at the ledgers.
    pub(crate) held: usize,
    /// The slots that subscribers hold, by the last look at their ledgers.
    names: Vec<u16>,
    /// The probable end of the topic.
    pub(crate) next: u64,
    /// The number of messages that it has published.
    pub(crate) sequence: u64,
    pub(crate) window: FlowWindow,
    pub(crate) process_watch: ProcessWatch,
    pub(crate) trimming: Trimming,
    pub(crate) filling: Filling,
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

impl Inner {
    pub(crate) fn new(
        (pool, bodies): (PoolOwner, Option<Box<Bodies>>),
        (depth, next): (usize, u64),
        trimming: Trimming,
    ) -> Self {
        Self {
            pool,
            bodies,
            enqueued: Enqueued::default(),
            published: VecDeque::with_capacity(depth + 2),
            retired: VecDeque::with_capacity(depth + BATCH),
            held: 0,
            names: Vec::with_capacity(BATCH),
            next,
            sequence: 0,
            window: FlowWindow::default(),
            process_watch: ProcessWatch::default(),
            trimming,
            filling: Filling::default(),
        }
    }
}

impl Inner {
    /// Whether slots of this size are used a few in turn. Small ones are used in larger batches, and large
    /// ones that are filled at once, while their memory is warm.
    ///
    /// With a few slots, nearly no message costs a look at the subscribers' cursors and ledgers, and the
    /// lines of the next slot are fetched before it is lent.
    #[inline(always)]
    pub(crate) fn uses_slots_in_turn(&self, size: usize) -> bool {
        size > SMALL && (size < EAGER_SIZE || self.filling.is_partial())
    }
}

/// How many small slots a publisher lets retire before it looks at the ledgers.
const BATCH: usize = 16;
/// With more subscribers, it looks at as many ledgers for as many slots, but not more than this number.
const MAX_BATCH: usize = 1024;
/// Slots up to this size are small: there may be more of them than the depth needs.
const SMALL: usize = 1 << 10;

/// Retires a slot. It can be lent again when the ledgers show that it is not held.
#[inline]
pub(crate) fn retire(inner: &mut Inner, slot: SlotId) {
    inner.pool.control(slot).retire();
    inner.retired.push_back(slot);
}

/// Whether it pays to look at the ledgers now, for slots of this size. A publisher asks after it has
/// published, so that no message waits for the look, and again before it lends.
///
/// A look costs a cache line of each subscriber, which that subscriber writes with every message. So small
/// slots are reclaimed in batches: there are some more of them. The most recently retired slot is lent first,
/// because its lines are warm.
#[inline]
pub(crate) fn pays_to_reclaim(inner: &Inner, topic: &Topic, size: usize) -> bool {
    let batch = match size {
        0..=SMALL => BATCH,
        _ if inner.uses_slots_in_turn(size) => FEW as usize,
        _ => 1,
    };
    // Slots that were held are looked at again with the next batch.
    let fresh = inner.retired.len().saturating_sub(inner.held);
    fresh >= batch
        && inner.pool.next_free(size).is_none()
        && (size > SMALL || fresh >= topic.places.used().min(MAX_BATCH))
}

/// Frees the retired slots that no subscriber holds.
pub(crate) fn reclaim(inner: &mut Inner, topic: &Topic, entry: usize) {
    if inner.retired.is_empty() || topic.places.held_in(entry, &mut inner.names).is_err() {
        return;
    }
    inner.held = 0;
    for _ in 0..inner.retired.len() {
        let Some(slot) = inner.retired.pop_front() else { return };
        if inner.names.binary_search(&(slot as u16)).is_err() && is_idle(inner, slot) {
            free(inner, slot);
        } else {
            inner.held += 1;
            inner.retired.push_back(slot);
        }
    }
}

/// Fetches the first lines of the slot that is probably lent after this one: off the path of a message.
#[inline]
pub(crate) fn prefetch_after(inner: &Inner, slot: SlotId) {
    if let Some(slot) = inner.pool.next_free_like(slot) {
        let memory = inner.pool.memory(slot).0;
        prefetch_for_write(memory);
        prefetch_for_write(memory.wrapping_add(DESCRIPTOR));
        prefetch(std::ptr::from_ref(inner.pool.control(slot)).cast());
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
