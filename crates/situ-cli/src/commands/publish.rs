//! `situ topic pub`: publishes messages written as YAML or JSON.

use std::borrow::Cow;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use serde::Serialize;
use situ::bus::inspect::{self, TopicInfo};
use situ::bus::{
    Durability, Encoding, PublishError, PublisherQos, RawPublisher, Reliability, TypeDescription,
};
use situ_schema::Schema;
use situ_schema::dynamic;
use situ_schema::model::TypeId;

use super::{Context, Interrupt, messages_file, pattern, schema};
use crate::cli::PubArgs;
use crate::error::{CliError, complain};
use crate::message::{self, Encoded, encode};
use crate::output::units;

/// The interval between checks for subscribers and for Ctrl-C.
const GLANCE: Duration = Duration::from_millis(10);
/// The time that the last message stays for subscribers that are about to take it.
const GRACE: Duration = Duration::from_secs(1);

#[derive(Serialize)]
struct Published {
    topic: String,
    #[serde(rename = "type")]
    type_name: String,
    messages: u64,
    rate_hz: Option<f64>,
    subscribers: usize,
}

/// `situ topic pub`.
pub fn run(context: &Context, arguments: &PubArgs) -> Result<(), CliError> {
    let existing = inspect::topic(&context.root, &arguments.topic).map_err(CliError::failed)?;
    if existing.is_none() {
        pattern::check_new(&arguments.topic).map_err(CliError::Usage)?;
        if let Some(alike) = context.alike(&arguments.topic) {
            return Err(CliError::Usage(format!(
                "there is no topic `{}` yet, but there is `{alike}`, which differs in slashes only: publish to that one",
                arguments.topic
            )));
        }
    }
    let schema = match existing.as_ref().filter(|_| arguments.schemas.is_empty()) {
        Some(topic) => Schema::from_idl(&topic.description.schema)?,
        None => {
            schema::of_type(&arguments.topic, &arguments.type_name, &arguments.schemas, &arguments.include)?
        }
    };
    let root = schema::find(&schema, &arguments.type_name)?;
    let description = describe(&schema, root, existing.as_ref());
    let wrong = |error: &dyn std::fmt::Display| {
        CliError::Usage(format!("the message does not fit {}: {error}", arguments.type_name))
    };
    let encoded = |text: &str| {
        let value = dynamic::from_text(&schema, root, text).map_err(|e| wrong(&e))?;
        encode(&schema, root, &value, description.encoding).map_err(|e| wrong(&e))
    };
    let mut source = match &arguments.file {
        None => Source::Same(encoded(&arguments.message)?),
        Some(path) => Source::File(messages_file::read(path).map_err(|error| match error.kind() {
            std::io::ErrorKind::NotFound => {
                CliError::NotFound(format!("there is no file {}", path.display()))
            }
            _ => CliError::Failed(format!("cannot read {}: {error}", path.display())),
        })?),
    };

    let interrupt = Interrupt::listen()?;
    let node = context.node()?;
    let qos = offer(arguments, existing.as_ref());
    let publisher =
        RawPublisher::create(&node, &arguments.topic, &description, qos).map_err(CliError::failed)?;
    let incompatible = publisher.incompatible_qos_status();
    if incompatible.total_count > 0 {
        complain(&format!(
            "{} subscriber(s) of `{}` ask for more than is offered ({}), and hear nothing",
            incompatible.total_count, arguments.topic, incompatible.policies
        ));
    }
    publisher.set_interrupter(Some(interrupt.interrupter()));
    let from_file = arguments.file.is_some();
    let usual = if from_file || arguments.rate.is_some() { u64::MAX } else { 1 };
    let count = arguments.count.unwrap_or(usual);
    // Messages of a file are published as they are read, unless a rate is given.
    let rate = arguments.rate.or_else(|| (!from_file).then_some(1.0));
    let output = &context.output;
    let announcement = announcement(arguments, count, rate);
    if !output.is_json() && count != 1 {
        complain(&announcement);
    }
    wait_for_subscriber(&publisher, arguments.wait, &interrupt);

    let period = rate.map_or(Duration::ZERO, |rate| Duration::from_secs_f64(1.0 / rate));
    let mut due = Instant::now();
    let mut messages = 0;
    while messages < count && !interrupt.is_set() {
        let message = match &mut source {
            Source::Same(message) => Cow::Borrowed(&*message),
            Source::File(texts) => match texts.recv_timeout(GLANCE) {
                Ok(text) => {
                    let text = text.map_err(|e| CliError::Failed(format!("cannot read messages: {e}")))?;
                    let message = encoded(&text.text).map_err(|error| {
                        CliError::Usage(format!("the message in line {}: {error}", text.line))
                    })?;
                    Cow::Owned(message)
                }
                Err(RecvTimeoutError::Timeout) => continue,
                Err(RecvTimeoutError::Disconnected) => break,
            },
        };
        if !send(&publisher, &message)? {
            break;
        }
        messages += 1;
        // A file that pauses does not catch up afterwards.
        due = (due + period).max(if from_file { Instant::now() } else { due });
        while messages < count && !interrupt.is_set() && Instant::now() < due {
            std::thread::sleep(GLANCE.min(due.saturating_duration_since(Instant::now())));
        }
    }
    let subscribers = publisher.subscribers();
    linger(context, &arguments.topic, &interrupt);

    let report = Published {
        topic: arguments.topic.clone(),
        type_name: description.name.clone(),
        messages,
        rate_hz: rate,
        subscribers,
    };
    if output.is_json() {
        return Ok(output.record(&report)?);
    }
    Ok(output.line(format!(
        "{messages} message(s) of {} on {}, {subscribers} subscriber(s).",
        report.type_name, report.topic
    ))?)
}

/// The messages to publish.
enum Source {
    Same(Encoded),
    File(Receiver<std::io::Result<messages_file::MessageText>>),
}

/// What will be published, and how often.
fn announcement(arguments: &PubArgs, count: u64, rate: Option<f64>) -> String {
    let messages = match count {
        u64::MAX => "messages".to_owned(),
        count => format!("{count} messages"),
    };
    let speed = match rate {
        Some(rate) if arguments.rate.is_none() => format!("at {} (see --rate)", units::hertz(rate)),
        Some(rate) => format!("at {}", units::hertz(rate)),
        None => "as they are read".to_owned(),
    };
    let end = if count == u64::MAX && arguments.file.is_none() { ", until Ctrl-C" } else { "" };
    format!("publishing {messages} on `{}` {speed}{end}", arguments.topic)
}

/// The type to register, with the layout of the topic's existing messages, if any.
pub(super) fn describe(schema: &Schema, root: TypeId, existing: Option<&TopicInfo>) -> TypeDescription {
    let flat =
        existing.map_or_else(|| schema.is_flat(root), |topic| topic.description.encoding == Encoding::Flat);
    TypeDescription {
        user_header_size: existing.map_or(0, |topic| topic.description.user_header_size),
        ..message::describe(schema, root, flat)
    }
}

/// The quality of service of the command line. By default it satisfies the existing subscribers, and keeps
/// messages for late ones if an existing publisher does.
fn offer(arguments: &PubArgs, existing: Option<&TopicInfo>) -> PublisherQos {
    let keeps = existing.is_some_and(|topic| {
        let asked = topic.subscribers.iter().any(|it| it.durability == Durability::TransientLocal);
        let publishers = topic.publishers.iter();
        asked || publishers.clone().any(|it| it.alive && it.durability == Durability::TransientLocal)
    });
    let durability = if keeps { Durability::TransientLocal } else { Durability::Volatile };
    let usual = PublisherQos::default();
    PublisherQos {
        reliability: arguments.qos.reliability.map_or(Reliability::Reliable, Into::into),
        durability: arguments.qos.durability.map_or(durability, Into::into),
        depth: arguments.depth.map_or(usual.depth, |depth| depth as usize),
        ..usual
    }
}

fn wait_for_subscriber(publisher: &RawPublisher, wait: f64, interrupt: &Interrupt) {
    let begin = Instant::now();
    let timeout = Duration::from_secs_f64(wait);
    while publisher.subscribers() == 0 && begin.elapsed() < timeout && !interrupt.is_set() {
        std::thread::sleep(GLANCE);
    }
}

/// Waits until all subscribers have taken the last message, because leaving the topic removes the message.
fn linger(context: &Context, topic: &str, interrupt: &Interrupt) {
    let begin = Instant::now();
    let pending = || {
        let info = inspect::topic(&context.root, topic).ok().flatten();
        info.is_some_and(|t| t.subscribers.iter().any(|s| s.alive && s.behind > 0))
    };
    while pending() && begin.elapsed() < GRACE && !interrupt.is_set() {
        std::thread::sleep(GLANCE);
    }
}

/// Publishes a message. Returns false if publishing was interrupted.
fn send(publisher: &RawPublisher, message: &Encoded) -> Result<bool, CliError> {
    let mut loan =
        publisher.loan(message.head.len(), message.align, message.body.len()).map_err(CliError::failed)?;
    loan.head_bytes().copy_from_slice(&message.head);
    loan.body_bytes().copy_from_slice(&message.body);
    match loan.publish() {
        Err(PublishError::Interrupted { .. }) => Ok(false),
        published => published.map(|_| true).map_err(CliError::failed),
    }
}
