//! Why a header of a topic's files cannot be used.

use std::path::Path;

use situ_memory::MemoryError;

/// Why a header of a topic's files cannot be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unusable {
    /// Its creator uses another version of a format that the participants of the topic share.
    OtherVersion {
        /// As in [`MemoryError::OtherVersion`].
        format: &'static str,
        /// The version of the topic's participants.
        found: u32,
        /// The version of this program.
        ours: u32,
    },
    /// It is not what it should be.
    Malformed(&'static str),
}

impl Unusable {
    /// The error of a file with such a header.
    pub(super) fn at(self, path: &Path) -> MemoryError {
        let path = path.to_owned();
        match self {
            Self::OtherVersion { format, found, ours } => {
                MemoryError::OtherVersion { path, format, found, ours }
            }
            Self::Malformed(reason) => MemoryError::Malformed { path, reason: reason.to_owned() },
        }
    }
}

impl From<&'static str> for Unusable {
    fn from(reason: &'static str) -> Self {
        Self::Malformed(reason)
    }
}
