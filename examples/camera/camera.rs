//! Publishes the frames of a camera of Linux (V4L2).
//!
//! `camera [/dev/videoN] [--mjpeg] [--size WIDTHxHEIGHT] [--frames N] [--skip-without-device]` publishes
//! `camera/image`, or with `--mjpeg` the topic `camera/compressed`, until the camera is disconnected.

mod device;
mod publish;
mod v4l2;

use std::error::Error;
use std::ffi::OsString;
use std::process::ExitCode;

use device::{Camera, Video};
use situ::layout::foreign::Foreign;
use situ::prelude::*;
use v4l2::Pixels;

const USAGE: &str =
    "usage: camera [/dev/videoN] [--mjpeg] [--size WIDTHxHEIGHT] [--frames N] [--skip-without-device]";

struct Options {
    device: OsString,
    pixels: Pixels,
    size: (u32, u32),
    frames: u64,
    is_skipped_without_device: bool,
}

impl Options {
    fn parse(mut arguments: impl Iterator<Item = OsString>) -> Option<Self> {
        let mut options = Self {
            device: "/dev/video0".into(),
            pixels: Pixels::Yuyv,
            size: (640, 480),
            frames: u64::MAX,
            is_skipped_without_device: false,
        };
        while let Some(argument) = arguments.next() {
            match argument.to_str() {
                Some("--mjpeg") => options.pixels = Pixels::Mjpeg,
                Some("--skip-without-device") => options.is_skipped_without_device = true,
                Some("--frames") => options.frames = arguments.next()?.to_str()?.parse().ok()?,
                Some("--size") => {
                    let size = arguments.next()?;
                    let (width, height) = size.to_str()?.split_once('x')?;
                    options.size = (width.parse().ok()?, height.parse().ok()?);
                }
                Some(option) if option.starts_with('-') => return None,
                _ => options.device = argument,
            }
        }
        Some(options)
    }
}

fn main() -> Result<ExitCode, Box<dyn Error>> {
    let options = Options::parse(std::env::args_os().skip(1)).ok_or(USAGE)?;
    let device = options.device.display();
    let Some(video) = Video::open(&options.device).map_err(|error| format!("{device}: {error}"))? else {
        eprintln!("there is no camera at {device}: connect one, or name its device");
        return Ok(if options.is_skipped_without_device { ExitCode::SUCCESS } else { ExitCode::FAILURE });
    };
    let (width, height) = options.size;
    let camera = Camera::start(video, options.pixels, width, height);
    let mut camera = camera.map_err(|error| format!("{device}: {error}"))?;
    let format = camera.format();
    let name = Foreign(camera.name());
    println!("captures {} x {} pixels in {:?} from {name}", format.width, format.height, format.pixels);

    let node = Node::new("camera")?;
    let counts =
        publish::run(&node, &mut camera, options.frames).map_err(|error| format!("{device}: {error}"))?;
    let publish::Counts { published, lost, damaged } = counts;
    println!("published {published} frames; {lost} were lost, and {damaged} damaged");
    Ok(ExitCode::SUCCESS)
}
