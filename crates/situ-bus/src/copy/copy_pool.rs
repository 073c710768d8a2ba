//! The pool of one participant's copies. A copy stays until no subscriber can take it any more, and no
//! subscriber or stream uses its slot.

use std::collections::VecDeque;
use std::sync::Arc;

use situ_memory::sync::atomic::Ordering;
use situ_memory::{DomainId, Fence, FenceState, Held, PoolOwner, Registered, SlotId};

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
    /// Slots that were retired while a subscriber held them, or while a stream was still copying into them
    /// (until the fence is not pending).
    pub(crate) held: VecDeque<(SlotId, Option<Fence>)>,
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
                mapped.view.control(*slot).is_none_or(|control| control.generation() as u16 != *generation)
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
            topic.entry(self.column, number).forget_slot(self.entry as u8, slot as u16);
            self.retire(slot);
        }
        self.give_back(2);
        if !self.held.is_empty() && self.process_watch.noticed(topic, processes, now_ns()) {
            topic.repair_if_free();
            self.give_back(usize::MAX);
        }
    }

    pub(crate) fn retire(&mut self, slot: SlotId) {
        // The fence of the slot's present generation: retiring changes the generation.
        let fence = Some(self.pool.fence(slot)).filter(|fence| fence.state() == FenceState::Pending);
        match self.pool.control(slot).retire() {
            Held::No if fence.is_none() => self.pool.deallocate(slot),
            Held::Yes | Held::No => {
                if fence.is_none() {
                    self.settle(slot);
                }
                self.held.push_back((slot, fence));
            }
        }
    }

    /// Completes the fence of a retired slot that a subscriber still holds. If this process dies, the fence
    /// then looks complete in the slot's new generation too. That generation has no message yet, and repair
    /// does not treat the fence as pending.
    fn settle(&self, slot: SlotId) {
        let fence = self.pool.fence(slot);
        if fence.state() == FenceState::Pending {
            fence.complete();
        }
    }

    /// Checks the next `most` held slots, and frees those that are not held any more.
    pub(crate) fn give_back(&mut self, most: usize) {
        for _ in 0..self.held.len().min(most) {
            let Some((slot, mut fence)) = self.held.pop_front() else { return };
            if fence.take_if(|fence| fence.state() != FenceState::Pending).is_some() {
                self.settle(slot);
            }
            match self.pool.control(slot).held() {
                Held::No if fence.is_none() => self.pool.deallocate(slot),
                Held::Yes | Held::No => self.held.push_back((slot, fence)),
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
