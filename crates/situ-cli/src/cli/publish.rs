//! The arguments of `situ topic pub`.

use std::path::PathBuf;

use clap::Args;

use super::{QosArgs, rate, seconds_or_none};

/// `situ topic pub`.
#[derive(Debug, Args)]
pub struct PubArgs {
    /// The topic
    pub topic: String,
    /// The type, for instance `geometry_msgs::msg::Twist` or `geometry_msgs/msg/Twist`
    #[arg(value_name = "TYPE")]
    pub type_name: String,
    /// The message as YAML or JSON; absent members keep their defaults
    #[arg(default_value = "{}", value_name = "MESSAGE")]
    pub message: String,
    /// Publish the messages of this file, or of standard input if it is `-`: YAML documents separated by
    /// `---`, or one JSON object a line; each as soon as it is read, unless --rate is given
    #[arg(short, long, value_name = "FILE", conflicts_with = "message")]
    pub file: Option<PathBuf>,
    /// What the publisher offers.
    #[command(flatten)]
    pub qos: QosArgs,
    /// How many of its last messages stay available [default: 8]
    #[arg(long, alias = "qos-depth", value_name = "N",
        value_parser = clap::value_parser!(u32).range(1..=32_768))]
    pub depth: Option<u32>,
    /// A file that defines the type: .idl, .msg
    #[arg(long = "schema", value_name = "FILE")]
    pub schemas: Vec<PathBuf>,
    /// Directory to search for includes and ROS packages: a ROS prefix or a Python environment;
    /// AMENT_PREFIX_PATH is searched too
    #[arg(short = 'I', long = "include", value_name = "DIR")]
    pub include: Vec<PathBuf>,
    /// Stop after N messages, one a second unless --rate is given [default: 1, without end when --rate is
    /// given]
    #[arg(short = 'n', long, value_name = "N")]
    pub count: Option<u64>,
    /// Messages a second [default: 1]
    #[arg(short, long, value_name = "HZ", value_parser = rate)]
    pub rate: Option<f64>,
    /// Wait at most this many seconds for a subscriber before the first message; 0 does not wait, and without
    /// a number it is 1000000
    #[arg(long, value_name = "SECONDS", default_value_t = 1.0, value_parser = seconds_or_none,
        num_args = 0..=1, default_missing_value = "1000000")]
    pub wait: f64,
}
