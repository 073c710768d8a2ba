//! Why a message could not be taken.

use situ_layout::NoMemory;
use situ_memory::{DomainId, ViewError};

use crate::copy::copy_error::CopyError;
use crate::topic::removal::Removed;

/// Why a message could not be taken. Unless it says otherwise, the message is passed over; the next call goes
/// on behind it.
#[derive(Debug, thiserror::Error)]
pub enum TakeError {
    /// Its pool cannot be mapped.
    #[error("message {sequence} of topic {topic:?} cannot be read: {source}")]
    Pool {
        /// The topic.
        topic: String,
        /// The message's number.
        sequence: u64,
        /// What is wrong with the pool.
        source: ViewError,
    },
    /// The subscriber holds as many samples as it may. The message waits.
    #[error(
        "the subscriber of topic {topic:?} holds {held} samples, and may hold {most}: drop some, or allow it more (`max_held`)"
    )]
    Held {
        /// The topic.
        topic: String,
        /// How many it holds.
        held: usize,
        /// How many it may hold.
        most: usize,
    },
    /// What its publisher wrote about it makes no sense.
    #[error(
        "message {sequence} of topic {topic:?} is malformed: {reason}; its publisher is broken or hostile"
    )]
    Malformed {
        /// The topic.
        topic: String,
        /// The message's number.
        sequence: u64,
        /// What is wrong with it.
        reason: String,
    },
    /// The root, the topic or the node was removed under it. No message is passed over.
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
    /// It is larger than this subscriber accepts.
    #[error(
        "message {sequence} of topic {topic:?} has {bytes} bytes, and this subscriber takes at most {limit}; raise \
         its limits if its publisher may do that"
    )]
    TooLarge {
        /// The topic.
        topic: String,
        /// The message's number.
        sequence: u64,
        /// How large it is, head and body together.
        bytes: u64,
        /// The limit.
        limit: u64,
    },
    /// It lies further in its pool than this subscriber goes.
    #[error(
        "message {sequence} of topic {topic:?} ends at byte {end} of its pool, and this subscriber maps the first {limit}; \
         raise its limits if its publisher may have so much memory"
    )]
    TooFar {
        /// The topic.
        topic: String,
        /// The message's number.
        sequence: u64,
        /// Where the message's slot ends.
        end: u64,
        /// The limit.
        limit: u64,
    },
    /// It had to be copied to private memory, of which there is not enough.
    #[error("message {sequence} of topic {topic:?} cannot be copied: {source}")]
    Private {
        /// The topic.
        topic: String,
        /// The message's number.
        sequence: u64,
        /// How much was needed.
        source: NoMemory,
    },
    /// It lies in another memory domain and could not be copied.
    #[error("message {sequence} of topic {topic:?} cannot be brought into {domain}: {source}")]
    Copy {
        /// The topic.
        topic: String,
        /// The message's number.
        sequence: u64,
        /// The domain that it was wanted in.
        domain: DomainId,
        /// What was in the way.
        source: CopyError,
    },
}
