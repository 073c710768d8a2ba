//! The forms in which requests and replies travel: messages of generated types, and regions.

use std::fmt;
use std::marker::PhantomData;

use situ_layout::Message;
use situ_region::RegionMessage;

use crate::api::region::{RegionSample, describe_region};
use crate::api::region_memory::{RegionMemory, begin};
use crate::api::service_errors::{AnswerValueError, CallValueError};
use crate::api::typed::{ReceiveError, Sample, describe, has_region_form};
use crate::api::write::write_value;
use crate::port::loan::LoanError;
use crate::port::sample::{CopyCounter, RawSample};
use crate::port::subscriber::RawSubscriber;
use crate::service::answer::RawReplyLoan;
use crate::service::client::{RawClient, RawRequestLoan};
use crate::service::errors::{AnswerError, CallError};
use crate::service::request::RequestId;
use crate::service::server::RawServer;
use crate::topic::TypeDescription;

/// Requests or replies in regions of `T`: `node.client::<Pose, Regions<CharacterRegion>>("name")`. They grow
/// while they are built, in the memory where they will be read.
pub struct Regions<T>(PhantomData<fn() -> T>);

impl<T> fmt::Debug for Regions<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Regions")
    }
}

mod sealed {
    use situ_layout::Message;

    pub trait Sealed {}
    impl<T: Message> Sealed for T {}
    impl<T> Sealed for super::Regions<T> {}
}

/// What the requests or the replies of a service are: messages of a generated type, or [`Regions`] of one.
pub trait ServiceMessage: sealed::Sealed + fmt::Debug {
    /// A message that was taken.
    type Sample: fmt::Debug;
    /// A value from private memory that can be sent.
    type Value;
    /// What a sender keeps from one message to the next.
    #[doc(hidden)]
    type Memory: Default + fmt::Debug + Send + Unpin;

    /// The type, as topics carry it.
    #[doc(hidden)]
    fn describe() -> TypeDescription;
    /// Whether those that take it cannot read flat messages, and whether they cannot read regions.
    #[doc(hidden)]
    fn lacks() -> (bool, bool);
    /// Makes a typed sample from an untyped one, which `subscriber` took.
    #[doc(hidden)]
    fn open(subscriber: &RawSubscriber, raw: RawSample) -> Result<Self::Sample, ReceiveError>;
    /// Lends a request and writes a value into it.
    #[doc(hidden)]
    fn write_request<'c>(
        client: &'c RawClient,
        memory: &Self::Memory,
        value: &Self::Value,
    ) -> Result<RawRequestLoan<'c>, CallValueError>;
    /// Lends a reply and writes a value into it.
    #[doc(hidden)]
    fn write_reply<'s>(
        server: &'s RawServer,
        memory: &Self::Memory,
        request: &RequestId,
        value: &Self::Value,
    ) -> Result<RawReplyLoan<'s>, AnswerValueError>;
}

impl<T: Message> ServiceMessage for T {
    type Sample = Sample<T>;
    type Value = T;
    type Memory = ();

    fn describe() -> TypeDescription {
        describe::<T>()
    }

    fn lacks() -> (bool, bool) {
        // The description says whether it has a flat form.
        (false, !has_region_form::<T>())
    }

    #[inline]
    fn open(subscriber: &RawSubscriber, raw: RawSample) -> Result<Sample<T>, ReceiveError> {
        Sample::open(subscriber, raw)
    }

    fn write_request<'c>(
        client: &'c RawClient,
        (): &(),
        value: &T,
    ) -> Result<RawRequestLoan<'c>, CallValueError> {
        let lend = |head, align, body| client.loan(head, align, body).map_err(CallError::from);
        write_value(value, lend).map_err(CallValueError::of::<T, _>)
    }

    fn write_reply<'s>(
        server: &'s RawServer,
        (): &(),
        request: &RequestId,
        value: &T,
    ) -> Result<RawReplyLoan<'s>, AnswerValueError> {
        let lend = |head, align, body| server.loan(request, head, align, body);
        write_value(value, lend).map_err(AnswerValueError::of::<T, _>)
    }
}

impl<T: RegionMessage> ServiceMessage for Regions<T> {
    type Sample = RegionSample<T>;
    type Value = T::Message;
    type Memory = RegionMemory;

    fn describe() -> TypeDescription {
        describe_region::<T>()
    }

    fn lacks() -> (bool, bool) {
        // Every message type can be serialized.
        (T::Message::FLAT_FORM.is_none(), false)
    }

    #[inline]
    fn open(subscriber: &RawSubscriber, raw: RawSample) -> Result<RegionSample<T>, ReceiveError> {
        RegionSample::open(subscriber, raw)
    }

    fn write_request<'c>(
        client: &'c RawClient,
        memory: &RegionMemory,
        value: &T::Message,
    ) -> Result<RawRequestLoan<'c>, CallValueError> {
        let lent = |error: LoanError| CallValueError::Call(error.into());
        let (bytes, room) = memory.sizes(0);
        let loan = client.loan_growing(bytes, room).map_err(lent)?.detach();
        // SAFETY: the client's publisher lent it, and the client is borrowed for longer than the region.
        let begun = unsafe { memory.of(client.requests(), loan) };
        let mut region = begin::<T>(begun).map_err(lent)?;
        let stored = region.root_mut().store(value, &[]);
        stored.map_err(|source| CallValueError::Store { type_name: T::NAME, source })?;
        let (loan, size) = memory.finish(region);
        CopyCounter::of_process().count(size);
        // SAFETY: the client lent it.
        let mut loan = unsafe { client.attach(loan) };
        loan.shrink_body(size);
        Ok(loan)
    }

    fn write_reply<'s>(
        server: &'s RawServer,
        memory: &RegionMemory,
        request: &RequestId,
        value: &T::Message,
    ) -> Result<RawReplyLoan<'s>, AnswerValueError> {
        let (bytes, room) = memory.sizes(0);
        let (loan, to) = server.loan_growing(request, bytes, room)?.detach().split();
        // SAFETY: `to` keeps the publisher that lent it, and ends after the region.
        let begun = unsafe { memory.of(to.publisher(), loan) };
        let mut region = begin::<T>(begun).map_err(AnswerError::from)?;
        let stored = region.root_mut().store(value, &[]);
        stored.map_err(|source| AnswerValueError::Store { type_name: T::NAME, source })?;
        let (loan, size) = memory.finish(region);
        CopyCounter::of_process().count(size);
        // SAFETY: the loan was split from this target.
        let mut loan = unsafe { to.join(loan) };
        loan.shrink_body(size);
        Ok(loan)
    }
}
