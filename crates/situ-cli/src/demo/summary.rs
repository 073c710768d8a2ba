//! The results of a demo: the live table, the closing summary, the JSON object.

use serde::Serialize;
use situ::bus::inspect::TopicInfo;
use situ::memory::DomainId;

use super::Report;
use super::latency::Latencies;
use super::viewer::Seen;
use crate::error::CliError;
use crate::output::table::{Cell, Column, Table, shorten};
use crate::output::{Output, Style, units};
use crate::record;
use crate::trace;

/// One run of the three processes.
#[derive(Clone, Debug, Serialize)]
pub struct Run {
    /// Frames that reached the viewer.
    pub frames: u64,
    /// Frames that the sensor published and the viewer did not receive.
    pub lost: u64,
    p50_ns: u64,
    p99_ns: u64,
    /// Copies of frames, serialization included, that the three processes made together.
    copies: u64,
    bytes_copied: u64,
    rate_hz: f64,
    /// The part of the latency in which the filter computes a frame, on average.
    filter_ns: u64,
    #[serde(skip)]
    pub latencies: Latencies,
}

impl Run {
    /// Creates the result from the viewer's observations and the other processes' reports.
    pub fn new(seen: &Seen, sensor: Report, filter: Report) -> Self {
        let [p50_ns, p99_ns] = seen.latencies.percentiles([50.0, 99.0]);
        let (copies, bytes_copied) = seen.copies();
        Self {
            frames: seen.frames(),
            lost: sensor.frames.saturating_sub(seen.frames()),
            p50_ns,
            p99_ns,
            copies: copies + sensor.copies + filter.copies,
            bytes_copied: bytes_copied + sensor.bytes_copied + filter.bytes_copied,
            rate_hz: seen.rate(),
            filter_ns: filter.busy_ns / filter.frames.max(1),
            latencies: seen.latencies.clone(),
        }
    }
}

/// A run whose filter works in another memory domain than the camera and the viewer.
#[derive(Debug, Serialize)]
pub struct DeviceRun {
    domain: String,
    name: String,
    #[serde(flatten)]
    run: Run,
    topics: Vec<TopicCopies>,
}

/// The copies of a topic's messages.
#[derive(Debug, Serialize)]
struct TopicCopies {
    topic: String,
    published: u64,
    domains: Vec<DomainCopies>,
}

/// The copies into one domain.
#[derive(Debug, Serialize)]
struct DomainCopies {
    domain: String,
    copies: u64,
    bytes_copied: u64,
    copies_per_message: f64,
}

impl DeviceRun {
    /// Creates the result from the run and the topics' counters.
    pub fn new(
        mut run: Run,
        domain: DomainId,
        name: String,
        topics: impl Iterator<Item = TopicInfo>,
    ) -> Self {
        let topics: Vec<TopicInfo> = topics.collect();
        // These copies are in addition to those that the processes make themselves.
        for usage in topics.iter().flat_map(|topic| &topic.domains) {
            run.copies += usage.copies;
            run.bytes_copied += usage.bytes;
        }
        let topics = topics.into_iter().map(|topic| TopicCopies {
            domains: topic
                .domains
                .iter()
                .map(|usage| DomainCopies {
                    domain: usage.domain.to_string(),
                    copies: usage.copies,
                    bytes_copied: usage.bytes,
                    copies_per_message: usage.copies as f64 / topic.published.max(1) as f64,
                })
                .collect(),
            topic: topic.name,
            published: topic.published,
        });
        Self { domain: domain.to_string(), name, run, topics: topics.collect() }
    }

    fn table(&self) -> Table {
        let mut table = Table::new([
            Column::left("TOPIC"),
            Column::right("MESSAGES"),
            Column::left("COPIED INTO"),
            Column::right("COPIES"),
            Column::right("A MESSAGE"),
            Column::right("BYTES COPIED"),
        ]);
        for topic in &self.topics {
            for copied in &topic.domains {
                table.row([
                    topic.topic.as_str().into(),
                    topic.published.to_string().into(),
                    copied.domain.as_str().into(),
                    copied.copies.to_string().into(),
                    format!("{:.2}", copied.copies_per_message).into(),
                    units::bytes(copied.bytes_copied).into(),
                ]);
            }
        }
        table
    }
}

/// The results of both runs.
#[derive(Debug, Serialize)]
pub struct Summary {
    /// The run without copies. Its figures are members of the object itself.
    #[serde(flatten)]
    pub zero_copy: Run,
    /// The number of files that remain in shared memory.
    pub leftovers: u64,
    /// The run over serialized messages.
    pub serialized: Option<Run>,
    /// A camera whose filter works in another memory domain.
    pub device: Option<DeviceRun>,
    /// The file that was played.
    pub input: Option<String>,
    /// `cloud` or `image`.
    pub kind: &'static str,
    /// The file of the plot.
    pub plot: Option<String>,
    /// The recorded trace.
    pub trace: Option<trace::record::Report>,
    /// The recorded messages.
    pub recording: Option<record::Report>,
}

impl Summary {
    /// Prints the results.
    pub fn show(&self, output: &Output) -> Result<(), CliError> {
        if output.is_json() {
            return Ok(output.record(self)?);
        }
        let mut table = table();
        row(&mut table, "zero copy", &self.zero_copy);
        if let Some(run) = &self.serialized {
            row(&mut table, "serialized", run);
        }
        if let Some(device) = &self.device {
            row(&mut table, &format!("camera, {}", device.domain), &device.run);
        }
        output.text(table.render(output))?;
        output.line("")?;
        if let Some(run) = &self.serialized {
            output.line(comparison(&self.zero_copy, run))?;
        }
        if let Some(device) = &self.device {
            output.line(format!("The camera's filter worked in {} ({}).", device.domain, device.name))?;
            output.line("")?;
            output.text(device.table().render(output))?;
            output.line("")?;
        }
        let style = if self.leftovers == 0 { Style::Good } else { Style::Bad };
        output.line(format!("Left in shared memory: {} file(s).", output.paint(style, self.leftovers)))?;
        if let Some(plot) = &self.plot {
            output.line(format!("Latency plot: {plot}"))?;
        }
        if let Some(trace) = &self.trace {
            let size = units::bytes(trace.bytes);
            output.line(format!(
                "Trace: {0}, {1} packets, {size}: situ trace view {0}",
                trace.file, trace.packets
            ))?;
        }
        if let Some(recording) = &self.recording {
            output.line(recording.line())?;
        }
        Ok(())
    }
}

/// The cost of moving the frames in each run, without the filter's own work.
fn comparison(zero_copy: &Run, serialized: &Run) -> String {
    let [moving, serializing] = [zero_copy, serialized].map(|r| r.p50_ns.saturating_sub(r.filter_ns).max(1));
    format!(
        "Besides the filter's own work a frame takes {} in place and {} serialized (p50): {:.1} times as long.",
        units::duration(moving),
        units::duration(serializing),
        serializing as f64 / moving as f64
    )
}

fn table() -> Table {
    Table::new([
        Column::left("MESSAGES"),
        Column::right("FRAMES"),
        Column::right("LOST"),
        Column::right("RATE"),
        Column::right("P50"),
        Column::right("P99"),
        Column::right("FILTER"),
        Column::right("COPIES"),
        Column::right("BYTES COPIED"),
    ])
}

fn row(table: &mut Table, name: &str, run: &Run) {
    table.row([
        Cell::styled(name, Style::Strong),
        run.frames.to_string().into(),
        Cell::styled(run.lost.to_string(), if run.lost > 0 { Style::Bad } else { Style::Plain }),
        units::hertz(run.rate_hz).into(),
        units::duration(run.p50_ns).into(),
        units::duration(run.p99_ns).into(),
        units::duration(run.filter_ns).into(),
        Cell::styled(run.copies.to_string(), if run.copies == 0 { Style::Good } else { Style::Plain }),
        units::bytes(run.bytes_copied).into(),
    ]);
}

/// The live view of a run: the figures of the last few seconds, and a picture.
pub fn live(
    output: &Output,
    seen: &Seen,
    sensor: Report,
    filter: Report,
    wanted: u64,
    label: &str,
) -> String {
    let [p50, p99] = seen.latencies.last(200).percentiles([50.0, 99.0]);
    let mut run = Run::new(seen, sensor, filter);
    // Frames in transit are not lost.
    (run.p50_ns, run.p99_ns, run.lost) = (p50, p99, 0);
    let mut table = table();
    row(&mut table, label, &run);
    let of = if wanted == u64::MAX { String::new() } else { format!(" of {wanted}") };
    let mut text = format!(
        "{}  sensor {} filter {} viewer   frame {}{of}, {} each\n",
        output.paint(Style::Strong, "situ demo"),
        output.paint(Style::Dim, "──▶"),
        output.paint(Style::Dim, "──▶"),
        run.frames,
        units::bytes(seen.bytes as u64),
    );
    text.push_str(&table.render(output));
    let hint = "from another shell: situ topic list, situ topic echo TOPIC, situ node list";
    text.push_str(&format!("{}\n", output.paint(Style::Dim, shorten(hint, output.width()))));
    for line in &seen.picture {
        text.push_str(line);
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(p50_ns: u64, filter_ns: u64) -> Run {
        let seen = Seen::default();
        Run { p50_ns, filter_ns, ..Run::new(&seen, Report::default(), Report::default()) }
    }

    #[test]
    fn the_comparison_leaves_the_filter_out() {
        assert_eq!(
            comparison(&run(150_000, 100_000), &run(300_000, 110_000)),
            "Besides the filter's own work a frame takes 50.0 µs in place and 190 µs serialized (p50): 3.8 times as long."
        );
        assert!(comparison(&run(0, 0), &run(0, 5)).ends_with("1.0 times as long."), "no division by zero");
    }

    #[test]
    fn copies_of_all_three_processes_are_added_up() {
        let part = |copies| Report { frames: 10, copies, bytes_copied: copies * 5, ..Report::default() };
        let run = Run::new(&Seen::default(), part(1), part(2));
        assert_eq!((run.copies, run.bytes_copied), (3, 15));
        assert_eq!((run.frames, run.lost), (0, 10));
    }
}
