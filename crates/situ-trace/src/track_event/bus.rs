//! Events of the bus, as slices, instants, counters and flows of the category `bus`.
//!
//! A message has the same flow number in every process: it is computed from the topic's number and the
//! message's number. Arrows therefore lead from the publisher's slice to copies and takes, although the
//! message carries no flow number.
//!
//! Calls of services overlap, so they have tracks of their own: see `call_track`. The slice of a call has the
//! flows of its request and of its reply.

use situ_bus::hook::{self, CallEnd, Event as BusEvent, Hook, MessageId, Notice, Role, Step, Subject};

use super::bus_topics::{BUS, Topic, topic};
use super::call_track::CallTrack;
use super::event::{Event, Kind};
use super::names::{Label, Name};
use super::process::{mix, now_ns};
use super::thread::{self, Thread};
use super::value::{Argument, Value};

static NUMBER: Name = Name::new("number");
static BYTES: Name = Name::new("bytes");
static SUBSCRIBER: Name = Name::new("subscriber node");
static PROCESS: Name = Name::new("subscriber process");
static FROM: Name = Name::new("from");
static INTO: Name = Name::new("into");
static MESSAGES: Name = Name::new("messages");
static CALL: Name = Name::new("call");
static END: Name = Name::new("end");
static WAIT_FOR_ANY: Name = Name::new("wait for any");

static HOOK: Hook = Hook { now_ns, tell };

/// Observes the bus while the category is on.
pub(super) fn watch() {
    hook::watch(BUS.is_enabled().then_some(&HOOK));
}

/// Writes an event of the bus.
fn tell(notice: &Notice<'_>) {
    thread::with(|thread| write(thread, notice));
}

fn write(thread: &mut Thread, notice: &Notice<'_>) {
    let at_ns = notice.at_ns;
    let subject = notice.subject;
    let topic = subject.map(|subject| topic(&mut thread.topics, subject));
    match notice.event {
        BusEvent::CallBegins { role, lane, call, number } => {
            let call = Argument { name: Label::Known(&CALL), value: Value::Uint(call) };
            let flow = flow(subject, number);
            return write_call(thread, notice, topic, (role, lane), Kind::Begin, flow, call);
        }
        BusEvent::CallEnds { role, lane, end, reply } => {
            let end = Argument { name: Label::Known(&END), value: Value::Text(word(end)) };
            let flow = reply.map(|MessageId { topic, number }| mix(topic, number));
            return write_call(thread, notice, topic, (role, lane), Kind::End, flow, end);
        }
        _ => {}
    }
    let mut put = |kind, name: Option<&'static Name>, flow: Option<u64>, arguments: &[Argument<'_>]| {
        let category = (kind != Kind::End).then_some(&BUS);
        let event = Event::new(kind, category, name.map(Label::Known));
        thread.write(&Event { at_ns, flows: flow.as_slice(), arguments, ..event });
    };
    match notice.event {
        BusEvent::Begin { step, number, bytes } => {
            let name = Some(topic.map_or(&WAIT_FOR_ANY, |topic| topic.step(step)));
            let flow = number.and_then(|number| flow(subject, number));
            let sizes = sizes(number, bytes);
            match step {
                Step::WaitForRoom { subscriber, pid } => {
                    let node = Argument {
                        name: Label::Known(&SUBSCRIBER),
                        value: Value::Text(&subscriber.to_string()),
                    };
                    let process = Argument { name: Label::Known(&PROCESS), value: Value::Uint(pid.into()) };
                    put(Kind::Begin, name, flow, &[node, process]);
                }
                Step::Wait | Step::Take => put(Kind::Begin, name, flow, &[]),
                Step::Copy { from, into } => {
                    let (from, into) = (from.to_string(), into.to_string());
                    let from = Argument { name: Label::Known(&FROM), value: Value::Text(&from) };
                    let into = Argument { name: Label::Known(&INTO), value: Value::Text(&into) };
                    put(Kind::Begin, name, flow, &[sizes[0], sizes[1], from, into]);
                }
                _ => put(Kind::Begin, name, flow, if number.is_some() { &sizes } else { &sizes[1..] }),
            }
        }
        // A take learns its message only at its end. Other steps have written theirs at the beginning.
        BusEvent::End { step: Step::Take, number: Some(number), bytes } => {
            put(Kind::End, None, flow(subject, number), &sizes(Some(number), bytes));
        }
        BusEvent::End { .. } => put(Kind::End, None, None, &[]),
        BusEvent::Dropped { why, messages } => {
            let name = topic.map(|topic| topic.why(why));
            let messages = Argument { name: Label::Known(&MESSAGES), value: Value::Uint(messages) };
            put(Kind::Instant, name, None, &[messages]);
        }
        BusEvent::SlotsInUse(value) => count(thread, topic, subject, false, at_ns, value),
        BusEvent::Queued(value) => count(thread, topic, subject, true, at_ns, value),
        _ => {}
    }
}

/// Writes the begin or the end of a call, on the track of its lane.
fn write_call(
    thread: &mut Thread,
    notice: &Notice<'_>,
    topic: Option<&'static Topic>,
    (role, lane): (Role, u32),
    kind: Kind,
    flow: Option<u64>,
    argument: Argument<'_>,
) {
    let (Some(topic), Some(subject)) = (topic, notice.subject) else { return };
    let Some(name) = topic.call(role) else { return };
    let begins = kind != Kind::End;
    let event = Event {
        at_ns: notice.at_ns,
        flows: flow.as_slice(),
        arguments: &[argument],
        ..Event::new(kind, begins.then_some(&BUS), begins.then_some(Label::Known(name)))
    };
    thread.write_call(&event, &CallTrack::new(subject, role, lane));
}

/// How a call ended, as an argument.
fn word(end: CallEnd) -> &'static str {
    match end {
        CallEnd::Replied => "replied",
        CallEnd::Refused => "refused",
        CallEnd::Cancelled => "cancelled",
        CallEnd::Deadline => "deadline",
        CallEnd::ServerGone => "server gone",
        CallEnd::Dropped => "dropped",
        // An end of a later version of the bus.
        _ => "ended",
    }
}

fn count(
    thread: &mut Thread,
    topic: Option<&'static Topic>,
    subject: Option<Subject<'_>>,
    is_queue: bool,
    at_ns: u64,
    value: u64,
) {
    if let (Some(topic), Some(subject)) = (topic, subject)
        && let Some(counter) = topic.counter(subject.member, is_queue)
    {
        thread.count(counter, at_ns, value as f64);
    }
}

fn sizes(number: Option<u64>, bytes: u64) -> [Argument<'static>; 2] {
    [
        Argument { name: Label::Known(&NUMBER), value: Value::Uint(number.unwrap_or_default()) },
        Argument { name: Label::Known(&BYTES), value: Value::Uint(bytes) },
    ]
}

/// Returns the flow number of a message. It is the same in every process.
fn flow(subject: Option<Subject<'_>>, number: u64) -> Option<u64> {
    subject.map(|subject| mix(subject.id, number))
}
