//! The topics of bus events: the names of their events, and their counters.

use std::collections::HashMap;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicPtr, Ordering};
use std::sync::{Mutex, PoisonError};

use situ_bus::hook::{Role, Step, Subject, Why};

use super::category::Category;
use super::counter::{Counter, Unit};
use super::names::Name;

/// The category of the bus's events.
pub(super) static BUS: Category = Category::new("bus");

/// The maximum number of topics whose names are kept. All other topics share one name.
const MAX_TOPICS: usize = 1024;
/// The maximum number of members of a topic that have counters of their own.
const MAX_MEMBERS: usize = 256;
/// The number of topics that a thread finds without a lock.
const CACHED_TOPICS: usize = 16;

/// The names of a topic's events, and its counters.
pub(super) struct Topic {
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
    /// Calls of a service, as its client and as its server sees them; of the topic of its requests.
    calls: Option<[Name; 2]>,
    /// Two for each member: the slots of a publisher, and the queue of a subscriber.
    counters: [AtomicPtr<Counter>; 2 * MAX_MEMBERS],
}

/// The topics that a thread has used, at an index computed from the topic's number.
#[derive(Default)]
pub(super) struct TopicCache([Option<&'static Topic>; CACHED_TOPICS]);

/// The beginning of the names of topics of requests.
const REQUESTS: &str = "situ:request/";

/// The service whose requests a topic carries.
pub(super) fn service_of(topic: &str) -> Option<&str> {
    topic.strip_prefix(REQUESTS)
}

/// Returns a text that lasts as long as the program. There are few topics.
fn leak(text: String) -> &'static str {
    Box::leak(text.into_boxed_str())
}

impl Topic {
    fn new(id: u64, name: &str) -> &'static Self {
        let event = |what: &str| Name::new(leak(format!("{what} {name}")));
        let calls =
            |service: &str| ["call", "handle"].map(|what| Name::new(leak(format!("{what} {service}"))));
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
            calls: service_of(name).map(calls),
            counters: [const { AtomicPtr::new(null_mut()) }; 2 * MAX_MEMBERS],
        }))
    }

    pub(super) fn step(&'static self, step: Step) -> &'static Name {
        match step {
            Step::Loan => &self.loan,
            Step::Publish => &self.publish,
            Step::Take => &self.take,
            Step::Copy { .. } => &self.copy,
            Step::WaitForRoom { .. } => &self.room,
            // A step of a later version of the bus.
            _ => &self.wait,
        }
    }

    /// The name of a call. `None` if the topic carries no requests.
    pub(super) fn call(&'static self, role: Role) -> Option<&'static Name> {
        self.calls.as_ref().map(|[call, handle]| if role == Role::Client { call } else { handle })
    }

    pub(super) fn why(&'static self, why: Why) -> &'static Name {
        match why {
            Why::Skipped => &self.skipped,
            Why::Expired => &self.expired,
            Why::Unpublished => &self.unpublished,
            _ => &self.lost,
        }
    }

    /// Returns the counter of a member, created on first use. If two threads create it at once, one of the
    /// two counters is never used.
    pub(super) fn counter(&self, member: u32, is_queue: bool) -> Option<&'static Counter> {
        let index = 2 * member as usize + usize::from(is_queue);
        let place = self.counters.get(index)?;
        let mut counter = place.load(Ordering::Acquire);
        if counter.is_null() {
            let what = if is_queue { "queue of" } else { "slots of" };
            let name = leak(format!("{what} {} #{member}", self.name));
            let made = Box::into_raw(Box::new(Counter::new(&BUS, name, Unit::Count)));
            let first = place.compare_exchange(null_mut(), made, Ordering::AcqRel, Ordering::Acquire);
            counter = first.err().unwrap_or(made);
        }
        // SAFETY: not null, and leaked.
        unsafe { counter.as_ref() }
    }
}

/// Returns the topic of an event.
pub(super) fn topic(known: &mut TopicCache, subject: Subject<'_>) -> &'static Topic {
    let place = &mut known.0[subject.id as usize % CACHED_TOPICS];
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
    if topics.len() >= MAX_TOPICS && !topics.contains_key(&subject.id) {
        return topics.entry(0).or_insert_with(|| Topic::new(0, "another topic"));
    }
    topics.entry(subject.id).or_insert_with(|| Topic::new(subject.id, subject.topic))
}
