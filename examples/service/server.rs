//! Turns four poses around, and refuses those that are nowhere.

use std::error::Error;
use std::time::Duration;

use situ::bus::Refusal;
use situ::prelude::*;
use situ_examples::examples::Pose;

fn main() -> Result<(), Box<dyn Error>> {
    let node = Node::new("turner")?;
    let server = node.server::<Pose, Pose>("turn").create()?;
    let mut served = 0;
    while served < 4 {
        let answered = server.serve(Some(Duration::from_secs(10)), |pose| {
            if !pose.x.is_finite() {
                return Err(Refusal { code: 1, text: "where is that?".into() });
            }
            Ok(Pose { x: -pose.x, y: -pose.y, ..Pose::default() })
        })?;
        if answered == 0 {
            return Err("no request for 10 s".into());
        }
        served += answered;
    }
    Ok(())
}
