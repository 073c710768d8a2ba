//! Writing packets: what a thread does, without a lock, an allocation or a system call.

use std::fmt;
use std::marker::PhantomData;
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use situ_wire::protobuf;

use crate::shm::format::Lost;

use super::chunk_writer::{ChunkDelegate, ChunkWriter};
use super::session_state::SessionState;

/// Writes packets into its process' ring. One for each thread; what it writes is one sequence of the trace.
///
/// Dropping it (a thread's end) hands in what is finished; nothing is lost without, because the collector takes it anyway.
pub struct Writer {
    inner: NonNull<Inner>,
    owned: PhantomData<Inner>,
}

/// All that must not move: the encoder points to the feed, and the feed to the state.
struct Inner {
    encoder: protobuf::Writer<'static>,
    /// Where the encoder gets its memory; only the encoder touches it.
    delegate: NonNull<ChunkDelegate>,
    chunks: NonNull<ChunkWriter>,
    shared: Arc<SessionState>,
}

// SAFETY: nothing in it belongs to a thread; the pointers are its own.
unsafe impl Send for Writer {}

impl Writer {
    pub(crate) fn new(shared: Arc<SessionState>) -> Self {
        let chunks = NonNull::from(Box::leak(Box::new(ChunkWriter::new())));
        let delegate = NonNull::from(Box::leak(Box::new(ChunkDelegate::new(chunks))));
        // SAFETY: the feed lives until `drop`, which ends the encoder first; nobody else makes a reference to it.
        let encoder = protobuf::Writer::new(unsafe { &mut *delegate.as_ptr() });
        let inner = Inner { encoder, delegate, chunks, shared };
        Self { inner: NonNull::from(Box::leak(Box::new(inner))), owned: PhantomData }
    }

    /// Begins a packet; it ends when it is dropped. Nothing if there is no session, which costs one relaxed load.
    ///
    /// If no chunk is free and the policy says so, the packet goes nowhere: it is counted, and when it has ended
    /// [`state_epoch`](Self::state_epoch) is another.
    #[inline]
    pub fn packet(&mut self) -> Option<Packet<'_>> {
        let inner = self.inner.as_ptr();
        // SAFETY: the writer owns the inner part and is borrowed exclusively. While the encoder works (`restart`), it reaches
        // the state through the feed's pointer; so no reference to the state is held across that.
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

    /// Changes whenever the reader of the trace knows nothing any more of what earlier packets of this writer said (interned
    /// names, defaults): with each session, and after each loss. 0 means that there is no session.
    ///
    /// To be looked at before each packet. When it is not what it was, that packet has to say everything again, with
    /// `sequence_flags` (field 13) containing 1: incremental state cleared.
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

    /// Which of the process' sessions it writes for; 0 means that there is none.
    pub(crate) fn session(&self) -> u32 {
        // SAFETY: no packet is open, because it would borrow the writer.
        unsafe { (*self.inner.as_ref().chunks.as_ptr()).session() }
    }

    /// How much was lost in this session.
    pub fn lost(&self) -> Lost {
        // SAFETY: no packet is open, because it would borrow the writer.
        unsafe { (*self.inner.as_ref().chunks.as_ptr()).lost() }
    }

    /// How many packets were finished in this session.
    pub fn finished(&self) -> u64 {
        // SAFETY: as above.
        unsafe { (*self.inner.as_ref().chunks.as_ptr()).finished() }
    }

    /// The writer is this thread's from now on.
    pub(crate) fn adopt(&mut self) {
        // SAFETY: no packet is open, and nobody else has a reference.
        unsafe { (*self.inner.as_ref().chunks.as_ptr()).adopt() }
    }

    /// Hands in what is finished, so that the chunk can serve another writer. The collector does so by itself before long.
    pub fn flush(&mut self) {
        // SAFETY: no packet is open, and nobody else has a reference.
        unsafe { (*self.inner.as_ref().chunks.as_ptr()).hand_in() }
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        // SAFETY: all of it was leaked by `new`, and no packet is open. The encoder, which has no destructor, is not used any
        // more when the feed goes.
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

/// A packet that is being written. It is finished when it is dropped; one that is leaked counts as lost.
pub struct Packet<'w> {
    message: protobuf::Message<'w>,
    inner: NonNull<Inner>,
}

impl Packet<'_> {
    /// The packet's fields: those of Perfetto's `TracePacket`, but for the ones that are the collector's (10, 42, 87).
    #[inline]
    pub fn message(&mut self) -> protobuf::Message<'_> {
        self.message.reborrow()
    }
}

impl Drop for Packet<'_> {
    #[inline]
    fn drop(&mut self) {
        let inner = self.inner.as_ptr();
        // SAFETY: the packet borrows the writer, so nobody else uses it; the message is not used any more, and has no
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
