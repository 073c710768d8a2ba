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
    #[error("a chunk has {length} bytes; at least {least} are needed", least = super::MIN_CHUNK)]
    ChunkTooSmall {
        /// How large it is, in bytes.
        length: usize,
    },
    /// No field can have this number.
    #[error("{field} is no field number; they go from 1 to {most}", most = super::MAX_FIELD)]
    InvalidField {
        /// The number.
        field: u32,
    },
    /// Messages are nested too deep.
    #[error("messages nest deeper than {most}", most = super::MAX_LEVELS)]
    TooDeep,
    /// A nested message, string or packed field is longer than protobuf allows.
    #[error("a field of {length} bytes is too long; protobuf ends at 2147483647")]
    TooLong {
        /// Its length in bytes.
        length: u64,
    },
    /// The delegate could not take the length of a message that crosses chunks.
    #[error("the patch list is full; give it more memory, or apply its patches earlier")]
    PatchListFull,
}
