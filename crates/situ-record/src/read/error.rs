//! Why a file cannot be read, wholly or in part.

use std::io;
use std::path::PathBuf;

use crate::format::parse::Malformed;

/// How much a file may ask for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReadLimits {
    /// The largest size of a chunk when it is decompressed, and of any other record.
    pub record: u64,
    /// The memory of all chunks that have to be in memory at a time, because their times overlap.
    pub memory: u64,
    /// The largest number of chunks, channels, schemas, attachments, metadata and damaged parts together.
    pub entries: usize,
    /// The bytes of all schemas and channels together.
    pub definitions: u64,
}

impl Default for ReadLimits {
    /// 2 GiB for a record, 4 GiB of memory, a million entries, 256 MiB of schemas and channels.
    fn default() -> Self {
        Self { record: 2 << 30, memory: 4 << 30, entries: 1 << 20, definitions: 256 << 20 }
    }
}

/// Why a file, or a part of it, cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The system refuses.
    #[error("cannot read {path}: {source}")]
    Io {
        /// The file.
        path: PathBuf,
        /// The kernel's error.
        source: io::Error,
    },
    /// It is no MCAP file.
    #[error("{path} is no MCAP file: it does not begin with the bytes of one")]
    NotMcap {
        /// The file.
        path: PathBuf,
    },
    /// A record is malformed.
    #[error("the record at byte {at} is malformed: {source}")]
    Malformed {
        /// Where it begins in the file.
        at: u64,
        /// What is wrong with it.
        source: Malformed,
    },
    /// A record is larger than this reader accepts.
    #[error(
        "the record at byte {at} has {size} bytes, and this reader takes at most {limit}: raise its limits if it may"
    )]
    TooLarge {
        /// Where it begins in the file.
        at: u64,
        /// Its size, decompressed.
        size: u64,
        /// The limit.
        limit: u64,
    },
    /// There is no memory for a record.
    #[error("there is no memory for the {size} bytes of the record at byte {at}")]
    NoMemory {
        /// Where it begins in the file.
        at: u64,
        /// Its size.
        size: u64,
    },
    /// The file has more parts than this reader accepts.
    #[error(
        "the file has more than {limit} chunks, channels, schemas and other parts: raise the limits of the \
         reader if it may"
    )]
    TooMany {
        /// The limit.
        limit: usize,
    },
    /// The file defines more than this reader keeps.
    #[error(
        "the schemas and channels of the file have more than {limit} bytes: raise the limits of the reader if \
         it may"
    )]
    Definitions {
        /// The limit.
        limit: u64,
    },
    /// The times of so many chunks overlap that their messages cannot be sorted.
    #[error("the times of chunks overlap: sorting their messages needs more than {limit} bytes of memory")]
    Overlap {
        /// The limit.
        limit: u64,
    },
    /// A compression that this reader does not know.
    #[error("the chunk at byte {at} is compressed as {name:?}; this reader knows zstd and lz4")]
    Compression {
        /// Where it begins in the file.
        at: u64,
        /// The name of the compression.
        name: String,
    },
    /// Compressed bytes are damaged.
    #[error("the chunk at byte {at} cannot be decompressed: {reason}")]
    Damaged {
        /// Where it begins in the file.
        at: u64,
        /// What the decompressor says.
        reason: String,
    },
    /// A check sum is wrong.
    #[error("the {what} at byte {at} has the check sum {found:08x}, and says {said:08x}: it is damaged")]
    Checksum {
        /// What it is.
        what: &'static str,
        /// Where it begins in the file.
        at: u64,
        /// The check sum of its bytes.
        found: u32,
        /// The check sum that it states.
        said: u32,
    },
    /// A message belongs to a channel that the file does not define before it.
    #[error("a message in the chunk at byte {at} is of channel {channel}, which the file does not define")]
    NoChannel {
        /// Where the chunk begins in the file.
        at: u64,
        /// The channel.
        channel: u16,
    },
}

impl ReadError {
    /// Whether nothing more of the file is read: it is not a damaged part that can be left out.
    pub(super) fn ends_reading(&self) -> bool {
        matches!(self, Self::Io { .. } | Self::TooMany { .. } | Self::Definitions { .. })
    }
}
