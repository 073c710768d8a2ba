//! Records topics: takes their messages, and gives them to a writer.
//!
//! ```text
//!   recorder   joins topics, takes messages, counts what is lost
//!   topic      one topic: its channels, and its messages as the file has them
//!   service    one service, read in place
//!   selection  which topics
//! ```

mod recorder;
mod selection;
mod service;
mod topic;

pub use recorder::{RecordError, RecordOptions, RecordReport, Recorder, TopicCounts};
pub use selection::{Selection, matches};
