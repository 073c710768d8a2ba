//! The errors of writing and reading protobuf messages.

use thiserror::Error;

/// The reason that a message could not be written. The writer stores the first error, and discards all later
/// fields.
#[derive(Clone, Copy, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum WriteError {
    /// The delegate has no more memory.
    #[error("the buffer is full after {written} bytes; give the writer a larger one, or one that grows")]
    Full {
        /// The length of the message at that point, in bytes.
        written: u64,
    },
    /// A chunk is too small for the beginning of a nested message.
    #[error("a chunk has {length} bytes; at least {min} are needed", min = super::MIN_CHUNK)]
    ChunkTooSmall {
        /// Its length, in bytes.
        length: usize,
    },
    /// The number is not a field number.
    #[error("{field} is not a field number; field numbers go from 1 to {max}", max = super::MAX_FIELD)]
    InvalidField {
        /// The number.
        field: u32,
    },
    /// Messages are nested too deep.
    #[error("messages nest deeper than {max}", max = super::MAX_LEVELS)]
    TooDeep,
    /// A nested message, string or packed field is longer than protobuf allows.
    #[error("a field of {length} bytes is too long; protobuf allows 2147483647")]
    TooLong {
        /// Its length in bytes.
        length: u64,
    },
    /// The message is already finished.
    #[error("the message is finished; call `restart` for another")]
    Finished,
    /// The delegate has no room for the length of a message that crosses chunks.
    #[error("the patch list is full; give it more memory, or apply its patches earlier")]
    PatchListFull,
}

situ_layout::debug_as_text!(WriteError);

/// A problem that the reader finds in a message.
#[derive(Clone, Copy, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ReadProblem {
    /// The message ends within a field.
    #[error("the message ends within a field")]
    Truncated,
    /// A varint has more than ten bytes.
    #[error("a varint has more than ten bytes")]
    LongVarint,
    /// A tag has field number 0, a wire type that does not exist, or more than 32 bits.
    #[error("this is not a tag; check that the message is protobuf")]
    InvalidTag,
    /// A group ends that has not begun.
    #[error("a group ends here that has not begun")]
    UnexpectedGroupEnd,
    /// Messages or groups nest too deep.
    #[error("messages or groups nest deeper than {max}", max = super::MAX_READ_LEVELS)]
    TooDeep,
    /// The message is longer than protobuf allows.
    #[error("a message is longer than 2147483647 bytes")]
    TooLong,
    /// A string is not UTF-8.
    #[error("a string is not UTF-8; if that is allowed, read it as bytes")]
    NotUtf8,
}

situ_layout::debug_as_text!(ReadProblem);

/// The problem that a reader found, and its place.
#[derive(Clone, Copy, PartialEq, Eq, Error)]
#[error("at byte {at}: {problem}")]
pub struct ReadError {
    /// The offset in the message that is read, which may be a nested one or a packed field.
    pub at: usize,
    /// The problem.
    pub problem: ReadProblem,
}

situ_layout::debug_as_text!(ReadError);
