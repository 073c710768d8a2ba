//! `situ flashback`.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::thread::{Builder, JoinHandle};
use std::time::{Duration, Instant};

use situ::bus::Observer;
use situ::bus::inspect;
use situ::layout::foreign::Foreign;
use situ_record::{Edited, Flashback, FlashbackError, FlashbackOptions, Ring, WriterOptions, numbered};

use super::edit::show;
use super::select::writer;
use super::topics::selection;
use crate::cli::{DumpArgs, FlashbackArgs, FlashbackCommand, KeepArgs};
use crate::commands::{Context, Interrupt};
use crate::error::{CliError, complain};
use crate::output::LiveBlock;
use crate::output::units::bytes;

/// The interval between checks for Ctrl-C and nodes that end.
const GLANCE: Duration = Duration::from_millis(50);
/// The interval between checks for messages on trigger topics, which cost less.
const TRIGGER_GLANCE: Duration = Duration::from_millis(5);
/// The interval between updates of the live line.
const REDRAW: Duration = Duration::from_millis(500);

/// `situ flashback`.
pub fn run(context: &Context, arguments: &FlashbackArgs) -> Result<(), CliError> {
    match &arguments.command {
        None => keep(context, &arguments.keep),
        Some(FlashbackCommand::Dump(arguments)) => dump(context, arguments),
    }
}

fn failed(error: FlashbackError) -> CliError {
    match error {
        error @ FlashbackError::Missing { .. } => CliError::NotFound(error.to_string()),
        error @ FlashbackError::Name(_) => CliError::Usage(error.to_string()),
        error => CliError::failed(error),
    }
}

fn dump(context: &Context, arguments: &DumpArgs) -> Result<(), CliError> {
    let ring = Ring::of(&context.root, &arguments.name).map_err(failed)?;
    let keep = arguments.keep.unwrap_or(Duration::MAX);
    let how = WriterOptions { profile: "ros2".into(), ..writer(&arguments.how) };
    let edited = ring.dump(&arguments.output, keep, how).map_err(failed)?;
    show(context, &edited)?;
    if arguments.remove { ring.remove().map_err(failed) } else { Ok(()) }
}

/// What makes it write the ring.
struct Triggers<'a> {
    context: &'a Context,
    topics: HashMap<&'a str, Option<Observer>>,
    /// The watched nodes, and whether each was seen alive.
    nodes: HashMap<&'a str, bool>,
}

impl<'a> Triggers<'a> {
    fn new(context: &'a Context, arguments: &'a KeepArgs) -> Self {
        let open = |topic: &'a String| (topic.as_str(), Observer::open(&context.root, topic).ok().flatten());
        let topics = arguments.trigger.iter().map(open).collect();
        let nodes = arguments.watch.iter().map(|node| (node.as_str(), false)).collect();
        Self { context, topics, nodes }
    }

    /// A message on a trigger topic since the last call.
    fn message(&mut self) -> Option<String> {
        let root = &self.context.root;
        for (topic, observer) in &mut self.topics {
            // The topic may have ended since the last call: its memory still tells of the messages.
            let mut has_fired = observer.as_ref().is_some_and(Observer::has_next);
            if observer.as_mut().is_none_or(|observer| !observer.is_current()) {
                *observer = Observer::open(root, topic).ok().flatten();
                // An observer begins behind the messages that are there. A topic that has appeared since the
                // last call may have some already.
                let has_some =
                    || inspect::topic(root, topic).ok().flatten().is_some_and(|it| it.published > 0);
                has_fired |= observer.is_some() && has_some();
            }
            // It counts whether the message can still be read or not.
            if has_fired {
                if let Some(observer) = observer {
                    observer.latest();
                }
                return Some(format!("a message on {topic}"));
            }
        }
        None
    }

    /// A watched node that has ended since the last call.
    fn end_of_node(&mut self) -> Option<String> {
        if self.nodes.is_empty() {
            return None;
        }
        let living = inspect::nodes(&self.context.root).unwrap_or_default();
        for (name, was_alive) in &mut self.nodes {
            let is =
                living.iter().any(|node| node.alive && (node.name == *name || node.full_name() == *name));
            if std::mem::replace(was_alive, is) && !is {
                return Some(format!("the end of node {name}"));
            }
        }
        None
    }
}

/// The next path with a number at which there is no file, for instance of an earlier flashback.
fn next_file(output: &Path, number: &mut u64) -> PathBuf {
    loop {
        let path = numbered(output, *number);
        *number += 1;
        if !path.exists() {
            return path;
        }
    }
}

/// The files that are written, one after the other, on threads of their own: messages go by meanwhile.
struct Dumps<'a> {
    /// The number of the next file.
    next: u64,
    output: &'a Path,
    keep: Duration,
    running: Option<JoinHandle<Result<Edited, FlashbackError>>>,
    /// What happened, and is not written yet. What happens until then is in the same file.
    waiting: Option<String>,
}

impl Dumps<'_> {
    /// Tells of a file that is done, and begins the next one.
    fn go_on(&mut self, context: &Context, flashback: &mut Flashback) -> Result<(), FlashbackError> {
        if let Some(done) = self.running.take_if(|running| running.is_finished()) {
            tell(context, done);
        }
        if self.running.is_some() {
            return Ok(());
        }
        let Some(why) = self.waiting.take() else { return Ok(()) };
        flashback.flush()?;
        let path = next_file(self.output, &mut self.next);
        complain(&format!("{}: writing {}", Foreign(&why), path.display()));
        let how = WriterOptions { profile: "ros2".into(), ..WriterOptions::default() };
        self.begin(flashback.ring().clone(), path, how);
        Ok(())
    }

    /// Begins to write a file.
    fn begin(&mut self, ring: Ring, path: PathBuf, how: WriterOptions) {
        let keep = self.keep;
        match Builder::new().name("dump".into()).spawn(move || ring.dump(&path, keep, how)) {
            Ok(thread) => self.running = Some(thread),
            Err(error) => complain(&format!("cannot start a thread that writes the file: {error}")),
        }
    }

    /// Writes what has happened, and waits for it.
    fn finish(&mut self, context: &Context, flashback: &mut Flashback) -> Result<(), FlashbackError> {
        while self.running.is_some() || self.waiting.is_some() {
            if let Some(running) = self.running.take() {
                tell(context, running);
            }
            self.go_on(context, flashback)?;
        }
        Ok(())
    }
}

impl Drop for Dumps<'_> {
    fn drop(&mut self) {
        // After an error, a file that is being written becomes whole nevertheless.
        self.running.take().map(JoinHandle::join);
    }
}

/// Tells of a file that is done. One that cannot be written must not end the flashback.
fn tell(context: &Context, done: JoinHandle<Result<Edited, FlashbackError>>) {
    match done.join() {
        Ok(Ok(edited)) => show(context, &edited).unwrap_or_else(|error| complain(&error)),
        Ok(Err(error)) => complain(&error),
        Err(_) => complain(&"the thread that writes the file has failed"),
    }
}

fn keep(context: &Context, arguments: &KeepArgs) -> Result<(), CliError> {
    let selection = selection(&arguments.selection)?;
    let interrupt = Interrupt::listen()?;
    let node = context.node()?;
    let KeepArgs { name, keep, memory, .. } = arguments;
    let options = FlashbackOptions { name: name.clone(), selection, keep: *keep, memory: *memory };
    // First, because a program may publish a trigger as soon as a topic has this subscriber.
    let mut triggers = Triggers::new(context, arguments);
    triggers.end_of_node();
    let mut flashback = Flashback::start(&node, &context.root, options).map_err(failed)?;
    let output = &context.output;
    if !output.is_json() && !output.is_live() {
        output.line("keeping what goes by; `situ flashback dump` writes it, Ctrl-C ends this")?;
    }
    let (mut block, mut drawn) = (LiveBlock::default(), None::<Instant>);
    let (mut looked, mut looked_for_messages) = (Instant::now(), Instant::now());
    let mut dumps = Dumps { next: 0, output: &arguments.output, keep: *keep, running: None, waiting: None };
    while !interrupt.is_set() {
        flashback.step(TRIGGER_GLANCE).map_err(failed)?;
        flashback.recorder().take_warnings().iter().for_each(complain);
        let mut happened = None;
        if looked_for_messages.elapsed() >= TRIGGER_GLANCE {
            looked_for_messages = Instant::now();
            happened = triggers.message();
        }
        if looked.elapsed() >= GLANCE {
            looked = Instant::now();
            happened = happened.or_else(|| triggers.end_of_node());
        }
        if let Some(why) = happened {
            dumps.waiting.get_or_insert(why);
        }
        dumps.go_on(context, &mut flashback).map_err(failed)?;
        if output.is_live() && drawn.is_none_or(|drawn| drawn.elapsed() >= REDRAW) {
            drawn = Some(Instant::now());
            let counts = flashback.recorder().counts();
            let messages: u64 = counts.iter().map(|topic| topic.messages).sum();
            let size = bytes(flashback.ring().bytes());
            let topics = counts.len();
            output
                .draw(&mut block, &format!("{topics} topics, {messages} messages went by, {size} kept\n"))?;
        }
    }
    if output.is_live() {
        output.draw(&mut block, "")?;
    }
    dumps.finish(context, &mut flashback).map_err(failed)?;
    let ring = flashback.ring().clone();
    let report = flashback.finish();
    ring.remove().map_err(failed)?;
    match report.written.error {
        Some(error) => Err(CliError::failed(error)),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::Output;
    use rustix::fs::{CWD, FileType, Mode, mknodat};
    use situ::bus::{Encoding, Node, PublisherQos, RawPublisher, Root, TypeDescription};
    use situ_record::{Reader, Selection};
    use situ_schema::Schema;
    use situ_testkit::Scratch;
    use std::fs::File;
    use std::sync::mpsc::channel;

    /// Time enough for a loaded machine.
    const PATIENCE: Duration = Duration::from_secs(60);

    fn publisher(node: &Node, topic: &str) -> RawPublisher {
        let schema = Schema::from_idl("struct Count { unsigned long number; };").unwrap();
        let id = schema.find("Count").unwrap();
        let description = TypeDescription {
            name: "Count".into(),
            schema: schema.canonical(id),
            schema_hash: schema.schema_hash(id),
            layout_hash: 0,
            encoding: Encoding::Xcdr1,
            fixed_size: 0,
            user_header_size: 0,
        };
        RawPublisher::create(node, topic, &description, PublisherQos::default()).unwrap()
    }

    fn publish(publisher: &RawPublisher, number: u32) {
        let body = [[0, 1, 0, 0], number.to_le_bytes()].concat();
        let mut loan = publisher.loan(0, 1, body.len()).unwrap();
        loan.body_bytes().copy_from_slice(&body);
        loan.publish().unwrap();
    }

    #[test]
    fn a_message_of_a_topic_that_has_ended_is_seen() {
        let scratch = Scratch::created("flashback-trigger");
        let root = Root::at(scratch.path().join("root"), None);
        let context = Context { root, output: Output::plain(80) };
        let node = context.node().unwrap();
        let topics = HashMap::from([("alarm", None)]);
        let mut triggers = Triggers { context: &context, topics, nodes: HashMap::new() };
        assert_eq!(triggers.message(), None);
        // It has appeared since, with a message.
        let alarm = publisher(&node, "alarm");
        publish(&alarm, 1);
        assert!(triggers.message().is_some());
        assert_eq!(triggers.message(), None);
        // It ends right after a message.
        publish(&alarm, 2);
        drop(alarm);
        assert!(triggers.message().is_some());
        assert_eq!(triggers.message(), None);
        // It ends without one.
        drop(publisher(&node, "alarm"));
        assert_eq!(triggers.message(), None);
    }

    #[test]
    fn messages_go_by_while_a_file_is_written() {
        let scratch = Scratch::created("flashback");
        let root = Root::at(scratch.path().join("root"), None);
        let context = Context { root: root.clone(), output: Output::plain(80) };
        let node = context.node().unwrap();
        let publisher = publisher(&node, "count");
        let (keep, selection) = (Duration::from_secs(3600), Selection::all());
        let options = FlashbackOptions { name: "test".into(), selection, keep, memory: 64 << 20 };
        let mut flashback = Flashback::start(&node, &root, options).unwrap();
        let output = scratch.path().join("dump.mcap");
        let mut dumps = Dumps { next: 0, output: &output, keep, running: None, waiting: None };

        // A disk that does not answer: a pipe is open only when both sides have opened it. The other side
        // does that at the end, or, if this thread waits for the file, some time later.
        let pipe = scratch.path().join("pipe");
        mknodat(CWD, &pipe, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
        let (go, wait) = channel();
        let reader = std::thread::spawn({
            let pipe = pipe.clone();
            move || {
                let _ = wait.recv_timeout(PATIENCE);
                std::io::copy(&mut File::open(pipe).unwrap(), &mut std::io::sink()).unwrap()
            }
        });
        let how = WriterOptions { overwrite: true, ..WriterOptions::default() };
        dumps.begin(flashback.ring().clone(), pipe, how);
        for number in 0..100 {
            publish(&publisher, number);
            dumps.waiting.get_or_insert_with(|| "a message".into());
            dumps.go_on(&context, &mut flashback).unwrap();
            flashback.step(Duration::ZERO).unwrap();
        }
        flashback.flush().unwrap();
        assert_eq!(flashback.recorder().counts()[0].messages, 100);
        assert!(dumps.running.as_ref().is_some_and(|running| !running.is_finished()));
        assert!(dumps.waiting.is_some() && !numbered(&output, 0).exists());

        // Then the file that waited is written, with all messages.
        go.send(()).unwrap();
        dumps.finish(&context, &mut flashback).unwrap();
        let _ = reader.join();
        assert_eq!(Reader::open(numbered(&output, 0)).unwrap().statistics().messages, 100);
    }
}
