//! The layout of a producer's ring file (`spec/trace.md`).

use situ_memory::process::Identity;
use situ_memory::sync::atomic::{AtomicU32, AtomicU64};
use situ_memory::wake::WakeWord;

use crate::shm::chunk_state::ChunkWord;
use crate::shm::free_list::End;

/// The first bytes of a ring file.
pub const MAGIC: [u8; 8] = *b"SITURING";
/// The version of the format.
pub const VERSION: u32 = 3;
/// The number of writer entries: the maximum number of threads of a producer that write at once.
pub const WRITERS: u32 = 1024;
/// The maximum length of a producer's name, in bytes.
pub const MAX_NAME: usize = 256;

pub(crate) const PAGE: usize = 4096;
pub(crate) const NAME_OFFSET: usize = 1024;
pub(crate) const WORDS_OFFSET: usize = 2048;

/// The sizes that a chunk may have, in bytes.
pub const CHUNK_SIZES: std::ops::RangeInclusive<u32> = 256..=32768;
/// The numbers of chunks that a ring may have.
pub const CHUNKS: std::ops::RangeInclusive<u32> = 4..=65536;

/// The beginning of a ring file. It never changes.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    pub magic: [u8; 8],
    pub version: u32,
    pub header_size: u32,
    /// The ring's random number.
    pub id: u64,
    /// The number of its session.
    pub session: u64,
    pub pid: u32,
    /// In bytes.
    pub chunk_size: u32,
    /// The number of chunks.
    pub chunks: u32,
    /// The number of writer entries.
    pub writers: u32,
    pub list_offset: u64,
    pub writers_offset: u64,
    pub chunks_offset: u64,
    /// The length of the producer's name, in bytes.
    pub name_len: u32,
    pub reserved: u32,
    /// The start time and the namespaces of the process: see [`Identity`].
    pub born: u64,
    pub namespaces: u64,
}

/// The words behind the header, which change.
#[repr(C)]
#[derive(Debug)]
pub struct Words {
    /// The number of chunks that writers have taken: see [`free_list`](crate::shm::free_list).
    pub head: End,
    /// The number of chunks that the collector has freed.
    pub tail: End,
    /// The word on which writers sleep until a chunk is free.
    pub room: WakeWord,
    reserved: [u64; 8],
    /// 0, or [`QUIET`].
    pub status: AtomicU32,
    reserved2: [u32; 31],
    /// Packets, and bytes of packets, lost by threads without a writer entry.
    pub unregistered_packets: AtomicU64,
    pub unregistered_bytes: AtomicU64,
}

/// The producer has reacted to the session's end: packets may still end, but none begins.
pub const QUIET: u32 = 1;

/// A writer's entry. Only its thread stores into it, except for `state`.
#[repr(C, align(64))]
#[derive(Debug)]
pub struct WriterEntry {
    /// An [`EntryState`].
    pub state: AtomicU32,
    /// The writer's number, unique in this ring.
    pub number: AtomicU32,
    /// The system's thread number.
    pub thread: AtomicU32,
    reserved: u32,
    /// The number of packets that the writer finished.
    pub packets: AtomicU64,
    /// The number of packets that the writer lost.
    pub lost_packets: AtomicU64,
    /// The size of the lost packets, in bytes.
    pub lost_bytes: AtomicU64,
    reserved2: [u64; 3],
}

/// The amount of lost data.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Lost {
    /// The number of packets.
    pub packets: u64,
    /// The size of the packets, encoded, in bytes.
    pub bytes: u64,
}

/// The owner of a writer's entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum EntryState {
    /// No owner.
    Free = 0,
    /// A writer.
    Used = 1,
    /// A writer that has left: the collector reads the counts and frees the entry.
    Left = 2,
}

/// The beginning of a chunk.
#[repr(C)]
#[derive(Debug)]
pub struct ChunkHeader {
    /// The owner, and the number of finished fragments.
    pub word: ChunkWord,
    /// The writer's number.
    pub number: AtomicU32,
    /// The number of the chunk among the writer's chunks, from 0, modulo 2^32.
    pub sequence: AtomicU32,
    /// The number of packets that the writer had lost when it took the chunk, modulo 2^32.
    pub lost: AtomicU32,
}

/// The size of [`ChunkHeader`].
pub const CHUNK_HEADER: usize = 16;
/// The size of a fragment's length, which precedes it.
pub const PREFIX: usize = 2;
/// In a fragment's length: the fragment holds patches, not bytes of the packet.
pub const PATCHES: u16 = 1 << 15;
/// The size of a patch: the fragment's number (4 bytes), the offset in it (2), the length (5).
pub const PATCH: usize = 11;

const _: () = {
    assert!(size_of::<Header>() == 96);
    assert!(size_of::<ChunkHeader>() == CHUNK_HEADER);
    assert!(size_of::<WriterEntry>() == 64);
    assert!(size_of::<Words>() == 640);
};

impl Header {
    /// The header of a ring whose chunks have `chunk_size` bytes each and about `bytes` together.
    pub fn new(id: u64, session: u64, bytes: u64, chunk_size: u32, name_len: usize) -> Self {
        let chunk_size = chunk_size.clamp(*CHUNK_SIZES.start(), *CHUNK_SIZES.end()).next_power_of_two();
        let chunks =
            (bytes / u64::from(chunk_size)).clamp((*CHUNKS.start()).into(), (*CHUNKS.end()).into()) as u32;
        let list_offset = PAGE;
        let writers_offset = (list_offset + chunks as usize * 4).next_multiple_of(PAGE);
        let chunks_offset = writers_offset + WRITERS as usize * size_of::<WriterEntry>();
        let Identity { pid, born, namespaces } = Identity::of_this();
        Self {
            magic: MAGIC,
            version: VERSION,
            header_size: size_of::<Self>() as u32,
            id,
            session,
            pid,
            chunk_size,
            chunks,
            writers: WRITERS,
            list_offset: list_offset as u64,
            writers_offset: writers_offset as u64,
            chunks_offset: chunks_offset as u64,
            name_len: name_len as u32,
            reserved: 0,
            born,
            namespaces,
        }
    }

    /// The identity of the producer's process.
    pub fn identity(&self) -> Identity {
        Identity { pid: self.pid, born: self.born, namespaces: self.namespaces }
    }

    /// The length of the file, in bytes.
    pub fn len(&self) -> usize {
        self.chunks_offset as usize + self.chunks as usize * self.chunk_size as usize
    }

    /// Checks a header that another process wrote into a file of `size` bytes. Returns the problem.
    pub fn check(&self, size: u64) -> Result<(), &'static str> {
        if self.magic != MAGIC {
            return Err("it is not a ring file");
        }
        if self.version != VERSION || self.header_size as usize != size_of::<Self>() {
            return Err("its format has another version");
        }
        if !self.chunk_size.is_power_of_two()
            || !CHUNK_SIZES.contains(&self.chunk_size)
            || !CHUNKS.contains(&self.chunks)
        {
            return Err("the number or the size of its chunks is out of range");
        }
        let bytes = u64::from(self.chunks) * u64::from(self.chunk_size);
        let mut like = Self::new(self.id, self.session, bytes, self.chunk_size, self.name_len as usize);
        (like.pid, like.born, like.namespaces) = (self.pid, self.born, self.namespaces);
        if like != *self || self.name_len as usize > MAX_NAME {
            return Err("its offsets do not match its sizes");
        }
        if size < self.len() as u64 {
            return Err("it is shorter than its header states");
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::mem::offset_of;

    use super::*;

    #[test]
    fn offsets_are_those_of_the_specification() {
        for (is, name) in [
            (offset_of!(Header, version), 8),
            (offset_of!(Header, header_size), 12),
            (offset_of!(Header, id), 16),
            (offset_of!(Header, session), 24),
            (offset_of!(Header, pid), 32),
            (offset_of!(Header, chunk_size), 36),
            (offset_of!(Header, chunks), 40),
            (offset_of!(Header, writers), 44),
            (offset_of!(Header, list_offset), 48),
            (offset_of!(Header, writers_offset), 56),
            (offset_of!(Header, chunks_offset), 64),
            (offset_of!(Header, name_len), 72),
            (offset_of!(Words, tail), 128),
            (offset_of!(Words, room), 256),
            (offset_of!(Words, status), 384),
            (offset_of!(Words, unregistered_packets), 512),
            (offset_of!(WriterEntry, number), 4),
            (offset_of!(WriterEntry, thread), 8),
            (offset_of!(WriterEntry, packets), 16),
            (offset_of!(WriterEntry, lost_packets), 24),
            (offset_of!(WriterEntry, lost_bytes), 32),
            (offset_of!(ChunkHeader, number), 4),
            (offset_of!(ChunkHeader, sequence), 8),
            (offset_of!(ChunkHeader, lost), 12),
        ] {
            assert_eq!(is, name);
        }
    }

    #[test]
    fn an_inconsistent_header_is_refused() {
        let header = Header::new(1, 2, 1 << 20, 4096, 5);
        assert_eq!((header.chunks, header.writers_offset, header.chunks_offset), (256, 8192, 8192 + 65536));
        assert_eq!(header.len(), 8192 + 65536 + (1 << 20));
        assert_eq!(header.check(header.len() as u64), Ok(()));
        assert!(header.check(header.len() as u64 - 1).is_err());
        for lie in [
            Header { magic: *b"SITUPOOL", ..header },
            Header { version: VERSION + 1, ..header },
            Header { chunk_size: 4095, ..header },
            Header { chunk_size: 65536, ..header },
            Header { chunk_size: 0, ..header },
            Header { chunks: 0, ..header },
            Header { chunks: u32::MAX, ..header },
            Header { chunks_offset: u64::MAX, ..header },
            Header { list_offset: 0, ..header },
            Header { writers: 1 << 30, ..header },
            Header { name_len: 3000, ..header },
        ] {
            assert!(lie.check(u64::MAX).is_err(), "{lie:?}");
        }
    }
}
