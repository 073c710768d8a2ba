//! The pool of one participant's copies. A copy stays until no subscriber can take it any more, and no
//! subscriber or stream uses its slot.

use std::collections::VecDeque;
use std::sync::Arc;

use situ_memory::sync::atomic::Ordering;
use situ_memory::{DomainId, Fence, FenceState, PoolOwner, Registered, SlotId};

use crate::clock::now_ns;
use crate::node::process_watch::{ProcessWatch, Processes};
use crate::port::pool_cache::Mapped;
use crate::protocol::ring::Look;
use crate::topic::Topic;

/// A copy that was made, and the data to determine when it is not needed any more.
pub(crate) struct CopyRecord {
    pub(crate) number: u64,
    pub(crate) slot: SlotId,
    pub(crate) keeps: bool,
    pub(crate) origin: Option<(Arc<Mapped>, SlotId, u16)>,
}

/// The pool of copies of one participant in one domain.
pub(crate) struct CopyPool {
    pub(crate) entry: usize,
    /// The domain's column in the topic.
    pub(crate) column: usize,
    pub(crate) pool: PoolOwner,
    /// The parts of the pool that are registered with devices.
    pub(crate) registered: Registered,
    /// The rows of the topic when it was made.
    pub(crate) rows: u64,
    pub(crate) made: VecDeque<CopyRecord>,
    /// Slots that were retired, and that subscribers may hold. With a fence: a stream may still copy into
    /// them, until the fence is not pending.
    pub(crate) held: VecDeque<(SlotId, Option<Fence>)>,
    /// The slots that subscribers hold, by the last look at their ledgers.
    pub(crate) names: Vec<u16>,
    pub(crate) process_watch: ProcessWatch,
}

impl CopyPool {
    pub(crate) fn tidy(&mut self, topic: &Topic, processes: &Processes, domain: DomainId, oldest: u64) {
        if self.made.is_empty() && self.held.is_empty() {
            return;
        }
        let mut passed = None;
        while let Some(made) = self.made.front() {
            let retired = |(mapped, slot, generation): &(Arc<Mapped>, SlotId, u16)| {
                mapped.view.control(*slot).is_none_or(|control| !control.has_generation(*generation))
            };
            let over = made.number < oldest
                || !matches!(topic.ring_of(made.number).look(made.number), Look::Here(..))
                || made.origin.as_ref().is_some_and(retired)
                || (!made.keeps && made.number < *passed.get_or_insert_with(|| slowest(topic, domain)));
            if !over {
                break;
            }
            let (number, slot) = (made.number, made.slot);
            self.made.pop_front();
            topic.entry(self.column, number).forget_slot(self.entry as u16, slot as u16);
            self.retire(slot);
        }
        self.reclaim(topic);
        if !self.held.is_empty() && self.process_watch.noticed(topic, processes, now_ns()) {
            topic.repair_if_free();
            self.reclaim(topic);
        }
    }

    pub(crate) fn retire(&mut self, slot: SlotId) {
        // The fence of the slot's present generation: retiring changes the generation.
        let fence = Some(self.pool.fence(slot)).filter(|fence| fence.state() == FenceState::Pending);
        self.pool.control(slot).retire();
        if fence.is_none() {
            self.settle(slot);
        }
        self.held.push_back((slot, fence));
    }

    /// Completes the fence of a retired slot that a subscriber may still hold. If this process dies, the
    /// fence then looks complete in the slot's new generation too. That generation has no message yet, and
    /// repair does not treat the fence as pending.
    fn settle(&self, slot: SlotId) {
        let fence = self.pool.fence(slot);
        if fence.state() == FenceState::Pending {
            fence.complete();
        }
    }

    /// Frees the retired slots that no subscriber holds and into which no stream copies.
    pub(crate) fn reclaim(&mut self, topic: &Topic) {
        if self.held.is_empty() || topic.places.held_in(self.entry, &mut self.names).is_err() {
            return;
        }
        for _ in 0..self.held.len() {
            let Some((slot, mut fence)) = self.held.pop_front() else { return };
            if fence.take_if(|fence| fence.state() != FenceState::Pending).is_some() {
                self.settle(slot);
            }
            if fence.is_none() && self.names.binary_search(&(slot as u16)).is_err() {
                self.pool.deallocate(slot);
            } else {
                self.held.push_back((slot, fence));
            }
        }
    }
}

/// Makes the fence of a reused slot pending. A failed stream may have left another value, or the owner when
/// it retired the last message. No other participant knows of the new message yet. A participant that still
/// waits for an older generation stops waiting.
pub(crate) fn begin_fence(pool: &PoolOwner, slot: SlotId) {
    let control = pool.control(slot);
    if control.fence().word().load(Ordering::Relaxed) > control.generation() {
        control.fence().word().store(control.generation(), Ordering::Relaxed);
        // The same value may recur if the slot's last message was never published.
        pool.fence(slot).forget_end();
    }
}

/// The smallest cursor of the subscribers in this domain.
fn slowest(topic: &Topic, domain: DomainId) -> u64 {
    let taking = topic.places.active().filter(|place| place.domain() == domain);
    taking.map(|place| place.cursor()).min().unwrap_or(u64::MAX)
}
