//! Why a message cannot be published.

use std::fmt;
use std::time::Duration;

use situ_memory::{DomainError, MemoryError, OpenRoot};

use crate::node::liveness::{self, NodeId};
use crate::topic::removal::Removed;

/// Why a message could not be published.
#[derive(Debug, thiserror::Error)]
pub enum PublishError {
    /// A reliable subscriber has no room.
    #[error(
        "the slowest reliable subscriber of topic {topic:?}{} has not taken message {waiting_for} yet, and the depth is \
         {depth}; gave up after {waited:?}", named(.subscriber.as_deref())
    )]
    Full {
        /// The topic.
        topic: String,
        /// The oldest message that it has not taken.
        waiting_for: u64,
        /// How far this publisher may run ahead.
        depth: usize,
        /// How long it was waited.
        waited: Duration,
        /// Which subscriber that is; nothing if it has gone just now.
        subscriber: Option<Box<SlowSubscriber>>,
    },
    /// The slowest reliable subscriber was last used by the thread that publishes: while that thread waits, it
    /// cannot take. A publisher whose limit is 20 ms or less gets `Full` instead.
    #[error(
        "the slowest reliable subscriber of topic {topic:?}, {subscriber}, has not taken message {waiting_for} yet, the depth is \
         {depth}, and it is used by the very thread that publishes, which cannot take while it waits: take before more is \
         published, let another thread take, or use a larger depth"
    )]
    OwnThread {
        /// The topic.
        topic: String,
        /// The oldest message that it has not taken.
        waiting_for: u64,
        /// How far this publisher may run ahead.
        depth: usize,
        /// The subscriber.
        subscriber: Box<SlowSubscriber>,
    },
    /// The root, the topic or the node was removed under it: subscribers that join from now on would not get
    /// the message.
    #[error("topic {topic:?} cannot be used any more: {removed}")]
    Removed {
        /// The topic.
        topic: String,
        /// What was removed.
        removed: Removed,
    },
    /// It belongs to the process that this one was forked from.
    #[error(
        "topic {topic:?} was joined by the process that this one was forked from: make a node here, and join with that"
    )]
    Forked {
        /// The topic.
        topic: String,
    },
    /// The wait for a reliable subscriber was ended by the publisher's interrupter. The message was not
    /// published.
    #[error("the wait for room on topic {topic:?} was interrupted")]
    Interrupted {
        /// The topic.
        topic: String,
    },
    /// The stream that fills the message cannot signal that it has.
    #[error("message of topic {topic:?} cannot be published in stream order: {source}")]
    Stream {
        /// The topic.
        topic: String,
        /// What the stream answered.
        source: Box<DomainError>,
    },
    /// The topic has grown, and its new rows cannot be mapped.
    #[error("the new rows of topic {topic:?} cannot be used: {source}")]
    Ring {
        /// The topic.
        topic: String,
        /// What is wrong with their file.
        source: Box<MemoryError>,
    },
    /// The topic's rows contradict each other.
    #[error(
        "the rows of topic {topic:?} are corrupted: another process wrote to them; stop its users and run `situ clean`"
    )]
    Corrupted {
        /// The topic.
        topic: String,
    },
}

fn named(subscriber: Option<&SlowSubscriber>) -> String {
    subscriber.map_or_else(String::new, |subscriber| format!(", {subscriber},"))
}

/// The subscriber that a publisher waits for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SlowSubscriber {
    /// Its node.
    pub node: NodeId,
    /// That node's name; empty if its file is gone.
    pub name: String,
    /// Its process; nothing if the node's file is gone.
    pub pid: Option<u32>,
    /// The program that it runs.
    pub program: String,
}

impl SlowSubscriber {
    pub(crate) fn find(root: &OpenRoot, node: NodeId) -> Self {
        let known = liveness::node(root, node);
        let pid = known.as_ref().map(|node| node.pid);
        let (name, program) = known.map_or_else(Default::default, |node| (node.name, node.program));
        Self { node, name, pid, program }
    }
}

impl fmt::Display for SlowSubscriber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.pid {
            // What others call themselves is quoted.
            Some(pid) => write!(f, "node {:?} (process {pid}, {:?})", self.name, self.program),
            None => write!(f, "node {}", self.node),
        }
    }
}
