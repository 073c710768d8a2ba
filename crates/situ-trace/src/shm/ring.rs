//! A producer's ring file: created, locked, mapped, and its parts by name.

use std::os::fd::AsFd;
use std::sync::Arc;

use rustix::fs::FlockOperation;
use situ_memory::fork::LockedFile;
use situ_memory::sync::atomic::{AtomicU32, Ordering};
use situ_memory::{Access, Beneath, Mapping, MemoryError, Root, find_memory};

use crate::shm::control::Control;
use crate::shm::format::{
    CHUNK_HEADER, ChunkHeader, EntryState, Header, MAX_NAME, NAME_OFFSET, QUIET, WORDS_OFFSET, Words,
    WriterEntry,
};
use crate::shm::free_list::FreeList;
use crate::shm::session::{Policy, Session};
use crate::system::{self, failed};

/// The extension of a ring file.
pub(crate) const EXTENSION: &str = "ring";
/// The extension while the file is created.
pub(crate) const UNFINISHED: &str = "new";

/// The parts of a mapped ring. Producer and collector have one each, with their own mapping and their own
/// copy of the header.
#[derive(Debug)]
pub(crate) struct MappedRing {
    pub(crate) map: Arc<Mapping>,
    pub(crate) header: Header,
}

impl MappedRing {
    fn part<T>(&self, offset: usize) -> &T {
        debug_assert!(self.map.at::<T>(offset).is_some());
        // SAFETY: offsets follow from the header, and are aligned. The header was made for the mapping's
        // length, or checked against it. All parts consist of atomics, for which any bits are valid and
        // sharing is no data race.
        unsafe { &*self.map.base().add(offset).cast::<T>() }
    }

    pub(crate) fn words(&self) -> &Words {
        self.part(WORDS_OFFSET)
    }

    pub(crate) fn free(&self) -> FreeList<'_> {
        // SAFETY: as in `part`: the list has as many places as there are chunks.
        let list = unsafe {
            let start = self.map.base().add(self.header.list_offset as usize);
            std::slice::from_raw_parts(start.cast::<AtomicU32>(), self.header.chunks as usize)
        };
        FreeList { head: &self.words().head, tail: &self.words().tail, list }
    }

    /// Returns a writer's entry. The number must be below [`WRITERS`](crate::shm::format::WRITERS).
    pub(crate) fn entry(&self, slot: u32) -> &WriterEntry {
        assert!(slot < self.header.writers);
        self.part(self.header.writers_offset as usize + slot as usize * size_of::<WriterEntry>())
    }

    /// Returns the offset of a chunk in the mapping. `number` must be below the number of chunks.
    pub(crate) fn chunk_offset(&self, number: u32) -> usize {
        assert!(number < self.header.chunks);
        self.header.chunks_offset as usize + number as usize * self.header.chunk_size as usize
    }

    pub(crate) fn chunk(&self, number: u32) -> &ChunkHeader {
        self.part(self.chunk_offset(number))
    }
}

/// The producer's side of a ring.
#[derive(Debug)]
pub(crate) struct Ring {
    pub(crate) parts: MappedRing,
    pub(crate) session: Session,
    place: Beneath,
    /// Holds the lock. While it is held, the collector considers this process alive.
    _locked: LockedFile,
    control: Arc<Control>,
    /// The last number given to a writer.
    numbers: AtomicU32,
}

impl Ring {
    /// Creates a ring for a session in the session's directory.
    pub(crate) fn create(
        root: &Root,
        directory: &Beneath,
        session: &Session,
        name: &str,
        control: &Arc<Control>,
    ) -> Result<Self, MemoryError> {
        let id = system::unique();
        let name = &name.as_bytes()[..name.floor_char_boundary(MAX_NAME)];
        let header = Header::new(id, session.id, session.ring_bytes, session.chunk_bytes, name.len());
        let place = directory.join(format!("{id:016x}.{EXTENSION}"));
        let unfinished = place.with_extension(UNFINISHED);
        let hidden = unfinished.path();
        let made = (|| {
            let file = system::create(root, &unfinished)?;
            // Locked before it has its name, so that other processes only see it locked.
            rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive)
                .map_err(|error| failed("lock", hidden, error.into()))?;
            let len = header.len();
            // Allocated as a whole, so that no writer can encounter a full file system.
            file.set_len(len as u64)
                .and_then(|()| find_memory(file.as_fd(), 0, len as u64))
                .map_err(|error| failed("allocate memory for", hidden, error))?;
            let map = Mapping::new(file.as_fd(), 0, len, Access::ReadWrite)
                .map_err(|error| failed("map", hidden, error))?;
            map.populate(0, len);
            // SAFETY: the mapping begins on a page and is larger than the header and the name, at their
            // offsets; no other process knows the file yet.
            unsafe {
                map.base().cast::<Header>().write(header);
                map.base().add(NAME_OFFSET).copy_from_nonoverlapping(name.as_ptr(), name.len());
            }
            let parts = MappedRing { map: Arc::new(map), header };
            (0..header.chunks).for_each(|number| parts.free().give(number.into(), number));
            unfinished.rename(&place).map_err(|error| failed("name", place.path(), error))?;
            Ok((file, parts))
        })();
        if made.is_err() {
            let _ = unfinished.remove();
        }
        let (file, parts) = made?;
        Ok(Self {
            _locked: LockedFile::new(file),
            session: session.clone(),
            control: control.clone(),
            numbers: AtomicU32::new(0),
            parts,
            place,
        })
    }

    /// Takes an entry for a writer of this thread, and returns its index.
    pub(crate) fn enter(&self) -> Option<u32> {
        let (free, used) = (EntryState::Free as u32, EntryState::Used as u32);
        for slot in 0..self.parts.header.writers {
            let entry = self.parts.entry(slot);
            if entry.state.load(Ordering::Relaxed) == free
                // Acquire: the collector has read the counts of the previous writer.
                && entry.state.compare_exchange(free, used, Ordering::Acquire, Ordering::Relaxed).is_ok()
            {
                // A death before the last store leaves an entry with a number that no chunk has.
                entry.packets.store(0, Ordering::Relaxed);
                entry.lost_packets.store(0, Ordering::Relaxed);
                entry.lost_bytes.store(0, Ordering::Relaxed);
                entry.thread.store(system::thread_id(), Ordering::Relaxed);
                let number = self.numbers.fetch_add(1, Ordering::Relaxed).wrapping_add(1);
                entry.number.store(number, Ordering::Release);
                return Some(slot);
            }
        }
        None
    }

    /// The address of a chunk.
    pub(crate) fn chunk_base(&self, number: u32) -> *mut u8 {
        // In the mapping: `chunk_offset` checks the number.
        self.parts.map.base().wrapping_add(self.parts.chunk_offset(number))
    }

    /// Returns the number of bytes of fragments, with their lengths, that a chunk holds.
    pub(crate) fn capacity(&self) -> usize {
        self.parts.header.chunk_size as usize - CHUNK_HEADER
    }

    /// Returns the time limit for a writer that waits for a chunk. Returns `None` if it does not wait.
    pub(crate) fn stall_timeout_ns(&self) -> Option<u64> {
        match self.session.policy {
            Policy::Drop => None,
            Policy::Stall { at_most } => Some(u64::try_from(at_most.as_nanos()).unwrap_or(u64::MAX)),
        }
    }

    /// Informs the collector that no more packets begin.
    pub(crate) fn mark_quiet(&self) {
        self.parts.words().status.store(QUIET, Ordering::Release);
        self.control.work().notify();
    }

    /// Wakes the collector, if it sleeps.
    pub(crate) fn wake_collector(&self) {
        self.control.work().notify();
    }

    /// Returns whether the collector has read the ring to its end.
    pub(crate) fn is_collected(&self) -> bool {
        self.place.stat().is_err()
    }

    /// Without a collector: removes the file's name, so that the memory is freed with the last mapping.
    /// Writers that have not left the session yet continue in private zeroes, where they find no chunk of
    /// theirs.
    pub(crate) fn abandon(&self) {
        let _ = self.place.remove();
        // Fails unless it was the last ring.
        let _ = self.place.directory().remove_directory();
        let _ = self.parts.map.detach();
    }
}
