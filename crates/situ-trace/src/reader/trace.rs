//! A trace: processes, tracks, slices, instants and counter values.

use super::strings::Texts;

pub use super::strings::TextId;

/// The value of an argument.
#[derive(Clone, Debug, PartialEq)]
pub enum ArgumentValue {
    /// A boolean.
    Bool(bool),
    /// An unsigned number.
    Uint(u64),
    /// A signed number.
    Int(i64),
    /// A floating-point number.
    Double(f64),
    /// A text.
    Text(TextId),
}

/// A process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProcessTrack {
    /// The number of its track.
    pub uuid: u64,
    /// Its process number.
    pub pid: i32,
    /// Its name; empty if the trace has none.
    pub name: TextId,
}

/// The content of a track.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TrackKind {
    /// A thread, with its number.
    Thread(i32),
    /// A counter.
    Counter,
    /// Anything else.
    Other,
}

/// A track: slices and instants, or the values of a counter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Track {
    /// Its number.
    pub uuid: u64,
    /// Its process, as an index of [`ReadTrace::processes`].
    pub process: Option<usize>,
    /// Its name; empty if the trace has none.
    pub name: TextId,
    /// Its content.
    pub kind: TrackKind,
}

/// The end of a slice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SliceEnd {
    /// At this time, in nanoseconds.
    At(u64),
    /// Not within the trace.
    Open,
}

/// A slice: an activity with a duration.
#[derive(Clone, Debug, PartialEq)]
pub struct TimedSlice {
    /// Its track, as an index of [`ReadTrace::tracks`].
    pub track: usize,
    /// The number of slices of its track that enclose it.
    pub depth: u32,
    /// The time at which it begins, in nanoseconds.
    pub begin_ns: u64,
    /// Its end.
    pub end: SliceEnd,
    /// Its category; empty if it has none.
    pub category: TextId,
    /// Its name.
    pub name: TextId,
    /// Its arguments, those of its end included.
    pub arguments: Vec<(TextId, ArgumentValue)>,
    /// Its flow numbers.
    pub flows: Vec<u64>,
}

/// An instant: an event without a duration.
#[derive(Clone, Debug, PartialEq)]
pub struct Instant {
    /// Its track, as an index of [`ReadTrace::tracks`].
    pub track: usize,
    /// Its time, in nanoseconds.
    pub at_ns: u64,
    /// Its category; empty if it has none.
    pub category: TextId,
    /// Its name.
    pub name: TextId,
    /// Its arguments.
    pub arguments: Vec<(TextId, ArgumentValue)>,
    /// Its flow numbers.
    pub flows: Vec<u64>,
}

/// A value of a counter.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sample {
    /// Its track, as an index of [`ReadTrace::tracks`].
    pub track: usize,
    /// Its time, in nanoseconds.
    pub at_ns: u64,
    /// The counter's value from that time on.
    pub value: f64,
}

/// Defects of a trace, and data that its reader cannot use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Troubles {
    /// Packets that follow a loss.
    pub losses: u64,
    /// Packets that need names or defaults that never came.
    pub without_state: u64,
    /// Packets that are not protobuf, or use a clock that the file does not explain.
    pub malformed: u64,
    /// Parts of processes' shared memory that the recorder dropped because they were damaged.
    pub damaged: u64,
    /// Ends of slices that began before the trace.
    pub ends_without_begin: u64,
    /// Bytes at the end of the file that are an incomplete packet.
    pub unread_bytes: u64,
}

/// A trace. Events are sorted by time.
#[derive(Debug, Default)]
pub struct ReadTrace {
    /// Processes, in the order of appearance.
    pub processes: Vec<ProcessTrack>,
    /// Tracks, in the order of appearance.
    pub tracks: Vec<Track>,
    /// Slices, by their begin.
    pub slices: Vec<TimedSlice>,
    /// Instants, by their time.
    pub instants: Vec<Instant>,
    /// The values of counters, by time.
    pub samples: Vec<Sample>,
    /// The defects of the trace.
    pub troubles: Troubles,
    /// The number of packets.
    pub packets: u64,
    pub(super) texts: Texts,
}

impl ReadTrace {
    /// Returns the text of an id.
    pub fn text(&self, id: TextId) -> &str {
        self.texts.get(id)
    }

    /// Returns the first and the last time in the trace, in nanoseconds.
    pub fn span(&self) -> (u64, u64) {
        let times = || {
            let slices = self.slices.iter().flat_map(|slice| match slice.end {
                SliceEnd::At(end) => [slice.begin_ns, end],
                SliceEnd::Open => [slice.begin_ns; 2],
            });
            let instants = self.instants.iter().map(|instant| instant.at_ns);
            slices.chain(instants).chain(self.samples.iter().map(|sample| sample.at_ns))
        };
        (times().min().unwrap_or_default(), times().max().unwrap_or_default())
    }
}
