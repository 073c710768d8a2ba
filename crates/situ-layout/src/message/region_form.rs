//! What is wrong with bytes that claim to be the region form of a message, an image (`spec/region.md`).

use std::ops::Deref;

use thiserror::Error;

use crate::value::error::FieldPath;

/// What is wrong with bytes that claim to be a region.
#[derive(Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum InvalidProblem {
    /// There is no memory for a copy, or for the data of the check.
    #[error("there is no memory for {bytes} bytes")]
    NoMemory {
        /// The size of the allocation that failed.
        bytes: u64,
    },
    /// There are fewer bytes than header and root need.
    #[error("{found} bytes are too few; header and root need {least}")]
    TooSmall {
        /// The number of bytes present.
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
    /// The image has another version of the format.
    #[error("the image has version {found} of the format, and this program reads version {here}")]
    OtherFormat {
        /// The version of the image.
        found: u16,
        /// The version that this program reads and writes.
        here: u16,
    },
    /// The form of the image is not known.
    #[error(
        "the image has form {form}; here it is 0 (canonical) or 1 (live), and packed images (2) have functions of their own"
    )]
    UnknownForm {
        /// The form found.
        form: u8,
    },
    /// The image is to be read in place as a packed one, and has another form.
    #[error("the image has form {form}, and is not a packed one (form 2)")]
    NotPacked {
        /// The form found.
        form: u8,
    },
    /// A length of a packed image is not the shortest one, or not allowed there.
    #[error("the length at offset {at} is not a good one")]
    BadLength {
        /// The offset of the length.
        at: u32,
    },
    /// The image holds another type. The image has hashes and no name, so the name of the other type is not
    /// known.
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
    /// The size in the header is not the number of bytes present.
    #[error("the header says {found} bytes, but there are {there}")]
    WrongSize {
        /// The size in the header.
        found: u32,
        /// The number of bytes present.
        there: u64,
    },
    /// A link leads out of the image.
    #[error("offset {to} outside the image of {size} bytes")]
    Outside {
        /// The target of the link, or the end of its block.
        to: i64,
        /// The size of the image.
        size: u32,
    },
    /// A block of a canonical image is not in its place.
    #[error("offset {to} is not the canonical one, {wanted}")]
    Misplaced {
        /// The target of the link.
        to: i64,
        /// The required target.
        wanted: u32,
    },
    /// A block does not begin at a multiple of 16.
    #[error("offset {to} is no multiple of 16")]
    Unaligned {
        /// The target of the link.
        to: u32,
    },
    /// Two blocks share bytes.
    #[error("the block at offset {to} is part of another one")]
    Overlap {
        /// The offset of the second block.
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
        /// The number of leading bytes that are well formed.
        valid_up_to: usize,
    },
    /// Keys do not ascend.
    #[error("key {index} is not greater than the key before it")]
    NotSorted {
        /// The key that is out of order.
        index: u32,
    },
    /// An entry of a hash table is not the one that its key finds, or its word is not in its place.
    #[error("entry {entry} is not the one that its key finds")]
    NotHashed {
        /// The first wrong entry.
        entry: u32,
    },
    /// The index of a hash table does not have one word for each entry.
    #[error("length {len}, but {occupied} words of the index are in use")]
    WrongCount {
        /// The length.
        len: u32,
        /// The number of words in use.
        occupied: u32,
    },
    /// The index of a canonical hash table has not the least seed.
    #[error("seed {seed} is not the canonical one")]
    WrongSeed {
        /// The seed found.
        seed: u32,
    },
    /// A tree has more or fewer levels than it may have.
    #[error("the tree has {found} levels instead of {wanted}")]
    WrongLevels {
        /// The stated number of levels.
        found: u32,
        /// The smallest number of levels for its length.
        wanted: u32,
    },
    /// A node of a tree holds, or has room for, more or fewer keys than allowed.
    #[error(
        "the node holds {len} keys and has room for {cap}; room for {least} to {most} is allowed, and at least one key"
    )]
    BadNode {
        /// The number of keys in it.
        len: u32,
        /// The number of keys that it has room for.
        cap: u32,
        /// The smallest room allowed.
        least: u32,
        /// The greatest room allowed.
        most: u32,
    },
    /// The nodes of a tree do not hold the number of keys that it states.
    #[error("length {len}, but the nodes hold {found} keys")]
    WrongTotal {
        /// The length.
        len: u32,
        /// The number of keys found.
        found: u32,
    },
    /// A shared link leads to a value within which it lies.
    #[error("the shared value at offset {to} holds this link to itself")]
    Cycle {
        /// The offset of the value's block.
        to: u32,
    },
    /// A shared link leads to a value of another type.
    #[error("the shared value at offset {to} is of another type")]
    OtherShared {
        /// The offset of the value's block.
        to: u32,
    },
    /// The link count of a shared value is wrong.
    #[error("the shared value counts {count} links, but {found} lead to it")]
    WrongLinks {
        /// What it counts.
        count: u32,
        /// The number of links found.
        found: u32,
    },
    /// A weak link leads to a place without a shared value.
    #[error("the weak link leads to offset {to}, where no shared value is")]
    WeakTarget {
        /// The offset to which it leads.
        to: u32,
    },
    /// The weak link count of a shared value is wrong.
    #[error("the shared value counts {count} weak links, but {found} lead to it")]
    WrongWeakLinks {
        /// What it counts.
        count: u32,
        /// The number of weak links found.
        found: u32,
    },
    /// An appendable struct is neither an extension nor a prefix of this program's struct.
    #[error("the image has another {name}: member {number}, here {member}, differs")]
    OtherHistory {
        /// The struct.
        name: &'static str,
        /// Which member differs, counted from 1.
        number: u32,
        /// The name of that member in this program.
        member: &'static str,
    },
    /// There is no valid table of versions.
    #[error("the table of versions at offset {at} is not good")]
    BadVersions {
        /// The offset at which it should be.
        at: u32,
    },
    /// The image can be read, but not in place.
    #[error("the image has {found} members of {name}, this program {here}; adopt a copy")]
    OtherVersion {
        /// The struct.
        name: &'static str,
        /// The number of members in the image.
        found: u32,
        /// The number of members in this program.
        here: u32,
    },
    /// A byte outside of all values is not zero, in a canonical image.
    #[error("the byte at offset {at} belongs to nothing and is not zero")]
    NotZero {
        /// The offset of the byte.
        at: u32,
    },
    /// A canonical image has bytes after its last block.
    #[error("the image has {size} bytes, but its parts end at {end}")]
    LeftOver {
        /// The size in the header.
        size: u32,
        /// The end of the last block.
        end: u32,
    },
}

crate::debug_as_text!(InvalidProblem);

/// Bytes that claim to be a region are not one.
#[derive(Clone, PartialEq, Eq, Error)]
#[error("{}: {} (at offset {})", .0.path, .0.problem, .0.offset)]
pub struct Invalid(Box<InvalidPlace>);

crate::debug_as_text!(Invalid);

/// The problem and its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InvalidPlace {
    /// The member at fault.
    pub path: FieldPath,
    /// The offset of the member in the image, in bytes from the header.
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
    /// An error at an offset. It is a pointer, so that a successful check moves little data.
    #[doc(hidden)]
    #[cold]
    #[inline(never)]
    pub fn new(offset: u32, problem: InvalidProblem) -> Self {
        Self(Box::new(InvalidPlace { path: FieldPath::default(), offset, problem }))
    }

    /// Adds the enclosing member to the path.
    #[cold]
    #[inline(never)]
    #[must_use]
    pub fn in_member(mut self, name: &'static str) -> Self {
        self.0.path.enter_member(name);
        self
    }

    /// Adds the index of the enclosing element to the path.
    #[cold]
    #[inline(never)]
    #[must_use]
    pub fn in_element(mut self, index: u32) -> Self {
        self.0.path.enter_element(index as usize);
        self
    }
}
