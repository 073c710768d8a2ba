//! Loans: slots in which messages are built, until they are published.

use situ_memory::{AllocateError, Fence, SlotId, Stream};

use crate::observe::hook;
use crate::port::device_span::DeviceSpan;
use crate::port::pool_options::BODY_ALIGN;
use crate::port::publish_error::PublishError;
use crate::port::publisher::RawPublisher;
use crate::port::publisher_state::{Inner, free, is_idle, retire};
use crate::timeouts::STREAM_TIMEOUT;
use crate::topic::Encoding;
use crate::topic::format::{BODY_IN_SLOT, BODY_IS_MESSAGE, Descriptor};

/// Why a slot could not be lent.
#[derive(thiserror::Error)]
pub enum LoanError {
    /// The memory of the publisher's pool is in use, or the system has none left.
    #[error(transparent)]
    Memory(#[from] AllocateError),
    /// The publisher belongs to the process that this one was forked from.
    #[error(
        "topic {topic:?} was joined by the process that this one was forked from: create a node in this process and join with it"
    )]
    Forked {
        /// The topic.
        topic: String,
    },
    /// The requested sizes are invalid.
    #[error(
        "a head of {head_size} bytes aligned to {head_align} with a body of {body_size} bytes cannot be lent: {reason}"
    )]
    Size {
        /// The head's size in bytes.
        head_size: usize,
        /// Its alignment in bytes.
        head_align: usize,
        /// The body's size in bytes.
        body_size: usize,
        /// Why they are invalid.
        reason: &'static str,
    },
}

situ_layout::debug_as_text!(LoanError);

/// A lent slot: a head and a body in shared memory that no other participant can see yet. Dropping it returns
/// the slot. In a forked child it is private memory, which cannot be published, and dropping it returns
/// nothing.
#[derive(Debug)]
pub struct RawLoan<'p> {
    pub(crate) publisher: &'p RawPublisher,
    pub(crate) slot: SlotId,
    pub(crate) memory: *mut u8,
    pub(crate) head_size: usize,
    pub(crate) body_offset: usize,
    pub(crate) body_size: usize,
    pub(crate) encoding: Encoding,
    /// As in the descriptor.
    pub(crate) body_pool: u32,
    /// Whether a stream will complete the body's fence.
    pub(crate) signalled: bool,
    /// Whether its slot grows in place.
    pub(crate) grows: bool,
}

impl RawLoan<'_> {
    /// The beginning of the head: aligned to 64 bytes, `head_size` bytes long, not initialized.
    #[inline]
    pub fn head(&self) -> *mut u8 {
        self.memory.wrapping_add(self.publisher.head_offset)
    }

    /// The message's user header, for writing: zeroes at first. Empty if the topic's messages have none.
    #[inline]
    pub fn user_header_mut(&mut self) -> &mut [u8] {
        let size = self.publisher.user_header_size();
        // SAFETY: it lies directly before the head, behind the descriptor; the slot was allocated with room
        // for it, it was zeroed, and only this loan can reach it.
        unsafe { std::slice::from_raw_parts_mut(self.head().wrapping_sub(size), size) }
    }

    /// The head's size in bytes.
    #[inline]
    pub fn head_size(&self) -> usize {
        self.head_size
    }

    /// The beginning of the body: aligned to 64 bytes, [`body_size`](Self::body_size) bytes long, not
    /// initialized. Null if the CPU cannot access it (see [`span`](Self::span)).
    #[inline]
    pub fn body(&self) -> *mut u8 {
        if self.body_pool == BODY_IN_SLOT {
            self.memory.wrapping_add(self.body_offset)
        } else {
            self.body_elsewhere()
        }
    }

    /// The body in another domain than the host's, if the CPU can access it there.
    #[cold]
    fn body_elsewhere(&self) -> *mut u8 {
        let inner = self.publisher.inner.borrow();
        let memory = inner.bodies.as_ref().and_then(|bodies| {
            let (offset, len) = bodies.pool.place(bodies.of(self.slot)?);
            bodies.pool.bytes().host(offset, len).ok()?
        });
        memory.unwrap_or(std::ptr::null_mut())
    }

    /// The body's size in bytes, in any domain.
    #[inline]
    pub fn body_size(&self) -> usize {
        self.body_size
    }

    /// The head's bytes, for writing. They still hold the slot's last content: see
    /// [`body_bytes`](Self::body_bytes).
    #[inline]
    pub fn head_bytes(&mut self) -> &mut [u8] {
        // SAFETY: the slot was allocated with room for the head, and only this loan can reach it; pages of a
        // memory file are always initialized.
        unsafe { std::slice::from_raw_parts_mut(self.head(), self.head_size) }
    }

    /// The body's bytes, for writing. They still hold the slot's last content, so every byte is initialized
    /// (shared memory begins as zeroes) but has any value. Empty if the body lies on a device.
    #[inline]
    pub fn body_bytes(&mut self) -> &mut [u8] {
        if self.body_pool != BODY_IN_SLOT && self.body().is_null() {
            return &mut [];
        }
        // SAFETY: the slot was allocated with room for the body, and only this loan can reach it; pages of a
        // memory file are always initialized.
        unsafe { std::slice::from_raw_parts_mut(self.body(), self.body_size) }
    }

    /// The encoding of the message's bytes.
    #[inline]
    pub fn encoding(&self) -> Encoding {
        self.encoding
    }

    /// Sets the encoding of the message's bytes, if it differs from the publisher's type description. A body
    /// that may not begin where one of CDR does moves, with what was written.
    pub fn set_encoding(&mut self, encoding: Encoding) {
        self.encoding = encoding;
        if self.body_pool == BODY_IN_SLOT && !encoding.allows_body_at(self.body_offset) {
            let from = self.body();
            self.body_offset -= self.body_offset % BODY_ALIGN as usize;
            // SAFETY: the slot was allocated with room up to the end of the body, which is now nearer, and
            // only this loan can reach it. The new place begins at or behind the head: a body of CDR that is
            // lent is 4 bytes behind such a place.
            unsafe { std::ptr::copy(from, self.body(), self.body_size) };
        }
    }

    /// Makes the body smaller than requested.
    pub fn shrink_body(&mut self, size: usize) {
        self.body_size = self.body_size.min(size);
    }

    /// Publishes the message and returns its number in the topic's order. On failure the slot is returned to
    /// the publisher.
    #[inline]
    pub fn publish(self) -> Result<u64, PublishError> {
        // By reference, so that the loan is not moved on its way.
        let number = self.publisher.publish(&self, None)?;
        std::mem::forget(self);
        Ok(number)
    }

    /// Publishes the message. On failure, returns it along with the reason.
    pub fn publish_or_return(self) -> Result<u64, (PublishError, Self)> {
        self.publish_with(None)
    }

    #[inline]
    fn publish_with(self, on: Option<&dyn Stream>) -> Result<u64, (PublishError, Self)> {
        match self.publisher.publish(&self, on) {
            Ok(number) => {
                std::mem::forget(self);
                Ok(number)
            }
            Err(error) => Err((error, self)),
        }
    }

    /// Publishes the message now, before its body is complete. The body completes when `stream` has passed
    /// all work that is enqueued on it so far. Subscribers wait for that, on the host or on a stream of their
    /// own. If the body lies in host memory, which has no streams, this call waits for the stream.
    ///
    /// On failure the slot is returned to the publisher as soon as the stream has passed.
    pub fn publish_on(self, stream: &dyn Stream) -> Result<u64, PublishError> {
        self.publish_on_or_return(stream).map_err(|(error, _)| error)
    }

    /// As [`publish_on`](Self::publish_on). On failure, returns the loan along with the reason.
    pub fn publish_on_or_return(mut self, stream: &dyn Stream) -> Result<u64, (PublishError, Self)> {
        if self.publisher.is_inherited() {
            return Err((self.publisher.publish_forked(), self));
        }
        let fence = self.fence();
        // The signal is enqueued before the row is written: otherwise subscribers could wait for a signal
        // that was never enqueued.
        let enqueued = match &fence {
            Some(fence) => stream.signal(fence),
            None => stream.synchronize(STREAM_TIMEOUT),
        };
        match enqueued {
            Ok(()) => {
                self.signalled = fence.is_some();
                let on = self.signalled.then_some(stream);
                self.publish_with(on)
            }
            Err(source) => {
                let topic = self.publisher.topic().to_owned();
                Err((PublishError::Stream { topic, source: Box::new(source) }, self))
            }
        }
    }

    /// The fence that completes the body, for callers that complete it themselves (see
    /// [`publish_signalled`](Self::publish_signalled)). `None` if the body lies in host memory.
    pub fn fence(&self) -> Option<Fence> {
        let inner = self.publisher.inner.borrow();
        inner.bodies.as_ref().and_then(|bodies| bodies.fence(self.slot))
    }

    /// Publishes the message now, before its body is complete. The caller has enqueued the completion of its
    /// [`fence`](Self::fence) on a stream that Situ does not manage. If the fence is never completed, the
    /// memory is lost to this publisher, and subscribers wait until their time limit.
    pub fn publish_signalled(mut self) -> Result<u64, (PublishError, Self)> {
        self.signalled = self.body_pool != BODY_IN_SLOT;
        self.publish_or_return()
    }

    /// The message's payload for a device: its body if it has one, otherwise its head in host memory (see
    /// [`span_of_message`](Self::span_of_message)).
    pub fn span(&self) -> DeviceSpan<'_, u8> {
        let inner = self.publisher.inner.borrow();
        if let (Some(memory), Some(bodies)) = (&self.publisher.device, &inner.bodies)
            && let Some(slot) = bodies.of(self.slot)
        {
            return DeviceSpan::new(memory, bodies.pool.place(slot).0, self.body_size);
        }
        let (at, len) = match self.body_size {
            0 => (self.publisher.head_offset, self.head_size),
            size => (self.body_offset, size),
        };
        DeviceSpan::new(&self.publisher.memory, inner.pool.place(self.slot).0 + at as u64, len)
    }

    /// Moves a message without a body as a whole into the domain of its publisher's bodies, and returns its
    /// span there. The span is as large as the head, and its content is undefined until it is written.
    /// Subscribers receive the content of the span. The head stays in host memory, and only subscribers on a
    /// device see it.
    pub fn span_of_message(&mut self) -> Result<DeviceSpan<'_, u8>, LoanError> {
        if self.publisher.is_inherited() {
            return Err(self.publisher.loan_forked());
        }
        if self.body_size == 0 {
            let inner = &mut *self.publisher.inner.borrow_mut();
            if inner.bodies.is_some() {
                self.add_body(inner, self.head_size)?;
                self.body_pool |= BODY_IS_MESSAGE;
            }
        }
        Ok(self.span())
    }

    /// Allocates a body in the publisher's pool of bodies, if the publisher has one and the message needs a
    /// body.
    pub(crate) fn add_body(&mut self, inner: &mut Inner, size: usize) -> Result<(), AllocateError> {
        if let Some(bodies) = &mut inner.bodies
            && size > 0
        {
            bodies.allocate(self.slot, size)?;
            self.body_size = size;
            self.body_pool = bodies.entry as u32;
        }
        Ok(())
    }

    /// Detaches the loan from the publisher's lifetime, for languages without lifetimes. The slot stays lent
    /// until [`RawPublisher::attach`] takes the loan back, or the publisher is gone.
    #[inline]
    pub fn detach(self) -> DetachedLoan {
        let loan = std::mem::ManuallyDrop::new(self);
        DetachedLoan {
            slot: loan.slot,
            memory: loan.memory,
            head_size: loan.head_size,
            body_offset: loan.body_offset,
            body_size: loan.body_size,
            encoding: loan.encoding,
            body_pool: loan.body_pool,
            signalled: loan.signalled,
            grows: loan.grows,
        }
    }

    #[inline]
    pub(crate) fn descriptor(&self) -> &Descriptor {
        // SAFETY: every slot begins with room for a descriptor, aligned to 64; a descriptor consists of
        // atomics.
        unsafe { &*self.memory.cast::<Descriptor>() }
    }
}

impl Drop for RawLoan<'_> {
    fn drop(&mut self) {
        if self.publisher.is_inherited() {
            return;
        }
        if let Some(watcher) = hook::watcher() {
            self.publisher.tell_unpublished(watcher);
        }
        let inner = &mut *self.publisher.inner.borrow_mut();
        // The slot was never published in this generation, so it cannot be held. But a stream may be about to
        // fill it.
        if self.signalled && !is_idle(inner, self.slot) {
            retire(inner, self.slot);
            inner.held += 1;
        } else {
            free(inner, self.slot);
        }
    }
}

/// A loan without a reference to its publisher: see [`RawLoan::detach`].
#[derive(Debug)]
#[must_use = "its slot stays lent until it is attached again"]
pub struct DetachedLoan {
    slot: SlotId,
    memory: *mut u8,
    head_size: usize,
    body_offset: usize,
    body_size: usize,
    encoding: Encoding,
    body_pool: u32,
    signalled: bool,
    grows: bool,
}

impl DetachedLoan {
    /// The body and its size if it lies in the slot, otherwise null and 0.
    #[inline]
    pub fn body_in_slot(&self) -> (*mut u8, usize) {
        if self.body_pool == BODY_IN_SLOT {
            (self.memory.wrapping_add(self.body_offset), self.body_size)
        } else {
            (std::ptr::null_mut(), 0)
        }
    }
}

impl RawPublisher {
    /// Whether it belongs to the process that this one was forked from. Then nothing can be lent or published
    /// here, and dropping it here changes nothing there.
    #[inline]
    pub fn is_inherited(&self) -> bool {
        !self.process.is_this()
    }

    #[cold]
    pub(crate) fn loan_forked(&self) -> LoanError {
        LoanError::Forked { topic: self.topic.name.clone() }
    }

    #[cold]
    pub(crate) fn publish_removed(&self) -> PublishError {
        PublishError::Removed { topic: self.topic.name.clone(), removed: self.topic.removed() }
    }

    #[cold]
    pub(crate) fn publish_forked(&self) -> PublishError {
        PublishError::Forked { topic: self.topic.name.clone() }
    }

    /// Takes back a detached loan.
    ///
    /// # Safety
    /// The loan was detached from a loan of this very publisher.
    #[inline]
    pub unsafe fn attach(&self, loan: DetachedLoan) -> RawLoan<'_> {
        let DetachedLoan { slot, memory, head_size, body_offset, body_size, .. } = loan;
        let DetachedLoan { encoding, body_pool, signalled, grows, .. } = loan;
        RawLoan {
            publisher: self,
            slot,
            memory,
            head_size,
            body_offset,
            body_size,
            encoding,
            body_pool,
            signalled,
            grows,
        }
    }
}
