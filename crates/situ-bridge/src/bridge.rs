//! The bridge: holds what crosses, and changes it when the graph here or the tokens of others change.
//!
//! One thread decides: the one that calls [`Bridge::step`]. Threads of Zenoh tell it events.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, PoisonError};
use std::time::{Duration, Instant};

use situ_bus::{Graph, Node, NodeOptions, Root, inspect};
use zenoh::Wait;
use zenoh::liveliness::LivelinessToken;
use zenoh::query::{ConsolidationMode, QueryTarget, Queryable, Reply};
use zenoh::sample::Locality;

use crate::config::{SessionOptions, reason};
use crate::discovery::{TYPES, ToldType, answer_types, read_type, watch_graph, watch_tokens};
use crate::error::BridgeError;
use crate::exposure::Access;
use crate::heard::{OtherBridge, bridge_key, host_name};
use crate::inbound::{Inbound, endpoint_data};
use crate::kept::Kept;
use crate::local_types::LocalTypes;
use crate::message_type::MessageType;
use crate::outbound::Outbound;
use crate::plan::{InName, Numbers, Plan, Planner, is_of_bridge};
use crate::ros_types::{Found, RosTypes};
use crate::rules::Rules;
use crate::service_in::ServiceIn;
use crate::service_out::{ServiceOut, ServiceTypes};
use crate::shared::{Event, NODE_MARK, Shared, Tokens, type_key};
use crate::status::{CrossingStatus, PeerStatus, Status, Way};
use crate::wire::names::{WireType, bus_topic, bus_type_name};
use crate::wire::schema_text;
use crate::wire::token::{Kind, Space, Token, gid_of};

/// Changes that come within this time are handled together.
const GATHER: Duration = Duration::from_millis(3);
/// How often the graph is read if nothing seems to change.
const LOOK: Duration = Duration::from_secs(2);
/// How often a type that is not known is asked for again.
const ASK: Duration = Duration::from_secs(1);
/// How long an answer to that may take.
const ASK_LIMIT: Duration = Duration::from_secs(5);
/// How many types are asked for at once. If there are more, each is asked for less often.
const ASKS: usize = 256;
/// How many bytes of answers may wait at most: peers may send them without end.
const MAX_ANSWERS: usize = 16 << 20;
/// How many changes are handled together at most: peers may send them without end.
const MAX_GROUP: usize = 10_000;
/// How many nodes of others are shown here: each is a file.
const MAX_NODES: usize = 1024;
/// How many publishers of others have one here: each has shared memory.
const MAX_PUBLISHERS: usize = 4096;
/// How many services of others are offered here: each has a thread.
const MAX_SERVICES: usize = 1024;
/// How many types that others told are kept.
const MAX_TOLD: usize = 1024;

/// What a bridge does.
#[derive(Debug)]
pub struct BridgeOptions {
    /// The root.
    pub root: Root,
    /// The name of its node.
    pub name: String,
    /// The domain in keys. Without one, the graph domain of the root.
    pub domain: Option<u32>,
    /// How it reaches others.
    pub session: SessionOptions,
    /// What crosses.
    pub rules: Rules,
    /// How many bytes topics of other machines that are transient local keep here for late subscribers, all
    /// together. The default is [`DEFAULT_KEPT`](Self::DEFAULT_KEPT).
    pub keep_bytes: u64,
}

impl BridgeOptions {
    /// The default of [`keep_bytes`](Self::keep_bytes): 256 MiB.
    pub const DEFAULT_KEPT: u64 = 256 << 20;
}

/// A bridge.
pub struct Bridge {
    node: Node,
    shared: Arc<Shared>,
    session: String,
    rules: Rules,
    events: Receiver<Event>,
    looked: Instant,
    numbers: Numbers,
    local_types: LocalTypes,
    /// Tokens of others.
    remote: HashMap<String, Token>,
    /// Other bridges, by their tokens.
    bridges: BTreeMap<String, OtherBridge>,
    told: HashMap<WireType, ToldType>,
    ros_types: RosTypes,
    /// Types that are not among those of ROS.
    looked_up: HashSet<WireType>,
    /// When types were last asked for.
    asked: HashMap<WireType, Instant>,
    /// How many were asked for since the last look.
    asks: usize,
    /// The bytes of answers that wait.
    answers: Arc<AtomicUsize>,
    untyped: Vec<String>,
    tokens: Tokens,
    outbound: HashMap<String, Outbound>,
    matching: HashSet<String>,
    inbound: HashMap<String, Inbound>,
    services_out: HashMap<String, ServiceOut>,
    services_in: HashMap<String, ServiceIn>,
    /// Nodes with the names of nodes on other machines, by session and number.
    proxies: HashMap<(String, String), Node>,
    /// Names of what was refused, so that there is one warning for each.
    refused: HashSet<String>,
    warnings: Vec<String>,
    // The last fields: they are declared for as long as all others exist.
    _own: LivelinessToken,
    _types: Queryable<()>,
}

/// Ends a bridge's wait, from another thread.
#[derive(Debug, Clone)]
pub struct Waker(Sender<Event>);

impl Waker {
    /// Ends the present or next wait.
    pub fn wake(&self) {
        let _ = self.0.send(Event::Stop);
    }
}

fn host() -> String {
    let name = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    let good = host_name(&name);
    if good.is_empty() { "unknown".to_owned() } else { good }
}

impl Bridge {
    /// Opens a session, and joins the root.
    pub fn start(options: BridgeOptions) -> Result<Self, BridgeError> {
        let config = options.session.config()?;
        let access = Access::of(&config);
        let root = options.root;
        let node_options =
            NodeOptions { root: Some(root.clone()), user_data: NODE_MARK.to_vec(), ..NodeOptions::default() };
        let node = Node::with_options(&options.name, node_options)?;
        let session = zenoh::open(config).wait();
        let session = session.map_err(|error| BridgeError::Open { reason: reason(&error) })?;
        let domain = options.domain.unwrap_or_else(|| root.graph_domain());
        let (sender, events) = channel();
        let shared = Arc::new(Shared::new(session, &root, domain, Kept::new(options.keep_bytes), sender));
        shared.own(node.id());
        watch_graph(&shared, &node)?;
        watch_tokens(&shared)?;
        let name = shared.session.zid().to_string();
        let own = bridge_key(domain, &name, shared.origin, &host());
        let own = shared.session.liveliness().declare_token(own).wait();
        let _own = own.map_err(BridgeError::declare("the token of a bridge"))?;
        let _types = answer_types(&shared)?;
        let open = access.warning(&locators(&shared), &options.session.listen);
        Ok(Self {
            node,
            session: name,
            rules: options.rules,
            events,
            looked: Instant::now(),
            numbers: Numbers::default(),
            local_types: LocalTypes::default(),
            remote: HashMap::new(),
            bridges: BTreeMap::new(),
            told: HashMap::new(),
            ros_types: RosTypes::default(),
            looked_up: HashSet::new(),
            asked: HashMap::new(),
            asks: 0,
            answers: Arc::default(),
            untyped: Vec::new(),
            tokens: Tokens::new(),
            outbound: HashMap::new(),
            matching: HashSet::new(),
            inbound: HashMap::new(),
            services_out: HashMap::new(),
            services_in: HashMap::new(),
            proxies: HashMap::new(),
            refused: HashSet::new(),
            warnings: open.into_iter().collect(),
            shared,
            _own,
            _types,
        })
    }

    /// Ends a wait of [`step`](Self::step) from another thread.
    pub fn waker(&self) -> Waker {
        Waker(self.shared.events.clone())
    }

    /// Endpoints on which it listens.
    pub fn locators(&self) -> Vec<String> {
        locators(&self.shared)
    }

    /// Waits for a change, at most for `timeout`, and handles it.
    pub fn step(&mut self, timeout: Duration) -> Result<(), BridgeError> {
        let period = if self.untyped.is_empty() { LOOK } else { ASK };
        let left = period.saturating_sub(self.looked.elapsed());
        match self.events.recv_timeout(timeout.min(left)) {
            Ok(event) => {
                let mut changed = self.handle(event);
                // Changes come in groups: a program that starts makes a node and several endpoints.
                let end = Instant::now() + GATHER;
                for _ in 0..MAX_GROUP {
                    let left = end.saturating_duration_since(Instant::now());
                    let Ok(event) = self.events.recv_timeout(left) else { break };
                    changed |= self.handle(event);
                }
                if changed {
                    self.reconcile()?;
                }
            }
            Err(RecvTimeoutError::Timeout) if self.looked.elapsed() >= period => self.reconcile()?,
            Err(_) => {}
        }
        Ok(())
    }

    /// Handles an event. Returns whether the plan may change with it.
    fn handle(&mut self, event: Event) -> bool {
        match event {
            Event::Graph => {}
            Event::Heard => {
                let heard = self.shared.heard.lock().unwrap_or_else(PoisonError::into_inner).read();
                let Some((remote, bridges)) = heard else { return false };
                self.cancel_gone_clients(&remote);
                (self.remote, self.bridges) = (remote, bridges);
            }
            Event::Matching(key, true) => return self.matching.insert(key),
            Event::Matching(key, false) => return self.matching.remove(&key),
            Event::Told(wire, bytes) => {
                self.answers.fetch_sub(bytes.len(), Ordering::Relaxed);
                return self.take_type(wire, &bytes);
            }
            Event::Warning(text) => {
                self.warnings.push(text);
                return false;
            }
            Event::Stop => return false,
        }
        true
    }

    /// Cancels the calls of clients on other machines that are not among the tokens any more.
    fn cancel_gone_clients(&self, remote: &HashMap<String, Token>) {
        let of_clients = self.remote.iter().filter(|(_, token)| token.kind == Kind::Client);
        let gone = of_clients.filter(|(key, _)| !remote.contains_key(*key));
        let gone: Vec<_> = gone.map(|(key, _)| gid_of(key)).collect();
        if !gone.is_empty() {
            self.services_out.values().for_each(|service| service.cancel_clients(&gone));
        }
    }

    /// Warns once of each.
    fn refuse(&mut self, what: &str, text: String) {
        if self.refused.len() < 10_000 && self.refused.insert(what.to_owned()) {
            self.warnings.push(text);
        }
    }

    /// Compares what exists with what should.
    fn reconcile(&mut self) -> Result<(), BridgeError> {
        self.looked = Instant::now();
        let graph = self.node.graph()?;
        // A second bridge of this root tells of the same nodes.
        let of_own_root: HashSet<String> = self
            .bridges
            .values()
            .filter(|other| other.origin == self.shared.origin)
            .map(|other| other.peer.session.clone())
            .collect();
        let mut remote = std::mem::take(&mut self.remote);
        let hidden: Vec<(String, Token)> = match of_own_root.is_empty() {
            true => Vec::new(),
            false => remote.extract_if(|_, token| of_own_root.contains(&token.session)).collect(),
        };
        let mut planner = Planner {
            root: &self.shared.root,
            rules: &self.rules,
            domain: self.shared.domain,
            session: &self.session,
            local_types: &mut self.local_types,
            numbers: &mut self.numbers,
        };
        let plan = planner.plan(&graph, &remote);
        self.warnings.extend(self.local_types.take_warnings());
        self.local_types.keep(&plan.used);
        self.numbers.keep(&graph);
        self.shared.set_gids(plan.gids.clone());
        self.shared.set_types(plan.types.clone());
        self.mirror_nodes(&remote);
        // Tokens come after what they tell of: a client calls a server as soon as it sees its token.
        self.apply_outbound(&plan);
        self.apply_services_out(&plan);
        self.apply_tokens(&plan);
        self.untyped.clear();
        self.asks = 0;
        let wires: HashSet<&WireType> =
            plan.in_topics.values().chain(plan.in_services.values()).map(|it| &it.wire).collect();
        self.told.retain(|wire, _| wires.contains(wire));
        self.looked_up.retain(|wire| wires.contains(wire));
        self.asked.retain(|wire, _| wires.contains(wire));
        self.apply_inbound(&plan, &remote);
        self.apply_services_in(&plan, &graph, &remote);
        remote.extend(hidden);
        self.remote = remote;
        self.inbound.values().for_each(Inbound::count_kept);
        self.shared.kept.enforce(None);
        Ok(())
    }

    fn apply_tokens(&mut self, plan: &Plan) {
        self.tokens.retain(|key, _| plan.tokens.contains(key));
        for key in &plan.tokens {
            if self.tokens.contains_key(key) {
                continue;
            }
            match self.shared.session.liveliness().declare_token(key.clone()).wait() {
                Ok(token) => {
                    self.tokens.insert(key.clone(), token);
                }
                Err(error) => self.refuse(key, format!("Zenoh refuses the token {key:?}: {error}")),
            }
        }
    }

    fn apply_outbound(&mut self, plan: &Plan) {
        self.outbound.retain(|key, it| {
            plan.out_topics.get(key).is_some_and(|wanted| wanted.qos == it.qos && wanted.topic == it.topic)
        });
        let outbound = &self.outbound;
        self.matching.retain(|key| outbound.contains_key(key));
        for (key, wanted) in &plan.out_topics {
            if !self.outbound.contains_key(key) {
                let types = (&wanted.message_type, wanted.space);
                match Outbound::declare(&self.shared, (&wanted.topic, key), types, wanted.qos.clone()) {
                    Ok(made) => {
                        if made.has_subscriber() {
                            self.matching.insert(key.clone());
                        }
                        self.outbound.insert(key.clone(), made);
                    }
                    Err(error) => self.refuse(key, format!("topic {:?} is not sent: {error}", wanted.topic)),
                }
            }
            let active = self.matching.contains(key);
            let Some(it) = self.outbound.get_mut(key) else { continue };
            it.tidy();
            if let Err(error) = it.set_active(&self.node, active) {
                self.refuse(key, format!("topic {:?} is not sent: {error}", wanted.topic));
            }
        }
    }

    /// Makes a node here for each node of another machine.
    fn mirror_nodes(&mut self, remote: &HashMap<String, Token>) {
        let place = |token: &Token| (token.session.clone(), token.node.clone());
        let wanted: HashSet<_> = remote.values().map(place).collect();
        let is_used = |place: &(String, String)| wanted.contains(place);
        self.proxies.retain(|place, _| is_used(place));
        for token in remote.values().filter(|token| token.kind == Kind::Node) {
            self.proxy(token);
        }
    }

    fn proxy(&mut self, token: &Token) -> Option<Node> {
        let place = (token.session.clone(), token.node.clone());
        if let Some(node) = self.proxies.get(&place) {
            return Some(node.clone());
        }
        if self.proxies.len() >= MAX_NODES {
            self.refuse(
                "nodes",
                format!("more than {MAX_NODES} nodes on other machines: others are not shown"),
            );
            return None;
        }
        let mut user_data = NODE_MARK.to_vec();
        user_data.extend_from_slice(token.session.as_bytes().get(..32).unwrap_or(token.session.as_bytes()));
        let namespace = if token.namespace == "/" { String::new() } else { token.namespace.clone() };
        let options =
            NodeOptions { namespace, user_data, root: Some(self.shared.root.clone()), graph_domain: None };
        match Node::with_options(&token.name, options) {
            Ok(node) => {
                self.shared.own(node.id());
                self.proxies.insert(place, node.clone());
                Some(node)
            }
            Err(error) => {
                self.refuse(
                    &token.name,
                    format!("the node {:?} of another machine is not shown: {error}", token.name),
                );
                None
            }
        }
    }

    fn apply_inbound(&mut self, plan: &Plan, remote: &HashMap<String, Token>) {
        self.inbound.retain(|key, _| plan.in_topics.contains_key(key));
        let mut publishers: usize = self.inbound.values().map(|it| it.tokens().len()).sum();
        for (key, wanted) in &plan.in_topics {
            if !self.inbound.contains_key(key) {
                let Some(made) = self.make_inbound(key, wanted) else { continue };
                self.inbound.insert(key.clone(), made);
            }
            let Some(mut it) = self.inbound.remove(key) else { continue };
            for token in it.tokens() {
                if !wanted.tokens.contains(&token) {
                    it.remove(&token);
                }
            }
            let known = it.tokens();
            for text in wanted.tokens.iter().filter(|text| !known.contains(text)) {
                let Some(token) = remote.get(text) else { continue };
                if publishers >= MAX_PUBLISHERS {
                    let text = format!(
                        "more than {MAX_PUBLISHERS} publishers on other machines: others are ignored"
                    );
                    self.refuse("publishers", text);
                    break;
                }
                let (Some(endpoint), Some(node)) = (&token.endpoint, self.proxy(token)) else { continue };
                publishers += 1;
                let added = it.add(&node, text, gid_of(text), &endpoint.type_hash, &endpoint.qos);
                if let Err(error) = added {
                    self.refuse(
                        key,
                        format!("topic {:?} of another machine is not published here: {error}", it.topic),
                    );
                }
            }
            let active = plan.subscribed.contains(&it.topic) && !it.tokens().is_empty();
            if let Err(error) = it.set_active(active) {
                self.refuse(key, format!("topic {:?} is not received: {error}", it.topic));
            }
            self.inbound.insert(key.clone(), it);
        }
    }

    fn make_inbound(&mut self, key: &str, wanted: &InName) -> Option<Inbound> {
        let known = self.topic_type(&wanted.wire).or_else(|| {
            self.look_up(&wanted.wire);
            self.topic_type(&wanted.wire)
        });
        let Some(message_type) = known else {
            self.untyped.push(wanted.name.clone());
            return None;
        };
        let name = match wanted.wire.space {
            Space::Ros => bus_topic(&wanted.name),
            Space::Situ => &wanted.name,
        };
        // A topic of the bus has one type. As in `rmw_situ`, another type has a topic of its own.
        let present = inspect::topic(&self.shared.root, name).ok().flatten();
        let (topic, encoding) = match present {
            Some(present) if present.description.schema_hash != message_type.schema_hash() => {
                (format!("{name}@{:016x}", message_type.schema_hash()), None)
            }
            Some(present) => (name.to_owned(), Some(present.description.encoding)),
            None => (name.to_owned(), None),
        };
        let description = message_type.published(wanted.wire.space, encoding);
        Some(Inbound::new(&self.shared, (&topic, key), (&message_type, wanted.wire.space), description))
    }

    /// The type of a topic, if it is known.
    fn topic_type(&self, wire: &WireType) -> Option<Arc<MessageType>> {
        let is_it = |it: &&Arc<MessageType>| match wire.space {
            Space::Ros => {
                bus_type_name(&wire.name).as_deref() == Some(it.name()) && it.subject().has_hash(&wire.hash)
            }
            Space::Situ => it.wire(None) == *wire,
        };
        if let Some(found) = self.local_types.topic_types().find(is_it) {
            return Some(found.clone());
        }
        match self.told.get(wire) {
            Some(ToldType::Topic(found)) => Some(found.clone()),
            _ => None,
        }
    }

    fn service_types(&self, wire: &WireType) -> Option<ServiceTypes> {
        let is_it = |it: &&ServiceTypes| {
            let named = it.request.service_wire(&it.reply, None);
            let subject = it.request.service_subject(&it.reply);
            named.space == wire.space
                && named.name == wire.name
                && (named.hash == wire.hash || (wire.space == Space::Ros && subject.has_hash(&wire.hash)))
        };
        if let Some(found) = self.local_types.service_types().find(is_it) {
            return Some(found.clone());
        }
        match self.told.get(wire) {
            Some(ToldType::Service(found)) => Some(found.clone()),
            _ => None,
        }
    }

    /// Looks for a type that no program here uses: among those of ROS, then on other bridges. An answer comes
    /// later, as an event.
    fn look_up(&mut self, wire: &WireType) {
        if self.told.len() < MAX_TOLD && !self.looked_up.contains(wire) {
            match self.ros_types.find(wire, Instant::now()) {
                Found::Type(found) => {
                    self.told.insert(wire.clone(), found);
                    return;
                }
                Found::Nothing => drop(self.looked_up.insert(wire.clone())),
                Found::Later => {}
            }
        }
        self.ask(wire);
    }

    /// Asks other bridges for a type.
    fn ask(&mut self, wire: &WireType) {
        let now = Instant::now();
        let period = ASK * (1 + self.asked.len() / ASKS) as u32;
        let is_early = self.asked.get(wire).is_some_and(|asked| now.duration_since(*asked) < period);
        if is_early || self.asks >= ASKS || self.bridges.is_empty() {
            return;
        }
        self.asks += 1;
        self.asked.insert(wire.clone(), now);
        let (events, answers, asked) = (self.shared.events.clone(), self.answers.clone(), wire.clone());
        let receive = move |reply: Reply| {
            let Ok(sample) = reply.into_result() else { return };
            let size = sample.payload().len();
            if size <= 2 * schema_text::MAX_TEXT && has_room(&answers, size) {
                let _ = events.send(Event::Told(asked.clone(), sample.payload().to_bytes().into_owned()));
            }
        };
        let key = format!("{TYPES}/{}/{}", self.shared.domain, type_key(wire));
        let query =
            self.shared.session.get(key).target(QueryTarget::All).consolidation(ConsolidationMode::None);
        let asked = query.allowed_destination(Locality::Remote).timeout(ASK_LIMIT).callback(receive).wait();
        if let Err(error) = asked {
            self.refuse(&wire.name, format!("the type {} cannot be asked for: {error}", wire.name));
        }
    }

    fn take_type(&mut self, wire: WireType, bytes: &[u8]) -> bool {
        if self.told.contains_key(&wire) || self.told.len() >= MAX_TOLD {
            return false;
        }
        match read_type(&wire, bytes) {
            Ok(told) => {
                self.told.insert(wire, told);
                true
            }
            Err(error) => {
                self.refuse(&wire.name, error.to_string());
                false
            }
        }
    }

    fn apply_services_out(&mut self, plan: &Plan) {
        self.services_out.retain(|key, _| plan.out_services.contains_key(key));
        for (key, wanted) in &plan.out_services {
            if self.services_out.contains_key(key) {
                continue;
            }
            match ServiceOut::offer(&self.shared, &self.node, (&wanted.service, key), &wanted.types) {
                Ok(made) => {
                    self.services_out.insert(key.clone(), made);
                }
                Err(error) => {
                    self.refuse(key, format!("service {:?} is not offered: {error}", wanted.service))
                }
            }
        }
    }

    fn apply_services_in(&mut self, plan: &Plan, graph: &Graph, remote: &HashMap<String, Token>) {
        // A server here is nearer, also if it comes later. Requests would go to both.
        self.services_in.retain(|key, it| {
            let wanted = plan.in_services.get(key);
            let is_wanted =
                wanted.is_some_and(|wanted| it.tokens.iter().any(|it| wanted.tokens.contains(it)));
            is_wanted && !serves_here(graph, &it.service)
        });
        for (key, wanted) in &plan.in_services {
            if self.services_in.contains_key(key) {
                continue;
            }
            if self.services_in.len() >= MAX_SERVICES {
                let text = format!(
                    "more than {MAX_SERVICES} services on other machines: others are not offered here"
                );
                self.refuse("services", text);
                break;
            }
            let known = self.service_types(&wanted.wire).or_else(|| {
                self.look_up(&wanted.wire);
                self.service_types(&wanted.wire)
            });
            let Some(types) = known else {
                self.untyped.push(wanted.name.clone());
                continue;
            };
            let first = wanted.tokens.iter().find_map(|text| remote.get(text));
            let Some((token, node)) = first.and_then(|token| Some((token, self.proxy(token)?))) else {
                continue;
            };
            let Some(endpoint) = &token.endpoint else { continue };
            let name = match wanted.wire.space {
                Space::Ros => bus_topic(&wanted.name),
                Space::Situ => &wanted.name,
            };
            if serves_here(graph, name) {
                continue;
            }
            let data = endpoint_data(&endpoint.type_hash, &endpoint.qos);
            match ServiceIn::offer(&self.shared, &node, (name, key), &types, data) {
                Ok(mut made) => {
                    made.tokens = wanted.tokens.iter().cloned().collect();
                    self.services_in.insert(key.clone(), made);
                }
                Err(error) => self.refuse(key, format!("service {name:?} is not offered here: {error}")),
            }
        }
    }

    /// Returns the warnings since the last call.
    pub fn take_warnings(&mut self) -> Vec<String> {
        std::mem::take(&mut self.warnings)
    }

    /// What crosses.
    pub fn status(&self) -> Status {
        let mut crossings = Vec::new();
        let mut add = |is_service, way, names: (&str, &str, &str), is_active, counts| {
            let (name, type_name, key) = (names.0.to_owned(), names.1.to_owned(), names.2.to_owned());
            crossings.push(CrossingStatus { is_service, way, name, type_name, key, is_active, counts });
        };
        for it in self.outbound.values() {
            add(
                false,
                Way::Out,
                (&it.topic, it.message_type.name(), &it.key),
                it.is_active(),
                it.counts.values(),
            );
        }
        for it in self.inbound.values() {
            add(false, Way::In, (&it.topic, it.type_name(), &it.key), it.is_active(), it.counts.values());
        }
        for it in self.services_out.values() {
            add(true, Way::In, (&it.service, &it.type_name, &it.key), true, it.counts.values());
        }
        for it in self.services_in.values() {
            add(true, Way::Out, (&it.service, &it.type_name, &it.key), true, it.counts.values());
        }
        crossings.sort_by(|a, b| (&a.name, a.way, &a.key).cmp(&(&b.name, b.way, &b.key)));
        let mut bridges: Vec<PeerStatus> = self.bridges.values().map(|other| other.peer.clone()).collect();
        bridges.sort();
        Status {
            session: self.session.clone(),
            domain: self.shared.domain,
            bridges,
            remote_nodes: self.proxies.len(),
            kept_bytes: self.shared.kept.total(),
            crossings,
            untyped: self.untyped.clone(),
        }
    }

    /// Leaves the network. Others see at once that what was here is gone.
    pub fn end(mut self) {
        self.tokens.clear();
        self.services_out.clear();
        self.services_in.clear();
        self.inbound.clear();
        self.outbound.clear();
        let _ = self.shared.session.close().wait();
    }
}

/// Endpoints on which a session listens.
fn locators(shared: &Shared) -> Vec<String> {
    shared.session.info().locators().wait().iter().map(ToString::to_string).collect()
}

/// Reserves room for a waiting answer. False if all waiting answers together would exceed [`MAX_ANSWERS`].
fn has_room(waiting: &AtomicUsize, size: usize) -> bool {
    let more = |held: usize| held.checked_add(size).filter(|all| *all <= MAX_ANSWERS);
    waiting.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more).is_ok()
}

/// Whether a node that is no bridge serves a service.
fn serves_here(graph: &Graph, name: &str) -> bool {
    let services = graph.services();
    let found = services.iter().find(|service| service.name == name);
    found.is_some_and(|service| service.servers.iter().any(|(node, _)| !is_of_bridge(node)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_wait_up_to_a_limit() {
        let waiting = AtomicUsize::new(0);
        assert!(has_room(&waiting, MAX_ANSWERS - 1) && has_room(&waiting, 1));
        assert!(!has_room(&waiting, 1) && !has_room(&waiting, usize::MAX));
        waiting.fetch_sub(10, Ordering::Relaxed);
        assert!(has_room(&waiting, 10) && !has_room(&waiting, 1));
    }
}
