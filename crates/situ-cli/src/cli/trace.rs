//! The arguments of `situ trace`.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Subcommand};

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
  situ trace record --category -bus                     everything but the bus"
    )]
    Record(RecordArgs),
    /// End the recording in the same root, from any terminal
    #[command(after_help = "Example:
  situ trace record -o run.pftrace & sleep 5; situ trace stop")]
    Stop,
    /// Summarize a trace: the longest slices, the latencies of messages, the losses
    #[command(after_help = "Examples:
  situ trace view run.pftrace
  situ trace view run.pftrace --json | jq '.topics[] | {topic, p99_ns}'
  situ trace view run.pftrace --svg run.svg --from 1.2s --for 50ms")]
    View(ViewArgs),
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
