//! The demo's third process: takes what the filter publishes, measures how old it is, and makes a picture of it.

use std::time::{Duration, Instant};

use situ::bus::{CopyCounter, Node, RegisterError};
use situ::layout::{Flat, Heap};
use situ::prelude::Subscriber;

use super::Kind;
use super::frames::{age, points};
use super::latency::Latencies;
use super::picture;
use crate::error::CliError;
use crate::messages::situ::sensor::{Image, PointCloud2};

/// How long after the last frame the run is taken to be over, if frames are missing.
const SILENCE: Duration = Duration::from_secs(2);

/// What the viewer has seen so far.
#[derive(Debug, Default)]
pub struct Seen {
    /// From the moment a frame was complete in the sensor until the viewer had the filtered one.
    pub latencies: Latencies,
    /// Bytes of the last frame's bulk.
    pub bytes: usize,
    /// A picture of the last frame.
    pub picture: Vec<String>,
    began: Option<Instant>,
    last: Option<Instant>,
    copies_before: (u64, u64),
}

impl Seen {
    /// Frames taken.
    pub fn frames(&self) -> u64 {
        self.latencies.len() as u64
    }

    /// Frames a second.
    pub fn rate(&self) -> f64 {
        match (self.began, self.last) {
            (Some(began), Some(last)) if last > began => {
                (self.frames() - 1) as f64 / (last - began).as_secs_f64()
            }
            _ => 0.0,
        }
    }

    /// Copies that the viewer made, and their bytes.
    pub fn copies(&self) -> (u64, u64) {
        let (copies, bytes) = CopyCounter::of_process().get();
        (copies - self.copies_before.0, bytes - self.copies_before.1)
    }

    /// Whether nothing has come for so long that nothing will.
    pub fn is_silent(&self, period: Duration) -> bool {
        self.last.is_some_and(|l| l.elapsed() > SILENCE.max(period * 20))
    }

    fn note(&mut self, latency: u64, bytes: usize) {
        let now = Instant::now();
        self.began.get_or_insert(now);
        self.last = Some(now);
        self.latencies.push(latency);
        self.bytes = bytes;
    }
}

/// The viewer's end of the topic, for each kind of message.
pub enum Viewer {
    /// Point clouds in place.
    Cloud(Subscriber<PointCloud2<Flat>>),
    /// Serialized point clouds.
    SerializedCloud(Subscriber<PointCloud2<Heap>>),
    /// Images in place.
    Image(Subscriber<Image<Flat>>),
    /// Serialized images.
    SerializedImage(Subscriber<Image<Heap>>),
}

impl Viewer {
    /// Subscribes: no frame may be lost.
    pub fn join(node: &Node, topic: &str, kind: Kind, serialized: bool) -> Result<Self, RegisterError> {
        Ok(match (kind, serialized) {
            (Kind::Cloud, false) => Viewer::Cloud(node.subscriber(topic).reliable().create()?),
            (Kind::Cloud, true) => Viewer::SerializedCloud(node.subscriber(topic).reliable().create()?),
            (Kind::Image, false) => Viewer::Image(node.subscriber(topic).reliable().create()?),
            (Kind::Image, true) => Viewer::SerializedImage(node.subscriber(topic).reliable().create()?),
        })
    }

    /// What a new run has seen: nothing, and no copies yet.
    pub fn nothing() -> Seen {
        Seen { copies_before: CopyCounter::of_process().get(), ..Seen::default() }
    }

    /// Takes one frame, if there is one within `patience`; with a size, also makes a picture of it.
    pub fn look(
        &self,
        seen: &mut Seen,
        patience: Duration,
        picture_size: Option<(usize, usize)>,
    ) -> Result<bool, CliError> {
        let patience = Some(patience);
        let picture = match self {
            Viewer::Cloud(subscriber) => {
                let Some(cloud) = subscriber.recv(patience).map_err(CliError::failed)? else {
                    return Ok(false);
                };
                let data = cloud.bulk(|m| &m.data);
                seen.note(age(&cloud.header.stamp), data.len());
                picture_size.map(|(columns, rows)| picture::cloud(points(data), columns, rows))
            }
            Viewer::SerializedCloud(subscriber) => {
                let Some(cloud) = subscriber.recv(patience).map_err(CliError::failed)? else {
                    return Ok(false);
                };
                seen.note(age(&cloud.header.stamp), cloud.data.len());
                picture_size.map(|(columns, rows)| picture::cloud(points(&cloud.data), columns, rows))
            }
            Viewer::Image(subscriber) => {
                let Some(image) = subscriber.recv(patience).map_err(CliError::failed)? else {
                    return Ok(false);
                };
                let data = image.bulk(|m| &m.data);
                seen.note(age(&image.header.stamp), data.len());
                let (width, height) = (image.width as usize, image.height as usize);
                picture_size.map(|(columns, rows)| picture::image(data, width, height, columns, rows))
            }
            Viewer::SerializedImage(subscriber) => {
                let Some(image) = subscriber.recv(patience).map_err(CliError::failed)? else {
                    return Ok(false);
                };
                seen.note(age(&image.header.stamp), image.data.len());
                let (width, height) = (image.width as usize, image.height as usize);
                picture_size.map(|(columns, rows)| picture::image(&image.data, width, height, columns, rows))
            }
        };
        if let Some(picture) = picture {
            seen.picture = picture;
        }
        Ok(true)
    }
}
