//! `situ demo`: a sensor, a filter and a viewer in three processes.
//!
//! ```text
//!   sensor (Rust)  ──points──▶  filter (C++)  ──obstacles──▶  viewer (Rust: this process)
//! ```
//!
//! The first run builds every frame in shared memory and passes references on. The second sends the same
//! frames serialized. Both measure the time from a frame's completion in the sensor until the viewer has the
//! filtered frame.
//!
//! ```text
//!   children   starts and stops the other processes
//!   sensor     publishes frames: from a file (`input`) or a synthetic street (`scene`)
//!   device     the filter in a memory domain of its choice
//!   viewer     takes the filter's frames: their ages (`latency`), and a `picture`
//!   frames     a frame as a message
//!   summary    the figures, with a `plot` of the latencies
//! ```

pub mod children;
pub mod device;
mod frames;
pub mod input;
pub mod latency;
mod picture;
mod plot;
mod scene;
pub mod sensor;
mod summary;
mod viewer;

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use situ::bus::{self, inspect};
use situ::trace::{Collector, CollectorOptions};

use crate::cli::DemoArgs;
use crate::commands::{Context, Interrupt};
use crate::error::CliError;
use crate::output::LiveBlock;
use crate::record::Recording;
use crate::trace;
use children::{ChildError, Part, Report};
use device::FilterOptions;
use input::Frame;
use plot::Curve;
use sensor::SensorOptions;
use summary::{DeviceRun, Run, Summary};
use viewer::{Seen, Viewer};

situ::trace::category!(
    /// The activity of the demo's own processes, in a trace.
    pub DEMO, "demo"
);

/// The time limit for a process to become ready.
const TIMEOUT: Duration = Duration::from_secs(10);
/// The interval between updates of the live table.
const REDRAW: Duration = Duration::from_millis(100);
/// The topics of the run with a filter on a device.
const DEVICE_TOPICS: [&str; 2] = ["camera/image/device", "camera/edges/device"];
/// The maximum size of a process's unread trace data, in bytes.
const RECORDED: usize = 4 << 20;
/// Name of the filter program.
const FILTER: &str = "situ-demo-filter";
/// Environment variable that names the filter program.
const FILTER_VARIABLE: &str = "SITU_DEMO_FILTER";

/// The kind of published data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Point clouds.
    Cloud,
    /// Images.
    Image,
}

impl Kind {
    /// The name of the kind, in JSON and for the filter.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Cloud => "cloud",
            Kind::Image => "image",
        }
    }

    /// The sensor's topic and the filter's topic.
    fn topics(self, serialized: bool) -> [String; 2] {
        let names = match self {
            Kind::Cloud => ["lidar/points", "lidar/obstacles"],
            Kind::Image => ["camera/image", "camera/edges"],
        };
        names.map(|n| if serialized { format!("{n}/serialized") } else { n.to_owned() })
    }
}

/// Ensures that this process does not outlive its parent.
pub fn die_with_parent() {
    let parent = rustix::process::getppid();
    // If the kernel refuses, the sensor of a killed demo keeps running until the next `situ clean`.
    let _ = rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::TERM));
    if rustix::process::getppid() != parent {
        std::process::exit(1);
    }
}

/// Runs the demo and shows the results.
pub fn run(context: &Context, arguments: &DemoArgs) -> Result<(), CliError> {
    // Reported once here, instead of by a process that failed.
    let kind =
        match arguments.input.as_ref().map(|path| input::read(path)).transpose().map_err(CliError::failed)? {
            Some(Frame::Image(_)) => Kind::Image,
            Some(Frame::Cloud(_)) | None => Kind::Cloud,
        };
    if let Some(domain) = &arguments.domain {
        device::choose(domain)?;
    }
    let filter = find_filter(arguments.filter.as_deref())?;
    let interrupt = Interrupt::listen()?;
    let demo = Demo { context, arguments, kind, filter, interrupt };
    let result = demo.run();
    // Errors after Ctrl-C are consequences of it.
    if result.is_err() && demo.interrupt.is_set() { Err(CliError::Interrupted) } else { result }
}

struct Demo<'a> {
    context: &'a Context,
    arguments: &'a DemoArgs,
    kind: Kind,
    filter: PathBuf,
    interrupt: Interrupt,
}

impl Demo<'_> {
    /// Runs both runs and prints the summary.
    fn run(&self) -> Result<(), CliError> {
        self.check_nobody_publishes()?;
        let trace = self.arguments.trace.as_deref().map(|path| self.record(path)).transpose()?;
        let record = self.arguments.record.as_deref();
        let recording = record.map(|path| Recording::start(self.context, path)).transpose()?;
        let begin = Instant::now();
        let zero_copy = self.pass(false)?;
        let serialized = if self.arguments.no_serialized || self.interrupt.is_set() {
            None
        } else {
            match self.pass(true) {
                Err(_) if self.interrupt.is_set() => None,
                run => Some(run?).filter(|r| r.frames > 0),
            }
        };
        let device = match &self.arguments.domain {
            Some(domain) if !self.interrupt.is_set() => match self.device_pass(domain) {
                Err(_) if self.interrupt.is_set() => None,
                run => Some(run?),
            },
            _ => None,
        };
        let plot = self.plot(&zero_copy, serialized.as_ref())?;
        let trace = match (trace, self.arguments.trace.as_deref()) {
            (Some(collector), Some(path)) => {
                let recorded = collector.stop().map_err(CliError::failed)?;
                Some(trace::record::Report::new(path, begin.elapsed(), &recorded))
            }
            _ => None,
        };
        let recording = recording.map(Recording::stop).transpose()?;
        let summary = Summary {
            zero_copy,
            serialized,
            device,
            input: self.arguments.input.as_ref().map(|p| p.display().to_string()),
            kind: self.kind.name(),
            leftovers: self.leftovers(),
            plot: plot.map(|p| p.display().to_string()),
            trace,
            recording,
        };
        summary.show(&self.context.output)?;
        if self.interrupt.is_set() && self.arguments.frames != 0 {
            Err(CliError::Interrupted)
        } else {
            Ok(())
        }
    }

    /// Starts a recording of all three processes.
    fn record(&self, path: &Path) -> Result<Collector, CliError> {
        let mut options = CollectorOptions::to_file(path);
        options.ring_bytes = RECORDED;
        Collector::start(&self.context.root, options).map_err(CliError::failed)
    }

    /// Returns an error if another demo runs in the same root, because its frames would mix with these.
    fn check_nobody_publishes(&self) -> Result<(), CliError> {
        let device = DEVICE_TOPICS.map(str::to_owned);
        for topic in [false, true].into_iter().flat_map(|s| self.kind.topics(s)).chain(device) {
            let info = inspect::topic(&self.context.root, &topic).map_err(CliError::failed)?;
            if info.is_some_and(|t| t.publishers.iter().any(|p| p.alive)) {
                return Err(CliError::Failed(format!(
                    "another process publishes to `{topic}` already (see `situ topic info {topic}`): stop it, or use another --root"
                )));
            }
        }
        Ok(())
    }

    /// One run of all three processes.
    fn pass(&self, serialized: bool) -> Result<Run, CliError> {
        let [input, output] = self.kind.topics(serialized);
        let node = self.context.named_node("demo_viewer")?;
        let viewer = Viewer::join(&node, &output, self.kind, serialized)?;
        // Processes start from the end of the chain: each one listens before its predecessor publishes.
        let mut filter = self.start_filter(serialized, &input, &output).map_err(CliError::failed)?;
        filter.wait_ready(TIMEOUT, || self.interrupt.is_set()).map_err(CliError::failed)?;
        let options = SensorOptions {
            input: self.arguments.input.clone(),
            camera: false,
            frames: self.arguments.frames,
            rate: self.arguments.rate,
            serialized,
            topic: input.clone(),
        };
        let mut sensor = self.context.start_part("sensor", &options).map_err(CliError::failed)?;
        sensor.wait_ready(TIMEOUT, || self.interrupt.is_set()).map_err(CliError::failed)?;

        let label = if serialized { "serialized" } else { "zero copy" };
        let seen = self.watch(&viewer, &mut sensor, &mut filter, label)?;
        let sensor = sensor.stop();
        let filter = filter.stop();
        Ok(Run::new(&seen, sensor, filter))
    }

    /// One run with a camera, and with a filter in a memory domain of its own.
    fn device_pass(&self, domain: &str) -> Result<DeviceRun, CliError> {
        let domain = device::choose(domain)?;
        // Only an image has edges; otherwise the demo's own picture is used.
        let input = self.arguments.input.clone().filter(|_| self.kind == Kind::Image);
        let pixels = match &input {
            Some(path) => match input::read(path).map_err(CliError::failed)? {
                Frame::Image(pixels) => pixels,
                Frame::Cloud(_) => return Err(CliError::Failed("the image has become a cloud".into())),
            },
            None => input::picture().map_err(CliError::failed)?,
        };
        let [images, edges] = DEVICE_TOPICS;
        let node = self.context.named_node("demo_viewer")?;
        // The viewer copies the filter's images to the host.
        node.domain(domain).map_err(CliError::failed)?;
        let viewer = Viewer::join(&node, edges, Kind::Image, false)?;
        let options = FilterOptions {
            domain: domain.to_string(),
            input: images.to_owned(),
            output: edges.to_owned(),
            bytes: pixels.data.len() as u64,
        };
        let mut filter = self.context.start_part("filter", &options).map_err(CliError::failed)?;
        filter.wait_ready(TIMEOUT, || self.interrupt.is_set()).map_err(CliError::failed)?;
        let options = SensorOptions {
            input,
            camera: true,
            frames: self.arguments.frames,
            rate: self.arguments.rate,
            serialized: false,
            topic: images.to_owned(),
        };
        let mut sensor = self.context.start_part("sensor", &options).map_err(CliError::failed)?;
        sensor.wait_ready(TIMEOUT, || self.interrupt.is_set()).map_err(CliError::failed)?;
        let seen = self.watch(&viewer, &mut sensor, &mut filter, &format!("in {domain}"))?;
        // The counters disappear with the topics.
        let topics = DEVICE_TOPICS.map(|topic| inspect::topic(&self.context.root, topic));
        let (sensor, filter) = (sensor.stop(), filter.stop());
        let topics = topics.into_iter().collect::<Result<Vec<_>, _>>().map_err(CliError::failed)?;
        let name = situ::memory::find(domain).map(|domain| domain.name()).map_err(CliError::failed)?;
        Ok(DeviceRun::new(Run::new(&seen, sensor, filter), domain, name, topics.into_iter().flatten()))
    }

    fn start_filter(&self, serialized: bool, input: &str, output: &str) -> Result<Part, ChildError> {
        let root = self.context.root.path().to_string_lossy();
        let mut arguments = vec![self.kind.name(), input, output, "--root", &root];
        if serialized {
            arguments.push("--serialized");
        }
        Part::start("filter", &self.filter, &arguments)
    }

    /// Takes frames until all have arrived, no more arrive, or Ctrl-C is pressed.
    fn watch(
        &self,
        viewer: &Viewer,
        sensor: &mut Part,
        filter: &mut Part,
        label: &str,
    ) -> Result<Seen, CliError> {
        let output = &self.context.output;
        let mut seen = Viewer::nothing();
        let mut block = LiveBlock::default();
        let mut drawn = Instant::now() - REDRAW;
        let period = Duration::from_secs_f64(1.0 / self.arguments.rate);
        let wanted = if self.arguments.frames == 0 { u64::MAX } else { self.arguments.frames };
        while seen.frames() < wanted && !self.interrupt.is_set() {
            let redraw = output.is_live() && drawn.elapsed() >= REDRAW;
            let size = redraw.then(|| (output.width().min(100), 14));
            let taken = viewer.look(&mut seen, REDRAW, size)?;
            // Ctrl-C reaches all three processes, so the end of the others is then not an error.
            if !taken && !self.interrupt.is_set() {
                sensor.check().map_err(CliError::failed)?;
                filter.check().map_err(CliError::failed)?;
                if seen.is_silent(period) {
                    break;
                }
            }
            if redraw && taken {
                let table = summary::live(output, &seen, sensor.report(), filter.report(), wanted, label);
                output.draw(&mut block, &table)?;
                drawn = Instant::now();
            }
        }
        if output.is_live() {
            // The summary replaces the picture.
            output.draw(&mut block, "")?;
        }
        Ok(seen)
    }

    fn plot(&self, zero_copy: &Run, serialized: Option<&Run>) -> Result<Option<PathBuf>, CliError> {
        if self.arguments.plot == Path::new("none") || zero_copy.frames == 0 {
            return Ok(None);
        }
        let mut curves = vec![Curve { label: "zero copy", latencies: &zero_copy.latencies }];
        curves.extend(serialized.map(|r| Curve { label: "serialized", latencies: &r.latencies }));
        let what = self
            .arguments
            .input
            .as_ref()
            .and_then(|p| p.file_name())
            .map_or_else(|| "a synthetic street".into(), |n| n.to_string_lossy().into_owned());
        let title = format!("Sensor to viewer through a C++ filter: {what}");
        plot::write(&self.arguments.plot, &title, &curves).map_err(CliError::failed)?;
        Ok(Some(self.arguments.plot.clone()))
    }

    /// The number of files that the demo has left in shared memory, after dead nodes are removed.
    fn leftovers(&self) -> u64 {
        // In an unsafe root no file is counted, because no node could be created there.
        let Ok(Some(root)) = self.context.root.open() else { return 0 };
        let _ = bus::clean(&root);
        let device = DEVICE_TOPICS.map(str::to_owned);
        let topics = [false, true].into_iter().flat_map(|s| self.kind.topics(s)).chain(device);
        let files: u64 = topics.map(|t| count_files(root.topic(&t).path())).sum();
        let ours = |n: &bus::NodeInfo| n.name.starts_with("demo_") && !n.alive || n.pid == std::process::id();
        let nodes = inspect::nodes(&root).unwrap_or_default().iter().filter(|n| ours(n)).count();
        files + nodes as u64
    }
}

fn count_files(path: &Path) -> u64 {
    let Ok(entries) = std::fs::read_dir(path) else { return u64::from(path.exists()) };
    1 + entries.flatten().map(|e| count_files(&e.path())).sum::<u64>()
}

/// Where the filter may lie, as seen from this program: beside it, where `make install` puts it, and in the
/// build folders of a checkout.
fn filters_of(program: &Path) -> Vec<PathBuf> {
    let beside = program.parent().unwrap_or(Path::new("."));
    ["", "../libexec/situ", "../../build/demo/examples", "../../build/cpp/examples"]
        .map(|folder| beside.join(folder).join(FILTER))
        .to_vec()
}

/// Finds the filter: the program that the command line or the environment names, otherwise one of
/// [`filters_of`].
fn find_filter(given: Option<&Path>) -> Result<PathBuf, CliError> {
    let named = given.map(Path::to_owned).or_else(|| std::env::var_os(FILTER_VARIABLE).map(PathBuf::from));
    let candidates = match named {
        Some(path) => vec![path],
        None => filters_of(&std::env::current_exe().unwrap_or_default()),
    };
    candidates.iter().find(|path| path.is_file()).cloned().ok_or_else(|| {
        let places: Vec<String> = candidates.iter().take(2).map(|path| path.display().to_string()).collect();
        CliError::NotFound(format!(
            "the filter of the demo, a C++ program, is not at {}; `make install` and the Debian package `situ` \
             install it; in a checkout of Situ `make demo` builds it and runs the demo; by hand: cmake -S cpp -B \
             build/cpp -G Ninja && cmake --build build/cpp --target {FILTER}; elsewhere, name it with --filter or \
             {FILTER_VARIABLE}",
            places.join(" or ")
        ))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use situ_testkit::Scratch;

    #[test]
    fn an_installed_filter_is_found() {
        let scratch = Scratch::created("demo-filter");
        let (program, folder) = (scratch.path().join("bin/situ"), scratch.path().join("libexec/situ"));
        let found = || filters_of(&program).into_iter().find(|path| path.is_file());
        assert_eq!(found(), None);
        std::fs::create_dir_all(program.parent().unwrap()).unwrap();
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join(FILTER), "").unwrap();
        let expected = folder.join(FILTER).canonicalize().unwrap();
        assert_eq!(found().unwrap().canonicalize().unwrap(), expected);
    }
}
