//! The arguments of `situ record`, `situ play` and `situ flashback`.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Subcommand};
use situ_record::Compression;

use super::{rate, seconds_or_none, size, time};

/// `situ record`.
#[derive(Debug, Args)]
#[command(
    args_conflicts_with_subcommands = true,
    subcommand_help_heading = "Commands on files",
    after_help = "Examples:
  situ record -a -o drive.mcap                    all topics, until Ctrl-C
  situ record 'camera/**' lidar/points --duration 30s
  situ record --regex '^/?(imu|gps)' --exclude '**/debug' -o ride.mcap
  situ record -a -o day.mcap --compress zstd --threads 2 --split-size 4GiB
  situ record info drive.mcap
  situ record cut drive.mcap --start 10s --end 40s -o part.mcap

The file is MCAP, for Foxglove, rosbag2, `mcap` and PlotJuggler; messages of all types are CDR, regions only
with --project. Publishers never wait for the recording: what it cannot keep up with is counted, told at the
first loss, and makes the exit code 1. So does what a new topic publishes before it is joined, some milliseconds
after it appears. A topic with the name of a command needs a pattern: `inf[o]`."
)]
pub struct RecordCommandArgs {
    #[command(subcommand)]
    pub command: Option<FileCommand>,
    #[command(flatten)]
    pub record: RecordTopicsArgs,
}

/// Which topics.
#[derive(Debug, Args)]
pub struct SelectionArgs {
    /// Topics, or patterns of their names (`'lidar/*'`; `**` also stands for `/`). Those that appear later
    /// are added
    #[arg(value_name = "TOPIC")]
    pub topics: Vec<String>,
    /// All topics
    #[arg(short, long)]
    pub all: bool,
    /// Topics whose names this regular expression finds
    #[arg(short = 'e', long, value_name = "REGEX")]
    pub regex: Option<String>,
    /// Not these topics, or those that match this pattern. May be given several times
    #[arg(short = 'x', long, value_name = "PATTERN")]
    pub exclude: Vec<String>,
}

/// How a file is written.
#[derive(Debug, Args)]
pub struct FileArgs {
    /// Compress chunks: none, lz4 or zstd
    #[arg(short = 'z', long, value_name = "KIND", default_value = "none")]
    pub compress: Compression,
    /// Threads that compress
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u8).range(1..=64))]
    pub threads: u8,
    /// Write chunks of this size
    #[arg(long, value_name = "SIZE", default_value = "4MiB", value_parser = size)]
    pub chunk: u64,
    /// Check sums also for chunks that are not compressed
    #[arg(long)]
    pub checksums: bool,
    /// Begin a new file at this size: `drive_0.mcap`, `drive_1.mcap`
    #[arg(long, value_name = "SIZE", value_parser = size)]
    pub split_size: Option<u64>,
    /// Begin a new file after this time
    #[arg(long, value_name = "TIME", value_parser = time)]
    pub split_time: Option<Duration>,
    /// Replace a file that exists
    #[arg(long)]
    pub overwrite: bool,
}

/// `situ record` without a command.
#[derive(Debug, Args)]
pub struct RecordTopicsArgs {
    #[command(flatten)]
    pub selection: SelectionArgs,
    /// The file
    #[arg(short, long, value_name = "FILE", default_value = "record.mcap")]
    pub output: PathBuf,
    /// Record for this time (5s, 2min); otherwise until Ctrl-C
    #[arg(long, value_name = "TIME", value_parser = time)]
    pub duration: Option<Duration>,
    /// Record regions as CDR, which other programs read; this takes more time
    #[arg(long)]
    pub project: bool,
    /// Record services, too: their requests and replies. They are read in place, as by `situ service echo`
    #[arg(long)]
    pub services: bool,
    /// Memory for messages that wait for the disk
    #[arg(long, value_name = "SIZE", default_value = "256MiB", value_parser = size)]
    pub queue: u64,
    /// Put this file into the recording. May be given several times
    #[arg(long, value_name = "FILE")]
    pub attach: Vec<PathBuf>,
    /// Put this into the recording's metadata. May be given several times
    #[arg(long, value_name = "NAME=VALUE", value_parser = pair)]
    pub meta: Vec<(String, String)>,
    #[command(flatten)]
    pub file: FileArgs,
}

/// The commands on files.
#[derive(Debug, Subcommand)]
pub enum FileCommand {
    /// Show what is in a file: topics, types, rates, times
    #[command(after_help = "Examples:
  situ record info drive.mcap
  situ record info drive.mcap --json | jq '.channels[] | {topic, messages}'")]
    Info {
        /// The file
        file: PathBuf,
    },
    /// Read all of a file, and tell where it is damaged, cut or has gaps
    #[command(after_help = "The exit code is 1 if a part is damaged, or if the file was not finished. A file
that was not finished (its recorder was killed, the disk was full) is read up to its end; `situ record convert`
makes a whole file of it.

Example:
  situ record check drive.mcap")]
    Check {
        /// The file
        file: PathBuf,
    },
    /// Write a part of a file: some topics, some seconds
    #[command(after_help = "Examples:
  situ record cut drive.mcap --start 10s --end 40s -o part.mcap
  situ record cut drive.mcap --topic 'camera/*' -o camera.mcap")]
    Cut(CutArgs),
    /// Write several files as one, in the order of their times
    #[command(after_help = "Example:
  situ record merge day_0.mcap day_1.mcap -o day.mcap")]
    Merge(MergeArgs),
    /// Write a file again: with another compression, or whole if it was not finished
    #[command(after_help = "Examples:
  situ record convert drive.mcap -z zstd -o small.mcap
  situ record convert broken.mcap -o whole.mcap")]
    Convert(ConvertArgs),
}

/// `situ record cut`.
#[derive(Debug, Args)]
pub struct CutArgs {
    /// The file
    pub file: PathBuf,
    #[command(flatten)]
    pub range: RangeArgs,
    /// Only topics that match this pattern. May be given several times
    #[arg(short, long = "topic", value_name = "PATTERN")]
    pub topics: Vec<String>,
    /// Not topics that match this pattern. May be given several times
    #[arg(short = 'x', long, value_name = "PATTERN")]
    pub exclude: Vec<String>,
    /// The new file
    #[arg(short, long, value_name = "FILE")]
    pub output: PathBuf,
    #[command(flatten)]
    pub how: FileArgs,
}

/// `situ record merge`.
#[derive(Debug, Args)]
pub struct MergeArgs {
    /// The files
    #[arg(required = true, num_args = 2..)]
    pub files: Vec<PathBuf>,
    /// The new file
    #[arg(short, long, value_name = "FILE")]
    pub output: PathBuf,
    #[command(flatten)]
    pub how: FileArgs,
}

/// `situ record convert`.
#[derive(Debug, Args)]
pub struct ConvertArgs {
    /// The file
    pub file: PathBuf,
    /// The new file
    #[arg(short, long, value_name = "FILE")]
    pub output: PathBuf,
    #[command(flatten)]
    pub how: FileArgs,
}

/// A part of a file.
#[derive(Debug, Args)]
pub struct RangeArgs {
    /// Begin this long after the first message
    #[arg(long, value_name = "TIME", value_parser = time)]
    pub start: Option<Duration>,
    /// End this long after the first message
    #[arg(long, value_name = "TIME", value_parser = time)]
    pub end: Option<Duration>,
}

/// `situ play`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  situ play drive.mcap
  situ play drive.mcap --rate 0.5 --start 10s --end 20s --loop
  situ play drive.mcap --topic 'camera/*' --remap camera/image=test/image
  situ play drive.mcap --clock              programs of ROS with use_sim_time follow it
  situ play day_0.mcap day_1.mcap           the files of a split recording

On a terminal, keys control it: space pauses, n publishes the next message, left and right go 5 s, + and -
change the speed, q ends. The types come from the file. Files of rosbag2 are played, too.")]
pub struct PlayArgs {
    /// The files, in the order of their times
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,
    /// How fast: 2 is twice as fast
    #[arg(short, long, value_name = "FACTOR", default_value_t = 1.0, value_parser = rate)]
    pub rate: f64,
    #[command(flatten)]
    pub range: RangeArgs,
    /// Begin again at the end
    #[arg(short = 'l', long = "loop")]
    pub repeat: bool,
    /// Begin with a pause
    #[arg(short, long)]
    pub paused: bool,
    /// Only topics that match this pattern. May be given several times
    #[arg(short, long = "topic", value_name = "PATTERN")]
    pub topics: Vec<String>,
    /// Topics whose names this regular expression finds
    #[arg(short = 'e', long, value_name = "REGEX")]
    pub regex: Option<String>,
    /// Not topics that match this pattern. May be given several times
    #[arg(short = 'x', long, value_name = "PATTERN")]
    pub exclude: Vec<String>,
    /// Publish a topic under another name. May be given several times
    #[arg(short = 'm', long, value_name = "FROM=TO", value_parser = pair)]
    pub remap: Vec<(String, String)>,
    /// Publish the time of the file on `clock`, this often per second
    #[arg(long, value_name = "HZ", num_args = 0..=1, require_equals = true, default_missing_value = "100",
        value_parser = rate)]
    pub clock: Option<f64>,
    /// Wait this many seconds for a subscriber of each topic
    #[arg(long, value_name = "SECONDS", default_value_t = 0.0, value_parser = seconds_or_none)]
    pub wait: f64,
}

/// `situ flashback`.
#[derive(Debug, Args)]
#[command(
    args_conflicts_with_subcommands = true,
    after_help = "Examples:
  situ flashback --keep 30s 'camera/**' lidar/points &    keep what just went by
  situ flashback dump -o crash.mcap                       write it, from any terminal, at any time
  situ flashback -a --trigger alarm -o alarm.mcap         write it at each message on `alarm`
  situ flashback -a --watch planner -o planner.mcap       write it when the node `planner` ends

The messages lie in shared memory, and stay there if this process or all others are killed: `dump` still
writes them. With Ctrl-C it ends and gives the memory back."
)]
pub struct FlashbackArgs {
    #[command(subcommand)]
    pub command: Option<FlashbackCommand>,
    #[command(flatten)]
    pub keep: KeepArgs,
}

/// `situ flashback` without a command.
#[derive(Debug, Args)]
pub struct KeepArgs {
    #[command(flatten)]
    pub selection: SelectionArgs,
    /// How long messages are kept
    #[arg(long, value_name = "TIME", default_value = "30s", value_parser = time)]
    pub keep: Duration,
    /// How much shared memory they may take; the oldest go first
    #[arg(long, value_name = "SIZE", default_value = "1GiB", value_parser = size)]
    pub memory: u64,
    /// The name of the ring, if there are several
    #[arg(long, value_name = "NAME", default_value = "flashback")]
    pub name: String,
    /// Write it at each message of this topic
    #[arg(long, value_name = "TOPIC")]
    pub trigger: Vec<String>,
    /// Write it when this node ends
    #[arg(long, value_name = "NODE")]
    pub watch: Vec<String>,
    /// The files for --trigger and --watch: each gets the next number of which there is no file, from 0 on
    #[arg(short, long, value_name = "FILE", default_value = "flashback.mcap")]
    pub output: PathBuf,
}

/// The commands on rings.
#[derive(Debug, Subcommand)]
pub enum FlashbackCommand {
    /// Write what was kept
    Dump(DumpArgs),
}

/// `situ flashback dump`.
#[derive(Debug, Args)]
pub struct DumpArgs {
    /// The file
    #[arg(short, long, value_name = "FILE", default_value = "flashback.mcap")]
    pub output: PathBuf,
    /// Only the last seconds of it
    #[arg(long, value_name = "TIME", value_parser = time)]
    pub keep: Option<Duration>,
    /// The name of the ring
    #[arg(long, value_name = "NAME", default_value = "flashback")]
    pub name: String,
    /// Give its memory back afterwards
    #[arg(long)]
    pub remove: bool,
    #[command(flatten)]
    pub how: FileArgs,
}

/// Parses `NAME=VALUE`.
fn pair(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.to_owned(), value.to_owned())),
        _ => Err(format!("expected NAME=VALUE, not `{text}`")),
    }
}
