//! Why a message cannot be copied into a memory domain.

use std::time::Duration;

use situ_memory::{AllocateError, DomainError, MemoryError, ViewError};

use crate::topic::RegisterError;

/// How many times other participants may come first before that is an error.
pub(super) const MAX_TURNS: u32 = 64;

/// Why a message could not be copied into a memory domain.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum CopyError {
    /// The device failed.
    #[error(transparent)]
    Domain(#[from] DomainError),
    /// There is no memory for the copy.
    #[error(transparent)]
    Memory(#[from] AllocateError),
    /// A pool of copies cannot be made.
    #[error("no pool of copies can be made: {0}")]
    Register(#[source] Box<RegisterError>),
    /// This process may only subscribe: see [`TopicRights`](crate::TopicRights).
    #[error("a copy for other subscribers in this domain needs the right to publish: {0}")]
    Rights(#[source] MemoryError),
    /// A pool cannot be mapped.
    #[error(transparent)]
    Pool(#[from] ViewError),
    /// The publisher died or failed before the message's bytes were complete.
    #[error(
        "its bytes never became complete: the device or the process that should have written them failed"
    )]
    Poisoned,
    /// The message's bytes are not complete.
    #[error("its bytes were still not complete after {waited:?}; is the publisher's device stuck?")]
    Incomplete {
        /// How long the call waited.
        waited: Duration,
    },
    /// Other participants claimed the copy again and again, and never made it.
    #[error("its copy was claimed {MAX_TURNS} times and never made; a participant is broken or hostile")]
    Contended,
}

situ_layout::debug_as_text!(CopyError);
