//! Private memory for small messages that a subscriber copies out of rows.
//!
//! Each cell belongs to one of the subscriber's [records](super::sample_records), is allocated with it, and
//! is in use when that is. Only the first records have cells: if all of them are in use, the subscriber takes
//! the slots instead.

use std::any::Any;
use std::cell::UnsafeCell;
use std::fmt;
use std::mem::offset_of;
use std::os::fd::OwnedFd;
use std::sync::{Arc, OnceLock};

use situ_memory::{DomainError, DomainId, HOST, Memory};

use crate::topic::Topic;
use crate::topic::format::{DESCRIPTOR, Descriptor, MAX_COPIED, MAX_USER_HEADER, head_offset};
use crate::trust::Limits;

/// How many of the chunks of records have cells: so many that a batch of 64 messages fits, and one before it.
const CHUNKS: usize = 3;

/// The words of a cell behind its descriptor: room for a user header, and a message.
const WORDS: usize = (MAX_USER_HEADER + MAX_COPIED) as usize / 8;

/// A descriptor and a message, as in a slot with a user header: the message begins at 128 bytes, and its user
/// header lies before it.
#[repr(C, align(64))]
pub(crate) struct CopyCell {
    descriptor: Descriptor,
    words: UnsafeCell<[u64; WORDS]>,
}

/// The word with which a message begins.
const MESSAGE: usize = MAX_USER_HEADER as usize / 8;

/// The cells of a subscriber.
pub(crate) struct Cells {
    chunks: [OnceLock<Chunk>; CHUNKS],
}

struct Chunk {
    cells: Arc<Slab>,
    /// The same as memory of the host, for spans of samples.
    memory: Arc<dyn Memory>,
}

struct Slab(Box<[CopyCell]>);

// SAFETY: a cell's words are written only by the thread that took the cell's record, before the sample goes
// to other threads; they are read until the record is given back. Everything else is atomic.
unsafe impl Send for Slab {}
// SAFETY: as above.
unsafe impl Sync for Slab {}

impl Cells {
    /// The cells of a subscriber; `None` if it copies no messages out of rows.
    pub(crate) fn of(topic: &Topic, domain: DomainId, limits: &Limits) -> Option<Self> {
        let size = topic.header.copied_size;
        let copies = size != 0 && domain == HOST && u64::from(size) <= limits.message;
        copies.then(|| Self { chunks: [const { OnceLock::new() }; CHUNKS] })
    }

    /// The cells of a chunk of so many records, which are made now. None for later chunks.
    pub(crate) fn of_chunk(&self, chunk: usize, records: usize) -> Option<&[CopyCell]> {
        let chunk = self.chunks.get(chunk)?.get_or_init(|| {
            let cell = || CopyCell { descriptor: Descriptor::default(), words: UnsafeCell::new([0; WORDS]) };
            let cells = Arc::new(Slab((0..records).map(|_| cell()).collect()));
            Chunk { memory: cells.clone(), cells }
        });
        Some(&chunk.cells.0)
    }

    /// The cells, as memory of the host, among which is one that has this address.
    pub(crate) fn memory_at(&self, address: u64) -> Option<&Arc<dyn Memory>> {
        let chunks = self.chunks.iter().filter_map(OnceLock::get);
        chunks.map(|chunk| &chunk.memory).find(|memory| memory.offset_of(address).is_some())
    }
}

impl CopyCell {
    /// The words of a user header and a message of these sizes, which fit.
    ///
    /// # Safety
    /// The caller has just taken the cell's record, and has no other reference to the words.
    #[inline(always)]
    #[allow(clippy::mut_from_ref, reason = "the caller's promise")]
    pub(crate) unsafe fn words(&self, user_header_size: usize, size: usize) -> &mut [u64] {
        // SAFETY: the caller's promise.
        let words = unsafe { &mut *self.words.get() };
        &mut words[MESSAGE - user_header_size / 8..MESSAGE + size.div_ceil(8)]
    }

    #[inline(always)]
    pub(crate) fn message(&self) -> *const u8 {
        self.words.get().cast::<u64>().wrapping_add(MESSAGE).cast::<u8>().cast_const()
    }

    pub(crate) fn descriptor(&self) -> &Descriptor {
        &self.descriptor
    }
}

impl fmt::Debug for Cells {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Cells")
    }
}

impl fmt::Debug for Slab {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Slab")
    }
}

// The message is aligned as in a slot.
const _: () =
    assert!(offset_of!(CopyCell, words) == DESCRIPTOR && DESCRIPTOR + MESSAGE * 8 == head_offset(8));

/// A span of a sample in a cell is host memory that no other process sees.
impl Memory for Slab {
    fn domain(&self) -> DomainId {
        HOST
    }

    fn size(&self) -> u64 {
        size_of_val(&*self.0) as u64
    }

    fn address(&self) -> u64 {
        self.0.as_ptr() as u64
    }

    fn host(&self, offset: u64, len: u64) -> Result<Option<*mut u8>, DomainError> {
        self.find(offset, len)?;
        Ok(Some(self.0.as_ptr().cast::<u8>().cast_mut().wrapping_add(offset as usize)))
    }

    fn back(&self, _: u64, _: u64) -> Result<(), DomainError> {
        let reason = "these are private copies of messages, which are only read".to_owned();
        Err(DomainError::Refused { domain: HOST, action: "write".to_owned(), reason })
    }

    fn unback(&self, _: u64, _: u64) {}

    fn export(&self) -> Result<Option<OwnedFd>, DomainError> {
        Ok(None)
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}
