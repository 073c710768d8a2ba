//! Takes ten poses and reads each where it lies.

use std::error::Error;
use std::time::Duration;

use situ::prelude::*;
use situ_examples::examples::Pose;

fn main() -> Result<(), Box<dyn Error>> {
    let node = Node::new("hello_subscriber")?;
    let subscriber = node.subscriber::<Pose>("hello").reliable().create()?;

    for _ in 0..10 {
        let pose = subscriber.recv(Some(Duration::from_secs(10)))?.ok_or("no pose for 10 s")?;
        println!("pose {}: x = {}, y = {}, heading = {}", pose.sequence(), pose.x, pose.y, pose.heading);
    }
    Ok(())
}
