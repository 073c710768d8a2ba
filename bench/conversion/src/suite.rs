//! What is measured, and how: conversions are timed in batches, and every system takes its turn in each
//! round.

use std::collections::hash_map::DefaultHasher;
use std::hash::Hasher;
use std::hint::black_box;
use std::time::{Duration, Instant};

use crate::counting::counting;
use crate::facts::Facts;

/// The direction of a conversion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// From C's form to idiomatic Rust, as for a received message.
    FromRos,
    /// To C's form, as for a message to publish.
    IntoRos,
}

/// A message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// A sequence of 65,536 bytes alone.
    Bytes,
    /// An image of 1 MiB.
    Image,
    /// 100 joints with their names.
    JointState,
    /// 10,000 poses.
    PoseArray,
}

impl Shape {
    /// All of them, in the order of printing.
    pub const ALL: [Self; 4] = [Self::Bytes, Self::Image, Self::JointState, Self::PoseArray];

    fn name(self) -> &'static str {
        match self {
            Self::Bytes => "u8_65536",
            Self::Image => "image_1m",
            Self::JointState => "jointstate_100",
            Self::PoseArray => "posearray_10k",
        }
    }

    /// The number of messages in a batch: as many as fit in the caches.
    fn batch(self) -> usize {
        match self {
            Self::Bytes | Self::JointState => 16,
            Self::Image | Self::PoseArray => 2,
        }
    }
}

/// Runs `count` conversions. Returns the nanoseconds of one, less the cost of reading the clock.
type Turn = Box<dyn Fn(usize, Duration) -> f64>;

struct Entry {
    shape: Shape,
    direction: Direction,
    system: &'static str,
    turn: Turn,
    allocations: usize,
    facts: u64,
    samples: Vec<f64>,
}

/// All conversions.
#[derive(Default)]
pub struct Suite {
    entries: Vec<Entry>,
}

fn digest(facts: &impl Facts) -> u64 {
    let mut hasher = DefaultHasher::new();
    facts.say(&mut hasher);
    hasher.finish()
}

/// Times a batch. Inputs are created before, and results are dropped after. The rest of an input is dropped
/// within the timed part, as clients of the middleware do.
fn batch<I, O>(count: usize, clock: Duration, make: impl Fn() -> I, convert: impl Fn(I) -> O) -> f64 {
    let mut inputs: Vec<I> = (0..=count).map(|_| make()).collect();
    let mut outputs: Vec<O> = Vec::with_capacity(count + 1);
    // One conversion first, to load the code.
    outputs.extend(inputs.pop().map(|input| convert(black_box(input))));
    let begin = Instant::now();
    for input in inputs {
        outputs.push(convert(black_box(input)));
    }
    let took = begin.elapsed();
    black_box(&mut outputs);
    took.saturating_sub(clock).as_nanos() as f64 / count as f64
}

impl Suite {
    /// Adds a system's conversion. Fails if the result differs from the first system's.
    pub fn add<I: 'static, O: Facts + 'static>(
        &mut self,
        (shape, direction, system): (Shape, Direction, &'static str),
        make: impl Fn() -> I + 'static,
        convert: impl Fn(I) -> O + 'static,
    ) -> Result<(), String> {
        let input = make();
        let (output, allocations) = counting(|| convert(input));
        let facts = digest(&output);
        if let Some(first) =
            self.entries.iter().find(|entry| entry.shape == shape && entry.direction == direction)
            && first.facts != facts
        {
            return Err(format!(
                "{shape:?} {direction:?}: the result of {system} differs from that of {}",
                first.system
            ));
        }
        let turn = Box::new(move |count: usize, clock: Duration| batch(count, clock, &make, &convert));
        let samples = Vec::new();
        self.entries.push(Entry { shape, direction, system, turn, allocations, facts, samples });
        Ok(())
    }

    /// Keeps only the measurements that have all of these names.
    pub fn keep(&mut self, names: &[String]) {
        self.entries.retain(|entry| {
            names.iter().all(|name| [entry.shape.name(), entry.system].contains(&name.as_str()))
        });
    }

    /// Measures all in turns.
    pub fn measure(&mut self, rounds: usize) {
        // The cost of reading the clock.
        let clock = (0..1000).map(|_| Instant::now().elapsed()).min().unwrap_or_default();
        for round in 0..rounds + 3 {
            for entry in &mut self.entries {
                let nanoseconds = (entry.turn)(entry.shape.batch(), clock);
                // The first rounds load memory and code.
                if round >= 3 {
                    entry.samples.push(nanoseconds);
                }
            }
        }
    }

    /// Prints the medians, the 99th percentiles and the allocations.
    pub fn print(&mut self) {
        for entry in &mut self.entries {
            let direction = match entry.direction {
                Direction::FromRos => "from_ros",
                Direction::IntoRos => "into_ros",
            };
            let name = format!("{}_{direction}|{}", entry.shape.name(), entry.system);
            entry.samples.sort_by(f64::total_cmp);
            for (metric, share) in [("p50_ns", 0.5), ("p99_ns", 0.99)] {
                let at = ((entry.samples.len() as f64 * share).ceil() as usize).max(1) - 1;
                if let Some(value) = entry.samples.get(at) {
                    println!("{name}|{metric}|{value}");
                }
            }
            println!("{name}|allocations|{}", entry.allocations);
        }
    }
}
