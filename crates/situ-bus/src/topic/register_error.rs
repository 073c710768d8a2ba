//! Why a publisher or subscriber cannot join a topic.

use std::time::Duration;

use situ_layout::foreign::Foreign;
use situ_memory::{DomainError, DomainId, MemoryError};

use super::TextTooLong;
use super::format::DOMAINS;
use crate::node::node_file::{MAX_RECORDS, MAX_USER_DATA};
use crate::node::peer::Peer;
use crate::root::RootError;

/// Why a publisher or subscriber could not be created.
#[derive(thiserror::Error)]
pub enum RegisterError {
    /// The name is not a valid topic name.
    #[error(
        "{0:?} cannot name a topic: use 1 to 230 visible characters, no control characters (fewer if they are not plain \
         letters and digits: as a file name, where others are written as %XX, it must not exceed 255 bytes)"
    )]
    InvalidName(String),
    /// The name belongs to Situ itself.
    #[error(
        "{topic:?} cannot name a topic of yours: names that begin with {reserved:?} are Situ's own, for the messages of \
         services; choose another name, or create a client or server of the service"
    )]
    ReservedName {
        /// The requested name.
        topic: String,
        /// The beginning of Situ's own names.
        reserved: &'static str,
    },
    /// The user data are too long.
    #[error(
        "topic {topic:?}: an endpoint can have {MAX_USER_DATA} bytes of user data, and these are {bytes}: store a \
         reference to them"
    )]
    UserDataTooLong {
        /// The topic or service.
        topic: String,
        /// Their size.
        bytes: usize,
    },
    /// The node has no room for another endpoint.
    #[error(
        "topic {topic:?}: a node has at most {MAX_RECORDS} publishers, subscribers, clients and servers: use another node"
    )]
    NodeFull {
        /// The topic or service.
        topic: String,
    },
    /// The type's name or its schema is longer than a topic can carry.
    #[error(transparent)]
    TextTooLong(#[from] TextTooLong),
    /// The root directory cannot be used.
    #[error(transparent)]
    Root(#[from] RootError),
    /// A file cannot be created or used.
    #[error(transparent)]
    Memory(#[from] MemoryError),
    /// A memory domain cannot be used.
    #[error(transparent)]
    Domain(DomainError),
    /// One side serializes its messages and the other is on a device.
    #[error(
        "topic {topic:?}: serialized messages of {type_name} cannot be in {domain}, only flat ones can ({peer}); use \
         storage `Flat` on both sides, or the domain host"
    )]
    Serialized {
        /// The topic.
        topic: String,
        /// The type.
        type_name: String,
        /// The domain of one of the two sides.
        domain: DomainId,
        /// The node on the other side, or this one.
        peer: Peer,
    },
    /// All columns for domains are in use.
    #[error("topic {topic:?} cannot be used in {domain}: it was used in {DOMAINS} domains already")]
    Domains {
        /// The topic.
        topic: String,
        /// The requested domain.
        domain: DomainId,
    },
    /// The node belongs to the process that this one was forked from.
    #[error(
        "topic {topic:?} cannot be joined by the node of the process that this one was forked from: create a node in this process and join with it"
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
        "topic {topic:?} carries {their_name} (schema {their_hash:016x}{used}), not {ours} (schema {our_hash:016x}): {what}",
        their_name = Foreign(.theirs),
        what = Foreign(.difference),
        used = .peer.as_ref().map(|it| format!(", used by {it}")).unwrap_or_default()
    )]
    TypeMismatch {
        /// The topic.
        topic: String,
        /// The requested type.
        ours: String,
        /// Its schema hash.
        our_hash: u64,
        /// The type that the topic carries.
        theirs: String,
        /// Its schema hash.
        their_hash: u64,
        /// The first difference between the two schemas.
        difference: String,
        /// A node that uses the topic.
        peer: Option<Box<Peer>>,
    },
    /// User headers cannot have the requested size.
    #[error("topic {topic:?} cannot have user headers of {size} bytes: use a multiple of 8, at most 64")]
    UserHeaderSize {
        /// The topic.
        topic: String,
        /// The requested size in bytes.
        size: u32,
    },
    /// The topic's messages have user headers of another size.
    #[error(
        "topic {topic:?} has user headers of {theirs} bytes{used}, not {ours}: state the same size in the descriptions of all \
         its participants",
        used = .peer.as_ref().map(|it| format!(", as used by {it}")).unwrap_or_default()
    )]
    UserHeaderMismatch {
        /// The topic.
        topic: String,
        /// The requested size in bytes.
        ours: u32,
        /// The size that the topic's creator stated.
        theirs: u32,
        /// A node that uses the topic.
        peer: Option<Box<Peer>>,
    },
    /// Both sides use the flat layout, or regions, but not the same layout.
    #[error(
        "topic {topic:?}: {peer} lays {type_name} out differently (layout {theirs:016x}, here {ours:016x}); generate \
         both from the same schema, with the same annotations"
    )]
    LayoutMismatch {
        /// The topic.
        topic: String,
        /// The other side.
        peer: Peer,
        /// The type.
        type_name: String,
        /// The requested layout hash.
        ours: u64,
        /// The layout hash of the other side.
        theirs: u64,
    },
    /// Regions are published, and the subscriber is flat, with a type that has bulk members: it has no room
    /// for their elements.
    #[error(
        "topic {topic:?}: regions of {type_name}, which has @bulk members, cannot be taken by flat subscribers ({peer} \
         is the other side): take them in regions, or on the heap"
    )]
    Bulk {
        /// The topic.
        topic: String,
        /// The type.
        type_name: String,
        /// The other side.
        peer: Peer,
    },
    /// Flat messages are published, and the subscriber's type can be read only from serialized messages,
    /// because it was written by hand.
    #[error(
        "topic {topic:?}: flat messages of {type_name} cannot be taken by a subscriber whose type has no flat form \
         ({peer} is the other side): publish them serialized (storage `Heap`), or subscribe with a generated type"
    )]
    NoFlatForm {
        /// The topic.
        topic: String,
        /// The type.
        type_name: String,
        /// The other side.
        peer: Peer,
    },
    /// Regions are published, and the subscriber's type cannot be read from them, because it was written by
    /// hand.
    #[error(
        "topic {topic:?}: regions of {type_name} cannot be taken by a subscriber whose type has no region form \
         ({peer} is the other side): publish them serialized (storage `Heap`), or subscribe with a generated type"
    )]
    NoRegionForm {
        /// The topic.
        topic: String,
        /// The type.
        type_name: String,
        /// The other side.
        peer: Peer,
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
        /// The number of places or entries.
        most: u32,
    },
    /// The requested depth exceeds the number of rows.
    #[error(
        "a depth of {asked} does not fit topic {topic:?}: it has room for {rows}, and cannot grow; use at most 32768, and \
         look for a reliable subscriber that takes nothing (`situ topic info`)"
    )]
    Depth {
        /// The topic.
        topic: String,
        /// The requested depth.
        asked: usize,
        /// The available number of rows.
        rows: u32,
    },
    /// Another process holds the topic's lock and does not release it.
    #[error(
        "topic {topic:?} was locked by another process for {waited:?}; look for a stopped process (`situ doctor`)"
    )]
    Busy {
        /// The topic.
        topic: String,
        /// How long the registration waited.
        waited: Duration,
    },
}

situ_layout::debug_as_text!(RegisterError);

impl From<DomainError> for RegisterError {
    fn from(error: DomainError) -> Self {
        match error {
            DomainError::Memory(error) => Self::Memory(error),
            error => Self::Domain(error),
        }
    }
}
