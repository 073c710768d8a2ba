//! A node, as errors name it.

use std::fmt;

use situ_layout::foreign::Foreign;
use situ_memory::OpenRoot;

use super::liveness::{self, NodeId};

/// A node on the other side of a topic. Its text is its name and its id, such as
/// `node "camera" (00000a1b00000001)`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Peer {
    /// The node's id.
    pub id: NodeId,
    /// The node's name. It is empty if the node's file is gone.
    pub name: String,
}

impl Peer {
    pub(crate) fn find(root: &OpenRoot, id: NodeId) -> Self {
        Self { id, name: liveness::node(root, id).map(|it| it.name).unwrap_or_default() }
    }
}

impl fmt::Display for Peer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.name.is_empty() {
            return write!(f, "node {}", self.id);
        }
        write!(f, "node \"{}\" ({})", Foreign(&self.name), self.id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_others_cannot_control_a_terminal() {
        let peer = |name: &str| Peer { id: NodeId(0xa1b), name: name.to_owned() }.to_string();
        assert_eq!(peer("camera"), "node \"camera\" (0000000000000a1b)");
        assert_eq!(peer("a\x1b[2J"), "node \"a\\u{1b}[2J\" (0000000000000a1b)");
        assert_eq!(peer(""), "node 0000000000000a1b");
    }
}
