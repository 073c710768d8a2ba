//! Takes clouds and sums their points up, where they lie.

use std::error::Error;
use std::time::Duration;

use situ::prelude::*;
use situ_examples::examples::Cloud;

fn main() -> Result<(), Box<dyn Error>> {
    let node = Node::new("pointcloud_subscriber")?;
    let subscriber = node.subscriber::<Cloud>("cloud").reliable().create()?;

    for _ in 0..3 {
        let cloud = subscriber.recv(Some(Duration::from_secs(10)))?.ok_or("no cloud for 10 s")?;
        let points = cloud.bulk(|c| &c.points);
        let sum: f64 = points.iter().map(|p| f64::from(p.x + p.y + p.z)).sum();
        println!("{}: {} points, sum {sum}", &*cloud.frame_id, points.len());
    }
    Ok(())
}
