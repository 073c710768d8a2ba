//! Records topics as MCAP files, reads such files, and plays them.
//!
//! The files have the profile of ROS 2 where messages are of ROS, so that Foxglove, rosbag2 and `mcap` open
//! them. Messages of all types are CDR, except regions. See the page *Recording* of the book.
//!
//! ```text
//!   record      takes the messages of topics, and gives them to a writer
//!   play        publishes the messages of a file
//!   flashback   keeps the last seconds of topics in shared memory
//!      │
//!      ▼
//!   edit        cuts, merges and converts files
//!   types       types and messages between topics and files
//!   write       writes files
//!   read        reads files, whole ones and broken ones
//!   format      the bytes of MCAP
//! ```
//!
//! The crate `mcap` is not used: its writer copies each message twice, and its readers allocate what a file
//! asks for. The tests compare with the independent implementations in Python.

mod edit;
mod flashback;
mod format;
mod play;
mod read;
mod record;
mod types;
mod write;

pub use edit::{EditError, EditOptions, Edited, edit};
pub use flashback::{Flashback, FlashbackError, FlashbackOptions, Ring};
pub use format::records::{
    AttachmentIndex, Channel, ChunkIndex, MessageHead, MetadataIndex, Schema, Statistics,
};
pub use play::{Command, PlayError, PlayOptions, Played, Player, Progress};
pub use read::{Block, End, Filter, Message, Messages, ReadError, ReadLimits, Reader, Wants};
pub use record::{RecordError, RecordOptions, RecordReport, Recorder, Selection, TopicCounts};
pub use types::file_type::TypeError;
pub use types::projection::ProjectError;
pub use types::topic_type::{CDR, ChannelError, REGION};
pub use write::{
    Compression, FileReport, HELD_FROM, NoCompression, Piece, WriteError, Writer, WriterOptions, Written,
    numbered,
};

/// The name that files carry.
const LIBRARY: &str = concat!("situ ", env!("CARGO_PKG_VERSION"));
