//! The topic's shared files: their content, joining, leaving and repair.
//!
//! ```text
//!   format            the bytes of the files
//!   state_word        the state word of a place or entry; state_list is a list of them
//!   files             names and identities of the files
//!   file              the topic's own file, mapped
//!   rights            which access a role has; writing: when the topic's own file may be written
//!   wakes             the words by which members wake each other
//!   rings             the present ring, the next one, and the earlier ones; ring_files maps them
//!   members           the file with the subscribers' places; own_place is a place that its subscriber writes
//!   roster            the same file's list of what its places hold, for participants that join
//!   entries           the entries of publishers
//!   census            what a participant that joins or leaves knows of the members
//!   standing          topics that stand without members, with rights of groups
//!   names             names of topics, and those that Situ keeps for itself
//!   lock              the lock under which members join, leave and repair
//!   join, leave       registration, and its end
//!   register_error    why a registration fails
//!   compat            whether two type descriptions are compatible
//!   offers            the quality of service of members; matching says which publishers match a subscriber
//!   repair            removes the state of dead members, and topics without members
//!   removal           files that were removed while in use; look_for_removal finds them
//! ```

mod census;
pub(crate) mod compat;
mod entries;
mod file;
mod files;
pub(crate) mod format;
mod join;
mod leave;
mod lock;
mod look_for_removal;
mod matching;
mod members;
pub(crate) mod names;
mod offers;
mod own_place;
mod register_error;
pub(crate) mod removal;
mod repair;
pub(crate) mod rights;
mod ring_files;
mod rings;
mod roster;
pub(crate) mod standing;
mod state_list;
mod state_word;
mod unusable;
mod wakes;
pub(crate) mod writing;

pub(crate) use compat::{SCHEMA_SEPARATOR, SchemaFlags};
pub(crate) use file::Topic;
pub(crate) use join::Registration;
pub(crate) use matching::Matching;
pub(crate) use members::PlaceView;
pub(crate) use own_place::OwnPlace;
pub use register_error::RegisterError;
pub(crate) use repair::{Swept, sweep};
pub(crate) use ring_files::MAX_RINGS;
pub(crate) use state_word::StateWord;

/// The encoding of a message's bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u32)]
pub enum Encoding {
    /// The flat layout: the type itself (`spec/flat.md`).
    Flat = 1,
    /// Serialized as XCDR1, with its encapsulation header (`spec/cdr.md`).
    Xcdr1 = 2,
    /// Serialized as XCDR2, with its encapsulation header.
    Xcdr2 = 3,
    /// A region: its live or canonical image (`spec/region.md`).
    Region = 4,
}

impl Encoding {
    /// The encoding that a number in shared memory stands for.
    #[inline]
    pub fn from_number(number: u32) -> Option<Self> {
        [Self::Flat, Self::Xcdr1, Self::Xcdr2, Self::Region]
            .into_iter()
            .find(|encoding| *encoding as u32 == number)
    }

    /// How many bytes behind a multiple of 64 a body without a head begins. CDR counts alignment from behind
    /// its encapsulation header of 4 bytes. So its numbers of 8 bytes lie at multiples of 8, and can be read
    /// in place.
    #[inline(always)]
    pub(crate) const fn body_lead(self) -> usize {
        match self {
            Self::Xcdr1 | Self::Xcdr2 => 4,
            Self::Flat | Self::Region => 0,
        }
    }

    /// Whether a body of this encoding may begin at this offset of a slot.
    #[inline(always)]
    pub(crate) const fn allows_body_at(self, offset: usize) -> bool {
        let align = match self {
            Self::Xcdr1 | Self::Xcdr2 => 4,
            Self::Flat | Self::Region => 64,
        };
        offset.is_multiple_of(align)
    }

    /// Whether messages are serialized.
    #[inline]
    pub(crate) fn is_cdr(self) -> bool {
        matches!(self, Self::Xcdr1 | Self::Xcdr2)
    }
}

/// The forms of messages that a subscriber's type cannot be read from. Types that are written by hand may
/// lack them.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct MissingForms {
    /// Flat messages. A description of a serialized type says it with a layout hash of 0 instead.
    pub(crate) flat: bool,
    /// Regions.
    pub(crate) region: bool,
}

impl MissingForms {
    /// The bits of a subscriber's state word.
    pub(crate) fn bits(self) -> u32 {
        let flat = if self.flat { format::state::NO_FLAT } else { 0 };
        let region = if self.region { format::state::NO_REGION } else { 0 };
        flat | region
    }
}

/// The type of a topic: all that must agree between its participants, and all that a program without the type
/// needs to read its messages.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TypeDescription {
    /// The type's full name, for instance `situ::sensor::PointCloud2`.
    pub name: String,
    /// The schema as canonical text, with all types that it depends on.
    pub schema: String,
    /// The hash of the schema (`spec/signature.md`).
    pub schema_hash: u64,
    /// The hash of the flat layout that is published or can be read, or of the region; 0 if there is none.
    pub layout_hash: u64,
    /// The encoding of the messages.
    pub encoding: Encoding,
    /// The size in bytes of each flat message, if all have the same and none has a body; otherwise, or if it
    /// is not known, 0. A topic whose creator states up to 112 bytes copies messages into its rows, so
    /// that they reach other processes sooner.
    pub fixed_size: u32,
    /// The size in bytes of the user header: a multiple of 8, at most 64; 0: none. Each message carries it
    /// beside its content, for instance a number that relates a reply to its request. All participants of a
    /// topic state the same.
    pub user_header_size: u32,
}

impl TypeDescription {
    /// Checks that a topic can carry it: no participant could join a topic with more text.
    fn check_lengths(&self, topic: &str) -> Result<(), TextTooLong> {
        let limit = format::MAX_TEXT as usize;
        let texts = [("type's name", self.name.len()), ("schema", self.schema.len())];
        match texts.into_iter().find(|(_, bytes)| *bytes > limit) {
            Some((what, bytes)) => Err(TextTooLong { topic: topic.to_owned(), what, bytes, limit }),
            None => Ok(()),
        }
    }
}

/// The type's name or its schema is longer than a topic can carry.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[error("topic {topic:?}: the {what} has {bytes} bytes, and a topic carries at most {limit}; split the type")]
pub struct TextTooLong {
    /// The topic.
    pub topic: String,
    /// The text that is too long.
    pub what: &'static str,
    /// Its size in bytes.
    pub bytes: usize,
    /// The limit in bytes.
    pub limit: usize,
}

situ_layout::debug_as_text!(TextTooLong);
