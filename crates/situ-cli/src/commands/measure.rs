//! `situ topic hz`, `bw` and `delay`: measure the messages of topics.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use serde::Serialize;
use situ::bus::inspect::TopicInfo;
use situ::bus::{RawSample, SubscriberQos, now_ns};
use situ::layout::foreign::Foreign;

use super::Context;
use super::listen::{Event, Listener};
use crate::cli::RateArgs;
use crate::demo::latency::percentile;
use crate::error::CliError;
use crate::output::table::{Cell, Column, Demand, Table, fit};
use crate::output::{LiveBlock, Output, Style, units};

/// The interval between the figures.
const PERIOD: Duration = Duration::from_secs(1);
/// The longest time until a new width of the terminal is noticed.
const GLANCE: Duration = Duration::from_millis(100);

/// The recorded properties of one message.
#[derive(Clone, Copy, Debug)]
struct Seen {
    sequence: u64,
    at_ns: u64,
    bytes: u64,
    age_ns: Option<u64>,
}

impl Seen {
    fn of(sample: &RawSample) -> Self {
        let (now, published) = (now_ns(), sample.published_at_ns());
        Self {
            sequence: sample.sequence(),
            at_ns: if published == 0 { now } else { published },
            bytes: (sample.head().len() + sample.body().len()) as u64,
            age_ns: (published != 0).then(|| now.saturating_sub(published)),
        }
    }
}

/// The latest messages, which a figure covers.
#[derive(Debug, Default)]
struct Window {
    seen: VecDeque<Seen>,
    messages: u64,
    /// When the last message came.
    last: Option<Instant>,
}

impl Window {
    fn push(&mut self, seen: Seen, limit: usize) {
        self.messages += 1;
        self.last = Some(Instant::now());
        if self.seen.len() == limit {
            self.seen.pop_front();
        }
        self.seen.push_back(seen);
    }

    /// The seconds and messages between the first and the last message of the window; messages lost in
    /// between count.
    fn span(&self) -> Option<(f64, f64)> {
        let (first, last) = (self.seen.front()?, self.seen.back()?);
        let seconds = last.at_ns.checked_sub(first.at_ns).filter(|&d| d > 0)? as f64 / 1e9;
        Some((seconds, last.sequence.saturating_sub(first.sequence) as f64))
    }
}

/// A figure, for readers: its label, its text, and a rank. If there is little room, that with the highest
/// rank is left out first.
type Figure = (&'static str, String, u8);

/// The figures of a topic, as text and as JSON. The first ones matter most.
trait Figures: Serialize {
    fn figures(&self) -> Vec<Figure>;
}

/// What was measured of a topic.
#[derive(Serialize)]
struct Measured<'a, F> {
    topic: &'a str,
    #[serde(flatten)]
    figures: Option<F>,
    /// The time since the last message. Figures cover the messages before.
    quiet_ns: u64,
}

impl<F: Figures> Measured<'_, F> {
    /// The time since the last message, if it is worth a remark.
    fn quiet(&self) -> Option<String> {
        let is_quiet = self.quiet_ns > PERIOD.as_nanos() as u64;
        is_quiet.then(|| units::duration(self.quiet_ns))
    }
}

/// One line of figures. Those for which there is no room are left out; a number is never cut.
fn line(figures: &[Figure], output: &Output) -> String {
    let text = |(label, text, _): &Figure| {
        if label.is_empty() { text.clone() } else { format!("{label} {text}") }
    };
    let demands: Vec<Demand> = figures
        .iter()
        .map(|it| Demand { width: text(it).chars().count(), flexible: false, rank: it.2 })
        .collect();
    // A pipe has no width.
    let available = if output.is_live() { output.width() } else { usize::MAX };
    let shown = figures.iter().zip(fit(&demands, 2, available)).filter(|(_, width)| width.is_some());
    let painted = shown.map(|(figure, _)| match figure {
        ("", text, 0) => output.paint(Style::Strong, text),
        (label, text, 0) => format!("{label} {}", output.paint(Style::Strong, text)),
        figure => text(figure),
    });
    painted.collect::<Vec<_>>().join("  ")
}

/// A table of figures: one row for each topic.
fn table<F: Figures>(measured: &[Measured<'_, F>], output: &Output) -> String {
    let Some(headings) = measured.iter().find_map(|it| it.figures.as_ref()).map(F::figures) else {
        return "no messages yet\n".to_owned();
    };
    let columns = headings
        .iter()
        .map(|(label, _, rank)| Column::right(if label.is_empty() { "rate" } else { label }).rank(*rank));
    let first = [Column::left("topic").flexible(), Column::right("quiet").rank(1)];
    let mut table = Table::new(first.into_iter().chain(columns));
    for it in measured {
        let figures = it.figures.iter().flat_map(|figures| figures.figures());
        let first = [
            Cell::styled(it.topic, Style::Strong),
            Cell::styled(it.quiet().unwrap_or_else(|| "-".to_owned()), Style::Warn),
        ];
        table.row(first.into_iter().chain(figures.map(|(_, text, _)| Cell::from(text))));
    }
    table.render(output)
}

fn measure<F: Figures>(
    context: &Context,
    arguments: &RateArgs,
    figures: impl Fn(&Window, u64) -> Option<F>,
) -> Result<(), CliError> {
    let volatile = |_: &TopicInfo| SubscriberQos::default();
    let mut listener = Listener::join(context, &arguments.topics, arguments.timeout, &volatile)?;
    let output = &context.output;
    let mut windows: Vec<Window> = Vec::new();
    let mut block = LiveBlock::default();
    let mut report = |windows: &[Window], listener: &Listener<'_>| -> Result<(), CliError> {
        let topics = windows.iter().zip(listener.heard());
        let measured: Vec<Measured<'_, F>> = topics
            .map(|(window, heard)| Measured {
                topic: heard.subscriber.topic(),
                figures: figures(window, heard.subscriber.lost()),
                quiet_ns: window.last.map_or(0, |it| it.elapsed().as_nanos() as u64),
            })
            .collect();
        if output.is_live() && listener.has_several() {
            return Ok(output.draw(&mut block, &table(&measured, output))?);
        }
        for it in &measured {
            let Some(figures) = &it.figures else {
                if output.is_live() {
                    output.draw(&mut block, "no messages yet\n")?;
                }
                continue;
            };
            if output.is_json() {
                output.record(it)?;
                continue;
            }
            let quiet = it.quiet().map(|time| ("quiet for", time, 0));
            let figures: Vec<Figure> = quiet.into_iter().chain(figures.figures()).collect();
            let line = line(&figures, output);
            if output.is_live() {
                output.draw(&mut block, &line)?;
            } else if listener.has_several() {
                output.line(format!("{}  {line}", Foreign(it.topic)))?;
            } else {
                output.line(line)?;
            }
        }
        Ok(())
    };
    let mut due = Instant::now() + PERIOD;
    let mut width = output.width();
    let (mut messages, mut reported) = (0, 0);
    while messages < arguments.count.unwrap_or(u64::MAX) {
        let glance = if output.is_live() { due.min(Instant::now() + GLANCE) } else { due };
        let event = listener.next(glance)?;
        windows.resize_with(listener.heard().len(), Window::default);
        let is_idle = matches!(event, Event::Nothing);
        match event {
            Event::Message(index, sample) => {
                windows[index].push(Seen::of(&sample), arguments.window as usize);
                messages += 1;
            }
            Event::Nothing => {}
            Event::Interrupted => break,
        }
        let is_due = Instant::now() >= due;
        if is_due || output.is_live() && is_idle && output.width() != width {
            due = if is_due { due + PERIOD } else { due };
            width = output.width();
            report(&windows, &listener)?;
            reported = messages;
        }
    }
    // Lines that stay are not printed twice.
    if output.is_live() || messages > reported { report(&windows, &listener) } else { Ok(()) }
}

#[derive(Serialize)]
struct Rate {
    rate_hz: f64,
    shortest_ns: u64,
    longest_ns: u64,
    deviation_ns: u64,
    messages: u64,
    lost: u64,
}

impl Figures for Rate {
    fn figures(&self) -> Vec<Figure> {
        vec![
            ("", units::hertz(self.rate_hz), 0),
            ("shortest", units::duration(self.shortest_ns), 3),
            ("longest", units::duration(self.longest_ns), 2),
            ("deviation", units::duration(self.deviation_ns), 4),
            ("messages", self.messages.to_string(), 5),
            ("lost", self.lost.to_string(), 1),
        ]
    }
}

/// `situ topic hz`.
pub fn hz(context: &Context, arguments: &RateArgs) -> Result<(), CliError> {
    measure(context, arguments, rate)
}

fn rate(window: &Window, lost: u64) -> Option<Rate> {
    let (seconds, messages) = window.span()?;
    let times = || window.seen.iter().map(|s| s.at_ns);
    let gaps: Vec<u64> = times().zip(times().skip(1)).map(|(a, b)| b.saturating_sub(a)).collect();
    let mean = gaps.iter().sum::<u64>() as f64 / gaps.len() as f64;
    let variance = gaps.iter().map(|&g| (g as f64 - mean).powi(2)).sum::<f64>() / gaps.len() as f64;
    Some(Rate {
        rate_hz: messages / seconds,
        shortest_ns: gaps.iter().copied().min()?,
        longest_ns: gaps.iter().copied().max()?,
        deviation_ns: variance.sqrt() as u64,
        messages: window.messages,
        lost,
    })
}

#[derive(Serialize)]
struct Bandwidth {
    bytes_per_second: f64,
    mean_bytes: u64,
    smallest_bytes: u64,
    largest_bytes: u64,
    messages: u64,
    lost: u64,
}

impl Figures for Bandwidth {
    fn figures(&self) -> Vec<Figure> {
        vec![
            ("", units::bandwidth(self.bytes_per_second), 0),
            ("mean", units::bytes(self.mean_bytes), 2),
            ("smallest", units::bytes(self.smallest_bytes), 4),
            ("largest", units::bytes(self.largest_bytes), 3),
            ("messages", self.messages.to_string(), 5),
            ("lost", self.lost.to_string(), 1),
        ]
    }
}

/// `situ topic bw`.
pub fn bw(context: &Context, arguments: &RateArgs) -> Result<(), CliError> {
    measure(context, arguments, bandwidth)
}

fn bandwidth(window: &Window, lost: u64) -> Option<Bandwidth> {
    let (seconds, messages) = window.span()?;
    let sizes = || window.seen.iter().map(|s| s.bytes);
    let mean = sizes().sum::<u64>() as f64 / window.seen.len() as f64;
    Some(Bandwidth {
        bytes_per_second: mean * messages / seconds,
        mean_bytes: mean as u64,
        smallest_bytes: sizes().min()?,
        largest_bytes: sizes().max()?,
        messages: window.messages,
        lost,
    })
}

#[derive(Serialize)]
struct Delay {
    p50_ns: u64,
    p99_ns: u64,
    smallest_ns: u64,
    largest_ns: u64,
    messages: u64,
    lost: u64,
}

impl Figures for Delay {
    fn figures(&self) -> Vec<Figure> {
        vec![
            ("p50", units::duration(self.p50_ns), 0),
            ("p99", units::duration(self.p99_ns), 0),
            ("smallest", units::duration(self.smallest_ns), 4),
            ("largest", units::duration(self.largest_ns), 2),
            ("messages", self.messages.to_string(), 5),
            ("lost", self.lost.to_string(), 1),
        ]
    }
}

/// `situ topic delay`.
pub fn delay(context: &Context, arguments: &RateArgs) -> Result<(), CliError> {
    measure(context, arguments, age)
}

fn age(window: &Window, lost: u64) -> Option<Delay> {
    let mut ages: Vec<u64> = window.seen.iter().filter_map(|s| s.age_ns).collect();
    ages.sort_unstable();
    Some(Delay {
        p50_ns: percentile(&ages, 50.0),
        p99_ns: percentile(&ages, 99.0),
        smallest_ns: *ages.first()?,
        largest_ns: *ages.last()?,
        messages: window.messages,
        lost,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn window() -> Window {
        let mut window = Window::default();
        // Every 10 ms, 1000 bytes each; number 2 was lost; the first falls out of a window of 3.
        for (sequence, at_ms, age_ns) in [(0, 1, Some(9)), (1, 10, Some(5)), (3, 30, Some(7)), (4, 40, None)]
        {
            window.push(Seen { sequence, at_ns: at_ms * 1_000_000, bytes: 1000, age_ns }, 3);
        }
        window
    }

    #[test]
    fn lost_messages_count_for_the_rate() {
        let rate = rate(&window(), 1).unwrap();
        assert_eq!(rate.rate_hz, 100.0);
        assert_eq!(
            (rate.shortest_ns, rate.longest_ns, rate.deviation_ns),
            (10_000_000, 20_000_000, 5_000_000)
        );
        assert_eq!((rate.messages, rate.lost), (4, 1));
    }

    #[test]
    fn bandwidth_is_mean_size_times_rate() {
        let bandwidth = bandwidth(&window(), 1).unwrap();
        assert_eq!(bandwidth.bytes_per_second, 100_000.0);
        assert_eq!((bandwidth.smallest_bytes, bandwidth.largest_bytes), (1000, 1000));
    }

    #[test]
    fn messages_without_a_stamp_have_no_age() {
        let delay = age(&window(), 0).unwrap();
        assert_eq!((delay.p50_ns, delay.largest_ns), (5, 7));
    }

    #[test]
    fn too_few_messages_give_no_figure() {
        let mut window = Window::default();
        assert!(rate(&window, 0).is_none() && bandwidth(&window, 0).is_none() && age(&window, 0).is_none());
        window.push(Seen { sequence: 0, at_ns: 5, bytes: 1, age_ns: Some(1) }, 10);
        assert!(rate(&window, 0).is_none());
    }
}
