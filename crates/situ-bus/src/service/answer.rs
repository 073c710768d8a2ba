//! A reply under construction.

use std::fmt;
use std::mem::ManuallyDrop;
use std::ops::Deref;
use std::rc::Rc;
use std::time::Duration;

use situ_memory::Stream;

use super::build_in_place::build_in_place;
use super::clients::ReplyPublisher;
use super::errors::AnswerError;
use super::header::{ReplyHeader, ReplyKind};
use super::request::RequestId;
use crate::observe::hook;
use crate::port::loan::{LoanError, RawLoan};
use crate::port::publish_error::PublishError;
use crate::qos::WhenFull;

/// A reply, or a part of one, under construction in the memory where the client will read it. Dropping it
/// sends nothing. Its user header belongs to the service.
pub struct RawReplyLoan<'s> {
    /// Declared before the publisher that it refers to, so that it is dropped first.
    loan: ManuallyDrop<RawLoan<'s>>,
    client: Rc<ReplyPublisher>,
    id: RequestId,
}

impl<'s> RawReplyLoan<'s> {
    /// Lends with `lend` from the publisher of the client's replies.
    ///
    /// The lifetime is that of the borrowed server, so that the server cannot go to another thread meanwhile.
    #[inline]
    pub(super) fn new(
        client: Rc<ReplyPublisher>,
        id: RequestId,
        lend: impl for<'p> FnOnce(&'p ReplyPublisher) -> Result<RawLoan<'p>, LoanError>,
    ) -> Result<Self, LoanError> {
        // SAFETY: the loan refers to the publisher in `client`. An `Rc` does not move its content, this
        // structure keeps it, and it drops the loan before it.
        let publisher = unsafe { &*Rc::as_ptr(&client) };
        Ok(Self { loan: ManuallyDrop::new(lend(publisher)?), client, id })
    }

    /// The request that it answers.
    pub fn request(&self) -> RequestId {
        self.id
    }

    /// Sends it as the reply, or as the last part of one. If the client has no room, that is an error at
    /// once, so that no client holds the server back.
    #[inline]
    pub fn send(self) -> Result<(), AnswerError> {
        self.publish(ReplyKind::Reply, WhenFull::Fail, None)
    }

    /// As [`send`](Self::send), but waits for room, at most for `limit`.
    pub fn send_within(self, limit: Duration) -> Result<(), AnswerError> {
        self.publish(ReplyKind::Reply, WhenFull::Block(Some(limit)), None)
    }

    /// As [`send`](Self::send), before the reply is complete: see [`RawLoan::publish_on`].
    pub fn send_on(self, stream: &dyn Stream) -> Result<(), AnswerError> {
        self.publish(ReplyKind::Reply, WhenFull::Fail, Some(stream))
    }

    /// Sends it as a part of a reply, which other parts follow, or an end. If the client has no room, that is
    /// an error at once.
    pub fn send_part(self) -> Result<(), AnswerError> {
        self.publish(ReplyKind::Part, WhenFull::Fail, None)
    }

    /// As [`send_part`](Self::send_part), but waits for room, at most for `limit`.
    pub fn send_part_within(self, limit: Duration) -> Result<(), AnswerError> {
        self.publish(ReplyKind::Part, WhenFull::Block(Some(limit)), None)
    }

    /// As [`send_part`](Self::send_part), before the part is complete: see [`RawLoan::publish_on`].
    pub fn send_part_on(self, stream: &dyn Stream) -> Result<(), AnswerError> {
        self.publish(ReplyKind::Part, WhenFull::Fail, Some(stream))
    }

    #[inline]
    pub(super) fn publish(
        self,
        kind: ReplyKind,
        when_full: WhenFull,
        on: Option<&dyn Stream>,
    ) -> Result<(), AnswerError> {
        let header = ReplyHeader { call: self.id.call, code: 0, kind };
        self.publish_with(header, when_full, on)
    }

    #[inline]
    pub(super) fn publish_with(
        mut self,
        header: ReplyHeader,
        when_full: WhenFull,
        on: Option<&dyn Stream>,
    ) -> Result<(), AnswerError> {
        header.write(self.loan.user_header_mut());
        let id = self.id;
        let mut this = ManuallyDrop::new(self);
        // SAFETY: `this` is not dropped and not used again, so each field is taken once. The publisher lives
        // until the end of this function, longer than the loan.
        let (loan, client) =
            unsafe { (ManuallyDrop::take(&mut this.loan), std::ptr::read(&raw const this.client)) };
        client.publisher.when_full.set(when_full);
        let published = match on {
            None => loan.publish(),
            Some(stream) => loan.publish_on(stream),
        };
        match published {
            Ok(number) => {
                if header.kind.is_last() && hook::watcher().is_some() {
                    client.tell_answered(id.call, header.kind, number);
                }
                Ok(())
            }
            // The client may have ended while it had no room.
            Err(PublishError::Full { .. }) if client.publisher.subscribers() == 0 => Err(client.gone(&id)),
            Err(error) => Err(error.into()),
        }
    }
}

impl Drop for RawReplyLoan<'_> {
    fn drop(&mut self) {
        // SAFETY: it is dropped once, before the publisher.
        unsafe { ManuallyDrop::drop(&mut self.loan) };
    }
}

impl<'s> Deref for RawReplyLoan<'s> {
    type Target = RawLoan<'s>;

    fn deref(&self) -> &RawLoan<'s> {
        &self.loan
    }
}

build_in_place!(RawReplyLoan);

impl fmt::Debug for RawReplyLoan<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RawReplyLoan").field("request", &self.id).finish_non_exhaustive()
    }
}
