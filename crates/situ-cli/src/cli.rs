//! The command line: every command, option and example that `--help` shows.

mod blackboard;
mod bridge;
mod foxglove;
mod image;
mod inspect;
mod proto;
mod publish;
mod record;
mod standing;
mod trace;
mod view;

use std::path::PathBuf;
use std::time::Duration;

use clap::builder::styling::{AnsiColor, Styles};
use clap::{Args, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;
use situ::bus::{Durability, Reliability};

use crate::output::ColorChoice;

pub use blackboard::{BlackboardCommand, GetArgs, WatchArgs};
pub use bridge::BridgeArgs;
pub use foxglove::FoxgloveArgs;
pub use image::{ImageArgs, ImageCommand, ImageConvertArgs, ImageDiffArgs, ImageEncoding, ImageTypeArgs};
pub use inspect::{CallArgs, DomainCommand, GraphArgs, NodeCommand, ServiceCommand, ServiceEchoArgs};
pub use proto::{ProtoArgs, ProtoCommand};
pub use publish::PubArgs;
pub use record::{
    ConvertArgs, CutArgs, DumpArgs, FileArgs, FileCommand, FlashbackArgs, FlashbackCommand, KeepArgs,
    MergeArgs, PlayArgs, RangeArgs, RecordCommandArgs, RecordTopicsArgs, SelectionArgs,
};
pub use standing::{CreateArgs, ServiceCreateArgs};
pub use trace::{FlameArgs, RecordArgs, TraceCommand, ViewArgs};
pub use view::{ProtocolKind, ViewTopicArgs};

/// The styles of the help.
pub const STYLES: Styles = Styles::styled()
    .header(AnsiColor::Green.on_default().bold())
    .usage(AnsiColor::Green.on_default().bold())
    .literal(AnsiColor::Cyan.on_default().bold())
    .placeholder(AnsiColor::Cyan.on_default());

const EXIT_CODES: &str = "Exit codes:
  0    success
  1    the command failed, or a check found a problem
  2    the command line is invalid
  3    no such topic, node, type or file
  4    the time given by --timeout is over
  130  interrupted before the end

Environment:
  SITU_ROOT    directory of the topics and nodes (default: /dev/shm/situ-<uid>)
  SITU_DOMAIN  number of the graph domain (default: 0)
  NO_COLOR     never colour the output
  COLUMNS      width of tables that do not go to a terminal

Try first:
  situ demo                    see a lidar, a filter and a viewer exchange messages
  situ doctor                  check whether this machine is ready";

/// Inspect Situ's topics and nodes, generate code from schemas, check the machine.
#[derive(Debug, Parser)]
#[command(name = "situ", version, styles = STYLES, after_help = EXIT_CODES, max_term_width = 110)]
pub struct Cli {
    /// The command.
    #[command(subcommand)]
    pub command: Command,

    /// Options that every command takes.
    #[command(flatten)]
    pub global: Global,
}

/// Options that every command takes.
#[derive(Debug, Args)]
pub struct Global {
    /// Print JSON: one object, or one object a line for continuous results
    #[arg(long, global = true)]
    pub json: bool,

    /// When to colour the output
    #[arg(long, global = true, value_enum, default_value = "auto", value_name = "WHEN")]
    pub color: ColorChoice,

    /// Directory of the topics and nodes.
    #[arg(
        long,
        global = true,
        value_name = "DIR",
        help = "Directory of the topics and nodes [default: $SITU_ROOT or /dev/shm/situ-<uid>]"
    )]
    pub root: Option<PathBuf>,

    /// Graph domain: programs of different graph domains do not meet [default: $SITU_DOMAIN or 0]
    #[arg(long, global = true, value_name = "NUMBER")]
    pub domain_id: Option<u32>,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Inspect topics: their messages, rates, sizes and latencies
    Topic {
        /// The command on topics.
        #[command(subcommand)]
        command: TopicCommand,
    },
    /// Show a live view of topics, rates, latencies, subscribers, losses, domains and memory
    Top(TopArgs),
    /// Record the activity of programs and messages, for Perfetto and for the terminal
    Trace {
        /// The command on traces.
        #[command(subcommand)]
        command: TraceCommand,
    },
    /// Record topics into an MCAP file; inspect, cut, merge and convert such files
    Record(RecordCommandArgs),
    /// Play an MCAP file: publish its messages as they were published
    Play(PlayArgs),
    /// Keep the last seconds of topics in memory, and write them when something happened
    Flashback(FlashbackArgs),
    /// Bridge topics and services to other machines, by Zenoh, as ROS 2's rmw_zenoh
    Bridge(BridgeArgs),
    /// Serve topics to Foxglove, live, and let it publish
    Foxglove(FoxgloveArgs),
    /// Inspect the running nodes and their topics
    Node {
        /// The command on nodes.
        #[command(subcommand)]
        command: NodeCommand,
    },
    /// Inspect, call and watch services
    Service {
        /// The command on services.
        #[command(subcommand)]
        command: ServiceCommand,
    },
    /// Inspect blackboards: print the latest values of their keys
    Blackboard {
        /// The command on blackboards.
        #[command(subcommand)]
        command: BlackboardCommand,
    },
    /// Show the whole graph: which nodes publish, subscribe, call and serve what
    Graph(GraphArgs),
    /// Inspect memory domains: host memory and devices in which messages can lie
    Domain {
        /// The command on memory domains.
        #[command(subcommand)]
        command: DomainCommand,
    },
    /// Read message definitions: show, check, identify them
    Schema {
        /// The command on schemas.
        #[command(subcommand)]
        command: SchemaCommand,
    },
    /// Generate Rust, C++, C or Python code from message definitions
    Gen(GenArgs),
    /// Print protobuf messages as text, and encode them from text
    Proto {
        /// The command on protobuf messages.
        #[command(subcommand)]
        command: ProtoCommand,
    },
    /// Check, print and compare images of regions in files, and show where their bytes go
    Image {
        /// The command on images.
        #[command(subcommand)]
        command: ImageCommand,
    },
    /// Start a project: a publisher and a subscriber that build and run
    New(NewArgs),
    /// Check whether this machine is ready, with advice for each problem
    Doctor,
    /// Remove the files of dead processes from shared memory
    Clean(CleanArgs),
    /// Run a lidar, a filter and a viewer: three processes, one message, no copy
    Demo(DemoArgs),
    /// Measure this machine quickly: hop latency, publishing cost, throughput
    Bench(BenchArgs),
    /// Print completions for a shell
    #[command(after_help = "Examples:
  situ completions bash > ~/.local/share/bash-completion/completions/situ
  situ completions zsh > ~/.zfunc/_situ               with fpath+=~/.zfunc in .zshrc
  situ completions fish > ~/.config/fish/completions/situ.fish")]
    Completions {
        /// The shell
        shell: Shell,
    },
    /// Write a manual page for each command into a folder.
    #[command(hide = true)]
    Man {
        /// The folder
        folder: PathBuf,
    },
    /// A process of the demo or of the bench, which starts it.
    #[command(hide = true)]
    Part(PartArgs),
}

/// `situ topic`.
#[derive(Debug, Subcommand)]
pub enum TopicCommand {
    /// List the topics with their types, publishers and subscribers
    #[command(after_help = "Examples:
  situ topic list
  situ topic list --json | jq -r '.topics[].name'")]
    List,
    /// Show one topic: type, quality of service, publishers, subscribers
    #[command(after_help = "Examples:
  situ topic info lidar/points
  situ topic info lidar/points --verbose      with the id, the type and the user data of each endpoint")]
    Info {
        /// The topic
        topic: String,
        /// Show also what each publisher and subscriber says about itself: its node with namespace, type,
        /// hashes, quality of service, id, and user data as hexadecimal digits
        #[arg(short, long)]
        verbose: bool,
    },
    /// Print messages as they arrive, by the schema that the topic carries
    #[command(after_help = "Examples:
  situ topic echo lidar/points                every message, long arrays shortened
  situ topic echo lidar/points -n 1 --full    one message, all of it
  situ topic echo lidar/points --field header.stamp
  situ topic echo lidar/points --json | jq .message.width
  situ topic echo 'camera/*' pose             several topics, those that appear later too

By default it requests the messages that all publishers keep (transient local), takes every message that it
can, and never makes a publisher wait. With --reliability reliable --history keep_all it does.")]
    Echo(EchoArgs),
    /// Draw images and point clouds in the terminal, or write them as PNG
    View(ViewTopicArgs),
    /// Measure the rate of messages
    #[command(after_help = "Example:
  situ topic hz lidar/points --window 50
  situ topic hz 'lidar/*' pose                a row for each topic

`lost` counts the messages that this command did not get.")]
    Hz(RateArgs),
    /// Measure the published bytes per second
    #[command(after_help = "Example:
  situ topic bw lidar/points")]
    Bw(RateArgs),
    /// Measure the age of messages when they are taken
    #[command(after_help = "The age is the time from publishing to taking, on this machine's clock.

Example:
  situ topic delay lidar/points")]
    Delay(RateArgs),
    /// Publish messages written as YAML or JSON
    #[command(after_help = "Examples:
  situ topic pub chatter std_msgs/msg/String '{data: hello}' -I ~/venv -n 10 --rate 2
  situ topic pub pose demo::Pose '{x: 1.5}' --schema pose.idl
  situ topic pub pose demo::Pose --file poses.yaml --rate 10 --wait
  situ topic echo pose --full | situ topic pub copy demo::Pose --schema pose.idl --file -
Absent fields keep their default values. If the topic exists, its own schema is used. By default the
publisher is reliable, and transient local if a subscriber asks for it or another publisher of the topic is.")]
    Pub(PubArgs),
    /// Make a topic that stays without members, with groups that may publish and subscribe
    Create(CreateArgs),
    /// Remove a topic that has no members
    Remove {
        /// The topic
        topic: String,
    },
}

/// `situ topic echo`.
#[derive(Debug, Args)]
pub struct EchoArgs {
    /// Topics, or patterns of their names (`'lidar/*'`; `**` also stands for `/`). Topics that appear later
    /// and match a pattern are added
    #[arg(value_name = "TOPIC", required = true)]
    pub topics: Vec<String>,
    /// Stop after N messages
    #[arg(short = 'n', long, value_name = "N")]
    pub count: Option<u64>,
    /// Print only this field, for instance `header.stamp` or `points[3].x`
    #[arg(long, value_name = "PATH")]
    pub field: Option<String>,
    /// Print long arrays and strings in full
    #[arg(long)]
    pub full: bool,
    /// What the subscriber requests.
    #[command(flatten)]
    pub qos: QosArgs,
    /// Print all messages, or only the newest --depth of those that wait [default: keep_all, or keep_last if
    /// --depth is given]
    #[arg(long, alias = "qos-history", value_enum, value_name = "HISTORY")]
    pub history: Option<HistoryKind>,
    /// The number of messages that keep_last keeps [default: 10]
    #[arg(long, alias = "qos-depth", value_name = "N",
        value_parser = clap::value_parser!(u32).range(1..=32_768))]
    pub depth: Option<u32>,
    /// Give up when no message arrives for this many seconds
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    pub timeout: Option<f64>,
}

/// The quality of service, with the names of `ros2 topic`.
#[derive(Debug, Args)]
pub struct QosArgs {
    /// `reliable` or `best_effort`
    #[arg(long, alias = "qos-reliability", value_enum, value_name = "KIND", hide_possible_values = true)]
    pub reliability: Option<ReliabilityKind>,
    /// `volatile` or `transient_local`
    #[arg(long, alias = "qos-durability", value_enum, value_name = "KIND", hide_possible_values = true)]
    pub durability: Option<DurabilityKind>,
}

/// The kinds of reliability.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
#[value(rename_all = "snake_case")]
pub enum ReliabilityKind {
    Reliable,
    BestEffort,
}

impl From<ReliabilityKind> for Reliability {
    fn from(kind: ReliabilityKind) -> Self {
        match kind {
            ReliabilityKind::Reliable => Self::Reliable,
            ReliabilityKind::BestEffort => Self::BestEffort,
        }
    }
}

/// The kinds of durability.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
#[value(rename_all = "snake_case")]
pub enum DurabilityKind {
    Volatile,
    TransientLocal,
}

impl From<DurabilityKind> for Durability {
    fn from(kind: DurabilityKind) -> Self {
        match kind {
            DurabilityKind::Volatile => Self::Volatile,
            DurabilityKind::TransientLocal => Self::TransientLocal,
        }
    }
}

/// The kinds of history.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
#[value(rename_all = "snake_case")]
pub enum HistoryKind {
    KeepLast,
    KeepAll,
}

/// `situ topic hz`, `bw` and `delay`.
#[derive(Debug, Args)]
pub struct RateArgs {
    /// Topics, or patterns of their names (`'lidar/*'`; `**` also stands for `/`). Topics that appear later
    /// and match a pattern are added
    #[arg(value_name = "TOPIC", required = true)]
    pub topics: Vec<String>,
    /// Number of messages that each figure covers
    #[arg(long, value_name = "N", default_value_t = 100,
        value_parser = clap::value_parser!(u32).range(2..=1_000_000))]
    pub window: u32,
    /// Stop after N messages
    #[arg(short = 'n', long, value_name = "N")]
    pub count: Option<u64>,
    /// Give up when no message arrives for this many seconds
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    pub timeout: Option<f64>,
}

/// `situ top`.
#[derive(Debug, Args)]
#[command(
    after_help = "Keys: q quits, arrows choose a topic, s sorts by the next column, r reverses the order, \
/ filters by name or type. If the output is not a terminal, or with --json, it prints one snapshot after an \
interval. It joins no topic. It samples messages in place, at most a hundred per second and topic.

Examples:
  situ top
  situ top --json --interval 2 | jq '.topics[] | {name, rate_hz, p99_ns}'"
)]
pub struct TopArgs {
    /// Seconds between two updates
    #[arg(long, value_name = "SECONDS", default_value_t = 1.0, value_parser = seconds)]
    pub interval: f64,
}

/// The definitions to read, and the directories to search for their includes.
#[derive(Clone, Debug, Default, Args)]
pub struct SourceArgs {
    /// Files: .idl, .msg, .srv, .action (x.situ beside x.msg holds its annotations); for `gen` also .proto
    #[arg(value_name = "FILE")]
    pub files: Vec<PathBuf>,
    /// A ROS package (`sensor_msgs`) or one interface of it (`sensor_msgs/msg/Image`), found by -I
    #[arg(long, value_name = "NAME")]
    pub ros: Vec<String>,
    /// Directory to search for includes and ROS packages: a ROS prefix or a Python environment;
    /// AMENT_PREFIX_PATH is searched too
    #[arg(short = 'I', long = "include", value_name = "DIR")]
    pub include: Vec<PathBuf>,
}

/// `situ schema`.
#[derive(Debug, Subcommand)]
pub enum SchemaCommand {
    /// Print a type and everything it depends on in canonical IDL
    #[command(after_help = "Examples:
  situ schema show schema/situ/sensor.idl --type situ::sensor::PointCloud
  situ schema show --topic lidar/points")]
    Show(SchemaArgs),
    /// Check definitions; errors show the position and a remedy
    #[command(after_help = "Example:
  situ schema check schema/situ/*.idl && echo fine")]
    Check(SourceArgs),
    /// Print the schema hash and the layout hash of types
    #[command(after_help = "Example:
  situ schema hash schema/situ/sensor.idl")]
    Hash(SchemaArgs),
}

/// `situ schema show` and `hash`.
#[derive(Debug, Args)]
pub struct SchemaArgs {
    /// The definitions.
    #[command(flatten)]
    pub sources: SourceArgs,
    /// Only this type
    #[arg(long = "type", value_name = "NAME")]
    pub type_name: Option<String>,
    /// Read the schema that a running topic carries
    #[arg(long, conflicts_with_all = ["files", "ros"])]
    pub topic: Option<String>,
}

/// A language to generate code in. There is Rust of edition 2024, C++20, C11 (flat types only), Python 3.9, a
/// Rust crate for each ROS package for rclrs, and the messages that rclrs itself uses, for its crate ros-env.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Language {
    Rust,
    Cpp,
    C,
    Python,
    Rclrs,
    RosEnv,
}

/// `situ gen`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  situ gen --lang rust --out src/messages schema/robot.idl
  situ gen --lang cpp --out build/generated -I ~/venv --ros sensor_msgs --ros nav_msgs
  situ gen --lang c --out build/generated schema/robot.idl
  situ gen --lang python --out . --namespace messages -I ~/venv --ros sensor_msgs schema/robot.idl
  situ gen --lang rclrs --out ros -I /opt/ros/kilted --ros sensor_msgs
  situ gen --lang ros-env --out env -I /opt/ros/kilted --ros action_msgs --ros rcl_interfaces --ros rosgraph_msgs
In a build, use the hooks instead: situ_schema::BuildScript in a build.rs, situ_generate(...) in CMake.")]
pub struct GenArgs {
    /// The definitions.
    #[command(flatten)]
    pub sources: SourceArgs,
    /// Language
    #[arg(long, value_enum)]
    pub lang: Language,
    /// Folder for the generated code
    #[arg(long, value_name = "DIR")]
    pub out: PathBuf,
    /// For rclrs: use the crate situ-layout in this folder and situ-region beside it, not the published ones
    #[arg(long, value_name = "DIR")]
    pub layout: Option<PathBuf>,
    /// For rclrs: generate only the crate of this package; its dependencies have version `*`, to be patched
    /// in, as by colcon-ros-cargo
    #[arg(long, value_name = "PACKAGE")]
    pub only: Vec<String>,
    /// C++ and Python: a namespace around everything (`a::b`); except for .proto files, its names are also
    /// the headers' folders, and Python's packages
    #[arg(long, value_name = "NAME", value_parser = namespace)]
    pub namespace: Option<String>,
    /// Write a list of the files that were read, for make and ninja; `x.d` describes the target `x`
    #[arg(long, value_name = "FILE")]
    pub depfile: Option<PathBuf>,
    /// Rust: replace a messages.rs that was generated from other files; Python: replace files that have other
    /// types
    #[arg(long)]
    pub force: bool,
}

/// The language of a new project: Rust, C++, C, Python, or a publisher in Rust and a subscriber in C++.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ProjectLanguage {
    Rust,
    Cpp,
    C,
    Python,
    Mixed,
}

/// `situ new`.
#[derive(Debug, Args)]
#[command(
    after_help = "The folder gets a message definition, a publisher, a subscriber, the files that build them, \
and a README.
The last component of its path names the project: small letters, digits and underscores.

Examples:
  situ new my_robot --lang rust
  situ new my_robot --lang python                 with the package `situ`
  situ new projects/my_robot --lang mixed         a publisher in Rust, a subscriber in C++
  situ new my_robot --lang rust --path ~/situ     with the crates of a checkout"
)]
pub struct NewArgs {
    /// The folder to create, whose last component is the project's name
    #[arg(value_name = "FOLDER")]
    pub folder: PathBuf,
    /// Language
    #[arg(long, value_enum)]
    pub lang: ProjectLanguage,
    /// Rust: the folder of Situ's sources, a checkout or an installation's share/situ [default: those that
    /// are installed with this command, or from which it was built]
    #[arg(long, value_name = "DIR")]
    pub path: Option<PathBuf>,
}

/// A namespace of C++.
fn namespace(text: &str) -> Result<String, String> {
    let is_name = |part: &str| {
        part.starts_with(|it: char| it.is_ascii_alphabetic() || it == '_')
            && part.chars().all(|it| it.is_ascii_alphanumeric() || it == '_')
    };
    let is_namespace = text.split("::").all(is_name);
    is_namespace
        .then(|| text.to_owned())
        .ok_or_else(|| "not a namespace such as `my_msgs` or `my::msgs`".to_owned())
}

/// `situ clean`.
#[derive(Debug, Args)]
pub struct CleanArgs {
    /// Only print what would be removed
    #[arg(long)]
    pub dry_run: bool,
}

/// `situ demo`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  situ demo                                   a synthetic street, seen by a spinning lidar
  situ demo --input scan.bin                  a KITTI velodyne scan (.pcd and .png work as well)
  situ demo --input scan.bin --frames 500 --json
  situ demo --domain auto --input photo.png   also a camera whose filter works on a device
While it runs, inspect it from another shell: situ topic list; situ topic hz lidar/points")]
pub struct DemoArgs {
    /// Play this file: a KITTI velodyne scan (.bin), a point cloud (.pcd) or an image (.png)
    #[arg(long, value_name = "FILE")]
    pub input: Option<PathBuf>,
    /// Frames to publish; 0: until Ctrl-C
    #[arg(long, value_name = "N", default_value_t = 300)]
    pub frames: u64,
    /// Frames a second
    #[arg(long, value_name = "HZ", default_value_t = 50.0, value_parser = rate)]
    pub rate: f64,
    /// File for the latency plot; `none` for no plot
    #[arg(long, value_name = "FILE", default_value = "situ-demo.svg")]
    pub plot: PathBuf,
    /// The filter program [default: $SITU_DEMO_FILTER, or situ-demo-filter beside situ or built in the
    /// checkout]
    #[arg(long, value_name = "PROGRAM")]
    pub filter: Option<PathBuf>,
    /// Also run a camera and a filter that works in a memory domain: `auto` (a device), emulated, vulkan:0
    #[arg(long, value_name = "DOMAIN")]
    pub domain: Option<String>,
    /// Also record a trace of all processes
    #[arg(long, value_name = "FILE", num_args = 0..=1, require_equals = true,
        default_missing_value = "situ-demo.pftrace")]
    pub trace: Option<PathBuf>,
    /// Also record all messages, for Foxglove and `situ play`
    #[arg(long, value_name = "FILE", num_args = 0..=1, require_equals = true,
        default_missing_value = "situ-demo.mcap")]
    pub record: Option<PathBuf>,
    /// Skip the second run, over serialized messages
    #[arg(long)]
    pub no_serialized: bool,
}

/// `situ bench`.
#[derive(Debug, Args)]
#[command(
    after_help = "The two processes are pinned to different cores. `make bench` compares Situ with other \
systems."
)]
pub struct BenchArgs {
    /// Seconds of measurement for each figure
    #[arg(long, value_name = "SECONDS", default_value_t = 1.0, value_parser = seconds)]
    pub seconds: f64,
}

/// A process of a larger command.
#[derive(Debug, Args)]
pub struct PartArgs {
    /// The name of the part, and its options as JSON.
    #[arg(num_args = 2, value_names = ["PART", "OPTIONS"])]
    pub arguments: Vec<String>,
}

fn seconds(text: &str) -> Result<f64, String> {
    positive(text, "a number of seconds", 1e6)
}

fn seconds_or_none(text: &str) -> Result<f64, String> {
    if text.parse::<f64>() == Ok(0.0) {
        return Ok(0.0);
    }
    seconds(text).map_err(|_| "expected a number of seconds, 0 or more and at most 1000000".to_owned())
}

/// The smallest rate. The time between two events must fit into the clock.
const MIN_RATE: f64 = 1e-6;

fn rate(text: &str) -> Result<f64, String> {
    match positive(text, "a rate", 1e6) {
        Ok(rate) if rate >= MIN_RATE => Ok(rate),
        _ => Err(format!("expected a rate, from {MIN_RATE} to 1000000")),
    }
}

/// Parses a time with its unit; without one, in seconds.
fn time(text: &str) -> Result<Duration, String> {
    let wrong = || format!("expected a time such as 5s, 200ms or 2min, not `{text}`");
    let digits =
        text.find(|letter: char| letter.is_ascii_alphabetic() || letter == 'µ').unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let scale = match unit {
        "" | "s" => 1.0,
        "ns" => 1e-9,
        "us" | "µs" => 1e-6,
        "ms" => 1e-3,
        "min" => 60.0,
        "h" => 3600.0,
        _ => return Err(wrong()),
    };
    let seconds = number.trim().parse::<f64>().map_err(|_| wrong())? * scale;
    Duration::try_from_secs_f64(seconds).ok().filter(|time| time.as_secs() < 1 << 32).ok_or_else(wrong)
}

/// Parses a size with its unit; without one, in bytes.
fn size(text: &str) -> Result<u64, String> {
    let wrong = || format!("expected a size such as 64MiB or 512KiB, not `{text}`");
    let digits = text.find(|letter: char| letter.is_ascii_alphabetic()).unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let scale = match unit {
        "" | "B" => 1.0,
        "KiB" | "K" | "k" => 1024.0,
        "MiB" | "M" => 1048576.0,
        "GiB" | "G" => 1073741824.0,
        "kB" => 1e3,
        "MB" => 1e6,
        "GB" => 1e9,
        _ => return Err(wrong()),
    };
    let bytes = number.trim().parse::<f64>().map_err(|_| wrong())? * scale;
    if bytes >= 1.0 && bytes <= (1u64 << 40) as f64 { Ok(bytes as u64) } else { Err(wrong()) }
}

/// Parses the size of the ring that a program makes for a recording. Programs would silently reduce a larger
/// one.
fn buffer(text: &str) -> Result<u64, String> {
    let most = situ::trace::Limits::new().ring_bytes;
    let asked = size(text)?;
    if asked <= most {
        return Ok(asked);
    }
    Err(format!(
        "programs allow at most {}MiB for a recording; record fewer categories (--category)",
        most >> 20
    ))
}

fn positive(text: &str, what: &str, most: f64) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(value) if value > 0.0 && value <= most => Ok(value),
        _ => Err(format!("expected {what}, greater than 0 and at most {most}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn zero_is_a_time_to_wait_and_no_buffer_is_cut() {
        assert_eq!(seconds_or_none("0"), Ok(0.0));
        assert_eq!(seconds_or_none("0.5"), Ok(0.5));
        assert!(["-1", "NaN", "inf", "2e6", ""].iter().all(|text| seconds_or_none(text).is_err()));
        assert!(seconds("0").is_err());
        let waits =
            |wait: &str| Cli::try_parse_from(["situ", "topic", "pub", "t", "T", "--wait", wait]).is_ok();
        assert!(waits("0") && !waits("-1"));
        assert_eq!(buffer("64MiB"), Ok(64 << 20));
        assert!(buffer("65MiB").unwrap_err().contains("at most 64MiB"));
        let records = |size: &str| Cli::try_parse_from(["situ", "trace", "record", "--buffer", size]).is_ok();
        assert!(records("64MiB") && !records("128MiB"));
    }

    #[test]
    fn the_definition_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn the_book_describes_every_command() {
        let book = include_str!("../../../docs/src/command.md");
        let program = Cli::command();
        for command in program.get_subcommands().filter(|c| !c.is_hide_set()) {
            let inner: Vec<_> = command
                .get_subcommands()
                .map(|c| format!("{} {}", command.get_name(), c.get_name()))
                .collect();
            for name in if inner.is_empty() { vec![command.get_name().to_owned()] } else { inner } {
                assert!(
                    book.contains(&format!("**`situ {name}")),
                    "docs/src/command.md does not mention `situ {name}`"
                );
            }
        }
    }

    #[test]
    fn times_and_sizes_have_units() {
        assert_eq!(time("5s"), Ok(Duration::from_secs(5)));
        assert_eq!(time("1.5"), Ok(Duration::from_millis(1500)));
        assert_eq!(time("200ms"), Ok(Duration::from_millis(200)));
        assert_eq!(time("2min"), Ok(Duration::from_secs(120)));
        for text in ["", "s", "-1s", "nan", "inf", "5 parsecs", "1e30s"] {
            assert!(time(text).is_err(), "{text}");
        }
        assert_eq!(size("64MiB"), Ok(64 << 20));
        assert_eq!(size("1.5K"), Ok(1536));
        assert_eq!(size("100"), Ok(100));
        for text in ["", "0", "-1", "MiB", "1TiB", "9999999GiB", "nan"] {
            assert!(size(text).is_err(), "{text}");
        }
    }

    #[test]
    fn odd_numbers_are_refused() {
        for text in ["0", "-1", "nan", "inf", "ten", "", "1e-300", "2e6"] {
            assert!(rate(text).is_err(), "{text}");
        }
        assert_eq!(rate("0.000001"), Ok(MIN_RATE));
        assert_eq!(seconds("0.5"), Ok(0.5));
    }
}
