//! The removal of files that are in use. See `look_for_removal` for how participants find it.

use std::path::PathBuf;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU8, AtomicU64};

use situ_memory::Beneath;

use crate::clock::now_ns;

/// The part that was removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RemovedPart {
    /// The root directory, or another directory is in its place.
    Root,
    /// A file of the topic: its own, or that of its subscribers.
    Topic,
    /// The file of the participant's node.
    Node,
    /// A part of a topic's file: the file was truncated, and [the guard](situ_memory::guard) has found it.
    Contents,
}

/// A removal that a participant has found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Removed {
    /// The part.
    pub part: RemovedPart,
    /// Its path.
    pub path: PathBuf,
}

impl std::fmt::Display for Removed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let path = self.path.display();
        match self.part {
            RemovedPart::Root => write!(
                f,
                "the root {path} was removed while it was in use, so that programs that start now do not meet this one: restart this one \
                 (systemd removes it when its user logs out, unless RemoveIPC=no is in logind.conf, or after `loginctl enable-linger`)"
            ),
            RemovedPart::Topic => {
                write!(f, "{path} was removed while it was in use: leave the topic and join again")
            }
            RemovedPart::Contents => {
                write!(f, "{path} was made shorter while it was in use: leave the topic and join again")
            }
            RemovedPart::Node => write!(
                f,
                "the node's file {path} was removed, so that other programs treat the node as dead: create another node and join with it"
            ),
        }
    }
}

/// The removals that one participant's process has found.
#[derive(Debug)]
pub(crate) struct Removal {
    /// 0: none was found. Otherwise the part.
    pub(super) found: AtomicU8,
    pub(super) looked_ns: AtomicU64,
    pub(super) node: OnceLock<Beneath>,
}

impl Removal {
    /// No removal was found yet; the next check is due in a second.
    pub(crate) fn new() -> Self {
        Self { found: AtomicU8::new(0), looked_ns: AtomicU64::new(now_ns()), node: OnceLock::new() }
    }

    /// Sets the file of the participant's node.
    pub(crate) fn watch_node(&self, file: Beneath) {
        let _ = self.node.set(file);
    }
}
