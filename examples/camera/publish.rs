//! Publishes frames: each is copied once, from the driver's buffer into its message in shared memory.

use std::error::Error;
use std::time::Duration;

use situ::bus::now_ns;
use situ::prelude::*;
use situ_examples::situ_::common::{Header, Time};
use situ_examples::situ_::sensor::{CompressedImage, CompressedImageBulkLengths, Image, ImageBulkLengths};

use crate::device::{Camera, Driver};
use crate::v4l2::{Format, Frame, Pixels};

/// The longest exposure of cameras is shorter.
const FRAME_TIMEOUT: Duration = Duration::from_secs(5);

/// What publishes frames.
enum Output {
    Images(Publisher<Image>),
    Compressed(Publisher<CompressedImage>),
}

impl Output {
    fn new(node: &Node, pixels: Pixels) -> Result<Self, Box<dyn Error>> {
        Ok(match pixels {
            Pixels::Yuyv => Self::Images(node.publisher("camera/image").create()?),
            Pixels::Mjpeg => Self::Compressed(node.publisher("camera/compressed").create()?),
        })
    }

    /// Copies a frame from the driver's buffer into a message of its size, in shared memory.
    fn publish(&self, format: &Format, frame: &Frame, content: &[u8]) -> Result<(), Box<dyn Error>> {
        let stamp = frame.stamp_ns(i64::try_from(now_ns())?, Time::now().to_nanos());
        let head = |header: &mut Header| -> Result<(), Box<dyn Error>> {
            header.stamp = Time::from_nanos(stamp)?;
            Ok(header.frame_id.try_assign("camera")?)
        };
        match self {
            Self::Images(publisher) => {
                let mut image = publisher.loan_with(ImageBulkLengths { data: content.len() })?;
                head(&mut image.header)?;
                (image.height, image.width, image.step) = (format.height, format.width, format.row);
                image.encoding.try_assign("yuv422_yuy2")?;
                image.bulk_mut(|image| &image.data).copy_from_slice(content);
                image.publish()?;
            }
            Self::Compressed(publisher) => {
                let mut image = publisher.loan_with(CompressedImageBulkLengths { data: content.len() })?;
                head(&mut image.header)?;
                image.format.try_assign("jpeg")?;
                image.bulk_mut(|image| &image.data).copy_from_slice(content);
                image.publish()?;
            }
        }
        Ok(())
    }
}

/// What became of the frames of a camera.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    pub published: u64,
    /// The driver had no buffer for them, or the line lost them.
    pub lost: u64,
    /// A part of them arrived. They are not published.
    pub damaged: u64,
}

/// Publishes this number of frames, or all until the camera is disconnected.
pub fn run<D: Driver>(node: &Node, camera: &mut Camera<D>, frames: u64) -> Result<Counts, Box<dyn Error>> {
    let format = camera.format();
    let output = Output::new(node, format.pixels)?;
    let mut counts = Counts::default();
    while counts.published < frames {
        let received = camera.next(FRAME_TIMEOUT, |frame, bytes, gap| -> Result<(), Box<dyn Error>> {
            counts.lost += u64::from(gap);
            match format.content(bytes).filter(|_| !frame.is_damaged) {
                Some(content) => {
                    output.publish(&format, frame, content)?;
                    counts.published += 1;
                }
                None => counts.damaged += 1,
            }
            Ok(())
        });
        match received? {
            Some(result) => result?,
            None => break,
        }
    }
    Ok(counts)
}
