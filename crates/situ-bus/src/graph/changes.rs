//! What differs between the graph at two times.

use std::collections::HashSet;

use super::endpoint_info::EndpointInfo;
use super::read::Graph;
use crate::node::endpoint::EndpointId;
use crate::node::liveness::{NodeId, NodeInfo};

/// What was created and what is gone between two graphs. An endpoint or a node never changes: one with the
/// same id is the same.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct GraphChanges {
    /// The new nodes.
    pub nodes_joined: Vec<NodeInfo>,
    /// The nodes that are gone.
    pub nodes_left: Vec<NodeInfo>,
    /// The new endpoints, also those of new nodes.
    pub endpoints_joined: Vec<EndpointInfo>,
    /// The endpoints that are gone, also those of nodes that are gone.
    pub endpoints_left: Vec<EndpointInfo>,
}

impl GraphChanges {
    /// Whether nothing differs.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

impl Graph {
    /// What has changed since `earlier`.
    pub fn changes_since(&self, earlier: &Self) -> GraphChanges {
        GraphChanges {
            nodes_joined: nodes_without(self, earlier),
            nodes_left: nodes_without(earlier, self),
            endpoints_joined: endpoints_without(self, earlier),
            endpoints_left: endpoints_without(earlier, self),
        }
    }
}

/// The nodes of one graph that another does not have.
fn nodes_without(graph: &Graph, other: &Graph) -> Vec<NodeInfo> {
    let known: HashSet<NodeId> = other.nodes.iter().map(|node| node.info.id).collect();
    let nodes = graph.nodes.iter().filter(|node| !known.contains(&node.info.id));
    nodes.map(|node| node.info.clone()).collect()
}

/// The endpoints of one graph that another does not have.
fn endpoints_without(graph: &Graph, other: &Graph) -> Vec<EndpointInfo> {
    let known: HashSet<EndpointId> = other.endpoints().map(|(_, endpoint)| endpoint.id).collect();
    let endpoints = graph.endpoints().filter(|(_, endpoint)| !known.contains(&endpoint.id));
    endpoints.map(|(_, endpoint)| endpoint.clone()).collect()
}
