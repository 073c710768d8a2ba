//! Publishers, the clock, and when the next message is due.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use situ_bus::{
    Durability, Encoding, LoanError, Node, PublishError, PublisherQos, RawLoan, RawPublisher, RegisterError,
    Reliability, TypeDescription,
};
use situ_schema::Schema;

use super::alarm::Alarm;
use super::source::{Bytes, Next, Ready, Source, Topics};
use crate::read::{ReadError, Reader};
use crate::record::Selection;
use crate::types::topic_type::FileTopic;

/// How long a wait is at most, before the caller is asked.
const GLANCE: Duration = Duration::from_millis(20);
/// How long the last messages stay for their subscribers.
const GRACE: Duration = Duration::from_millis(200);
/// The type of the messages that tell the time.
const CLOCK: &str =
    "module builtin_interfaces { module msg { struct Time { long sec; unsigned long nanosec; }; }; };
module rosgraph_msgs { module msg { struct Clock { builtin_interfaces::msg::Time clock; }; }; };";

/// What is played, and how.
pub struct PlayOptions {
    /// The files, in the order of their times.
    pub files: Vec<PathBuf>,
    /// How fast: 1 is as it was. Greater than 0.
    pub rate: f64,
    /// The first log time, in nanoseconds since 1970.
    pub from: Option<u64>,
    /// The first log time that is too late.
    pub until: Option<u64>,
    /// Whether to begin again at the end.
    pub repeat: bool,
    /// The topics, by their names on the bus.
    pub selection: Selection,
    /// New names of topics.
    pub remap: BTreeMap<String, String>,
    /// How often `/clock` tells the time, per second; not at all without it.
    pub clock: Option<f64>,
    /// How long to wait for a subscriber of each topic.
    pub wait: Duration,
}

/// Why nothing can be played.
#[derive(Debug, thiserror::Error)]
pub enum PlayError {
    /// A file cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// A topic cannot be joined.
    #[error("cannot publish to {topic:?}: {source}")]
    Register {
        /// The topic.
        topic: String,
        /// Why not.
        source: Box<RegisterError>,
    },
    /// No channel of the files can be played.
    #[error("there is nothing to play: {0}")]
    Nothing(String),
    /// A thread cannot be started.
    #[error("cannot start a thread that reads: {0}")]
    Thread(#[from] std::io::Error),
    /// There is no memory for a message.
    #[error("cannot publish to {topic:?}: {source}")]
    Loan {
        /// The topic.
        topic: String,
        /// Why not.
        source: Box<LoanError>,
    },
    /// A message cannot be published.
    #[error("cannot publish to {topic:?}: {source}")]
    Publish {
        /// The topic.
        topic: String,
        /// Why not.
        source: Box<PublishError>,
    },
}

/// Where the player is.
#[derive(Debug, Clone, Copy, Default)]
pub struct Progress {
    /// The log time of the last message.
    pub time: u64,
    /// The messages that were published.
    pub messages: u64,
    /// Whether it is paused.
    pub is_paused: bool,
    /// How fast it plays.
    pub rate: f64,
    /// The log times of the files' first and last message.
    pub range: (u64, u64),
}

/// What the caller wants.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub enum Command {
    /// Go on.
    #[default]
    Go,
    /// Pause, or go on after a pause.
    TogglePause,
    /// Publish the next message, and pause.
    Step,
    /// Play with this speed from now on.
    Rate(f64),
    /// Continue at this log time.
    Seek(u64),
    /// End.
    Stop,
}

/// What was played.
#[derive(Debug, Clone, Default)]
pub struct Played {
    /// The messages that were published.
    pub messages: u64,
    /// Channels that cannot be played, parts that cannot be read, messages that cannot be published.
    pub problems: Vec<String>,
    /// How many of these problems were not kept.
    pub more_problems: u64,
}

/// How many problems are kept.
const MAX_PROBLEMS: usize = 100;

/// Plays files.
pub struct Player {
    options: PlayOptions,
    node: Node,
    publishers: Vec<RawPublisher>,
    files: Arc<Vec<Topics>>,
    clock: Option<RawPublisher>,
    range: (u64, u64),
    played: Played,
}

/// The relation of log times to the machine's clock.
struct Pace {
    at: Instant,
    time: u64,
    rate: f64,
}

impl Pace {
    fn due(&self, time: u64) -> Instant {
        let since = time.saturating_sub(self.time) as f64 / self.rate;
        // A file may state any time; a century is as good as for ever.
        self.at + Duration::from_nanos((since as u64).min(3_000_000_000_000_000_000))
    }

    fn time_at(&self, now: Instant) -> u64 {
        let since = now.saturating_duration_since(self.at).as_nanos() as f64 * self.rate;
        self.time.saturating_add(since as u64)
    }
}

impl Player {
    /// Opens the files, and joins their topics.
    pub fn new(node: &Node, options: PlayOptions) -> Result<Self, PlayError> {
        let mut player = Self {
            node: node.clone(),
            publishers: Vec::new(),
            files: Arc::default(),
            clock: None,
            range: (u64::MAX, 0),
            played: Played::default(),
            options,
        };
        let mut known = BTreeMap::new();
        let mut files = Vec::new();
        for path in player.options.files.clone() {
            let reader = Reader::open(&path)?;
            let statistics = reader.statistics();
            if statistics.messages > 0 {
                let (first, last) = player.range;
                player.range = (first.min(statistics.start_time), last.max(statistics.end_time));
            }
            files.push(player.join(&reader, &mut known)?);
        }
        if player.publishers.is_empty() {
            let why = player.played.problems.join("; ");
            let why = if why.is_empty() { "the files have no such topics".to_owned() } else { why };
            return Err(PlayError::Nothing(why));
        }
        player.files = Arc::new(files);
        if player.options.clock.is_some() {
            player.clock = Some(player.join_clock()?);
        }
        Ok(player)
    }

    fn join(&mut self, reader: &Reader, known: &mut BTreeMap<String, usize>) -> Result<Topics, PlayError> {
        let mut topics = Topics::new();
        for (id, channel) in reader.channels() {
            let schema = reader.schemas().get(&channel.schema_id);
            let mut topic = match FileTopic::of(channel, schema.map(|schema| &**schema)) {
                Ok(topic) => topic,
                Err(error) => {
                    // Channels that are not wanted need not be playable.
                    if self.options.selection.has(channel.topic.trim_start_matches('/')) {
                        self.note(error.to_string());
                    }
                    continue;
                }
            };
            if !self.options.selection.has(&topic.topic) {
                continue;
            }
            if let Some(name) = self.options.remap.get(&topic.topic) {
                topic.topic.clone_from(name);
            }
            let number = match known.get(&topic.topic) {
                Some(number) => *number,
                None => {
                    let qos = PublisherQos {
                        reliability: if topic.reliable {
                            Reliability::Reliable
                        } else {
                            Reliability::BestEffort
                        },
                        durability: if topic.keeps {
                            Durability::TransientLocal
                        } else {
                            Durability::Volatile
                        },
                        depth: topic.depth,
                        ..PublisherQos::default()
                    };
                    let publisher = RawPublisher::create(&self.node, &topic.topic, &topic.description, qos);
                    let publisher = publisher.map_err(|source| PlayError::Register {
                        topic: topic.topic.clone(),
                        source: Box::new(source),
                    })?;
                    self.publishers.push(publisher);
                    known.insert(topic.topic.clone(), self.publishers.len() - 1);
                    self.publishers.len() - 1
                }
            };
            topics.insert(*id, (number, Arc::new(topic)));
        }
        Ok(topics)
    }

    fn join_clock(&self) -> Result<RawPublisher, PlayError> {
        let failed = |why: String| PlayError::Nothing(format!("the clock has no type: {why}"));
        let schema = Schema::from_idl(CLOCK).map_err(|error| failed(error.to_string()))?;
        let root = schema.find("rosgraph_msgs::msg::Clock").ok_or_else(|| failed("it is missing".into()))?;
        let description = TypeDescription {
            name: schema.name(root).to_string(),
            schema: schema.canonical(root),
            schema_hash: schema.schema_hash(root),
            layout_hash: schema.layout_hash(root),
            encoding: Encoding::Flat,
            fixed_size: 8,
            user_header_size: 0,
        };
        RawPublisher::create(&self.node, "clock", &description, PublisherQos::default())
            .map_err(|source| PlayError::Register { topic: "clock".into(), source: Box::new(source) })
    }

    fn note(&mut self, problem: String) {
        if self.played.problems.len() < MAX_PROBLEMS {
            self.played.problems.push(problem);
        } else {
            self.played.more_problems += 1;
        }
    }

    /// The names of the topics.
    pub fn topics(&self) -> Vec<&str> {
        self.publishers.iter().map(RawPublisher::topic).collect()
    }

    /// The log times of the files' first and last message.
    pub fn range(&self) -> (u64, u64) {
        self.range
    }

    /// Plays. `control` is asked before each message, and every 20 ms while it waits.
    pub fn play(mut self, control: &mut dyn FnMut(Progress) -> Command) -> Result<Played, PlayError> {
        let Some(is_paused) = self.wait_for_subscribers(control) else { return Ok(self.played) };
        let times = (self.options.from, self.options.until);
        let (paths, topics) = (self.options.files.clone(), self.files.clone());
        let start = |from| Source::start(paths.clone(), topics.clone(), (from, times.1));
        let mut source = start(times.0)?;
        let first = times.0.unwrap_or(self.range.0).max(self.range.0);
        let mut pace = Pace { at: Instant::now(), time: first, rate: self.options.rate };
        let mut progress =
            Progress { time: first, messages: 0, is_paused, rate: pace.rate, range: self.range };
        let (mut pending, mut step) = (None::<Ready>, false);
        let (mut clock_due, mut alarm) = (Instant::now(), Alarm::default());
        loop {
            match control(progress) {
                Command::Go => {}
                Command::Stop => break,
                Command::TogglePause => {
                    progress.is_paused = !progress.is_paused;
                    let time = if progress.is_paused { pace.time_at(Instant::now()) } else { pace.time };
                    pace = Pace { at: Instant::now(), time, ..pace };
                }
                Command::Step => (progress.is_paused, step) = (true, true),
                Command::Rate(rate) if rate > 0.0 => {
                    let now = Instant::now();
                    let time = if progress.is_paused { pace.time } else { pace.time_at(now) };
                    pace = Pace { at: now, time, rate };
                    progress.rate = rate;
                }
                Command::Rate(_) => {}
                Command::Seek(time) => {
                    source = start(Some(time))?;
                    pending = None;
                    pace = Pace { at: Instant::now(), time, ..pace };
                    progress.time = time;
                }
            }
            if pending.is_none() {
                match source.next(GLANCE) {
                    Err(_) => continue,
                    Ok(Some(Next::Problem(problem))) => {
                        self.note(problem);
                        continue;
                    }
                    Ok(Some(Next::Ready(ready))) => pending = Some(ready),
                    Ok(None) if self.options.repeat && progress.messages > 0 => {
                        source = start(times.0)?;
                        pace = Pace { at: Instant::now(), time: first, ..pace };
                        continue;
                    }
                    Ok(None) => break,
                }
            }
            let now = Instant::now();
            if let (Some(clock), true, false) = (&self.clock, now >= clock_due, progress.is_paused) {
                publish_clock(clock, pace.time_at(now))?;
                let rate = self.options.clock.unwrap_or(1.0).max(0.001);
                clock_due = now + Duration::from_secs_f64(1.0 / rate);
            }
            if progress.is_paused && !step {
                std::thread::sleep(GLANCE);
                continue;
            }
            let Some(ready) = pending.as_ref() else { continue };
            let due = if step { now } else { pace.due(ready.time) };
            let mut until = due.min(now + GLANCE);
            if self.clock.is_some() {
                until = until.min(clock_due.max(now));
            }
            if until < due {
                std::thread::sleep(until.saturating_duration_since(now));
                continue;
            }
            // The message is written before it is due, so that its size does not matter for when it comes.
            let publisher = &self.publishers[ready.topic];
            let loan = lend(publisher, ready)?;
            alarm.wait_until(due);
            let published = loan.publish();
            if let Err(source) = published {
                let topic = publisher.topic().to_owned();
                match source {
                    PublishError::Interrupted { .. } => break,
                    source @ PublishError::Full { .. } => self.note(format!("{topic:?}: {source}")),
                    source => return Err(PlayError::Publish { topic, source: Box::new(source) }),
                }
            } else {
                progress.messages += 1;
            }
            progress.time = ready.time;
            if step {
                (step, pace) = (false, Pace { at: Instant::now(), time: ready.time, ..pace });
            }
            pending = None;
        }
        // Leaving a topic removes its last messages, and a subscriber may be about to take them.
        if self.publishers.iter().any(|publisher| publisher.subscribers() > 0) {
            std::thread::sleep(GRACE);
        }
        self.played.messages = progress.messages;
        Ok(self.played)
    }

    /// Waits for a subscriber of each topic. Returns whether to begin with a pause; `None` to end.
    fn wait_for_subscribers(&self, control: &mut dyn FnMut(Progress) -> Command) -> Option<bool> {
        let begin = Instant::now();
        let all = || self.publishers.iter().all(|publisher| publisher.subscribers() > 0);
        let (rate, range) = (self.options.rate, self.range);
        let mut progress = Progress { time: range.0, rate, range, ..Progress::default() };
        while !all() && begin.elapsed() < self.options.wait {
            match control(progress) {
                Command::Stop => return None,
                Command::TogglePause => progress.is_paused = !progress.is_paused,
                _ => {}
            }
            std::thread::sleep(GLANCE);
        }
        Some(progress.is_paused)
    }
}

/// Writes a message into memory that is lent for it.
fn lend<'p>(publisher: &'p RawPublisher, ready: &Ready) -> Result<RawLoan<'p>, PlayError> {
    let (head, body): (&[u8], &[u8]) = match &ready.bytes {
        Bytes::Shared(memory, range) => (&[], memory.get(range.clone()).unwrap_or_default()),
        Bytes::Flat(head, body) => (head, body),
    };
    let fail = |source| PlayError::Loan { topic: publisher.topic().to_owned(), source: Box::new(source) };
    let mut loan = publisher.loan(head.len(), 8, body.len()).map_err(fail)?;
    loan.set_encoding(ready.encoding);
    loan.head_bytes().copy_from_slice(head);
    loan.body_bytes().copy_from_slice(body);
    Ok(loan)
}

fn publish_clock(clock: &RawPublisher, time: u64) -> Result<(), PlayError> {
    let mut bytes = [0; 8];
    bytes[..4].copy_from_slice(&((time / 1_000_000_000) as u32).to_le_bytes());
    bytes[4..].copy_from_slice(&((time % 1_000_000_000) as u32).to_le_bytes());
    let bytes = Bytes::Flat(bytes.to_vec(), Vec::new());
    let loan = lend(clock, &Ready { topic: 0, time, encoding: Encoding::Flat, bytes })?;
    let published = loan.publish().map(|_| ());
    published.map_err(|source| PlayError::Publish { topic: "clock".into(), source: Box::new(source) })
}
