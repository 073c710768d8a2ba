//! How a file is written.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use std::{io, str};

/// How chunks are compressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Compression {
    /// Not at all: the fastest, and the only one that copies nothing.
    #[default]
    None,
    /// LZ4: fast, for disks that are slower than memory.
    Lz4,
    /// Zstandard: smaller.
    Zstd,
}

impl Compression {
    /// Its name in a file.
    pub fn name(self) -> &'static str {
        match self {
            Self::None => "",
            Self::Lz4 => "lz4",
            Self::Zstd => "zstd",
        }
    }
}

/// The name is of no compression.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("there is no compression {0:?}: use none, lz4 or zstd")]
pub struct NoCompression(String);

impl str::FromStr for Compression {
    type Err = NoCompression;

    fn from_str(name: &str) -> Result<Self, NoCompression> {
        match name {
            "none" | "" => Ok(Self::None),
            "lz4" => Ok(Self::Lz4),
            "zstd" => Ok(Self::Zstd),
            other => Err(NoCompression(other.to_owned())),
        }
    }
}

/// How a file is written.
#[derive(Debug, Clone)]
pub struct WriterOptions {
    /// What the messages have in common: `ros2`, or nothing.
    pub profile: String,
    /// How chunks are compressed.
    pub compression: Compression,
    /// How many threads compress. At least one, if anything is compressed.
    pub threads: usize,
    /// The size at which a chunk is written.
    pub chunk_bytes: u64,
    /// Whether chunks that are not compressed have check sums, too. This reads all bytes once more.
    pub checksums: bool,
    /// How many bytes may wait for the file. The writer blocks beyond that.
    pub queue_bytes: u64,
    /// Begins a new file when one has this size.
    pub split_bytes: Option<u64>,
    /// Begins a new file when one has messages of this time.
    pub split_time: Option<Duration>,
    /// Whether an existing file is replaced. Otherwise it is an error.
    pub overwrite: bool,
}

impl Default for WriterOptions {
    fn default() -> Self {
        Self {
            profile: String::new(),
            compression: Compression::None,
            threads: 1,
            chunk_bytes: 4 << 20,
            checksums: false,
            queue_bytes: 256 << 20,
            split_bytes: None,
            split_time: None,
            overwrite: false,
        }
    }
}

/// Why nothing can be written.
#[derive(Debug, Clone, thiserror::Error)]
pub enum WriteError {
    /// The file exists.
    #[error("{0} exists already: choose another name, or replace it (`--overwrite`)")]
    Exists(PathBuf),
    /// The file cannot be made.
    #[error("cannot make {path}: {source}")]
    Create {
        /// The file.
        path: PathBuf,
        /// The kernel's error.
        source: Arc<io::Error>,
    },
    /// The file cannot be written. What was written before can be read.
    #[error("cannot write {path} after {written} bytes: {source}; what was written before can be read")]
    Write {
        /// The file.
        path: PathBuf,
        /// The size of what is whole.
        written: u64,
        /// The kernel's error.
        source: Arc<io::Error>,
    },
    /// A thread cannot be started.
    #[error("cannot start a thread that writes: {0}")]
    Thread(Arc<io::Error>),
    /// The file has all the channels or schemas that it can have.
    #[error("a file has at most 65535 {0}, and this one has them")]
    TooMany(&'static str),
    /// A text is longer than a file can say.
    #[error("{0} has more than 4 GiB")]
    TooLong(&'static str),
    /// The file belongs to the process that this one was forked from.
    #[error("{0} is written by the process that this one was forked from: write another file")]
    Forked(PathBuf),
    /// A thread ended by a panic, which is a defect of this library.
    #[error("the thread that writes has ended by a panic")]
    Ended,
}
