//! The errors of encoding and decoding, with the place where they occurred.

use situ_layout::OpaqueBuffer;
use situ_layout::visit::Extensibility;
use situ_layout::{BoundError, BulkError, FieldPath, NoMemory};
use thiserror::Error;

use super::encoding::MAX_DEPTH;

/// A problem that the decoder finds in a message.
#[derive(Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum DecodeProblem {
    /// The message ends too early.
    #[error("{needed} more bytes are needed, but only {left} are left")]
    Truncated {
        /// The number of bytes that the next value needs.
        needed: usize,
        /// The number of bytes left in the message, or in the enclosing part.
        left: usize,
    },
    /// The first two bytes name no CDR encoding.
    #[error("0x{id:04x} is not a CDR encapsulation; check that the message was encoded as CDR")]
    UnknownEncapsulation {
        /// The bytes.
        id: u16,
    },
    /// The message was encoded for a type of another extensibility.
    #[error(
        "the encapsulation 0x{id:04x} is not that of {extensibility:?} types; writer and reader have different types"
    )]
    OtherExtensibility {
        /// The first two bytes.
        id: u16,
        /// The extensibility of the reader's type.
        extensibility: Extensibility,
    },
    /// The message announces more elements or characters than its remaining bytes can hold.
    #[error("a length of {length} is impossible, with {left} bytes left")]
    LengthTooLong {
        /// The length.
        length: usize,
        /// The number of bytes left.
        left: usize,
    },
    /// The length exceeds the bound in the reader's schema.
    #[error("length {length} exceeds its bound {bound}")]
    BoundExceeded {
        /// The length.
        length: usize,
        /// The bound.
        bound: usize,
    },
    /// A boolean is neither 0 nor 1.
    #[error("{value} is not a boolean; only 0 and 1 are")]
    NotABool {
        /// The byte.
        value: u8,
    },
    /// A string is not UTF-8.
    #[error("the text is not UTF-8 from byte {valid_up_to} on")]
    NotUtf8 {
        /// The number of leading bytes that are well formed.
        valid_up_to: usize,
    },
    /// The length of a wide string is an odd number of bytes.
    #[error("a wide string of {bytes} bytes does not consist of whole 16-bit units")]
    OddWideText {
        /// The number of bytes.
        bytes: usize,
    },
    /// A unit of a wide string, which has 32 bits in version 1, does not fit 16 bits.
    #[error("the unit {unit:#x} of a wide string is larger than 0xffff")]
    WideUnitTooLarge {
        /// The unit.
        unit: u32,
    },
    /// A header names another member than the expected optional one.
    #[error(
        "member {expected} belongs here, but the header names {found}; writer and reader have different types"
    )]
    OtherMember {
        /// The member's id.
        expected: u32,
        /// The id found.
        found: u32,
    },
    /// A parameter header is malformed.
    #[error("the extended parameter header has length {length} instead of 8")]
    BadParameterHeader {
        /// The length found.
        length: u16,
    },
    /// The reader does not know a member that it must not ignore.
    #[error("member {id} is unknown here, and its writer requires readers to understand it")]
    NotUnderstood {
        /// The member's id.
        id: u32,
    },
    /// Values are nested deeper than [`MAX_DEPTH`].
    #[error("values are nested more than {MAX_DEPTH} deep")]
    TooDeep,
    /// The message would take more memory than its length allows.
    #[error("the message would take more than {limit} bytes of memory")]
    TooMuchMemory {
        /// The limit.
        limit: usize,
    },
    /// There is no memory for a part of the message.
    #[error("there is no memory for the next {bytes} bytes of the decoded message")]
    NoMemory {
        /// The number of bytes requested.
        bytes: usize,
    },
    /// The body of the flat message has no room for its bulk members.
    #[error("bulk data needs a body of {needed} bytes, but it has {body}; see `situ_wire::bulk_lengths`")]
    BodyTooSmall {
        /// The size needed so far.
        needed: usize,
        /// The size of the body.
        body: usize,
    },
    /// A bulk member of the flat message cannot be written.
    #[error(transparent)]
    Bulk(#[from] BulkError),
}

situ_layout::debug_as_text!(DecodeProblem);

impl From<NoMemory> for DecodeProblem {
    fn from(error: NoMemory) -> Self {
        Self::NoMemory { bytes: error.bytes }
    }
}

impl From<BoundError> for DecodeProblem {
    fn from(error: BoundError) -> Self {
        Self::BoundExceeded { length: error.size, bound: error.bound }
    }
}

/// A message cannot be decoded.
#[derive(Clone, PartialEq, Eq, Error)]
#[error("{path}, at byte {offset}: {problem}")]
pub struct DecodeError {
    /// The offset in the message, its header included.
    pub offset: usize,
    /// The member.
    pub path: FieldPath,
    /// The problem.
    pub problem: DecodeProblem,
}

situ_layout::debug_as_text!(DecodeError);

impl DecodeError {
    /// Creates an error at an offset of the message.
    pub fn at(offset: usize, problem: impl Into<DecodeProblem>) -> Self {
        Self { offset, path: FieldPath::default(), problem: problem.into() }
    }
}

situ_layout::__path_methods!(pub DecodeError(&'static str));

/// A problem that prevents the encoding of a message.
#[derive(Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum EncodeProblem {
    /// The buffer is too small for the message.
    #[error("the message needs {needed} bytes, but the buffer has {available}")]
    BufferTooSmall {
        /// The size of the message.
        needed: usize,
        /// The size of the buffer.
        available: usize,
    },
    /// A length does not fit 32 bits.
    #[error("a length of {length} does not fit the 32 bits that CDR has for it")]
    TooLong {
        /// The length.
        length: usize,
    },
    /// A member id does not fit 28 bits.
    #[error("member id {id} does not fit the 28 bits that CDR has for it")]
    MemberIdTooLarge {
        /// The id.
        id: u32,
    },
    /// Values are nested deeper than [`MAX_DEPTH`].
    #[error("values are nested more than {MAX_DEPTH} deep")]
    TooDeep,
    /// A sequence lies in memory that only ROS can read.
    #[error(transparent)]
    OpaqueBuffer(#[from] OpaqueBuffer),
    /// A bulk member cannot be read from the message's body.
    #[error(transparent)]
    Bulk(#[from] BulkError),
}

situ_layout::debug_as_text!(EncodeProblem);

/// A message cannot be encoded.
#[derive(Clone, PartialEq, Eq, Error)]
#[error("{path}: {problem}")]
pub struct EncodeError {
    /// The member.
    pub path: FieldPath,
    /// The problem.
    pub problem: EncodeProblem,
}

situ_layout::debug_as_text!(EncodeError);

impl From<EncodeProblem> for EncodeError {
    fn from(problem: EncodeProblem) -> Self {
        Self { path: FieldPath::default(), problem }
    }
}

situ_layout::__path_methods!(pub EncodeError(&'static str));
