//! What a collector is asked to do.

use std::fmt;
use std::io::Write;
use std::path::PathBuf;
use std::time::Duration;

use crate::shm::session::Policy;

/// Where a trace goes.
pub enum Sink {
    /// Into a file, as it comes.
    File(PathBuf),
    /// Into memory that keeps what is newest; into the file at the end of the session. What older packets said that kept ones depend
    /// on (names, tracks, defaults, clocks) is kept too.
    Ring {
        /// The file.
        path: PathBuf,
        /// How much memory, in bytes.
        bytes: usize,
    },
    /// Wherever this writes.
    Writer(Box<dyn Write + Send>),
}

impl fmt::Debug for Sink {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(path) => f.debug_tuple("File").field(path).finish(),
            Self::Ring { path, bytes } => {
                f.debug_struct("Ring").field("path", path).field("bytes", bytes).finish()
            }
            Self::Writer(_) => f.write_str("Writer"),
        }
    }
}

/// What a session is to be like.
#[derive(Debug)]
pub struct CollectorOptions {
    /// Where the trace goes.
    pub sink: Sink,
    /// What is wanted, for the producers to interpret; at most [`MAX_CATEGORIES`](crate::MAX_CATEGORIES) bytes.
    pub categories: String,
    /// How many bytes of chunks each producer has.
    pub ring_bytes: usize,
    /// How many bytes a chunk has: 256 to 32,768, rounded up to a power of two.
    pub chunk_bytes: u32,
    /// What writers do when no chunk is free.
    pub policy: Policy,
    /// How long finished packets may lie in a ring that is not half full.
    pub period: Duration,
}

impl CollectorOptions {
    /// A session that loses what does not fit, with rings of 4 MiB.
    pub fn new(sink: Sink) -> Self {
        Self {
            sink,
            categories: String::new(),
            ring_bytes: 4 << 20,
            chunk_bytes: 4096,
            policy: Policy::Drop,
            period: Duration::from_millis(20),
        }
    }

    /// The same, with a trace that goes into a file as it comes.
    pub fn to_file(path: impl Into<PathBuf>) -> Self {
        Self::new(Sink::File(path.into()))
    }

    /// The same, with a trace of which the newest bytes are kept in memory, and written at the end.
    pub fn to_ring(path: impl Into<PathBuf>, bytes: usize) -> Self {
        Self::new(Sink::Ring { path: path.into(), bytes })
    }

    /// What is wanted.
    #[must_use]
    pub fn categories(mut self, categories: impl Into<String>) -> Self {
        self.categories = categories.into();
        self
    }

    /// What writers do when no chunk is free.
    #[must_use]
    pub fn policy(mut self, policy: Policy) -> Self {
        self.policy = policy;
        self
    }
}
