//! The events that publishers and subscribers report to a tracer, off the hot path of processes without one.

use situ_memory::Stream;

use crate::observe::hook::{Began, Event, Open, Step, Subject, Watcher, Why};
use crate::port::loan::{LoanError, RawLoan};
use crate::port::publish_error::PublishError;
use crate::port::publisher::RawPublisher;
use crate::port::publisher_state::Inner;
use crate::port::sample::RawSample;
use crate::port::subscriber::{RawSubscriber, TakeError};
use crate::topic::Topic;

impl Topic {
    /// The subject of an event of this member.
    pub(crate) fn subject(&self, member: usize) -> Subject<'_> {
        Subject { topic: &self.name, id: self.header.id, member: member as u32 }
    }
}

impl RawPublisher {
    pub(crate) fn subject(&self) -> Subject<'_> {
        self.topic.subject(self.entry)
    }

    /// Lends a slot, and reports the step.
    #[cold]
    #[inline(never)]
    pub(crate) fn lend_watched(
        &self,
        (head_size, head_align): (usize, usize),
        body_size: usize,
        watcher: Watcher,
    ) -> Result<RawLoan<'_>, LoanError> {
        let bytes = head_size as u64 + body_size as u64;
        let _step = watcher.step(Some(self.subject()), Step::Loan, None, bytes);
        self.lend((head_size, head_align), body_size)
    }

    /// Lends a slot that grows, and reports the step.
    #[cold]
    #[inline(never)]
    pub(crate) fn lend_growing_watched(
        &self,
        body_size: usize,
        room: usize,
        watcher: Watcher,
    ) -> Result<RawLoan<'_>, LoanError> {
        let _step = watcher.step(Some(self.subject()), Step::Loan, None, body_size as u64);
        self.lend_growing(body_size, room)
    }

    /// Publishes, and reports the step.
    #[cold]
    #[inline(never)]
    pub(crate) fn publish_watched(
        &self,
        loan: &RawLoan<'_>,
        on: Option<&dyn Stream>,
        watcher: Watcher,
    ) -> Result<u64, PublishError> {
        self.publish_since(loan, on, Some(Began { watcher, at_ns: watcher.now_ns() }))
    }

    /// Reports that a message was published.
    ///
    /// The reported begin lies before the publication, and so before any subscriber's step.
    #[cold]
    #[inline(never)]
    pub(crate) fn tell_published(&self, began: Began, number: u64, bytes: u64) {
        let event = Event::Begin { step: Step::Publish, number: Some(number), bytes };
        began.watcher.tell_at(began.at_ns, Some(self.subject()), event);
    }

    /// Reports the end of the work that follows a publication.
    #[cold]
    #[inline(never)]
    pub(crate) fn tell_done(&self, began: Began, inner: &Inner, number: u64, bytes: u64) {
        let (watcher, subject) = (began.watcher, Some(self.subject()));
        let at_ns = watcher.now_ns();
        watcher.tell_at(at_ns, subject, Event::End { step: Step::Publish, number: Some(number), bytes });
        watcher.tell_at(at_ns, subject, Event::SlotsInUse(inner.pool.statistics().in_use as u64));
    }

    /// Reports that a loan was dropped.
    #[cold]
    #[inline(never)]
    pub(crate) fn tell_unpublished(&self, watcher: Watcher) {
        watcher.tell(Some(self.subject()), Event::Dropped { why: Why::Unpublished, messages: 1 });
    }

    /// Reports that a publisher begins to wait for a subscriber. Returns the step that
    /// [`tell_no_longer_full`](Self::tell_no_longer_full) ends.
    #[cold]
    #[inline(never)]
    pub(crate) fn tell_full(&self, began: &mut Option<Began>) -> Option<Step> {
        let began = began.as_mut()?;
        let (subscriber, pid) = self.waits_for();
        let step = Step::WaitForRoom { subscriber, pid };
        began.at_ns = began.watcher.now_ns();
        let event = Event::Begin { step, number: None, bytes: 0 };
        began.watcher.tell_at(began.at_ns, Some(self.subject()), event);
        Some(step)
    }

    /// Notes that a publisher checks for room again. If there is room, its publication begins here.
    #[cold]
    #[inline(never)]
    pub(crate) fn note_attempt(&self, began: &mut Option<Began>) {
        if let Some(began) = began {
            began.at_ns = began.watcher.now_ns();
        }
    }

    /// Reports that a publisher has stopped waiting, at its last attempt.
    #[cold]
    #[inline(never)]
    pub(crate) fn tell_no_longer_full(&self, began: &Option<Began>, step: Option<Step>) {
        if let (Some(began), Some(step)) = (began, step) {
            let event = Event::End { step, number: None, bytes: 0 };
            began.watcher.tell_at(began.at_ns, Some(self.subject()), event);
        }
    }
}

impl RawSubscriber {
    fn subject(&self) -> Subject<'_> {
        self.core().topic.subject(self.core().own.index)
    }

    /// As [`take`](Self::take), and reports the step. A take that finds no message is not reported.
    #[cold]
    #[inline(never)]
    pub(crate) fn take_watched(
        &self,
        watcher: Watcher,
        on: Option<&dyn Stream>,
    ) -> Result<Option<RawSample>, TakeError> {
        if !self.has_next() {
            self.look_after_the_dead();
            return self.nothing();
        }
        let subject = Some(self.subject());
        let step = Step::Take;
        watcher.tell(subject, Event::Begin { step, number: None, bytes: 0 });
        let counts =
            || [(Why::Lost, self.lost()), (Why::Skipped, self.skipped()), (Why::Expired, self.expired())];
        let before = counts();
        let result = self.take_with(on);
        let at_ns = watcher.now_ns();
        for ((why, before), (_, now)) in before.into_iter().zip(counts()) {
            if now != before {
                let messages = now.wrapping_sub(before);
                watcher.tell_at(at_ns, subject, Event::Dropped { why, messages });
            }
        }
        let sample = result.as_ref().ok().and_then(Option::as_ref);
        let number = sample.map(RawSample::sequence);
        let bytes = sample.map_or(0, |sample| (sample.head().len() + sample.body_size()) as u64);
        watcher.tell_at(at_ns, subject, Event::End { step, number, bytes });
        let queued = self.core().topic.end().saturating_sub(self.cursor());
        watcher.tell_at(at_ns, subject, Event::Queued(queued));
        result
    }

    /// Reports that a subscriber is about to wait.
    #[cold]
    #[inline(never)]
    pub(crate) fn tell_waiting(&self, watcher: Watcher) -> Open<'_> {
        watcher.step(Some(self.subject()), Step::Wait, None, 0)
    }
}
