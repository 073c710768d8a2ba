//! What a bridge says about itself.

use crate::counts::CountValues;

/// Which way a topic or service crosses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Way {
    /// From this machine to others.
    Out,
    /// From others to this machine.
    In,
}

/// A topic or a service that crosses, or could.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CrossingStatus {
    /// Whether it is a service.
    pub is_service: bool,
    /// Which way. Of a service, that of its requests.
    pub way: Way,
    /// Its name on the bus.
    pub name: String,
    /// Its type.
    pub type_name: String,
    /// Its key on the network.
    pub key: String,
    /// Whether it crosses now: the other side subscribes.
    pub is_active: bool,
    /// What has crossed.
    pub counts: CountValues,
}

/// Another bridge of Situ.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct PeerStatus {
    /// Its session.
    pub session: String,
    /// Its machine's name.
    pub host: String,
}

/// The state of a bridge.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Status {
    /// Its session.
    pub session: String,
    /// The domain in its keys.
    pub domain: u32,
    /// Other bridges.
    pub bridges: Vec<PeerStatus>,
    /// Nodes on other machines.
    pub remote_nodes: usize,
    /// How many bytes topics of other machines keep here for late subscribers.
    pub kept_bytes: u64,
    /// Topics and services.
    pub crossings: Vec<CrossingStatus>,
    /// Topics and services of other machines whose types are not known here.
    pub untyped: Vec<String>,
}
