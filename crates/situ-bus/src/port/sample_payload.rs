//! Where a sample's payload lies, and when it is complete.

use std::time::Duration;

use situ_memory::{DomainError, DomainId, Fence, FenceState, HOST, StreamOrder};

use crate::copy::await_fence::await_fence;
use crate::copy::copy_error::CopyError;
use crate::port::device_span::DeviceSpan;
use crate::port::sample::RawSample;

/// Why a message's bytes are not complete.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum IncompleteError {
    /// The publisher died or failed before the message was complete.
    #[error(
        "message {sequence} of topic {topic:?} never becomes complete: the device or the process that should have \
         written it failed"
    )]
    Poisoned {
        /// The topic.
        topic: String,
        /// The message's number.
        sequence: u64,
    },
    /// The message is not complete yet.
    #[error("message {sequence} of topic {topic:?} was still not complete after {waited:?}")]
    Pending {
        /// The topic.
        topic: String,
        /// The message's number.
        sequence: u64,
        /// How long the call waited.
        waited: Duration,
    },
    /// The message was taken by the process that this one was forked from.
    #[error("message {sequence} of topic {topic:?} was taken by the process that this one was forked from")]
    Forked {
        /// The topic.
        topic: String,
        /// The message's number.
        sequence: u64,
    },
    /// The stream cannot wait for the message.
    #[error(transparent)]
    Domain(#[from] DomainError),
}

situ_layout::debug_as_text!(IncompleteError);

impl RawSample {
    /// The message's payload in its domain: its body if it has one, otherwise its head.
    pub fn span(&self) -> DeviceSpan<'_, u8> {
        if let Some(payload) = self.payload() {
            return DeviceSpan::new(payload.mapped.view.bytes(), payload.offset, payload.len as usize);
        }
        let (begin, len) = self.host_payload();
        let cells = self.mapped().core.cells.as_ref().filter(|_| self.is_in_cell());
        let in_cell = cells.and_then(|cells| cells.memory_at(begin as u64));
        let memory = in_cell.unwrap_or_else(|| self.mapped().view.bytes());
        // The payload was found there when the message was taken.
        let offset = memory.offset_of(begin as u64).unwrap_or_default();
        DeviceSpan::new(memory, offset, len)
    }

    /// The memory domain of the payload.
    pub fn domain(&self) -> DomainId {
        self.payload().map_or(HOST, |payload| payload.mapped.view.bytes().domain())
    }

    /// The size of its body in bytes, in any domain.
    #[inline]
    pub fn body_size(&self) -> usize {
        self.payload().map_or(self.body().len(), |payload| payload.body_size)
    }

    /// Whether its payload is a copy in the subscriber's domain, made by any participant.
    pub fn was_brought(&self) -> bool {
        self.payload().is_some_and(|payload| payload._copy.is_some())
    }

    /// The fence that completes the payload, if a device may still be filling it. `None` if the message was
    /// complete when it was published.
    pub fn fence(&self) -> Option<&Fence> {
        self.payload().and_then(|payload| payload.fence.as_ref())
    }

    /// Whether and how work on the subscriber's streams waits for the payload: by a word that the device
    /// itself waits for, if it can. Also [`StreamOrder::Host`] if the payload is already complete.
    pub fn order(&self) -> StreamOrder {
        let core = &self.mapped().core;
        let order = |domain| {
            let domains = core.node.domains_with(domain).ok()?;
            Some(domains.get(domain).ok()?.capabilities().order)
        };
        self.fence().and_then(|_| order(self.domain())).unwrap_or(StreamOrder::Host)
    }

    /// Waits until its payload is complete, at most for `timeout`.
    pub fn synchronize(&self, timeout: Duration) -> Result<(), IncompleteError> {
        let Some((payload, fence)) = self.payload().and_then(|it| Some((it, it.fence.as_ref()?))) else {
            return Ok(());
        };
        self.check_process()?;
        let topic = &self.mapped().core.topic;
        match await_fence(topic, payload.owner, fence, timeout) {
            Ok(()) => Ok(()),
            Err(CopyError::Incomplete { waited }) => {
                Err(IncompleteError::Pending { topic: topic.name.clone(), sequence: self.sequence(), waited })
            }
            Err(_) => Err(self.poisoned()),
        }
    }

    /// Makes work that is enqueued on `stream` from now on wait until the payload is complete. The call
    /// itself waits only if the device cannot (see [`order`](Self::order)), at most for `timeout`.
    ///
    /// The wait also ends if the publisher or the copier dies or fails before: check the
    /// [`fence`](Self::fence) when the work is done.
    pub fn wait_on(
        &self,
        stream: &dyn situ_memory::Stream,
        timeout: Duration,
    ) -> Result<(), IncompleteError> {
        let Some((payload, fence)) = self.payload().and_then(|it| Some((it, it.fence.as_ref()?))) else {
            return Ok(());
        };
        self.check_process()?;
        match fence.state() {
            FenceState::Complete => Ok(()),
            FenceState::Poisoned => Err(self.poisoned()),
            FenceState::Pending => {
                let core = &self.mapped().core;
                // The watch must come first: the owner must be watched while the call waits.
                if core.node.fences.watch(&core.topic, payload.owner, fence).is_err() {
                    return self.synchronize(timeout);
                }
                Ok(stream.wait(fence, timeout)?)
            }
        }
    }

    /// Releases the message when `stream` has passed all work that is enqueued on it so far, instead of now:
    /// for kernels that still read it. The call waits only if the stream cannot report that it has passed
    /// ([`Stream::complete_copy`](situ_memory::Stream::complete_copy)). On CUDA a driver's callback may not
    /// release it. There the next call that enqueues on the stream, or synchronizes with it, releases the
    /// message.
    ///
    /// After an error the message is never released, because the device may still be reading it: it stays
    /// until this process ends.
    pub fn release_on(self, stream: &dyn situ_memory::Stream) -> Result<(), DomainError> {
        stream.complete_copy(&Fence::of_process(0, 1), None, Box::new(self))
    }

    fn check_process(&self) -> Result<(), IncompleteError> {
        let core = &self.mapped().core;
        if core.process.is_this() {
            return Ok(());
        }
        Err(IncompleteError::Forked { topic: core.topic.name.clone(), sequence: self.sequence() })
    }

    fn poisoned(&self) -> IncompleteError {
        let topic = self.mapped().core.topic.name.clone();
        IncompleteError::Poisoned { topic, sequence: self.sequence() }
    }
}
