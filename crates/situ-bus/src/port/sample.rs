//! Taken messages without their type, and the counter of copies.

use std::sync::atomic::AtomicU64;

use situ_layout::{NoMemory, SharedBytes};
use situ_memory::sync::atomic::Ordering;

use crate::clock::now_ns;
use crate::node::liveness::NodeId;
use crate::port::cells::TakenCell;
use crate::port::payload::Payload;
use crate::port::pool_cache::Pin;
use crate::topic::Encoding;
use crate::topic::format::Descriptor;
use crate::trust::Private;

#[inline]
pub(crate) fn is_expired(descriptor: &Descriptor) -> bool {
    let lifespan = descriptor.lifespan_ns.load(Ordering::Relaxed);
    let published = descriptor.published_at_ns.load(Ordering::Relaxed);
    lifespan != 0 && now_ns().saturating_sub(published) > lifespan
}

/// A message that was taken. Its bytes do not change until it is dropped, whatever its publisher does. It may
/// be sent to other threads and outlive its subscriber. In a forked child its bytes are zeroes, except those
/// of a small message, which are a private copy. Dropping it there releases nothing.
#[derive(Debug)]
pub struct RawSample {
    pub(crate) head: *const u8,
    pub(crate) head_size: usize,
    pub(crate) body: *const u8,
    pub(crate) body_size: usize,
    pub(crate) encoding: Encoding,
    pub(crate) sequence: u64,
    pub(crate) descriptor: *const Descriptor,
    /// The payload, if it is not behind the head. Declared before the pin, so that it is released first.
    pub(crate) payload: Option<Box<Payload>>,
    /// The private copy that the CPU reads instead, if the publisher is not trusted.
    pub(crate) own: Option<Box<Own>>,
    /// The memory of head and descriptor, if they were copied out of a row. Then the pin holds no slot.
    /// Declared before the pin, which keeps that memory.
    pub(crate) cell: Option<TakenCell>,
    pub(crate) pin: Pin,
}

/// A private copy of a message.
#[derive(Debug)]
pub(crate) struct Own {
    _copy: Private,
    /// The payload in shared memory.
    there: *const u8,
}

// SAFETY: A sample is a read-only view of memory that is not written while its pin exists. The pin is
// released by an atomic operation that any thread may do.
unsafe impl Send for RawSample {}
// SAFETY: as above; there is no interior state.
unsafe impl Sync for RawSample {}

impl RawSample {
    fn descriptor(&self) -> &Descriptor {
        // SAFETY: checked by `RawSubscriber::pin`; the mapping lives as long as the pin. Or the descriptor lies
        // in the cell, which the sample keeps.
        unsafe { &*self.descriptor }
    }

    /// The head's bytes, which a hostile publisher may still change. Copy them before decoding or checking.
    #[inline]
    pub fn head(&self) -> SharedBytes<'_> {
        // SAFETY: checked to lie in the pool by `RawSubscriber::pin`, or in the private copy; mapped while
        // the pin exists.
        unsafe { SharedBytes::new(self.head, self.head_size) }
    }

    /// The head's bytes in place.
    ///
    /// They do not change while the sample exists, unless a process that the subscriber trusts
    /// ([`Trust`](crate::Trust)) misbehaves. Messages that other users may write are private copies.
    #[inline]
    pub fn head_in_place(&self) -> &[u8] {
        // SAFETY: as for `head`; trusted processes do not write it while the pin exists.
        unsafe { std::slice::from_raw_parts(self.head, self.head_size) }
    }

    /// Whether the sample is a copy in this process' own memory, because its publisher is not
    /// [trusted](crate::Trust).
    #[inline]
    pub fn is_copy(&self) -> bool {
        self.own.is_some()
    }

    /// The beginning and size of the payload in shared host memory, if it lies there.
    pub(crate) fn host_payload(&self) -> (*const u8, usize) {
        let (begin, len) =
            if self.body_size == 0 { (self.head, self.head_size) } else { (self.body, self.body_size) };
        (self.own.as_ref().map_or(begin, |own| own.there), len)
    }

    /// Whether it lies in memory that only trusted users may write.
    #[inline]
    pub(crate) fn is_in_place(&self) -> bool {
        self.pin.mapped.in_place && self.payload.as_ref().is_none_or(|payload| payload.is_in_place())
    }

    /// Copies the bytes that the CPU reads to private memory, so that no other process can change them while
    /// they are used. The sizes were read once and checked before. All later checks read the copy.
    #[cold]
    pub(crate) fn into_private(mut self) -> Result<Self, NoMemory> {
        let (head, body) = (self.head(), self.body());
        let body_at = head.len().next_multiple_of(64);
        let len = body_at.checked_add(body.len()).ok_or(NoMemory { bytes: usize::MAX })?;
        let mut copy = Private::new(len)?;
        head.copy_to(copy.bytes_mut());
        body.copy_to(&mut copy.bytes_mut()[body_at..]);
        CopyCounter::of_process().count(head.len() + body.len());
        let there = self.host_payload().0;
        self.head = copy.bytes().as_ptr();
        self.body = self.head.wrapping_add(body_at);
        self.own = Some(Box::new(Own { _copy: copy, there }));
        Ok(self)
    }

    pub(crate) fn payload(&self) -> Option<&Payload> {
        self.payload.as_deref()
    }

    pub(crate) fn pin(&self) -> &Pin {
        &self.pin
    }

    /// The body's bytes, which a hostile publisher may still change. Empty if they lie on a device (see
    /// [`span`](Self::span)).
    #[inline]
    pub fn body(&self) -> SharedBytes<'_> {
        // SAFETY: as for the head.
        unsafe { SharedBytes::new(self.body, self.body_size) }
    }

    /// The body's bytes in place, as [`head_in_place`](Self::head_in_place). Empty if they lie on a device.
    #[inline]
    pub fn body_in_place(&self) -> &[u8] {
        // SAFETY: as for the head.
        unsafe { std::slice::from_raw_parts(self.body, self.body_size) }
    }

    /// The encoding of the bytes.
    #[inline]
    pub fn encoding(&self) -> Encoding {
        self.encoding
    }

    /// The message's number in the topic's order, from 0.
    #[inline]
    pub fn sequence(&self) -> u64 {
        self.sequence
    }

    /// When it was published, by [`now_ns`](crate::now_ns); 0 if its publisher leaves out time stamps.
    pub fn published_at_ns(&self) -> u64 {
        self.descriptor().published_at_ns.load(Ordering::Relaxed)
    }

    /// The node that published it.
    pub fn publisher(&self) -> NodeId {
        NodeId(self.descriptor().publisher.load(Ordering::Relaxed))
    }

    #[inline]
    pub(crate) fn is_expired(&self) -> bool {
        is_expired(self.descriptor())
    }
}

/// Counts the copies that Situ makes in this process, so that programs can show that there are none. Small
/// messages that travel in the row ([`protocol::row`](crate::protocol::row)) do not count: the copy takes the
/// place of handing over a reference.
#[derive(Debug, Default)]
pub struct CopyCounter {
    copies: AtomicU64,
    bytes: AtomicU64,
}

impl CopyCounter {
    /// The counter of this process.
    pub fn of_process() -> &'static Self {
        static COUNTER: CopyCounter = CopyCounter { copies: AtomicU64::new(0), bytes: AtomicU64::new(0) };
        &COUNTER
    }

    /// Counts a copy or a serialization of this many bytes.
    pub fn count(&self, bytes: usize) {
        self.copies.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        self.bytes.fetch_add(bytes as u64, std::sync::atomic::Ordering::Relaxed);
    }

    /// Returns the number of copies, and the sum of their bytes.
    pub fn get(&self) -> (u64, u64) {
        (
            self.copies.load(std::sync::atomic::Ordering::Relaxed),
            self.bytes.load(std::sync::atomic::Ordering::Relaxed),
        )
    }
}
