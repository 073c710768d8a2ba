//! Interprets any bytes as the actions of a producer on its ring: for fuzzing, and for regression tests.
//!
//! The bytes are a program. It creates a ring and stores any values into it. Between its stores the collector
//! reads. The result is checked against the collector's guarantees for every producer, honest or not.

use std::fs::File;
use std::io::{self, Write};
use std::mem::offset_of;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use situ_memory::Beneath;

use crate::reader::ReadTrace;
use crate::shm::format::{CHUNK_HEADER, ChunkHeader, Header, PATCHES, WORDS_OFFSET, Words, WriterEntry};

use super::assembler::PacketSink;
use super::kept_categories::KeptCategories;
use super::ring_reader::{Drained, RingReader};
use super::sink::TraceOutput;

const SESSION: u64 = 1;
/// The size of the ring in memory: small, so that packets are evicted.
const KEPT: usize = 2000;

/// Memory for some categories, so that evicted events are also rewritten.
fn kept() -> Vec<KeptCategories> {
    ["", "b*"].map(|pattern| KeptCategories { pattern: pattern.to_owned(), bytes: KEPT }).into()
}

/// Takes numbers from the front of the bytes, and zeroes after their end.
struct Program<'a>(&'a [u8]);

impl Program<'_> {
    fn byte(&mut self) -> u8 {
        self.0.split_off_first().copied().unwrap_or(0)
    }

    /// Returns a number, usually small and sometimes large.
    fn number(&mut self) -> u64 {
        match self.byte() {
            small @ 0..=250 => small.into(),
            251 => u64::MAX - u64::from(self.byte()),
            _ => u64::from_le_bytes(std::array::from_fn(|_| self.byte())),
        }
    }
}

/// A writer whose bytes can be read while it is in use.
#[derive(Clone, Default)]
struct SharedBuffer(Arc<Mutex<Vec<u8>>>);

impl Write for SharedBuffer {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Writes to a file and to a ring in memory.
struct FileAndRing {
    file: TraceOutput,
    ring: TraceOutput,
    packets: u64,
}

impl PacketSink for FileAndRing {
    fn put(&mut self, sequence: u32, packet: &[u8], added: &[u8]) {
        self.packets += 1;
        self.file.put(sequence, packet, added);
        self.ring.put(sequence, packet, added);
    }

    fn end(&mut self, sequence: u32) {
        self.ring.end(sequence);
    }
}

/// Runs a program, and returns the trace.
pub fn collect_any(bytes: &[u8]) -> Vec<u8> {
    let mut program = Program(bytes);
    let shape = program.byte();
    let (size, chunks) = (256u32 << (shape & 3), 4 + u64::from(shape >> 2));
    let header = Header::new(1, SESSION, chunks * u64::from(size), size, program.byte().into());
    let file = File::from(rustix::fs::memfd_create("ring", rustix::fs::MemfdFlags::CLOEXEC).expect("memory"));
    file.set_len(header.len() as u64).expect("memory");
    // SAFETY: a header is plain numbers without padding.
    let plain = unsafe { &*(&raw const header).cast::<[u8; size_of::<Header>()]>() };
    file.write_all_at(plain, 0).expect("the file is that long");
    for _ in 0..program.byte() / 64 {
        // Corrupts a byte or two of the header.
        let (at, byte) = (program.byte(), program.byte());
        file.write_all_at(&[byte], u64::from(at) % size_of::<Header>() as u64)
            .expect("the file is that long");
    }
    // The path does not exist, so there is nothing to remove at the end.
    let other = file.try_clone().expect("a descriptor");
    let Ok(mut reader) = RingReader::of(other, &Beneath::from(""), SESSION) else { return Vec::new() };

    let written = SharedBuffer::default();
    let mut both = FileAndRing {
        file: TraceOutput::to_writer(Box::new(written.clone())),
        ring: TraceOutput::to_ring(Path::new("/dev/null"), KEPT, kept(), None)
            .expect("/dev/null accepts every write"),
        packets: 0,
    };
    let (mut now, mut sequences) = (0u64, 1);
    while !program.0.is_empty() {
        match program.byte() % 4 {
            0 => {
                now += u64::from(program.byte());
                reader.drain(now, program.byte().into(), false, &mut sequences, &mut both);
            }
            1 => reader.free_left_entries(&mut both),
            _ => store(&mut program, &header, &file),
        }
    }
    // As for a dead producer.
    let mut rounds = 0;
    while reader.drain(u64::MAX, u64::MAX, true, &mut sequences, &mut both) == Drained::Turn {
        rounds += 1;
        assert!(rounds <= chunks, "no writer is left, but reading does not end");
    }
    let summary = reader.finish(true, &mut both);
    both.file.finish().expect("memory");
    both.ring.finish().expect("/dev/null accepts every write");

    let trace = std::mem::take(&mut *written.0.lock().unwrap_or_else(PoisonError::into_inner));
    let read = ReadTrace::read(&trace);
    assert_eq!(read.troubles.unread_bytes, 0, "the trace consists of whole packets");
    assert_eq!(read.packets, both.packets);
    assert_eq!(summary.writers.iter().map(|writer| writer.packets).sum::<u64>(), both.packets);
    trace
}

/// Stores something into the ring: into its words, its list, the entries of its first writers, or its chunks.
fn store(program: &mut Program<'_>, header: &Header, file: &File) {
    let chunk = |program: &mut Program<'_>| {
        header.chunks_offset
            + u64::from(program.byte()) % u64::from(header.chunks) * u64::from(header.chunk_size)
    };
    let (at, bytes) = match program.byte() % 8 {
        0 => {
            let at = WORDS_OFFSET as u64 + u64::from(program.byte()) * 8 % size_of::<Words>() as u64;
            (at, program.number().to_le_bytes().to_vec())
        }
        // Takes one more chunk.
        1 => {
            let mut head = [0; 8];
            let at = (WORDS_OFFSET + offset_of!(Words, head)) as u64;
            file.read_exact_at(&mut head, at).expect("the file is that long");
            (at, u64::from_le_bytes(head).wrapping_add(1).to_le_bytes().to_vec())
        }
        2 => {
            let at = header.list_offset + u64::from(program.byte()) % u64::from(header.chunks) * 4;
            (at, (program.number() as u32).to_le_bytes().to_vec())
        }
        3 => {
            let (slot, field) = (program.byte() % 4, program.byte() % 5);
            let at = header.writers_offset + u64::from(slot) * size_of::<WriterEntry>() as u64;
            (at + u64::from(field) * 8, program.number().to_le_bytes().to_vec())
        }
        4 => {
            let at = chunk(program) + offset_of!(ChunkHeader, word) as u64;
            let (writer, count, rest) = (program.number(), program.number(), program.byte());
            let word = (writer as u32) << 16 | (count as u32 & 0x7ff) << 5 | u32::from(rest & 31);
            (at, word.to_le_bytes().to_vec())
        }
        5 => (chunk(program) + 4 * u64::from(program.byte() % 4), program.byte().to_le_bytes().to_vec()),
        // A fragment with its length in front.
        kind => {
            let at = chunk(program) + CHUNK_HEADER as u64 + u64::from(program.byte());
            let length = usize::from(program.byte()).min(program.0.len());
            let patches = if kind == 6 { 0 } else { PATCHES };
            let mut bytes = (length as u16 | patches).to_le_bytes().to_vec();
            bytes.extend(program.0.split_off(..length).unwrap_or_default());
            (at, bytes)
        }
    };
    let room = (header.len() as u64).saturating_sub(at).min(bytes.len() as u64) as usize;
    file.write_all_at(&bytes[..room], at).expect("the file is that long");
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Takes a chunk, stores a fragment, and stores the word that counts it.
    const SENSIBLE: [u8; 20] = [0, 0, 0, 2, 1, 2, 6, 0, 0, 2, 0x40, 7, 2, 4, 0, 0, 1, 2, 0, 1];

    #[test]
    fn a_program_writes_a_packet() {
        // Timestamp (8) 7, on sequence (10) 2, and the mark of its first packet (87).
        let packet = [0x40, 7, 0x50, 2, 0xb8, 5, 1];
        assert_eq!(collect_any(&SENSIBLE), [&[0x0a, packet.len() as u8][..], &packet].concat());
    }

    #[test]
    fn inputs_found_by_fuzzing_break_no_guarantee() {
        let learned = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fuzz/corpus/trace_collector");
        let programs: Vec<_> =
            std::fs::read_dir(learned).unwrap().map(|entry| entry.unwrap().path()).collect();
        assert!(programs.len() > 100);
        for program in programs {
            collect_any(&std::fs::read(program).unwrap());
        }
    }

    #[test]
    fn random_programs_break_no_guarantee() {
        let mut state = 0x9e37_79b9_7f4a_7c15u64;
        let mut next = || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state
        };
        let mut packets = 0;
        for _ in 0..3000 {
            let mut program = SENSIBLE.to_vec();
            program.extend((0..next() % 300).map(|_| next() as u8));
            for _ in 0..next() % 6 {
                let at = next() as usize % program.len();
                program[at] = next() as u8;
            }
            packets += ReadTrace::read(&collect_any(&program)).packets;
        }
        assert!(packets > 1000, "most of them write something: {packets}");
    }
}
