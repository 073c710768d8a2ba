//! What a wait set can wait for.
//!
//! A set waits for five kinds of sources: a subscriber's topic, a guard condition, a timer, a descriptor, an
//! event of a publisher or subscriber.
//! Whatever else a program waits for is one of these underneath: a server waits for its requests, which are a
//! subscriber's messages. A client or a server adds a [`SourceAlarm`] to its topic.

use std::fmt;
use std::io;
use std::os::fd::AsFd;
use std::sync::Arc;

use crate::events::endpoint_events::EndpointEvents;
use crate::port::subscriber::RawSubscriber;
use crate::wait_set::alarm::SourceAlarm;
use crate::wait_set::guard_condition::{Guard, GuardCondition};
use crate::wait_set::timer::{Timer, TimerShared};
use crate::wait_set::topic_source::TopicSource;

/// Something that a wait set can wait for.
pub trait Waitable {
    /// What the set shall watch. It is ready as long as that is.
    fn source(&self) -> Source;
}

/// What a set watches for a [`Waitable`].
#[derive(Debug)]
pub struct Source {
    pub(crate) kind: SourceKind,
}

#[derive(Debug)]
pub(crate) enum SourceKind {
    Topic(Box<TopicSource>),
    Guard(Arc<Guard>),
    Timer(Arc<TimerShared>),
    Descriptor(Descriptor),
    /// The kinds of events of an endpoint.
    Event(Arc<EndpointEvents>, u32),
}

impl Waitable for RawSubscriber {
    fn source(&self) -> Source {
        Source { kind: SourceKind::Topic(Box::new(TopicSource::new(self))) }
    }
}

impl Source {
    /// The source of a client or a server: its topic, and what else makes it ready.
    pub(crate) fn with_alarm(subscriber: &RawSubscriber, alarm: &Arc<SourceAlarm>) -> Self {
        Self { kind: SourceKind::Topic(Box::new(TopicSource::with_alarm(subscriber, alarm))) }
    }
}

impl Waitable for GuardCondition {
    fn source(&self) -> Source {
        Source { kind: SourceKind::Guard(self.shared.clone()) }
    }
}

impl Waitable for Timer {
    fn source(&self) -> Source {
        Source { kind: SourceKind::Timer(self.shared.clone()) }
    }
}

impl Waitable for Descriptor {
    fn source(&self) -> Source {
        Source { kind: SourceKind::Descriptor(self.clone()) }
    }
}

/// A descriptor to wait for: a socket, a pipe, a device.
#[derive(Clone)]
pub struct Descriptor {
    pub(crate) file: Arc<dyn AsFd + Send + Sync>,
    pub(crate) readable: bool,
    pub(crate) writable: bool,
}

impl Descriptor {
    /// It is ready while it can be read.
    pub fn readable(file: Arc<dyn AsFd + Send + Sync>) -> Self {
        Self { file, readable: true, writable: false }
    }

    /// It is ready while it can be written.
    pub fn writable(file: Arc<dyn AsFd + Send + Sync>) -> Self {
        Self { file, readable: false, writable: true }
    }

    /// It is ready while it can be read or written.
    pub fn readable_or_writable(file: Arc<dyn AsFd + Send + Sync>) -> Self {
        Self { file, readable: true, writable: true }
    }
}

impl fmt::Debug for Descriptor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let fd = std::os::fd::AsRawFd::as_raw_fd(&self.file.as_fd());
        f.debug_struct("Descriptor")
            .field("fd", &fd)
            .field("readable", &self.readable)
            .field("writable", &self.writable)
            .finish()
    }
}

/// The name of an attached source. It is never used again, so a late report of a detached source is not
/// mistaken for another source's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SourceId(pub(crate) u64);

impl SourceId {
    /// As a number, for other languages.
    pub fn to_number(self) -> u64 {
        self.0
    }

    /// From a number that [`to_number`](Self::to_number) returned.
    pub fn from_number(number: u64) -> Self {
        Self(number)
    }
}

/// A source that is ready.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReadySource {
    /// What attaching returned.
    pub id: SourceId,
    /// What a descriptor is ready for. For other sources, `readable` is set.
    pub readiness: IoReadiness,
}

/// What a descriptor is ready for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct IoReadiness {
    /// It can be read.
    pub readable: bool,
    /// It can be written.
    pub writable: bool,
    /// The other end is closed, or the descriptor has an error: the next read or write returns it.
    pub closed: bool,
}

/// Why a source cannot be attached.
#[derive(thiserror::Error)]
pub enum AttachError {
    /// The set belongs to the parent process of a fork.
    #[error(
        "the wait set belongs to the process that this one was forked from: create a set in this process"
    )]
    Forked,
    /// A guard condition or a timer is attached already.
    #[error("the {what} is attached to a wait set already: detach it there first, or make another one")]
    Attached {
        /// `guard condition` or `timer`.
        what: &'static str,
    },
    /// The kernel refuses the descriptor.
    #[error(
        "cannot wait for the descriptor {fd}: {source} (an ordinary file is always ready, and each descriptor \
         can be attached once)"
    )]
    Descriptor {
        /// Its number.
        fd: i32,
        /// The kernel's error.
        source: io::Error,
    },
    /// The callback group belongs to another executor.
    #[error("the callback group belongs to another executor: make a group for each executor")]
    OtherExecutor,
    /// The thread that watches topics, or a descriptor of the set, cannot be created.
    #[error("cannot watch the source: {source}")]
    Watch {
        /// The kernel's error.
        source: io::Error,
    },
}

situ_layout::debug_as_text!(AttachError);

/// Why a wait is not possible.
#[derive(thiserror::Error)]
pub enum WaitError {
    /// The set belongs to the parent process of a fork.
    #[error(
        "the wait set belongs to the process that this one was forked from: create a set in this process"
    )]
    Forked,
    /// Another thread waits for the set.
    #[error(
        "another thread waits for this set: use a set for each thread, or an executor with several threads"
    )]
    InUse,
    /// The kernel refuses to wait.
    #[error("cannot wait: {source}")]
    System {
        /// The kernel's error.
        source: io::Error,
    },
}

situ_layout::debug_as_text!(WaitError);
