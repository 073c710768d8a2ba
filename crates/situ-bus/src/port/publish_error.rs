//! Why a message cannot be published.

use std::fmt;
use std::time::Duration;

use situ_memory::{DomainError, MemoryError, OpenRoot};

use crate::node::liveness::{self, NodeId};
use crate::topic::removal::Removed;

/// Why a message could not be published.
#[derive(thiserror::Error)]
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
        /// How long the publisher waited.
        waited: Duration,
        /// The subscriber; `None` if it has just left.
        subscriber: Option<Box<SlowSubscriber>>,
    },
    /// The slowest reliable subscriber was last used by the publishing thread, which cannot take while it
    /// waits. A publisher whose limit is 20 ms or less gets `Full` instead.
    #[error(
        "the slowest reliable subscriber of topic {topic:?}, {subscriber}, has not taken message {waiting_for} yet, the depth is \
         {depth}, and the subscriber is used by the publishing thread, which cannot take while it waits: take before more is \
         published, take in another thread, or use a larger depth"
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
    /// The root, the topic or the node was removed while in use. Subscribers that join from now on would not
    /// get the message.
    #[error("topic {topic:?} cannot be used any more: {removed}")]
    Removed {
        /// The topic.
        topic: String,
        /// What was removed.
        removed: Removed,
    },
    /// The publisher belongs to the process that this one was forked from.
    #[error(
        "topic {topic:?} was joined by the process that this one was forked from: create a node in this process and join with it"
    )]
    Forked {
        /// The topic.
        topic: String,
    },
    /// The publisher's interrupter ended the wait for a reliable subscriber. The message was not published.
    #[error("the wait for room on topic {topic:?} was interrupted")]
    Interrupted {
        /// The topic.
        topic: String,
    },
    /// The stream that fills the message cannot signal its completion.
    #[error("message of topic {topic:?} cannot be published in stream order: {source}")]
    Stream {
        /// The topic.
        topic: String,
        /// The stream's error.
        source: Box<DomainError>,
    },
    /// The topic has grown, and its new rows cannot be mapped.
    #[error("the new rows of topic {topic:?} cannot be used: {source}")]
    Ring {
        /// The topic.
        topic: String,
        /// What is wrong with the file of the rows.
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

situ_layout::debug_as_text!(PublishError);

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
    /// Its process; `None` if the node's file is gone.
    pub pid: Option<u32>,
    /// The path of its program.
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
            // Names from other processes are quoted.
            Some(pid) => write!(f, "node {:?} (process {pid}, {:?})", self.name, self.program),
            None => write!(f, "node {}", self.node),
        }
    }
}
