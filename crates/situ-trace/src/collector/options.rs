//! The options of a collector.

use std::fmt;
use std::io::Write;
use std::path::PathBuf;
use std::time::Duration;

use super::kept_categories::KeptCategories;
use super::trigger::Trigger;
use crate::shm::session::Policy;

/// The destination of a trace.
pub enum Sink {
    /// Into a file, packet by packet.
    File(PathBuf),
    /// Into memory that keeps the newest packets, and into the file at the end of the session. The state from
    /// evicted packets that kept ones need (names, tracks, defaults, clocks) is kept too.
    Ring {
        /// The file.
        path: PathBuf,
        /// The size of the memory, in bytes.
        bytes: usize,
    },
    /// Into any writer.
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

/// The options of a session.
#[derive(Debug)]
pub struct CollectorOptions {
    /// The destination of the trace.
    pub sink: Sink,
    /// The categories, for the producers to interpret; at most [`MAX_CATEGORIES`](crate::MAX_CATEGORIES)
    /// bytes.
    pub categories: String,
    /// The bytes of chunks in each producer's ring.
    pub ring_bytes: usize,
    /// The size of a chunk: 256 to 32,768 bytes, rounded up to a power of two.
    pub chunk_bytes: u32,
    /// The action of writers when no chunk is free.
    pub policy: Policy,
    /// The maximum time that finished packets lie in a ring that is less than half full.
    pub period: Duration,
    /// Categories whose events have memory of their own, beside that of a [`Sink::Ring`]: other events do not
    /// evict them. The first pattern that fits counts. Has no effect with other sinks.
    pub kept: Vec<KeptCategories>,
    /// Whether the trace also has the kernel's scheduling events: which thread ran on which processor, and
    /// what woke it. Only users who may write in tracefs can record these, usually the superuser.
    pub scheduling: bool,
    /// When the memory of a [`Sink::Ring`] is written. Without a trigger, it is written at the end. Has no
    /// effect with other sinks.
    pub trigger: Option<Trigger>,
}

impl CollectorOptions {
    /// A session with rings of 4 MiB. When a ring is full, its writers lose packets.
    pub fn new(sink: Sink) -> Self {
        Self {
            sink,
            categories: String::new(),
            ring_bytes: 4 << 20,
            chunk_bytes: 4096,
            policy: Policy::Drop,
            period: Duration::from_millis(20),
            kept: Vec::new(),
            scheduling: false,
            trigger: None,
        }
    }

    /// A session whose trace goes into a file, packet by packet.
    pub fn to_file(path: impl Into<PathBuf>) -> Self {
        Self::new(Sink::File(path.into()))
    }

    /// A session whose newest packets are kept in memory, and written into a file at the end.
    pub fn to_ring(path: impl Into<PathBuf>, bytes: usize) -> Self {
        Self::new(Sink::Ring { path: path.into(), bytes })
    }

    /// Sets the categories.
    #[must_use]
    pub fn categories(mut self, categories: impl Into<String>) -> Self {
        self.categories = categories.into();
        self
    }

    /// Sets the action of writers when no chunk is free.
    #[must_use]
    pub fn policy(mut self, policy: Policy) -> Self {
        self.policy = policy;
        self
    }
}
