//! Writes the trace to a file, or to memory that keeps the newest packets.

use std::collections::VecDeque;
use std::fs::{File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use super::assembler::{PacketSink, varint};
use super::clocks;
use super::evicted_state::EvictedState;
use super::kept_categories::{KeptCategories, KeptEvents};
use super::trigger::{Trigger, TriggerWatch};

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
    /// The files that were written.
    pub(super) files: Vec<PathBuf>,
}

enum Target {
    Stream(Box<dyn Write + Send>),
    Ring { path: PathBuf, ring: Box<PacketRing>, watch: Option<Box<TriggerWatch>> },
}

/// The newest packets, and the state from evicted packets that the newest ones need.
struct PacketRing {
    limit: usize,
    packets: VecDeque<KeptPacket>,
    bytes: usize,
    evicted_state: EvictedState,
    kept: KeptEvents,
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
            let KeptPacket { sequence, bytes } = kept;
            self.bytes -= bytes.len() + OVERHEAD;
            let clock_ns = self.evicted_state.clock_of(sequence);
            self.evicted_state.packet_evicted(sequence, &bytes, self.limit / 2);
            evicted += self.kept.packet_evicted(sequence, &bytes, clock_ns);
            if !self.evicted_state.has(sequence) {
                self.kept.sequence_done(sequence);
            }
        }
        evicted
    }

    /// Writes all packets into a file. Returns its size.
    fn write(&self, path: &Path) -> io::Result<u64> {
        let mut writer = BufWriter::with_capacity(BUFFER, File::create(path)?);
        let mut bytes = 0;
        for packet in self.kept.packets() {
            bytes += write_packet(&mut writer, &[&packet])?;
        }
        for packet in self.evicted_state.packets() {
            bytes += write_packet(&mut writer, &[packet])?;
        }
        for (sequence, at_ns) in self.evicted_state.clocks() {
            bytes += write_packet(&mut writer, &[&clocks::sequence_begins(sequence, at_ns)])?;
        }
        for kept in &self.packets {
            bytes += write_packet(&mut writer, &[&kept.bytes])?;
        }
        writer.flush()?;
        Ok(bytes)
    }
}

impl TraceOutput {
    fn new(target: Target) -> Self {
        Self { target, error: None, bytes: 0, evicted: 0, files: Vec::new() }
    }

    pub(super) fn to_writer(writer: Box<dyn Write + Send>) -> Self {
        Self::new(Target::Stream(Box::new(BufWriter::with_capacity(BUFFER, writer))))
    }

    pub(super) fn to_file(path: &Path) -> io::Result<Self> {
        let output = Self::to_writer(Box::new(File::create(path)?));
        Ok(Self { files: vec![path.to_owned()], ..output })
    }

    /// Keeps the newest `limit` bytes in memory, and events of some categories for longer. Writes them at the
    /// end, or when a trigger fires.
    pub(super) fn to_ring(
        path: &Path,
        limit: usize,
        kept: Vec<KeptCategories>,
        trigger: Option<Trigger>,
    ) -> io::Result<Self> {
        // Fails now if the path cannot be written.
        match &trigger {
            None => drop(File::create(path)?),
            Some(trigger) => check_writable(&trigger.path(path, 1))?,
        }
        let ring = PacketRing {
            limit,
            packets: VecDeque::new(),
            bytes: 0,
            evicted_state: EvictedState::default(),
            kept: KeptEvents::new(kept),
        };
        let watch = trigger.map(|trigger| Box::new(TriggerWatch::new(trigger)));
        Ok(Self::new(Target::Ring { path: path.to_owned(), ring: Box::new(ring), watch }))
    }

    /// Writes the memory into a file, if a trigger has fired some time ago, or the session ends.
    pub(super) fn write_due(&mut self, ends: bool) {
        let Target::Ring { path, ring, watch: Some(watch) } = &mut self.target else { return };
        let Some(file) = watch.take_due(path, ends) else { return };
        match ring.write(&file) {
            Ok(bytes) => {
                self.bytes += bytes;
                self.files.push(file);
            }
            Err(error) => self.error = self.error.take().or(Some(error)),
        }
    }

    /// Whether a trigger has written its last file.
    pub(super) fn is_done(&self) -> bool {
        matches!(&self.target, Target::Ring { watch: Some(watch), .. } if watch.is_done())
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
        self.write_due(true);
        if let Target::Ring { path, ring, watch: None } = &mut self.target {
            self.bytes += ring.write(path)?;
            self.files.push(path.clone());
        }
        self.flush();
        self.error.take().map_or(Ok(()), Err)
    }
}

impl PacketSink for TraceOutput {
    fn put(&mut self, sequence: u32, packet: &[u8], added: &[u8]) {
        if let Target::Ring { ring, watch, .. } = &mut self.target {
            if let Some(watch) = watch {
                watch.look(sequence, packet);
            }
            self.evicted += ring.push(sequence, [packet, added].concat().into());
        } else {
            self.write(&[packet, added]);
        }
    }

    fn end(&mut self, sequence: u32) {
        if let Target::Ring { ring, watch, .. } = &mut self.target {
            ring.evicted_state.sequence_ended(sequence);
            if let Some(watch) = watch {
                watch.end(sequence);
            }
        }
    }
}

/// Checks that a file can be written, and changes nothing.
fn check_writable(path: &Path) -> io::Result<()> {
    let is_new = !path.exists();
    OpenOptions::new().append(true).create(true).open(path)?;
    if is_new { std::fs::remove_file(path) } else { Ok(()) }
}

fn write_packet(writer: &mut impl Write, parts: &[&[u8]]) -> io::Result<u64> {
    let mut front = [PACKET_TAG; 11];
    let len: usize = parts.iter().map(|part| part.len()).sum();
    let at = varint(&mut front, 1, len as u64);
    writer.write_all(&front[..at])?;
    parts.iter().try_for_each(|part| writer.write_all(part))?;
    Ok((at + len) as u64)
}
