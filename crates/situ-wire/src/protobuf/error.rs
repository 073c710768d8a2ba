//! What can go wrong while a protobuf message is written or read.

use thiserror::Error;

/// Why a message could not be written. The first one stays; what is written after it goes nowhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum WriteError {
    /// There is no more memory to write on.
    #[error("the buffer is full after {written} bytes; give the writer a larger one, or one that grows")]
    Full {
        /// How many bytes of the message there were by then.
        written: u64,
    },
    /// A chunk is too small for the beginning of a nested message.
    #[error("a chunk has {length} bytes; at least {min} are needed", min = super::MIN_CHUNK)]
    ChunkTooSmall {
        /// How large it is, in bytes.
        length: usize,
    },
    /// No field can have this number.
    #[error("{field} is no field number; they go from 1 to {max}", max = super::MAX_FIELD)]
    InvalidField {
        /// The number.
        field: u32,
    },
    /// Messages are nested too deep.
    #[error("messages nest deeper than {max}", max = super::MAX_LEVELS)]
    TooDeep,
    /// A nested message, string or packed field is longer than protobuf allows.
    #[error("a field of {length} bytes is too long; protobuf ends at 2147483647")]
    TooLong {
        /// Its length in bytes.
        length: u64,
    },
    /// The message was finished before.
    #[error("the message is finished; call `restart` for another")]
    Finished,
    /// The delegate could not take the length of a message that crosses chunks.
    #[error("the patch list is full; give it more memory, or apply its patches earlier")]
    PatchListFull,
}

/// What is wrong with a message that is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ReadProblem {
    /// The message ends within a field.
    #[error("the message ends within a field")]
    Truncated,
    /// A varint has more than ten bytes.
    #[error("a varint has more than ten bytes")]
    LongVarint,
    /// A tag with field number 0, a wire type that does not exist, or more than 32 bits.
    #[error("this is no tag; is it protobuf at all?")]
    InvalidTag,
    /// A group ends that did not begin.
    #[error("a group ends here that did not begin")]
    UnexpectedGroupEnd,
    /// Messages or groups nest too deep.
    #[error("messages or groups nest deeper than {max}", max = super::MAX_READ_LEVELS)]
    TooDeep,
    /// The message is longer than protobuf allows.
    #[error("a message is longer than 2147483647 bytes")]
    TooLong,
    /// A string is not UTF-8.
    #[error("a string is not UTF-8; read it as bytes if it need not be")]
    NotUtf8,
}

/// Why a message could not be read, and where.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("at byte {at}: {problem}")]
pub struct ReadError {
    /// At which byte of the message that is read, which may be a nested one or a packed field.
    pub at: usize,
    /// What is wrong.
    pub problem: ReadProblem,
}
