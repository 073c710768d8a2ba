//! Records topics as MCAP files, reads such files, and plays them.
//!
//! The files have the profile of ROS 2, for Foxglove, rosbag2 and `mcap`. Messages of all types are CDR,
//! except regions. See the page *Recording* of the book.
//!
//! ```text
//!   record         takes the messages of topics, and gives them to a writer
//!   play           publishes the messages of a file
//!   flashback      keeps the last seconds of topics in shared memory
//!   topic_writer   writes a program's own messages, by topics
//!      │
//!      ▼
//!   edit           cuts, merges and converts files
//!   types          types and messages between topics and files
//!   write          writes files
//!   read           reads files, whole ones and broken ones
//!   format         the bytes of MCAP
//! ```
//!
//! The crate `mcap` (0.26) is not used, for the sake of its writer. It takes the data of a message as one
//! slice, but flat messages lie in several parts of shared memory, which would have to be joined first. It
//! writes each field of a record by a call of its own. And, by default, it writes the head of a chunk last:
//! after a kill, that of the last chunk states no size. The tests compare with the independent
//! implementations in Python.

mod edit;
mod flashback;
mod format;
mod play;
mod read;
mod record;
mod topic_writer;
mod types;
mod write;

pub use edit::{EditError, EditOptions, Edited, edit};
pub use flashback::{Flashback, FlashbackError, FlashbackOptions, Ring};
pub use format::records::{
    AttachmentIndex, Channel, ChunkIndex, MessageHead, MetadataIndex, Schema, Statistics,
};
pub use play::{Command, PlayError, PlayOptions, Played, Player, Progress};
pub use read::{Block, End, Filter, Message, Messages, ReadError, ReadLimits, Reader, Wants};
pub use record::{RecordError, RecordOptions, RecordReport, Recorder, Selection, TopicCounts, matches};
pub use topic_writer::{AddMessageError, AddTopicError, TopicWriter};
pub use types::file_type::{FileType, TypeError, read as read_type};
pub use types::projection::{Part, ProjectError, Projected, Projection};
pub use types::topic_type::{CDR, ChannelError, REGION, bus_encoding, bus_topic, file_topic};
pub use write::{
    Compression, FileReport, HELD_FROM, NoCompression, Piece, WriteError, Writer, WriterOptions, Written,
    numbered,
};

/// The name that files carry.
const LIBRARY: &str = concat!("situ ", env!("CARGO_PKG_VERSION"));
