//! Reads traces: any file that Perfetto opens, as far as it has what Situ writes. No file makes it panic, and
//! its memory stays in proportion to the file.
//!
//! ```text
//! packets   cuts the file into packets
//! build     packets -> a trace
//! trace     a trace: processes, tracks, slices, instants, samples
//! strings   its texts, each once
//! summary   a trace in numbers
//! ```

mod build;
mod packets;
mod strings;
mod summary;
mod trace;

pub use summary::{CounterSummary, Latency, NameSummary, TopicSummary, TraceSummary};
pub use trace::{
    ArgumentValue, Instant, ProcessTrack, ReadTrace, Sample, SliceEnd, TextId, TimedSlice, Track, TrackKind,
    Troubles,
};
