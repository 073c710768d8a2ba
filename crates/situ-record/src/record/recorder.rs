//! Joins topics, takes their messages, and counts what is lost.
//!
//! One thread takes, and gives the messages to a writer, whose own threads compress and write. The recorder's
//! subscribers are best effort, so that no publisher waits for a disk. If the disk is too slow, first the
//! queue of the writer fills, then the topics overwrite messages. Each such loss is counted.

use std::collections::HashSet;
use std::path::PathBuf;
use std::time::{Duration, Instant, SystemTime};

use situ_bus::inspect::{self, InspectError, TopicInfo};
use situ_bus::{
    Durability, Encoding, Node, RawSubscriber, Root, SubscriberQos, TakeError, TypeDescription, now_ns,
    wait_any,
};

use super::selection::Selection;
use super::service::RecordedService;
pub use super::topic::TopicCounts;
use super::topic::{MessageError, RecordedTopic};
use crate::write::{WriteError, Writer, WriterOptions, Written};

/// How often new topics are looked for.
const LOOK: Duration = Duration::from_millis(200);
/// How often the directory of topics is asked whether it has changed, which costs one system call.
const GLANCE: Duration = Duration::from_millis(5);
/// How often services are looked at: their messages do not wait.
const SERVICE_GLANCE: Duration = Duration::from_millis(1);
/// How long a message waits for others before it is written. After a kill, at most this much is missing, and
/// what the thread of the file was about to write.
const FLUSH: Duration = Duration::from_millis(200);
/// How many messages of a topic are taken before the next topic's turn.
const TURN: usize = 256;
/// How many samples a subscriber may hold: the most that the bus allows.
const MAX_HELD: usize = 493;

/// What is recorded, and how.
#[derive(Debug)]
pub struct RecordOptions {
    /// The file.
    pub output: PathBuf,
    /// The topics. New ones are added when they appear.
    pub selection: Selection,
    /// Whether regions are recorded as CDR.
    pub project: bool,
    /// Whether services are recorded, too: those whose names the selection has.
    pub services: bool,
    /// How the file is written.
    pub writer: WriterOptions,
}

/// Why a recording cannot begin or go on.
#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    /// The file cannot be written.
    #[error(transparent)]
    Write(#[from] WriteError),
    /// The root cannot be read.
    #[error(transparent)]
    Inspect(#[from] InspectError),
}

/// What was recorded.
#[derive(Debug, Default)]
pub struct RecordReport {
    /// The topics, by their names.
    pub topics: Vec<TopicCounts>,
    /// The files.
    pub written: Written,
    /// The warnings since the last call of [`Recorder::take_warnings`].
    pub warnings: Vec<String>,
}

impl RecordReport {
    /// Messages that are missing in the files, for any reason.
    pub fn missing(&self) -> u64 {
        let topics = self.topics.iter().map(|topic| topic.lost + topic.unreadable);
        topics.sum::<u64>() + self.written.unwritten
    }
}

/// Records topics.
pub struct Recorder {
    node: Node,
    root: Root,
    selection: Selection,
    project: bool,
    writer: Writer,
    topics: Vec<RecordedTopic>,
    /// The services, if they are recorded.
    services: Option<Vec<RecordedService>>,
    /// Topics that cannot be recorded. Each is reported once.
    refused: HashSet<String>,
    /// Topics whose losses were reported.
    warned: HashSet<String>,
    warnings: Vec<String>,
    /// Messages that the writer did not accept, because writing has failed.
    unwritten: u64,
    /// From the clock of the bus to the time since 1970.
    offset: u64,
    looked: Option<Instant>,
    glanced: Instant,
    /// When the directory of topics had changed last, at the last look.
    changed: Option<SystemTime>,
    flushed: Instant,
}

/// The time from the clock of messages to that of files, in nanoseconds. It stays the same for a whole
/// recording, so that the order of times is that of messages.
fn clock_offset() -> u64 {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    u64::try_from(now.as_nanos()).unwrap_or(u64::MAX).saturating_sub(now_ns())
}

fn qos_for(topic: &TopicInfo) -> SubscriberQos {
    let living: Vec<_> = topic.publishers.iter().filter(|publisher| publisher.alive).collect();
    let all = if living.is_empty() { topic.publishers.iter().collect() } else { living };
    let keeps = !all.is_empty() && all.iter().all(|it| it.durability == Durability::TransientLocal);
    let durability = if keeps { Durability::TransientLocal } else { Durability::Volatile };
    SubscriberQos { durability, reception_times: true, max_held: MAX_HELD, ..SubscriberQos::default() }
}

impl Recorder {
    /// Makes the file, and joins the topics that are there.
    pub fn start(node: &Node, root: &Root, options: RecordOptions) -> Result<Self, RecordError> {
        let writer = Writer::create(&options.output, options.writer)?;
        let mut recorder = Self {
            node: node.clone(),
            root: root.clone(),
            selection: options.selection,
            project: options.project,
            writer,
            topics: Vec::new(),
            services: options.services.then(Vec::new),
            refused: HashSet::new(),
            warned: HashSet::new(),
            warnings: Vec::new(),
            unwritten: 0,
            offset: clock_offset(),
            looked: None,
            glanced: Instant::now(),
            changed: None,
            flushed: Instant::now(),
        };
        recorder.look()?;
        Ok(recorder)
    }

    /// Joins topics that have appeared.
    fn look(&mut self) -> Result<(), RecordError> {
        self.changed = self.change();
        let is_first = self.looked.is_none();
        self.looked = Some(Instant::now());
        for topic in inspect::topics(&self.root)? {
            let is_new =
                self.topics.iter().all(|it| it.subscriber.is_none() || it.counts.topic != topic.name);
            if is_new && self.selection.has(&topic.name) && !self.refused.contains(&topic.name) {
                let name = topic.name.clone();
                if let Err(reason) = self.join(topic, is_first) {
                    self.warnings.push(format!("topic {name:?} is not recorded: {reason}"));
                    self.refused.insert(name);
                }
            }
        }
        self.look_for_services()
    }

    /// Watches services that have appeared.
    fn look_for_services(&mut self) -> Result<(), RecordError> {
        let Some(services) = &mut self.services else { return Ok(()) };
        for service in services.iter_mut() {
            service.refresh(&self.root)?;
        }
        for info in inspect::services(&self.root)? {
            // Topics and services have names of their own.
            let key = format!("{} (service)", info.name);
            let is_known = services.iter().any(|it| it.name == info.name) || self.refused.contains(&key);
            if is_known || !self.selection.has(&info.name) {
                continue;
            }
            match RecordedService::open(&self.root, &info) {
                Ok(service) => services.extend(service),
                Err(error) => {
                    self.warnings.push(format!("service {:?} is not recorded: {error}", info.name));
                    self.refused.insert(key);
                }
            }
        }
        Ok(())
    }

    /// Reads the messages of services. Returns whether there were some.
    fn watch_services(&mut self) -> Result<bool, RecordError> {
        let mut found = false;
        for service in self.services.iter_mut().flatten() {
            let (has_some, problem) = service.record(&mut self.writer, self.offset)?;
            found |= has_some;
            if let Some(problem) = problem {
                warn(&mut self.warned, &mut self.warnings, &service.name, &problem.to_string());
            }
        }
        Ok(found)
    }

    /// When a topic was added to the root, or removed from it.
    fn change(&self) -> Option<SystemTime> {
        std::fs::metadata(self.root.path().join("topics")).ok()?.modified().ok()
    }

    /// Whether it is time to look for topics: soon after the directory has changed, and from time to time.
    fn is_due(&mut self) -> bool {
        if self.glanced.elapsed() >= GLANCE {
            self.glanced = Instant::now();
            if self.change() != self.changed {
                return true;
            }
        }
        self.looked.is_none_or(|looked| looked.elapsed() >= LOOK)
    }

    /// Joins a topic. If it appeared during the recording, what was published before is missing in the file,
    /// and counted as lost.
    fn join(&mut self, topic: TopicInfo, is_first: bool) -> Result<(), String> {
        let description = topic.description.clone();
        let known = self.topics.iter_mut().find(|it| it.is(&topic));
        // Messages are read by their schema, and so are regions of all versions. Any layout is therefore
        // accepted.
        let any = TypeDescription { encoding: Encoding::Region, layout_hash: 0, ..description };
        let subscriber = RawSubscriber::create(&self.node, &topic.name, &any, qos_for(&topic));
        let subscriber = subscriber.map_err(|error| error.to_string())?;
        let missed = if is_first { 0 } else { subscriber.cursor() };
        let subscriber = Some(subscriber);
        match known {
            Some(known) => {
                known.subscriber = subscriber;
                known.counts.missed += missed;
                known.told_missed &= missed == 0;
            }
            None => {
                let mut made = RecordedTopic::new(topic, self.project).map_err(|error| error.to_string())?;
                made.subscriber = subscriber;
                made.counts.missed = missed;
                self.topics.push(made);
            }
        }
        Ok(())
    }

    /// Takes the messages that are there, or waits for some, at most for `timeout`.
    pub fn step(&mut self, timeout: Duration) -> Result<(), RecordError> {
        if self.is_due() {
            self.look()?;
        }
        let mut found = false;
        for index in 0..self.topics.len() {
            found |= self.take_turn(index)?;
        }
        found |= self.watch_services()?;
        if !found {
            let waiting: Vec<&RawSubscriber> =
                self.topics.iter().filter_map(|topic| topic.subscriber.as_ref()).collect();
            let is_watching = self.services.as_ref().is_some_and(|it| !it.is_empty());
            let time = timeout.min(if is_watching { SERVICE_GLANCE } else { GLANCE });
            if waiting.is_empty() {
                std::thread::sleep(time);
            } else {
                wait_any(&waiting, Some(time));
            }
        }
        if self.flushed.elapsed() >= FLUSH {
            self.writer.flush()?;
            self.flushed = Instant::now();
            self.warn_of_losses();
        }
        Ok(())
    }

    /// Takes messages of a topic. Returns whether there were some.
    fn take_turn(&mut self, index: usize) -> Result<bool, RecordError> {
        let topic = &mut self.topics[index];
        for turn in 0..TURN {
            let Some(subscriber) = &topic.subscriber else { return Ok(turn > 0) };
            match subscriber.take() {
                Ok(Some(sample)) => match topic.record(&mut self.writer, &self.root, sample, self.offset) {
                    Ok(()) => {}
                    Err(MessageError::Write(error)) => {
                        self.unwritten += 1;
                        return Err(error.into());
                    }
                    Err(MessageError::Project(error)) => {
                        topic.counts.unreadable += 1;
                        warn(&mut self.warned, &mut self.warnings, &topic.counts.topic, &error.to_string());
                    }
                },
                Ok(None) => return Ok(turn > 0),
                Err(TakeError::Held { .. }) => {
                    // The file holds them: it must go on first.
                    self.writer.flush()?;
                    std::thread::sleep(Duration::from_micros(200));
                    return Ok(true);
                }
                Err(TakeError::Removed { .. }) => topic.leave(),
                // The subscriber counts it as lost.
                Err(error) => {
                    warn(&mut self.warned, &mut self.warnings, &topic.counts.topic, &error.to_string());
                }
            }
        }
        Ok(true)
    }

    fn warn_of_losses(&mut self) {
        for topic in &mut self.topics {
            let (name, missed) = (&topic.counts.topic, topic.counts.missed);
            if missed > 0 && !topic.told_missed {
                topic.told_missed = true;
                self.warnings.push(format!(
                    "topic {name:?}: {missed} messages are not recorded, and count as lost: they were \
                     published before the recorder had joined the new topic. A publisher avoids that if it \
                     waits for its first subscriber, or keeps messages for late subscribers"
                ));
            }
            if topic.overwritten() > 0 {
                let reason = "messages are lost: they are overwritten before they can be recorded. Publishers with \
                              a larger depth keep them longer; compression, or a faster disk, may help";
                warn(&mut self.warned, &mut self.warnings, name, reason);
            }
        }
    }

    /// Returns the warnings since the last call: each topic's first loss, and topics that are not recorded.
    pub fn take_warnings(&mut self) -> Vec<String> {
        std::mem::take(&mut self.warnings)
    }

    /// What was taken of each topic so far.
    pub fn counts(&self) -> Vec<TopicCounts> {
        let services = self.services.iter().flatten().map(RecordedService::counts);
        let mut counts: Vec<_> = self.topics.iter().map(RecordedTopic::counts).chain(services).collect();
        counts.sort_by(|a, b| a.topic.cmp(&b.topic));
        counts
    }

    /// The bytes that are in files by now.
    pub fn bytes(&self) -> u64 {
        self.writer.bytes()
    }

    /// The number of the file that is written now.
    pub fn file_number(&self) -> u64 {
        self.writer.file_number()
    }

    /// The writer, for attachments and metadata.
    pub fn writer(&mut self) -> &mut Writer {
        &mut self.writer
    }

    /// Takes what was published until now, and ends the file.
    pub fn finish(mut self) -> RecordReport {
        // What was published on a topic that was not joined yet counts as lost. A topic that cannot be looked
        // at has no count.
        let _ = self.look();
        // A publisher that does not stop must not keep the recorder: each topic gets a bounded number of
        // turns.
        let mut error = None;
        for index in 0..self.topics.len() {
            let end = self.topics[index].end(&self.root);
            while error.is_none() && self.topics[index].left(end) > 0 {
                match self.take_turn(index) {
                    Ok(true) => {}
                    Ok(false) => break,
                    Err(failed) => error = Some(failed),
                }
            }
            if error.is_some() {
                self.unwritten += self.topics[index].left(end);
            }
        }
        if error.is_none() {
            // An error of the file is in the report of the writer.
            let _ = self.watch_services();
        }
        self.warn_of_losses();
        let topics = self.counts();
        // The topics go first: they may hold memory that the file no longer needs.
        self.topics.clear();
        let mut written = self.writer.finish();
        written.unwritten += self.unwritten;
        RecordReport { topics, written, warnings: self.warnings }
    }
}

fn warn(warned: &mut HashSet<String>, warnings: &mut Vec<String>, topic: &str, reason: &str) {
    if warned.insert(topic.to_owned()) {
        warnings.push(format!("topic {topic:?}: {reason}"));
    }
}
