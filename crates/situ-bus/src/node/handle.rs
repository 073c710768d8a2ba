//! A node: a named participant that lives as long as its process.

use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use situ_memory::{Domain, DomainError, DomainId, DomainKind, Domains, OpenRoot};

use crate::clock::now_ns;
use crate::events::monitor::Monitor;
use crate::events::peers::Peers;
use crate::node::fence_watchdog::FenceWatch;
use crate::node::liveness::{self, Life, Naming, NodeId};
use crate::node::living::Living;
use crate::node::node_file::MAX_USER_DATA;
use crate::node::options::{NodeOptions, full_name, is_namespace, is_node_name};
use crate::node::process_watch::Processes;
use crate::root::{Root, RootError};
use crate::timeouts::REPAIR_INTERVAL_NS;
use crate::topic::{RegisterError, Swept, sweep};
use crate::wait::reactor::Reactor;

/// Why a node could not be created.
#[derive(thiserror::Error)]
pub enum NodeError {
    /// The name is not a valid node name.
    #[error("{0:?} cannot name a node: use 1 to 255 visible characters, no control characters")]
    InvalidName(String),
    /// The namespace is not valid.
    #[error(
        "{0:?} cannot be the namespace of a node: use /, or names that each begin with a / (/robot/arm), of at most 255 \
         visible characters together"
    )]
    InvalidNamespace(String),
    /// The user data are too long.
    #[error(
        "a node can have {MAX_USER_DATA} bytes of user data, and these are {bytes}: store a reference to them"
    )]
    UserDataTooLong {
        /// Their size.
        bytes: usize,
    },
    /// The root directory cannot be used.
    #[error(transparent)]
    Root(#[from] RootError),
    /// The node's file cannot be written.
    #[error("cannot register a node in {path}: {source}{}", situ_memory::advice(.source))]
    Register {
        /// The directory of nodes.
        path: PathBuf,
        /// The kernel's error.
        source: io::Error,
    },
}

situ_layout::debug_as_text!(NodeError);

/// The state that publishers and subscribers of a node share.
#[derive(Debug)]
pub(crate) struct NodeInner {
    pub(crate) root: OpenRoot,
    pub(crate) life: Life,
    name: String,
    namespace: String,
    reactor: OnceLock<Reactor>,
    /// The memory domains that were given to it or opened so far.
    domains: Mutex<Domains>,
    /// See [`domains_of_others`](Self::domains_of_others).
    allowed: Vec<DomainId>,
    pub(crate) fences: FenceWatch,
    pub(crate) processes: Processes,
    pub(crate) living: Arc<Living>,
    /// The processes of endpoints on the other side, for events.
    pub(crate) peers: Arc<Peers>,
    monitor: Mutex<Option<Arc<Monitor>>>,
}

impl NodeInner {
    /// Returns an error in a forked child.
    pub(crate) fn check_process(&self, topic: &str) -> Result<(), RegisterError> {
        if self.life.is_ours() { Ok(()) } else { Err(RegisterError::Forked { topic: topic.to_owned() }) }
    }

    /// The threads that watch topics for file descriptors, async tasks and wait sets. They start with the
    /// first use.
    pub(crate) fn reactor(&self) -> io::Result<&Reactor> {
        self.check_owner()?;
        Ok(self.reactor.get_or_init(Reactor::new))
    }

    /// An error in a forked child, which has none of the node's threads.
    fn check_owner(&self) -> io::Result<()> {
        if self.life.is_ours() {
            return Ok(());
        }
        Err(io::Error::other(
            "its node belongs to the process that this one was forked from: create a node in this process",
        ))
    }

    /// The thread that looks at endpoints whose events are waited for. It starts with the first use.
    pub(crate) fn monitor(&self) -> io::Result<Arc<Monitor>> {
        self.check_owner()?;
        let mut monitor = self.monitor.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(monitor) = &*monitor {
            return Ok(monitor.clone());
        }
        let started = Arc::new(Monitor::start(&self.peers)?);
        Ok(monitor.insert(started).clone())
    }

    fn lock_domains(&self) -> MutexGuard<'_, Domains> {
        // A set of domains is replaced as a whole, so a panic in another thread leaves it consistent.
        self.domains.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the node's domains, including this one. A domain that the node was not given is searched among
    /// Situ's own.
    pub(crate) fn domains_with(&self, id: DomainId) -> Result<Domains, DomainError> {
        if !self.life.is_ours() {
            let reason = "the node belongs to the process that this one was forked from".to_owned();
            return Err(DomainError::Absent { domain: id, reason });
        }
        let mut domains = self.lock_domains();
        if domains.get(id).is_err() {
            *domains = domains.clone().with(situ_memory::find(id)?);
        }
        Ok(domains.clone())
    }

    /// Returns the node's domains, including one in which a message of another participant lies. A message
    /// alone loads no driver: the program must have opened the domain before, or the environment must allow
    /// it. (An emulated device has no driver.)
    pub(crate) fn domains_of_others(&self, id: DomainId) -> Result<Domains, DomainError> {
        let is_there = self.lock_domains().get(id).is_ok();
        if is_there || id.kind == DomainKind::EMULATED || self.allowed.contains(&id) {
            return self.domains_with(id);
        }
        let reason = format!(
            "this program did not ask for it, and no driver is opened because of a message; call `Node::domain` \
             first, or set SITU_DOMAINS={id}"
        );
        Err(DomainError::Absent { domain: id, reason })
    }
}

/// The domains that messages of other participants may open in this process: `SITU_DOMAINS`, such as
/// `vulkan:0,cuda:0`. Invalid names are ignored.
fn allowed_domains() -> Vec<DomainId> {
    let names = std::env::var("SITU_DOMAINS").unwrap_or_default();
    names.split(',').filter_map(|name| name.trim().parse().ok()).collect()
}

/// A named participant of the bus. Publishers and subscribers are made from it, and keep it alive.
///
/// It belongs to the process that created it. In a forked child, the node and its publishers and subscribers
/// can only be dropped, which changes nothing in the parent. A child creates a node of its own.
#[derive(Debug, Clone)]
pub struct Node {
    pub(crate) inner: Arc<NodeInner>,
}

impl Node {
    /// A node in the root directory that the environment names (see [`Root::from_environment`]).
    ///
    /// Also removes the files and topics that dead nodes have left in that directory, unless this process did
    /// that less than a second ago.
    pub fn new(name: &str) -> Result<Self, NodeError> {
        Self::with_options(name, NodeOptions::default())
    }

    /// A node in the given root directory.
    pub fn in_root(name: &str, root: Root) -> Result<Self, NodeError> {
        Self::with_options(name, NodeOptions { root: Some(root), ..NodeOptions::default() })
    }

    /// A node with a namespace, user data, a graph domain. A process may have many nodes, also of the same
    /// name.
    pub fn with_options(name: &str, options: NodeOptions) -> Result<Self, NodeError> {
        let namespace = if options.namespace.is_empty() { "/" } else { &*options.namespace };
        let naming = Naming { name, namespace, user_data: &options.user_data };
        if !is_node_name(name) {
            return Err(NodeError::InvalidName(name.to_owned()));
        }
        if !is_namespace(namespace) {
            return Err(NodeError::InvalidNamespace(namespace.to_owned()));
        }
        if options.user_data.len() > MAX_USER_DATA {
            return Err(NodeError::UserDataTooLong { bytes: options.user_data.len() });
        }
        let root = options.root.map_or_else(Root::from_environment, Ok)?;
        let root = match options.graph_domain {
            Some(domain) => root.in_graph_domain(domain)?,
            None => root,
        };
        let root = root.prepare()?;
        let life = Life::begin(&root, naming)
            .map_err(|source| NodeError::Register { path: root.nodes().path().to_owned(), source })?;
        if is_clean_due(&root) {
            clean_open(&root);
        }
        crate::observe::hook::joined(&root, name);
        Ok(Self {
            inner: Arc::new(NodeInner {
                root,
                processes: Processes::new(life.id()),
                life,
                name: name.to_owned(),
                namespace: namespace.to_owned(),
                reactor: OnceLock::new(),
                domains: Mutex::default(),
                allowed: allowed_domains(),
                fences: FenceWatch::default(),
                living: Arc::default(),
                peers: Peers::new(),
                monitor: Mutex::default(),
            }),
        })
    }

    /// Adds a memory domain, in place of one with the same id. Situ's own domains (`host`, `emulated:0`,
    /// `vulkan:0`, `cuda:0`) need not be added: they are opened when a publisher or subscriber is placed
    /// there, or when [`domain`](Self::domain) is called.
    pub fn with_domain(self, domain: Arc<dyn Domain>) -> Self {
        let mut domains = self.inner.lock_domains();
        *domains = domains.clone().with(domain);
        drop(domains);
        self
    }

    /// Sets the memory domains, in place of all that it had.
    pub fn with_domains(self, domains: Domains) -> Self {
        *self.inner.lock_domains() = domains;
        self
    }

    /// Returns one of its memory domains, and opens it if necessary. The caller can make streams of it, or
    /// let subscribers on the host read messages that lie there. (A message that lies on a device opens no
    /// driver.)
    pub fn domain(&self, id: DomainId) -> Result<Arc<dyn Domain>, DomainError> {
        Ok(self.inner.domains_with(id)?.get(id)?.clone())
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.inner.name
    }

    /// Its namespace: `/` if it was given none.
    pub fn namespace(&self) -> &str {
        &self.inner.namespace
    }

    /// Its name with its namespace, such as `/robot/camera`.
    pub fn full_name(&self) -> String {
        full_name(&self.inner.namespace, &self.inner.name)
    }

    /// Whether it belongs to the process that this one was forked from. Then no publisher or subscriber can
    /// be created from it here.
    pub fn is_inherited(&self) -> bool {
        !self.inner.life.is_ours()
    }

    /// Its id.
    pub fn id(&self) -> NodeId {
        self.inner.life.id()
    }

    /// Its root directory.
    pub fn root(&self) -> &Root {
        &self.inner.root
    }
}

/// What [`clean`] removed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Cleaned {
    /// Files of dead nodes.
    pub nodes: Vec<String>,
    /// Directories of topics without members.
    pub topics: Vec<String>,
}

/// Removes the files of dead nodes, and topics without a living participant.
///
/// If all nodes are alive, it costs one check of each node's lock.
///
/// It removes only files whose content matches their names. It fails if another user could tamper with the
/// root.
pub fn clean(root: &Root) -> Result<Cleaned, RootError> {
    Ok(root.open()?.map(|root| clean_open(&root)).unwrap_or_default())
}

/// Whether a new node of this process should clean the root. A look at the locks of a thousand nodes takes
/// some milliseconds, which a process with a hundred nodes shall not spend a hundred times.
fn is_clean_due(root: &OpenRoot) -> bool {
    static LAST: Mutex<Option<(PathBuf, u64)>> = Mutex::new(None);
    // `try_lock`, because a process that was forked while the mutex was locked finds it locked for ever.
    let Ok(mut last) = LAST.try_lock() else { return true };
    let now = now_ns();
    let is_due = last
        .as_ref()
        .is_none_or(|(path, at)| path != root.path() || now.saturating_sub(*at) > REPAIR_INTERVAL_NS);
    if is_due {
        *last = Some((root.path().to_owned(), now));
    }
    is_due
}

fn clean_open(root: &OpenRoot) -> Cleaned {
    let mut cleaned = Cleaned::default();
    liveness::remove_unfinished_nodes(root);
    let dead: Vec<_> =
        liveness::nodes(root).unwrap_or_default().into_iter().filter(|node| !node.alive).collect();
    if dead.is_empty() {
        return cleaned;
    }
    let (topics, all_seen) = sweep_all(root);
    cleaned.topics = topics;
    // The nodes' files come last, and only if no topic was skipped: as long as they exist, another process
    // will clean the topics.
    for node in dead.into_iter().filter(|_| all_seen) {
        liveness::remove_dead_node(root, node.id);
        cleaned.nodes.push(node.name);
    }
    cleaned
}

/// Repairs every topic and removes those without a living participant, even if there is no file of a dead
/// node.
pub fn clean_topics(root: &Root) -> Result<Vec<String>, RootError> {
    Ok(root.open()?.map(|root| sweep_all(&root).0).unwrap_or_default())
}

/// Returns the removed topics, and whether all topics could be checked.
fn sweep_all(root: &OpenRoot) -> (Vec<String>, bool) {
    let topics = root.topics();
    let Ok(names) = topics.names() else { return (Vec::new(), true) };
    let (mut removed, mut all_seen) = (Vec::new(), true);
    for name in names {
        match sweep(root, &topics.join(&name)) {
            Swept::Removed => removed.extend(name.to_str().and_then(crate::root::topic_name)),
            Swept::Kept => {}
            Swept::Busy => all_seen = false,
        }
    }
    (removed, all_seen)
}
