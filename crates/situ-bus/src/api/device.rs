//! Typed messages on devices: spans of bulk members and of whole messages, and publishing and taking in
//! stream order.

use std::time::Duration;

use situ_layout::{BulkRef, FlatMessage, Message, Plain};
use situ_memory::{DomainError, DomainId, Fence, Stream, StreamOrder};

use crate::api::typed::{Loan, ReceiveError, Sample, Subscriber};
use crate::port::device_span::DeviceSpan;
use crate::port::loan::LoanError;
use crate::port::publish_error::PublishError;
use crate::port::sample_payload::IncompleteError;

impl<T: FlatMessage> Loan<'_, T> {
    /// A bulk member's elements where a device can write them: `loan.span(|cloud| &cloud.data)`. Empty if the
    /// descriptor is not this message's own.
    pub fn span<U: Plain, const N: usize>(
        &self,
        member: impl FnOnce(&T) -> &BulkRef<U, N>,
    ) -> DeviceSpan<'_, U> {
        let descriptor = *member(self);
        self.raw.span().part(descriptor.offset(), descriptor.len())
    }

    /// Puts a message without bulk members into its publisher's domain as a whole, and gives where it lies:
    /// one element, which holds anything until it is written. What is written to the loan itself then stays
    /// in host memory, and is shown only to those who take on a device. In the host's domain this is the loan
    /// itself.
    ///
    /// A message with bulk members stays where it is: it has [`span`](Self::span)s.
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

    /// Publishes the message now, although it is complete only when `stream` has passed everything that is
    /// enqueued on it so far: see [`RawLoan::publish_on`](crate::RawLoan::publish_on).
    pub fn publish_on(self, stream: &dyn Stream) -> Result<u64, PublishError> {
        self.raw.publish_on(stream)
    }
}

impl<T: Message> Subscriber<T> {
    /// Takes the next message, if there is one, in stream order: work that is enqueued on `stream` from now
    /// on comes after what completes it, or copies it: see
    /// [`RawSubscriber::take_on`](crate::RawSubscriber::take_on).
    pub fn take_on(&self, stream: &dyn Stream) -> Result<Option<Sample<T>>, ReceiveError> {
        self.raw().take_on(stream)?.map(|raw| self.open(raw)).transpose()
    }
}

impl<T: Message> Sample<T> {
    /// A bulk member's elements where the subscriber takes them: `sample.span(|cloud| &cloud.data)`. Empty if
    /// the descriptor is not this message's own.
    pub fn span<U: Plain, const N: usize>(
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

    /// A message without bulk members, as a whole, where the subscriber takes it. Empty if it has bulk
    /// members or was decoded.
    pub fn span_of_message(&self) -> DeviceSpan<'_, T> {
        let whole = size_of::<T::BulkLengths>() == 0 && !self.is_copy();
        self.raw().span().part(0, usize::from(whole))
    }

    /// The memory domain that it lies in.
    pub fn domain(&self) -> DomainId {
        self.raw().domain()
    }

    /// When it is complete, if a device may still be writing it: see
    /// [`RawSample::fence`](crate::RawSample::fence).
    pub fn fence(&self) -> Option<&Fence> {
        self.raw().fence()
    }

    /// How work on the subscriber's streams waits for it: see [`RawSample::order`](crate::RawSample::order).
    pub fn order(&self) -> StreamOrder {
        self.raw().order()
    }

    /// Waits until it is complete, at most for `patience`.
    pub fn synchronize(&self, patience: Duration) -> Result<(), IncompleteError> {
        self.raw().synchronize(patience)
    }

    /// Has work that is enqueued on `stream` from now on wait until it is complete: see
    /// [`RawSample::wait_on`](crate::RawSample::wait_on).
    pub fn wait_on(&self, stream: &dyn Stream, patience: Duration) -> Result<(), IncompleteError> {
        self.raw().wait_on(stream, patience)
    }

    /// Gives it back when `stream` has passed everything that is enqueued on it so far: see
    /// [`RawSample::release_on`](crate::RawSample::release_on).
    pub fn release_on(self, stream: &dyn Stream) -> Result<(), DomainError> {
        self.into_raw().release_on(stream)
    }
}
