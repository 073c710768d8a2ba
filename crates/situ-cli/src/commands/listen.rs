//! Subscribers of one or several topics, without a compiled-in type: for `echo`, `hz`, `bw`, `delay` and
//! `view`.

use std::collections::HashSet;
use std::time::{Duration, Instant};

use situ::bus::inspect::{self, TopicInfo};
use situ::bus::{
    Durability, Encoding, Node, RawSample, RawSubscriber, SubscriberQos, TypeDescription, wait_any,
};
use situ::layout::foreign::Foreign;

use super::pattern::{is_pattern, matches};
use super::{Context, Interrupt};
use crate::error::{CliError, complain};
use crate::message::MessageReader;
use crate::output::units;

/// The longest sleep before checking for Ctrl-C.
const GLANCE: Duration = Duration::from_millis(100);
/// The interval between looks for new topics that match a pattern.
const LOOK: Duration = Duration::from_millis(500);

/// A subscriber of a topic with the type that the topic states.
pub struct Heard {
    /// The subscriber.
    pub subscriber: RawSubscriber,
    /// Reads its messages by the schema that the topic carries.
    pub reader: MessageReader,
}

/// The result of waiting.
pub enum Event {
    /// A message, and the index of its topic.
    Message(usize, RawSample),
    /// The time is over.
    Nothing,
    /// Ctrl-C.
    Interrupted,
}

/// Chooses the quality of service for a topic.
pub type ChooseQos<'a> = &'a dyn Fn(&TopicInfo) -> SubscriberQos;

/// Transient local if all publishers keep messages.
pub fn offered_durability(topic: &TopicInfo) -> Durability {
    let living: Vec<_> = topic.publishers.iter().filter(|publisher| publisher.alive).collect();
    // Messages of publishers that have left may still be there.
    let all = if living.is_empty() { topic.publishers.iter().collect() } else { living };
    let keeps = !all.is_empty() && all.iter().all(|it| it.durability == Durability::TransientLocal);
    if keeps { Durability::TransientLocal } else { Durability::Volatile }
}

/// Subscribers of the topics that the command line names. Topics that match a pattern may appear later.
pub struct Listener<'a> {
    context: &'a Context,
    patterns: Vec<String>,
    qos: ChooseQos<'a>,
    node: Node,
    heard: Vec<Heard>,
    /// Topics that cannot be joined. Each is reported once.
    refused: HashSet<String>,
    interrupt: Interrupt,
    timeout: Option<Duration>,
    last: Instant,
    looked: Instant,
    /// The subscriber that is asked first, so that a busy topic does not hide the others.
    first: usize,
    several: bool,
}

impl<'a> Listener<'a> {
    /// Joins the topics. A topic that is named must exist, and it must be possible to join it.
    pub fn join(
        context: &'a Context,
        names: &[String],
        timeout: Option<f64>,
        qos: ChooseQos<'a>,
    ) -> Result<Self, CliError> {
        // A signal from here on ends the command in order, so that it leaves no dead node.
        let interrupt = Interrupt::listen()?;
        let mut listener = Self {
            context,
            patterns: Vec::new(),
            qos,
            node: context.node()?,
            heard: Vec::new(),
            refused: HashSet::new(),
            interrupt,
            timeout: timeout.map(Duration::from_secs_f64),
            last: Instant::now(),
            looked: Instant::now(),
            first: 0,
            several: names.len() > 1,
        };
        for name in names {
            // A topic whose name looks like a pattern is named as well.
            let named = inspect::topic(&context.root, name).map_err(CliError::failed)?;
            match named {
                Some(topic) => listener.add(&topic)?,
                None if is_pattern(name) => listener.patterns.push(name.clone()),
                None => _ = context.topic(name)?,
            }
        }
        listener.several |= !listener.patterns.is_empty();
        listener.look()?;
        if listener.heard.is_empty() {
            complain(&format!("no topic matches {} yet; waiting for one", listener.wanted()));
        }
        Ok(listener)
    }

    /// Whether results need the name of their topic: several names, or a pattern, are on the command line.
    pub fn has_several(&self) -> bool {
        self.several
    }

    /// The subscribers. New ones are added at the end.
    pub fn heard(&self) -> &[Heard] {
        &self.heard
    }

    fn wanted(&self) -> String {
        let named = self.heard.iter().map(|it| it.subscriber.topic());
        let all = named.chain(self.patterns.iter().map(String::as_str));
        all.map(|name| format!("`{}`", Foreign(name))).collect::<Vec<_>>().join(", ")
    }

    fn add(&mut self, topic: &TopicInfo) -> Result<(), CliError> {
        if self.heard.iter().any(|it| it.subscriber.topic() == topic.name) {
            return Ok(());
        }
        let reader = MessageReader::new(&topic.description.schema, &topic.description.name);
        // Messages are read by their schema, and so are regions of all versions. Any layout is therefore
        // accepted.
        let any = TypeDescription { encoding: Encoding::Region, layout_hash: 0, ..topic.description.clone() };
        let subscriber = RawSubscriber::create(&self.node, &topic.name, &any, (self.qos)(topic));
        let subscriber = subscriber.map_err(CliError::failed)?;
        let incompatible = subscriber.incompatible_qos_status();
        if incompatible.total_count > 0 {
            complain(&format!(
                "{} publisher(s) of `{}` offer less than was asked for ({}), and are not heard",
                incompatible.total_count,
                Foreign(&topic.name),
                incompatible.policies
            ));
        }
        self.heard.push(Heard { subscriber, reader: reader.map_err(CliError::failed)? });
        Ok(())
    }

    /// Joins the topics that match a pattern.
    fn look(&mut self) -> Result<(), CliError> {
        self.looked = Instant::now();
        if self.patterns.is_empty() {
            return Ok(());
        }
        for topic in inspect::topics(&self.context.root).map_err(CliError::failed)? {
            let is_wanted = self.patterns.iter().any(|pattern| matches(pattern, &topic.name));
            if is_wanted
                && !self.refused.contains(&topic.name)
                && let Err(error) = self.add(&topic)
            {
                complain(&error);
                self.refused.insert(topic.name);
            }
        }
        Ok(())
    }

    /// Does nothing until `until`. Returns whether Ctrl-C did not end it.
    pub fn rest(&self, until: Instant) -> bool {
        loop {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() || self.interrupt.is_set() {
                return !self.interrupt.is_set();
            }
            std::thread::sleep(left.min(GLANCE));
        }
    }

    /// Waits for a message until `until`. Messages that cannot be taken are reported and skipped.
    pub fn next(&mut self, until: Instant) -> Result<Event, CliError> {
        loop {
            if self.interrupt.is_set() {
                return Ok(Event::Interrupted);
            }
            if self.looked.elapsed() >= LOOK {
                self.look()?;
            }
            for step in 0..self.heard.len() {
                let index = (self.first + step) % self.heard.len();
                match self.heard[index].subscriber.take() {
                    Ok(Some(sample)) => {
                        self.last = Instant::now();
                        self.first = index + 1;
                        return Ok(Event::Message(index, sample));
                    }
                    Ok(None) => {}
                    Err(error) => complain(&error),
                }
            }
            let now = Instant::now();
            if let Some(timeout) = self.timeout.filter(|&t| now - self.last >= t) {
                let time = units::duration(timeout.as_nanos() as u64);
                return Err(CliError::TimedOut(format!("no message on {} for {time}", self.wanted())));
            }
            if now >= until {
                return Ok(Event::Nothing);
            }
            let time = (until - now).min(GLANCE);
            if self.heard.is_empty() {
                std::thread::sleep(time);
            } else {
                let all: Vec<&RawSubscriber> = self.heard.iter().map(|it| &it.subscriber).collect();
                wait_any(&all, Some(time));
            }
        }
    }
}
