//! Why a message could not be taken.

use situ_layout::NoMemory;
use situ_memory::{DomainId, ViewError};

use crate::copy::copy_error::CopyError;
use crate::topic::removal::Removed;

/// Why a message could not be taken. Unless noted otherwise, the message is skipped, and the next call
/// continues behind it.
#[derive(thiserror::Error)]
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
    /// The subscriber holds the maximum number of samples. The message stays available.
    #[error(
        "the subscriber of topic {topic:?} holds {held} samples, and may hold {most}: drop some, or allow it more (`max_held`)"
    )]
    Held {
        /// The topic.
        topic: String,
        /// The number of samples that it holds.
        held: usize,
        /// The maximum number.
        most: usize,
    },
    /// Its descriptor is invalid.
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
    /// The root, the topic or the node was removed while in use. No message is skipped.
    #[error("topic {topic:?} cannot be used any more: {removed}")]
    Removed {
        /// The topic.
        topic: String,
        /// What was removed.
        removed: Removed,
    },
    /// The subscriber belongs to the process that this one was forked from.
    #[error(
        "topic {topic:?} was joined by the process that this one was forked from: create a node in this process and join with it"
    )]
    Forked {
        /// The topic.
        topic: String,
    },
    /// It is larger than this subscriber accepts.
    #[error(
        "message {sequence} of topic {topic:?} has {bytes} bytes, and this subscriber takes at most {limit}; raise \
         its limits if its publisher may send such messages"
    )]
    TooLarge {
        /// The topic.
        topic: String,
        /// The message's number.
        sequence: u64,
        /// Its size, head and body together, in bytes.
        bytes: u64,
        /// The limit.
        limit: u64,
    },
    /// It lies beyond the part of its pool that this subscriber maps.
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
    /// It had to be copied to private memory, but there is not enough.
    #[error("message {sequence} of topic {topic:?} cannot be copied: {source}")]
    Private {
        /// The topic.
        topic: String,
        /// The message's number.
        sequence: u64,
        /// How much memory was needed.
        source: NoMemory,
    },
    /// It lies in another memory domain and could not be copied.
    #[error("message {sequence} of topic {topic:?} cannot be copied into {domain}: {source}")]
    Copy {
        /// The topic.
        topic: String,
        /// The message's number.
        sequence: u64,
        /// The subscriber's domain.
        domain: DomainId,
        /// The reason.
        source: CopyError,
    },
}

situ_layout::debug_as_text!(TakeError);
