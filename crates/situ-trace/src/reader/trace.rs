//! What a trace says.

use super::strings::Texts;

pub use super::strings::TextId;

/// The value of an argument.
#[derive(Clone, Debug, PartialEq)]
pub enum ArgumentValue {
    /// Yes or no.
    Bool(bool),
    /// A number that is not negative.
    Uint(u64),
    /// A number.
    Int(i64),
    /// A number with a fraction.
    Double(f64),
    /// A text.
    Text(TextId),
}

/// A process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProcessTrack {
    /// The number of its track.
    pub uuid: u64,
    /// Its number.
    pub pid: i32,
    /// Its name; empty if nobody said.
    pub name: TextId,
}

/// What a track shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TrackKind {
    /// A thread, by its number.
    Thread(i32),
    /// A counter.
    Counter,
    /// Anything else.
    Other,
}

/// A line of the picture: slices, instants, or a counter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Track {
    /// Its number.
    pub uuid: u64,
    /// Whose it is, as an index of [`ReadTrace::processes`].
    pub process: Option<usize>,
    /// Its name; empty if nobody said.
    pub name: TextId,
    /// What it shows.
    pub kind: TrackKind,
}

/// How a slice ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SliceEnd {
    /// Then, in nanoseconds.
    At(u64),
    /// Not before the trace did.
    Open,
}

/// Something that took time.
#[derive(Clone, Debug, PartialEq)]
pub struct TimedSlice {
    /// Where, as an index of [`ReadTrace::tracks`].
    pub track: usize,
    /// How many slices are around it.
    pub depth: u32,
    /// When it began, in nanoseconds.
    pub begin_ns: u64,
    /// When it ended.
    pub end: SliceEnd,
    /// Its category; empty if it has none.
    pub category: TextId,
    /// What it is called.
    pub name: TextId,
    /// Its arguments, those of its end included.
    pub arguments: Vec<(TextId, ArgumentValue)>,
    /// The flows that it is part of.
    pub flows: Vec<u64>,
}

/// Something that happened.
#[derive(Clone, Debug, PartialEq)]
pub struct Instant {
    /// Where, as an index of [`ReadTrace::tracks`].
    pub track: usize,
    /// When, in nanoseconds.
    pub at_ns: u64,
    /// Its category; empty if it has none.
    pub category: TextId,
    /// What it is called.
    pub name: TextId,
    /// Its arguments.
    pub arguments: Vec<(TextId, ArgumentValue)>,
    /// The flows that it is part of.
    pub flows: Vec<u64>,
}

/// What a counter said.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sample {
    /// Which, as an index of [`ReadTrace::tracks`].
    pub track: usize,
    /// When, in nanoseconds.
    pub at_ns: u64,
    /// Its number from then on.
    pub value: f64,
}

/// What could not be shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Troubles {
    /// Packets before which others were lost.
    pub losses: u64,
    /// Packets that need names or defaults that never came.
    pub without_state: u64,
    /// Packets that are no protobuf, or by a clock that the file does not explain.
    pub malformed: u64,
    /// Ends of slices that began before the trace did.
    pub ends_without_begin: u64,
    /// Bytes at the end of the file that are no whole packet.
    pub unread_bytes: u64,
}

/// A trace, sorted by time.
#[derive(Debug, Default)]
pub struct ReadTrace {
    /// Processes, in the order in which they came.
    pub processes: Vec<ProcessTrack>,
    /// Tracks, in the order in which they came.
    pub tracks: Vec<Track>,
    /// Slices, by their beginning.
    pub slices: Vec<TimedSlice>,
    /// Instants, by their time.
    pub instants: Vec<Instant>,
    /// What counters said, by time.
    pub samples: Vec<Sample>,
    /// What could not be shown.
    pub troubles: Troubles,
    /// How many packets there were.
    pub packets: u64,
    pub(super) texts: Texts,
}

impl ReadTrace {
    /// A text.
    pub fn text(&self, id: TextId) -> &str {
        self.texts.get(id)
    }

    /// When the first thing happened and when the last did, in nanoseconds.
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
