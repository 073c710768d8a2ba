//! Publishing a loan: appending it to the topic, waking subscribers, and the work that follows off the
//! critical path.

use situ_memory::sync::atomic::Ordering;
use situ_memory::{FenceState, SlotId, Stream};

use crate::clock::now_ns;
use crate::observe::hook::{self, Began};
use crate::port::filling::FEW;
use crate::port::loan::RawLoan;
use crate::port::pool_options::{EAGER_SIZE, WARM_SIZE};
use crate::port::prefetch::prefetch_for_write;
use crate::port::publish_error::PublishError;
use crate::port::publisher::RawPublisher;
use crate::port::publisher_state::{Inner, pays_to_reclaim, prefetch_after, retire};
use crate::protocol::ring::{ClaimError, NewRow, Reference, Ring};
use crate::protocol::row::NOT_STAMPED;
use crate::qos::{Reliability, nanoseconds};
use crate::topic::MAX_RINGS;
use crate::topic::format::{BODY_IN_SLOT, Descriptor};

impl RawPublisher {
    /// Publishes a loan. `on` is the stream that completes it, if there is one.
    pub(crate) fn publish(&self, loan: &RawLoan<'_>, on: Option<&dyn Stream>) -> Result<u64, PublishError> {
        if self.is_inherited() {
            return Err(self.publish_forked());
        }
        if self.topic.is_removed() {
            return Err(self.publish_removed());
        }
        match hook::watcher() {
            None => self.publish_since(loan, on, None),
            Some(watcher) => self.publish_watched(loan, on, watcher),
        }
    }

    /// Publishes, and reports the step, which `began` at the given time, if there is a tracer. Inlined, so
    /// that none of the reporting remains without a tracer.
    #[inline(always)]
    pub(crate) fn publish_since(
        &self,
        loan: &RawLoan<'_>,
        on: Option<&dyn Stream>,
        mut began: Option<Began>,
    ) -> Result<u64, PublishError> {
        let mut inner = self.inner.borrow_mut();
        let inner = &mut *inner;
        let now = if self.stamps { now_ns() } else { 0 };
        let number = self.append(inner, loan, now, &mut began, || ())?;
        // If a device is still filling the message and the publisher itself copies it to the host,
        // subscribers on the host can use it only after that copy. A subscriber that is woken earlier has
        // nothing to do, and takes a core from other work.
        let brought = loan.signalled && self.eager.is_some();
        // A copy of an incomplete message is enqueued, which takes less time than waking a subscriber, and
        // the device works in the meantime. Any other copy may be made in the call.
        let first = brought && on.is_some() && Self::is_pending(inner, loan.slot);
        let wakes = first && self.copy_eagerly(inner, on);
        if brought && (wakes || !first) {
            self.topic.wakes().notify_early();
        } else {
            self.topic.wakes().notify();
        }
        // From here on, the work does not delay the message.
        self.look_around(inner, now);
        let bytes = loan.head_size as u64 + loan.body_size as u64;
        if let Some(began) = began {
            self.tell_published(began, number, bytes);
        }
        if loan.grows {
            inner.pool.give_tail_back(loan.slot, loan.body_offset + loan.body_size);
        }
        if !first && self.eager.is_some() {
            let wakes = self.copy_eagerly(inner, on);
            if brought && !wakes {
                self.topic.wakes().notify();
            }
        }
        self.retire_oldest(inner);
        self.tidy_after(inner, loan.slot, now);
        if let Some(began) = began {
            self.tell_done(began, inner, number, bytes);
        }
        Ok(number)
    }

    /// Writes the descriptor of a message, and appends the message to the topic. Wakes no subscriber.
    /// `before_waiting` is called before this waits for a reliable subscriber.
    #[inline(always)]
    pub(crate) fn append(
        &self,
        inner: &mut Inner,
        loan: &RawLoan<'_>,
        now: u64,
        began: &mut Option<Began>,
        before_waiting: impl FnOnce(),
    ) -> Result<u64, PublishError> {
        if let Some(bodies) = &inner.bodies
            && !loan.signalled
            && let Some(fence) = bodies.fence(loan.slot)
        {
            // The body is complete already: the row publishes it.
            fence.complete();
        }
        if self.copied.is_none() {
            // A subscriber that polls has the row's line. The line is fetched beside those of the descriptor,
            // because the claim waits for all stores before it. (A row with a copy is not fetched early: the
            // subscriber would take its line back before the copy is complete.)
            prefetch_for_write(self.topic.ring().first_line(inner.next));
        }
        let descriptor = loan.descriptor();
        descriptor.published_at_ns.store(now, Ordering::Relaxed);
        descriptor.head_size.store(loan.head_size as u32, Ordering::Relaxed);
        descriptor.encoding.store(loan.encoding as u32, Ordering::Relaxed);
        descriptor.body_offset.store(loan.body_offset as u64, Ordering::Relaxed);
        descriptor.body_size.store(loan.body_size as u64, Ordering::Relaxed);
        descriptor.body_pool.store(loan.body_pool, Ordering::Relaxed);
        if loan.body_pool != BODY_IN_SLOT {
            let body = inner.bodies.as_ref().and_then(|bodies| bodies.of(loan.slot));
            descriptor.body_slot.store(body.unwrap_or_default(), Ordering::Relaxed);
        }
        descriptor.lifespan_ns.store(nanoseconds(self.qos.lifespan), Ordering::Relaxed);
        descriptor.publisher_sequence.store(inner.sequence, Ordering::Relaxed);
        let reference = Reference {
            pool: self.entry as u16,
            slot: loan.slot as u16,
            generation: inner.pool.share(loan.slot),
        };
        let copied = self.copied(loan);
        let row = &NewRow::new(reference, copied.map_or(&[], |copied| copied.rest));
        let number = match self.claim(inner, descriptor, row) {
            Ok(number) => number,
            Err(ClaimError::Refused(())) => {
                before_waiting();
                self.wait_and_claim(inner, descriptor, row, began)?
            }
            Err(error) => return Err(self.unclaimed(error)),
        };
        if let Some(copied) = copied {
            self.topic.ring_of(number).complete_copy(number, copied.first, now.max(NOT_STAMPED));
        }
        inner.next = number.wrapping_add(1);
        inner.sequence += 1;
        inner.published.push_back((number, loan.slot));
        Ok(number)
    }

    /// The work after the message in this slot was published.
    #[inline(always)]
    pub(crate) fn tidy_after(&self, inner: &mut Inner, slot: SlotId, now: u64) {
        let size = inner.pool.memory(slot).1;
        inner.filling.end(size);
        let in_turn = inner.uses_slots_in_turn(size);
        let is_due = match in_turn {
            true => inner.sequence.is_multiple_of(FEW),
            false => (EAGER_SIZE..WARM_SIZE).contains(&size),
        };
        if is_due {
            self.retire_passed(inner);
        }
        if let Some(deadline) = &self.deadline {
            deadline.restart(now);
        }
        if let Some(lease) = &self.lease {
            self.assert_at(lease, now);
        }
        if (size < WARM_SIZE || in_turn) && pays_to_reclaim(inner, &self.topic, size) {
            self.reclaim(inner);
        }
        prefetch_after(inner, slot);
        if inner.held > 0 {
            let now = if self.stamps { now } else { now_ns() };
            if inner.process_watch.noticed(&self.topic, &self.node.processes, now) {
                self.recover(inner);
            }
        }
    }

    /// Appends a message to the topic. If the ring is sealed, continues in the next one.
    #[inline(always)]
    pub(crate) fn claim(
        &self,
        inner: &mut Inner,
        descriptor: &Descriptor,
        row: &NewRow<'_>,
    ) -> Result<u64, ClaimError<()>> {
        match self.claim_in(self.topic.ring(), inner, descriptor, row) {
            Err(ClaimError::Sealed) => self.claim_behind_the_seal(inner, descriptor, row),
            result => result,
        }
    }

    #[cold]
    fn claim_behind_the_seal(
        &self,
        inner: &mut Inner,
        descriptor: &Descriptor,
        row: &NewRow<'_>,
    ) -> Result<u64, ClaimError<()>> {
        // A ring cannot be sealed more often than this, because each is deeper than the previous one.
        for _ in 0..MAX_RINGS {
            if self.topic.follow().is_err() {
                break;
            }
            match self.claim_in(self.topic.ring(), inner, descriptor, row) {
                Err(ClaimError::Sealed) => {}
                result => return result,
            }
        }
        Err(ClaimError::Sealed)
    }

    #[inline(always)]
    fn claim_in(
        &self,
        ring: Ring<'_>,
        inner: &mut Inner,
        descriptor: &Descriptor,
        row: &NewRow<'_>,
    ) -> Result<u64, ClaimError<()>> {
        let reliable = self.qos.reliability == Reliability::Reliable;
        let room = (self.qos.depth as u64).min(ring.depth());
        let (window, epoch) = (&mut inner.window, self.topic.places.epoch());
        ring.publish_row(inner.next, row, |number| {
            descriptor.sequence.store(number.wrapping_add(1), Ordering::Relaxed);
            if !reliable || window.admits(number, room, epoch, || self.slowest()) { Ok(()) } else { Err(()) }
        })
    }

    /// The error of a claim that failed for another reason than missing room.
    #[cold]
    pub(crate) fn unclaimed(&self, error: ClaimError<()>) -> PublishError {
        let topic = self.topic.name.clone();
        match (error, self.topic.follow()) {
            (ClaimError::Sealed, Err(source)) => PublishError::Ring { topic, source: Box::new(source) },
            _ => PublishError::Corrupted { topic },
        }
    }

    /// Retires messages beyond the depth, right after a message was published: off its path, and early enough
    /// to have the next slot's cache lines here when it is lent.
    #[inline]
    pub(crate) fn retire_oldest(&self, inner: &mut Inner) {
        while inner.published.len() > self.qos.depth {
            let Some(&(number, slot)) = inner.published.front() else { break };
            if number >= inner.window.slowest() && number >= self.refresh(inner) {
                break;
            }
            inner.published.pop_front();
            retire(inner, slot);
        }
    }

    /// Copies published messages into every domain that has a subscriber. The last message is copied on the
    /// stream `on`, if that stream completes it. Returns whether the end of a copy of that message wakes
    /// subscribers on the host.
    pub(crate) fn copy_eagerly(&self, inner: &mut Inner, on: Option<&dyn Stream>) -> bool {
        let Some(eager) = &self.eager else { return false };
        eager.borrow_mut().copy(self.node.life.id(), &self.qos, inner, on)
    }

    /// Whether a device is still filling the body of a message.
    fn is_pending(inner: &Inner, slot: SlotId) -> bool {
        let fence = inner.bodies.as_ref().and_then(|bodies| bodies.fence(slot));
        fence.is_some_and(|fence| fence.state() == FenceState::Pending)
    }
}
