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
use crate::port::loan::{DetachedLoan, LoanError, RawLoan};
use crate::port::publish_error::PublishError;
use crate::port::publisher::RawPublisher;
use crate::qos::WhenFull;

/// How long a server that answers for its program waits for a client that has no room.
const PATIENCE: Duration = Duration::from_millis(50);

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

    /// Sends it, with all that may be told about it: whether other parts or an end follow, what happens if
    /// the client has no room, and the stream that completes it. On failure, returns the loan along with the
    /// reason.
    #[inline]
    pub fn send_with(
        self,
        is_last: bool,
        when_full: WhenFull,
        on: Option<&dyn Stream>,
    ) -> Result<(), (Box<AnswerError>, Self)> {
        let kind = if is_last { ReplyKind::Reply } else { ReplyKind::Part };
        let header = ReplyHeader { call: self.id.call, code: 0, kind };
        self.publish_with(header, when_full, on)
    }

    /// Detaches the loan from the server's lifetime, for languages without lifetimes. The slot stays lent
    /// until [`RawServer::attach`](crate::RawServer::attach) takes the loan back. If that never happens, the
    /// server never leaves the topic of this client.
    #[inline]
    pub fn detach(self) -> DetachedReplyLoan {
        let (loan, client, id) = self.into_parts();
        DetachedReplyLoan { loan: loan.detach(), client: ManuallyDrop::new(client), id }
    }

    #[inline]
    fn into_parts(self) -> (RawLoan<'s>, Rc<ReplyPublisher>, RequestId) {
        let mut this = ManuallyDrop::new(self);
        // SAFETY: `this` is not dropped and not used again, so each field is taken once. Callers keep the
        // publisher for longer than the loan.
        unsafe { (ManuallyDrop::take(&mut this.loan), std::ptr::read(&raw const this.client), this.id) }
    }

    #[inline]
    pub(super) fn publish(
        self,
        kind: ReplyKind,
        when_full: WhenFull,
        on: Option<&dyn Stream>,
    ) -> Result<(), AnswerError> {
        let header = ReplyHeader { call: self.id.call, code: 0, kind };
        self.publish_with(header, when_full, on).map_err(|(error, _)| *error)
    }

    /// Sends it as the reply. A client that has no room gets some time to take its replies, unless it took
    /// none when it got that time before.
    pub(crate) fn send_patiently(self) -> Result<(), AnswerError> {
        let header = ReplyHeader { call: self.id.call, code: 0, kind: ReplyKind::Reply };
        self.publish_patiently(header)
    }

    pub(super) fn publish_patiently(self, header: ReplyHeader) -> Result<(), AnswerError> {
        let client = self.client.clone();
        let when_full = match client.is_slow.get() {
            true => WhenFull::Fail,
            false => WhenFull::Block(Some(PATIENCE)),
        };
        let published = self.publish_with(header, when_full, None).map_err(|(error, _)| *error);
        client.is_slow.set(matches!(published, Err(AnswerError::Publish(PublishError::Full { .. }))));
        published
    }

    #[inline]
    pub(super) fn publish_with(
        mut self,
        header: ReplyHeader,
        when_full: WhenFull,
        on: Option<&dyn Stream>,
    ) -> Result<(), (Box<AnswerError>, Self)> {
        header.write(self.loan.user_header_mut());
        // The publisher lives until the end of this function, longer than the loan.
        let (loan, client, id) = self.into_parts();
        client.publisher.when_full.set(when_full);
        let published = match on {
            None => loan.publish_or_return(),
            Some(stream) => loan.publish_on_or_return(stream),
        };
        let (error, loan) = match published {
            Ok(number) => {
                if header.kind.is_last() && hook::watcher().is_some() {
                    client.tell_answered(id.call, header.kind, number);
                }
                return Ok(());
            }
            Err(failed) => failed,
        };
        let error = match error {
            // The client may have ended while it had no room.
            PublishError::Full { .. } if client.publisher.subscribers() == 0 => client.gone(&id),
            error => error.into(),
        };
        Err((Box::new(error), Self { loan: ManuallyDrop::new(loan), client, id }))
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

/// A loan of a reply without a reference to its server: see [`RawReplyLoan::detach`].
#[must_use = "its slot stays lent until it is attached again"]
pub struct DetachedReplyLoan {
    loan: DetachedLoan,
    /// Not released if this is dropped: the server may be on another thread by then, and counts without
    /// atomic operations.
    client: ManuallyDrop<Rc<ReplyPublisher>>,
    id: RequestId,
}

impl DetachedReplyLoan {
    #[inline]
    pub(super) fn attach<'s>(self) -> RawReplyLoan<'s> {
        // SAFETY: the loan was detached from one of this publisher. An `Rc` does not move its content, and
        // the loan keeps it and is dropped before it.
        let loan = unsafe { (*Rc::as_ptr(&self.client)).publisher.attach(self.loan) };
        let client = ManuallyDrop::into_inner(self.client);
        RawReplyLoan { loan: ManuallyDrop::new(loan), client, id: self.id }
    }

    /// The loan, and to which request and client it belongs, which keeps its publisher.
    pub(crate) fn split(self) -> (DetachedLoan, ReplyTarget) {
        (self.loan, ReplyTarget { client: ManuallyDrop::into_inner(self.client), id: self.id })
    }
}

/// The client and the request of a reply under construction.
pub(crate) struct ReplyTarget {
    client: Rc<ReplyPublisher>,
    id: RequestId,
}

impl ReplyTarget {
    /// The publisher of the client's replies. It does not move while this exists.
    pub(crate) fn publisher(&self) -> *const RawPublisher {
        &raw const self.client.publisher
    }

    /// The loan of a reply again.
    ///
    /// # Safety
    /// The loan was split from this target, and its server exists for longer than the result.
    pub(crate) unsafe fn join<'s>(self, loan: DetachedLoan) -> RawReplyLoan<'s> {
        DetachedReplyLoan { loan, client: ManuallyDrop::new(self.client), id: self.id }.attach()
    }
}

impl fmt::Debug for DetachedReplyLoan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DetachedReplyLoan").field("request", &self.id).finish_non_exhaustive()
    }
}

impl fmt::Debug for RawReplyLoan<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RawReplyLoan").field("request", &self.id).finish_non_exhaustive()
    }
}
