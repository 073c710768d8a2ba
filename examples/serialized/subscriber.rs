//! Takes notes: each is decoded into strings of the subscriber's own.

use std::error::Error;
use std::time::Duration;

use situ::prelude::*;
use situ_examples::examples::Note;

fn main() -> Result<(), Box<dyn Error>> {
    let node = Node::new("note_subscriber")?;
    let subscriber = node.subscriber::<Note>("notes").reliable().create()?;

    for _ in 0..5 {
        let note = subscriber.recv(Some(Duration::from_secs(10)))?.ok_or("no note for 10 s")?;
        println!("{} wrote \"{}\" [{}]", note.author, note.text.trim_end(), note.tags.join(", "));
    }
    Ok(())
}
