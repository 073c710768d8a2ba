//! Prints where the robot is, until Ctrl-C.

use std::error::Error;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use my_robot::Pose;
use situ::prelude::*;

// The types that build.rs generates.
include!(concat!(env!("OUT_DIR"), "/messages.rs"));

fn main() -> Result<(), Box<dyn Error>> {
    let stop = Arc::new(AtomicBool::new(false));
    signal_hook::flag::register(signal_hook::consts::SIGINT, Arc::clone(&stop))?;

    let node = Node::new("my_robot_subscriber")?;
    let subscriber = node.subscriber::<Pose>("my_robot/pose").create()?;
    println!("waiting for my_robot/pose until Ctrl-C");

    while !stop.load(Ordering::Relaxed) {
        // Waits for the next pose, but looks at `stop` five times a second.
        let Some(pose) = subscriber.recv(Some(Duration::from_millis(200)))? else { continue };
        // The pose lies in the memory where its publisher wrote it.
        println!("pose {}: x = {:.3}, y = {:.3}, heading = {:.3}", pose.sequence(), pose.x, pose.y, pose.heading);
    }
    println!("done");
    Ok(())
}
