//! What all parts of a bridge share: its session, its number, which nodes are bridges, and its events.

use std::collections::{HashMap, HashSet, VecDeque};
use std::os::unix::fs::MetadataExt;
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::SystemTime;

use situ_bus::{EndpointId, NodeId, Root, inspect, now_ns};
use twox_hash::XxHash3_64;
use zenoh::Session;
use zenoh::liveliness::LivelinessToken;

use crate::heard::Heard;
use crate::kept::Kept;
use crate::wire::attachment::Gid;
use crate::wire::names::WireType;

/// What nodes of bridges tell about themselves. Messages of such nodes do not leave the machine again.
pub const NODE_MARK: &[u8] = b"SITUBRIDGE\x01";

/// How many nodes of this bridge are remembered. Messages of one that is gone may still lie in a ring.
const MAX_OWN: usize = 1 << 16;

/// What happens outside of the thread that decides.
#[derive(Debug)]
pub enum Event {
    /// The graph of the root may have changed.
    Graph,
    /// What tokens of others say has changed.
    Heard,
    /// Whether others subscribe to what leaves by a key.
    Matching(String, bool),
    /// A bridge told a type, or two of a service.
    Told(WireType, Vec<u8>),
    /// A warning.
    Warning(String),
    /// The bridge shall end.
    Stop,
}

/// What all parts share.
pub struct Shared {
    /// The session.
    pub session: Session,
    /// The root.
    pub root: Root,
    /// The domain in keys.
    pub domain: u32,
    /// The number of the root, which messages carry.
    pub origin: u64,
    /// Where events go.
    pub events: Sender<Event>,
    /// From the clock of messages to nanoseconds since 1970.
    offset_ns: u64,
    /// What topics of other machines keep here.
    pub kept: Kept,
    /// What tokens of others say. Callbacks of the session hold it, too.
    pub heard: Arc<Mutex<Heard>>,
    /// Nodes of this bridge, also former ones.
    own_nodes: RwLock<OwnNodes>,
    /// The GIDs of local publishers.
    gids: RwLock<HashMap<EndpointId, Gid>>,
    /// Types that other bridges may ask for, by the last two parts of their keys.
    types: RwLock<HashMap<String, String>>,
}

/// The last nodes of a bridge, in the order in which they came.
#[derive(Debug, Default)]
struct OwnNodes {
    all: HashSet<NodeId>,
    order: VecDeque<NodeId>,
}

impl OwnNodes {
    fn add(&mut self, node: NodeId) {
        if !self.all.insert(node) {
            return;
        }
        self.order.push_back(node);
        // One that is still there is known by its mark.
        if self.order.len() > MAX_OWN {
            self.order.pop_front().map(|oldest| self.all.remove(&oldest));
        }
    }
}

/// The number of a root: its file system and folder, on this start of this machine.
fn origin_of(root: &Root) -> u64 {
    let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    let place = std::fs::metadata(root.path()).map(|it| (it.dev(), it.ino())).unwrap_or_default();
    let text = format!("{boot} {place:?} {}", root.graph_domain());
    XxHash3_64::oneshot(text.as_bytes())
}

/// The part of a key by which a type is asked for.
pub fn type_key(wire: &WireType) -> String {
    format!("{}/{}", wire.name.replace('/', "%"), wire.hash)
}

impl Shared {
    /// For a session and a root that exists.
    pub fn new(session: Session, root: &Root, domain: u32, kept: Kept, events: Sender<Event>) -> Self {
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        let origin = origin_of(root);
        Self {
            heard: Arc::new(Mutex::new(Heard::new(session.zid().to_string(), origin))),
            session,
            root: root.clone(),
            domain,
            origin,
            events,
            kept,
            offset_ns: u64::try_from(now.as_nanos()).unwrap_or(u64::MAX).saturating_sub(now_ns()),
            own_nodes: RwLock::default(),
            gids: RwLock::default(),
            types: RwLock::default(),
        }
    }

    /// A time of the bus' clock in nanoseconds since 1970. 0 means now.
    pub fn since_1970(&self, bus_ns: u64) -> i64 {
        let time = if bus_ns == 0 { now_ns() } else { bus_ns };
        i64::try_from(time.saturating_add(self.offset_ns)).unwrap_or(i64::MAX)
    }

    /// Sends an event. After the end of the bridge it is dropped.
    pub fn tell(&self, event: Event) {
        let _ = self.events.send(event);
    }

    /// Tells a warning.
    pub fn warn(&self, text: impl Into<String>) {
        self.tell(Event::Warning(text.into()));
    }

    /// Says that a node is one of this bridge, before it publishes.
    pub fn own(&self, node: NodeId) {
        self.own_nodes.write().unwrap_or_else(PoisonError::into_inner).add(node);
    }

    /// Whether a node is one of this bridge.
    pub fn is_own(&self, node: NodeId) -> bool {
        self.own_nodes.read().unwrap_or_else(PoisonError::into_inner).all.contains(&node)
    }

    /// Whether a node is one of this or another bridge.
    pub fn is_of_bridge(&self, node: NodeId) -> bool {
        let is_marked = || {
            let info = inspect::node(&self.root, node).ok().flatten();
            info.is_some_and(|info| info.user_data.starts_with(NODE_MARK))
        };
        self.is_own(node) || is_marked()
    }

    /// Sets the GIDs of local publishers.
    pub fn set_gids(&self, gids: HashMap<EndpointId, Gid>) {
        *self.gids.write().unwrap_or_else(PoisonError::into_inner) = gids;
    }

    /// The GID of a local publisher. One that has just appeared has its own id until its token is declared.
    pub fn gid(&self, publisher: EndpointId) -> Gid {
        let gids = self.gids.read().unwrap_or_else(PoisonError::into_inner);
        gids.get(&publisher).copied().unwrap_or_else(|| publisher.to_bytes())
    }

    /// Sets the types that others may ask for.
    pub fn set_types(&self, types: HashMap<String, String>) {
        *self.types.write().unwrap_or_else(PoisonError::into_inner) = types;
    }

    /// The text of a type that others ask for.
    pub fn type_text(&self, key: &str) -> Option<String> {
        self.types.read().unwrap_or_else(PoisonError::into_inner).get(key).cloned()
    }
}

/// Tokens that are declared, by their keys.
pub type Tokens = HashMap<String, LivelinessToken>;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_nodes_are_remembered() {
        let mut nodes = OwnNodes::default();
        let most = MAX_OWN as u64;
        (0..most + 2).for_each(|number| nodes.add(NodeId(number)));
        nodes.add(NodeId(most));
        assert_eq!((nodes.all.len(), nodes.order.len()), (MAX_OWN, MAX_OWN));
        let known = [0, 1, 2, most + 1].map(|number| nodes.all.contains(&NodeId(number)));
        assert_eq!(known, [false, false, true, true]);
    }
}
