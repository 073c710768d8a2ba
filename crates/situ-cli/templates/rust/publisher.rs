//! Publishes where the robot is, ten times a second, until Ctrl-C.

use std::error::Error;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::sleep;
use std::time::Duration;

use my_robot::Pose;
use situ::prelude::*;

// The types that build.rs generates.
include!(concat!(env!("OUT_DIR"), "/messages.rs"));

fn main() -> Result<(), Box<dyn Error>> {
    let stop = Arc::new(AtomicBool::new(false));
    signal_hook::flag::register(signal_hook::consts::SIGINT, Arc::clone(&stop))?;

    let node = Node::new("my_robot_publisher")?;
    let publisher = node.publisher::<Pose>("my_robot/pose").create()?;
    println!("publishing on my_robot/pose until Ctrl-C");

    let mut angle: f64 = 0.0;
    while !stop.load(Ordering::Relaxed) {
        // A pose in shared memory, with default values.
        let mut pose = publisher.loan()?;
        pose.x = angle.cos();
        pose.y = angle.sin();
        pose.heading = angle;
        // Subscribers receive a reference to it. Nothing is copied.
        pose.publish()?;
        angle += 0.1;
        sleep(Duration::from_millis(100));
    }
    println!("done");
    Ok(())
}
