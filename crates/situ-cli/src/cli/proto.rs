//! The arguments of `situ proto`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

/// `situ proto`.
#[derive(Debug, Subcommand)]
pub enum ProtoCommand {
    /// Print an encoded protobuf message as text
    #[command(
        after_help = "Fields that the type does not have are printed by number. Files of proto2 and proto3 are read.

Examples:
  situ proto print --proto robot.proto --type robot.Pose pose.bin
  situ proto parse --proto robot.proto --type robot.Pose pose.txt | situ proto print --proto robot.proto --type robot.Pose
  situ proto print --descriptors robot.pb --type robot.Pose pose.bin"
    )]
    Print(ProtoArgs),
    /// Encode a protobuf message from its text
    #[command(after_help = "Examples:
  situ proto parse --proto robot.proto --type robot.Pose pose.txt > pose.bin
  echo 'x: 1.5 y: -2' | situ proto parse --proto robot.proto --type robot.Pose > pose.bin")]
    Parse(ProtoArgs),
}

/// `situ proto print` and `situ proto parse`.
#[derive(Debug, Args)]
pub struct ProtoArgs {
    /// The .proto file that defines the type; several if extensions lie in others
    #[arg(long, value_name = "FILE", required_unless_present = "descriptors")]
    pub proto: Vec<PathBuf>,
    /// A file with descriptors instead, as `protoc --include_imports --descriptor_set_out=FILE` writes it
    #[arg(long, value_name = "FILE", conflicts_with_all = ["proto", "include"])]
    pub descriptors: Option<PathBuf>,
    /// Directory to search for imports
    #[arg(short = 'I', long = "include", value_name = "DIR")]
    pub include: Vec<PathBuf>,
    /// The type, with its package: robot.Pose
    #[arg(long = "type", value_name = "NAME")]
    pub type_name: String,
    /// The message; without it, the standard input
    #[arg(value_name = "FILE")]
    pub file: Option<PathBuf>,
}
