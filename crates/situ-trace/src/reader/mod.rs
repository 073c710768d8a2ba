//! Reads traces: the parts that Situ writes, from any file that Perfetto opens. No file causes a panic, and
//! the memory is in proportion to the file.
//!
//! ```text
//! packets   cuts the file into packets
//! build     packets -> a trace
//! trace     a trace: processes, tracks, slices, instants, samples
//! strings   its texts, each once
//! summary   a trace as numbers
//! flame     times by stacks of slices, for flame graphs
//! ```

mod build;
mod flame;
mod packets;
mod strings;
mod summary;
mod trace;

pub use flame::{FoldedStack, FoldedStacks};
pub use summary::{CounterSummary, Latency, NameSummary, TopicSummary, TraceSummary};
pub use trace::{
    ArgumentValue, Instant, ProcessTrack, ReadTrace, Sample, SliceEnd, TextId, TimedSlice, Track, TrackKind,
    Troubles,
};
