//! The blackboards of a root: their places, their names, and those that dead writers left.

use rustix::fs::FlockOperation;
use situ_memory::Beneath;
use situ_memory::beneath::{Beginning, beginning};
use situ_memory::fork::LockedFile;

use super::format::MAGIC;
use super::place::{EXTENSION, UNFINISHED, leads_to, leave};
use crate::root::{Root, RootError, topic_name};

/// The blackboard that a file name stands for.
fn name_of(file: &str) -> Option<String> {
    topic_name(file.strip_suffix(EXTENSION)?.strip_suffix('.')?)
}

/// The names of all blackboards of a root, sorted.
pub fn blackboards(root: &Root) -> Result<Vec<String>, RootError> {
    let Some(root) = root.open()? else { return Ok(Vec::new()) };
    let files = root.blackboards().names().unwrap_or_default();
    let mut names: Vec<_> = files.iter().filter_map(|file| name_of(file.to_str()?)).collect();
    names.sort();
    Ok(names)
}

/// Removes the blackboards of dead writers, and returns their names. Readers that have one open keep its
/// values. Nothing else removes them, so that values outlive a crash until the writer starts again.
pub fn clean_blackboards(root: &Root) -> Result<Vec<String>, RootError> {
    let Some(root) = root.open()? else { return Ok(Vec::new()) };
    let directory = root.blackboards();
    let mut removed = Vec::new();
    for file in directory.names().unwrap_or_default() {
        let place = directory.join(&file);
        let Some(file) = file.to_str() else { continue };
        let (name, is_unfinished) = (name_of(file), file.ends_with(&format!(".{UNFINISHED}")));
        if (name.is_none() && !is_unfinished) || !remove_dead(&place) {
            continue;
        }
        removed.extend(name);
    }
    removed.sort();
    Ok(removed)
}

/// Removes a file that no writer has locked.
fn remove_dead(place: &Beneath) -> bool {
    let Ok(file) = place.open(true) else { return false };
    if beginning(&file, &MAGIC.to_le_bytes()) == Beginning::Foreign
        || rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive).is_err()
    {
        return false;
    }
    let locked = LockedFile::new(file);
    if !leads_to(place, locked.file()) {
        return false;
    }
    leave(locked.file());
    place.remove().is_ok()
}
