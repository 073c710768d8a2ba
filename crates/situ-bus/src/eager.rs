//! Eager copies: a publisher brings its messages where they are wanted before anybody asks.

use std::collections::VecDeque;
use std::sync::Arc;

use situ_memory::sync::atomic::Ordering;
use situ_memory::{DomainId, FenceState, SlotId};

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
    /// The last message that was brought, or found to be none of ours.
    done: Option<u64>,
    /// Messages that were not complete when they were looked at.
    waiting: VecDeque<u64>,
}

impl Eager {
    pub(crate) fn new(topic: Arc<Topic>, node: Arc<NodeInner>, from: DomainId) -> Self {
        Self { topic, node, from, copies: Vec::new(), done: None, waiting: VecDeque::new() }
    }

    /// Brings what is published, complete and wanted elsewhere. What fails here is left to those who take it, and to tell
    /// them why.
    pub(crate) fn copy(&mut self, publisher: &RawPublisher, inner: &Inner) {
        let oldest = inner.published.front().map_or(u64::MAX, |(number, _)| *number);
        self.copies.iter_mut().for_each(|copies| copies.tidy(oldest));
        self.look_around();
        let fresh = inner.published.iter().filter(|(number, _)| self.done.is_none_or(|done| *number > done));
        self.waiting.extend(fresh.map(|(number, _)| *number));
        self.done = inner.published.back().map(|(number, _)| *number).or(self.done);
        for _ in 0..self.waiting.len() {
            let Some(number) = self.waiting.pop_front() else { return };
            let found = inner.published.binary_search_by_key(&number, |(number, _)| *number);
            let Ok(index) = found else { continue };
            if !self.copy_one(publisher, inner, inner.published[index]) {
                self.waiting.push_back(number);
            }
        }
    }

    /// Copies one message into all domains. Not if it is not complete.
    fn copy_one(&mut self, publisher: &RawPublisher, inner: &Inner, (number, slot): (u64, SlotId)) -> bool {
        let (head, _) = inner.pool.memory(slot);
        // SAFETY: every slot of the own pool that was published begins with a descriptor, aligned to 64; it consists of atomics.
        let descriptor = unsafe { &*head.cast::<Descriptor>() };
        let body_size = descriptor.body_size.load(Ordering::Relaxed);
        let in_slot = descriptor.body_pool.load(Ordering::Relaxed) == BODY_IN_SLOT;
        let body = inner.bodies.as_ref().filter(|_| !in_slot);
        let body = body.and_then(|bodies| Some((bodies, bodies.of(slot)?, bodies.fence(slot)?)));
        let (memory, offset, len, from) = match &body {
            Some((_, _, fence)) if fence.state() == FenceState::Pending => return false,
            Some((_, _, fence)) if fence.state() == FenceState::Poisoned => return true,
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
        let source = Source {
            memory,
            offset,
            len,
            fence: None,
            owner: publisher.node.life.id(),
            keeps: publisher.qos.durability == Durability::TransientLocal,
            origin: None,
        };
        for copies in self.copies.iter_mut().filter(|copies| copies.domain() != from) {
            let _ = copies.bring_if_absent(number, &source);
        }
        true
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
