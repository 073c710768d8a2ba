//! The topic that is recorded, and the process that publishes on it.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use situ_bus::{Encoding, Node, PublisherQos, RawPublisher, Root, TypeDescription, inspect};
use situ_schema::Schema;

use crate::Failure;

/// The topic's name.
pub const TOPIC: &str = "messages";
/// How many messages are published before it is looked how far the recorder is.
const STEP: u64 = 1024;

/// How often a publisher that is ahead looks how far the recorder is. Each look opens the topic, which takes
/// time from the recorder; the messages that are there last longer than this.
const LOOK: Duration = Duration::from_micros(200);

/// Messages of a fixed size, and messages whose bytes lie behind their head.
const IDL: &str = "module bench { module msg {
    @flat struct Small { octet bytes[64]; };
    @flat struct Large { @bulk sequence<octet> bytes; };
}; };";

/// The type of messages of this size.
pub fn description(size: usize) -> Result<TypeDescription, Failure> {
    let failed = Failure::of("the type");
    let schema = Schema::from_idl(IDL).map_err(|it| failed(&it))?;
    let name = if size == 64 { "bench::msg::Small" } else { "bench::msg::Large" };
    let root = schema.find(name).ok_or_else(|| failed(&"it is missing"))?;
    Ok(TypeDescription {
        name: name.to_owned(),
        schema: schema.canonical(root),
        schema_hash: schema.schema_hash(root),
        layout_hash: schema.layout_hash(root),
        encoding: Encoding::Flat,
        fixed_size: 0,
        user_header_size: 0,
    })
}

/// Starts the process that publishes, at a rate if that is not 0. It begins when its standard input is closed.
pub fn start(root: &Path, size: usize, count: u64, hertz: u64) -> Result<Child, Failure> {
    let failed = Failure::of("the publisher");
    let program = std::env::current_exe().map_err(|it| failed(&it))?;
    let mut command = Command::new(program);
    command.arg("--publish").arg(root).args([size.to_string(), count.to_string(), hertz.to_string()]);
    command.arg(TOPIC);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().map_err(|it| failed(&it))?;
    // It says when it has joined the topic.
    let mut ready = [0; 6];
    let stdout = child.stdout.as_mut().ok_or_else(|| failed(&"it has no output"))?;
    stdout.read_exact(&mut ready).map_err(|it| failed(&it))?;
    Ok(child)
}

/// Publishes as fast as the recorder takes, so that nothing is lost: the topic's only subscriber is never
/// more messages behind than the topic keeps.
pub fn publish(arguments: &[String]) -> Result<(), Failure> {
    let failed = Failure::of("publishing");
    let [root, size, count, hertz, topic] = arguments else { return Err(failed(&"it needs five arguments")) };
    let size: usize = size.parse().map_err(|it| failed(&it))?;
    let count: u64 = count.parse().map_err(|it| failed(&it))?;
    let hertz: u64 = hertz.parse().map_err(|it| failed(&it))?;
    let root = Root::at(PathBuf::from(root), None);
    let node = Node::in_root("publisher", root.clone()).map_err(|it| failed(&it))?;
    let depth = if size == 64 { 16_384 } else { 64 };
    let qos = PublisherQos { depth, ..PublisherQos::default() };
    let publisher = RawPublisher::create(&node, topic, &description(size)?, qos).map_err(|it| failed(&it))?;
    println!("ready");
    let _ = std::io::stdin().read(&mut [0]);
    let step = STEP.min(depth as u64 / 4);
    let begin = Instant::now();
    for number in 0..count {
        if hertz != 0 {
            let due = begin + Duration::from_nanos(number * 1_000_000_000 / hertz);
            std::thread::sleep(due.saturating_duration_since(Instant::now()));
        } else if number % step == 0 {
            while behind(&root, topic) > depth as u64 - 2 * step {
                std::thread::sleep(LOOK);
            }
        }
        let (head, body) = if size == 64 { (64, 0) } else { (16, size) };
        let mut loan = publisher.loan(head, 8, body).map_err(|it| failed(&it))?;
        if body == 0 {
            loan.head_bytes()[..8].copy_from_slice(&number.to_le_bytes());
        } else {
            loan.head_bytes()[..8].copy_from_slice(&0_u64.to_le_bytes());
            loan.head_bytes()[8..].copy_from_slice(&(size as u64).to_le_bytes());
            if hertz != 0 {
                // As a camera does, which writes all of it.
                loan.body_bytes().fill(number as u8);
            }
            loan.body_bytes()[..8].copy_from_slice(&number.to_le_bytes());
        }
        loan.publish().map_err(|it| failed(&it))?;
    }
    // Leaving the topic removes its last messages.
    while behind(&root, topic) > 0 {
        std::thread::sleep(Duration::from_micros(200));
    }
    Ok(())
}

/// How many messages the recorder has not taken.
fn behind(root: &Root, topic: &str) -> u64 {
    let info = inspect::topic(root, topic).ok().flatten();
    info.map_or(0, |it| it.subscribers.iter().map(|it| it.behind).max().unwrap_or(0))
}
