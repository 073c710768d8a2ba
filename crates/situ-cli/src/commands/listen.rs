//! `situ topic echo`, `hz`, `bw` and `delay`: subscribers without a compiled-in type.

use std::borrow::Cow;
use std::collections::VecDeque;
use std::time::{Duration, Instant};

use serde::Serialize;
use situ::bus::{Encoding, History, RawSample, RawSubscriber, SubscriberQos, TypeDescription, now_ns};
use situ_schema::dynamic::{PrintOptions, Value};

use super::{Context, Interrupt};
use crate::cli::{EchoArgs, RateArgs};
use crate::demo::latency::percentile;
use crate::error::{CliError, complain};
use crate::message::{MessageReader, field};
use crate::output::{LiveBlock, Output, Style, units};

/// The interval between the figures of the measuring commands.
const PERIOD: Duration = Duration::from_secs(1);
/// The longest sleep before checking for Ctrl-C.
const GLANCE: Duration = Duration::from_millis(100);
/// The number of elements of a list that `echo` prints.
const SHORT_LIST: usize = 16;
/// The number of characters of a string that `echo` prints.
const SHORT_TEXT: usize = 128;

/// A subscriber of a topic with the type that the topic states.
struct Listener {
    subscriber: RawSubscriber,
    interrupt: Interrupt,
    timeout: Option<Duration>,
    last: Instant,
}

/// The result of waiting.
enum Heard {
    Message(RawSample),
    Nothing,
    Interrupted,
}

impl Listener {
    fn join(context: &Context, topic: &str, timeout: Option<f64>) -> Result<Self, CliError> {
        let info = context.topic(topic)?;
        let interrupt = Interrupt::listen()?;
        let qos = SubscriberQos { history: History::KeepAll, ..SubscriberQos::default() };
        let node = context.node()?;
        // Messages are read by their schema, and so are regions of all versions. Any layout is therefore
        // accepted.
        let any = TypeDescription { encoding: Encoding::Region, layout_hash: 0, ..info.description };
        let subscriber = RawSubscriber::create(&node, topic, &any, qos).map_err(CliError::failed)?;
        let timeout = timeout.map(Duration::from_secs_f64);
        Ok(Self { subscriber, interrupt, timeout, last: Instant::now() })
    }

    /// Waits for a message until `until`. Messages that cannot be taken are reported and skipped.
    fn next(&mut self, until: Instant) -> Result<Heard, CliError> {
        loop {
            if self.interrupt.is_set() {
                return Ok(Heard::Interrupted);
            }
            match self.subscriber.take() {
                Ok(Some(sample)) => {
                    self.last = Instant::now();
                    return Ok(Heard::Message(sample));
                }
                Ok(None) => {}
                Err(error) => complain(&error),
            }
            let now = Instant::now();
            if let Some(timeout) = self.timeout.filter(|&t| now - self.last >= t) {
                return Err(CliError::TimedOut(format!(
                    "no message on `{}` for {}",
                    self.subscriber.topic(),
                    units::duration(timeout.as_nanos() as u64)
                )));
            }
            if now >= until {
                return Ok(Heard::Nothing);
            }
            self.subscriber.wait(Some((until - now).min(GLANCE)));
        }
    }
}

#[derive(Serialize)]
struct Echoed<'a> {
    topic: &'a str,
    sequence: u64,
    published_at_ns: u64,
    message: &'a Value,
}

/// `situ topic echo`.
pub fn echo(context: &Context, arguments: &EchoArgs) -> Result<(), CliError> {
    let mut listener = Listener::join(context, &arguments.topic, arguments.timeout)?;
    let reader =
        MessageReader::new(listener.subscriber.schema(), &context.topic(&arguments.topic)?.description.name)
            .map_err(CliError::failed)?;
    let output = &context.output;
    let shown = if arguments.full {
        PrintOptions::default()
    } else {
        PrintOptions { max_elements: Some(SHORT_LIST), max_text: Some(SHORT_TEXT) }
    };
    let mut left = arguments.count.unwrap_or(u64::MAX);
    while left > 0 {
        let sample = match listener.next(Instant::now() + PERIOD)? {
            Heard::Message(sample) => sample,
            Heard::Nothing => continue,
            Heard::Interrupted => break,
        };
        left -= 1;
        let message = reader.read(&sample).map_err(CliError::failed)?;
        let value = match &arguments.field {
            None => Cow::Borrowed(&message),
            Some(path) => field(&message, path).ok_or_else(|| {
                CliError::NotFound(format!("message {} has no field `{path}`", sample.sequence()))
            })?,
        };
        if output.is_json() {
            output.record(&Echoed {
                topic: &arguments.topic,
                sequence: sample.sequence(),
                published_at_ns: sample.published_at_ns(),
                message: &value,
            })?;
        } else {
            output.text(value.to_yaml(&shown))?;
            if arguments.field.is_none() {
                output.line(output.paint(Style::Dim, "---"))?;
            }
        }
    }
    Ok(())
}

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
}

impl Window {
    fn push(&mut self, seen: Seen, limit: usize) {
        self.messages += 1;
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

/// A line of figures, as text and as JSON.
trait Figures: Serialize {
    fn line(&self, output: &Output) -> String;
}

fn measure<F: Figures>(
    context: &Context,
    arguments: &RateArgs,
    figures: impl Fn(&Window, &RawSubscriber) -> Option<F>,
) -> Result<(), CliError> {
    let mut listener = Listener::join(context, &arguments.topic, arguments.timeout)?;
    let output = &context.output;
    let mut window = Window::default();
    let mut block = LiveBlock::default();
    let mut report = |window: &Window, subscriber: &RawSubscriber| -> Result<(), CliError> {
        match figures(window, subscriber) {
            Some(figures) if output.is_json() => output.record(&figures)?,
            Some(figures) if output.is_live() => block.draw(&mut std::io::stdout(), &figures.line(output))?,
            Some(figures) => output.line(figures.line(output))?,
            None => {}
        }
        Ok(())
    };
    let mut due = Instant::now() + PERIOD;
    while window.messages < arguments.count.unwrap_or(u64::MAX) {
        match listener.next(due)? {
            Heard::Message(sample) => window.push(Seen::of(&sample), arguments.window as usize),
            Heard::Nothing => {}
            Heard::Interrupted => break,
        }
        if Instant::now() >= due {
            due += PERIOD;
            report(&window, &listener.subscriber)?;
        }
    }
    report(&window, &listener.subscriber)
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
    fn line(&self, output: &Output) -> String {
        format!(
            "{}  shortest {}  longest {}  deviation {}  messages {}  lost {}",
            output.paint(Style::Strong, units::hertz(self.rate_hz)),
            units::duration(self.shortest_ns),
            units::duration(self.longest_ns),
            units::duration(self.deviation_ns),
            self.messages,
            self.lost
        )
    }
}

/// `situ topic hz`.
pub fn hz(context: &Context, arguments: &RateArgs) -> Result<(), CliError> {
    measure(context, arguments, |window, subscriber| rate(window, subscriber.lost()))
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
    fn line(&self, output: &Output) -> String {
        format!(
            "{}  mean {}  smallest {}  largest {}  messages {}  lost {}",
            output.paint(Style::Strong, units::bandwidth(self.bytes_per_second)),
            units::bytes(self.mean_bytes),
            units::bytes(self.smallest_bytes),
            units::bytes(self.largest_bytes),
            self.messages,
            self.lost
        )
    }
}

/// `situ topic bw`.
pub fn bw(context: &Context, arguments: &RateArgs) -> Result<(), CliError> {
    measure(context, arguments, |window, subscriber| bandwidth(window, subscriber.lost()))
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
    fn line(&self, output: &Output) -> String {
        format!(
            "p50 {}  p99 {}  smallest {}  largest {}  messages {}  lost {}",
            output.paint(Style::Strong, units::duration(self.p50_ns)),
            output.paint(Style::Strong, units::duration(self.p99_ns)),
            units::duration(self.smallest_ns),
            units::duration(self.largest_ns),
            self.messages,
            self.lost
        )
    }
}

/// `situ topic delay`.
pub fn delay(context: &Context, arguments: &RateArgs) -> Result<(), CliError> {
    measure(context, arguments, |window, subscriber| age(window, subscriber.lost()))
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
