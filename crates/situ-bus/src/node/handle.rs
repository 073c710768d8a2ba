//! A node: a named participant that lives as long as its process.

use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use situ_layout::foreign::is_name;
use situ_memory::{Domain, DomainError, DomainId, DomainKind, Domains, OpenRoot};

use crate::node::fence_watchdog::FenceWatch;
use crate::node::liveness::{self, Life, NodeId};
use crate::node::process_watch::Processes;
use crate::root::{Root, RootError};
use crate::topic::{RegisterError, Swept, sweep};
use crate::wait::reactor::Reactor;

/// Why a node could not be made.
#[derive(Debug, thiserror::Error)]
pub enum NodeError {
    /// The name cannot name a node.
    #[error(
        "{0:?} cannot name a node: use 1 to 255 characters that can be seen, none of them a control character"
    )]
    InvalidName(String),
    /// The root directory cannot be used.
    #[error(transparent)]
    Root(#[from] RootError),
    /// The node's file cannot be written.
    #[error("cannot register a node in {path}: {source}")]
    Register {
        /// The directory of nodes.
        path: PathBuf,
        /// What the kernel answered.
        source: io::Error,
    },
}

/// What publishers and subscribers of a node share.
#[derive(Debug)]
pub(crate) struct NodeInner {
    pub(crate) root: OpenRoot,
    pub(crate) life: Life,
    name: String,
    reactor: OnceLock<Reactor>,
    /// The memory domains that were given to it or needed so far.
    domains: Mutex<Domains>,
    /// See [`domains_of_others`](Self::domains_of_others).
    allowed: Vec<DomainId>,
    pub(crate) fences: FenceWatch,
    pub(crate) processes: Processes,
}

impl NodeInner {
    /// An error in a forked child.
    pub(crate) fn check_process(&self, topic: &str) -> Result<(), RegisterError> {
        if self.life.is_ours() { Ok(()) } else { Err(RegisterError::Forked { topic: topic.to_owned() }) }
    }

    /// The thread that watches topics for those who cannot block; started when first needed.
    pub(crate) fn reactor(&self) -> io::Result<&Reactor> {
        if !self.life.is_ours() {
            return Err(io::Error::other(
                "its node belongs to the process that this one was forked from: make a node here",
            ));
        }
        if let Some(reactor) = self.reactor.get() {
            return Ok(reactor);
        }
        let started = Reactor::start()?;
        // Of two threads that come at once one keeps its reactor; the other's ends here.
        Ok(self.reactor.get_or_init(|| started))
    }

    fn lock_domains(&self) -> MutexGuard<'_, Domains> {
        // A set of domains is replaced as a whole, so a panic elsewhere changes nothing.
        self.domains.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The node's domains, this one among them: one that it was not given is looked for among Situ's own.
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

    /// Returns the node's domains, including one that another participant's message lies in. A message alone
    /// loads no driver: the program has to have asked for the domain before, or the environment allows it.
    /// (An emulated device has no driver.)
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

/// The domains that messages of others may have this process open: `SITU_DOMAINS`, such as `vulkan:0,cuda:0`.
/// What names none is left out.
fn allowed_domains() -> Vec<DomainId> {
    let names = std::env::var("SITU_DOMAINS").unwrap_or_default();
    names.split(',').filter_map(|name| name.trim().parse().ok()).collect()
}

/// A named participant of the bus. Publishers and subscribers are made from it, and keep it alive.
///
/// It belongs to the process that made it. In a forked child, it and what was made from it can only be
/// dropped, which changes nothing in the parent; a child makes a node of its own.
#[derive(Debug, Clone)]
pub struct Node {
    pub(crate) inner: Arc<NodeInner>,
}

impl Node {
    /// A node in the root directory that the environment names (see [`Root::from_environment`]).
    ///
    /// What nodes that died without cleaning up have left there is removed by the way.
    pub fn new(name: &str) -> Result<Self, NodeError> {
        Self::in_root(name, Root::from_environment()?)
    }

    /// A node in a root directory of your choice.
    pub fn in_root(name: &str, root: Root) -> Result<Self, NodeError> {
        if !is_name(name, 255) {
            return Err(NodeError::InvalidName(name.to_owned()));
        }
        let root = root.prepare()?;
        let life = Life::begin(&root, name)
            .map_err(|source| NodeError::Register { path: root.nodes().path().to_owned(), source })?;
        clean_open(&root);
        crate::observe::hook::joined(&root, name);
        Ok(Self {
            inner: Arc::new(NodeInner {
                root,
                processes: Processes::new(life.id()),
                life,
                name: name.to_owned(),
                reactor: OnceLock::new(),
                domains: Mutex::default(),
                allowed: allowed_domains(),
                fences: FenceWatch::default(),
            }),
        })
    }

    /// Gives it a memory domain to use, in place of one with the same id. Those of Situ (`host`,
    /// `emulated:0`, `vulkan:0`, `cuda:0`) need not be given: they are opened when a publisher or subscriber
    /// is placed there, or [`domain`](Self::domain) asks for them.
    pub fn with_domain(self, domain: Arc<dyn Domain>) -> Self {
        let mut domains = self.inner.lock_domains();
        *domains = domains.clone().with(domain);
        drop(domains);
        self
    }

    /// Gives it these memory domains to use, in place of all that it had.
    pub fn with_domains(self, domains: Domains) -> Self {
        *self.inner.lock_domains() = domains;
        self
    }

    /// Returns one of its memory domains, and opens it if necessary: to make streams on it, or to let
    /// subscribers on the host read messages that lie there. (A message that lies on a device opens no
    /// driver.)
    pub fn domain(&self, id: DomainId) -> Result<Arc<dyn Domain>, DomainError> {
        Ok(self.inner.domains_with(id)?.get(id)?.clone())
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.inner.name
    }

    /// Whether it belongs to the process that this one was forked from: then nothing can be made from it
    /// here.
    pub fn is_inherited(&self) -> bool {
        !self.inner.life.is_ours()
    }

    /// Its number.
    pub fn id(&self) -> NodeId {
        self.inner.life.id()
    }

    /// The directory that it lives in.
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

/// Removes what dead nodes have left: their files, and topics without a living participant.
///
/// Costs one look at each node's lock if all live.
///
/// Removes only files whose content is what their names say. Fails if another user could tamper with the
/// root.
pub fn clean(root: &Root) -> Result<Cleaned, RootError> {
    Ok(root.open()?.map(|root| clean_open(&root)).unwrap_or_default())
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
    // The nodes' files come last, and only if no topic was passed over: as long as they are there, another
    // process will clean the topics.
    for node in dead.into_iter().filter(|_| all_seen) {
        liveness::remove_dead_node(root, node.id);
        cleaned.nodes.push(node.name);
    }
    cleaned
}

/// Repairs every topic and removes those without a living participant, whether or not a dead node's file
/// tells that there is something to do.
pub fn clean_topics(root: &Root) -> Result<Vec<String>, RootError> {
    Ok(root.open()?.map(|root| sweep_all(&root).0).unwrap_or_default())
}

/// The topics that were removed, and whether all could be looked at.
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
