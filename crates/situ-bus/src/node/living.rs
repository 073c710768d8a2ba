//! Which nodes were alive when they were last looked for.
//!
//! A look takes some system calls. A process that watches thousands of topics meets the same few nodes in all
//! of them, and looks for each node once a second.

use std::sync::{Mutex, PoisonError};

use situ_memory::OpenRoot;

use crate::clock::coarse_ns;
use crate::node::liveness::{NodeId, is_alive};
use crate::timeouts::REPAIR_INTERVAL_NS;

/// The nodes that were looked for.
#[derive(Debug, Default)]
pub(crate) struct Living {
    known: Mutex<Vec<Known>>,
}

#[derive(Debug)]
struct Known {
    node: NodeId,
    looked_ns: u64,
    is_alive: bool,
}

impl Living {
    /// Whether the node is alive, or was less than a second ago.
    pub(crate) fn is_alive(&self, root: &OpenRoot, node: NodeId) -> bool {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let now = coarse_ns();
        let is_new = |known: &Known| now.saturating_sub(known.looked_ns) < REPAIR_INTERVAL_NS;
        if let Some(known) = known.iter().find(|known| known.node == node && is_new(known)) {
            return known.is_alive;
        }
        known.retain(is_new);
        let is_alive = is_alive(root, node);
        known.push(Known { node, looked_ns: now, is_alive });
        is_alive
    }
}
