//! Detects that a topic's files were removed while participants use them.
//!
//! The root or a topic's directory may be removed by hand, or by systemd when a user logs out (`RemoveIPC`).
//! Mapped memory stays valid, so present members still exchange messages. But participants that join later do
//! not meet them, and treat a node whose file is gone as dead. So a participant that finds a removal returns
//! an error instead of going on in one half of the system.
//!
//! A removal sends no message, and a check takes system calls. So the check is made where files are accessed
//! anyway:
//!
//! - in each [repair](Topic::repair_if_free), which subscribers request once a second while there is nothing
//!   to take;
//! - by publishers, once a second while they publish or wait for room;
//! - by every call that creates a file in the root.
//!
//! The result is stored in a flag of this process, which takes and publications read. It does no harm if the
//! flag is late by a second: messages until then go to members that share the same memory.

use std::io;
use std::sync::atomic::Ordering;

use situ_memory::{Beneath, guard};

use super::file::Topic;
use super::removal::{Removed, RemovedPart};

/// How often a participant without another reason checks.
const LOOK_NS: u64 = 1_000_000_000;

fn is_gone(place: &Beneath) -> bool {
    place.stat().is_err_and(|error| error.kind() == io::ErrorKind::NotFound)
}

impl Topic {
    /// Whether a removal was found. Two loads.
    #[inline(always)]
    pub(crate) fn is_removed(&self) -> bool {
        self.removal.found.load(Ordering::Relaxed) != 0 || (guard::has_damage() && self.look_for_damage())
    }

    /// Whether one of its files was truncated while it was mapped. If so, stores that as a removal.
    #[cold]
    pub(crate) fn look_for_damage(&self) -> bool {
        let is_damaged = self.is_damaged();
        if is_damaged {
            self.removal.found.store(4, Ordering::Relaxed);
        }
        is_damaged
    }

    /// Returns the removal that was found.
    #[cold]
    pub(crate) fn removed(&self) -> Removed {
        let node = self.removal.node.get();
        match (self.removal.found.load(Ordering::Relaxed), node) {
            (3, Some(node)) => Removed { part: RemovedPart::Node, path: node.path().to_owned() },
            (4, _) => Removed { part: RemovedPart::Contents, path: self.damaged_file().path().to_owned() },
            (2, _) => Removed { part: RemovedPart::Topic, path: self.file().path().to_owned() },
            (5, _) => Removed { part: RemovedPart::Topic, path: self.places.file().path().to_owned() },
            _ => Removed { part: RemovedPart::Root, path: self.root.path().to_owned() },
        }
    }

    /// Checks whether a file was removed.
    pub(crate) fn look_for_removal(&self) {
        if !self.process.is_this() || self.is_removed() {
            return;
        }
        let found = if self.root.check().is_err() {
            1
        } else if !self.is_named() {
            2
        } else if !self.places.is_named() {
            5
        } else if self.removal.node.get().is_some_and(is_gone) {
            3
        } else {
            return;
        };
        self.removal.found.store(found, Ordering::Relaxed);
    }

    /// The same, if the last check was more than a second ago.
    #[inline]
    pub(crate) fn look_for_removal_at(&self, now_ns: u64) {
        if now_ns.saturating_sub(self.removal.looked_ns.load(Ordering::Relaxed)) > LOOK_NS {
            self.removal.looked_ns.store(now_ns, Ordering::Relaxed);
            self.look_for_removal_now();
        }
    }

    #[cold]
    #[inline(never)]
    fn look_for_removal_now(&self) {
        self.look_for_removal();
    }
}
