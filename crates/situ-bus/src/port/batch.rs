//! Batches: several loans published with one wake-up, and several messages taken with one move of the cursor.
//!
//! A publisher reads the clock and looks at the wake word once for a batch. It still looks at the flow
//! window for each message, which is one load of a line that rarely changes. So it publishes at most one
//! message without regard to a new subscriber, as the window promises. If a reliable subscriber has
//! no room, the publisher wakes the sleepers before it waits: one of them may be the subscriber that makes
//! room. If it dies before the wake-up, sleepers find the messages with their next look, as if it had died
//! between a row and its wake-up.
//!
//! A subscriber moves its cursor once, behind the last message of the batch. Until then publishers see an
//! earlier cursor than it has, and keep more than they have to. All names in its ledger were written before
//! the move, as for a single message.

use std::ops::Deref;

use crate::clock::now_ns;
use crate::observe::hook;
use crate::port::loan::RawLoan;
use crate::port::publish_error::PublishError;
use crate::port::publisher::RawPublisher;
use crate::port::sample::RawSample;
use crate::port::subscriber::{RawSubscriber, TakeError};
use crate::protocol::ring::Look;

impl RawPublisher {
    /// Publishes messages in this order, and returns the number of the last one in the topic's order; `None`
    /// if there are none. Usually sleeping subscribers are woken once, and all messages have one time stamp.
    /// While a tracer watches, or the publisher makes copies ahead of time, each is published by itself.
    ///
    /// On failure, `loans` has the messages that were not published.
    pub fn publish_all(&self, loans: &mut Vec<RawLoan<'_>>) -> Result<Option<u64>, PublishError> {
        let mut published = Published::default();
        // SAFETY: the published loans are forgotten right below.
        let result = unsafe { self.publish_each(loans.iter(), &mut published) };
        // These belong to the topic now.
        loans.drain(..published.count).for_each(std::mem::forget);
        result.map(|()| published.last)
    }

    /// Publishes loans wherever they are stored, as [`publish_all`](Self::publish_all), and counts those that
    /// were published: for languages that keep [detached loans](RawLoan::detach).
    ///
    /// # Safety
    /// The caller forgets as many of the first loans as `published` counts, also after an error: they are
    /// neither dropped nor published again.
    pub unsafe fn publish_each<'p, L: Deref<Target = RawLoan<'p>>>(
        &self,
        loans: impl Iterator<Item = L> + Clone,
        published: &mut Published,
    ) -> Result<(), PublishError> {
        let is_own = |loan: L| std::ptr::eq(loan.publisher, self);
        let can_publish = !self.is_inherited() && !self.topic.is_removed() && self.eager.is_none();
        if !can_publish || hook::watcher().is_some() || !loans.clone().all(is_own) {
            for loan in loans {
                published.note(loan.publisher.publish(&loan, None)?);
            }
            return Ok(());
        }
        let inner = &mut *self.inner.borrow_mut();
        let now = if self.stamps { now_ns() } else { 0 };
        let (mut result, mut last) = (Ok(()), None);
        for loan in loans {
            let wake = || _ = self.topic.wakes().notify();
            match self.append(inner, &loan, now, &mut None, wake) {
                Ok(number) => published.note(number),
                Err(error) => {
                    result = Err(error);
                    break;
                }
            }
            last = Some(loan.slot);
            if loan.grows {
                inner.pool.give_tail_back(loan.slot, loan.body_offset + loan.body_size);
            }
            // Now, so that the list of published messages does not grow.
            self.retire_oldest(inner);
        }
        if let Some(slot) = last {
            self.topic.wakes().notify();
            self.look_around(inner, now);
            self.tidy_after(inner, slot, now);
        }
        result
    }
}

/// The messages of a batch that were published: see [`RawPublisher::publish_each`].
#[derive(Debug, Default)]
pub struct Published {
    /// How many there are: the first ones of the batch.
    pub count: usize,
    /// The number of the last one in the topic's order.
    pub last: Option<u64>,
}

impl Published {
    fn note(&mut self, number: u64) {
        self.count += 1;
        self.last = Some(number);
    }
}

impl RawSubscriber {
    /// Takes at most `most` messages that are there, as [`take`](Self::take) takes one, and appends them to
    /// `into`. Returns how many there were. Reserve room in `into`, so that nothing is allocated.
    ///
    /// On failure, the messages before the failure are in `into`, and the next call continues behind it.
    pub fn take_many(&self, most: usize, into: &mut Vec<RawSample>) -> Result<usize, TakeError> {
        self.take_each(most, |sample| {
            into.push(sample);
            Ok(())
        })
    }

    /// The same, but gives each message to a function. A message for which the function fails is taken, and
    /// is the last one. The function must not use the subscriber.
    pub fn take_each<E: From<TakeError>>(
        &self,
        most: usize,
        mut give: impl FnMut(RawSample) -> Result<(), E>,
    ) -> Result<usize, E> {
        let mut count = 0;
        while count < most {
            if hook::watcher().is_none() && !self.is_inherited() {
                count += self.take_in_order(most - count, &mut give)?;
            }
            if count == most || !self.has_next() {
                break;
            }
            // Everything unusual: an error, messages that were lost, or samples that have to be counted.
            let Some(sample) = self.take()? else { return Ok(count) };
            count += 1;
            give(sample)?;
        }
        if count == 0 && most > 0 {
            self.look_after_the_dead();
            self.nothing()?;
        }
        Ok(count)
    }

    /// Takes messages as long as it is usual: they are there, and none was lost or is too old.
    #[inline]
    fn take_in_order<E>(
        &self,
        most: usize,
        give: &mut impl FnMut(RawSample) -> Result<(), E>,
    ) -> Result<usize, E> {
        let (first, most) = (self.cursor(), self.may_take_in_order().min(most));
        let mut taken = TakenInOrder { subscriber: self, first, count: 0 };
        let mut result = Ok(());
        while taken.count < most && result.is_ok() {
            let number = first.wrapping_add(taken.count as u64);
            let ring = self.core().topic.ring_of(number);
            let Look::Here(reference) = ring.look(number) else { break };
            let sample = match self.copy_from_row(ring, reference, number) {
                Some(sample) => sample,
                None => match self.pin(reference, number, false, None) {
                    Ok(Some(sample)) if !sample.is_expired() => sample,
                    // Nothing is lost by the attempt: `take` finds the same.
                    _ => break,
                },
            };
            taken.count += 1;
            result = give(sample);
        }
        let count = taken.count;
        drop(taken);
        result.map(|()| count)
    }
}

/// The messages that were taken in order so far. The cursor moves once, when this is dropped, also if the
/// caller's function panics.
struct TakenInOrder<'s> {
    subscriber: &'s RawSubscriber,
    first: u64,
    count: usize,
}

impl Drop for TakenInOrder<'_> {
    fn drop(&mut self) {
        if self.count > 0 {
            self.subscriber.note_taken(self.first.wrapping_add(self.count as u64), self.count);
        }
    }
}
