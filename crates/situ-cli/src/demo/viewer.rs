//! The demo's third process: takes the filter's frames, measures their age, and makes a picture of them.

use std::time::{Duration, Instant};

use situ::bus::{CopyCounter, Node};
use situ::layout::{Flat, Heap};
use situ::trace::slice;

use super::frames::FrameMessage;
use super::latency::Latencies;
use super::{DEMO, Kind};
use crate::error::CliError;
use crate::messages::situ_::sensor::{Image, PointCloud2};

/// The time without frames after which a run with missing frames is considered over.
const SILENCE: Duration = Duration::from_secs(2);

/// The viewer's observations so far.
#[derive(Debug, Default)]
pub struct Seen {
    /// The times from a frame's completion in the sensor until the viewer has the filtered frame.
    pub latencies: Latencies,
    /// The size of the last frame's bulk data.
    pub bytes: usize,
    /// A picture of the last frame.
    pub picture: Vec<String>,
    began: Option<Instant>,
    last: Option<Instant>,
    copies_before: (u64, u64),
}

impl Seen {
    /// The number of frames taken.
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

    /// Whether the time limit for further frames has passed.
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

/// Takes one frame if one arrives within the given time. With a size, also makes a picture of it.
type Look = dyn Fn(&mut Seen, Duration, Option<(usize, usize)>) -> Result<bool, CliError>;

/// The viewer's subscription, for any type of message.
pub struct Viewer(Box<Look>);

impl Viewer {
    /// Subscribes so that no frame is lost.
    pub fn join(node: &Node, topic: &str, kind: Kind, serialized: bool) -> Result<Self, CliError> {
        match (kind, serialized) {
            (Kind::Cloud, false) => subscribe::<PointCloud2<Flat>>(node, topic),
            (Kind::Cloud, true) => subscribe::<PointCloud2<Heap>>(node, topic),
            (Kind::Image, false) => subscribe::<Image<Flat>>(node, topic),
            (Kind::Image, true) => subscribe::<Image<Heap>>(node, topic),
        }
    }

    /// The observations at the start of a run: no frames and no copies.
    pub fn nothing() -> Seen {
        Seen { copies_before: CopyCounter::of_process().get(), ..Seen::default() }
    }

    /// Takes one frame if one arrives within `timeout`. With a size, also makes a picture of it.
    pub fn look(
        &self,
        seen: &mut Seen,
        timeout: Duration,
        picture_size: Option<(usize, usize)>,
    ) -> Result<bool, CliError> {
        (self.0)(seen, timeout, picture_size)
    }
}

fn subscribe<T: FrameMessage>(node: &Node, topic: &str) -> Result<Viewer, CliError> {
    let subscriber = node.subscriber::<T>(topic).reliable().create().map_err(CliError::failed)?;
    Ok(Viewer(Box::new(move |seen, timeout, picture_size| {
        let Some(frame) = subscriber.recv(Some(timeout)).map_err(CliError::failed)? else {
            return Ok(false);
        };
        let _slice = slice!(DEMO, "look", "number" => frame.sequence());
        let data = frame.data(frame.raw().body_in_place());
        seen.note(frame.age(), data.len());
        if let Some((columns, rows)) = picture_size {
            seen.picture = frame.picture(data, columns, rows);
        }
        Ok(true)
    })))
}
