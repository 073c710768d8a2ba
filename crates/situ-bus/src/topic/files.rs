//! The common properties of a topic's files: their names, their identity, and which of them may be removed.

use std::fs::File;
use std::io;
use std::os::fd::AsFd;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use situ_memory::beneath::{Beginning, beginning};
use situ_memory::{Beneath, MemoryError, find_memory};

use super::format::{MAGIC, RING_MAGIC, SUBSCRIBERS_MAGIC};

/// The name of a topic's own file in its directory.
pub(crate) const FILE: &str = "topic";
/// Its name while it is being created.
pub(crate) const HIDDEN_FILE: &str = "topic.new";

/// The name of the file of a topic's subscribers, in the topic's directory.
pub(super) const SUBSCRIBERS_FILE: &str = "subscribers";

pub(super) fn system(action: &'static str, path: &Path, source: io::Error) -> MemoryError {
    MemoryError::System { action, path: path.to_owned(), source }
}

/// The device and inode of a file.
pub(super) type Identity = (u64, u64);

/// Whether a name still leads to this file. If that cannot be determined, it counts as leading there.
pub(super) fn leads_to(place: &Beneath, identity: Identity) -> bool {
    match place.stat() {
        Ok(stat) => (stat.st_dev, stat.st_ino) == identity,
        Err(error) => error.kind() != io::ErrorKind::NotFound,
    }
}

pub(super) fn identify(file: &File) -> io::Result<Identity> {
    let metadata = file.metadata()?;
    Ok((metadata.dev(), metadata.ino()))
}

/// Finds memory for one column of a ring.
pub(super) fn find_column(file: &File, columns: u64, depth: u32, column: usize) -> io::Result<()> {
    let len = u64::from(depth) * 8;
    find_memory(file.as_fd(), columns + column as u64 * len, len)
}

pub(super) fn open_if_there(place: &Beneath, write: bool) -> Result<Option<File>, MemoryError> {
    match place.open(write) {
        Ok(file) => Ok(Some(file)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(system("open", place.path(), error)),
    }
}

pub(super) fn is_missing(error: &MemoryError) -> bool {
    matches!(error, MemoryError::System { source, .. } if source.kind() == io::ErrorKind::NotFound)
}

/// Whether this process has no right to open a file.
pub(super) fn is_forbidden(error: &MemoryError) -> bool {
    matches!(error, MemoryError::System { source, .. } if source.kind() == io::ErrorKind::PermissionDenied)
}

/// Whether a file with such a name may be removed. It may if it begins as the file of a topic, of a further
/// ring or of subscribers does. It also may if it begins with zeroes, because its creator died before it
/// wrote the header.
pub(super) fn is_topic_file(file: &File) -> bool {
    [MAGIC, RING_MAGIC, SUBSCRIBERS_MAGIC]
        .iter()
        .any(|magic| beginning(file, &magic.to_le_bytes()) != Beginning::Foreign)
}
