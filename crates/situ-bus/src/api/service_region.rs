//! Requests and replies that are built in regions: they grow in the memory where they will be read.

use std::time::Duration;

use situ_region::{Ref, Region, RegionMessage};

use crate::api::region_memory::{LoanMemory, RegionMemory, begin, build_region};
use crate::api::service::{Client, PendingCall, Request, Server};
use crate::api::service_form::{Regions, ServiceMessage};
use crate::port::loan::LoanError;
use crate::service::answer::{RawReplyLoan, ReplyTarget};
use crate::service::client::RawRequestLoan;
use crate::service::errors::{AnswerError, CallError};

impl<Q: RegionMessage, P: ServiceMessage> Client<Regions<Q>, P> {
    /// Lends a request that holds a new value, in shared memory. It grows in place: see
    /// [`RegionPublisher::loan`](crate::RegionPublisher::loan).
    pub fn loan(&self) -> Result<RegionRequestLoan<'_, Q, P>, LoanError> {
        self.loan_up_to(0)
    }

    /// As [`loan`](Self::loan), with room for an image of at least this many bytes.
    pub fn loan_up_to(&self, bytes: u32) -> Result<RegionRequestLoan<'_, Q, P>, LoanError> {
        let (size, room) = self.memory().sizes(bytes);
        let loan = self.raw().loan_growing(size, room)?.detach();
        // SAFETY: the client's publisher lent it. The client is borrowed by the loan that gets the memory,
        // which therefore ends before it and stays with its thread.
        let memory = unsafe { self.memory().of(self.raw().requests(), loan) };
        Ok(RegionRequestLoan { client: self, region: Some(begin(memory)?) })
    }
}

/// A request under construction in a region, in the memory where servers will read it. Dropping it sends
/// nothing.
pub struct RegionRequestLoan<'c, Q: RegionMessage, P: ServiceMessage> {
    client: &'c Client<Regions<Q>, P>,
    /// `None` once it is sent or dropped.
    region: Option<Region<Q, LoanMemory>>,
}

build_region!([Q: RegionMessage, P: ServiceMessage] RegionRequestLoan<'_, Q, P>, Q, "RegionRequestLoan");

impl<'c, Q: RegionMessage, P: ServiceMessage> RegionRequestLoan<'c, Q, P> {
    /// Sends the request.
    pub fn send(self) -> Result<PendingCall<'c, Regions<Q>, P>, CallError> {
        let client = self.client;
        Ok(client.pending(self.into_raw().send(None)?))
    }

    /// Sends the request of a call that is over after `limit`.
    pub fn send_within(self, limit: Duration) -> Result<PendingCall<'c, Regions<Q>, P>, CallError> {
        let client = self.client;
        Ok(client.pending(self.into_raw().send(Some(limit))?))
    }

    /// The untyped loan, which holds the live image.
    pub fn into_raw(mut self) -> RawRequestLoan<'c> {
        let Some(region) = self.region.take() else { unreachable!("a loan is there until it ends") };
        let (loan, size) = self.client.memory().finish(region);
        // SAFETY: the client lent it.
        let mut loan = unsafe { self.client.raw().attach(loan) };
        loan.shrink_body(size);
        loan
    }
}

impl<Q: ServiceMessage, P: RegionMessage> Server<Q, Regions<P>> {
    /// Lends a reply that holds a new value, in shared memory. It grows in place: see
    /// [`RegionPublisher::loan`](crate::RegionPublisher::loan).
    pub fn loan(&self, request: &Request<Q>) -> Result<RegionReplyLoan<'_, P>, AnswerError> {
        self.loan_up_to(request, 0)
    }

    /// As [`loan`](Self::loan), with room for an image of at least this many bytes.
    pub fn loan_up_to(
        &self,
        request: &Request<Q>,
        bytes: u32,
    ) -> Result<RegionReplyLoan<'_, P>, AnswerError> {
        let (size, room) = self.memory().sizes(bytes);
        let (loan, to) = self.raw().loan_growing(&request.id(), size, room)?.detach().split();
        // SAFETY: `to` keeps the publisher that lent it, ends after the region, and stays with its thread.
        let memory = unsafe { self.memory().of(to.publisher(), loan) };
        Ok(RegionReplyLoan { region: Some(begin(memory)?), to, memory: self.memory() })
    }
}

/// A reply under construction in a region, in the memory where its client will read it. Dropping it sends
/// nothing.
pub struct RegionReplyLoan<'s, P: RegionMessage> {
    /// `None` once it is sent or dropped. Declared before its publisher, so that it is dropped first.
    region: Option<Region<P, LoanMemory>>,
    to: ReplyTarget,
    memory: &'s RegionMemory,
}

build_region!([P: RegionMessage] RegionReplyLoan<'_, P>, P, "RegionReplyLoan");

impl<'s, P: RegionMessage> RegionReplyLoan<'s, P> {
    /// Sends it as the reply, or as the last part of one: see [`RawReplyLoan::send`].
    pub fn send(self) -> Result<(), AnswerError> {
        self.into_raw().send()
    }

    /// As [`send`](Self::send), but waits for room, at most for `limit`.
    pub fn send_within(self, limit: Duration) -> Result<(), AnswerError> {
        self.into_raw().send_within(limit)
    }

    /// Sends it as a part of a reply: see [`RawReplyLoan::send_part`].
    pub fn send_part(self) -> Result<(), AnswerError> {
        self.into_raw().send_part()
    }

    /// As [`send_part`](Self::send_part), but waits for room, at most for `limit`.
    pub fn send_part_within(self, limit: Duration) -> Result<(), AnswerError> {
        self.into_raw().send_part_within(limit)
    }

    /// The untyped loan, which holds the live image.
    pub fn into_raw(self) -> RawReplyLoan<'s> {
        let Self { region: Some(region), to, memory } = self else {
            unreachable!("a loan is there until it ends")
        };
        let (loan, size) = memory.finish(region);
        // SAFETY: the loan was split from this target. The server is borrowed for as long as the result.
        let mut loan = unsafe { to.join(loan) };
        loan.shrink_body(size);
        loan
    }
}

impl<Q: RegionMessage> Request<Regions<Q>> {
    /// The value.
    pub fn root(&self) -> Ref<'_, Q> {
        self.sample().root()
    }
}
