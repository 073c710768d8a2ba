//! Writes the trace to a file, or to memory that keeps the newest packets.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use super::assembler::{PacketSink, varint};
use super::clocks;
use super::evicted_state::EvictedState;

/// The tag of `Trace.packet` (field 1, bytes), which precedes each packet.
const PACKET_TAG: u8 = 0x0a;
/// The number of bytes that are written at once.
const BUFFER: usize = 256 << 10;

/// Writes a trace.
pub(super) struct TraceOutput {
    target: Target,
    /// The first error. Nothing is written after it.
    error: Option<io::Error>,
    pub(super) bytes: u64,
    pub(super) evicted: u64,
}

enum Target {
    Stream(Box<dyn Write + Send>),
    Ring { path: PathBuf, ring: Box<PacketRing> },
}

/// The newest packets, and the state from evicted packets that the newest ones need.
struct PacketRing {
    limit: usize,
    packets: VecDeque<KeptPacket>,
    bytes: usize,
    evicted_state: EvictedState,
}

struct KeptPacket {
    sequence: u32,
    bytes: Box<[u8]>,
}

/// The memory that a kept packet takes in addition to its bytes.
const OVERHEAD: usize = size_of::<KeptPacket>() + 16;

impl PacketRing {
    fn push(&mut self, sequence: u32, bytes: Box<[u8]>) -> u64 {
        self.bytes += bytes.len() + OVERHEAD;
        self.evicted_state.packet_kept(sequence);
        self.packets.push_back(KeptPacket { sequence, bytes });
        let mut evicted = 0;
        while self.bytes + self.evicted_state.bytes() > self.limit
            && let Some(kept) = self.packets.pop_front()
        {
            self.bytes -= kept.bytes.len() + OVERHEAD;
            self.evicted_state.packet_evicted(kept.sequence, &kept.bytes, self.limit / 2);
            evicted += 1;
        }
        evicted
    }
}

impl TraceOutput {
    fn new(target: Target) -> Self {
        Self { target, error: None, bytes: 0, evicted: 0 }
    }

    pub(super) fn to_writer(writer: Box<dyn Write + Send>) -> Self {
        Self::new(Target::Stream(Box::new(BufWriter::with_capacity(BUFFER, writer))))
    }

    pub(super) fn to_file(path: &Path) -> io::Result<Self> {
        Ok(Self::to_writer(Box::new(File::create(path)?)))
    }

    /// Keeps the newest `limit` bytes in memory, and writes them at the end.
    pub(super) fn to_ring(path: &Path, limit: usize) -> io::Result<Self> {
        // Fails now if the path cannot be written.
        File::create(path)?;
        let ring =
            PacketRing { limit, packets: VecDeque::new(), bytes: 0, evicted_state: EvictedState::default() };
        Ok(Self::new(Target::Ring { path: path.to_owned(), ring: Box::new(ring) }))
    }

    fn write(&mut self, parts: &[&[u8]]) {
        let Target::Stream(writer) = &mut self.target else { return };
        if self.error.is_some() {
            return;
        }
        match write_packet(writer, parts) {
            Ok(bytes) => self.bytes += bytes,
            Err(error) => self.error = Some(error),
        }
    }

    /// Writes buffered packets to the file, so that other processes can read them.
    pub(super) fn flush(&mut self) {
        if let Target::Stream(writer) = &mut self.target
            && self.error.is_none()
        {
            self.error = writer.flush().err();
        }
    }

    /// Whether writing has failed.
    pub(super) fn has_failed(&self) -> bool {
        self.error.is_some()
    }

    /// Writes the rest. Returns the first error, if there was one.
    pub(super) fn finish(&mut self) -> io::Result<()> {
        if let Target::Ring { path, ring } = &mut self.target {
            let file = File::create(path)?;
            let mut writer = BufWriter::with_capacity(BUFFER, file);
            for packet in ring.evicted_state.packets() {
                self.bytes += write_packet(&mut writer, &[packet])?;
            }
            for (sequence, at_ns) in ring.evicted_state.clocks() {
                self.bytes += write_packet(&mut writer, &[&clocks::sequence_begins(sequence, at_ns)])?;
            }
            for kept in &ring.packets {
                self.bytes += write_packet(&mut writer, &[&kept.bytes])?;
            }
            return writer.flush();
        }
        self.flush();
        self.error.take().map_or(Ok(()), Err)
    }
}

impl PacketSink for TraceOutput {
    fn put(&mut self, sequence: u32, packet: &[u8], added: &[u8]) {
        if let Target::Ring { ring, .. } = &mut self.target {
            self.evicted += ring.push(sequence, [packet, added].concat().into());
        } else {
            self.write(&[packet, added]);
        }
    }

    fn end(&mut self, sequence: u32) {
        if let Target::Ring { ring, .. } = &mut self.target {
            ring.evicted_state.sequence_ended(sequence);
        }
    }
}

fn write_packet(writer: &mut impl Write, parts: &[&[u8]]) -> io::Result<u64> {
    let mut front = [PACKET_TAG; 11];
    let len: usize = parts.iter().map(|part| part.len()).sum();
    let at = varint(&mut front, 1, len as u64);
    writer.write_all(&front[..at])?;
    parts.iter().try_for_each(|part| writer.write_all(part))?;
    Ok((at + len) as u64)
}
