//! `situ bench`: quick figures of this machine, measured between two processes of this program.

use std::time::{Duration, Instant};

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use serde::{Deserialize, Serialize};
use situ::bus::{
    Encoding, History, Node, PublisherQos, RawPublisher, RawSubscriber, Reliability, SubscriberQos,
    TypeDescription, WhenFull,
};

use crate::cli::BenchArgs;
use crate::commands::{Context, Interrupt};
use crate::demo::children::{Part, Report};
use crate::demo::latency::Latencies;
use crate::error::CliError;
use crate::output::table::{Column, Table};
use crate::output::units;

/// The time limit for the other process to become ready.
const TIMEOUT: Duration = Duration::from_secs(10);
/// The size of a small message.
const SMALL: usize = 64;
/// The size of a large message.
const LARGE: usize = 1 << 20;
/// The number of messages by which a publisher may be ahead.
const DEPTH: usize = 64;
/// The number of messages between two readings of the clock.
const BATCH: u64 = 1024;

/// The task of the other process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Task {
    /// Answers each message with a message of the same size. Polls.
    Echo,
    /// Answers each message. Sleeps until one arrives.
    EchoBlocking,
    /// Takes all messages.
    Drain,
}

/// The options of the other process.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct PeerOptions {
    task: Task,
    cpu: usize,
    topics: [String; 2],
}

#[derive(Serialize)]
struct Figures {
    hop_64b: Hop,
    hop_1mib: Hop,
    wake_64b: Hop,
    publish_ns: f64,
    throughput_per_second: f64,
    cpus: [usize; 2],
}

#[derive(Clone, Copy, Serialize)]
struct Hop {
    p50_ns: u64,
    p99_ns: u64,
}

/// Measures and prints the figures.
pub fn run(context: &Context, arguments: &BenchArgs) -> Result<(), CliError> {
    let interrupt = Interrupt::listen()?;
    let cpus = two_cpus();
    pin(cpus[0]);
    let bench = Bench { context, interrupt, cpus, time: Duration::from_secs_f64(arguments.seconds) };
    let figures = Figures {
        hop_64b: bench.hop(Task::Echo, SMALL)?,
        hop_1mib: bench.hop(Task::Echo, LARGE)?,
        wake_64b: bench.hop(Task::EchoBlocking, SMALL)?,
        publish_ns: bench.publish()?,
        throughput_per_second: bench.throughput()?,
        cpus,
    };
    let output = &context.output;
    if output.is_json() {
        return Ok(output.record(&figures)?);
    }
    let mut table = Table::new([Column::left("FIGURE"), Column::right("P50"), Column::right("P99")]);
    for (name, hop) in [
        ("one way, 64 B, polling", figures.hop_64b),
        ("one way, 1 MiB loaned, polling", figures.hop_1mib),
        ("one way, 64 B, sleeping", figures.wake_64b),
    ] {
        table.row([name.into(), units::duration(hop.p50_ns).into(), units::duration(hop.p99_ns).into()]);
    }
    table.row(["loan and publish, no subscriber".into(), format!("{:.0} ns", figures.publish_ns).into()]);
    table.row(["lossless throughput, 64 B".into(), units::hertz(figures.throughput_per_second).into()]);
    output.text(table.render(output))?;
    let [here, there] = cpus;
    Ok(output.line(if here == there {
        format!("Both processes share processor {here}: the times are those of the scheduler.")
    } else {
        format!("Processes on processors {here} and {there}; one way is half a round trip.")
    })?)
}

struct Bench<'a> {
    context: &'a Context,
    interrupt: Interrupt,
    cpus: [usize; 2],
    time: Duration,
}

impl Bench<'_> {
    fn topics(&self, name: &str) -> [String; 2] {
        let id = std::process::id();
        [format!("situ_bench/{id}/{name}/ping"), format!("situ_bench/{id}/{name}/pong")]
    }

    fn peer(&self, task: Task, topics: &[String; 2]) -> Result<Part, CliError> {
        let options = PeerOptions { task, cpu: self.cpus[1], topics: topics.clone() };
        let mut part = self.context.start_part("bench", &options).map_err(CliError::failed)?;
        part.wait_ready(TIMEOUT, || self.interrupt.is_set()).map_err(CliError::failed)?;
        Ok(part)
    }

    fn stopped(&self) -> Result<(), CliError> {
        if self.interrupt.is_set() { Err(CliError::Interrupted) } else { Ok(()) }
    }

    /// Measures half the time of round trips, as percentiles.
    fn hop(&self, task: Task, size: usize) -> Result<Hop, CliError> {
        let topics = self.topics("hop");
        let node = self.context.node()?;
        let publisher = publisher(&node, &topics[0])?;
        let subscriber = subscriber(&node, &topics[1])?;
        let mut peer = self.peer(task, &topics)?;
        let blocking = task == Task::EchoBlocking;
        let mut latencies = Latencies::default();
        let begin = Instant::now();
        // The first tenth warms caches, pools and branch predictors.
        while begin.elapsed() < self.time + self.time / 10 {
            let sent = Instant::now();
            send(&publisher, size)?;
            loop {
                if subscriber.take().map_err(CliError::failed)?.is_some() {
                    break;
                }
                if blocking {
                    subscriber.wait(Some(Duration::from_millis(100)));
                } else {
                    std::hint::spin_loop();
                }
                if sent.elapsed() > Duration::from_secs(1) {
                    self.stopped()?;
                    peer.check().map_err(CliError::failed)?;
                }
            }
            let round_trip = sent.elapsed().as_nanos() as u64;
            if begin.elapsed() > self.time / 10 {
                latencies.push(round_trip / 2);
            }
            self.stopped()?;
        }
        peer.stop();
        let [p50_ns, p99_ns] = latencies.percentiles([50.0, 99.0]);
        Ok(Hop { p50_ns, p99_ns })
    }

    /// Measures the mean time of loaning and publishing without subscribers.
    fn publish(&self) -> Result<f64, CliError> {
        let node = self.context.node()?;
        let publisher = publisher(&node, &self.topics("publish")[0])?;
        let begin = Instant::now();
        let mut messages = 0_u64;
        while begin.elapsed() < self.time / 2 {
            for _ in 0..BATCH {
                send(&publisher, SMALL)?;
            }
            messages += BATCH;
            self.stopped()?;
        }
        Ok(begin.elapsed().as_nanos() as f64 / messages as f64)
    }

    /// Measures the messages a second that the other process takes, without losses.
    fn throughput(&self) -> Result<f64, CliError> {
        let topics = self.topics("throughput");
        let node = self.context.node()?;
        let publisher = publisher(&node, &topics[0])?;
        let mut peer = self.peer(Task::Drain, &topics)?;
        let begin = Instant::now();
        let mut messages = 0_u64;
        while begin.elapsed() < self.time {
            for _ in 0..BATCH {
                send(&publisher, SMALL)?;
            }
            messages += BATCH;
            self.stopped()?;
            peer.check().map_err(CliError::failed)?;
        }
        let seconds = begin.elapsed().as_secs_f64();
        peer.stop();
        Ok(messages as f64 / seconds)
    }
}

/// Runs the other process until it is stopped.
pub fn peer(context: &Context, options: &PeerOptions) -> Result<(), CliError> {
    let interrupt = Interrupt::listen()?;
    pin(options.cpu);
    let node = context.node()?;
    let subscriber = subscriber(&node, &options.topics[0])?;
    let publisher = match options.task {
        Task::Drain => None,
        Task::Echo | Task::EchoBlocking => Some(publisher(&node, &options.topics[1])?),
    };
    context.output.record(&Report { ready: true, ..Report::default() })?;
    let mut idle = 0_u32;
    while !interrupt.is_set() {
        match subscriber.take().map_err(CliError::failed)? {
            Some(sample) => {
                idle = 0;
                // Reads the first byte, like a subscriber.
                std::hint::black_box(sample.head_in_place().first());
                let size = sample.head().len() + sample.body().len();
                drop(sample);
                if let Some(publisher) = &publisher {
                    send(publisher, size)?;
                }
            }
            None if options.task == Task::EchoBlocking => {
                subscriber.wait(Some(Duration::from_millis(100)));
            }
            None => {
                idle += 1;
                std::hint::spin_loop();
                // The publisher is gone, or both processes share a processor, so it yields.
                if idle > 100_000 {
                    std::thread::yield_now();
                }
            }
        }
    }
    Ok(())
}

/// The type of bytes without a schema.
fn description() -> TypeDescription {
    TypeDescription {
        name: "situ::bench::Bytes".into(),
        schema: "module situ { module bench { struct Bytes { @bulk sequence<uint8> data; }; }; };".into(),
        schema_hash: 0x5349_5455_4245_4e43,
        layout_hash: 0x5349_5455_4245_4e44,
        encoding: Encoding::Flat,
        fixed_size: 0,
        user_header_size: 0,
    }
}

fn publisher(node: &Node, topic: &str) -> Result<RawPublisher, CliError> {
    let (reliability, when_full) = (Reliability::Reliable, WhenFull::Block(None));
    let qos = PublisherQos { reliability, when_full, depth: DEPTH, ..PublisherQos::default() };
    RawPublisher::create(node, topic, &description(), qos)
        .map(RawPublisher::without_stamps)
        .map_err(CliError::failed)
}

fn subscriber(node: &Node, topic: &str) -> Result<RawSubscriber, CliError> {
    let qos = SubscriberQos {
        reliability: Reliability::Reliable,
        history: History::KeepAll,
        ..SubscriberQos::default()
    };
    RawSubscriber::create(node, topic, &description(), qos).map_err(CliError::failed)
}

/// Loans a message of `size` bytes, writes its head, and publishes it.
fn send(publisher: &RawPublisher, size: usize) -> Result<(), CliError> {
    let mut loan = publisher.loan(SMALL, 8, size - SMALL).map_err(CliError::failed)?;
    loan.head_bytes().fill(1);
    loan.publish().map_err(CliError::failed)?;
    Ok(())
}

/// Returns two processors that this process may use, on different cores if possible. If there is only one
/// processor, returns it twice.
fn two_cpus() -> [usize; 2] {
    let Ok(allowed) = sched_getaffinity(None) else { return [0, 0] };
    let cpus: Vec<usize> = (0..CpuSet::MAX_CPU).filter(|&cpu| allowed.is_set(cpu)).collect();
    let core = |cpu: usize| {
        let path = format!("/sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list");
        std::fs::read_to_string(path).unwrap_or_else(|_| cpu.to_string())
    };
    let first = cpus.first().copied().unwrap_or(0);
    let second = cpus.iter().copied().find(|&cpu| core(cpu) != core(first));
    [first, second.or(cpus.get(1).copied()).unwrap_or(first)]
}

/// Pins the thread to one processor. If that is not allowed, the figures only vary more.
fn pin(cpu: usize) {
    let mut set = CpuSet::new();
    set.set(cpu);
    let _ = sched_setaffinity(None, &set);
}
