//! Why an operation on a blackboard failed.

use situ_layout::ValidateError;
use situ_memory::MemoryError;

use super::format::{MAX_FILE, MAX_KEY, MAX_KEYS, MAX_VALUE};
use crate::root::RootError;

/// Why a writer could not be created.
#[derive(thiserror::Error)]
pub enum BlackboardWriterError {
    /// The name is not valid.
    #[error("{0:?} cannot name a blackboard: use 1 to 80 visible characters, as for a topic")]
    InvalidName(String),
    /// Values of this type cannot be kept.
    #[error(
        "blackboard {name:?} cannot keep values of {type_name}, which have {size} bytes: use a flat type of 1 to {MAX_VALUE} bytes \
         without @bulk members"
    )]
    Type {
        /// The blackboard.
        name: String,
        /// The type.
        type_name: String,
        /// The size of a value in bytes; 0: it is not fixed.
        size: u32,
    },
    /// The number of keys, or the size of all values, is beyond the limits.
    #[error(
        "blackboard {name:?} cannot have {keys} keys, with values of {size} bytes: it has 1 to {MAX_KEYS} keys, and its file has \
         at most {MAX_FILE} bytes"
    )]
    Size {
        /// The blackboard.
        name: String,
        /// The number of keys.
        keys: usize,
        /// The size of a value in bytes.
        size: usize,
    },
    /// A key is not valid, or appears twice.
    #[error(
        "blackboard {name:?} cannot have the key {key:?}: keys have 1 to {MAX_KEY} bytes without control characters, and each \
         appears once"
    )]
    Key {
        /// The blackboard.
        name: String,
        /// The key.
        key: String,
    },
    /// Another writer writes it.
    #[error("blackboard {name:?} has a writer already: end that one first, or use another name")]
    Written {
        /// The blackboard.
        name: String,
    },
    /// The node belongs to the process that this one was forked from.
    #[error(
        "the node belongs to the process that this one was forked from: create a node in this process for blackboard {name:?}"
    )]
    Forked {
        /// The blackboard.
        name: String,
    },
    /// The root directory cannot be used.
    #[error(transparent)]
    Root(#[from] RootError),
    /// The file cannot be created or used.
    #[error(transparent)]
    Memory(#[from] MemoryError),
}

/// Why a blackboard could not be opened.
#[derive(thiserror::Error)]
pub enum BlackboardReaderError {
    /// There is none.
    #[error("there is no blackboard {name:?}: start its writer first (`situ blackboard list` shows all)")]
    Missing {
        /// The blackboard.
        name: String,
    },
    /// It has values of another type.
    #[error(
        "blackboard {name:?} has values of {theirs}, and this reader reads {ours}: {difference}; build both with the same schema"
    )]
    Type {
        /// The blackboard.
        name: String,
        /// The type of its values.
        theirs: String,
        /// The type of the reader.
        ours: String,
        /// The first difference of the two.
        difference: String,
    },
    /// The root directory cannot be used.
    #[error(transparent)]
    Root(#[from] RootError),
    /// The file cannot be used.
    #[error(transparent)]
    Memory(#[from] MemoryError),
}

/// Why a value could not be set.
#[derive(Clone, thiserror::Error)]
pub enum SetValueError {
    /// There is no such key.
    #[error("blackboard {name:?} has no key {key:?}: a writer has the keys that it was created with")]
    UnknownKey {
        /// The blackboard.
        name: String,
        /// The key, or its position.
        key: String,
    },
    /// The value has another size.
    #[error("a value of blackboard {name:?} has {expected} bytes, and this one has {size}")]
    Size {
        /// The blackboard.
        name: String,
        /// The size of the value in bytes.
        size: usize,
        /// The size of the blackboard's values.
        expected: usize,
    },
    /// The writer belongs to the process that this one was forked from.
    #[error(
        "the writer of blackboard {name:?} belongs to the process that this one was forked from, which still writes it"
    )]
    Forked {
        /// The blackboard.
        name: String,
    },
    /// The value cannot be written in its flat form.
    #[error("blackboard {name:?}, key {key:?}: {reason}")]
    Value {
        /// The blackboard.
        name: String,
        /// The key.
        key: String,
        /// Why.
        reason: String,
    },
}

/// Why a value could not be read.
#[derive(Clone, thiserror::Error)]
pub enum GetValueError {
    /// There is no such key.
    #[error("blackboard {name:?} has no key {key:?}: its writer has created it with other keys")]
    UnknownKey {
        /// The blackboard.
        name: String,
        /// The key, or its position.
        key: String,
    },
    /// The memory for the value has another size.
    #[error("a value of blackboard {name:?} has {expected} bytes, and there is room for {size}")]
    Size {
        /// The blackboard.
        name: String,
        /// The size of the memory in bytes.
        size: usize,
        /// The size of the blackboard's values.
        expected: usize,
    },
    /// The writer replaced the value during every attempt to copy it.
    #[error(
        "blackboard {name:?}, key {key:?}: the value was replaced during every attempt to read it; read again, and let its writer \
         write less often"
    )]
    Overrun {
        /// The blackboard.
        name: String,
        /// The key.
        key: String,
    },
    /// The bytes are not a valid value.
    #[error(
        "blackboard {name:?}, key {key:?}: the value is not valid, its writer is broken or hostile: {source}"
    )]
    Invalid {
        /// The blackboard.
        name: String,
        /// The key.
        key: String,
        /// What is wrong.
        source: ValidateError,
    },
    /// The file was made shorter while it was mapped.
    #[error(
        "the file of blackboard {name:?} was made shorter while it was in use: restart its writer, and open it again"
    )]
    Damaged {
        /// The blackboard.
        name: String,
    },
    /// The reader belongs to the process that this one was forked from.
    #[error(
        "the reader of blackboard {name:?} belongs to the process that this one was forked from: open it in this process"
    )]
    Forked {
        /// The blackboard.
        name: String,
    },
}

situ_layout::debug_as_text!(BlackboardWriterError);
situ_layout::debug_as_text!(BlackboardReaderError);
situ_layout::debug_as_text!(SetValueError);
situ_layout::debug_as_text!(GetValueError);
