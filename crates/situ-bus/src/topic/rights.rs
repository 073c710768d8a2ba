//! Which access a participant has to the topic's own file, and to the file of its subscribers.

use std::io;
use std::sync::{Mutex, MutexGuard, PoisonError};

use situ_memory::{Access, Mapping, OpenRoot};

/// The permissions and the group of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Permissions {
    pub(super) mode: u32,
    pub(super) group: Option<u32>,
}

impl Permissions {
    /// Those of all files of a root.
    pub(super) fn of(root: &OpenRoot) -> Self {
        Self { mode: root.file_mode(), group: root.group() }
    }
}

/// Which access a participant wants to a topic's own file, and which to the file of its subscribers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    /// Writes the topic's file, reads places.
    Publisher,
    /// Writes places, reads the topic's file.
    Subscriber,
    /// Only reads.
    Observer,
    /// Writes the topic's file, to repair. It opens the places again for writing, if it may.
    Repairer,
}

impl Role {
    /// The access to the subscribers' places.
    pub(super) fn places(self) -> Access {
        match self {
            Self::Publisher | Self::Repairer | Self::Observer => Access::Read,
            Self::Subscriber => Access::ReadWrite,
        }
    }
}

/// How this process has a topic's own file and its rings mapped.
#[derive(Debug)]
pub(super) struct Rights {
    /// Whether their files were opened for writing.
    may_write: bool,
    /// The number of present writers; more than 0: the mappings are writable.
    writers: Mutex<usize>,
}

impl Rights {
    /// The rights of a participant whose files were opened for writing or not. `always`: its mappings are
    /// writable from now on.
    pub(super) fn new(may_write: bool, always: bool) -> Self {
        Self { may_write, writers: Mutex::new(usize::from(may_write && always)) }
    }

    /// The number of present writers, which does not change while the result exists.
    pub(super) fn writers(&self) -> MutexGuard<'_, usize> {
        // The number is consistent at every step.
        self.writers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether their files are opened for writing.
    pub(super) fn may_write(&self) -> bool {
        self.may_write
    }

    /// Gives a new mapping the access that the others have.
    pub(super) fn adjust(&self, map: &Mapping, writers: usize) -> io::Result<()> {
        if self.may_write && writers == 0 { map.protect(Access::Read) } else { Ok(()) }
    }
}
