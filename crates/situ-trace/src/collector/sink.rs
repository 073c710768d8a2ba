//! Where the trace goes: straight to a file, or into memory that keeps what is newest.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use super::assembler::Packets;
use super::evicted_state::States;

/// In front of each packet: `Trace.packet`, field 1, bytes.
const PACKET_TAG: u8 = 0x0a;
/// How much is written at once.
const BUFFER: usize = 256 << 10;

/// Writes a trace.
pub(super) struct Output {
    kind: Kind,
    /// The first error; nothing is written after it.
    error: Option<io::Error>,
    pub(super) bytes: u64,
    pub(super) evicted: u64,
}

enum Kind {
    Stream(Box<dyn Write + Send>),
    Ring { path: PathBuf, ring: Box<Ring> },
}

/// The newest packets, and what older ones said that they still depend on.
struct Ring {
    most: usize,
    packets: VecDeque<Kept>,
    bytes: usize,
    states: States,
}

struct Kept {
    sequence: u32,
    bytes: Box<[u8]>,
}

/// What a packet in memory takes beside its bytes.
const OVERHEAD: usize = size_of::<Kept>() + 16;

impl Ring {
    fn push(&mut self, sequence: u32, bytes: Box<[u8]>) -> u64 {
        self.bytes += bytes.len() + OVERHEAD;
        self.states.come(sequence);
        self.packets.push_back(Kept { sequence, bytes });
        let mut evicted = 0;
        while self.bytes + self.states.bytes() > self.most
            && let Some(kept) = self.packets.pop_front()
        {
            self.bytes -= kept.bytes.len() + OVERHEAD;
            self.states.leave(kept.sequence, &kept.bytes, self.most / 2);
            evicted += 1;
        }
        evicted
    }
}

impl Output {
    fn new(kind: Kind) -> Self {
        Self { kind, error: None, bytes: 0, evicted: 0 }
    }

    pub(super) fn to_writer(writer: Box<dyn Write + Send>) -> Self {
        Self::new(Kind::Stream(Box::new(BufWriter::with_capacity(BUFFER, writer))))
    }

    pub(super) fn to_file(path: &Path) -> io::Result<Self> {
        Ok(Self::to_writer(Box::new(File::create(path)?)))
    }

    /// Keeps the newest `most` bytes in memory, and writes them when it is finished.
    pub(super) fn to_ring(path: &Path, most: usize) -> io::Result<Self> {
        // Now, so that a path that cannot be written is an error now.
        File::create(path)?;
        let ring = Ring { most, packets: VecDeque::new(), bytes: 0, states: States::default() };
        Ok(Self::new(Kind::Ring { path: path.to_owned(), ring: Box::new(ring) }))
    }

    fn write(&mut self, parts: &[&[u8]]) {
        let Kind::Stream(writer) = &mut self.kind else { return };
        if self.error.is_some() {
            return;
        }
        match write_packet(writer, parts) {
            Ok(bytes) => self.bytes += bytes,
            Err(error) => self.error = Some(error),
        }
    }

    /// Hands everything to the system that is ready, so that others see it.
    pub(super) fn flush(&mut self) {
        if let Kind::Stream(writer) = &mut self.kind
            && self.error.is_none()
        {
            self.error = writer.flush().err();
        }
    }

    /// Whether something has gone wrong already.
    pub(super) fn has_failed(&self) -> bool {
        self.error.is_some()
    }

    /// Writes what is left. The first error, if there was one.
    pub(super) fn finish(&mut self) -> io::Result<()> {
        if let Kind::Ring { path, ring } = &mut self.kind {
            let file = File::create(path)?;
            let mut writer = BufWriter::with_capacity(BUFFER, file);
            for packet in ring.states.packets() {
                self.bytes += write_packet(&mut writer, &[packet])?;
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

impl Packets for Output {
    fn put(&mut self, sequence: u32, packet: &[u8], added: &[u8]) {
        if let Kind::Ring { ring, .. } = &mut self.kind {
            self.evicted += ring.push(sequence, [packet, added].concat().into());
        } else {
            self.write(&[packet, added]);
        }
    }

    fn end(&mut self, sequence: u32) {
        if let Kind::Ring { ring, .. } = &mut self.kind {
            ring.states.end(sequence);
        }
    }
}

fn write_packet(writer: &mut impl Write, parts: &[&[u8]]) -> io::Result<u64> {
    let mut front = [PACKET_TAG; 11];
    let len: usize = parts.iter().map(|part| part.len()).sum();
    let (mut at, mut rest) = (1, len);
    while rest >= 0x80 {
        front[at] = rest as u8 | 0x80;
        (at, rest) = (at + 1, rest >> 7);
    }
    front[at] = rest as u8;
    writer.write_all(&front[..=at])?;
    parts.iter().try_for_each(|part| writer.write_all(part))?;
    Ok((at + 1 + len) as u64)
}
