//! Waits on two topics at once, in one thread and one system call.

use std::error::Error;
use std::thread::{self, sleep};
use std::time::Duration;

use situ::prelude::*;
use situ_examples::examples::{Note, Pose};

/// Another node, here in a thread: three poses and two notes, a little apart.
fn talk() -> Result<(), Box<dyn Error + Send + Sync>> {
    let node = Node::new("waiting_talker")?;
    let poses = node.publisher::<Pose>("waiting/poses").reliable().create()?;
    let notes = node.publisher::<Note>("waiting/notes").reliable().create()?;
    for step in 0..5 {
        sleep(Duration::from_millis(20));
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

fn main() -> Result<(), Box<dyn Error>> {
    let node = Node::new("waiting")?;
    let poses = node.subscriber::<Pose>("waiting/poses").reliable().create()?;
    let notes = node.subscriber::<Note>("waiting/notes").reliable().create()?;
    let talker = thread::spawn(talk);

    let mut received = 0;
    while received < 5 {
        wait_any(&[poses.raw(), notes.raw()], Some(Duration::from_secs(10))).ok_or("nothing for 10 s")?;
        while let Some(pose) = poses.take()? {
            println!("pose: x = {}", pose.x);
            received += 1;
        }
        while let Some(note) = notes.take()? {
            println!("note: {}", note.text);
            received += 1;
        }
    }
    talker.join().map_err(|_| "the talker panicked")?.map_err(|e| e.to_string())?;
    Ok(())
}
