//! The demo's first process: a lidar (or a camera) that publishes frames.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use situ::bus::{CopyCounter, Node, WhenFull};
use situ::layout::{Flat, Heap};
use situ::trace::slice;

use super::DEMO;
use super::children::Report;
use super::frames::{FlatFrame, HeapFrame, POINT, PointWriter, Shape, complete};
use super::input::{self, Frame, Pixels, Point};
use super::scene::{self, Scene};
use crate::commands::{Context, Interrupt};
use crate::error::CliError;
use crate::messages::situ_::sensor::{Image, PointCloud2};

/// The interval between reports.
const PERIOD: Duration = Duration::from_millis(100);
/// The interval between checks whether to stop.
const GLANCE: Duration = Duration::from_millis(20);
/// The number of frames by which the sensor may be ahead of the filter.
const DEPTH: usize = 8;
/// A viewer may be busy for a long time.
const PATIENT: WhenFull = WhenFull::Block(Some(Duration::from_secs(30)));

/// The options of the sensor.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct SensorOptions {
    /// The file to play; without one, a synthetic street.
    pub input: Option<PathBuf>,
    /// Without a file, play the built-in picture instead of the street.
    pub camera: bool,
    /// Frames to publish; 0 means no end.
    pub frames: u64,
    /// Frames a second.
    pub rate: f64,
    /// Whether messages are serialized rather than built in place.
    pub serialized: bool,
    /// The topic on which it publishes.
    pub topic: String,
}

/// The source of frames.
enum Source {
    Recorded(Vec<Point>),
    Street(Box<Scene>),
    Camera(Pixels),
}

impl Source {
    fn open(input: Option<&PathBuf>, camera: bool) -> Result<Self, CliError> {
        Ok(match input.map(|path| input::read(path)).transpose().map_err(CliError::failed)? {
            None if camera => Source::Camera(input::picture().map_err(CliError::failed)?),
            None => Source::Street(Box::new(Scene::new())),
            Some(Frame::Cloud(points)) => Source::Recorded(points),
            Some(Frame::Image(pixels)) => Source::Camera(pixels),
        })
    }

    /// The shape of its frames.
    fn shape(&self) -> Shape {
        match self {
            Source::Recorded(points) => Shape { width: points.len(), height: 1, step: POINT },
            Source::Street(_) => Shape { width: scene::BEAMS, height: scene::COLUMNS, step: POINT },
            Source::Camera(pixels) => Shape::of(pixels),
        }
    }

    /// Writes a frame to its place, like the driver of a sensor.
    fn write(&self, seconds: f32, data: &mut [u8]) {
        match self {
            Source::Recorded(points) => {
                let mut writer = PointWriter::new(data);
                points.iter().for_each(|p| writer.put(*p));
            }
            Source::Street(scene) => {
                let mut writer = PointWriter::new(data);
                scene.scan(seconds, |p| writer.put(p));
            }
            Source::Camera(pixels) => data.copy_from_slice(&pixels.data),
        }
    }
}

/// Publishes one frame.
type Publish<'a> = Box<dyn FnMut(f32) -> Result<(), CliError> + 'a>;

/// Runs until it is stopped. Published frames stay available until then.
pub fn run(context: &Context, options: &SensorOptions) -> Result<(), CliError> {
    super::die_with_parent();
    let interrupt = Interrupt::listen()?;
    let source = Source::open(options.input.as_ref(), options.camera)?;
    let node = context.named_node("demo_sensor")?;
    let mut publish = publisher(&node, &source, options)?;
    let tell = |ready, frames| {
        let (copies, bytes_copied) = CopyCounter::of_process().get();
        context.output.record(&Report { ready, frames, copies, bytes_copied, busy_ns: 0 })
    };
    tell(true, 0)?;

    let period = Duration::from_secs_f64(1.0 / options.rate);
    let begin = Instant::now();
    let mut due = begin;
    let mut told = begin;
    let mut frames = 0;
    while !interrupt.is_set() {
        let now = Instant::now();
        let more = options.frames == 0 || frames < options.frames;
        if more && now >= due {
            publish((now - begin).as_secs_f32())?;
            frames += 1;
            // A late sensor does not catch up with a burst.
            due = (due + period).max(now);
        }
        if told.elapsed() >= PERIOD || (more && frames == options.frames) {
            tell(true, frames)?;
            told = Instant::now();
        }
        let rest = if more { due.saturating_duration_since(Instant::now()) } else { GLANCE };
        std::thread::sleep(rest.min(GLANCE));
    }
    tell(true, frames)?;
    Ok(())
}

fn publisher<'a>(node: &Node, source: &'a Source, options: &SensorOptions) -> Result<Publish<'a>, CliError> {
    match (source, options.serialized) {
        (Source::Camera(_), false) => in_place::<Image<Flat>>(node, source, &options.topic),
        (Source::Camera(_), true) => serialized::<Image<Heap>>(node, source, &options.topic),
        (_, false) => in_place::<PointCloud2<Flat>>(node, source, &options.topic),
        (_, true) => serialized::<PointCloud2<Heap>>(node, source, &options.topic),
    }
}

/// Loans each frame, writes it in place, and publishes it.
fn in_place<'a, T: FlatFrame>(node: &Node, source: &'a Source, topic: &str) -> Result<Publish<'a>, CliError> {
    let publisher = node.publisher::<T>(topic).reliable().depth(DEPTH);
    let publisher = publisher.when_full(PATIENT).create().map_err(CliError::failed)?;
    let shape = source.shape();
    Ok(Box::new(move |seconds| {
        let mut frame = publisher.loan_with(T::lengths(shape.bytes())).map_err(CliError::failed)?;
        frame.describe(&shape).map_err(CliError::failed)?;
        {
            let _slice = slice!(DEMO, "measure", "bytes" => shape.bytes());
            source.write(seconds, frame.bulk_mut(FlatFrame::place));
        }
        complete(&mut *frame);
        frame.publish().map_err(CliError::failed)?;
        Ok(())
    }))
}

/// Writes each frame into the same message in this process's memory, and serializes it.
fn serialized<'a, T: HeapFrame>(
    node: &Node,
    source: &'a Source,
    topic: &str,
) -> Result<Publish<'a>, CliError> {
    let publisher = node.publisher::<T>(topic).reliable().depth(DEPTH);
    let publisher = publisher.when_full(PATIENT).create().map_err(CliError::failed)?;
    let shape = source.shape();
    let mut frame = T::default();
    frame.describe(&shape).map_err(CliError::failed)?;
    frame.resize(shape.bytes());
    Ok(Box::new(move |seconds| {
        {
            let _slice = slice!(DEMO, "measure", "bytes" => shape.bytes());
            source.write(seconds, frame.data_mut());
        }
        complete(&mut frame);
        publisher.publish(&frame).map_err(CliError::failed)?;
        Ok(())
    }))
}
