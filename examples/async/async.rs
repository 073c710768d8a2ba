//! Two topics as streams in one task of an async runtime, here tokio.

use std::error::Error;
use std::time::Duration;

use futures_util::StreamExt;
use situ::prelude::*;
use situ_examples::examples::{Note, Pose};

/// Another node: three poses and two notes, a little apart.
async fn talk() -> Result<(), Box<dyn Error + Send + Sync>> {
    let node = Node::new("async_talker")?;
    let poses = node.publisher::<Pose>("async/poses").reliable().create()?;
    let notes = node.publisher::<Note>("async/notes").reliable().create()?;
    for step in 0..5 {
        tokio::time::sleep(Duration::from_millis(20)).await;
        if step % 2 == 0 {
            let mut pose = poses.loan()?;
            pose.x = f64::from(step);
            pose.publish()?;
        } else {
            notes.publish(&Note { text: format!("step {step}"), ..Note::default() })?;
        }
    }
    Ok(())
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let node = Node::new("async")?;
    let mut poses = node.subscriber::<Pose>("async/poses").reliable().create()?.into_stream()?;
    let mut notes = node.subscriber::<Note>("async/notes").reliable().create()?.into_stream()?;
    let talker = tokio::spawn(talk());

    for _ in 0..5 {
        tokio::select! {
            Some(pose) = poses.next() => println!("pose: x = {}", pose?.x),
            Some(note) = notes.next() => println!("note: {}", note?.text),
            () = tokio::time::sleep(Duration::from_secs(10)) => return Err("nothing for 10 s".into()),
        }
    }
    talker.await?.map_err(|e| e.to_string())?;
    Ok(())
}
