//! Why a publisher or subscriber cannot join a topic.

use std::time::Duration;

use situ_layout::foreign::Foreign;
use situ_memory::{DomainError, DomainId, MemoryError};

use super::TextTooLong;
use super::format::DOMAINS;
use crate::node::liveness::NodeId;
use crate::qos::QosMismatch;
use crate::root::RootError;

/// Why a publisher or subscriber could not be made.
#[derive(Debug, thiserror::Error)]
pub enum RegisterError {
    /// The name cannot be a topic's.
    #[error(
        "{0:?} cannot name a topic: use 1 to 80 characters that can be seen, none of them a control character (fewer if \
         they are not plain letters and digits: as a file name, where others are written as %XX, it must not exceed 255 \
         bytes)"
    )]
    InvalidName(String),
    /// The type's name or its schema is longer than a topic can carry.
    #[error(transparent)]
    TextTooLong(#[from] TextTooLong),
    /// The root directory cannot be used.
    #[error(transparent)]
    Root(#[from] RootError),
    /// A file cannot be made or used.
    #[error(transparent)]
    Memory(#[from] MemoryError),
    /// A memory domain cannot be used.
    #[error(transparent)]
    Domain(DomainError),
    /// Serialized messages and devices do not go together.
    #[error(
        "topic {topic:?}: serialized messages of {type_name} cannot be in {domain}, only flat ones can (node {node}); use \
         storage `Flat` on both sides, or the domain host"
    )]
    Serialized {
        /// The topic.
        topic: String,
        /// The type.
        type_name: String,
        /// The domain of one of the two.
        domain: DomainId,
        /// The node on the other side, or this one.
        node: NodeId,
    },
    /// More domains are used than a topic has columns for.
    #[error("topic {topic:?} cannot be used in {domain}: it was used in {DOMAINS} domains already")]
    Domains {
        /// The topic.
        topic: String,
        /// The domain that was asked for.
        domain: DomainId,
    },
    /// The node belongs to the process that this one was forked from.
    #[error(
        "topic {topic:?} cannot be joined by the node of the process that this one was forked from: make a node here, and join with that"
    )]
    Forked {
        /// The topic.
        topic: String,
    },
    /// The topic's files were removed while they were in use.
    #[error("topic {topic:?} was removed while it was in use: leave it and join again")]
    Removed {
        /// The topic.
        topic: String,
    },
    /// The topic carries another type.
    #[error(
        "topic {topic:?} carries {their_name} (schema {their_hash:016x}), not {ours} (schema {our_hash:016x}): {what}",
        their_name = Foreign(.theirs),
        what = Foreign(.difference)
    )]
    TypeMismatch {
        /// The topic.
        topic: String,
        /// The type that was asked for.
        ours: String,
        /// Its schema hash.
        our_hash: u64,
        /// The type that the topic carries.
        theirs: String,
        /// Its schema hash.
        their_hash: u64,
        /// The first difference between the two schemas.
        difference: String,
    },
    /// Both sides use the flat layout, or regions, but not the same layout.
    #[error(
        "topic {topic:?}: node {node} lays {type_name} out differently (layout {theirs:016x}, here {ours:016x}); generate \
         both from the same schema, with the same annotations"
    )]
    LayoutMismatch {
        /// The topic.
        topic: String,
        /// The node on the other side.
        node: NodeId,
        /// The type.
        type_name: String,
        /// The layout hash that was asked for.
        ours: u64,
        /// The other's.
        theirs: u64,
    },
    /// Regions are published, and the subscriber is flat, of a type with bulk members: it has no room for
    /// what these hold.
    #[error(
        "topic {topic:?}: of {type_name}, which has @bulk members, regions and flat subscribers do not go together (node {node} \
         is the other side): take it in a region, or on the heap"
    )]
    Bulk {
        /// The topic.
        topic: String,
        /// The type.
        type_name: String,
        /// The node on the other side.
        node: NodeId,
    },
    /// Flat messages are published, and the subscriber's type can only be read from serialized ones: it was
    /// written by hand.
    #[error(
        "topic {topic:?}: flat messages of {type_name} do not go together with a subscriber whose type has no flat form \
         (node {node} is the other side): publish them serialized (storage `Heap`), or subscribe with a generated type"
    )]
    NoFlatForm {
        /// The topic.
        topic: String,
        /// The type.
        type_name: String,
        /// The node on the other side.
        node: NodeId,
    },
    /// A participant on the other side offers or asks for another quality of service.
    #[error("topic {topic:?} has an incompatible participant, node {node}: {mismatch}")]
    Qos {
        /// The topic.
        topic: String,
        /// The node on the other side.
        node: NodeId,
        /// What differs.
        mismatch: QosMismatch,
    },
    /// All places are taken.
    #[error(
        "topic {topic:?} has no place for another {role}: all {most} are taken, by nodes that live or by messages that a \
         reliable subscriber has not taken yet (`situ topic info`)"
    )]
    Full {
        /// The topic.
        topic: String,
        /// "subscriber" or "publisher".
        role: &'static str,
        /// How many there can be.
        most: u32,
    },
    /// More messages are to be kept than the topic has rows.
    #[error(
        "a depth of {asked} does not fit topic {topic:?}: it has room for {rows}, and cannot grow; use at most 32768, and \
         look for a reliable subscriber that takes nothing (`situ topic info`)"
    )]
    Depth {
        /// The topic.
        topic: String,
        /// What was asked for.
        asked: usize,
        /// What there is room for.
        rows: u32,
    },
    /// Another process holds the topic's lock and does not release it.
    #[error(
        "topic {topic:?} was locked by another process for {waited:?}; look for a stopped process (`situ doctor`)"
    )]
    Busy {
        /// The topic.
        topic: String,
        /// How long it was waited.
        waited: Duration,
    },
}

impl From<DomainError> for RegisterError {
    fn from(error: DomainError) -> Self {
        match error {
            DomainError::Memory(error) => Self::Memory(error),
            error => Self::Domain(error),
        }
    }
}
