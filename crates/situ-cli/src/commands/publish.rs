//! `situ topic pub`: publishes messages written as YAML or JSON.

use std::time::{Duration, Instant};

use serde::Serialize;
use situ::bus::inspect::{self, TopicInfo};
use situ::bus::{
    Durability, Encoding, PublishError, PublisherQos, RawPublisher, Reliability, TypeDescription,
};
use situ_schema::Schema;
use situ_schema::dynamic;
use situ_schema::model::TypeId;

use super::{Context, Interrupt, schema};
use crate::cli::{PubArgs, SourceArgs};
use crate::error::CliError;
use crate::message::{Encoded, encode};

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
    subscribers: usize,
}

/// `situ topic pub`.
pub fn run(context: &Context, arguments: &PubArgs) -> Result<(), CliError> {
    let existing = inspect::topic(&context.root, &arguments.topic).map_err(CliError::failed)?;
    let schema = find_schema(arguments, existing.as_ref())?;
    let root = schema::find(&schema, &arguments.type_name)?;
    let description = describe(&schema, root, existing.as_ref());
    let wrong = |error: &dyn std::fmt::Display| {
        CliError::Usage(format!("the message does not fit {}: {error}", arguments.type_name))
    };
    let value = dynamic::from_text(&schema, root, &arguments.message).map_err(|e| wrong(&e))?;
    let message = encode(&schema, root, &value, description.encoding).map_err(|e| wrong(&e))?;

    let interrupt = Interrupt::listen()?;
    let node = context.node()?;
    let qos = offer(existing.as_ref());
    let publisher =
        RawPublisher::create(&node, &arguments.topic, &description, qos).map_err(CliError::failed)?;
    publisher.set_interrupter(Some(interrupt.interrupter()));
    wait_for_subscriber(&publisher, Duration::from_secs_f64(arguments.wait), &interrupt);

    let count = arguments.count.unwrap_or(if arguments.rate.is_some() { u64::MAX } else { 1 });
    let period = Duration::from_secs_f64(1.0 / arguments.rate.unwrap_or(1.0));
    let mut due = Instant::now();
    let mut messages = 0;
    while messages < count && !interrupt.is_set() {
        if !send(&publisher, &message)? {
            break;
        }
        messages += 1;
        due += period;
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
        subscribers,
    };
    let output = &context.output;
    if output.is_json() {
        return Ok(output.record(&report)?);
    }
    Ok(output.line(format!(
        "{messages} message(s) of {} on {}, {subscribers} subscriber(s).",
        report.type_name, report.topic
    ))?)
}

/// Returns the schema of the named files, otherwise the one that the topic carries.
fn find_schema(arguments: &PubArgs, existing: Option<&TopicInfo>) -> Result<Schema, CliError> {
    if let Some(topic) = existing.filter(|_| arguments.schemas.is_empty()) {
        return Ok(Schema::from_idl(&topic.description.schema)?);
    }
    let ros = if arguments.schemas.is_empty() && !arguments.include.is_empty() {
        vec![arguments.type_name.replace("::", "/")]
    } else {
        Vec::new()
    };
    if arguments.schemas.is_empty() && ros.is_empty() {
        return Err(CliError::Usage(format!(
            "the type {} is unknown: the topic `{}` does not exist yet; name a file with --schema, or a ROS prefix with -I",
            arguments.type_name, arguments.topic
        )));
    }
    schema::load(&SourceArgs { files: arguments.schemas.clone(), ros, include: arguments.include.clone() })
}

/// The type to register, with the layout of the topic's existing messages, if any.
fn describe(schema: &Schema, root: TypeId, existing: Option<&TopicInfo>) -> TypeDescription {
    let flat = match existing {
        Some(topic) => topic.description.encoding == Encoding::Flat && schema.is_flattable(root),
        None => schema.is_flat(root) && schema.is_flattable(root),
    };
    TypeDescription {
        name: schema.name(root).to_string(),
        schema: schema.canonical(root),
        schema_hash: schema.schema_hash(root),
        layout_hash: if flat { schema.layout_hash(root) } else { 0 },
        encoding: if flat { Encoding::Flat } else { Encoding::Xcdr1 },
    }
}

/// The quality of service that the existing subscribers request.
fn offer(existing: Option<&TopicInfo>) -> PublisherQos {
    let asked =
        |f: fn(&inspect::SubscriberInfo) -> bool| existing.is_some_and(|t| t.subscribers.iter().any(f));
    PublisherQos {
        reliability: Reliability::Reliable,
        durability: if asked(|s| s.durability == Durability::TransientLocal) {
            Durability::TransientLocal
        } else {
            Durability::Volatile
        },
        ..PublisherQos::default()
    }
}

fn wait_for_subscriber(publisher: &RawPublisher, patience: Duration, interrupt: &Interrupt) {
    let begin = Instant::now();
    while publisher.subscribers() == 0 && begin.elapsed() < patience && !interrupt.is_set() {
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
