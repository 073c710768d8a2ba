//! The arguments of `situ topic view`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::{rate, seconds};

/// `situ topic view`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  situ topic view camera/image                live, until Ctrl-C
  situ topic view lidar/points --by intensity
  situ topic view camera/image --png now.png  the next image, as a file
  situ topic view stereo --field left --once  an image inside of a message

Images: `height`, `width`, `data`, and `encoding` as in sensor_msgs/Image (rgb8, bgr8, rgba8, bgra8, mono8,
mono16, 16UC1, 32FC1, yuyv, uyvy, bayer_* as grey and others), and arrays of numbers. Point clouds: as in
sensor_msgs/PointCloud2, from above, x to the right and y up. The terminal is asked for what it can draw.")]
pub struct ViewTopicArgs {
    /// The topic
    #[arg(value_name = "TOPIC")]
    pub topic: String,
    /// Write the next message as a PNG file, and end
    #[arg(long, value_name = "FILE", conflicts_with_all = ["once", "protocol"])]
    pub png: Option<PathBuf>,
    /// Draw one message, and end
    #[arg(long)]
    pub once: bool,
    /// The most pictures a second
    #[arg(long, value_name = "HZ", default_value_t = 10.0, value_parser = rate)]
    pub max_rate: f64,
    /// Width of the picture: in characters [default: as wide as there is room, images at most as large as
    /// they are]; with --png in pixels [default: that of an image; 800 for clouds]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=16_384))]
    pub width: Option<u32>,
    /// How to draw: by the protocol of kitty, as sixels, or as characters
    #[arg(long = "as", value_enum, value_name = "KIND", default_value = "auto")]
    pub protocol: ProtocolKind,
    /// Draw this field of the message, for instance `left` or `images[1]`
    #[arg(long, value_name = "PATH")]
    pub field: Option<String>,
    /// The field of points that gives their colour [default: z]
    #[arg(long, value_name = "FIELD")]
    pub by: Option<String>,
    /// Show clouds up to this far from the origin, in each direction [default: nearly all points]
    #[arg(long, value_name = "METRES", value_parser = reach)]
    pub range: Option<f32>,
    /// Give up when no message arrives for this many seconds
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    pub timeout: Option<f64>,
}

/// How pictures are drawn on a terminal. The variants have no documentation of their own, because it would
/// lengthen every `--help`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ProtocolKind {
    Auto,
    Kitty,
    Sixel,
    Blocks,
}

fn reach(text: &str) -> Result<f32, String> {
    super::positive(text, "a distance", 1e6).map(|it| it as f32)
}
