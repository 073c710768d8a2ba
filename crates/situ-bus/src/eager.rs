//! Eager copies: a publisher brings its messages where they are wanted before anybody asks.

use std::cell::RefCell;
use std::sync::Arc;

use situ_memory::sync::atomic::Ordering;
use situ_memory::{Domain, DomainId, Fence, FenceState, Registered, SlotId, Stream};

use crate::copies::{Copies, Source};
use crate::node::NodeInner;
use crate::publisher::{Inner, RawPublisher};
use crate::qos::Durability;
use crate::topic::format::{BODY_IN_SLOT, DESCRIPTOR, Descriptor, domain_from_word};
use crate::topic::{Topic, active_places};

/// What a publisher brings elsewhere by itself.
pub(crate) struct Eager {
    topic: Arc<Topic>,
    node: Arc<NodeInner>,
    /// Where its bodies lie.
    from: DomainId,
    /// The copies into each domain that somebody was found in.
    copies: Vec<Copies>,
    /// What of the publisher's pool is registered with devices.
    registered: RefCell<Registered>,
    /// The last message that was brought, or found to be none of ours.
    done: Option<u64>,
}

impl Eager {
    pub(crate) fn new(topic: Arc<Topic>, node: Arc<NodeInner>, from: DomainId) -> Self {
        Self { topic, node, from, copies: Vec::new(), registered: RefCell::default(), done: None }
    }

    /// Brings what is published and wanted elsewhere: what is complete now, the rest behind its completion. What cannot be brought is left to
    /// those who take it, and to tell them why.
    ///
    /// The last message may have been published on a stream: then its copies are enqueued there, right behind what completes it. Whether
    /// who takes it on the host is woken by the end of such a copy.
    pub(crate) fn copy(
        &mut self,
        publisher: &RawPublisher,
        inner: &mut Inner,
        on: Option<&dyn Stream>,
    ) -> bool {
        let mut wakes = false;
        let oldest = inner.published.front().map_or(u64::MAX, |(number, _)| *number);
        self.copies.iter_mut().for_each(|copies| copies.tidy(oldest));
        self.look_around();
        let fresh = inner.published.iter().filter(|(number, _)| self.done.is_none_or(|done| *number > done));
        let fresh = fresh.count();
        self.done = inner.published.back().map(|(number, _)| *number).or(self.done);
        let last = inner.published.len();
        for index in last - fresh..last {
            let (number, slot) = inner.published[index];
            let on = on.filter(|_| index + 1 == last);
            let pending = self.copy_one(publisher, inner, (number, slot), on);
            wakes = pending.iter().any(Fence::tells);
            if let Some(bodies) = &mut inner.bodies {
                bodies.note_copies(slot, pending);
            }
        }
        wakes
    }

    /// Copies one message into all domains. Gives the fences of copies that are only enqueued.
    fn copy_one(
        &mut self,
        publisher: &RawPublisher,
        inner: &Inner,
        (number, slot): (u64, SlotId),
        on: Option<&dyn Stream>,
    ) -> Vec<Fence> {
        let (head, _) = inner.pool.memory(slot);
        // SAFETY: every slot of the own pool that was published begins with a descriptor, aligned to 64; it consists of atomics.
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
                    0 => DESCRIPTOR as u64,
                    _ => descriptor.body_offset.load(Ordering::Relaxed),
                };
                let head_size = u64::from(descriptor.head_size.load(Ordering::Relaxed));
                let len = if body_size == 0 { head_size } else { body_size };
                (inner.pool.bytes(), inner.pool.place(slot).0 + at, len, situ_memory::HOST)
            }
        };
        let register = |domain: &dyn Domain| {
            // What lies on a device is not in the pool of heads.
            if body.is_none() {
                let slot = (inner.pool.control(slot), inner.pool.place(slot));
                self.registered.borrow_mut().add(domain, memory, len, slot);
            }
        };
        let source = Source {
            memory,
            offset,
            len,
            fence: body.as_ref().map(|(_, _, fence)| fence),
            owner: publisher.node.life.id(),
            keeps: publisher.qos.durability == Durability::TransientLocal,
            origin: None,
            register: &register,
        };
        let others = self.copies.iter_mut().filter(|copies| copies.domain() != from);
        others.filter_map(|copies| copies.bring_if_absent(number, &source, on).ok().flatten()).collect()
    }

    /// Finds domains that somebody takes in.
    fn look_around(&mut self) {
        for place in active_places(&self.topic) {
            let domain = domain_from_word(&place.domain);
            let known = self.copies.iter().any(|copies| copies.domain() == domain);
            // Even its own domain counts: what lies in host memory may be wanted on the device, and the other way round.
            if !known && let Some(column) = self.topic.column(domain) {
                let (topic, node) = (self.topic.clone(), self.node.clone());
                self.copies.push(Copies::new(topic, node, (column, domain), None));
            }
        }
    }
}
