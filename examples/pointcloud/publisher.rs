//! Publishes clouds of different sizes: each costs what it holds.

use std::error::Error;
use std::thread::sleep;
use std::time::Duration;

use situ::prelude::*;
use situ_examples::examples::{Cloud, CloudBulkLengths};

fn main() -> Result<(), Box<dyn Error>> {
    let node = Node::new("pointcloud_publisher")?;
    let publisher = node.publisher::<Cloud>("cloud").reliable().create()?;

    while publisher.raw().subscribers() == 0 {
        sleep(Duration::from_millis(10));
    }
    for size in [1_000, 50_000, 200_000] {
        let mut cloud = publisher.loan_with(CloudBulkLengths { points: size })?;
        cloud.frame_id.try_assign("lidar")?;
        for (index, point) in cloud.bulk_mut(|c| &c.points).iter_mut().enumerate() {
            point.x = index as f32;
            point.y = 2.0;
            point.z = -1.0;
        }
        cloud.publish()?;
        println!("published {size} points");
    }
    Ok(())
}
