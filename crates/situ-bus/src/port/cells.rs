//! Private memory for small messages that a subscriber copies out of rows.
//!
//! The cells are allocated with the subscriber, so taking allocates nothing. The subscriber's thread takes a
//! cell. The thread that drops the sample gives it back. If all cells are in use, the subscriber takes the
//! slots instead.

use std::any::Any;
use std::cell::{Cell as StdCell, UnsafeCell};
use std::fmt;
use std::mem::offset_of;
use std::os::fd::OwnedFd;
use std::ptr::NonNull;
use std::sync::Arc;

use situ_memory::sync::atomic::{AtomicBool, Ordering};
use situ_memory::{DomainError, DomainId, HOST, Memory};

use crate::topic::Topic;
use crate::topic::format::{DESCRIPTOR, Descriptor, MAX_COPIED, MAX_USER_HEADER, head_offset};
use crate::trust::Limits;

/// How many samples in cells a subscriber may hold.
const CELLS: usize = 16;

/// The words of a cell behind its descriptor: room for a user header, and a message.
const WORDS: usize = (MAX_USER_HEADER + MAX_COPIED) as usize / 8;

/// A descriptor and a message, as in a slot with a user header: the message begins at 128 bytes, and its user
/// header lies before it.
#[repr(C, align(64))]
struct Cell {
    descriptor: Descriptor,
    words: UnsafeCell<[u64; WORDS]>,
    in_use: AtomicBool,
}

/// The word with which a message begins.
const MESSAGE: usize = MAX_USER_HEADER as usize / 8;

/// The cells of a subscriber.
pub(crate) struct Cells {
    cells: Arc<Slab>,
    /// The same as memory of the host, for spans of samples.
    memory: Arc<dyn Memory>,
}

struct Slab(Box<[Cell]>);

// SAFETY: a cell's words are written only by the thread that took the cell, before the sample goes to other
// threads; they are read until the cell is given back. Everything else is atomic.
unsafe impl Send for Slab {}
// SAFETY: as above.
unsafe impl Sync for Slab {}

/// A cell that is in use. Dropping it gives it back. Does not keep the memory: its sample keeps the
/// subscriber's place, and with it the cells.
pub(crate) struct TakenCell(NonNull<Cell>);

// SAFETY: the cell's words do not change while this exists; giving it back is one atomic store.
unsafe impl Send for TakenCell {}
// SAFETY: as above.
unsafe impl Sync for TakenCell {}

impl Cells {
    /// The cells of a subscriber; `None` if it copies no messages out of rows.
    pub(crate) fn of(topic: &Topic, domain: DomainId, limits: &Limits) -> Option<Self> {
        let size = topic.header.copied_size;
        (size != 0 && domain == HOST && u64::from(size) <= limits.message).then(Self::new)
    }

    fn new() -> Self {
        let cell = || Cell {
            descriptor: Descriptor::default(),
            words: UnsafeCell::new([0; WORDS]),
            in_use: AtomicBool::new(false),
        };
        let cells = Arc::new(Slab((0..CELLS).map(|_| cell()).collect()));
        Self { memory: cells.clone(), cells }
    }

    /// Takes a free cell. Only for the subscriber's thread. It tries the cell `last` first, because it took
    /// that one last and its lines are warm.
    #[inline(always)]
    pub(crate) fn take(&self, last: &StdCell<usize>) -> Option<TakenCell> {
        self.cells.take(last.get()).or_else(|| self.take_other(last))
    }

    #[cold]
    fn take_other(&self, last: &StdCell<usize>) -> Option<TakenCell> {
        (1..CELLS).map(|step| (last.get() + step) % CELLS).find_map(|index| {
            let taken = self.cells.take(index)?;
            last.set(index);
            Some(taken)
        })
    }

    /// The number of cells that samples use.
    pub(crate) fn in_use(&self) -> usize {
        self.cells.0.iter().filter(|cell| cell.in_use.load(Ordering::Relaxed)).count()
    }

    /// The cells as memory of the host.
    pub(crate) fn memory(&self) -> &Arc<dyn Memory> {
        &self.memory
    }
}

impl Slab {
    #[inline(always)]
    fn take(&self, index: usize) -> Option<TakenCell> {
        let cell = &self.0[index];
        // Acquire: the reads of the sample that gave the cell back come before the next writes.
        if cell.in_use.load(Ordering::Acquire) {
            return None;
        }
        // Only this thread takes cells, so no other can have taken it since.
        cell.in_use.store(true, Ordering::Relaxed);
        Some(TakenCell(NonNull::from(cell)))
    }
}

impl TakenCell {
    fn cell(&self) -> &Cell {
        // SAFETY: the sample that has this keeps the cells.
        unsafe { self.0.as_ref() }
    }

    /// The words of a user header and a message of these sizes, which fit. For the thread that has just taken
    /// the cell.
    #[inline(always)]
    pub(crate) fn words(&mut self, user_header_size: usize, size: usize) -> &mut [u64] {
        // SAFETY: the cell is in use by this alone, and no sample of it exists yet.
        let words = unsafe { &mut *self.cell().words.get() };
        &mut words[MESSAGE - user_header_size / 8..MESSAGE + size.div_ceil(8)]
    }

    #[inline(always)]
    pub(crate) fn message(&self) -> *const u8 {
        self.cell().words.get().cast::<u64>().wrapping_add(MESSAGE).cast::<u8>().cast_const()
    }

    pub(crate) fn descriptor(&self) -> &Descriptor {
        &self.cell().descriptor
    }
}

impl Drop for TakenCell {
    #[inline]
    fn drop(&mut self) {
        self.cell().in_use.store(false, Ordering::Release);
    }
}

impl fmt::Debug for TakenCell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("TakenCell")
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
const _: () = assert!(offset_of!(Cell, words) == DESCRIPTOR && DESCRIPTOR + MESSAGE * 8 == head_offset(8));

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
