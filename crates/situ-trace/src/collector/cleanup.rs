//! Removes files that sessions leave: rings, and the control file.

use std::fs::File;

use situ_memory::beneath::{Beginning, beginning};
use situ_memory::{Beneath, Root, RootError};

use crate::shm::control::{Control, ControlError};
use crate::shm::format::MAGIC;
use crate::shm::ring::{EXTENSION, UNFINISHED};

/// Removes the rings of sessions whose collector died. The caller holds the lock, so there is no session.
pub(super) fn remove_leftovers(control: &Control) {
    for name in control.directory().names().unwrap_or_default() {
        if is_number(&name.to_string_lossy()) {
            remove_rings(&control.directory().join(name));
        }
    }
}

fn is_number(name: &str) -> bool {
    name.len() == 16 && u64::from_str_radix(name, 16).is_ok()
}

/// Removes a session's directory with its rings. A file without a ring's name or content stays, and then the
/// directory stays.
pub(super) fn remove_rings(directory: &Beneath) {
    let is_ring = |file: &File| beginning(file, &MAGIC) != Beginning::Foreign;
    for name in directory.names().unwrap_or_default() {
        let is_named = |name: &str| {
            name.split_once('.').is_some_and(|(number, extension)| {
                is_number(number) && [EXTENSION, UNFINISHED].contains(&extension)
            })
        };
        if name.to_str().is_some_and(is_named) {
            directory.join(name).remove_if(is_ring);
        }
    }
    let _ = directory.remove_directory();
}

/// Removes the rings of sessions with a dead collector. If no node lives in the root, also removes the
/// control file. While a collector lives, removes nothing.
///
/// Fails if other users could tamper with the root directory.
pub fn clean(root: &Root) -> Result<(), RootError> {
    let Some(open) = root.open()? else { return Ok(()) };
    let in_use = || situ_bus::inspect::nodes(root).map_or(true, |nodes| nodes.iter().any(|node| node.alive));
    match Control::find(root) {
        Ok(Some(control)) if !control.has_collector() => {
            if let Ok(Some(_lock)) = control.lock() {
                remove_leftovers(&control);
                if !in_use() {
                    control.remove();
                }
            }
        }
        Ok(_) => {}
        Err(ControlError::Root(error)) => return Err(error),
        Err(ControlError::Memory(_)) => _ = Control::remove_broken(&open, in_use()),
    }
    Ok(())
}
