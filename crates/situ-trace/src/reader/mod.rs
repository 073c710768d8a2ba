//! Reading traces: any file that Perfetto would open, as far as Situ writes such things. No file crashes it, and memory stays in
//! proportion to the file.
//!
//! ```text
//! packets   the file cut into packets
//! build     packets -> a trace
//! trace     what a trace says: processes, tracks, slices, instants, samples
//! strings   its texts, each once
//! summary   the trace in numbers
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
