//! Measures what a packet costs its writer, by chunk size: `cargo run --release -p situ-trace --example
//! packet_cost`.
//!
//! Each number is the smallest of many rounds. In the first two columns, a round leaves the ring less than
//! half full, so that the collector is not woken; it empties the ring between rounds. In the third column,
//! packets go through a small ring, and a writer that finds it full waits. That number is the processor time
//! per packet of writer, collector and system together.

use std::io;
use std::time::{Duration, Instant};

use situ_memory::Root;
use situ_trace::{Collector, CollectorOptions, Limits, Policy, Producer, Sink, StartError, Writer};

const ROUNDS: u32 = 150;
const PACKETS: u32 = 8_000;

/// A timestamp, and an event with a few numbers: 30 bytes.
fn event(writer: &mut Writer, time: u64) {
    if let Some(mut packet) = writer.packet() {
        let mut packet = packet.message();
        packet.uint64(8, 1_000_000_000_000 + time);
        packet.uint32(13, 2);
        let mut event = packet.message(11);
        event.uint32(9, 1);
        event.uint64(11, 0x1234_5678_9abc);
        event.uint32(10, 7);
        event.uint32(3, 2);
    }
}

/// Two fields.
fn tiny(writer: &mut Writer, time: u64) {
    if let Some(mut packet) = writer.packet() {
        let mut packet = packet.message();
        packet.uint64(8, 1_000_000 + time);
        packet.uint32(13, 2);
    }
}

/// The smallest time per packet, in nanoseconds.
fn least(writer: &mut Writer, write: impl Fn(&mut Writer, u64), drained: Duration) -> f64 {
    let mut least = f64::INFINITY;
    for _ in 0..ROUNDS {
        let start = Instant::now();
        for time in 0..PACKETS {
            write(writer, time.into());
        }
        least = least.min(start.elapsed().as_nanos() as f64 / f64::from(PACKETS));
        std::thread::sleep(drained);
    }
    least
}

/// The processor time of this process, in nanoseconds.
fn spent_ns() -> u64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// The processor time for a packet that goes through a small ring, in nanoseconds.
fn through(
    root: &Root,
    producer: &Producer,
    writer: &mut Writer,
    chunk_bytes: u32,
) -> Result<f64, StartError> {
    let mut options = CollectorOptions::new(Sink::Writer(Box::new(io::sink())));
    (options.chunk_bytes, options.ring_bytes) = (chunk_bytes, 256 << 10);
    options.policy = Policy::Stall { at_most: Duration::from_secs(10) };
    let collector = Collector::start(root, options)?;
    producer.wait_for_session(Duration::from_secs(5));
    let mut least = f64::INFINITY;
    for _ in 0..ROUNDS / 5 {
        let start = spent_ns();
        for time in 0..10 * PACKETS {
            event(writer, time.into());
        }
        least = least.min((spent_ns() - start) as f64 / f64::from(10 * PACKETS));
    }
    drop(collector);
    producer.wait_for_end(Duration::from_secs(5));
    Ok(least)
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let path = format!("/dev/shm/situ-packet-cost-{}", std::process::id());
    let root = Root::at(&path, None);
    let producer = Producer::connect_within(
        &root,
        "packet_cost",
        Limits::new().stall(Duration::from_secs(600)),
        |_| {},
    )?;
    let mut writer = producer.writer();
    println!("no session: {:.2} ns", least(&mut writer, tiny, Duration::ZERO));
    println!("{:>8} {:>12} {:>12} {:>12}", "chunk", "2 fields", "30 bytes", "through");
    for chunk_bytes in [256, 512, 1024, 2048, 4096, 8192, 32768] {
        let mut options = CollectorOptions::new(Sink::Writer(Box::new(io::sink())));
        (options.chunk_bytes, options.period) = (chunk_bytes, Duration::from_millis(1));
        let collector = Collector::start(&root, options)?;
        producer.wait_for_session(Duration::from_secs(5));
        let pause = Duration::from_millis(3);
        let times = [least(&mut writer, tiny, pause), least(&mut writer, event, pause)];
        let lost = writer.lost().packets;
        collector.stop()?;
        producer.wait_for_end(Duration::from_secs(5));
        if lost > 0 {
            println!("{lost} packets were lost: the machine is too busy to measure");
        }
        let through = through(&root, &producer, &mut writer, chunk_bytes)?;
        println!("{chunk_bytes:>8} {:>9.1} ns {:>9.1} ns {through:>9.1} ns", times[0], times[1]);
    }
    std::fs::remove_dir_all(path)?;
    Ok(())
}
