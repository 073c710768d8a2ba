//! Where a writer's bytes go: chunks of the ring, or, when none is free, memory that nobody reads.
//!
//! A packet that fits into half a chunk lies in one: where the rest of a chunk is too short for it, it moves to the
//! next. Longer ones are cut. The lengths of messages that cross the cut come later, as patches, in fragments of their
//! own, before the packet is finished.

use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use situ_wire::protobuf::{Chunk, Delegate, MAX_LEVELS, Patch, PatchListFull};

use crate::shm::chunk_state::{MAX_FRAGMENTS, Word};
use crate::shm::format::{CHUNK_HEADER, EntryState, Lost, PATCH, PATCHES, PREFIX, WriterEntry};
use crate::shm::ring::Ring;
use crate::system::monotonic_ns;

use super::session_state::SessionState;

/// The least room that a packet begins in, in bytes: a timestamp and the beginning of an event.
const MIN_ROOM: usize = 64;
/// The most fragments that one packet adds to a chunk: what is left of its patches, and its bytes.
const MAX_FRAGMENTS_OF_PACKET: u32 = 4;
/// The size of the memory that nobody reads.
const DISCARD_SIZE: usize = 4096;
/// Patches that wait: each open message leaves at most one for each chunk, and they are written whenever a chunk is left.
const MAX_PATCHES: usize = MAX_LEVELS;
/// How many packets a writer without an entry loses before it looks for one again.
const ENTRY_RETRY_INTERVAL: u64 = 64;

/// What a writer knows. All but `ring` is plain data, made once.
pub(crate) struct ChunkWriter {
    /// The generation of the session that it takes part in; 0: none.
    session: u32,
    /// What the word of the chunk should be: BUSY or IDLE. Only of use if there is a chunk.
    word: Word,
    /// The chunk; null if there is none.
    chunk: *mut u8,
    /// Where in it the next fragment begins.
    cursor: usize,
    /// Where the chunk ends.
    end: usize,
    /// Where in the chunk the fragment begins that is being written.
    fragment: usize,
    /// A packet is being written; or was leaked.
    is_open: bool,
    /// The packet that is being written goes nowhere.
    is_lost: bool,
    /// It has left a chunk.
    is_cut: bool,
    finished: u64,
    lost: Lost,
    /// How many bytes of the packet were given away so far.
    bytes: u64,
    /// How many chunks were taken.
    sequence: u32,
    /// The writer's entry; nothing if there were too many writers.
    slot: Option<u32>,
    number: u32,
    /// The entry itself, in the ring's mapping; dangling without one.
    entry: NonNull<WriterEntry>,
    patches: [Patch; MAX_PATCHES],
    pending_patches: usize,
    discarded: Box<[u8; DISCARD_SIZE]>,
    ring: Option<Arc<Ring>>,
    /// To see that the session ended while it waits.
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
            // It was leaked, and is lost.
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

    /// Leaves the session that there was, and takes part in another one; 0: in none.
    #[cold]
    pub(crate) fn attach(&mut self, session: u32, shared: &Arc<SessionState>) {
        self.leave();
        // Between the load of the word and this there may have come another; then the next packet comes back here.
        let Some(ring) = (session != 0).then(|| shared.ring(session)).flatten() else { return };
        self.session = session;
        (self.finished, self.lost, self.sequence) = (0, Lost::default(), 0);
        self.enter(&ring);
        self.ring = Some(ring);
        self.shared = Some(shared.clone());
    }

    /// Takes an entry, if there is one.
    fn enter(&mut self, ring: &Ring) {
        self.slot = ring.enter();
        if let Some(slot) = self.slot {
            let entry = ring.parts.entry(slot);
            (self.entry, self.number) = (NonNull::from(entry), entry.number.load(Ordering::Relaxed));
        }
    }

    /// Another thread writes from now on: so the entry says.
    pub(crate) fn adopt(&mut self) {
        if let (Some(ring), Some(slot)) = (&self.ring, self.slot) {
            let thread = rustix::thread::gettid().as_raw_nonzero().get();
            ring.parts.entry(slot).thread.store(thread.cast_unsigned(), Ordering::Relaxed);
        }
    }

    /// Leaves the session: hands in what is finished, and gives the entry back.
    pub(crate) fn leave(&mut self) {
        if self.is_open {
            self.lose();
        }
        self.hand_in();
        if let Some(ring) = self.ring.take()
            && let Some(slot) = self.slot.take()
        {
            // Release: whoever sees it sees the last numbers, and that the last chunk was handed in.
            ring.parts.entry(slot).state.store(EntryState::Left as u32, Ordering::Release);
        }
        self.session = 0;
        self.shared = None;
    }

    /// Gives the chunk away, if the collector has not taken it already.
    pub(crate) fn hand_in(&mut self) {
        if let Some(word) = self.chunk_word() {
            word.hand_in(self.word);
            self.chunk = std::ptr::null_mut();
        }
    }

    #[inline]
    fn chunk_word(&self) -> Option<&crate::shm::chunk_state::ChunkWord> {
        // SAFETY: a chunk that is not null lies in the ring's mapping, which `ring` keeps; its header is made of atomics.
        (!self.chunk.is_null())
            .then(|| unsafe { &(*self.chunk.cast::<crate::shm::format::ChunkHeader>()).word })
    }

    /// Finds a place for a packet.
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

    /// The chunk is full, or is not ours any more.
    #[cold]
    #[inline(never)]
    fn begin_elsewhere(&mut self) {
        self.hand_in();
        self.is_lost = !self.take_or_wait(false);
    }

    /// Takes a chunk, which is busy from then on. False: none is free.
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
        // Only a producer that writes over its own list finds a number that is none.
        let Some((number, _)) = taken.filter(|(number, _)| u64::from(*number) < chunks) else { return false };
        let header = ring.parts.chunk(number);
        header.number.store(self.number, Ordering::Relaxed);
        header.sequence.store(self.sequence, Ordering::Relaxed);
        header.lost.store(self.lost.packets as u32, Ordering::Relaxed);
        self.sequence = self.sequence.wrapping_add(1);
        self.word = Word::taken(slot as u16, first_continues);
        // If the process dies before this, the chunk counts as free, and has nothing in it.
        header.word.publish(self.word);
        self.chunk = ring.chunk_base(number);
        self.cursor = CHUNK_HEADER;
        self.fragment = CHUNK_HEADER;
        self.end = CHUNK_HEADER + ring.capacity();
        true
    }

    /// The same, waiting as long as the session's policy says, and not longer than the process allows.
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
            // The word that it sleeps on is shared memory, and may change all the time: what ends this is the time.
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

    /// Writes the length in front of the fragment, and begins the next behind it.
    #[inline]
    fn close_fragment(&mut self, used: usize, flags: u16) {
        let prefix = (used as u16 | flags).to_le_bytes();
        // SAFETY: a fragment and its prefix lie in the chunk, which is ours while it is busy.
        unsafe { self.chunk.add(self.fragment).cast::<[u8; PREFIX]>().write(prefix) };
        self.fragment += PREFIX + used;
        self.word = self.word.plus(1);
    }

    /// Gives the chunk away in the middle of the packet, and takes the next.
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

    /// Writes the patches that wait, into as many chunks as they need. A chunk that goes on with a packet has bytes of it: if the packet
    /// has come to its end, they are none.
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
                    // SAFETY: as many patches as fit into the chunk, which is ours while it is busy.
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

    /// The memory for the fragment that begins now.
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

    /// Moves the packet into a chunk of its own, if it is short. The chunk it leaves stays as it was before it.
    fn grow(&mut self, used: usize, more: usize) -> Option<Chunk> {
        let ring = self.ring.as_ref()?;
        let needed = used.saturating_add(more).saturating_add(PREFIX);
        let moves =
            !self.is_lost && !self.is_cut && self.fragment > CHUNK_HEADER && needed <= ring.capacity() / 2;
        if !moves {
            return None;
        }
        let (old, old_word, old_fragment) = (self.chunk, self.word, self.fragment);
        // Without waiting: who waits with a chunk in hand may be waited for.
        if !self.take(false) {
            return None;
        }
        // SAFETY: the old chunk is ours until its word is published below, and the new one has room for half a chunk.
        unsafe {
            let to = self.chunk.add(self.fragment + PREFIX);
            to.copy_from_nonoverlapping(old.add(old_fragment + PREFIX), used);
            // The fragments that were finished before are all there is in it.
            let header = &*old.cast::<crate::shm::format::ChunkHeader>();
            header.word.publish(old_word.with(crate::shm::chunk_state::State::Complete));
        }
        Some(self.memory())
    }

    /// The encoder has left its memory.
    fn next(&mut self, used: usize) -> Chunk {
        self.bytes += used as u64;
        if !self.is_lost {
            self.close_fragment(used, 0);
            self.cross();
            self.write_patches(false);
            // What is written begins where there is room for a length of five bytes at least.
            if !self.is_lost && self.end - self.fragment < PREFIX + MIN_ROOM {
                self.cross();
            }
        }
        self.memory()
    }

    /// The encoder has finished; the last fragment has so many bytes.
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

    /// The packet ends: it is finished, or lost.
    #[inline]
    pub(crate) fn end(&mut self, is_ok: bool) {
        if self.is_lost || !is_ok {
            return self.lose();
        }
        self.is_open = false;
        self.word = self.word.with(crate::shm::chunk_state::State::Idle);
        self.cursor = self.fragment;
        if let Some(word) = self.chunk_word() {
            // From here on the packet survives whatever happens to us.
            word.publish(self.word);
        }
        self.finished += 1;
        // SAFETY: who has a chunk has an entry, which lies in the mapping that `ring` keeps.
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
        // A chunk that it had begun in is handed in with what was finished before, so that the next one tells of the loss.
        if let Some(word) = self.chunk_word() {
            word.publish(self.word.with(crate::shm::chunk_state::State::Complete));
            self.chunk = std::ptr::null_mut();
        }
    }
}

/// What the encoder knows of a writer's state.
pub(crate) struct ChunkDelegate {
    chunks: NonNull<ChunkWriter>,
}

impl ChunkDelegate {
    pub(crate) fn new(chunks: NonNull<ChunkWriter>) -> Self {
        Self { chunks }
    }

    fn chunks(&mut self) -> &mut ChunkWriter {
        // SAFETY: the state outlives the encoder, and the writer makes no reference to it while the encoder works.
        unsafe { self.chunks.as_mut() }
    }
}

// SAFETY: a chunk is the writer's from when it takes it until it publishes it COMPLETE, which happens in `next`, in `grow` after the
// bytes have moved, and after `finish`; the memory that nobody reads is the state's own.
unsafe impl Delegate for ChunkDelegate {
    #[inline]
    fn first(&mut self) -> Option<Chunk> {
        // Before the first packet there is no session.
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
