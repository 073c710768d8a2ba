//! What participants find removed of the files that they use. See `look_for_removal` for how they find it.

use std::path::PathBuf;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU8, AtomicU64};

use situ_memory::Beneath;

use crate::clock::now_ns;

/// What was removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RemovedPart {
    /// The root directory, or another one is in its place.
    Root,
    /// A file of the topic: its own, or that of its subscribers.
    Topic,
    /// The file of the participant's node.
    Node,
    /// A part of a topic's file: the file was made shorter, and [the guard](situ_memory::guard) has found it.
    Contents,
}

/// What a participant found removed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Removed {
    /// What it is.
    pub part: RemovedPart,
    /// Where it was.
    pub path: PathBuf,
}

impl std::fmt::Display for Removed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let path = self.path.display();
        match self.part {
            RemovedPart::Root => write!(
                f,
                "the root {path} was removed while it was in use, so that programs which start now do not meet this one: start it anew (systemd \
                 removes it when its user logs out, unless RemoveIPC=no is in logind.conf, or after `loginctl enable-linger`)"
            ),
            RemovedPart::Topic => {
                write!(f, "{path} was removed while it was in use: leave the topic and join again")
            }
            RemovedPart::Contents => {
                write!(f, "{path} was made shorter while it was in use: leave the topic and join again")
            }
            RemovedPart::Node => write!(
                f,
                "the node's file {path} was removed, so that others take the node for dead: make another node, and join with that"
            ),
        }
    }
}

/// What one participant's process knows of it.
#[derive(Debug)]
pub(crate) struct Removal {
    /// 0: nothing was found. Otherwise the part.
    pub(super) found: AtomicU8,
    pub(super) looked_ns: AtomicU64,
    pub(super) node: OnceLock<Beneath>,
}

impl Removal {
    /// Of what was there just now.
    pub(crate) fn new() -> Self {
        Self { found: AtomicU8::new(0), looked_ns: AtomicU64::new(now_ns()), node: OnceLock::new() }
    }

    /// The file of the node that takes part.
    pub(crate) fn watch_node(&self, file: Beneath) {
        let _ = self.node.set(file);
    }
}
