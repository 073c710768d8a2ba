//! The arguments of `situ trace`.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Subcommand};

use situ::trace::KeptCategories;

use super::{buffer, size, time};

/// `situ trace`.
#[derive(Debug, Subcommand)]
pub enum TraceCommand {
    /// Record a trace of all programs in the same root, until Ctrl-C
    #[command(
        after_help = "Every program with a node takes part, unless it was started with SITU_TRACE=0. Open the \
file at https://ui.perfetto.dev, or view it with `situ trace view`.

Examples:
  situ trace record -o run.pftrace                      until Ctrl-C, or `situ trace stop`
  situ trace record --duration 5s
  situ trace record --ring 64MiB                        the newest 64 MiB, written at the end
  situ trace record --category bus --category plan*     only the bus and categories that begin with `plan`
  situ trace record --category -bus                     everything but the bus
  situ trace record --ring 64MiB --trigger 'lost *'     the time before and after messages were lost
  situ trace record --ring 64MiB --keep planner=8MiB    events of the bus do not displace those of the planner"
    )]
    Record(RecordArgs),
    /// End the recording in the same root, from any terminal
    #[command(after_help = "Example:
  situ trace record -o run.pftrace & sleep 5; situ trace stop")]
    Stop,
    /// Write an event into the recording in the same root, which may be waiting for it
    #[command(after_help = "The event is a moment in the category `trigger`.

Example:
  situ trace record --ring 64MiB --trigger gripped --files 10 &
  situ trace trigger gripped")]
    Trigger {
        /// The name of the event
        #[arg(value_name = "EVENT")]
        event: String,
    },
    /// Summarize a trace: the longest slices, the latencies of messages, the losses
    #[command(after_help = "Examples:
  situ trace view run.pftrace
  situ trace view run.pftrace --json | jq '.topics[] | {topic, p99_ns}'
  situ trace view run.pftrace --svg run.svg --from 1.2s --for 50ms")]
    View(ViewArgs),
    /// Draw a flame graph of a trace: in which slices, within which others, time was spent
    #[command(
        after_help = "A box is a stack of slices. Its width is the time in its last slice, the boxes below it are the slices
within that, and what they do not cover is the slice's own time. In a browser, a click on a box makes it as wide as the
picture, and a click beside the boxes shows all. Slices that wait (`wait for ...`) are boxes as well.

Examples:
  situ trace flame run.pftrace -o run.svg
  situ trace flame run.pftrace --merge                    the same stack of all threads is one box
  situ trace flame run.pftrace --from 1.2s --for 50ms
  situ trace flame run.pftrace --folded > run.folded      for inferno, speedscope, flamegraph.pl"
    )]
    Flame(FlameArgs),
}

/// `situ trace record`.
#[derive(Debug, Args)]
pub struct RecordArgs {
    /// File for the trace
    #[arg(short, long, value_name = "FILE", default_value = "situ.pftrace")]
    pub output: PathBuf,
    /// Record for this time (5s, 200ms, 2min); otherwise until Ctrl-C or `situ trace stop`
    #[arg(long, value_name = "TIME", value_parser = time)]
    pub duration: Option<Duration>,
    /// Keep only the newest bytes, up to this size (64MiB), in memory, and write them at the end
    #[arg(long, value_name = "SIZE", value_parser = size)]
    pub ring: Option<u64>,
    /// Keep events of this category, or of those with this beginning (`plan*=8MiB`), in memory of their own,
    /// so that frequent events of others do not displace them. May be given several times
    #[arg(long, value_name = "PATTERN=SIZE", value_parser = kept, requires = "ring")]
    pub keep: Vec<KeptCategories>,
    /// Write the ring when an event with this name, or with this beginning (`lost *`), comes; then end. May
    /// be given several times
    #[arg(long, value_name = "EVENT", requires = "ring")]
    pub trigger: Vec<String>,
    /// How long to record after the event of a trigger
    #[arg(long, value_name = "TIME", value_parser = time, default_value = "1s", requires = "trigger")]
    pub after: Duration,
    /// After how many events to end. With more than one, the files are named FILE-1, FILE-2, ...
    #[arg(long, value_name = "N", default_value_t = 1, requires = "trigger",
        value_parser = clap::value_parser!(u32).range(1..))]
    pub files: u32,
    /// Also record the kernel's scheduling: which thread ran on which processor, and what woke it. The
    /// superuser may do this, and users who may write in tracefs
    #[arg(long)]
    pub scheduling: bool,
    /// Record only this category, or those with this beginning (`plan*`); a leading `-` excludes it. May be
    /// given several times
    #[arg(short, long = "category", value_name = "PATTERN", allow_hyphen_values = true)]
    pub categories: Vec<String>,
    /// Shared memory for each program's unread data; programs allow at most 64MiB
    #[arg(long, value_name = "SIZE", default_value = "4MiB", value_parser = buffer)]
    pub buffer: u64,
}

/// `situ trace view`.
#[derive(Debug, Args)]
pub struct ViewArgs {
    /// The trace
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// Also draw it: tracks, slices, counters, and an arrow for each message
    #[arg(long, value_name = "FILE")]
    pub svg: Option<PathBuf>,
    /// Draw from this time on, relative to the start [default: shortly before a message in the
    /// middle of the trace]
    #[arg(long, value_name = "TIME", value_parser = time, requires = "svg")]
    pub from: Option<Duration>,
    /// Length of the part to draw [default: some messages; 100ms with --from]
    #[arg(long = "for", value_name = "TIME", value_parser = time, requires = "svg")]
    pub span: Option<Duration>,
    /// Maximum number of names and topics in each table; 0: all
    #[arg(long, value_name = "N", default_value_t = 20)]
    pub most: usize,
}

/// `situ trace flame`.
#[derive(Debug, Args)]
pub struct FlameArgs {
    /// The trace
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// File for the picture
    #[arg(short, long, value_name = "FILE", default_value = "flame.svg", conflicts_with = "folded")]
    pub output: PathBuf,
    /// Print a line for each stack instead: its names with semicolons between them, and its nanoseconds
    #[arg(long)]
    pub folded: bool,
    /// Add up equal stacks of all processes and threads
    #[arg(long)]
    pub merge: bool,
    /// Count from this time on, relative to the start
    #[arg(long, value_name = "TIME", value_parser = time)]
    pub from: Option<Duration>,
    /// Length of the part to count [default: to the end]
    #[arg(long = "for", value_name = "TIME", value_parser = time)]
    pub span: Option<Duration>,
}

/// Parses a category and a size.
fn kept(text: &str) -> Result<KeptCategories, String> {
    match text.rsplit_once('=') {
        Some((pattern, bytes)) if !pattern.is_empty() => {
            Ok(KeptCategories { pattern: pattern.to_owned(), bytes: size(bytes)? as usize })
        }
        _ => Err(format!("expected a category and a size, such as planner=8MiB, not `{text}`")),
    }
}
