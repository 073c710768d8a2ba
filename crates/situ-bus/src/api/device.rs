//! Typed messages on devices: spans of bulk members and of whole messages, and publishing and taking in
//! stream order.

use std::time::Duration;

use situ_layout::{BulkElement, BulkRef, FlatMessage, Message};
use situ_memory::{DomainError, DomainId, Fence, Stream, StreamOrder};

use crate::api::typed::{Loan, ReceiveError, Sample, Subscriber};
use crate::port::device_span::DeviceSpan;
use crate::port::loan::LoanError;
use crate::port::publish_error::PublishError;
use crate::port::sample_payload::IncompleteError;

impl<T: FlatMessage> Loan<'_, T> {
    /// Returns a bulk member's elements as memory that a device can write: `loan.span(|cloud| &cloud.data)`.
    /// Empty if the descriptor belongs to another message.
    pub fn span<U: BulkElement, const N: usize>(
        &self,
        member: impl FnOnce(&T) -> &BulkRef<U, N>,
    ) -> DeviceSpan<'_, U> {
        let descriptor = *member(self);
        self.raw.span().part(descriptor.offset(), descriptor.len())
    }

    /// Moves a message without bulk members as a whole into its publisher's domain, and returns its span
    /// there: one element, with undefined content until it is written. Values that are written to the loan
    /// itself then stay in host memory. Subscribers on a device receive them; subscribers on the host do not.
    ///
    /// A message with bulk members is not moved: use its [`span`](Self::span)s.
    pub fn span_of_message(&mut self) -> Result<DeviceSpan<'_, T>, LoanError> {
        if size_of::<T::BulkLengths>() != 0 {
            return Err(LoanError::Size {
                head_size: size_of::<T>(),
                head_align: align_of::<T>(),
                body_size: self.raw.body_size(),
                reason: "a message with bulk members has a span for each of them, not one as a whole",
            });
        }
        Ok(self.raw.span_of_message()?.part(0, 1))
    }

    /// Publishes the message now, before it is complete. It completes when `stream` has passed all work that
    /// is enqueued on it so far: see [`RawLoan::publish_on`](crate::RawLoan::publish_on).
    pub fn publish_on(self, stream: &dyn Stream) -> Result<u64, PublishError> {
        self.raw.publish_on(stream)
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
