//! Publishes notes: strings without a bound, which live on the heap and cross serialized.

use std::error::Error;
use std::thread::sleep;
use std::time::Duration;

use situ::prelude::*;
use situ_examples::examples::Note;

fn main() -> Result<(), Box<dyn Error>> {
    let node = Node::new("note_publisher")?;
    let publisher = node.publisher::<Note>("notes").reliable().create()?;

    while publisher.raw().subscribers() == 0 {
        sleep(Duration::from_millis(10));
    }
    for length in 1..=5 {
        let note = Note {
            author: "Ada".into(),
            text: "la ".repeat(length),
            tags: vec!["song".into(), format!("verse {length}")],
        };
        publisher.publish(&note)?;
        println!("published a note of {} bytes", note.text.len());
    }
    Ok(())
}
