//! When this process may write a topic's own file and its rings.
//!
//! Publishers write rows, and copiers the words of copies. A subscriber only reads both, apart from rare
//! moments: it repairs what a dead publisher left, or gives the topic more rows. Therefore a subscriber's
//! mappings are read-only, and become writable while a [`Writing`] exists. So a stray write of its process
//! ends the process, and changes no row and no message.
//!
//! A subscriber whose user may not write the file maps it from a descriptor that was opened for reading. The
//! kernel refuses to make such a mapping writable. What such a subscriber cannot repair, others repair.

use std::io;
use std::sync::Arc;

use situ_memory::{Access, MemoryError};

use super::file::Topic;
use super::files::system;

/// While this exists, the topic's own file and its rings are writable.
#[derive(Debug)]
pub(crate) struct Writing<'t>(&'t Topic);

/// A [`Writing`] that keeps its topic.
#[derive(Debug)]
pub(crate) struct OwnedWriting(Arc<Topic>);

impl Topic {
    /// Makes the topic's own file and its rings writable. An error if this process may not write them.
    pub(crate) fn writing(&self) -> Result<Writing<'_>, MemoryError> {
        self.begin_writing().map(|()| Writing(self))
    }

    /// The same for long.
    pub(crate) fn keep_writing(self: &Arc<Self>) -> Result<OwnedWriting, MemoryError> {
        self.begin_writing().map(|()| OwnedWriting(self.clone()))
    }

    fn begin_writing(&self) -> Result<(), MemoryError> {
        let error = |source| system("write", self.file().path(), source);
        if !self.rights.may_write() {
            return Err(error(io::ErrorKind::PermissionDenied.into()));
        }
        let mut writers = self.rights.writers();
        if *writers == 0 {
            let opened = self.maps().try_for_each(|map| map.protect(Access::ReadWrite));
            opened.map_err(|source| {
                self.maps().for_each(|map| _ = map.protect(Access::Read));
                error(source)
            })?;
        }
        *writers += 1;
        Ok(())
    }

    fn end_writing(&self) {
        let mut writers = self.rights.writers();
        *writers -= 1;
        if *writers == 0 {
            // If the kernel refuses, the mapping stays writable, which only a stray write would notice.
            self.maps().for_each(|map| _ = map.protect(Access::Read));
        }
    }
}

impl Drop for Writing<'_> {
    fn drop(&mut self) {
        self.0.end_writing();
    }
}

impl Drop for OwnedWriting {
    fn drop(&mut self) {
        self.0.end_writing();
    }
}
