//! Reports to a tracer what the bus does: one function, called where a step begins and where it ends.
//!
//! Without a tracer, each step costs one load of a static. All other code here is off the hot path.

use std::ptr::{from_ref, null_mut};
use std::sync::atomic::{AtomicPtr, Ordering, fence};

use situ_memory::DomainId;

use crate::node::liveness::NodeId;
use crate::root::Root;

/// A tracer: its function and its clock.
#[derive(Debug)]
pub struct Hook {
    /// The clock of all events, in nanoseconds.
    pub now_ns: fn() -> u64,
    /// Receives a notice, on the thread to which the notice belongs. It must not use the bus.
    pub tell: fn(&Notice<'_>),
}

/// An event on this thread.
#[derive(Debug, Clone, Copy)]
pub struct Notice<'a> {
    /// The time, by the hook's clock. Events of one thread come in this order, except that
    /// [`Event::CallBegins`] of a client comes after the publication of its request, with the time before it.
    pub at_ns: u64,
    /// The publisher or subscriber. `None` if the event concerns several topics.
    pub subject: Option<Subject<'a>>,
    /// The event.
    pub event: Event,
}

/// A publisher or subscriber of a topic.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Subject<'a> {
    /// The topic's name.
    pub topic: &'a str,
    /// The topic's number: the same in every process, and different for a later topic of the same name.
    pub id: u64,
    /// Which of the topic's publishers or subscribers: the number of its entry or place.
    pub member: u32,
}

/// A kind of event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Event {
    /// A step begins. Steps of one thread nest.
    Begin {
        /// The step.
        step: Step,
        /// The number of the message, if it is known by now. No subscriber has begun to take the message
        /// before this event.
        number: Option<u64>,
        /// The size of head and body.
        bytes: u64,
    },
    /// The innermost open step ends.
    End {
        /// The step.
        step: Step,
        /// The number of the message. `None` if the step had no result.
        number: Option<u64>,
        /// The size of head and body.
        bytes: u64,
    },
    /// Messages are lost to a subscriber, or will not be published.
    Dropped {
        /// The reason.
        why: Why,
        /// The number of messages.
        messages: u64,
    },
    /// A client has sent a request, or a server has taken one. The subject is the topic of requests.
    ///
    /// Calls overlap, and end in any order and on any thread, so they are no steps. Until a call ends, no
    /// other call of this client or server has its lane.
    CallBegins {
        /// On which side.
        role: Role,
        /// The call's lane: small, and used again.
        lane: u32,
        /// The number of the call, unique for the client.
        call: u64,
        /// The number of the request on its topic.
        number: u64,
    },
    /// A client's call is over, or a server is done with a request.
    CallEnds {
        /// On which side.
        role: Role,
        /// The call's lane.
        lane: u32,
        /// How it ended.
        end: CallEnd,
        /// The last message of the reply.
        reply: Option<MessageId>,
    },
    /// This many slots of the publisher's pool are in use.
    SlotsInUse(u64),
    /// This many messages wait for the subscriber.
    Queued(u64),
}

/// A step that takes time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Step {
    /// Finding a slot.
    Loan,
    /// Appending a message to the topic, and the work that follows it at once.
    Publish,
    /// Finding a message and pinning its slot.
    Take,
    /// Copying a message into another memory domain.
    Copy {
        /// The source domain.
        from: DomainId,
        /// The target domain.
        into: DomainId,
    },
    /// Waiting for a message.
    Wait,
    /// Waiting until a reliable subscriber has room.
    WaitForRoom {
        /// Its node.
        subscriber: NodeId,
        /// Its process; 0 if it is not known.
        pid: u32,
    },
}

/// The sides of a service.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// It sends requests.
    Client,
    /// It takes them.
    Server,
}

/// How a call ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum CallEnd {
    /// The server has sent the last message of the reply; the client has taken it.
    Replied,
    /// The server has refused the request.
    Refused,
    /// The client needs no reply any more.
    Cancelled,
    /// The client's limit has passed.
    Deadline,
    /// No server is left that could answer.
    ServerGone,
    /// The server has dropped the request, and not answered it.
    Dropped,
}

/// A message of any topic.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MessageId {
    /// The topic's number.
    pub topic: u64,
    /// The message's number.
    pub number: u64,
}

/// Why messages do not reach a subscriber.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Why {
    /// They were overwritten before the subscriber took them, or could not be read.
    Lost,
    /// The subscriber keeps only the last messages.
    Skipped,
    /// They were too old.
    Expired,
    /// The publisher dropped a loan.
    Unpublished,
}

static HOOK: AtomicPtr<Hook> = AtomicPtr::new(null_mut());
static JOINED: AtomicPtr<()> = AtomicPtr::new(null_mut());

/// Sets the tracer of this process from now on; `None` removes it. A thread that is within a step may still
/// report its end to the previous tracer.
pub fn watch(hook: Option<&'static Hook>) {
    HOOK.store(hook.map_or(null_mut(), |hook| from_ref(hook).cast_mut()), Ordering::Release);
}

/// Whether this process has a tracer.
pub fn is_watched() -> bool {
    watcher().is_some()
}

/// Sets a function that is called for each node that this process makes, with the node's root directory and
/// its name.
pub fn on_joined(call: fn(&Root, &str)) {
    JOINED.store(call as *mut (), Ordering::Release);
}

pub(crate) fn joined(root: &Root, name: &str) {
    let call = JOINED.load(Ordering::Acquire);
    if !call.is_null() {
        // SAFETY: only `on_joined` stores there, and it stores such functions.
        let call = unsafe { std::mem::transmute::<*mut (), fn(&Root, &str)>(call) };
        call(root, name);
    }
}

/// The current tracer.
#[inline(always)]
pub(crate) fn watcher() -> Option<Watcher> {
    let hook = HOOK.load(Ordering::Relaxed);
    if hook.is_null() { None } else { Some(found(hook)) }
}

#[cold]
#[inline(never)]
fn found(hook: *mut Hook) -> Watcher {
    // The fence makes the data that `watch` published visible: the load above is relaxed, so that it costs
    // nothing without a tracer.
    fence(Ordering::Acquire);
    // SAFETY: not null, so `watch` stored a reference with the lifetime `'static`.
    Watcher { hook: unsafe { &*hook } }
}

/// A tracer that is set.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Watcher {
    hook: &'static Hook,
}

/// A tracer, and the time at which a step began.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Began {
    pub(crate) watcher: Watcher,
    pub(crate) at_ns: u64,
}

impl Watcher {
    #[cold]
    pub(crate) fn now_ns(self) -> u64 {
        (self.hook.now_ns)()
    }

    #[cold]
    #[inline(never)]
    pub(crate) fn tell_at(self, at_ns: u64, subject: Option<Subject<'_>>, event: Event) {
        (self.hook.tell)(&Notice { at_ns, subject, event });
    }

    #[cold]
    #[inline(never)]
    pub(crate) fn tell(self, subject: Option<Subject<'_>>, event: Event) {
        self.tell_at(self.now_ns(), subject, event);
    }

    /// Begins a step, which ends when the guard is dropped.
    #[cold]
    pub(crate) fn step(
        self,
        subject: Option<Subject<'_>>,
        step: Step,
        number: Option<u64>,
        bytes: u64,
    ) -> Open<'_> {
        self.tell(subject, Event::Begin { step, number, bytes });
        Open { watcher: self, subject, event: Event::End { step, number, bytes } }
    }
}

/// An open step. It ends when this is dropped.
#[derive(Debug)]
#[must_use = "the step ends when this is dropped"]
pub(crate) struct Open<'a> {
    watcher: Watcher,
    subject: Option<Subject<'a>>,
    event: Event,
}

impl Drop for Open<'_> {
    #[cold]
    fn drop(&mut self) {
        self.watcher.tell(self.subject, self.event);
    }
}
