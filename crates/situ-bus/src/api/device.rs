//! Typed messages on devices: spans of bulk members and of whole messages, and publishing and taking in
//! stream order.

use std::time::Duration;

use situ_layout::{BulkElement, BulkRef, FlatMessage, Message};
use situ_memory::{DomainError, DomainId, Fence, Stream, StreamOrder};

use crate::api::service::{PendingCall, ReplyLoan, RequestLoan};
use crate::api::service_form::ServiceMessage;
use crate::api::typed::{Loan, ReceiveError, Sample, Subscriber};
use crate::port::device_span::DeviceSpan;
use crate::port::loan::LoanError;
use crate::port::publish_error::PublishError;
use crate::port::sample_payload::IncompleteError;
use crate::service::errors::{AnswerError, CallError};

/// The spans of a flat message under construction.
macro_rules! spans_of_loan {
    ([$($parameters:tt)*] $loan:ty, $of:ident) => {
        impl<$($parameters)*> $loan {
            /// Returns a bulk member's elements as memory that a device can write:
            /// `loan.span(|cloud| &cloud.data)`. Empty if the descriptor belongs to another message.
            pub fn span<U: BulkElement, const N: usize>(
                &self,
                member: impl FnOnce(&$of) -> &BulkRef<U, N>,
            ) -> DeviceSpan<'_, U> {
                let descriptor = *member(self);
                self.raw.span().part(descriptor.offset(), descriptor.len())
            }

            /// Moves a message without bulk members as a whole into its sender's domain, and returns its span
            /// there: one element, with undefined content until it is written. Values that are written to the
            /// loan itself then stay in host memory. Those that take it on a device receive them; those that
            /// take it on the host do not.
            ///
            /// A message with bulk members is not moved: use its [`span`](Self::span)s.
            pub fn span_of_message(&mut self) -> Result<DeviceSpan<'_, $of>, LoanError> {
                if size_of::<$of::BulkLengths>() != 0 {
                    return Err(LoanError::Size {
                        head_size: size_of::<$of>(),
                        head_align: align_of::<$of>(),
                        body_size: self.raw.body_size(),
                        reason: "a message with bulk members has a span for each of them, not one as a whole",
                    });
                }
                Ok(self.raw.span_of_message()?.part(0, 1))
            }
        }
    };
}

spans_of_loan!([T: FlatMessage] Loan<'_, T>, T);
spans_of_loan!([Q: FlatMessage, P: ServiceMessage] RequestLoan<'_, Q, P>, Q);
spans_of_loan!([P: FlatMessage] ReplyLoan<'_, P>, P);

impl<T: FlatMessage> Loan<'_, T> {
    /// Publishes the message now, before it is complete. It completes when `stream` has passed all work that
    /// is enqueued on it so far: see [`RawLoan::publish_on`](crate::RawLoan::publish_on).
    pub fn publish_on(self, stream: &dyn Stream) -> Result<u64, PublishError> {
        self.raw.publish_on(stream)
    }
}

impl<'c, Q: FlatMessage, P: ServiceMessage> RequestLoan<'c, Q, P> {
    /// Sends the request before it is complete, for a call that is over after `limit`. It completes when
    /// `stream` has passed all work that is enqueued on it so far: see
    /// [`RawLoan::publish_on`](crate::RawLoan::publish_on).
    pub fn send_on(
        self,
        stream: &dyn Stream,
        limit: Option<Duration>,
    ) -> Result<PendingCall<'c, Q, P>, CallError> {
        Ok(self.client.pending(self.raw.send_on(stream, limit)?))
    }
}

impl<P: FlatMessage> ReplyLoan<'_, P> {
    /// Sends it as the reply, or as its last part, before it is complete: see
    /// [`RawLoan::publish_on`](crate::RawLoan::publish_on).
    pub fn send_on(self, stream: &dyn Stream) -> Result<(), AnswerError> {
        self.raw.send_on(stream)
    }

    /// As [`send_on`](Self::send_on), for a part that others follow.
    pub fn send_part_on(self, stream: &dyn Stream) -> Result<(), AnswerError> {
        self.raw.send_part_on(stream)
    }
}

impl<T: Message> Subscriber<T> {
    /// Takes the next message, if there is one, in stream order: work that is enqueued on `stream` from now
    /// on runs after the work that completes or copies the message. See
    /// [`RawSubscriber::take_on`](crate::RawSubscriber::take_on).
    pub fn take_on(&self, stream: &dyn Stream) -> Result<Option<Sample<T>>, ReceiveError> {
        self.raw().take_on(stream)?.map(|raw| self.open(raw)).transpose()
    }
}

impl<T: Message> Sample<T> {
    /// Returns a bulk member's elements in the subscriber's domain: `sample.span(|cloud| &cloud.data)`. Empty
    /// if the descriptor belongs to another message.
    pub fn span<U: BulkElement, const N: usize>(
        &self,
        member: impl FnOnce(&T) -> &BulkRef<U, N>,
    ) -> DeviceSpan<'_, U> {
        let descriptor = *member(self);
        let span = self.raw().span();
        if self.raw().body_size() == 0 || self.is_copy() {
            return span.part(0, 0);
        }
        span.part(descriptor.offset(), descriptor.len())
    }

    /// Returns a message without bulk members as a whole, in the subscriber's domain. Empty if it has bulk
    /// members or was decoded.
    pub fn span_of_message(&self) -> DeviceSpan<'_, T> {
        let whole = size_of::<T::BulkLengths>() == 0 && !self.is_copy();
        self.raw().span().part(0, usize::from(whole))
    }

    /// The memory domain of the payload.
    pub fn domain(&self) -> DomainId {
        self.raw().domain()
    }

    /// The fence that completes the message, if a device may still be writing it: see
    /// [`RawSample::fence`](crate::RawSample::fence).
    pub fn fence(&self) -> Option<&Fence> {
        self.raw().fence()
    }

    /// How work on the subscriber's streams waits for the message: see
    /// [`RawSample::order`](crate::RawSample::order).
    pub fn order(&self) -> StreamOrder {
        self.raw().order()
    }

    /// Waits until the message is complete, at most for `timeout`.
    pub fn synchronize(&self, timeout: Duration) -> Result<(), IncompleteError> {
        self.raw().synchronize(timeout)
    }

    /// Makes work that is enqueued on `stream` from now on wait until the message is complete: see
    /// [`RawSample::wait_on`](crate::RawSample::wait_on).
    pub fn wait_on(&self, stream: &dyn Stream, timeout: Duration) -> Result<(), IncompleteError> {
        self.raw().wait_on(stream, timeout)
    }

    /// Releases the sample when `stream` has passed all work that is enqueued on it so far: see
    /// [`RawSample::release_on`](crate::RawSample::release_on).
    pub fn release_on(self, stream: &dyn Stream) -> Result<(), DomainError> {
        self.into_raw().release_on(stream)
    }
}
