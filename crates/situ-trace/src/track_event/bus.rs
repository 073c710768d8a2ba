//! What the bus does, as slices, counters and flows of the category `bus`.
//!
//! A message has the same flow number wherever it is: made of its topic's number and its own. So the arrows of a message go from the
//! publisher's slice to copies and to everybody who takes it, without anything travelling with the message.

use std::collections::HashMap;
use std::sync::atomic::{AtomicPtr, Ordering};
use std::sync::{Mutex, PoisonError};

use situ_bus::hook::{self, Event as Told, Hook, Notice, Step, Subject, Why};

use super::category::Category;
use super::counter::{Counter, Unit};
use super::event::{Argument, Event, Kind};
use super::names::Name;
use super::process::{mix, now_ns};
use super::thread::{self, Thread};
use super::value::Value;

/// What the bus does.
pub(super) static BUS: Category = Category::new("bus");

/// The topics whose names are kept; what is told of others goes by a common one.
const MOST_TOPICS: usize = 1024;
/// The members of a topic with counters of their own.
const MEMBERS: usize = 256;
/// How many topics a thread finds without a lock.
const KNOWN: usize = 16;

static NUMBER: Name = Name::new("number");
static BYTES: Name = Name::new("bytes");
static SUBSCRIBER: Name = Name::new("subscriber node");
static PROCESS: Name = Name::new("subscriber process");
static FROM: Name = Name::new("from");
static INTO: Name = Name::new("into");
static MESSAGES: Name = Name::new("messages");
static WAIT_FOR_ANY: Name = Name::new("wait for any");

static HOOK: Hook = Hook { now_ns, tell };

/// Watches the bus, or does not any more, as the category says.
pub(super) fn watch() {
    hook::watch(BUS.is_enabled().then_some(&HOOK));
}

/// The names of a topic's events, and its counters.
struct Topic {
    id: u64,
    name: String,
    loan: Name,
    publish: Name,
    take: Name,
    copy: Name,
    wait: Name,
    room: Name,
    lost: Name,
    skipped: Name,
    expired: Name,
    unpublished: Name,
    /// By member: the slots of a publisher, then the queue of a subscriber.
    counters: [AtomicPtr<Counter>; 2 * MEMBERS],
}

/// The topics that a thread has met, at the place that their number says.
#[derive(Default)]
pub(super) struct Known([Option<&'static Topic>; KNOWN]);

/// Text that lasts as long as the program: of topics, of which there are not many.
fn keep(text: String) -> &'static str {
    Box::leak(text.into_boxed_str())
}

impl Topic {
    fn new(id: u64, name: &str) -> &'static Self {
        let event = |what: &str| Name::new(keep(format!("{what} {name}")));
        Box::leak(Box::new(Self {
            id,
            name: name.to_owned(),
            loan: event("loan"),
            publish: event("publish"),
            take: event("take"),
            copy: event("copy"),
            wait: event("wait for"),
            room: event("wait for room in"),
            lost: event("lost"),
            skipped: event("skipped"),
            expired: event("expired"),
            unpublished: event("not published"),
            counters: [const { AtomicPtr::new(std::ptr::null_mut()) }; 2 * MEMBERS],
        }))
    }

    fn step(&'static self, step: Step) -> &'static Name {
        match step {
            Step::Loan => &self.loan,
            Step::Publish => &self.publish,
            Step::Take => &self.take,
            Step::Copy { .. } => &self.copy,
            Step::WaitForRoom { .. } => &self.room,
            // A step of a later bus is at least seen.
            _ => &self.wait,
        }
    }

    fn why(&'static self, why: Why) -> &'static Name {
        match why {
            Why::Skipped => &self.skipped,
            Why::Expired => &self.expired,
            Why::Unpublished => &self.unpublished,
            _ => &self.lost,
        }
    }

    /// The counter of a member. Made when it is first needed; of two that are made at once, one is never used.
    fn counter(&self, member: u32, is_queue: bool) -> Option<&'static Counter> {
        let index = 2 * member as usize + usize::from(is_queue);
        let place = self.counters.get(index)?;
        let mut counter = place.load(Ordering::Acquire);
        if counter.is_null() {
            let what = if is_queue { "queue of" } else { "slots of" };
            let name = keep(format!("{what} {} #{member}", self.name));
            let made = Box::into_raw(Box::new(Counter::new(&BUS, name, Unit::Count)));
            counter =
                match place.compare_exchange(std::ptr::null_mut(), made, Ordering::AcqRel, Ordering::Acquire)
                {
                    Ok(_) => made,
                    Err(first) => first,
                };
        }
        // SAFETY: not null, and leaked.
        unsafe { counter.as_ref() }
    }
}

/// The topic that something is told about.
fn topic(known: &mut Known, subject: Subject<'_>) -> &'static Topic {
    let place = &mut known.0[subject.id as usize % KNOWN];
    match place {
        Some(topic) if topic.id == subject.id => topic,
        _ => place.insert(find_topic(subject)),
    }
}

#[cold]
fn find_topic(subject: Subject<'_>) -> &'static Topic {
    static TOPICS: Mutex<Option<HashMap<u64, &'static Topic>>> = Mutex::new(None);
    let mut topics = TOPICS.lock().unwrap_or_else(PoisonError::into_inner);
    let topics = topics.get_or_insert_default();
    if topics.len() >= MOST_TOPICS && !topics.contains_key(&subject.id) {
        return topics.entry(0).or_insert_with(|| Topic::new(0, "another topic"));
    }
    topics.entry(subject.id).or_insert_with(|| Topic::new(subject.id, subject.topic))
}

/// Takes what the bus tells.
fn tell(notice: &Notice<'_>) {
    thread::with(|thread| write(thread, notice));
}

fn write(thread: &mut Thread, notice: &Notice<'_>) {
    let at_ns = notice.at_ns;
    let subject = notice.subject;
    let topic = subject.map(|subject| topic(&mut thread.topics, subject));
    let mut put = |kind, name, flow: Option<u64>, arguments: &[Argument<'_>]| {
        let category = (kind != Kind::End).then_some(&BUS);
        thread.write(&Event {
            kind,
            at_ns,
            category,
            name,
            flows: flow.as_slice(),
            last_flows: &[],
            arguments,
        });
    };
    match notice.event {
        Told::Begin { step, number, bytes } => {
            let name = Some(topic.map_or(&WAIT_FOR_ANY, |topic| topic.step(step)));
            let flow = number.and_then(|number| flow(subject, number));
            let sizes = sizes(number, bytes);
            match step {
                Step::WaitForRoom { subscriber, pid } => {
                    let node = Argument { name: &SUBSCRIBER, value: Value::Text(&subscriber.to_string()) };
                    let process = Argument { name: &PROCESS, value: Value::Uint(pid.into()) };
                    put(Kind::Begin, name, flow, &[node, process]);
                }
                Step::Wait | Step::Take => put(Kind::Begin, name, flow, &[]),
                Step::Copy { from, into } => {
                    let (from, into) = (from.to_string(), into.to_string());
                    let from = Argument { name: &FROM, value: Value::Text(&from) };
                    let into = Argument { name: &INTO, value: Value::Text(&into) };
                    put(Kind::Begin, name, flow, &[sizes[0], sizes[1], from, into]);
                }
                _ => put(Kind::Begin, name, flow, if number.is_some() { &sizes } else { &sizes[1..] }),
            }
        }
        // What a take found is known only now; the others have said so when they began.
        Told::End { step: Step::Take, number: Some(number), bytes } => {
            put(Kind::End, None, flow(subject, number), &sizes(Some(number), bytes));
        }
        Told::End { .. } => put(Kind::End, None, None, &[]),
        Told::Dropped { why, messages } => {
            let name = topic.map(|topic| topic.why(why));
            let messages = Argument { name: &MESSAGES, value: Value::Uint(messages) };
            put(Kind::Instant, name, None, &[messages]);
        }
        Told::SlotsInUse(value) => count(thread, topic, subject, false, at_ns, value),
        Told::Queued(value) => count(thread, topic, subject, true, at_ns, value),
        _ => {}
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
        Argument { name: &NUMBER, value: Value::Uint(number.unwrap_or_default()) },
        Argument { name: &BYTES, value: Value::Uint(bytes) },
    ]
}

/// The flow number of a message: the same wherever it is.
fn flow(subject: Option<Subject<'_>>, number: u64) -> Option<u64> {
    subject.map(|subject| mix(subject.id, number))
}
