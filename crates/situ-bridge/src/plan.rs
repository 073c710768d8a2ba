//! What should cross: worked out from the graph of the root, the tokens of other machines and the rules.
//!
//! This file decides, and changes nothing. `bridge.rs` compares the plan with what exists.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use situ_bus::{
    Durability, EndpointId, EndpointInfo, EndpointRole, Graph, History, NodeId, NodeInfo, Reliability, Root,
};

use crate::local_types::LocalTypes;
use crate::message_type::MessageType;
use crate::outbound::OutboundQos;
use crate::rules::Rules;
use crate::service_out::ServiceTypes;
use crate::shared::{NODE_MARK, type_key};
use crate::wire::attachment::Gid;
use crate::wire::names::{WireType, is_key_name, ros_topic, topic_key};
use crate::wire::schema_text;
use crate::wire::token::{Kind, Space, Token, TokenEndpoint, gid_of};
use crate::wire::type_hash;

/// The depth of a publisher that keeps all, as far as Zenoh's cache is concerned.
const KEPT: usize = 64;

/// A topic that may leave.
#[derive(Debug)]
pub struct OutTopic {
    /// Its name on the bus.
    pub topic: String,
    /// Its type.
    pub message_type: Arc<MessageType>,
    /// Where its keys lie.
    pub space: Space,
    /// How its messages leave.
    pub qos: OutboundQos,
}

/// A topic or service that may come.
#[derive(Debug)]
pub struct InName {
    /// Its name as its tokens have it.
    pub name: String,
    /// Its type.
    pub wire: WireType,
    /// The tokens of publishers or servers on other machines.
    pub tokens: BTreeSet<String>,
}

/// A service that may be called from other machines.
#[derive(Debug)]
pub struct OutService {
    /// Its name on the bus.
    pub service: String,
    /// Its types.
    pub types: ServiceTypes,
}

/// What should exist.
#[derive(Debug, Default)]
pub struct Plan {
    /// Topics that may leave, by their keys.
    pub out_topics: BTreeMap<String, OutTopic>,
    /// Topics that may come, by their keys.
    pub in_topics: BTreeMap<String, InName>,
    /// Services here, by their keys.
    pub out_services: BTreeMap<String, OutService>,
    /// Services elsewhere, by their keys.
    pub in_services: BTreeMap<String, InName>,
    /// Tokens of what is here.
    pub tokens: BTreeSet<String>,
    /// GIDs of publishers and clients here.
    pub gids: HashMap<EndpointId, Gid>,
    /// Types that others may ask for.
    pub types: HashMap<String, String>,
    /// Topics here with a subscriber that is no bridge.
    pub subscribed: HashSet<String>,
    /// Names with types that are in use here.
    pub used: HashSet<(String, u64)>,
}

/// Numbers of nodes and endpoints in this session.
#[derive(Debug, Default)]
pub struct Numbers {
    nodes: HashMap<NodeId, u64>,
    endpoints: HashMap<EndpointId, u64>,
    next: u64,
}

impl Numbers {
    fn of_node(&mut self, id: NodeId) -> u64 {
        let next = &mut self.next;
        *self.nodes.entry(id).or_insert_with(|| std::mem::replace(next, *next + 1))
    }

    fn of_endpoint(&mut self, id: EndpointId) -> u64 {
        let next = &mut self.next;
        *self.endpoints.entry(id).or_insert_with(|| std::mem::replace(next, *next + 1))
    }

    /// Removes the numbers of nodes and endpoints that are gone.
    pub fn keep(&mut self, graph: &Graph) {
        let nodes: HashSet<NodeId> = graph.nodes.iter().map(|node| node.info.id).collect();
        let endpoints: HashSet<EndpointId> = graph.endpoints().map(|(_, endpoint)| endpoint.id).collect();
        self.nodes.retain(|id, _| nodes.contains(id));
        self.endpoints.retain(|id, _| endpoints.contains(id));
    }
}

/// What a plan is made from.
pub struct Planner<'p> {
    /// The root.
    pub root: &'p Root,
    /// The rules.
    pub rules: &'p Rules,
    /// The domain in keys.
    pub domain: u32,
    /// The session, as tokens write it.
    pub session: &'p str,
    /// The types in the root.
    pub local_types: &'p mut LocalTypes,
    /// Numbers of this session.
    pub numbers: &'p mut Numbers,
}

/// The hash of the type that an endpoint of ROS states: see `rmw_situ`'s user data of endpoints.
fn told_hash(user_data: &[u8]) -> Option<String> {
    let rest = user_data.strip_prefix(b"ROS\x01\x01")?;
    let digest: &[u8; 32] = rest.get(..32)?.try_into().ok()?;
    Some(type_hash::to_text(digest))
}

/// Whether a node belongs to a bridge.
pub fn is_of_bridge(node: &NodeInfo) -> bool {
    node.user_data.starts_with(NODE_MARK)
}

/// The enclave of a node of ROS.
fn enclave(node: &NodeInfo) -> String {
    let text = node.user_data.strip_prefix(b"ROS\x01").and_then(|bytes| std::str::from_utf8(bytes).ok());
    text.filter(|text| text.starts_with('/') && is_key_name(text)).unwrap_or("/").to_owned()
}

/// The name of a topic or service as tokens have it.
fn wire_name(name: &str, space: Space) -> String {
    match space {
        Space::Ros => ros_topic(name),
        Space::Situ => name.to_owned(),
    }
}

impl Planner<'_> {
    /// What should exist.
    pub fn plan(&mut self, graph: &Graph, remote: &HashMap<String, Token>) -> Plan {
        let mut plan = Plan::default();
        let mut publishers: BTreeMap<String, Vec<(Reliability, Durability, usize)>> = BTreeMap::new();
        for node in graph.nodes.iter().filter(|node| !is_of_bridge(&node.info)) {
            if is_key_name(&node.info.name) {
                let number = self.numbers.of_node(node.info.id);
                let token = self.token(&node.info, Kind::Node, number, None);
                plan.tokens.insert(token.key());
            }
            for endpoint in &node.endpoints {
                match endpoint.role.is_of_service() {
                    false => self.add_topic(&mut plan, &mut publishers, &node.info, endpoint),
                    true => self.add_service(&mut plan, &node.info, endpoint),
                }
            }
        }
        for (key, topic) in &mut plan.out_topics {
            let qualities = publishers.remove(key).unwrap_or_default();
            topic.qos = OutboundQos::of(qualities.into_iter(), topic.qos.crossing);
        }
        self.add_remote(&mut plan, remote);
        plan
    }

    fn token(
        &mut self,
        node: &NodeInfo,
        kind: Kind,
        id: u64,
        endpoint: Option<(Space, TokenEndpoint)>,
    ) -> Token {
        let (space, endpoint) =
            endpoint.map_or((Space::Ros, None), |(space, endpoint)| (space, Some(endpoint)));
        Token {
            space,
            domain: self.domain,
            session: self.session.to_owned(),
            node: self.numbers.of_node(node.id).to_string(),
            id: id.to_string(),
            kind,
            enclave: enclave(node),
            namespace: node.namespace.clone(),
            name: node.name.clone(),
            endpoint,
        }
    }

    fn endpoint_token(
        &mut self,
        node: &NodeInfo,
        kind: Kind,
        endpoint: &EndpointInfo,
        wire: &WireType,
    ) -> String {
        let id = self.numbers.of_endpoint(endpoint.id);
        let told = TokenEndpoint {
            topic: wire_name(&endpoint.name, wire.space),
            type_name: wire.name.clone(),
            type_hash: wire.hash.clone(),
            qos: endpoint.qos,
        };
        self.token(node, kind, id, Some((wire.space, told))).key()
    }

    fn add_topic(
        &mut self,
        plan: &mut Plan,
        publishers: &mut BTreeMap<String, Vec<(Reliability, Durability, usize)>>,
        node: &NodeInfo,
        endpoint: &EndpointInfo,
    ) {
        let crossing = self.rules.of(&ros_topic(&endpoint.name));
        let publishes = endpoint.role == EndpointRole::Publisher;
        let crosses = if publishes { crossing.direction.leaves() } else { crossing.direction.arrives() };
        if !crosses {
            return;
        }
        plan.used.insert((endpoint.name.clone(), endpoint.schema_hash));
        let Some(message_type) = self.local_types.of_topic(self.root, &endpoint.name, endpoint.schema_hash)
        else {
            return;
        };
        let wire = message_type.wire(told_hash(&endpoint.user_data));
        let name = wire_name(&endpoint.name, wire.space);
        if !is_key_name(&name) || !is_key_name(&wire.name) {
            return;
        }
        let key = topic_key(self.domain, &name, &wire);
        if !publishes {
            plan.subscribed.insert(endpoint.name.clone());
            plan.tokens.insert(self.endpoint_token(node, Kind::Subscription, endpoint, &wire));
            return;
        }
        let token = self.endpoint_token(node, Kind::Publisher, endpoint, &wire);
        plan.gids.insert(endpoint.id, gid_of(&token));
        plan.tokens.insert(token);
        plan.types.insert(type_key(&wire), schema_text::to_text(message_type.description()));
        let depth = match endpoint.qos.history {
            History::KeepLast(depth) => depth,
            History::KeepAll => KEPT,
        };
        let quality = (endpoint.qos.reliability, endpoint.qos.durability, depth);
        publishers.entry(key.clone()).or_default().push(quality);
        plan.out_topics.entry(key).or_insert_with(|| OutTopic {
            topic: endpoint.name.clone(),
            message_type,
            space: wire.space,
            qos: OutboundQos::of(std::iter::empty(), crossing),
        });
    }

    fn add_service(&mut self, plan: &mut Plan, node: &NodeInfo, endpoint: &EndpointInfo) {
        let crossing = self.rules.of(&ros_topic(&endpoint.name));
        let serves = endpoint.role == EndpointRole::Server;
        // Requests come to a server here, and leave from a client here.
        let crosses = if serves { crossing.direction.arrives() } else { crossing.direction.leaves() };
        if !crosses {
            return;
        }
        plan.used.insert((endpoint.name.clone(), endpoint.schema_hash));
        let Some(types) = self.local_types.of_service(self.root, &endpoint.name, endpoint.schema_hash) else {
            return;
        };
        let wire = types.request.service_wire(&types.reply, told_hash(&endpoint.user_data));
        let name = wire_name(&endpoint.name, wire.space);
        if !is_key_name(&name) || !is_key_name(&wire.name) {
            return;
        }
        if !serves {
            let token = self.endpoint_token(node, Kind::Client, endpoint, &wire);
            plan.gids.insert(endpoint.id, gid_of(&token));
            plan.tokens.insert(token);
            return;
        }
        plan.tokens.insert(self.endpoint_token(node, Kind::Server, endpoint, &wire));
        let text = [&types.request, &types.reply].map(|it| schema_text::to_text(it.description()));
        plan.types.insert(type_key(&wire), text.join("\u{1e}"));
        let key = topic_key(self.domain, &name, &wire);
        let service = endpoint.name.clone();
        plan.out_services.entry(key).or_insert(OutService { service, types });
    }

    fn add_remote(&self, plan: &mut Plan, remote: &HashMap<String, Token>) {
        for (key, token) in remote {
            let Some(endpoint) = &token.endpoint else { continue };
            if token.session == self.session || token.domain != self.domain {
                continue;
            }
            let crossing = self.rules.of(&endpoint.topic).direction;
            let (into, crosses) = match token.kind {
                Kind::Publisher => (&mut plan.in_topics, crossing.arrives()),
                // Requests leave for a server elsewhere.
                Kind::Server => (&mut plan.in_services, crossing.leaves()),
                _ => continue,
            };
            let wire = WireType {
                space: token.space,
                name: endpoint.type_name.clone(),
                hash: endpoint.type_hash.clone(),
            };
            let is_good = is_key_name(&endpoint.topic) && is_key_name(&wire.name) && is_key_name(&wire.hash);
            if !crosses || !is_good {
                continue;
            }
            let place = topic_key(self.domain, &endpoint.topic, &wire);
            let entry = into.entry(place).or_insert_with(|| InName {
                name: endpoint.topic.clone(),
                wire,
                tokens: BTreeSet::new(),
            });
            entry.tokens.insert(key.clone());
        }
    }
}
