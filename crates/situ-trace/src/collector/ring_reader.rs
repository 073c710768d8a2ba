//! Reads a producer's ring without trusting it.
//!
//! It copies bytes before it checks them, and compares numbers with its own records. Invalid data ends the
//! reading of a chunk, or of the ring. A process that may write the ring file may also shorten it. No check
//! prevents that: see [`guard`](situ_memory::guard).

use std::collections::VecDeque;
use std::fs::File;
use std::os::fd::AsFd;
use std::os::unix::fs::FileExt;
use std::sync::Arc;

use situ_memory::process::{State as Life, Watch};
use situ_memory::sync::atomic::Ordering;
use situ_memory::{Access, Beneath, Mapping};

use crate::shm::chunk_state::{State, Word};
use crate::shm::format::{
    CHUNK_HEADER, EntryState, Header, Lost, MAX_NAME, NAME_OFFSET, PATCHES, PREFIX, QUIET, WriterEntry,
};
use crate::shm::ring::MappedRing;
use crate::system::is_locked;

use super::assembler::{Assembler, ChunkHead, MAX_PACKET, PacketSink};
use super::summary::{ProducerSummary, WriterSummary};

/// The maximum number of a producer's writers that the summary lists. Further ones are added to the last.
const MAX_WRITER_SUMMARIES: usize = 65_536;
/// The number of chunks of a ring that are read before the next ring's turn.
const MAX_CHUNKS_PER_TURN: usize = 64;

/// A chunk that a writer has taken.
#[derive(Debug)]
struct TakenChunk {
    chunk: u32,
    /// The number of its fragments that were read, and the offset of the next.
    read: u32,
    at: usize,
    /// The last value of the word, and the time at which it changed.
    word: Word,
    since: u64,
    is_begun: bool,
}

/// Reads the ring of one producer.
#[derive(Debug)]
pub(super) struct RingReader {
    parts: MappedRing,
    place: Beneath,
    producer: Watch,
    /// Used to check the producer's lock.
    file: File,
    /// A copy of the numbers in the list, in order.
    free: VecDeque<u32>,
    /// The number of chunks that this side has seen taken, and the number of freed chunks.
    taken: u64,
    given: u64,
    out: VecDeque<TakenChunk>,
    /// By entry. Boxed: most entries are never used.
    assemblers: Vec<Option<Box<Assembler>>>,
    /// The entries that were LEFT at the last check.
    left: Vec<bool>,
    /// Writers with an unfinished chunk in this round: their later chunks must wait.
    waits: Vec<bool>,
    buffer: Vec<u8>,
    partial_bytes: usize,
    pub(super) summary: ProducerSummary,
}

/// The amount of data that one turn has read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Drained {
    /// All data that was there.
    All,
    /// As much as one turn allows. There may be more.
    Turn,
}

impl RingReader {
    /// Opens a ring. Returns `None` if it no longer exists, and the reason if it is not a ring.
    pub(super) fn open(place: &Beneath, session: u64) -> Result<Option<Self>, String> {
        let file = match place.open(true) {
            Ok(file) => file,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error.to_string()),
        };
        Self::of(file, place, session).map(Some)
    }

    /// Reads the ring in `file`. `place` is its name, which is removed at the end.
    pub(super) fn of(file: File, place: &Beneath, session: u64) -> Result<Self, String> {
        let size = file.metadata().map_err(|error| error.to_string())?.len();
        let mut bytes = [0u8; size_of::<Header>()];
        file.read_exact_at(&mut bytes, 0).map_err(|error| error.to_string())?;
        // SAFETY: a header is plain numbers without padding, for which any bytes are valid.
        let header = unsafe { bytes.as_ptr().cast::<Header>().read_unaligned() };
        header.check(size)?;
        if header.session != session {
            return Err("it belongs to another session".to_owned());
        }
        let mut name = vec![0; (header.name_len as usize).min(MAX_NAME)];
        file.read_exact_at(&mut name, NAME_OFFSET as u64).map_err(|error| error.to_string())?;
        let map = Mapping::new(file.as_fd(), 0, header.len(), Access::ReadWrite)
            .map_err(|error| error.to_string())?;
        let parts = MappedRing { map: Arc::new(map), header };
        Ok(Self::new(parts, place, file, String::from_utf8_lossy(&name).into_owned()))
    }

    fn new(parts: MappedRing, place: &Beneath, file: File, name: String) -> Self {
        let header = parts.header;
        let slots = header.writers as usize;
        let summary = ProducerSummary { name, pid: header.pid, ..Default::default() };
        Self {
            parts,
            producer: Watch::of(header.identity()),
            place: place.clone(),
            file,
            free: (0..header.chunks).collect(),
            taken: 0,
            given: header.chunks.into(),
            out: VecDeque::new(),
            assemblers: (0..slots).map(|_| None).collect(),
            left: vec![false; slots],
            waits: vec![false; slots],
            buffer: vec![0; header.chunk_size as usize],
            partial_bytes: 0,
            summary,
        }
    }

    /// Returns whether the producer lives. In doubt, returns true. The lock alone is not sufficient: a child
    /// that was cloned from the producer holds it too.
    pub(super) fn is_alive(&self) -> bool {
        is_locked(&self.file) && self.producer.state() != Life::Ended
    }

    /// Returns whether the producer has reacted to the session's end.
    pub(super) fn is_quiet(&self) -> bool {
        self.parts.words().status.load(Ordering::Acquire) == QUIET
    }

    pub(super) fn is_given_up(&self) -> bool {
        self.summary.given_up.is_some()
    }

    fn give_up(&mut self, reason: &str) -> Drained {
        self.summary.given_up = Some(reason.to_owned());
        self.out.clear();
        Drained::All
    }

    /// Reads finished fragments. `now` is in milliseconds. A chunk that was idle for `idle_limit`
    /// milliseconds is reclaimed. If `is_dead`, no writer writes any more, and every chunk is reclaimed.
    pub(super) fn drain(
        &mut self,
        now: u64,
        idle_limit: u64,
        is_dead: bool,
        sequences: &mut u32,
        to: &mut dyn PacketSink,
    ) -> Drained {
        if self.is_given_up() {
            return Drained::All;
        }
        // All chunks taken up to here are read below, in the order in which they were taken.
        let taken = self.parts.free().taken();
        if taken.wrapping_sub(self.taken) > self.free.len() as u64 {
            return self.give_up("its writers have taken more chunks than it has");
        }
        while self.taken != taken {
            let Some(chunk) = self.free.pop_front() else { break };
            let word = Word(0);
            self.out.push_back(TakenChunk { chunk, read: 0, at: 0, word, since: now, is_begun: false });
            self.taken = self.taken.wrapping_add(1);
        }
        // If few chunks are free, idle ones are reclaimed at once.
        let idle_limit = if self.free.len() < self.parts.header.chunks as usize / 8 { 0 } else { idle_limit };
        self.waits.fill(false);
        let (mut done, mut index) = (0, 0);
        while index < self.out.len() && done < MAX_CHUNKS_PER_TURN {
            if self.visit(index, now, idle_limit, is_dead, sequences, to) {
                let Some(out) = self.out.remove(index) else { break };
                self.give(out.chunk);
                done += 1;
            } else {
                index += 1;
            }
        }
        if done > 0 {
            self.parts.words().room.notify();
        }
        if done == MAX_CHUNKS_PER_TURN { Drained::Turn } else { Drained::All }
    }

    /// Returns a chunk to the list.
    fn give(&mut self, chunk: u32) {
        self.parts.chunk(chunk).word.free();
        self.parts.free().give(self.given, chunk);
        self.given = self.given.wrapping_add(1);
        self.free.push_back(chunk);
    }

    /// Reads new fragments of a chunk. Returns whether the chunk is done and can be freed.
    fn visit(
        &mut self,
        index: usize,
        now: u64,
        idle_limit: u64,
        is_dead: bool,
        sequences: &mut u32,
        to: &mut dyn PacketSink,
    ) -> bool {
        let out = &mut self.out[index];
        let chunk = self.parts.chunk(out.chunk);
        let mut word = chunk.word.load();
        if word != out.word {
            (out.word, out.since) = (word, now);
        }
        let slot = word.writer() as usize;
        match word.state() {
            // The writer has taken the chunk but not begun it, or died in between.
            Some(State::Free) => return is_dead,
            Some(_) if slot < self.assemblers.len() => {}
            _ => {
                self.summary.malformed += 1;
                return true;
            }
        }
        if self.waits[slot] {
            return false;
        }
        if word.state() == Some(State::Idle)
            && (is_dead || now - out.since >= idle_limit)
            && chunk.word.reclaim(word)
        {
            word = word.with(State::Complete);
        }
        let is_done = is_dead || word.state() == Some(State::Complete);
        if !out.is_begun || out.read != word.count() || is_done {
            self.read(index, word, is_done, sequences, to);
        }
        self.waits[slot] = !is_done;
        is_done
    }

    fn read(
        &mut self,
        index: usize,
        word: Word,
        is_done: bool,
        sequences: &mut u32,
        to: &mut dyn PacketSink,
    ) {
        let out = &mut self.out[index];
        let slot = word.writer();
        let header = self.parts.chunk(out.chunk);
        let number = header.number.load(Ordering::Relaxed);
        let lost = header.lost.load(Ordering::Relaxed);
        let place = &mut self.assemblers[slot as usize];
        if let Some(assembler) = place
            && assembler.number != number
        {
            let entry = self.parts.entry(slot.into());
            if entry.number.load(Ordering::Relaxed) == assembler.number {
                read_counts(assembler, entry);
            }
            self.partial_bytes -= assembler.partial_bytes();
            add_writer(&mut self.summary, assembler.finish(to));
            *place = None;
        }
        let assembler = place.get_or_insert_with(|| {
            *sequences = sequences.wrapping_add(1).max(2);
            let thread = self.parts.entry(slot.into()).thread.load(Ordering::Relaxed);
            Box::new(Assembler::new(number, *sequences, thread))
        });
        let before = assembler.partial_bytes();
        if !out.is_begun {
            (out.is_begun, out.at) = (true, CHUNK_HEADER);
            assembler.begin_chunk(ChunkHead { word, lost });
        }
        // A count that has decreased is corrupt, and yields no new fragments.
        let word = if is_done { word.with(State::Complete) } else { word };
        let fragments = word.count().saturating_sub(out.read);
        let end = copy(&self.parts, out.chunk, fragments, out.at, &mut self.buffer);
        let (at, malformed) = assembler.read(&self.buffer[..end], word, out.read, out.at, to);
        (out.at, out.read) = (at, word.count().max(out.read));
        self.summary.malformed += malformed;
        self.partial_bytes = self.partial_bytes + assembler.partial_bytes() - before;
        if self.partial_bytes > 2 * MAX_PACKET {
            self.partial_bytes -= assembler.partial_bytes();
            self.summary.malformed += 1;
            assembler.abandon();
        }
    }

    /// Ends the sequences of writers that have left, when none of their chunks is taken any more.
    pub(super) fn free_left_entries(&mut self, to: &mut dyn PacketSink) {
        if self.is_given_up() {
            return;
        }
        self.waits.fill(false);
        for out in &self.out {
            if let Some(waits) = self.waits.get_mut(self.parts.chunk(out.chunk).word.load().writer() as usize)
            {
                *waits = true;
            }
        }
        for slot in 0..self.parts.header.writers {
            let entry = self.parts.entry(slot);
            // Acquire: also loads the writer's last counts, and the word of its last chunk, which was handed
            // in before.
            let has_left = entry.state.load(Ordering::Acquire) == EntryState::Left as u32;
            let known = &mut self.left[slot as usize];
            // The chunks that the writer handed in were taken before it left, so they are read before the
            // second check.
            if has_left && *known && !self.waits[slot as usize] {
                self.end_writer(slot, to);
                self.left[slot as usize] = false;
                let entry = self.parts.entry(slot);
                entry.state.store(EntryState::Free as u32, Ordering::Release);
            } else {
                *known = has_left;
            }
        }
    }

    fn end_writer(&mut self, slot: u32, to: &mut dyn PacketSink) {
        let entry = self.parts.entry(slot);
        let number = entry.number.load(Ordering::Relaxed);
        let state = entry.state.load(Ordering::Relaxed);
        let assembler = match self.assemblers[slot as usize].take() {
            Some(mut assembler) if assembler.number != number => {
                self.partial_bytes -= assembler.partial_bytes();
                add_writer(&mut self.summary, assembler.finish(to));
                None
            }
            assembler => assembler,
        };
        let assembler = match assembler {
            // A writer that has lost all its packets.
            None if state != EntryState::Free as u32 && number != 0 => {
                let thread = entry.thread.load(Ordering::Relaxed);
                Some(Box::new(Assembler::new(number, 0, thread)))
            }
            assembler => assembler,
        };
        if let Some(mut assembler) = assembler {
            read_counts(&mut assembler, entry);
            self.partial_bytes -= assembler.partial_bytes();
            add_writer(&mut self.summary, assembler.finish(to));
        }
    }

    /// Completes the summary, and removes the file.
    pub(super) fn finish(&mut self, ended: bool, to: &mut dyn PacketSink) -> ProducerSummary {
        (0..self.parts.header.writers).for_each(|slot| self.end_writer(slot, to));
        let words = self.parts.words();
        self.summary.unregistered_writers = Lost {
            packets: words.unregistered_packets.load(Ordering::Relaxed),
            bytes: words.unregistered_bytes.load(Ordering::Relaxed),
        };
        self.summary.ended = ended;
        let _ = self.place.remove();
        std::mem::take(&mut self.summary)
    }
}

/// Copies the counts from a writer's entry.
fn read_counts(assembler: &mut Assembler, entry: &WriterEntry) {
    assembler.summary.finished = entry.packets.load(Ordering::Relaxed);
    assembler.summary.lost = Lost {
        packets: entry.lost_packets.load(Ordering::Relaxed),
        bytes: entry.lost_bytes.load(Ordering::Relaxed),
    };
}

fn add_writer(summary: &mut ProducerSummary, writer: WriterSummary) {
    if writer.packets == 0 && writer.finished == 0 && writer.lost.packets == 0 && writer.unfinished == 0 {
        return;
    }
    let is_full = summary.writers.len() >= MAX_WRITER_SUMMARIES;
    match summary.writers.last_mut() {
        Some(last) if is_full => {
            last.packets += writer.packets;
            last.finished = last.finished.saturating_add(writer.finished);
            last.lost.packets = last.lost.packets.saturating_add(writer.lost.packets);
            last.lost.bytes = last.lost.bytes.saturating_add(writer.lost.bytes);
            last.unfinished += writer.unfinished;
        }
        _ => summary.writers.push(writer),
    }
}

/// Copies fragments from an offset, so that the checks work on bytes that cannot change. Returns the offset
/// behind them.
///
/// Finished fragments do not change, and the word that counts them was loaded with acquire ordering, so this
/// is not a race. A process that changes them nevertheless corrupts only its own packets.
fn copy(parts: &MappedRing, chunk: u32, fragments: u32, at: usize, buffer: &mut [u8]) -> usize {
    let start = parts.map.base().wrapping_add(parts.chunk_offset(chunk));
    let mut end = at;
    for _ in 0..fragments {
        if end + PREFIX > buffer.len() {
            break;
        }
        // SAFETY: the prefix lies in the chunk, which lies in the mapping.
        let prefix = unsafe { start.add(end).cast::<[u8; PREFIX]>().read_volatile() };
        end += PREFIX + (u16::from_le_bytes(prefix) & !PATCHES) as usize;
    }
    let end = end.min(buffer.len());
    // SAFETY: the range lies in the chunk, and the buffer is as long as that.
    unsafe { start.add(at).copy_to_nonoverlapping(buffer.as_mut_ptr().add(at), end - at) };
    end
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::Ordering;
    use std::time::Duration;

    use situ_memory::Root;

    use super::*;
    use crate::producer::session_state::SessionState;
    use crate::producer::writer::Writer;
    use crate::shm::control::Control;
    use crate::shm::ring::Ring;
    use crate::shm::session::{Policy, Session};

    /// The number of packets that came, by sequence. Each packet contains the number of packets before it.
    struct Counted(Vec<u64>);

    impl PacketSink for Counted {
        fn put(&mut self, sequence: u32, packet: &[u8], _: &[u8]) {
            self.0.resize(self.0.len().max(sequence as usize + 1), 0);
            let count = &mut self.0[sequence as usize];
            let first = situ_wire::protobuf::Fields::new(packet).next().unwrap().unwrap();
            assert_eq!(first.value, situ_wire::protobuf::Value::Fixed64(*count));
            *count += 1;
        }

        fn end(&mut self, _: u32) {}
    }

    /// Writers and the collector share one mapping, because ThreadSanitizer compares addresses.
    #[test]
    fn writers_and_the_collector_share_one_mapping_without_a_race() {
        const THREADS: u64 = 3;
        const PACKETS: u64 = 3000;
        let directory =
            std::path::PathBuf::from(format!("/dev/shm/situ-test-trace-race-{}", std::process::id()));
        let root = Root::at(&directory, None);
        let control = Arc::new(Control::open(&root).unwrap());
        let session = Session {
            generation: 1,
            id: 5,
            categories: String::new(),
            collector_pid: 0,
            ring_bytes: 8 << 10,
            chunk_bytes: 512,
            policy: Policy::Stall { at_most: Duration::from_secs(60) },
        };
        let ring = Ring::create(&root, &Beneath::from(&directory), &session, "race", &control).unwrap();
        let parts = MappedRing { map: ring.parts.map.clone(), header: ring.parts.header };
        let file = File::open(directory.join("trace/control")).unwrap();
        let mut reader =
            RingReader::new(parts, &Beneath::from("/dev/shm/situ-no-such-file"), file, String::new());
        let shared = SessionState::new(Some(Arc::new(ring)), None, Duration::MAX);
        let left = std::sync::atomic::AtomicU64::new(THREADS);
        let mut counted = Counted(Vec::new());
        std::thread::scope(|scope| {
            for _ in 0..THREADS {
                let (shared, left) = (shared.clone(), &left);
                scope.spawn(move || {
                    let mut writer = Writer::new(shared);
                    for number in 0..PACKETS {
                        let mut packet = writer.packet().unwrap();
                        let mut message = packet.message();
                        message.fixed64(1, number);
                        message.message(2).bytes(3, &[7; 2000][..(number % 16 * (number % 8) * 15) as usize]);
                    }
                    left.fetch_sub(1, Ordering::Release);
                });
            }
            let mut sequences = 0;
            for now in 0.. {
                let all_left = left.load(Ordering::Acquire) == 0;
                // Idle chunks are reclaimed in each round.
                reader.drain(now, 0, false, &mut sequences, &mut counted);
                if all_left {
                    while reader.drain(now, 0, false, &mut sequences, &mut counted) == Drained::Turn {}
                    break;
                }
                std::thread::yield_now();
            }
        });
        let summary = reader.finish(true, &mut counted);
        std::fs::remove_dir_all(directory).unwrap();
        assert_eq!(summary.malformed, 0);
        assert_eq!(
            counted.0.iter().filter(|count| **count == PACKETS).count() as u64,
            THREADS,
            "{:?}",
            counted.0
        );
        assert_eq!(counted.0.iter().sum::<u64>(), THREADS * PACKETS);
    }
}
