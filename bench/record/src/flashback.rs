//! What a flashback costs: it copies each message of a camera once.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use situ_bus::{Node, Root};
use situ_record::{Flashback, FlashbackOptions, Selection};

use crate::systems::{Scratch, cpu_seconds};
use crate::{Failure, topic};

/// An image of 1920 x 1080 pixels in colour.
pub const IMAGE: usize = 1920 * 1080 * 3;
/// Images a second.
const HERTZ: u64 = 30;

/// Keeps the last two seconds of a camera, which is another process. Returns the time on the CPU that an
/// image costs, in nanoseconds, and the part of one core in percent, in all threads of the flashback.
pub fn cost(seconds: u64) -> Result<(f64, f64), Failure> {
    let failed = Failure::of("the flashback");
    let place = Scratch(PathBuf::from(format!("/dev/shm/situ-bench-flashback-{}", std::process::id())));
    let root = Root::at(place.0.clone(), None);
    let count = HERTZ * seconds;
    let mut publisher = topic::start(&place.0, IMAGE, count, HERTZ)?;
    let node = Node::in_root("flashback", root.clone()).map_err(|it| failed(&it))?;
    let options = FlashbackOptions {
        name: "bench".into(),
        selection: Selection::all(),
        keep: Duration::from_secs(2),
        memory: 2 << 30,
    };
    let mut flashback = Flashback::start(&node, &root, options).map_err(|it| failed(&it))?;
    drop(publisher.stdin.take());
    let (begin, cpu) = (Instant::now(), cpu_seconds());
    while flashback.recorder().counts().iter().map(|it| it.messages + it.lost).sum::<u64>() < count {
        flashback.step(Duration::from_millis(5)).map_err(|it| failed(&it))?;
    }
    let (wall, cpu) = (begin.elapsed().as_secs_f64(), cpu_seconds() - cpu);
    let missing = flashback.finish().missing();
    let _ = publisher.wait();
    if missing > 0 {
        return Err(failed(&format!("{missing} messages are lost")));
    }
    Ok((cpu * 1e9 / count as f64, cpu / wall * 100.0))
}
