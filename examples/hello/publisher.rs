//! Publishes ten poses, each built where it will be read.

use std::error::Error;
use std::thread::sleep;
use std::time::Duration;

use situ::prelude::*;
use situ_examples::examples::Pose;

fn main() -> Result<(), Box<dyn Error>> {
    let node = Node::new("hello_publisher")?;
    let publisher = node.publisher::<Pose>("hello").reliable().create()?;

    while publisher.raw().subscribers() == 0 {
        sleep(Duration::from_millis(10));
    }
    for step in 0..10 {
        let mut pose = publisher.loan()?;
        pose.x = f64::from(step);
        pose.heading = 0.5;
        let number = pose.publish()?;
        println!("published pose {number}");
        sleep(Duration::from_millis(20));
    }
    Ok(())
}
