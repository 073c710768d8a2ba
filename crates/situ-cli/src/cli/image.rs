//! The arguments of `situ image`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

/// `situ image`.
#[derive(Debug, Subcommand)]
pub enum ImageCommand {
    /// Check whether a file is a whole image of its type
    #[command(
        after_help = "It checks the header, the schema hash, every link, length and capacity, texts and keys, and that no two
blocks overlap. A program with the compiled type also checks the layout hash and the indices of hash tables.

Example:
  situ image check character.region --schema game.idl && echo fine"
    )]
    Check(ImageArgs),
    /// Print the value of an image as YAML, or with --json as JSON
    #[command(after_help = "Examples:
  situ image print character.region --schema game.idl
  situ image print character.region --topic characters --json | jq .message.name")]
    Print(ImageArgs),
    /// Show which members differ in two images of one type
    #[command(
        after_help = "It compares values, not bytes: a live image equals the canonical image of the same value.

Example:
  situ image diff before.region after.region --schema game.idl"
    )]
    Diff(ImageDiffArgs),
    /// Show where the bytes of an image go: data, room to grow, rounding, gaps
    #[command(after_help = "Without a schema, only the header is shown.

Example:
  situ image stat character.region --schema game.idl")]
    Stat(ImageArgs),
    /// Convert an image to another form or encoding, or text to an image
    #[command(
        after_help = "A file named .yaml, .yml or .json is a value as text, of the type of --type. Of an image that is not
packed, links that share a value still do so in the canonical or packed image.

Examples:
  situ image convert character.region --schema game.idl --to packed -o character.packed
  situ image convert character.region --schema game.idl --to cdr -o character.cdr
  situ image convert character.region --schema game.idl --to json
  situ image convert hero.yaml --schema game.idl --type game::Character --to canonical -o hero.region"
    )]
    Convert(ImageConvertArgs),
}

/// The type of an image.
#[derive(Debug, Args)]
pub struct ImageTypeArgs {
    /// File that defines the type: .idl, .msg; several if needed
    #[arg(long, value_name = "FILE")]
    pub schema: Vec<PathBuf>,
    /// Directory to search for includes and ROS packages
    #[arg(short = 'I', long = "include", value_name = "DIR")]
    pub include: Vec<PathBuf>,
    /// Read the schema that a running topic carries
    #[arg(long, value_name = "TOPIC", conflicts_with = "schema")]
    pub topic: Option<String>,
    /// The type [default: the one that the image names by its hash]
    #[arg(long = "type", value_name = "NAME")]
    pub type_name: Option<String>,
}

/// `situ image check`, `print` and `stat`.
#[derive(Debug, Args)]
pub struct ImageArgs {
    /// The image
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// Its type.
    #[command(flatten)]
    pub of: ImageTypeArgs,
}

/// `situ image diff`.
#[derive(Debug, Args)]
pub struct ImageDiffArgs {
    /// An image
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// The image to compare it with
    #[arg(value_name = "OTHER")]
    pub other: PathBuf,
    /// Their type.
    #[command(flatten)]
    pub of: ImageTypeArgs,
}

/// The encoding of a converted image.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ImageEncoding {
    /// Canonical image: no gaps, and it can be edited further
    Canonical,
    /// Packed image: the smallest one, to be stored, sent and read
    Packed,
    /// CDR, version 1
    Cdr,
    /// CDR, version 2
    Xcdr2,
    /// YAML
    Yaml,
    /// JSON
    Json,
}

/// `situ image convert`.
#[derive(Debug, Args)]
pub struct ImageConvertArgs {
    /// The image, or a value as text
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// Its type.
    #[command(flatten)]
    pub of: ImageTypeArgs,
    /// The encoding
    #[arg(long, value_enum, value_name = "ENCODING")]
    pub to: ImageEncoding,
    /// File for the result; without it, the standard output
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
}
