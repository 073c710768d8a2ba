//! The private records of a subscriber's samples, so that taking a message moves and allocates nothing.
//!
//! A sample is a pointer to its record. Records are never freed while the subscriber lives, and are used
//! again and again. A record keeps its pool between two samples: the next one is nearly always of the same
//! pool, and then no reference count changes.
//!
//! Which side may touch a record, and which takes its pool out: see
//! [`record_state`](crate::protocol::record_state), which the model checker explores.
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
use situ_memory::sync::atomic::{AtomicBool, Ordering};

use crate::port::cells::{Cells, CopyCell};
use crate::port::payload::Payload;
use crate::port::pool_cache::{Mapped, Records};
use crate::protocol::record_state::RecordState;
use crate::topic::Encoding;
use crate::topic::format::Descriptor;
use crate::trust::Private;

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
    state: RecordState,
    /// Whether its sample lies in the record's cell.
    in_cell: AtomicBool,
    /// The record's memory for a message that is copied out of its row, if it has some.
    cell: Option<NonNull<CopyCell>>,
}

/// The records of a subscriber. They get memory as more samples are held at a time than ever before.
pub(crate) struct SampleRecords {
    chunks: [OnceLock<Box<[SampleRecord]>>; CHUNKS],
}

// SAFETY: the fields of a record belong to one thread at a time, as `record_state` says: that of the
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

    /// Takes a free record for a message of this pool, whose sample is empty. For the subscriber's thread. It
    /// tries the record `last` first, because it took that one last and its lines are warm. `None` if there
    /// are no more records.
    #[inline(always)]
    pub(crate) fn take(
        &self,
        last: &LastRecord,
        cells: Option<&Cells>,
        mapped: &Arc<Mapped>,
    ) -> Option<NonNull<SampleRecord>> {
        // SAFETY: records live as long as `self`.
        let record = match last.record.get().filter(|record| unsafe { record.as_ref() }.state.is_free()) {
            Some(record) => record,
            None => self.take_other(last, cells)?,
        };
        // SAFETY: as above.
        let taken = unsafe { record.as_ref() };
        taken.state.give();
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
        let is_free = |index: &usize| self.at(*index).is_some_and(|record| record.state.is_free());
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
        let count = FIRST << index;
        let cells = cells.and_then(|cells| cells.of_chunk(index, count));
        (0..count).map(|at| SampleRecord::new(cells.map(|cells| NonNull::from(&cells[at])))).collect()
    }

    fn all(&self) -> impl Iterator<Item = &SampleRecord> {
        self.chunks.iter().filter_map(OnceLock::get).flat_map(|chunk| chunk.iter())
    }

    /// Lets go of pools: records without samples drop them now, the others with their samples. For the
    /// subscriber's thread.
    #[cold]
    pub(crate) fn forget(&self, is_gone: impl Fn(&Mapped) -> bool) {
        for record in self.all() {
            // SAFETY: only this thread puts a pool into a record, and `forget` asks before any other thread
            // may take it out.
            let has_it = || unsafe { &*record.mapped.get() }.as_ref().is_some_and(|mapped| is_gone(mapped));
            // SAFETY: `forget` calls this if the record is free, which it stays on this thread.
            record.state.forget(has_it, || unsafe { (*record.mapped.get()).take() });
        }
    }
}

impl Records for SampleRecords {
    fn in_cells(&self) -> usize {
        let is_in_cell =
            |record: &&SampleRecord| record.state.is_used() && record.in_cell.load(Ordering::Relaxed);
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
            state: RecordState::new(),
            in_cell: AtomicBool::new(false),
            cell,
        }
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
        let record = this.as_ptr();
        // SAFETY: `give_back` calls this if the subscriber leaves the pool to this sample, and before the
        // record may be freed.
        let take_out = || unsafe { (*(*record).mapped.get()).take() };
        // SAFETY: the caller's promise. By pointer, because the subscriber may free the record meanwhile.
        unsafe { RecordState::give_back(&raw const (*record).state, take_out) };
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
                unsafe { record.as_ref() }.state.give();
            })
        };
        let first = use_next();
        for _ in 1..20 {
            assert!(use_next().is_some_and(|record| Some(record) != first));
        }
        assert_eq!(last.index.get(), 19);
        // SAFETY: these records have no pool, and live.
        let free = |index: usize| unsafe { RecordState::give_back(&records.at(index).unwrap().state, || ()) };
        free(0);
        free(21);
        assert!(records.take_other(&last, None).is_some());
        assert_eq!(last.index.get(), 20, "those behind it are free too");
    }
}
