//! `situ topic echo`: prints messages as they arrive.

use std::borrow::Cow;
use std::time::{Duration, Instant};

use serde::Serialize;
use situ::bus::inspect::TopicInfo;
use situ::bus::{History, SubscriberQos};
use situ::layout::foreign::Foreign;
use situ_schema::dynamic::{PrintOptions, Value};

use super::Context;
use super::listen::{Event, Listener, offered_durability};
use crate::cli::{EchoArgs, HistoryKind};
use crate::error::CliError;
use crate::message::field;
use crate::output::Style;

/// The time after which a wait is repeated.
const PERIOD: Duration = Duration::from_secs(1);
/// The number of elements of a list that `echo` prints.
const SHORT_LIST: usize = 16;
/// The number of characters of a string that `echo` prints.
const SHORT_TEXT: usize = 128;

#[derive(Serialize)]
struct Echoed<'a> {
    topic: &'a str,
    sequence: u64,
    published_at_ns: u64,
    message: &'a Value,
}

/// The quality of service of the command line. By default it requests the messages that all publishers keep,
/// and does not make a publisher wait.
fn qos(arguments: &EchoArgs, topic: &TopicInfo) -> SubscriberQos {
    let history = match (arguments.history, arguments.depth) {
        (Some(HistoryKind::KeepLast), depth) => History::KeepLast(depth.unwrap_or(10) as usize),
        (None, Some(depth)) => History::KeepLast(depth as usize),
        (Some(HistoryKind::KeepAll) | None, _) => History::KeepAll,
    };
    SubscriberQos {
        reliability: arguments.qos.reliability.map_or(SubscriberQos::default().reliability, Into::into),
        durability: arguments.qos.durability.map_or(offered_durability(topic), Into::into),
        history,
        ..SubscriberQos::default()
    }
}

/// How much of a message is printed.
pub fn shown(full: bool) -> PrintOptions {
    if full {
        return PrintOptions::default();
    }
    PrintOptions { max_elements: Some(SHORT_LIST), max_text: Some(SHORT_TEXT) }
}

/// `situ topic echo`.
pub fn echo(context: &Context, arguments: &EchoArgs) -> Result<(), CliError> {
    let choose = |topic: &TopicInfo| qos(arguments, topic);
    let mut listener = Listener::join(context, &arguments.topics, arguments.timeout, &choose)?;
    let output = &context.output;
    let shown = shown(arguments.full);
    let mut left = arguments.count.unwrap_or(u64::MAX);
    while left > 0 {
        let (index, sample) = match listener.next(Instant::now() + PERIOD)? {
            Event::Message(index, sample) => (index, sample),
            Event::Nothing => continue,
            Event::Interrupted => break,
        };
        left -= 1;
        let heard = &listener.heard()[index];
        let topic = heard.subscriber.topic();
        let message = heard.reader.read(&sample).map_err(CliError::failed)?;
        let value = match &arguments.field {
            None => Cow::Borrowed(&message),
            Some(path) => field(&message, path).ok_or_else(|| {
                let names = heard.reader.members().join(", ");
                CliError::NotFound(format!(
                    "message {} of `{topic}` has no field `{path}`; the message has: {names}",
                    sample.sequence()
                ))
            })?,
        };
        if output.is_json() {
            output.record(&Echoed {
                topic,
                sequence: sample.sequence(),
                published_at_ns: sample.published_at_ns(),
                message: &value,
            })?;
            continue;
        }
        if listener.has_several() {
            output.line(output.paint(Style::Strong, format!("# {}", Foreign(topic))))?;
        }
        match &arguments.field {
            None => output.text(heard.reader.print(&value, &shown))?,
            Some(_) => output.text(value.to_yaml(&shown))?,
        }
        if arguments.field.is_none() {
            output.line(output.paint(Style::Dim, "---"))?;
        }
    }
    Ok(())
}
