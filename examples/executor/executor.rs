//! A node of callbacks: it publishes poses by a timer, receives them, and stops after the third one.

use std::error::Error;
use std::time::Duration;

use situ::bus::{Executor, GuardCondition, Timer};
use situ::prelude::*;
use situ_examples::examples::Pose;

fn main() -> Result<(), Box<dyn Error>> {
    let node = Node::new("follower")?;
    let executor = Executor::new(&node)?;

    // A guard condition connects callbacks with each other, with other threads, and with signal handlers.
    let arrived = GuardCondition::new();
    let (arrive, mut count) = (arrived.clone(), 0);
    executor.subscribe(node.subscriber::<Pose>("follower/poses").create()?, move |pose| {
        println!("pose: x = {}", pose.x);
        count += 1;
        if count == 3 {
            arrive.trigger();
        }
    })?;

    let poses = node.publisher::<Pose>("follower/poses").create()?;
    let mut x = 0.0;
    executor.timer(&Timer::periodic(Duration::from_millis(20))?, move |_call| {
        let mut pose = poses.loan()?;
        pose.x = x;
        x += 1.0;
        pose.publish()?;
        Ok::<(), Box<dyn Error + Send + Sync>>(())
    })?;

    let stopper = executor.stopper();
    executor.guard_condition(&arrived, move || {
        println!("arrived");
        stopper.stop();
    })?;

    // With `spin_threads(4)`, callbacks of different groups run at the same time.
    executor.spin()?;
    Ok(())
}
