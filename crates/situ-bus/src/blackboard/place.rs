//! Where blackboards' files lie, and what their names lead to.

use std::fs::File;
use std::os::unix::fs::{FileExt, MetadataExt};

use situ_memory::{Beneath, OpenRoot};

use super::format::{TEXT_OFFSET, WRITER_OFFSET};
use crate::root::file_name;

/// The file names of blackboards end in this,
pub(super) const EXTENSION: &str = "board";
/// and those of files that are not complete in this.
pub(super) const UNFINISHED: &str = "new";

pub(super) fn place_of(root: &OpenRoot, name: &str) -> Beneath {
    root.blackboards().join(format!("{}.{EXTENSION}", file_name(name)))
}

/// Tells readers of a file that no writer will continue it. The caller has locked it.
pub(super) fn leave(file: &File) {
    if file.metadata().is_ok_and(|metadata| metadata.len() >= TEXT_OFFSET as u64) {
        let _ = file.write_all_at(&0_u64.to_le_bytes(), WRITER_OFFSET as u64);
    }
}

/// Whether a name leads to this file.
pub(super) fn leads_to(place: &Beneath, file: &File) -> bool {
    let (Ok(stat), Ok(metadata)) = (place.stat(), file.metadata()) else { return false };
    (stat.st_dev, stat.st_ino) == (metadata.dev(), metadata.ino())
}
