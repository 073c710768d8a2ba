//! Taken messages without their type, and the counter of copies.

use std::fmt;
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use situ_layout::{NoMemory, SharedBytes};
use situ_memory::sync::atomic::Ordering;

use crate::clock::now_ns;
use crate::node::endpoint::EndpointId;
use crate::node::liveness::NodeId;
use crate::port::cells::CopyCell;
use crate::port::payload::Payload;
use crate::port::pool_cache::{Mapped, Pin};
use crate::port::sample_records::{NO_WORD, Own, SampleFields, SampleRecord};
use crate::topic::Encoding;
use crate::topic::format::{Descriptor, head_offset};
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
pub struct RawSample {
    /// Its record, which nothing else uses while the sample exists.
    record: NonNull<SampleRecord>,
}

// SAFETY: A sample is a read-only view of memory that is not written while it exists. It is given back by
// atomic operations that any thread may do.
unsafe impl Send for RawSample {}
// SAFETY: as above; there is no interior state.
unsafe impl Sync for RawSample {}

impl Drop for RawSample {
    #[inline]
    fn drop(&mut self) {
        let fields = self.fields_mut();
        if fields.payload.is_some() || fields.own.is_some() {
            self.drop_boxes();
        }
        let word = self.fields().word;
        if word != NO_WORD {
            // In a forked child the ledger is private zeroes: the parent's name stays.
            self.mapped().core.own.ledger.release(usize::from(word));
        }
        // SAFETY: the sample had the record until now.
        unsafe { SampleRecord::give_back(self.record) };
    }
}

impl RawSample {
    /// An empty sample of a record that was just taken for it.
    #[inline(always)]
    pub(super) fn of(record: NonNull<SampleRecord>) -> Self {
        Self { record }
    }

    #[inline(always)]
    fn record(&self) -> &SampleRecord {
        // SAFETY: a record that a sample has is kept.
        unsafe { self.record.as_ref() }
    }

    #[inline(always)]
    pub(crate) fn fields(&self) -> &SampleFields {
        // SAFETY: the fields of the record belong to this sample.
        unsafe { &*self.record().fields() }
    }

    #[inline(always)]
    pub(crate) fn fields_mut(&mut self) -> &mut SampleFields {
        // SAFETY: as in `fields`.
        unsafe { &mut *self.record().fields() }
    }

    /// The pool of the message's head.
    #[inline(always)]
    pub(crate) fn mapped(&self) -> &Arc<Mapped> {
        // SAFETY: this sample has the record.
        unsafe { self.record().mapped() }
    }

    /// Whether the message was copied out of its row.
    pub(crate) fn is_in_cell(&self) -> bool {
        self.record().is_in_cell()
    }

    /// The record's cell, for a message that is copied into it. `None` if it has none.
    #[inline(always)]
    pub(super) fn cell(&self) -> Option<&CopyCell> {
        self.record().use_cell()
    }

    #[cold]
    #[inline(never)]
    fn drop_boxes(&mut self) {
        let fields = self.fields_mut();
        drop(fields.payload.take());
        drop(fields.own.take());
    }

    /// Returns the hold of the slot, to be shared with a stream. The sample then holds nothing.
    pub(crate) fn share_pin(&mut self) -> Arc<Pin> {
        let mapped = self.mapped().clone();
        let fields = self.fields_mut();
        Arc::new(Pin { mapped, slot: fields.slot, word: std::mem::replace(&mut fields.word, NO_WORD) })
    }

    fn descriptor(&self) -> &Descriptor {
        // SAFETY: checked by `RawSubscriber::pin`; the mapping lives as long as the sample. Or the descriptor
        // lies in the cell, which the sample keeps.
        unsafe { &*self.fields().descriptor }
    }

    /// The head's bytes, which a hostile publisher may still change. Copy them before decoding or checking.
    #[inline]
    pub fn head(&self) -> SharedBytes<'_> {
        // SAFETY: checked to lie in the pool by `RawSubscriber::pin`, or in the private copy; mapped while
        // the pin exists.
        unsafe { SharedBytes::new(self.fields().head, self.fields().head_size as usize) }
    }

    /// The head's bytes in place.
    ///
    /// They do not change while the sample exists, unless a process that the subscriber trusts
    /// ([`Trust`](crate::Trust)) misbehaves. Messages that other users may write are private copies.
    #[inline]
    pub fn head_in_place(&self) -> &[u8] {
        // SAFETY: as for `head`; trusted processes do not write it while the pin exists.
        unsafe { std::slice::from_raw_parts(self.fields().head, self.fields().head_size as usize) }
    }

    /// Whether the sample is a copy in this process' own memory, because its publisher is not
    /// [trusted](crate::Trust).
    #[inline]
    pub fn is_copy(&self) -> bool {
        self.fields().own.is_some()
    }

    /// The beginning and size of the payload in shared host memory, if it lies there.
    pub(crate) fn host_payload(&self) -> (*const u8, usize) {
        let fields = self.fields();
        let (begin, len) = if fields.body_size == 0 {
            (fields.head, fields.head_size as usize)
        } else {
            (fields.body, fields.body_size)
        };
        (fields.own.as_ref().map_or(begin, |own| own.there), len)
    }

    /// Whether it lies in memory that only trusted users may write.
    #[inline]
    pub(crate) fn is_in_place(&self) -> bool {
        self.mapped().in_place && self.fields().payload.as_ref().is_none_or(|payload| payload.is_in_place())
    }

    /// Copies the bytes that the CPU reads to private memory, so that no other process can change them while
    /// they are used. The sizes were read once and checked before. All later checks read the copy.
    #[cold]
    pub(crate) fn into_private(mut self) -> Result<Self, NoMemory> {
        let (head, body, user_header) = (self.head(), self.body(), self.shared_user_header());
        // As in a slot without a descriptor.
        let head_at = user_header.len().next_multiple_of(64);
        let too_large = NoMemory { bytes: usize::MAX };
        let lead = if head.is_empty() { self.encoding().body_lead() } else { 0 };
        let body_at = (head_at + head.len()).next_multiple_of(64) + lead;
        let len = body_at.checked_add(body.len()).ok_or(too_large)?;
        let mut copy = Private::new(len)?;
        user_header.copy_to(&mut copy.bytes_mut()[head_at - user_header.len()..]);
        head.copy_to(&mut copy.bytes_mut()[head_at..]);
        body.copy_to(&mut copy.bytes_mut()[body_at..]);
        CopyCounter::of_process().count(head.len() + body.len());
        let there = self.host_payload().0;
        let (begin, user_header) = (copy.bytes().as_ptr(), head_at - user_header.len());
        let user_header = begin.wrapping_add(user_header);
        let fields = self.fields_mut();
        fields.head = begin.wrapping_add(head_at);
        fields.body = begin.wrapping_add(body_at);
        fields.own = Some(Box::new(Own { _copy: copy, there, user_header }));
        Ok(self)
    }

    pub(crate) fn payload(&self) -> Option<&Payload> {
        self.fields().payload.as_deref()
    }

    /// The body's bytes, which a hostile publisher may still change. Empty if they lie on a device (see
    /// [`span`](Self::span)).
    #[inline]
    pub fn body(&self) -> SharedBytes<'_> {
        // SAFETY: as for the head.
        unsafe { SharedBytes::new(self.fields().body, self.fields().body_size) }
    }

    /// The body's bytes in place, as [`head_in_place`](Self::head_in_place). Empty if they lie on a device.
    #[inline]
    pub fn body_in_place(&self) -> &[u8] {
        // SAFETY: as for the head.
        unsafe { std::slice::from_raw_parts(self.fields().body, self.fields().body_size) }
    }

    /// Its user header in shared memory, or in the cell.
    fn shared_user_header(&self) -> SharedBytes<'_> {
        let size = self.mapped().core.topic.user_header_size();
        let end = self.fields().descriptor.cast::<u8>().wrapping_add(head_offset(size as u32));
        // SAFETY: `RawSubscriber::pin` checked that the slot has room for a descriptor and a user header,
        // which ends where the head begins; a cell has that room, too. Both live as long as the sample.
        unsafe { SharedBytes::new(end.wrapping_sub(size), size) }
    }

    /// Its user header, as [`head_in_place`](Self::head_in_place). Empty if the topic's messages have none.
    #[inline]
    pub fn user_header(&self) -> &[u8] {
        let shared = self.shared_user_header();
        let begin = self.fields().own.as_ref().map_or(shared.as_ptr(), |own| own.user_header);
        // SAFETY: as for `shared_user_header`, or in the private copy. Trusted processes do not write it
        // while the pin exists.
        unsafe { std::slice::from_raw_parts(begin, shared.len()) }
    }

    /// The encoding of the bytes.
    #[inline]
    pub fn encoding(&self) -> Encoding {
        self.fields().encoding
    }

    /// The message's number in the topic's order, from 0.
    #[inline]
    pub fn sequence(&self) -> u64 {
        self.fields().sequence
    }

    /// When it was published, by [`now_ns`](crate::now_ns); 0 if its publisher leaves out time stamps.
    pub fn published_at_ns(&self) -> u64 {
        self.descriptor().published_at_ns.load(Ordering::Relaxed)
    }

    /// When it was taken, by [`now_ns`](crate::now_ns); 0 unless the subscriber asked for it
    /// ([`SubscriberQos::reception_times`](crate::SubscriberQos::reception_times)).
    pub fn received_at_ns(&self) -> u64 {
        self.fields().received_at_ns
    }

    /// The node that published it.
    pub fn publisher(&self) -> NodeId {
        self.mapped().owner()
    }

    /// The id of the publisher that published it.
    pub fn publisher_id(&self) -> EndpointId {
        EndpointId { node: self.publisher(), number: self.mapped().number }
    }

    /// The number of messages that its publisher had published before. A subscriber that takes every message
    /// of a publisher therefore sees 0, 1, 2, … for each [`publisher_id`](Self::publisher_id).
    pub fn publisher_sequence(&self) -> u64 {
        self.descriptor().publisher_sequence.load(Ordering::Relaxed)
    }

    #[inline]
    pub(crate) fn is_expired(&self) -> bool {
        is_expired(self.descriptor())
    }
}

impl fmt::Debug for RawSample {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RawSample")
            .field("sequence", &self.sequence())
            .field("encoding", &self.encoding())
            .field("head_size", &self.fields().head_size)
            .field("body_size", &self.fields().body_size)
            .finish()
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
