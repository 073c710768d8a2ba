//! Which nodes were alive when they were last looked for.
//!
//! A look takes some system calls. A process that watches thousands of topics, and a repair of a topic with
//! thousands of members, meet the same few nodes again and again. They look for each node once a second.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use situ_memory::OpenRoot;

use crate::clock::coarse_ns;
use crate::node::liveness::{NodeId, is_alive};
use crate::timeouts::REPAIR_INTERVAL_NS;

/// The nodes that were looked for, each with the time of the look and its result.
#[derive(Debug, Default)]
pub(crate) struct Living {
    known: Mutex<HashMap<NodeId, (u64, bool)>>,
}

impl Living {
    /// Whether the node is alive, or was less than a second ago.
    pub(crate) fn is_alive(&self, root: &OpenRoot, node: NodeId) -> bool {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let now = coarse_ns();
        let is_new = |looked_ns: u64| now.saturating_sub(looked_ns) < REPAIR_INTERVAL_NS;
        if let Some((looked_ns, is_alive)) = known.get(&node)
            && is_new(*looked_ns)
        {
            return *is_alive;
        }
        known.retain(|_, (looked_ns, _)| is_new(*looked_ns));
        let is_alive = is_alive(root, node);
        known.insert(node, (now, is_alive));
        is_alive
    }
}
