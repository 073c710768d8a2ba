//! Has three poses turned around at once, and one that is nowhere.

use std::error::Error;
use std::time::Duration;

use situ::bus::{ReceiveReplyError, ReplyError};
use situ::prelude::*;
use situ_examples::examples::Pose;

fn main() -> Result<(), Box<dyn Error>> {
    let node = Node::new("turning")?;
    let client = node.client::<Pose, Pose>("turn").create()?;
    if !client.wait_for_server(Some(Duration::from_secs(10))) {
        return Err("no server for 10 s".into());
    }
    let mut calls = Vec::new();
    for x in [1.0, 2.0, 3.0, f64::NAN] {
        let mut request = client.loan()?;
        request.x = x;
        calls.push(request.send_within(Duration::from_secs(10))?);
    }
    for call in calls {
        match call.wait() {
            Ok(pose) => println!("turned: x = {}", pose.x),
            Err(ReceiveReplyError::Reply(ReplyError::Refused { code, text, .. })) => {
                println!("refused: {text} ({code})");
            }
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}
