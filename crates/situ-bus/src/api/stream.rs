//! Receiving in async code: a future for each message, or a stream of messages. Works with any executor.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use situ_layout::Message;

use crate::api::typed::{ReceiveError, Sample, Subscriber};
use crate::wait::reactor::Watch;

/// The messages of a subscriber as an endless stream.
///
/// ```no_run
/// # async fn demo<T: situ_layout::Message>(
/// #     subscriber: situ_bus::Subscriber<T>,
/// # ) -> Result<(), Box<dyn std::error::Error>> {
/// let mut messages = subscriber.into_stream()?;
/// loop {
///     let sample = messages.receive().await?;
///     println!("message {}", sample.sequence());
/// }
/// # }
/// ```
#[derive(Debug)]
pub struct Messages<T: Message> {
    subscriber: Subscriber<T>,
    watch: Arc<Watch>,
}

impl<T: Message> Messages<T> {
    pub(crate) fn new(subscriber: Subscriber<T>) -> std::io::Result<Self> {
        let raw = subscriber.raw();
        let watch = raw.core().node.reactor()?.watch(raw.watched())?;
        Ok(Self { subscriber, watch })
    }

    /// Returns the next message. Dropping the future loses nothing.
    pub fn receive(&mut self) -> impl Future<Output = Result<Sample<T>, ReceiveError>> + '_ {
        std::future::poll_fn(|context| self.poll(context))
    }

    /// The subscriber, for its statistics.
    pub fn subscriber(&self) -> &Subscriber<T> {
        &self.subscriber
    }

    fn poll(&mut self, context: &mut Context<'_>) -> Poll<Result<Sample<T>, ReceiveError>> {
        if let Some(result) = self.subscriber.take().transpose() {
            return Poll::Ready(result);
        }
        // Messages from here on wake the task; the second take finds those that came before.
        self.watch.wake_at(self.subscriber.raw().cursor(), context.waker());
        match self.subscriber.take().transpose() {
            Some(result) => Poll::Ready(result),
            None => Poll::Pending,
        }
    }
}

impl<T: Message + Unpin> futures_core::Stream for Messages<T> {
    type Item = Result<Sample<T>, ReceiveError>;

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.get_mut().poll(context).map(Some)
    }
}

impl<T: Message> Subscriber<T> {
    /// Returns the messages as a stream, for async code. An error if the thread that watches for them cannot
    /// be started.
    pub fn into_stream(self) -> std::io::Result<Messages<T>> {
        Messages::new(self)
    }
}
