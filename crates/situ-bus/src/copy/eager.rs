//! Eager copies: a publisher copies its messages into the domains of its subscribers before they take them.

use std::cell::RefCell;
use std::sync::Arc;

use situ_memory::sync::atomic::Ordering;
use situ_memory::{Domain, DomainId, Fence, FenceState, Registered, SlotId, Stream};

use crate::copy::copier::{DomainCopier, Source};
use crate::node::handle::NodeInner;
use crate::node::liveness::NodeId;
use crate::port::pool_options::WARM_SIZE;
use crate::port::publisher_state::Inner;
use crate::qos::{Durability, PublisherQos};
use crate::topic::Topic;
use crate::topic::format::{BODY_IN_SLOT, Descriptor};

/// The eager copies of one publisher.
pub(crate) struct Eager {
    topic: Arc<Topic>,
    node: Arc<NodeInner>,
    /// The domain of its bodies.
    from: DomainId,
    /// The copiers, one for each domain that has had a subscriber, and whether the domain has one now.
    copies: Vec<(DomainCopier, bool)>,
    /// The parts of the publisher's pool that are registered with devices.
    registered: RefCell<Registered>,
    /// The last message that was copied, or found to need no copy.
    done: Option<u64>,
}

impl std::fmt::Debug for Eager {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Eager").field("from", &self.from).finish_non_exhaustive()
    }
}

impl Eager {
    pub(crate) fn new(topic: Arc<Topic>, node: Arc<NodeInner>, from: DomainId) -> Self {
        Self { topic, node, from, copies: Vec::new(), registered: RefCell::default(), done: None }
    }

    /// Copies new messages into the domains that have subscribers. A complete message is copied now, another
    /// one behind its completion. If a copy fails, the subscriber that takes the message copies it or
    /// receives the error.
    ///
    /// The last message may have been published on a stream. Its copies are then enqueued on that stream,
    /// right behind the work that completes it. Returns whether the end of such a copy wakes subscribers on
    /// the host.
    pub(crate) fn copy(
        &mut self,
        owner: NodeId,
        qos: &PublisherQos,
        inner: &mut Inner,
        on: Option<&dyn Stream>,
    ) -> bool {
        let mut wakes = false;
        // Large copies reuse the slots of the last ones, whose pages are warm, so slots are retired first.
        // Small copies are not delayed by that.
        let size = inner.published.back().map_or(0, |(_, slot)| Self::size_of(inner, *slot));
        if size >= WARM_SIZE {
            self.tidy(inner);
        }
        self.look_around();
        let fresh = inner.published.iter().filter(|(number, _)| self.done.is_none_or(|done| *number > done));
        let fresh = fresh.count();
        self.done = inner.published.back().map(|(number, _)| *number).or(self.done);
        let last = inner.published.len();
        for index in last - fresh..last {
            let (number, slot) = inner.published[index];
            let on = on.filter(|_| index + 1 == last);
            let pending = self.copy_one(owner, qos, inner, (number, slot), on);
            wakes = pending.iter().any(Fence::tells);
            inner.enqueued.0.extend(pending.into_iter().map(|fence| (slot, fence)));
        }
        if size < WARM_SIZE {
            self.tidy(inner);
        }
        wakes
    }

    /// Returns the memory of free copies to the system, and the number of its bytes to the caller.
    pub(crate) fn trim(&mut self) -> u64 {
        self.copies.iter_mut().map(|(copies, _)| copies.trim()).sum()
    }

    /// Retires copies that no subscriber can take any more.
    fn tidy(&mut self, inner: &mut Inner) {
        let oldest = inner.published.front().map_or(u64::MAX, |(number, _)| *number);
        self.copies.iter_mut().for_each(|(copies, _)| copies.tidy(oldest));
        inner.enqueued.forget();
    }

    /// An upper bound for the size of a slot's payload: the size of its body's slot, or of the slot itself.
    fn size_of(inner: &Inner, slot: SlotId) -> usize {
        let body = inner.bodies.as_ref().and_then(|bodies| Some(bodies.pool.place(bodies.of(slot)?).1));
        body.unwrap_or_else(|| inner.pool.place(slot).1) as usize
    }

    /// Copies one message into all domains. Returns the fences of copies that are only enqueued.
    fn copy_one(
        &mut self,
        owner: NodeId,
        qos: &PublisherQos,
        inner: &Inner,
        (number, slot): (u64, SlotId),
        on: Option<&dyn Stream>,
    ) -> Vec<Fence> {
        let (head, _) = inner.pool.memory(slot);
        // SAFETY: every slot of the own pool that was published begins with a descriptor, aligned to 64, and
        // a descriptor consists of atomics.
        let descriptor = unsafe { &*head.cast::<Descriptor>() };
        let body_size = descriptor.body_size.load(Ordering::Relaxed);
        let in_slot = descriptor.body_pool.load(Ordering::Relaxed) == BODY_IN_SLOT;
        let body = inner.bodies.as_ref().filter(|_| !in_slot);
        let body = body.and_then(|bodies| Some((bodies, bodies.of(slot)?, bodies.fence(slot)?)));
        let (memory, offset, len, from) = match &body {
            Some((_, _, fence)) if fence.state() == FenceState::Poisoned => return Vec::new(),
            Some((bodies, body, _)) => {
                (bodies.pool.bytes(), bodies.pool.place(*body).0, body_size, self.from)
            }
            None => {
                let at = match body_size {
                    0 => self.topic.head_offset() as u64,
                    _ => descriptor.body_offset.load(Ordering::Relaxed),
                };
                let head_size = u64::from(descriptor.head_size.load(Ordering::Relaxed));
                let len = if body_size == 0 { head_size } else { body_size };
                (inner.pool.bytes(), inner.pool.place(slot).0 + at, len, situ_memory::HOST)
            }
        };
        let register = |domain: &dyn Domain| {
            // A payload on a device does not lie in the pool of heads.
            if body.is_none() {
                let note = || {
                    inner.pool.control(slot).note_registered();
                    true
                };
                let place = inner.pool.place(slot);
                self.registered.borrow_mut().add(domain, memory, len, (&note, place));
            }
        };
        let source = Source {
            memory,
            offset,
            len,
            fence: body.as_ref().map(|(_, _, fence)| fence),
            owner,
            keeps: qos.durability == Durability::TransientLocal,
            origin: None,
            register: &register,
        };
        // A publisher that is faster than the copies enqueues no more of them: they would be outdated when
        // they complete. Subscribers copy the messages that they need.
        let is_late = on.is_none() && body.is_none() && inner.enqueued.pending() > qos.depth;
        let others =
            self.copies.iter_mut().filter(|(copies, wanted)| *wanted && !is_late && copies.domain() != from);
        others.filter_map(|(copies, _)| copies.bring_if_absent(number, &source, on).ok().flatten()).collect()
    }

    /// Finds the domains that have a subscriber.
    fn look_around(&mut self) {
        self.copies.iter_mut().for_each(|(_, wanted)| *wanted = false);
        for place in self.topic.places.active() {
            let domain = place.domain();
            // The publisher's own domain counts too: a payload in host memory may be needed on the device,
            // and the other way round.
            match self.copies.iter_mut().find(|(copies, _)| copies.domain() == domain) {
                Some((_, wanted)) => *wanted = true,
                None => {
                    if let Some(column) = self.topic.column(domain) {
                        let (topic, node) = (self.topic.clone(), self.node.clone());
                        self.copies.push((DomainCopier::new(topic, node, (column, domain), None), true));
                    }
                }
            }
        }
    }
}
