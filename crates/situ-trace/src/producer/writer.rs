//! Writes packets on a thread, without a lock, an allocation or a system call.

use std::fmt;
use std::marker::PhantomData;
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use situ_wire::protobuf;

use crate::shm::format::Lost;

use super::chunk_writer::{ChunkDelegate, ChunkWriter};
use super::session_state::SessionState;

/// Writes packets into its process's ring. Each thread has its own; its packets are one sequence of the
/// trace.
///
/// Dropping it (at a thread's end) hands in the chunk. Without a drop no packet is lost either, because the
/// collector reads the chunk nevertheless.
pub struct Writer {
    inner: NonNull<Inner>,
    owned: PhantomData<Inner>,
}

/// Memory that must not move: the encoder points to the delegate, and the delegate to the chunk writer.
struct Inner {
    encoder: protobuf::Writer<'static>,
    /// Provides the encoder with memory. Only the encoder uses it.
    delegate: NonNull<ChunkDelegate>,
    chunks: NonNull<ChunkWriter>,
    shared: Arc<SessionState>,
}

// SAFETY: no part of it belongs to a thread, and it owns the memory that its pointers lead to.
unsafe impl Send for Writer {}

impl Writer {
    pub(crate) fn new(shared: Arc<SessionState>) -> Self {
        let chunks = NonNull::from(Box::leak(Box::new(ChunkWriter::new())));
        let delegate = NonNull::from(Box::leak(Box::new(ChunkDelegate::new(chunks))));
        // SAFETY: the delegate lives until `drop`, after the encoder's last use; there is no other reference
        // to it.
        let encoder = protobuf::Writer::new(unsafe { &mut *delegate.as_ptr() });
        let inner = Inner { encoder, delegate, chunks, shared };
        Self { inner: NonNull::from(Box::leak(Box::new(inner))), owned: PhantomData }
    }

    /// Begins a packet, which ends when it is dropped. Returns `None` without a session; this costs one
    /// relaxed load.
    ///
    /// If the writer gets no chunk, the packet is lost and counted. [`state_epoch`](Self::state_epoch) has
    /// changed when the packet has ended.
    #[inline]
    pub fn packet(&mut self) -> Option<Packet<'_>> {
        let inner = self.inner.as_ptr();
        // SAFETY: the writer owns the inner part and is borrowed exclusively. While the encoder works
        // (`restart`), it reaches the chunk writer through the delegate's pointer; so no reference to it is
        // held across that.
        unsafe {
            let session = (*inner).shared.session().load(Ordering::Relaxed);
            let chunks = (*inner).chunks.as_ptr();
            if session != (*chunks).session() {
                (*chunks).attach(session, &(*inner).shared);
            }
            if (*chunks).session() == 0 {
                return None;
            }
            (*chunks).begin();
            (*inner).encoder.restart();
            let message = (*inner).encoder.message();
            Some(Packet { message, inner: self.inner })
        }
    }

    /// Returns a number that changes with each session and after each loss; 0: there is no session. Readers of
    /// the trace then discard the state from earlier packets of this writer (interned names, defaults).
    ///
    /// Compare it before each packet. If it has changed, the packet must contain the whole state again, with
    /// bit 1 of `sequence_flags` (field 13) set: incremental state cleared.
    #[inline]
    pub fn state_epoch(&mut self) -> u64 {
        let inner = self.inner.as_ptr();
        // SAFETY: as in `packet`; no packet is open.
        unsafe {
            let session = (*inner).shared.session().load(Ordering::Relaxed);
            let chunks = (*inner).chunks.as_ptr();
            if session != (*chunks).session() {
                (*chunks).attach(session, &(*inner).shared);
            }
            (*chunks).epoch()
        }
    }

    /// Returns the generation of its session; 0: none.
    pub(crate) fn session(&self) -> u32 {
        // SAFETY: no packet is open, because it would borrow the writer.
        unsafe { (*self.inner.as_ref().chunks.as_ptr()).session() }
    }

    /// Returns the losses in this session.
    pub fn lost(&self) -> Lost {
        // SAFETY: no packet is open, because it would borrow the writer.
        unsafe { (*self.inner.as_ref().chunks.as_ptr()).lost() }
    }

    /// Returns the number of packets that it finished in this session.
    pub fn finished(&self) -> u64 {
        // SAFETY: as above.
        unsafe { (*self.inner.as_ref().chunks.as_ptr()).finished() }
    }

    /// Assigns the writer to the calling thread.
    pub(crate) fn adopt(&mut self) {
        // SAFETY: no packet is open, and there is no other reference.
        unsafe { (*self.inner.as_ref().chunks.as_ptr()).adopt() }
    }

    /// Hands in the chunk, so that another writer can use it. Otherwise the collector soon reclaims it.
    pub fn flush(&mut self) {
        // SAFETY: no packet is open, and there is no other reference.
        unsafe { (*self.inner.as_ref().chunks.as_ptr()).hand_in() }
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        // SAFETY: `new` leaked all of it, and no packet is open. The encoder has no destructor, and is not
        // used after the delegate is dropped.
        unsafe {
            let inner = Box::from_raw(self.inner.as_ptr());
            drop(Box::from_raw(inner.delegate.as_ptr()));
            let mut chunks = Box::from_raw(inner.chunks.as_ptr());
            chunks.leave();
        }
    }
}

impl fmt::Debug for Writer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Writer").field("finished", &self.finished()).field("lost", &self.lost()).finish()
    }
}

/// A packet that is being written. Dropping it finishes it. A leaked packet counts as lost.
pub struct Packet<'w> {
    message: protobuf::Message<'w>,
    inner: NonNull<Inner>,
}

impl Packet<'_> {
    /// Returns the packet's fields: those of Perfetto's `TracePacket`, except the fields that only the
    /// collector sets (10, 42, 87).
    #[inline]
    pub fn message(&mut self) -> protobuf::Message<'_> {
        self.message.reborrow()
    }
}

impl Drop for Packet<'_> {
    #[inline]
    fn drop(&mut self) {
        let inner = self.inner.as_ptr();
        // SAFETY: the packet borrows the writer exclusively. The message is not used any more, and has no
        // level of its own to end.
        unsafe {
            let result = (*inner).encoder.finish();
            (*(*inner).chunks.as_ptr()).end(result.is_ok());
        }
    }
}

impl fmt::Debug for Packet<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Packet").field("message", &self.message).finish()
    }
}
