//! Writes the bytes of a writer's packets into chunks of the ring, or into private memory while no chunk is
//! free.
//!
//! A packet that fits into half a chunk lies in one chunk: if the rest of a chunk is too short for it, it
//! moves to the next chunk. A longer packet is cut. The lengths of messages that cross a cut follow as
//! patches, in fragments of their own, before the packet is finished.

use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use situ_wire::protobuf::{Chunk, Delegate, MAX_LEVELS, Patch, PatchListFull};

use crate::shm::chunk_state::{MAX_FRAGMENTS, Word};
use crate::shm::format::{CHUNK_HEADER, EntryState, Lost, PATCH, PATCHES, PREFIX, WriterEntry};
use crate::shm::ring::Ring;
use crate::system::{monotonic_ns, thread_id};

use super::session_state::SessionState;

/// A packet begins only if at least this number of bytes is left: room for a timestamp and the beginning of
/// an event.
const MIN_ROOM: usize = 64;
/// The maximum number of fragments that one packet adds to a chunk: its last patches and its bytes.
const MAX_FRAGMENTS_OF_PACKET: u32 = 4;
/// The size of the private memory that takes the bytes of lost packets.
const DISCARD_SIZE: usize = 4096;
/// The maximum number of pending patches. Each open message leaves at most one for each chunk, and all are
/// written when a chunk is left.
const MAX_PATCHES: usize = MAX_LEVELS;
/// A writer without an entry requests one again each time that it has lost this number of packets.
const ENTRY_RETRY_INTERVAL: u64 = 64;

/// The state of a writer. All members except `ring` and `shared` are plain data, allocated once.
pub(crate) struct ChunkWriter {
    /// The generation of its session; 0: none.
    session: u32,
    /// The value of the chunk's word: BUSY or IDLE. Meaningless without a chunk.
    word: Word,
    /// The chunk; null without one.
    chunk: *mut u8,
    /// The offset in the chunk at which the next packet begins.
    cursor: usize,
    /// The offset of the chunk's end.
    end: usize,
    /// The offset in the chunk at which the current fragment begins.
    fragment: usize,
    /// A packet is open, or was leaked.
    is_open: bool,
    /// The current packet is lost: its bytes go to `discarded`.
    is_lost: bool,
    /// The current packet has crossed the end of a chunk.
    is_cut: bool,
    finished: u64,
    lost: Lost,
    /// The number of bytes of the packet that the encoder has passed on.
    bytes: u64,
    /// The number of chunks that the writer has taken.
    sequence: u32,
    /// The index of the writer's entry; `None` if all entries were in use.
    slot: Option<u32>,
    number: u32,
    /// The entry, in the ring's mapping; dangling without one.
    entry: NonNull<WriterEntry>,
    patches: [Patch; MAX_PATCHES],
    pending_patches: usize,
    discarded: Box<[u8; DISCARD_SIZE]>,
    ring: Option<Arc<Ring>>,
    /// Used to detect the session's end while the writer waits for a chunk.
    shared: Option<Arc<SessionState>>,
}

impl ChunkWriter {
    pub(crate) fn new() -> Self {
        Self {
            session: 0,
            word: Word(0),
            chunk: std::ptr::null_mut(),
            cursor: 0,
            end: 0,
            fragment: 0,
            is_open: false,
            is_lost: false,
            is_cut: false,
            finished: 0,
            lost: Lost::default(),
            bytes: 0,
            sequence: 0,
            slot: None,
            number: 0,
            entry: NonNull::dangling(),
            patches: [Patch::default(); MAX_PATCHES],
            pending_patches: 0,
            discarded: Box::new([0; DISCARD_SIZE]),
            ring: None,
            shared: None,
        }
    }

    #[inline]
    pub(crate) fn session(&self) -> u32 {
        self.session
    }

    /// See [`Writer::state_epoch`](crate::Writer::state_epoch).
    #[inline]
    pub(crate) fn epoch(&mut self) -> u64 {
        if self.is_open {
            // The packet was leaked, so it is lost.
            self.lose();
        }
        u64::from(self.session) << 32 | (self.lost.packets & 0xffff_ffff)
    }

    pub(crate) fn lost(&self) -> Lost {
        self.lost
    }

    pub(crate) fn finished(&self) -> u64 {
        self.finished
    }

    /// Leaves the current session, and joins another one; 0: none.
    #[cold]
    pub(crate) fn attach(&mut self, session: u32, shared: &Arc<SessionState>) {
        self.leave();
        // The session may have changed again since the caller loaded the word. The next packet then calls
        // this again.
        let Some(ring) = (session != 0).then(|| shared.ring(session)).flatten() else { return };
        self.session = session;
        (self.finished, self.lost, self.sequence) = (0, Lost::default(), 0);
        self.enter(&ring);
        self.ring = Some(ring);
        self.shared = Some(shared.clone());
    }

    /// Takes an entry, if one is free.
    fn enter(&mut self, ring: &Ring) {
        self.slot = ring.enter();
        if let Some(slot) = self.slot {
            let entry = ring.parts.entry(slot);
            (self.entry, self.number) = (NonNull::from(entry), entry.number.load(Ordering::Relaxed));
        }
    }

    /// Stores the number of the calling thread into the entry.
    pub(crate) fn adopt(&mut self) {
        if let (Some(ring), Some(slot)) = (&self.ring, self.slot) {
            ring.parts.entry(slot).thread.store(thread_id(), Ordering::Relaxed);
        }
    }

    /// Leaves the session: hands in the chunk, and releases the entry.
    pub(crate) fn leave(&mut self) {
        if self.is_open {
            self.lose();
        }
        self.hand_in();
        if let Some(ring) = self.ring.take()
            && let Some(slot) = self.slot.take()
        {
            // Release: a collector that loads this value also sees the last counts, and the word of the last
            // chunk, which was handed in before.
            ring.parts.entry(slot).state.store(EntryState::Left as u32, Ordering::Release);
        }
        self.session = 0;
        self.shared = None;
    }

    /// Hands the chunk in, unless the collector has reclaimed it.
    pub(crate) fn hand_in(&mut self) {
        if let Some(word) = self.chunk_word() {
            word.hand_in(self.word);
            self.chunk = std::ptr::null_mut();
        }
    }

    #[inline]
    fn chunk_word(&self) -> Option<&crate::shm::chunk_state::ChunkWord> {
        // SAFETY: a chunk that is not null lies in the ring's mapping, which `ring` keeps; its header is made
        // of atomics.
        (!self.chunk.is_null())
            .then(|| unsafe { &(*self.chunk.cast::<crate::shm::format::ChunkHeader>()).word })
    }

    /// Begins a packet in the current chunk if there is room, otherwise in another chunk.
    #[inline]
    pub(crate) fn begin(&mut self) {
        if self.is_open {
            self.lose();
        }
        self.is_open = true;
        self.bytes = 0;
        self.pending_patches = 0;
        self.is_cut = false;
        let fits = self.end.wrapping_sub(self.cursor) >= MIN_ROOM
            && self.word.count() < MAX_FRAGMENTS - MAX_FRAGMENTS_OF_PACKET;
        match self.chunk_word() {
            Some(word) if fits && word.begin(self.word) => {}
            _ => return self.begin_elsewhere(),
        }
        self.is_lost = false;
        self.fragment = self.cursor;
    }

    /// Takes another chunk, because the current one is full or reclaimed.
    #[cold]
    #[inline(never)]
    fn begin_elsewhere(&mut self) {
        self.hand_in();
        self.is_lost = !self.take_or_wait(false);
    }

    /// Takes a chunk and makes it BUSY. Returns false if no chunk is free.
    fn take(&mut self, first_continues: bool) -> bool {
        let Some(ring) = self.ring.clone() else { return false };
        if self.slot.is_none() && self.lost.packets.is_multiple_of(ENTRY_RETRY_INTERVAL) {
            self.enter(&ring);
        }
        let Some(slot) = self.slot else { return false };
        let taken = ring.parts.free().take();
        let chunks = u64::from(ring.parts.header.chunks);
        if taken.is_none_or(|(_, left)| left < chunks / 2) {
            ring.wake_collector();
        }
        // A number is out of range only if the producer overwrites its own list.
        let Some((number, _)) = taken.filter(|(number, _)| u64::from(*number) < chunks) else { return false };
        let header = ring.parts.chunk(number);
        header.number.store(self.number, Ordering::Relaxed);
        header.sequence.store(self.sequence, Ordering::Relaxed);
        header.lost.store(self.lost.packets as u32, Ordering::Relaxed);
        self.sequence = self.sequence.wrapping_add(1);
        self.word = Word::taken(slot as u16, first_continues);
        // If the process dies before this store, the chunk looks free, and is empty.
        header.word.publish(self.word);
        self.chunk = ring.chunk_base(number);
        self.cursor = CHUNK_HEADER;
        self.fragment = CHUNK_HEADER;
        self.end = CHUNK_HEADER + ring.capacity();
        true
    }

    /// Takes a chunk, and waits for one as long as the session's policy and the process's budget allow.
    fn take_or_wait(&mut self, first_continues: bool) -> bool {
        if self.take(first_continues) {
            return true;
        }
        let Some(asked) = self.ring.as_ref().and_then(|ring| ring.stall_timeout_ns()) else { return false };
        let (Some(ring), Some(shared)) = (self.ring.clone(), self.shared.clone()) else { return false };
        let begun = monotonic_ns();
        loop {
            let room = &ring.parts.words().room;
            let announced = room.announce();
            if self.take(first_continues) {
                return true;
            }
            let now = monotonic_ns();
            let left = asked.saturating_sub(now - begun);
            let portion = shared.stall_budget().take(left);
            // The word on which the writer sleeps is in shared memory, and may change all the time. Only the
            // time limit ends the loop.
            if portion == 0 || shared.session().load(Ordering::Relaxed) != self.session {
                shared.stall_budget().give_back(portion);
                return false;
            }
            room.sleep(announced, Duration::from_nanos(portion));
            shared.stall_budget().give_back(portion.saturating_sub(monotonic_ns() - now));
            if self.take(first_continues) {
                return true;
            }
        }
    }

    /// Writes the length in front of the fragment, and begins the next fragment behind it.
    #[inline]
    fn close_fragment(&mut self, used: usize, flags: u16) {
        let prefix = (used as u16 | flags).to_le_bytes();
        // SAFETY: the fragment and its length lie in the chunk, which this writer owns while it is BUSY.
        unsafe { self.chunk.add(self.fragment).cast::<[u8; PREFIX]>().write(prefix) };
        self.fragment += PREFIX + used;
        self.word = self.word.plus(1);
    }

    /// Leaves the chunk in the middle of the packet, and takes the next.
    fn cross(&mut self) {
        self.is_cut = true;
        if let Some(word) = self.chunk_word() {
            word.publish(self.word.with(crate::shm::chunk_state::State::Complete).continued());
        }
        self.chunk = std::ptr::null_mut();
        if !self.take_or_wait(true) {
            self.is_lost = true;
        }
    }

    /// Writes the pending patches, into as many chunks as they need. A chunk that continues a packet needs a
    /// fragment of the packet's bytes. If the packet has ended, that fragment is empty.
    fn write_patches(&mut self, is_last: bool) {
        let mut done = 0;
        while done < self.pending_patches && !self.is_lost {
            let room = (self.end - self.fragment).saturating_sub(PREFIX);
            let count = (room / PATCH).min(self.pending_patches - done);
            if count > 0 {
                for (index, patch) in self.patches[done..done + count].iter().enumerate() {
                    let at = self.fragment + PREFIX + index * PATCH;
                    let mut bytes = [0; PATCH];
                    bytes[..4].copy_from_slice(&patch.chunk.to_le_bytes());
                    bytes[4..6].copy_from_slice(&(patch.offset as u16).to_le_bytes());
                    bytes[6..].copy_from_slice(&patch.bytes);
                    // SAFETY: the patches fit into the rest of the chunk, which this writer owns while it is
                    // BUSY.
                    unsafe { self.chunk.add(at).cast::<[u8; PATCH]>().write(bytes) };
                }
                self.close_fragment(count * PATCH, PATCHES);
                done += count;
            }
            if done < self.pending_patches {
                self.cross();
                if is_last && !self.is_lost {
                    self.close_fragment(0, 0);
                }
            }
        }
        self.pending_patches = 0;
    }

    /// Returns the memory for the fragment that begins now.
    #[inline]
    fn memory(&mut self) -> Chunk {
        if self.is_lost {
            return Chunk::of(&mut self.discarded[..]);
        }
        let at = self.fragment + PREFIX;
        // SAFETY: the fragment begins in the chunk, and there is room for more than its prefix.
        let start = unsafe { NonNull::new_unchecked(self.chunk.add(at)) };
        Chunk { start, len: self.end - at }
    }

    /// Moves the packet into a chunk of its own, if it is short. The old chunk keeps the packets that were
    /// finished before.
    fn grow(&mut self, used: usize, more: usize) -> Option<Chunk> {
        let ring = self.ring.as_ref()?;
        let needed = used.saturating_add(more).saturating_add(PREFIX);
        let moves =
            !self.is_lost && !self.is_cut && self.fragment > CHUNK_HEADER && needed <= ring.capacity() / 2;
        if !moves {
            return None;
        }
        let (old, old_word, old_fragment) = (self.chunk, self.word, self.fragment);
        // Does not wait: another writer may be waiting for the chunk that this one holds.
        if !self.take(false) {
            return None;
        }
        // SAFETY: this writer owns the old chunk until it publishes its word below, and the new one has room
        // for half a chunk.
        unsafe {
            let to = self.chunk.add(self.fragment + PREFIX);
            to.copy_from_nonoverlapping(old.add(old_fragment + PREFIX), used);
            // The old chunk holds only the fragments that were finished before.
            let header = &*old.cast::<crate::shm::format::ChunkHeader>();
            header.word.publish(old_word.with(crate::shm::chunk_state::State::Complete));
        }
        Some(self.memory())
    }

    /// Provides more memory: the encoder has filled its memory.
    fn next(&mut self, used: usize) -> Chunk {
        self.bytes += used as u64;
        if !self.is_lost {
            self.close_fragment(used, 0);
            self.cross();
            self.write_patches(false);
            // A fragment begins only where there is room for a length of five bytes.
            if !self.is_lost && self.end - self.fragment < PREFIX + MIN_ROOM {
                self.cross();
            }
        }
        self.memory()
    }

    /// Finishes the packet. The last fragment has `used` bytes.
    #[inline]
    fn last(&mut self, used: usize) {
        self.bytes += used as u64;
        if !self.is_lost {
            self.close_fragment(used, 0);
            if self.pending_patches > 0 {
                self.write_patches(true);
            }
        }
    }

    /// Ends the packet: it is finished, or lost.
    #[inline]
    pub(crate) fn end(&mut self, is_ok: bool) {
        if self.is_lost || !is_ok {
            return self.lose();
        }
        self.is_open = false;
        self.word = self.word.with(crate::shm::chunk_state::State::Idle);
        self.cursor = self.fragment;
        if let Some(word) = self.chunk_word() {
            // From here on the packet is not lost if this process dies.
            word.publish(self.word);
        }
        self.finished += 1;
        // SAFETY: a writer that has a chunk has an entry, which lies in the mapping that `ring` keeps.
        unsafe { self.entry.as_ref() }.packets.store(self.finished, Ordering::Relaxed);
    }

    #[cold]
    #[inline(never)]
    fn lose(&mut self) {
        self.is_open = false;
        self.lost.packets += 1;
        self.lost.bytes += self.bytes;
        if let Some(ring) = &self.ring {
            match self.slot {
                Some(slot) => {
                    let entry = ring.parts.entry(slot);
                    entry.lost_packets.store(self.lost.packets, Ordering::Relaxed);
                    entry.lost_bytes.store(self.lost.bytes, Ordering::Relaxed);
                }
                None => {
                    ring.parts.words().unregistered_packets.fetch_add(1, Ordering::Relaxed);
                    ring.parts.words().unregistered_bytes.fetch_add(self.bytes, Ordering::Relaxed);
                }
            }
        }
        // If the packet began in a chunk, that chunk is handed in with the packets that were finished before.
        // The header of the next chunk counts the loss.
        if let Some(word) = self.chunk_word() {
            word.publish(self.word.with(crate::shm::chunk_state::State::Complete));
            self.chunk = std::ptr::null_mut();
        }
    }
}

/// Provides the encoder with memory from a chunk writer.
pub(crate) struct ChunkDelegate {
    chunks: NonNull<ChunkWriter>,
}

impl ChunkDelegate {
    pub(crate) fn new(chunks: NonNull<ChunkWriter>) -> Self {
        Self { chunks }
    }

    fn chunks(&mut self) -> &mut ChunkWriter {
        // SAFETY: the chunk writer outlives the encoder, and `Writer` makes no reference to it while the
        // encoder works.
        unsafe { self.chunks.as_mut() }
    }
}

// SAFETY: a writer owns a chunk from taking it until publishing it COMPLETE. The writer publishes it in
// `next`, in `grow` after the bytes have moved, and after `finish`. The memory for lost packets belongs to
// the chunk writer.
unsafe impl Delegate for ChunkDelegate {
    #[inline]
    fn first(&mut self) -> Option<Chunk> {
        // Without a session there is no packet.
        let chunks = self.chunks();
        (chunks.session != 0).then(|| chunks.memory())
    }

    fn grow(&mut self, used: usize, more: usize) -> Option<Chunk> {
        self.chunks().grow(used, more)
    }

    fn has_next(&mut self) -> bool {
        true
    }

    fn next(&mut self, used: usize, _pending: usize) -> Option<Chunk> {
        Some(self.chunks().next(used))
    }

    fn patch(&mut self, patch: Patch) -> Result<(), PatchListFull> {
        let chunks = self.chunks();
        if chunks.is_lost {
            return Ok(());
        }
        *chunks.patches.get_mut(chunks.pending_patches).ok_or(PatchListFull)? = patch;
        chunks.pending_patches += 1;
        Ok(())
    }

    #[inline]
    fn finish(&mut self, used: usize) {
        self.chunks().last(used);
    }
}
