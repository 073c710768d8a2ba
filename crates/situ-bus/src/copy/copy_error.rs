//! Why a message cannot be copied into a memory domain.

use std::time::Duration;

use situ_memory::{AllocateError, DomainError, ViewError};

use crate::topic::RegisterError;

/// How often other participants may come first until that is an error.
pub(super) const MAX_TURNS: u32 = 64;

/// Why a message could not be brought into a memory domain.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CopyError {
    /// The device failed.
    #[error(transparent)]
    Domain(#[from] DomainError),
    /// There is no memory for it.
    #[error(transparent)]
    Memory(#[from] AllocateError),
    /// A pool of copies cannot be made.
    #[error("no pool of copies can be made: {0}")]
    Register(#[source] Box<RegisterError>),
    /// A pool cannot be mapped.
    #[error(transparent)]
    Pool(#[from] ViewError),
    /// Its publisher died, or failed, before its bytes were complete.
    #[error(
        "its bytes never became complete: the device or the process that should have written them failed"
    )]
    Poisoned,
    /// Its bytes are not complete.
    #[error("its bytes were still not complete after {waited:?}; is the publisher's device stuck?")]
    Incomplete {
        /// How long it was waited.
        waited: Duration,
    },
    /// Others claimed it again and again, and never brought it.
    #[error("others claimed to copy it {MAX_TURNS} times and never did; one of them is broken or hostile")]
    Contended,
}
