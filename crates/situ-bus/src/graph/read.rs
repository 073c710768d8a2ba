//! The graph at one time.
//!
//! Reading costs one open file for each node, and one look at each process. A node's file is read with all
//! its records at once; topics are not touched.

use std::collections::{BTreeMap, HashMap};
use std::fs::File;
use std::io;

use rustix::fs::FlockOperation;
use situ_memory::process::{Identity, State};
use situ_memory::{Beneath, OpenRoot};

use super::endpoint_info::{EndpointInfo, EndpointRole};
use super::record::decode;
use crate::node::handle::Node;
use crate::node::liveness::{EXTENSION, NodeId, NodeInfo, identity, info_of, number_of};
use crate::node::node_file::RecordReader;
use crate::node::options::{is_namespace, is_node_name};
use crate::observe::inspect::InspectError;
use crate::root::Root;

/// The greatest number of endpoints that a reader accepts. Files of others could have billions.
const MAX_ENDPOINTS: usize = 1 << 20;

/// The living nodes of a root, with their endpoints.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Graph {
    /// The nodes, by their names with namespace. Several may have the same name.
    pub nodes: Vec<GraphNode>,
}

/// A node and its endpoints.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GraphNode {
    /// The node.
    pub info: NodeInfo,
    /// Its publishers, subscribers, clients and servers, by role and name.
    pub endpoints: Vec<EndpointInfo>,
}

/// A topic, by those who use it.
#[derive(Debug, Clone, Default)]
pub struct GraphTopic<'a> {
    /// Its name.
    pub name: &'a str,
    /// The names of its types: one, unless versions of a type have different names.
    pub type_names: Vec<&'a str>,
    /// Its publishers, each with its node.
    pub publishers: Vec<(&'a NodeInfo, &'a EndpointInfo)>,
    /// Its subscribers, each with its node.
    pub subscribers: Vec<(&'a NodeInfo, &'a EndpointInfo)>,
}

/// A service, by those who use it.
#[derive(Debug, Clone, Default)]
pub struct GraphService<'a> {
    /// Its name.
    pub name: &'a str,
    /// The names of its types: `<request> -> <reply>`.
    pub type_names: Vec<&'a str>,
    /// Its clients, each with its node.
    pub clients: Vec<(&'a NodeInfo, &'a EndpointInfo)>,
    /// Its servers, each with its node.
    pub servers: Vec<(&'a NodeInfo, &'a EndpointInfo)>,
}

impl Graph {
    /// The present graph of a root. Nodes whose files cannot be read as such are left out.
    pub fn read(root: &Root) -> Result<Self, InspectError> {
        root.open()?.map_or_else(|| Ok(Self::default()), |root| Self::read_open(&root))
    }

    fn read_open(root: &OpenRoot) -> Result<Self, InspectError> {
        let directory = root.nodes();
        let names = match directory.names() {
            Ok(names) => names,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Self::default()),
            Err(source) => return Err(InspectError::List { path: directory.path().to_owned(), source }),
        };
        let mut reader = Reader::default();
        let nodes = names.iter().filter_map(|name| {
            let id = number_of(name, EXTENSION)?;
            reader.read(id, &directory.join(name))
        });
        let mut nodes: Vec<_> = nodes.map(|node| (node.info.full_name(), node)).collect();
        nodes.sort_by(|(a_name, a), (b_name, b)| (a_name, a.info.id).cmp(&(b_name, b.info.id)));
        Ok(Self { nodes: nodes.into_iter().map(|(_, node)| node).collect() })
    }

    /// All endpoints, each with its node.
    pub fn endpoints(&self) -> impl Iterator<Item = (&NodeInfo, &EndpointInfo)> {
        self.nodes.iter().flat_map(|node| node.endpoints.iter().map(move |it| (&node.info, it)))
    }

    /// The topics that have a publisher or a subscriber, by name.
    pub fn topics(&self) -> Vec<GraphTopic<'_>> {
        let mut topics: BTreeMap<&str, GraphTopic<'_>> = BTreeMap::new();
        for (node, endpoint) in self.endpoints().filter(|(_, endpoint)| !endpoint.role.is_of_service()) {
            let topic = topics.entry(&endpoint.name).or_default();
            topic.name = &endpoint.name;
            add_once(&mut topic.type_names, &endpoint.type_name);
            match endpoint.role {
                EndpointRole::Publisher => topic.publishers.push((node, endpoint)),
                _ => topic.subscribers.push((node, endpoint)),
            }
        }
        topics.into_values().collect()
    }

    /// The services that have a client or a server, by name.
    pub fn services(&self) -> Vec<GraphService<'_>> {
        let mut services: BTreeMap<&str, GraphService<'_>> = BTreeMap::new();
        for (node, endpoint) in self.endpoints().filter(|(_, endpoint)| endpoint.role.is_of_service()) {
            let service = services.entry(&endpoint.name).or_default();
            service.name = &endpoint.name;
            add_once(&mut service.type_names, &endpoint.type_name);
            match endpoint.role {
                EndpointRole::Client => service.clients.push((node, endpoint)),
                _ => service.servers.push((node, endpoint)),
            }
        }
        services.into_values().collect()
    }
}

fn add_once<'a>(names: &mut Vec<&'a str>, name: &'a str) {
    if !names.contains(&name) {
        names.push(name);
    }
}

impl Node {
    /// The present graph of its root and graph domain.
    pub fn graph(&self) -> Result<Graph, InspectError> {
        Graph::read_open(&self.inner.root)
    }
}

/// Reads the files of nodes one after the other.
#[derive(Debug)]
struct Reader {
    records: RecordReader,
    /// The processes that were looked up. Many nodes may belong to one.
    processes: HashMap<Identity, State>,
    /// How many more endpoints are accepted.
    room: usize,
}

impl Default for Reader {
    fn default() -> Self {
        Self { records: RecordReader::new(), processes: HashMap::new(), room: MAX_ENDPOINTS }
    }
}

impl Reader {
    /// The node of a file. `None` if it is dead or the file is not one of a node.
    fn read(&mut self, id: NodeId, place: &Beneath) -> Option<GraphNode> {
        let file = place.open(false).ok()?;
        if !is_locked(&file) {
            return None;
        }
        let mut info = None;
        let mut endpoints = Vec::new();
        let processes = &mut self.processes;
        let accept = |text: &[u8]| {
            info = std::str::from_utf8(text).ok().and_then(|text| living(processes, id, text));
            info.is_some()
        };
        let room = self.room;
        let visit = |endpoint| {
            if endpoints.len() < room {
                endpoints.push(endpoint);
            }
        };
        self.records.read(&file, accept, |bytes| decode(id, bytes), visit).ok()?;
        self.room -= endpoints.len();
        endpoints.sort_by(|a: &EndpointInfo, b| (a.role, &a.name, a.id).cmp(&(b.role, &b.name, b.id)));
        Some(GraphNode { info: info?, endpoints })
    }
}

/// Whether a process holds the lock of a node's file.
fn is_locked(file: &File) -> bool {
    rustix::fs::flock(file, FlockOperation::NonBlockingLockShared).is_err()
}

/// What the text of a locked file says, if it is that of a node whose process has not ended.
fn living(processes: &mut HashMap<Identity, State>, id: NodeId, text: &str) -> Option<NodeInfo> {
    let process = identity(text);
    let info = info_of(id, text)?;
    let state = *processes.entry(process).or_insert_with(|| process.state());
    let is_valid = is_node_name(&info.name) && is_namespace(&info.namespace);
    (is_valid && state != State::Ended).then_some(info)
}
