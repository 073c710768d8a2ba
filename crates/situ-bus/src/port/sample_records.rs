//! The private records of a subscriber's samples, so that taking a message moves and allocates nothing.
//!
//! A sample is a pointer to its record. Records are never freed while the subscriber lives, and are used
//! again and again. A record keeps its pool between two samples: the next one is nearly always of the same
//! pool, and then no reference count changes.
//!
//! ```text
//!   subscriber's thread                         any thread that drops the sample
//!   1. state FREE?               (acquire)      1. reads of the message; the ledger's word = 0
//!   2. state = USED; the fields                 2. state: USED -> FREE           (release)
//!      (gives the sample away)                     failed: it is LAST: takes the pool out,
//!   forgetting a pool, or the end:                 state = FREE                  (release),
//!   3. FREE (acquire): takes the pool out          drops the pool
//!      USED: state: USED -> LAST (acquire)
//! ```
//!
//! Only the subscriber's thread makes a record USED, so a record that it finds FREE stays FREE, and the
//! fields are its own. A record that is not FREE belongs to its sample. Both compare-and-swaps of a USED
//! record exclude each other, so exactly one side takes the pool out.
//!
//! **What keeps the records.** The subscriber's [`Core`](super::pool_cache::Core) has them. Each pool
//! keeps the core, so a record that has a pool keeps itself. A subscriber that is dropped takes the pools out
//! of its records, and leaves those of samples to the samples. The last of them ends the core: it has taken
//! the pool out by then, and touches nothing of the record any more.

use std::cell::{Cell, UnsafeCell};
use std::fmt;
use std::ptr::NonNull;
use std::sync::{Arc, OnceLock};

use situ_memory::SlotId;
use situ_memory::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use crate::port::cells::{Cells, CopyCell};
use crate::port::payload::Payload;
use crate::port::pool_cache::{Mapped, Records};
use crate::topic::Encoding;
use crate::topic::format::Descriptor;
use crate::trust::Private;

/// No sample has the record.
const FREE: u32 = 0;
/// A sample has it.
const USED: u32 = 1;
/// A sample has it, and leaves no pool in it.
const LAST: u32 = 2;

/// How many records the first chunk has; each further one has twice as many as the one before.
const FIRST: usize = 16;
/// Enough for as many samples as a ledger has words, and those in cells.
const CHUNKS: usize = 6;

/// The number of the first record of a chunk.
const fn first_of(chunk: usize) -> usize {
    FIRST * ((1 << chunk) - 1)
}

/// No ledger has this word.
pub(crate) const NO_WORD: u16 = u16::MAX;

/// What a sample consists of.
pub(crate) struct SampleFields {
    pub(crate) head: *const u8,
    pub(crate) body: *const u8,
    pub(crate) body_size: usize,
    pub(crate) sequence: u64,
    /// 0 if the subscriber does not ask for it.
    pub(crate) received_at_ns: u64,
    pub(crate) descriptor: *const Descriptor,
    /// The payload, if it is not behind the head.
    pub(crate) payload: Option<Box<Payload>>,
    /// The private copy that the CPU reads instead, if the publisher is not trusted.
    pub(crate) own: Option<Box<Own>>,
    pub(crate) slot: SlotId,
    pub(crate) head_size: u32,
    pub(crate) encoding: Encoding,
    /// The word of the subscriber's ledger that names the slot; [`NO_WORD`]: the sample holds no slot.
    pub(crate) word: u16,
}

/// A private copy of a message.
#[derive(Debug)]
pub(crate) struct Own {
    pub(crate) _copy: Private,
    /// The payload in shared memory.
    pub(crate) there: *const u8,
    /// The user header in the copy.
    pub(crate) user_header: *const u8,
}

/// A record. It has the lines of no other one.
#[repr(align(128))]
pub(crate) struct SampleRecord {
    fields: UnsafeCell<SampleFields>,
    /// The pool of the message. A record without a sample may have none.
    mapped: UnsafeCell<Option<Arc<Mapped>>>,
    state: AtomicU32,
    /// Whether its sample lies in the record's cell.
    in_cell: AtomicBool,
    /// The record's memory for a message that is copied out of its row, if it has some.
    cell: Option<NonNull<CopyCell>>,
}

/// The records of a subscriber. They get memory as more samples are held at a time than ever before.
pub(crate) struct SampleRecords {
    chunks: [OnceLock<Box<[SampleRecord]>>; CHUNKS],
}

// SAFETY: the fields of a record belong to one thread at a time, as the head of this file says: that of the
// subscriber, or the one that drops the sample. What they contain is `Send` and `Sync`, or points to memory
// that does not change while the sample exists.
unsafe impl Send for SampleRecords {}
// SAFETY: as above; in between, threads that share the sample only read the fields.
unsafe impl Sync for SampleRecords {}

/// The record that a subscriber took last.
#[derive(Debug, Default)]
pub(crate) struct LastRecord {
    record: Cell<Option<NonNull<SampleRecord>>>,
    /// Its number.
    index: Cell<usize>,
}

// SAFETY: it points to a record of the subscriber's core, which the subscriber keeps, and goes to other
// threads only with the subscriber.
unsafe impl Send for LastRecord {}

impl SampleRecords {
    pub(crate) fn new() -> Self {
        Self { chunks: [const { OnceLock::new() }; CHUNKS] }
    }

    /// Takes a free record for a message of this pool, whose sample is empty. For the subscriber's thread. It tries
    /// the record `last` first, because it took that one last and its lines are warm. `None` if there are no
    /// more records.
    #[inline(always)]
    pub(crate) fn take(
        &self,
        last: &LastRecord,
        cells: Option<&Cells>,
        mapped: &Arc<Mapped>,
    ) -> Option<NonNull<SampleRecord>> {
        // SAFETY: records live as long as `self`.
        let record = match last.record.get().filter(|record| unsafe { record.as_ref() }.is_free()) {
            Some(record) => record,
            None => self.take_other(last, cells)?,
        };
        // SAFETY: as above.
        let taken = unsafe { record.as_ref() };
        taken.state.store(USED, Ordering::Relaxed);
        taken.in_cell.store(false, Ordering::Relaxed);
        // SAFETY: it was free, so the fields belong to this thread.
        let (fields, kept) = unsafe { (&mut *taken.fields.get(), &mut *taken.mapped.get()) };
        fields.word = NO_WORD;
        if !kept.as_ref().is_some_and(|kept| Arc::ptr_eq(kept, mapped)) {
            Self::change_pool(kept, mapped);
        }
        Some(record)
    }

    #[cold]
    #[inline(never)]
    fn change_pool(kept: &mut Option<Arc<Mapped>>, mapped: &Arc<Mapped>) {
        *kept = Some(mapped.clone());
    }

    /// Searches behind the last record first, so that one is found at once when samples are dropped in the
    /// order in which they were taken.
    #[cold]
    #[inline(never)]
    fn take_other(&self, last: &LastRecord, cells: Option<&Cells>) -> Option<NonNull<SampleRecord>> {
        let is_free = |index: &usize| self.at(*index).is_some_and(SampleRecord::is_free);
        let (chunks, from) = (self.chunks.iter().flat_map(OnceLock::get).count(), last.index.get());
        let known = first_of(chunks);
        let found = (from + 1..known).chain(0..known.min(from + 1)).find(is_free);
        let index = match found {
            Some(index) => index,
            None => {
                self.chunks.get(chunks)?.get_or_init(|| Self::chunk(chunks, cells));
                known
            }
        };
        last.index.set(index);
        last.record.set(self.at(index).map(NonNull::from));
        last.record.get()
    }

    /// The record with this number, if it has memory.
    fn at(&self, index: usize) -> Option<&SampleRecord> {
        let chunk = (index / FIRST + 1).ilog2() as usize;
        self.chunks.get(chunk)?.get()?.get(index - first_of(chunk))
    }

    fn chunk(index: usize, cells: Option<&Cells>) -> Box<[SampleRecord]> {
        let cell = |at: usize| cells.filter(|_| index == 0).and_then(|cells| cells.at(at));
        (0..FIRST << index).map(|at| SampleRecord::new(cell(at))).collect()
    }

    fn all(&self) -> impl Iterator<Item = &SampleRecord> {
        self.chunks.iter().filter_map(OnceLock::get).flat_map(|chunk| chunk.iter())
    }

    /// Lets go of pools: records without samples drop them now, the others with their samples. For the
    /// subscriber's thread.
    #[cold]
    pub(crate) fn forget(&self, is_gone: impl Fn(&Mapped) -> bool) {
        for record in self.all() {
            if record.state.load(Ordering::Acquire) == LAST {
                continue;
            }
            // SAFETY: only this thread puts a pool into a record, and only this thread makes it LAST, before
            // which no other thread takes the pool out.
            if !unsafe { &*record.mapped.get() }.as_ref().is_some_and(|mapped| is_gone(mapped)) {
                continue;
            }
            let marked = record.state.compare_exchange(USED, LAST, Ordering::AcqRel, Ordering::Acquire);
            if marked.is_err() {
                // SAFETY: it is free, and stays so on this thread.
                drop(unsafe { (*record.mapped.get()).take() });
            }
        }
    }
}

impl Records for SampleRecords {
    fn in_cells(&self) -> usize {
        let is_in_cell = |record: &&SampleRecord| {
            record.state.load(Ordering::Relaxed) != FREE && record.in_cell.load(Ordering::Relaxed)
        };
        self.all().filter(is_in_cell).count()
    }

    fn forget_pool(&self, number: u64) {
        self.forget(|mapped| mapped.number == number);
    }
}

impl SampleRecord {
    fn new(cell: Option<NonNull<CopyCell>>) -> Self {
        let fields = SampleFields {
            head: std::ptr::null(),
            body: std::ptr::null(),
            body_size: 0,
            sequence: 0,
            received_at_ns: 0,
            descriptor: std::ptr::null(),
            payload: None,
            own: None,
            slot: SlotId::MAX,
            head_size: 0,
            encoding: Encoding::Flat,
            word: NO_WORD,
        };
        Self {
            fields: UnsafeCell::new(fields),
            mapped: UnsafeCell::new(None),
            state: AtomicU32::new(FREE),
            in_cell: AtomicBool::new(false),
            cell,
        }
    }

    /// Acquire: the reads of the sample that gave it back come before the next writes.
    #[inline(always)]
    fn is_free(&self) -> bool {
        self.state.load(Ordering::Acquire) == FREE
    }

    /// What its sample consists of. For the sample.
    #[inline(always)]
    pub(super) fn fields(&self) -> *mut SampleFields {
        self.fields.get()
    }

    /// The pool of its sample's message.
    ///
    /// # Safety
    /// A sample has the record.
    #[inline(always)]
    pub(super) unsafe fn mapped(&self) -> &Arc<Mapped> {
        // SAFETY: `take` has put a pool into the record, and it is taken out only when the sample is dropped.
        unsafe { (*self.mapped.get()).as_ref().unwrap_unchecked() }
    }

    /// Whether its sample lies in the record's cell.
    pub(super) fn is_in_cell(&self) -> bool {
        self.in_cell.load(Ordering::Relaxed)
    }

    /// The record's cell, for a sample that is being made in it. `None` if it has none.
    #[inline(always)]
    pub(super) fn use_cell(&self) -> Option<&CopyCell> {
        let cell = self.cell?;
        self.in_cell.store(true, Ordering::Relaxed);
        // SAFETY: the core keeps the cells as long as the records.
        Some(unsafe { cell.as_ref() })
    }

    /// Gives the record back, for its sample's drop.
    ///
    /// # Safety
    /// A sample had the record, and nothing of it is used after this.
    #[inline(always)]
    pub(super) unsafe fn give_back(this: NonNull<Self>) {
        // By pointer: from the compare-and-swap on, the subscriber may free the record.
        // SAFETY: until then the record keeps itself, by its pool.
        let state = unsafe { &(*this.as_ptr()).state };
        // Release: all reads of the sample come before the next writes.
        if state.compare_exchange(USED, FREE, Ordering::Release, Ordering::Relaxed).is_err() {
            // SAFETY: as for this function.
            unsafe { Self::give_pool_back(this) };
        }
    }

    /// The same for a record that is LAST.
    ///
    /// # Safety
    /// As for `give_back`.
    #[cold]
    #[inline(never)]
    unsafe fn give_pool_back(this: NonNull<Self>) {
        // SAFETY: the record is LAST, so no other thread touches its pool until it is free.
        let mapped = unsafe { (*(*this.as_ptr()).mapped.get()).take() };
        // SAFETY: the pool, which keeps the record, still lives.
        unsafe { &(*this.as_ptr()).state }.store(FREE, Ordering::Release);
        drop(mapped);
    }
}

impl fmt::Debug for SampleRecords {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SampleRecords")
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn each_number_has_a_record_of_its_own() {
        let records = SampleRecords::new();
        assert!(records.at(0).is_none());
        for (index, chunk) in records.chunks.iter().enumerate() {
            chunk.get_or_init(|| SampleRecords::chunk(index, None));
        }
        let found: HashSet<_> =
            (0..1008).filter_map(|index| records.at(index)).map(std::ptr::from_ref).collect();
        assert_eq!(found.len(), 1008);
        assert_eq!(records.all().count(), 1008);
        assert!(records.at(1008).is_none());
    }

    #[test]
    fn a_free_record_behind_the_last_is_found_first() {
        let (records, last) = (SampleRecords::new(), LastRecord::default());
        let use_next = || {
            records.take_other(&last, None).inspect(|record| {
                // SAFETY: the records live.
                unsafe { record.as_ref() }.state.store(USED, Ordering::Relaxed);
            })
        };
        let first = use_next();
        for _ in 1..20 {
            assert!(use_next().is_some_and(|record| Some(record) != first));
        }
        assert_eq!(last.index.get(), 19);
        let free = |index: usize| records.at(index).unwrap().state.store(FREE, Ordering::Relaxed);
        free(0);
        free(21);
        assert!(records.take_other(&last, None).is_some());
        assert_eq!(last.index.get(), 20, "those behind it are free too");
    }
}
