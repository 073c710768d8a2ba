//! The lock of a topic's directory. Joining, leaving and repair happen under it.
//!
//! It is a lock of the kernel (flock), which is released when its holder dies, so a dead holder blocks no
//! other process.

use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::fs::{FlockOperation, Gid, Mode, OFlags};
use situ_memory::beneath::{is_same, names};
use situ_memory::fork::LockedFile;
use situ_memory::{Beneath, MemoryError, OpenRoot};

use super::register_error::RegisterError;
use crate::timeouts::REGISTRATION_TIMEOUT;

/// The lock of a topic's directory, held until dropped.
///
/// Only this process holds it: a child that is forked meanwhile does not keep it.
#[derive(Debug)]
pub(crate) struct Lock {
    locked: LockedFile,
    /// A handle of the same directory that is independent of the lock.
    directory: Arc<OwnedFd>,
    path: PathBuf,
}

impl Lock {
    /// Waits for the lock. The directory is created if it is missing, also if its last user removed it while
    /// this process was waiting.
    pub(super) fn acquire(root: &OpenRoot, directory: &Beneath, topic: &str) -> Result<Self, RegisterError> {
        let system = |action, source: io::Error| MemoryError::System {
            action,
            path: directory.path().to_owned(),
            source,
        };
        let start = Instant::now();
        loop {
            root.make(directory)?;
            let opened = match directory.open_directory() {
                Ok(opened) => opened,
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                Err(error) => return Err(system("open", error).into()),
            };
            match rustix::fs::flock(&opened, FlockOperation::NonBlockingLockExclusive) {
                Ok(()) if is_still(&opened, directory) => {
                    return Self::of(opened, directory).map_err(|error| system("open", error).into());
                }
                Ok(()) => continue,
                Err(rustix::io::Errno::WOULDBLOCK) if start.elapsed() < REGISTRATION_TIMEOUT => {
                    std::thread::sleep(Duration::from_micros(100));
                }
                Err(rustix::io::Errno::WOULDBLOCK) => {
                    return Err(RegisterError::Busy { topic: topic.to_owned(), waited: start.elapsed() });
                }
                Err(error) => return Err(system("lock", error.into()).into()),
            }
        }
    }

    /// Takes the lock of an existing directory, if it is free.
    pub(super) fn try_acquire(directory: &Beneath) -> Option<Self> {
        let opened = directory.open_directory().ok()?;
        rustix::fs::flock(opened.as_fd(), FlockOperation::NonBlockingLockExclusive).ok()?;
        is_still(&opened, directory).then(|| Self::of(opened, directory).ok()).flatten()
    }

    fn of(opened: File, directory: &Beneath) -> io::Result<Self> {
        let (flags, mode) = (OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty());
        let handle = rustix::fs::openat(&opened, ".", flags, mode)?;
        let path = directory.path().to_owned();
        Ok(Self { locked: LockedFile::new(opened), directory: Arc::new(handle), path })
    }

    /// Returns the file of this name in the locked directory, even if the directory's path leads elsewhere by
    /// now.
    pub(super) fn at(&self, name: impl Into<PathBuf>) -> Beneath {
        Beneath::new(self.directory.clone(), &self.path, name)
    }

    /// Changes the group and the permissions of the locked directory.
    pub(super) fn give_directory(&self, group: u32, mode: u32) -> io::Result<()> {
        let directory = self.locked.file();
        rustix::fs::fchown(directory, None, Some(Gid::from_raw(group)))?;
        Ok(rustix::fs::fchmod(directory, Mode::from_raw_mode(mode))?)
    }

    /// The names of the files in the locked directory.
    pub(super) fn names(&self) -> Vec<OsString> {
        names(self.locked.file()).unwrap_or_default()
    }
}

/// Whether the name still leads to the open directory.
fn is_still(opened: &File, directory: &Beneath) -> bool {
    match (rustix::fs::fstat(opened), directory.stat()) {
        (Ok(a), Ok(b)) => is_same(&a, &b),
        _ => false,
    }
}
