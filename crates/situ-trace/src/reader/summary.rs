//! A trace as numbers: durations, latencies, losses.

use std::collections::{BTreeMap, HashMap};

use super::trace::{ArgumentValue, ReadTrace, SliceEnd, TextId, TimedSlice, Troubles};

/// The category of the bus's events.
const BUS: &str = "bus";

/// All slices of one name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NameSummary {
    /// Their category.
    pub category: String,
    /// Their name.
    pub name: String,
    /// The number of slices.
    pub count: u64,
    /// Their total time, in nanoseconds. An open slice counts up to the trace's end.
    pub total_ns: u64,
    /// The median of their times.
    pub p50_ns: u64,
    /// The 99th percentile of their times.
    pub p99_ns: u64,
    /// The longest time.
    pub max_ns: u64,
}

/// Latencies in nanoseconds, from the beginning of publishing until a subscriber has the message.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Latency {
    /// The number of measured latencies.
    pub count: u64,
    /// The median.
    pub p50_ns: u64,
    /// The 90th percentile.
    pub p90_ns: u64,
    /// The 99th percentile.
    pub p99_ns: u64,
    /// The longest.
    pub max_ns: u64,
}

/// The messages of one topic.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TopicSummary {
    /// Its name.
    pub topic: String,
    /// Messages that were published.
    pub published: u64,
    /// Messages that were taken, counted once for each subscriber.
    pub taken: u64,
    /// Copies into other memory domains.
    pub copied: u64,
    /// Messages that subscribers lost, skipped, or dropped as expired.
    pub lost: u64,
    /// From publisher to subscriber.
    pub latency: Latency,
}

/// The values of one counter.
#[derive(Clone, Debug, PartialEq)]
pub struct CounterSummary {
    /// Its process; empty if unknown.
    pub process: String,
    /// Its name.
    pub name: String,
    /// The number of values.
    pub samples: u64,
    /// The smallest value.
    pub min: f64,
    /// The largest value.
    pub max: f64,
    /// The last value.
    pub last: f64,
}

/// A trace as numbers.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TraceSummary {
    /// The time from the first event to the last, in nanoseconds.
    pub duration_ns: u64,
    /// The number of packets in the file.
    pub packets: u64,
    /// The number of slices, instants and counter values.
    pub events: u64,
    /// The processes: name and number.
    pub processes: Vec<(String, i32)>,
    /// Slices by name, in the order of their total time.
    pub names: Vec<NameSummary>,
    /// Topics by name.
    pub topics: Vec<TopicSummary>,
    /// Counters by process and name.
    pub counters: Vec<CounterSummary>,
    /// The defects of the trace.
    pub troubles: Troubles,
}

/// Returns the smallest number that at least `share` of the sorted numbers do not exceed.
fn percentile(sorted: &[u64], share: f64) -> u64 {
    let rank = (share * sorted.len() as f64).ceil() as usize;
    sorted.get(rank.saturating_sub(1)).or(sorted.last()).copied().unwrap_or_default()
}

impl Latency {
    fn of(mut times: Vec<u64>) -> Self {
        times.sort_unstable();
        Self {
            count: times.len() as u64,
            p50_ns: percentile(&times, 0.5),
            p90_ns: percentile(&times, 0.9),
            p99_ns: percentile(&times, 0.99),
            max_ns: times.last().copied().unwrap_or_default(),
        }
    }
}

impl TraceSummary {
    /// Summarizes a trace.
    pub fn of(trace: &ReadTrace) -> Self {
        let (begin, end) = trace.span();
        let text = |id| trace.text(id).to_owned();
        Self {
            duration_ns: end - begin,
            packets: trace.packets,
            events: (trace.slices.len() + trace.instants.len() + trace.samples.len()) as u64,
            processes: trace.processes.iter().map(|process| (text(process.name), process.pid)).collect(),
            names: names(trace, end),
            topics: topics(trace),
            counters: counters(trace),
            troubles: trace.troubles,
        }
    }
}

fn names(trace: &ReadTrace, end: u64) -> Vec<NameSummary> {
    let mut times: HashMap<(TextId, TextId), Vec<u64>> = HashMap::new();
    for slice in &trace.slices {
        let until = if let SliceEnd::At(at) = slice.end { at } else { end };
        times.entry((slice.category, slice.name)).or_default().push(until.saturating_sub(slice.begin_ns));
    }
    let mut names: Vec<_> = times
        .into_iter()
        .map(|((category, name), mut times)| {
            times.sort_unstable();
            NameSummary {
                category: trace.text(category).to_owned(),
                name: trace.text(name).to_owned(),
                count: times.len() as u64,
                total_ns: times.iter().fold(0, |sum, time| sum.saturating_add(*time)),
                p50_ns: percentile(&times, 0.5),
                p99_ns: percentile(&times, 0.99),
                max_ns: times.last().copied().unwrap_or_default(),
            }
        })
        .collect();
    names.sort_by(|one, other| {
        other
            .total_ns
            .cmp(&one.total_ns)
            .then_with(|| (&one.category, &one.name).cmp(&(&other.category, &other.name)))
    });
    names
}

/// Returns the topic in the name of a bus event, behind `word`.
pub(super) fn of_topic<'n>(name: &'n str, word: &str) -> Option<&'n str> {
    name.strip_prefix(word)?.strip_prefix(' ')
}

fn topics(trace: &ReadTrace) -> Vec<TopicSummary> {
    let mut topics: BTreeMap<&str, (TopicSummary, Vec<u64>)> = BTreeMap::new();
    // The times at which the publishing of each message began, by flow number.
    let mut published: HashMap<u64, u64> = HashMap::new();
    let of_bus = |slice: &&TimedSlice| trace.text(slice.category) == BUS;
    for slice in trace.slices.iter().filter(of_bus) {
        if let Some(topic) = of_topic(trace.text(slice.name), "publish") {
            topics.entry(topic).or_default().0.published += 1;
            for flow in &slice.flows {
                published.entry(*flow).or_insert(slice.begin_ns);
            }
        } else if let Some(topic) = of_topic(trace.text(slice.name), "copy") {
            topics.entry(topic).or_default().0.copied += 1;
        }
    }
    for slice in trace.slices.iter().filter(of_bus) {
        let (Some(topic), Some(flow)) = (of_topic(trace.text(slice.name), "take"), slice.flows.first())
        else {
            continue;
        };
        let (summary, times) = topics.entry(topic).or_default();
        summary.taken += 1;
        if let (Some(begin), SliceEnd::At(end)) = (published.get(flow), slice.end) {
            times.push(end.saturating_sub(*begin));
        }
    }
    for instant in trace.instants.iter().filter(|instant| trace.text(instant.category) == BUS) {
        let name = trace.text(instant.name);
        let topic = ["lost", "skipped", "expired"].iter().find_map(|word| of_topic(name, word));
        let Some(topic) = topic else { continue };
        let messages = instant.arguments.iter().find_map(|(name, value)| match value {
            ArgumentValue::Uint(messages) if trace.text(*name) == "messages" => Some(*messages),
            _ => None,
        });
        let lost = &mut topics.entry(topic).or_default().0.lost;
        *lost = lost.saturating_add(messages.unwrap_or_default());
    }
    topics
        .into_iter()
        .map(|(topic, (summary, times))| TopicSummary {
            topic: topic.to_owned(),
            latency: Latency::of(times),
            ..summary
        })
        .collect()
}

fn counters(trace: &ReadTrace) -> Vec<CounterSummary> {
    let mut counters: BTreeMap<usize, CounterSummary> = BTreeMap::new();
    for sample in &trace.samples {
        let counter = counters.entry(sample.track).or_insert_with(|| {
            let track = &trace.tracks[sample.track];
            let process = track.process.map(|process| trace.text(trace.processes[process].name));
            CounterSummary {
                process: process.unwrap_or_default().to_owned(),
                name: trace.text(track.name).to_owned(),
                samples: 0,
                min: sample.value,
                max: sample.value,
                last: sample.value,
            }
        });
        counter.samples += 1;
        counter.min = counter.min.min(sample.value);
        counter.max = counter.max.max(sample.value);
        counter.last = sample.value;
    }
    let mut counters: Vec<_> = counters.into_values().collect();
    counters.sort_by(|one, other| (&one.process, &one.name).cmp(&(&other.process, &other.name)));
    counters
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_values_that_occurred() {
        let numbers: Vec<u64> = (1..=10).collect();
        assert_eq!(percentile(&numbers, 0.5), 5);
        assert_eq!(percentile(&numbers, 0.99), 10);
        assert_eq!(percentile(&[7], 0.5), 7);
        assert_eq!(percentile(&[], 0.5), 0);
    }

    #[test]
    fn topics_stand_behind_the_word() {
        assert_eq!(of_topic("publish lidar/points", "publish"), Some("lidar/points"));
        assert_eq!(of_topic("published", "publish"), None);
        assert_eq!(of_topic("take a", "publish"), None);
    }
}
