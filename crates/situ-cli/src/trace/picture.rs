//! A trace as an SVG: a lane for each thread with its slices and moments, one for each counter, and an arrow
//! for each message and between events of a flow.

use std::collections::{BTreeMap, HashMap};
use std::fmt::{Display, Write};
use std::time::Duration;

use situ::trace::reader::{ArgumentValue, Instant, ReadTrace, SliceEnd, TextId, TimedSlice, TrackKind};

use super::svg::{LETTER, colour, escape, fit};
use crate::output::units::duration;

/// The picture's width, and that of the names on the left, in pixels.
const WIDTH: f64 = 1200.0;
const NAMES: f64 = 190.0;
const MARGIN: f64 = 12.0;
const RULER: f64 = 34.0;
/// The heights of a process' heading, a level of slices, and a counter.
const HEADING: f64 = 26.0;
const LEVEL: f64 = 20.0;
const COUNTER: f64 = 34.0;
const GAP: f64 = 6.0;
/// The default length of the part drawn if there are no messages, and the share of it before the first
/// message.
const USUAL: Duration = Duration::from_millis(100);
const LEAD: f64 = 0.02;
/// The number of messages in the part that is drawn by default, and the limits of its length in nanoseconds.
const MESSAGES: usize = 6;
const SHORTEST: u64 = 100_000;
const LONGEST: u64 = 1_000_000_000;
/// The smallest width at which slices are drawn. Only one such slice is drawn at a place.
const NARROWEST: f64 = 1.2;
/// The maximum number of elements of a kind, so that a browser can display the picture.
const MAX_SLICES: usize = 20_000;
const MAX_ARROWS: usize = 2_000;
const MAX_SAMPLES: usize = 5_000;
/// Slices deeper than this are left out.
const DEEPEST: u32 = 12;

/// The part of a trace that is drawn, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimeRange {
    begin: u64,
    end: u64,
    /// The start of the trace. Times are shown relative to it.
    zero: u64,
}

impl TimeRange {
    /// Creates a window of a given time and length. By default it shows some messages from the middle of the
    /// trace, where programs have started, each from its publisher to its subscriber.
    pub fn new(trace: &ReadTrace, from: Option<Duration>, span: Option<Duration>) -> Self {
        let (zero, last) = trace.span();
        let nanoseconds = |time: Duration| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        let messages = messages(trace);
        let shown = &messages[messages.len() / 2..];
        let shown = &shown[..shown.len().min(MESSAGES)];
        let length = match (span, from, shown) {
            (Some(span), ..) => nanoseconds(span).max(1),
            (None, None, [(first, _), ..]) => {
                let end = shown.iter().map(|(_, end)| *end).fold(*first, u64::max);
                (((end - first) as f64 * 1.1) as u64).clamp(SHORTEST, LONGEST)
            }
            (None, ..) => nanoseconds(USUAL),
        };
        let begin = match (from, shown) {
            (Some(from), _) => zero.saturating_add(nanoseconds(from)),
            (None, [(first, _), ..]) => first.saturating_sub((length as f64 * LEAD) as u64).max(zero),
            (None, []) => zero,
        };
        let end = begin.saturating_add(length);
        let end = if span.is_none() { end.min(last.max(begin + 1)) } else { end };
        Self { begin, end, zero }
    }

    fn has(&self, begin: u64, end: u64) -> bool {
        begin <= self.end && end >= self.begin
    }
}

/// Returns the times at which messages were sent by one track and arrived at another, in order.
fn messages(trace: &ReadTrace) -> Vec<(u64, u64)> {
    let mut sources: HashMap<u64, &TimedSlice> = HashMap::new();
    let mut messages = Vec::new();
    for slice in &trace.slices {
        for flow in &slice.flows {
            let source = sources.entry(*flow).or_insert(slice);
            if source.track != slice.track {
                let end = match slice.end {
                    SliceEnd::At(end) => end,
                    SliceEnd::Open => slice.begin_ns,
                };
                messages.push((source.begin_ns, end.max(source.begin_ns)));
            }
        }
    }
    messages.sort_unstable();
    messages
}

/// Draws the events within a window.
pub fn draw(trace: &ReadTrace, window: TimeRange) -> String {
    let mut picture = Picture { trace, window, svg: String::new(), lanes: Vec::new(), height: 0.0 };
    picture.lay_out();
    picture.finish()
}

/// A slice or a moment with a flow.
#[derive(Clone, Copy)]
struct FlowEvent {
    track: usize,
    begin: u64,
    end: u64,
    depth: u32,
    category: TextId,
    name: TextId,
}

/// The place of a track.
struct Lane {
    track: usize,
    top: f64,
    height: f64,
}

struct Picture<'a> {
    trace: &'a ReadTrace,
    window: TimeRange,
    svg: String,
    lanes: Vec<Lane>,
    height: f64,
}

/// Returns a text that fits into `width` pixels, without its middle if it is too long. Names of counters
/// often begin with the same words, and differ at their ends.
fn fit_ends(text: &str, width: f64, letter: f64) -> String {
    let (most, count) = ((width / letter).max(0.0) as usize, text.chars().count());
    if count <= most || most < 3 {
        return fit(text, width, letter);
    }
    let begin = (most - 1) / 2;
    let end = text.chars().skip(count - (most - 1 - begin));
    escape(&text.chars().take(begin).chain(['…']).chain(end).collect::<String>())
}

impl Picture<'_> {
    /// Returns the horizontal place of a time. Times outside of the window are at its edges.
    fn x(&self, at: u64) -> f64 {
        let TimeRange { begin, end, .. } = self.window;
        let share = (at.clamp(begin, end) - begin) as f64 / (end - begin).max(1) as f64;
        NAMES + share * (WIDTH - NAMES - MARGIN)
    }

    fn put(&mut self, element: impl Display) {
        // Writing to a string does not fail.
        let _ = writeln!(self.svg, "{element}");
    }

    fn end_of(&self, slice: &TimedSlice) -> u64 {
        match slice.end {
            SliceEnd::At(end) => end,
            SliceEnd::Open => u64::MAX,
        }
    }

    /// Gives each process and its tracks a place, threads before counters. Tracks without events in the
    /// window are left out.
    fn lay_out(&mut self) {
        let mut depths: HashMap<usize, u32> = HashMap::new();
        for slice in &self.trace.slices {
            if self.window.has(slice.begin_ns, self.end_of(slice)) {
                let depth = depths.entry(slice.track).or_default();
                *depth = (*depth).max(slice.depth.min(DEEPEST) + 1);
            }
        }
        for instant in &self.trace.instants {
            if self.window.has(instant.at_ns, instant.at_ns) {
                let depth = depths.entry(instant.track).or_default();
                *depth = (*depth).max(1);
            }
        }
        let mut counted: HashMap<usize, ()> = HashMap::new();
        for sample in &self.trace.samples {
            if sample.at_ns <= self.window.end {
                counted.insert(sample.track, ());
            }
        }
        let mut y = RULER;
        let mut of_process: BTreeMap<Option<usize>, Vec<usize>> = BTreeMap::new();
        for (index, track) in self.trace.tracks.iter().enumerate() {
            if depths.contains_key(&index) || counted.contains_key(&index) {
                of_process.entry(track.process).or_default().push(index);
            }
        }
        for (process, mut tracks) in of_process {
            tracks.sort_by_key(|index| (!depths.contains_key(index), *index));
            let (name, pid) = match process.and_then(|index| self.trace.processes.get(index)) {
                Some(process) => (self.trace.text(process.name), format!(" process {}", process.pid)),
                None => ("no process", String::new()),
            };
            let heading = format!(
                "<rect x=\"0\" y=\"{y:.1}\" width=\"{WIDTH}\" height=\"{:.1}\" fill=\"#eef1f4\"/>\
                 <text x=\"8\" y=\"{:.1}\" font-weight=\"bold\">{}<tspan fill=\"#78828c\" font-weight=\"normal\">{pid}</tspan></text>",
                HEADING - 6.0,
                y + 14.5,
                escape(name),
            );
            self.put(heading);
            y += HEADING;
            for track in tracks {
                let height = match depths.get(&track) {
                    Some(depth) => f64::from(*depth) * LEVEL,
                    None => COUNTER,
                };
                self.lanes.push(Lane { track, top: y, height });
                y += height + GAP;
            }
        }
        self.height = y + MARGIN;
    }

    fn finish(mut self) -> String {
        let lanes = std::mem::take(&mut self.lanes);
        for lane in &lanes {
            self.name_lane(lane);
            if self.trace.tracks[lane.track].kind == TrackKind::Counter {
                self.counter(lane);
            }
        }
        let tops: HashMap<usize, f64> = lanes.iter().map(|lane| (lane.track, lane.top)).collect();
        self.slices(&tops);
        self.instants(&tops);
        self.arrows(&tops);
        let mut whole = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {h:.0}\" width=\"{WIDTH}\" height=\"{h:.0}\" \
             font-family=\"Helvetica, Arial, sans-serif\" font-size=\"11\" fill=\"#1d2329\">\n\
             <defs><marker id=\"tip\" viewBox=\"0 0 8 8\" refX=\"7\" refY=\"4\" markerWidth=\"7\" markerHeight=\"7\" \
             orient=\"auto\"><path d=\"M0 0 L8 4 L0 8 z\" fill=\"#c1121f\"/></marker></defs>\n\
             <rect width=\"{WIDTH}\" height=\"{h:.0}\" fill=\"#ffffff\"/>\n",
            h = self.height,
        );
        whole.push_str(&self.ruler());
        whole.push_str(&self.svg);
        whole.push_str("</svg>\n");
        whole
    }

    /// Draws lines at round times.
    fn ruler(&self) -> String {
        let TimeRange { begin, end, zero } = self.window;
        let mut ruler = String::new();
        let step = round_step(end - begin);
        let first = begin.saturating_sub(zero).next_multiple_of(step);
        for index in 0..64 {
            let at = zero.saturating_add(first).saturating_add(step.saturating_mul(index));
            if at > end {
                break;
            }
            let x = self.x(at);
            let label = duration(at - zero);
            // A label without room on the right stands on the left of its line.
            let fits = x + 2.0 + LETTER * label.chars().count() as f64 <= WIDTH;
            let (text_x, anchor) = if fits { (x + 2.0, "start") } else { (x - 2.0, "end") };
            let _ = writeln!(
                ruler,
                "<line x1=\"{x:.1}\" y1=\"{:.0}\" x2=\"{x:.1}\" y2=\"{:.0}\" stroke=\"#e3e7eb\"/>\
                 <text x=\"{text_x:.1}\" y=\"16\" fill=\"#78828c\" text-anchor=\"{anchor}\">{label}</text>",
                22.0,
                self.height - MARGIN,
            );
        }
        ruler
    }

    fn name_lane(&mut self, lane: &Lane) {
        let track = &self.trace.tracks[lane.track];
        let name = self.trace.text(track.name).to_owned();
        let name = match track.kind {
            TrackKind::Thread(tid) if name.is_empty() => format!("thread {tid}"),
            // Threads may have the same name, and the main thread has that of its process.
            TrackKind::Thread(tid) => format!("{name}, thread {tid}"),
            _ => name,
        };
        let text = format!(
            "<text x=\"16\" y=\"{:.1}\" fill=\"#48515a\">{}<title>{}</title></text>",
            lane.top + 14.0,
            fit_ends(&name, NAMES - 24.0, 5.6),
            escape(&name),
        );
        self.put(text);
    }

    fn slices(&mut self, tops: &HashMap<usize, f64>) {
        // The end of the last slice drawn on each level. Many narrow slices then become one line instead of
        // thousands.
        let mut drawn: HashMap<(usize, u32), f64> = HashMap::new();
        let mut boxes = Vec::new();
        for slice in &self.trace.slices {
            let end = self.end_of(slice);
            let Some(top) = tops.get(&slice.track) else { continue };
            if !self.window.has(slice.begin_ns, end) || slice.depth > DEEPEST {
                continue;
            }
            let (left, right) = (self.x(slice.begin_ns), self.x(end));
            let behind = drawn.entry((slice.track, slice.depth)).or_insert(f64::MIN);
            let width = (right - left).max(NARROWEST);
            if left + width < *behind + NARROWEST / 2.0 {
                continue;
            }
            *behind = left + width;
            if boxes.len() == MAX_SLICES {
                break;
            }
            boxes.push((slice, left, width, top + f64::from(slice.depth) * LEVEL));
        }
        // The label of a narrow slice stands behind it, if it fits before the next one.
        let mut next: HashMap<(usize, u32), f64> = HashMap::new();
        let mut elements = Vec::with_capacity(boxes.len());
        for (slice, left, width, y) in boxes.into_iter().rev() {
            let end = self.end_of(slice);
            let limit = next.insert((slice.track, slice.depth), left).unwrap_or(WIDTH - MARGIN);
            let name = self.trace.text(slice.name);
            let took = if end == u64::MAX { "not ended".to_owned() } else { duration(end - slice.begin_ns) };
            let mut element = format!(
                "<g><title>{} ({took}){}</title><rect x=\"{left:.2}\" y=\"{y:.1}\" width=\"{width:.2}\" height=\"{:.1}\" \
                 rx=\"1.5\" fill=\"{}\" stroke=\"#8a949e\" stroke-width=\"0.5\"/>",
                escape(name),
                self.arguments(&slice.arguments),
                LEVEL - 2.0,
                colour(name),
            );
            let whole = name.chars().count() as f64 * LETTER;
            let inside = fit(name, width - 6.0, LETTER);
            let (x, label) = if whole <= width - 6.0 || limit - left - width < whole + 6.0 {
                (left + 3.0, inside)
            } else {
                (left + width + 3.0, escape(name))
            };
            if !label.is_empty() {
                let _ = write!(element, "<text x=\"{x:.1}\" y=\"{:.1}\">{label}</text>", y + 12.5);
            }
            element.push_str("</g>");
            elements.push(element);
        }
        elements.into_iter().rev().for_each(|element| self.put(element));
    }

    fn arguments(&self, arguments: &[(TextId, ArgumentValue)]) -> String {
        let show = |(name, value): &(TextId, ArgumentValue)| {
            let value = match value {
                ArgumentValue::Bool(value) => value.to_string(),
                ArgumentValue::Uint(value) => value.to_string(),
                ArgumentValue::Int(value) => value.to_string(),
                ArgumentValue::Double(value) => value.to_string(),
                ArgumentValue::Text(value) => self.trace.text(*value).to_owned(),
            };
            format!("\n{} = {}", escape(self.trace.text(*name)), escape(&value))
        };
        arguments.iter().map(show).collect()
    }

    fn instants(&mut self, tops: &HashMap<usize, f64>) {
        let inside = |instant: &&Instant| self.window.has(instant.at_ns, instant.at_ns);
        let instants: Vec<&Instant> = self.trace.instants.iter().filter(inside).take(MAX_SLICES).collect();
        for instant in instants {
            let Some(top) = tops.get(&instant.track) else { continue };
            let (x, y) = (self.x(instant.at_ns), top + LEVEL - 2.0);
            let element = format!(
                "<path d=\"M{x:.2} {:.1} l-4 7 h8 z\" fill=\"#c1121f\"><title>{}{}</title></path>",
                y - 8.0,
                escape(self.trace.text(instant.name)),
                self.arguments(&instant.arguments),
            );
            self.put(element);
        }
    }

    /// Draws a staircase, from zero or the smallest value to the largest.
    fn counter(&mut self, lane: &Lane) {
        let samples: Vec<(u64, f64)> = self
            .trace
            .samples
            .iter()
            .filter(|it| it.track == lane.track && it.at_ns <= self.window.end && it.value.is_finite())
            .map(|it| (it.at_ns, it.value))
            .collect();
        // The value at the start of the window counts too.
        let first = samples.iter().rposition(|(at, _)| *at <= self.window.begin).unwrap_or(0);
        let samples = &samples[first..];
        let samples = &samples[..samples.len().min(MAX_SAMPLES)];
        let Some((begin, _)) = samples.first() else { return };
        let most = samples.iter().map(|(_, value)| *value).fold(f64::MIN, f64::max).max(0.0);
        let least = samples.iter().map(|(_, value)| *value).fold(0.0, f64::min);
        let range = if most > least { most - least } else { 1.0 };
        let height = lane.height - 4.0;
        let y = |value: f64| lane.top + 2.0 + height * (1.0 - (value - least) / range);
        let mut path = format!("M{:.2} {:.2}", self.x(*begin), y(0.0));
        for (at, value) in samples {
            let _ = write!(path, " H{:.2} V{:.2}", self.x(*at), y(*value));
        }
        let _ = write!(path, " H{:.2} V{:.2} Z", self.x(self.window.end), y(0.0));
        let element = format!(
            "<path d=\"{path}\" fill=\"#d3e4f3\" stroke=\"#3a86c8\" stroke-width=\"1\"/>\
             <text x=\"{:.1}\" y=\"{:.1}\" fill=\"#78828c\" text-anchor=\"end\" font-size=\"9\">{most}</text>",
            NAMES - 4.0,
            lane.top + 10.0,
        );
        self.put(element);
    }

    /// The events of each flow, slices and moments, in the order of time.
    fn flows(&self) -> BTreeMap<u64, Vec<FlowEvent>> {
        let trace = self.trace;
        let mut flows: BTreeMap<u64, Vec<FlowEvent>> = BTreeMap::new();
        for slice in &trace.slices {
            let event = FlowEvent {
                track: slice.track,
                begin: slice.begin_ns,
                end: self.end_of(slice),
                depth: slice.depth.min(DEEPEST),
                category: slice.category,
                name: slice.name,
            };
            slice.flows.iter().for_each(|flow| flows.entry(*flow).or_default().push(event));
        }
        for instant in &trace.instants {
            let Instant { track, at_ns, category, name, .. } = *instant;
            let event = FlowEvent { track, begin: at_ns, end: at_ns, depth: 0, category, name };
            instant.flows.iter().for_each(|flow| flows.entry(*flow).or_default().push(event));
        }
        // Slices are in their order already, so those that begin at the same time stay in it.
        flows.values_mut().for_each(|events| events.sort_by_key(|event| event.begin));
        flows
    }

    /// Draws an arrow from the publisher of a bus message to each process that copied or took it. For other
    /// flows, draws an arrow from each event to the next.
    fn arrows(&mut self, tops: &HashMap<usize, f64>) {
        let mut arrows: Vec<(FlowEvent, FlowEvent)> = Vec::new();
        for events in self.flows().into_values() {
            let is_publication = |event: &FlowEvent| {
                self.trace.text(event.category) == "bus"
                    && self.trace.text(event.name).starts_with("publish ")
            };
            // The slice of a call begins before its request is published.
            match events.iter().position(is_publication) {
                Some(at) => arrows.extend(events[at + 1..].iter().map(|to| (events[at], *to))),
                None => arrows.extend(events.windows(2).map(|pair| (pair[0], pair[1]))),
            }
        }
        arrows.retain(|(from, to)| self.window.has(from.begin, to.begin));
        arrows.sort_by_key(|(from, to)| (from.begin, to.begin));
        for (from, to) in arrows.into_iter().take(MAX_ARROWS) {
            let (Some(from_top), Some(to_top)) = (tops.get(&from.track), tops.get(&to.track)) else {
                continue;
            };
            let middle =
                |top: &f64, event: FlowEvent| top + f64::from(event.depth) * LEVEL + LEVEL / 2.0 - 1.0;
            let left = self.x(from.end.min(to.begin));
            let right = self.x(to.begin);
            let (from_y, to_y) = (middle(from_top, from), middle(to_top, to));
            let bend = ((right - left) / 2.0).max(14.0);
            let element = format!(
                "<path d=\"M{left:.2} {from_y:.1} C{:.2} {from_y:.1} {:.2} {to_y:.1} {right:.2} {to_y:.1}\" fill=\"none\" \
                 stroke=\"#c1121f\" stroke-width=\"1.1\" opacity=\"0.75\" marker-end=\"url(#tip)\"><title>{} → {}</title></path>",
                left + bend,
                right - bend,
                escape(self.trace.text(from.name)),
                escape(self.trace.text(to.name)),
            );
            self.put(element);
        }
    }
}

/// Returns a round time, of which five to twelve make up the span.
fn round_step(span: u64) -> u64 {
    let mut step: u64 = 1;
    while span / step > 12 {
        let digits = step.to_string();
        // 1, 2, 5, 10, 20, 50, ...
        step = step.saturating_mul(if digits.starts_with('2') { 5 } else { 2 });
        if digits.starts_with('2') {
            step /= 2;
        }
    }
    step
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_round() {
        assert_eq!(round_step(100_000_000), 10_000_000);
        assert_eq!(round_step(30_000_000), 5_000_000);
        assert_eq!(round_step(240_000), 20_000);
        assert_eq!(round_step(5), 1);
        assert!(round_step(u64::MAX) > 0);
    }

    #[test]
    fn names_are_shortened_in_their_middle() {
        assert_eq!(fit_ends("queue of a<b #0", 75.0, 5.0), "queue of a&lt;b #0");
        assert_eq!(fit_ends("queue of a<b #0", 70.0, 5.0), "queue … a&lt;b #0");
        assert_eq!(fit_ends("queue of a<b #0", 15.0, 5.0), "q…0");
        assert_eq!(fit_ends("queue of a<b #0", 10.0, 5.0), "");
    }

    #[test]
    fn an_empty_trace_is_a_picture_too() {
        let trace = ReadTrace::read(&[]);
        let svg = draw(&trace, TimeRange::new(&trace, None, None));
        assert!(svg.starts_with("<svg") && svg.ends_with("</svg>\n"));
    }
}
