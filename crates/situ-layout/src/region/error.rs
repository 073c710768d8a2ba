//! The errors of regions: no room, a buffer that will not do, and bytes that are no region.

use std::ops::Deref;

use thiserror::Error;

use crate::error::FieldPath;

/// A region may not become larger.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("the region is full: it may have {limit} bytes; give it a higher limit")]
pub struct Full {
    /// The region's limit, in bytes.
    pub limit: u32,
}

/// A buffer cannot hold a region.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum BufferError {
    /// The buffer does not begin at a multiple of 16.
    #[error("the buffer does not begin at a multiple of 16")]
    Misaligned,
    /// The buffer is too small.
    #[error("the buffer has {found} bytes, and {least} are needed")]
    TooSmall {
        /// The bytes there are.
        found: usize,
        /// The bytes needed.
        least: usize,
    },
}

/// A shared link cannot lead there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ShareError {
    /// The value lies in another region.
    #[error("a link cannot lead to another region; copy the value")]
    OtherRegion,
    /// The value would hold a link to itself.
    #[error("the link lies in the value that it would lead to; links make no cycles")]
    Cycle,
    /// There are as many links as can be counted.
    #[error("too many links lead to the value")]
    TooMany,
    /// The region is full.
    #[error(transparent)]
    Full(#[from] Full),
}

/// An image cannot be adopted into the memory of a backing.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum AdoptError {
    /// The bytes are no region of the type.
    #[error(transparent)]
    Invalid(#[from] Invalid),
    /// The memory is not enough.
    #[error(transparent)]
    Buffer(#[from] BufferError),
}

/// What is wrong with bytes that claim to be a region.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum InvalidProblem {
    /// There is no memory for a copy, or for what the check has to remember.
    #[error("there is no memory for {bytes} bytes")]
    NoMemory {
        /// How much was asked for.
        bytes: u64,
    },
    /// There are fewer bytes than header and root need.
    #[error("{found} bytes are too few; header and root need {least}")]
    TooSmall {
        /// The bytes there are.
        found: u64,
        /// The bytes needed.
        least: u64,
    },
    /// The bytes do not begin at a multiple of 16.
    #[error("the bytes do not lie at a multiple of 16; copy them to memory that does, or adopt them")]
    MisalignedImage,
    /// The header does not begin with "SRGN".
    #[error("no region: the bytes do not begin with SRGN")]
    NotARegion,
    /// The version or form of the image is not known.
    #[error("version {version}, form {form} is not known; this program knows version 1, forms 0 and 1")]
    Unknown {
        /// The version found.
        version: u16,
        /// The form found.
        form: u8,
    },
    /// The image holds another type. (It has hashes, and no name: the other type's is not known.)
    #[error(
        "the image is not of {name}{as_here}: its {which} hash is {found:016x}, that of {name} {wanted:016x}; generate both \
         programs from the same schema", as_here = if *which == "layout" { " as it is laid out here" } else { "" }
    )]
    OtherType {
        /// The type that was asked for.
        name: String,
        /// `schema` or `layout`: the first that differs.
        which: &'static str,
        /// The hash found.
        found: u64,
        /// The hash of the type asked for.
        wanted: u64,
    },
    /// The size in the header is not one that the bytes have.
    #[error("the header says {found} bytes, but there are {there}")]
    WrongSize {
        /// The size in the header.
        found: u32,
        /// The bytes there are.
        there: u64,
    },
    /// A link leads out of the image.
    #[error("offset {to} outside the image of {size} bytes")]
    Outside {
        /// Where it leads, or where its block would end.
        to: i64,
        /// The size of the image.
        size: u32,
    },
    /// A block of a canonical image is not in its place.
    #[error("offset {to} is not the canonical one, {wanted}")]
    Misplaced {
        /// Where the link leads.
        to: i64,
        /// Where it must lead.
        wanted: u32,
    },
    /// A block does not begin at a multiple of 16.
    #[error("offset {to} is no multiple of 16")]
    Unaligned {
        /// Where the link leads.
        to: u32,
    },
    /// Two blocks share bytes.
    #[error("the block at offset {to} is part of another one")]
    Overlap {
        /// The second block.
        to: u32,
    },
    /// A container's link to the header leads elsewhere.
    #[error("the link back to the header is {found}")]
    WrongBackLink {
        /// The link found.
        found: i32,
    },
    /// A length is greater than the capacity.
    #[error("length {len} exceeds the capacity {cap}")]
    TooLong {
        /// The length.
        len: u32,
        /// The capacity.
        cap: u32,
    },
    /// A capacity is not one that the format allows there.
    #[error("capacity {found} is not the canonical one, {wanted}")]
    NotTrimmed {
        /// The capacity found.
        found: u32,
        /// The capacity needed.
        wanted: u32,
    },
    /// A boolean or presence flag is neither 0 nor 1.
    #[error("{value} is not a boolean; only 0 and 1 are")]
    NotABool {
        /// The byte found.
        value: u8,
    },
    /// Text is not UTF-8.
    #[error("the text is not UTF-8 from byte {valid_up_to} on")]
    NotUtf8 {
        /// How many bytes are well formed.
        valid_up_to: usize,
    },
    /// Keys do not ascend.
    #[error("key {index} is not greater than the key before it")]
    NotSorted {
        /// The key that is out of order.
        index: u32,
    },
    /// A hash table is not in order.
    #[error("slot {slot} is not where its key belongs")]
    NotHashed {
        /// The first wrong slot.
        slot: u32,
    },
    /// A hash table does not have as many entries as it says.
    #[error("length {len}, but {occupied} slots are occupied")]
    WrongCount {
        /// The length.
        len: u32,
        /// Occupied slots seen.
        occupied: u32,
    },
    /// A tree has more or fewer levels than it may have.
    #[error("the tree has {found} levels instead of {wanted}")]
    WrongLevels {
        /// The levels it says it has.
        found: u32,
        /// The least for its length.
        wanted: u32,
    },
    /// A node of a tree holds, or has room for, more or less than it may.
    #[error(
        "the node holds {len} keys and has room for {cap}; room for {least} to {most} is allowed, and at least one key"
    )]
    BadNode {
        /// The keys it holds.
        len: u32,
        /// Its room.
        cap: u32,
        /// The least room allowed.
        least: u32,
        /// The most room allowed.
        most: u32,
    },
    /// The nodes of a tree do not hold as many keys as it says.
    #[error("length {len}, but the nodes hold {found} keys")]
    WrongTotal {
        /// The length.
        len: u32,
        /// The keys seen.
        found: u32,
    },
    /// A shared link leads to a value within which it lies.
    #[error("the shared value at offset {to} holds this link to itself")]
    Cycle {
        /// Where the value's block is.
        to: u32,
    },
    /// A shared link leads to a value of another type.
    #[error("the shared value at offset {to} is of another type")]
    OtherShared {
        /// Where the value's block is.
        to: u32,
    },
    /// A shared value does not count the links to it.
    #[error("the shared value counts {count} links, but {found} lead to it")]
    WrongLinks {
        /// What it counts.
        count: u32,
        /// The links seen.
        found: u32,
    },
    /// An appendable struct has not grown out of, or into, this program's.
    #[error("the image has another {name}: member {number}, here {member}, differs")]
    OtherHistory {
        /// The struct.
        name: &'static str,
        /// Which member differs, counted from 1.
        number: u32,
        /// Its name in this program.
        member: &'static str,
    },
    /// There is no table of versions, or not a good one.
    #[error("the table of versions at offset {at} is not good")]
    BadVersions {
        /// Where it should be.
        at: u32,
    },
    /// The image can be read, but not where it lies.
    #[error("the image has {found} members of {name}, this program {here}; adopt a copy")]
    OtherVersion {
        /// The struct.
        name: &'static str,
        /// The members it has in the image.
        found: u32,
        /// The members it has in this program.
        here: u32,
    },
    /// The data is nested too deeply.
    #[error("more than 64 links lead from one to the next")]
    TooDeep,
    /// A byte that belongs to nothing is not zero, in a canonical image.
    #[error("the byte at offset {at} belongs to nothing and is not zero")]
    NotZero {
        /// Where it is.
        at: u32,
    },
    /// A canonical image has bytes behind its last block.
    #[error("the image has {size} bytes, but its parts end at {end}")]
    LeftOver {
        /// The size in the header.
        size: u32,
        /// Where the last block ends.
        end: u32,
    },
}

/// Bytes that claim to be a region are none.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{}: {} (at offset {})", .0.path, .0.problem, .0.offset)]
pub struct Invalid(Box<InvalidPlace>);

/// What is wrong, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InvalidPlace {
    /// The member at fault.
    pub path: FieldPath,
    /// Where in the image it lies, in bytes from the header.
    pub offset: u32,
    /// What is wrong.
    pub problem: InvalidProblem,
}

impl Deref for Invalid {
    type Target = InvalidPlace;
    fn deref(&self) -> &InvalidPlace {
        &self.0
    }
}

impl Invalid {
    /// Says that the fault lies within this member.
    #[cold]
    #[inline(never)]
    #[must_use]
    pub fn in_member(mut self, name: &'static str) -> Self {
        self.0.path.enter_member(name);
        self
    }

    /// Says that the fault lies within this element.
    #[cold]
    #[inline(never)]
    #[must_use]
    pub fn in_element(mut self, index: u32) -> Self {
        self.0.path.enter_element(index as usize);
        self
    }
}

/// An error at an offset. It is a pointer, so that a check that finds nothing carries little around.
#[cold]
#[inline(never)]
pub(super) fn invalid<T>(offset: u32, problem: InvalidProblem) -> Result<T, Invalid> {
    Err(Invalid(Box::new(InvalidPlace { path: FieldPath::default(), offset, problem })))
}
