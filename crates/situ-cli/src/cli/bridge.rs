//! The arguments of `situ bridge`.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;

use super::{size, time};

/// `situ bridge`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  situ bridge                                      finds other bridges of this network by multicast
  situ bridge -l tcp/0.0.0.0:7447                  on one machine
  situ bridge -c tcp/192.168.1.7:7447              on the other one
  situ bridge -c tcp/localhost:7447 --domain 0     with nodes of rmw_zenoh, by their router
  situ bridge 'camera/**' tf -x '**/debug'         only these topics and services
  situ bridge --rate 'camera/**=10' --priority 'joints=real_time' --in cmd_vel
  situ bridge --config zenoh.json5 --rules bridge.toml

A topic crosses while the other side subscribes to it, a service when it is called. Publishers here never wait
for the network: what it cannot take waits in the topic's ring, and counts as lost if it is overwritten there.

A file of rules, later ones win:
  default = \"neither\"             # both, out, in, neither
  [[rule]]
  topics = [\"camera/**\", \"tf\"]
  direction = \"out\"
  max_rate = 10                   # messages a second of each publisher
  priority = \"data_high\"          # real_time, interactive_high, interactive_low, data_high, data, data_low,
                                  # background
  express = true                  # do not wait for other messages to send with them

Encryption and access control are Zenoh's, in its own configuration file (--config). A bridge that listens beyond
this machine without them warns: any machine that reaches it may read and publish what crosses.")]
pub struct BridgeArgs {
    /// Topics and services, or patterns of their names (`'lidar/*'`; `**` also stands for `/`); otherwise all
    #[arg(value_name = "NAME")]
    pub names: Vec<String>,
    /// Not these, or those that match this pattern. May be given several times
    #[arg(short = 'x', long, value_name = "PATTERN")]
    pub exclude: Vec<String>,
    /// These only leave this machine. May be given several times
    #[arg(long, value_name = "PATTERN")]
    pub out: Vec<String>,
    /// These only come to this machine. May be given several times
    #[arg(long = "in", value_name = "PATTERN")]
    pub into: Vec<String>,
    /// The greatest rate at which messages of each publisher are sent, in hertz: `'camera/**=10'`. May be
    /// given several times
    #[arg(long, value_name = "PATTERN=HZ")]
    pub rate: Vec<String>,
    /// Send with this priority: `'joints=real_time'`. May be given several times
    #[arg(long, value_name = "PATTERN=PRIORITY")]
    pub priority: Vec<String>,
    /// Rules from a TOML file; those of the command line win
    #[arg(long, value_name = "FILE")]
    pub rules: Option<PathBuf>,
    /// Connect to this endpoint (`tcp/192.168.1.7:7447`). May be given several times
    #[arg(short, long, value_name = "ENDPOINT")]
    pub connect: Vec<String>,
    /// Listen on this endpoint (`tcp/0.0.0.0:7447`). May be given several times
    #[arg(short, long, value_name = "ENDPOINT")]
    pub listen: Vec<String>,
    /// Take part as peer, client or router
    #[arg(long, value_name = "MODE", value_parser = ["peer", "client", "router"])]
    pub mode: Option<String>,
    /// Do not look for others by multicast
    #[arg(long)]
    pub no_multicast: bool,
    /// Zenoh's configuration file
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// The domain on the network: ROS_DOMAIN_ID of the others. By default that of this machine's graph
    #[arg(long, value_name = "N")]
    pub domain: Option<u32>,
    /// How much memory topics of other machines take at most for messages that they keep for late subscribers
    /// (transient local), all together. Above it, the oldest messages are forgotten
    #[arg(long, value_name = "SIZE", default_value = "256MiB", value_parser = size)]
    pub keep: u64,
    /// End after this time (5s, 2min); otherwise at Ctrl-C
    #[arg(long, value_name = "TIME", value_parser = time)]
    pub duration: Option<Duration>,
}
