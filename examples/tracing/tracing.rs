//! A program that traces its work beside the events of the bus: slices, moments, a counter, arrows, a log.

use std::error::Error;
use std::time::{Duration, Instant};

use situ::prelude::*;
use situ::trace::{category, counter, instant, slice};
use situ_examples::examples::Pose;
use tracing_subscriber::filter::LevelFilter;
use tracing_subscriber::prelude::*;

category!(PLANNER, "planner");

/// Work that takes its time.
fn think(pose: &Pose) -> f64 {
    let _slice = slice!(PLANNER, "think", "x" => pose.x);
    let begin = Instant::now();
    while begin.elapsed() < Duration::from_micros(200) {}
    if pose.x > 7.0 {
        instant!(PLANNER, "turn", "reason" => "the end of the road");
        tracing::warn!(target: "log", "the road ends at {}", pose.x);
    }
    pose.x * 2.0
}

fn main() -> Result<(), Box<dyn Error>> {
    // The log of the crate `tracing` goes into the trace. A program can add further layers, such as one that
    // prints it. Libraries log much below INFO.
    let layer = situ::trace::layer::layer().with_filter(LevelFilter::INFO);
    tracing_subscriber::registry().with(layer).init();
    let node = Node::new("tracing")?;
    let poses = node.publisher::<Pose>("tracing/poses").reliable().create()?;
    let planner = node.subscriber::<Pose>("tracing/poses").reliable().create()?;
    let mut far = 0;
    for step in 0..10 {
        // The parts of a step belong together: an arrow leads from the one slice to the other.
        let _slice = slice!(PLANNER, "step", flow = 1, "step" => step);
        let mut pose = poses.loan()?;
        pose.x = f64::from(step);
        pose.publish()?;
        if let Some(pose) = planner.recv(Some(Duration::from_secs(10)))?
            && think(&pose) > 10.0
        {
            far += 1;
        }
        counter!(PLANNER, "far", far);
        std::thread::sleep(Duration::from_millis(2));
    }
    println!("{far} of 10 poses were far away");
    Ok(())
}
