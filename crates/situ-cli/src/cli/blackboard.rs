//! The arguments of `situ blackboard`.

use clap::{Args, Subcommand};

use super::seconds;

/// `situ blackboard`.
#[derive(Debug, Subcommand)]
pub enum BlackboardCommand {
    /// List the blackboards, with their types, their numbers of keys, and their writers
    #[command(after_help = "Examples:
  situ blackboard list
  situ blackboard list --json | jq -r '.blackboards[] | select(.writer == null) | .name'")]
    List,
    /// Print the latest value of one key, or of all keys
    #[command(after_help = "Examples:
  situ blackboard get robot/limits
  situ blackboard get robot/limits arm
  situ blackboard get robot/limits arm --json | jq .value")]
    Get(GetArgs),
    /// Print values as they change
    #[command(after_help = "Examples:
  situ blackboard watch robot/limits
  situ blackboard watch robot/limits arm -n 1 --timeout 10

It looks a hundred times a second, and does not slow the writer down. Of several values between two looks
it prints the last one; `version` counts all of them.")]
    Watch(WatchArgs),
}

/// `situ blackboard get`.
#[derive(Debug, Args)]
pub struct GetArgs {
    /// The blackboard's name
    pub blackboard: String,
    /// The key; without it, all keys
    pub key: Option<String>,
    /// Print long arrays and strings in full
    #[arg(long)]
    pub full: bool,
}

/// `situ blackboard watch`.
#[derive(Debug, Args)]
pub struct WatchArgs {
    #[command(flatten)]
    pub get: GetArgs,
    /// Stop after N values
    #[arg(short = 'n', long, value_name = "N")]
    pub count: Option<u64>,
    /// Give up when no value changes for this many seconds
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    pub timeout: Option<f64>,
}
