//! What the threads of a server share: its options, the channels, and the counts of clients.

use std::collections::{BTreeMap, HashSet};
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use situ_bus::inspect::{self, InspectError};
use situ_bus::{GuardCondition, Node, Root, now_ns};
use situ_record::Selection;

use crate::channels::Channel;
use crate::services::Service;

/// The warnings, and the clients that have left, that are kept until the caller asks.
const MAX_WARNINGS: usize = 100;

/// A limit for the messages a second of some topics.
#[derive(Debug)]
pub struct Rate {
    /// The topics.
    pub topics: Selection,
    /// The most messages a second. Greater than 0.
    pub hertz: f64,
}

/// What is served, and where.
#[derive(Debug)]
pub struct ServerOptions {
    /// The address. Port 0 is any that is free.
    pub address: SocketAddr,
    /// The name that clients see.
    pub name: String,
    /// The topics. New ones are added when they appear.
    pub selection: Selection,
    /// Limits; the last that has a topic counts.
    pub rates: Vec<Rate>,
    /// The topics on which clients may publish; without it, none.
    pub publish: Option<Selection>,
    /// The services that clients may call; without it, none.
    pub call: Option<Selection>,
    /// The nodes whose parameters clients may set; without it, none. They may read those of all.
    pub set_parameters: Option<Selection>,
    /// Web pages that may connect, beside those of this machine and of Foxglove: `https://example.org`.
    pub origins: Vec<String>,
}

impl ServerOptions {
    /// The limit of a topic.
    pub(crate) fn rate_of(&self, topic: &str) -> Option<f64> {
        self.rates.iter().rev().find(|rate| rate.topics.has(topic)).map(|rate| rate.hertz)
    }
}

/// Counts of a client, which its thread changes and others read.
#[derive(Debug)]
pub struct ClientState {
    /// Its address.
    pub address: SocketAddr,
    /// Ends its wait.
    pub bell: GuardCondition,
    /// The numbers of its [`ClientReport`].
    pub subscriptions: AtomicU64,
    pub messages: AtomicU64,
    pub bytes: AtomicU64,
    pub dropped: AtomicU64,
    pub published: AtomicU64,
}

/// What a client got and gave.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClientReport {
    /// Its address.
    pub address: SocketAddr,
    /// The channels at which it looks.
    pub subscriptions: u64,
    /// Messages that were sent to it.
    pub messages: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Messages that it did not get, because its connection is slower than their topics.
    pub dropped: u64,
    /// Messages that it published.
    pub published: u64,
}

impl ClientState {
    /// The state of a new client.
    pub fn new(address: SocketAddr) -> Self {
        let zero = || AtomicU64::new(0);
        Self {
            address,
            bell: GuardCondition::new(),
            subscriptions: zero(),
            messages: zero(),
            bytes: zero(),
            dropped: zero(),
            published: zero(),
        }
    }

    /// Its counts now.
    pub fn report(&self) -> ClientReport {
        let get = |it: &AtomicU64| it.load(Ordering::Relaxed);
        ClientReport {
            address: self.address,
            subscriptions: get(&self.subscriptions),
            messages: get(&self.messages),
            bytes: get(&self.bytes),
            dropped: get(&self.dropped),
            published: get(&self.published),
        }
    }
}

/// What the threads share.
#[derive(Debug)]
pub struct Shared {
    /// The node of the server.
    pub node: Node,
    /// Its root.
    pub root: Root,
    /// What is served.
    pub options: ServerOptions,
    /// Another text after each start.
    pub session: String,
    /// From the clock of the bus to the time since 1970.
    pub offset: u64,
    stop: AtomicBool,
    channels: Mutex<Channels>,
    services: Mutex<Services>,
    clients: Mutex<BTreeMap<u64, Arc<ClientState>>>,
    warnings: Mutex<Vec<String>>,
    /// Clients that have left.
    ended: Mutex<Vec<ClientReport>>,
}

/// The channels, and how often they have changed.
#[derive(Debug, Default)]
struct Channels {
    version: u64,
    last_id: u32,
    all: Vec<Arc<Channel>>,
    /// Topics that cannot be shown. Each is reported once.
    refused: HashSet<String>,
}

/// The services that clients may call, and how often they have changed.
#[derive(Debug, Default)]
struct Services {
    version: u64,
    last_id: u32,
    all: Vec<Arc<Service>>,
    /// Services that cannot be called. Each is reported once.
    refused: HashSet<String>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // Each change leaves the value whole.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Shared {
    /// The state of a server without channels and clients.
    pub fn new(node: &Node, root: &Root, options: ServerOptions) -> Self {
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        let now = u64::try_from(now.as_nanos()).unwrap_or(u64::MAX);
        Self {
            node: node.clone(),
            root: root.clone(),
            options,
            session: now.to_string(),
            offset: now.saturating_sub(now_ns()),
            stop: AtomicBool::new(false),
            channels: Mutex::default(),
            services: Mutex::default(),
            clients: Mutex::default(),
            warnings: Mutex::default(),
            ended: Mutex::default(),
        }
    }

    /// Ends the server: all clients are woken.
    pub fn end(&self) {
        self.stop.store(true, Ordering::SeqCst);
        self.ring();
    }

    /// Adds a client.
    pub fn add(&self, number: u64, client: Arc<ClientState>) {
        lock(&self.clients).insert(number, client);
    }

    /// Removes a client.
    pub fn remove(&self, number: u64) {
        let removed = lock(&self.clients).remove(&number);
        let mut ended = lock(&self.ended);
        if ended.len() < MAX_WARNINGS {
            ended.extend(removed.map(|client| client.report()));
        }
    }

    /// The clients that have left since the last call.
    pub fn take_ended(&self) -> Vec<ClientReport> {
        std::mem::take(&mut *lock(&self.ended))
    }

    /// The clients.
    pub fn reports(&self) -> Vec<ClientReport> {
        lock(&self.clients).values().map(|client| client.report()).collect()
    }

    /// The warnings since the last call.
    pub fn take_warnings(&self) -> Vec<String> {
        std::mem::take(&mut *lock(&self.warnings))
    }

    /// Whether the server ends.
    pub fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::SeqCst)
    }

    /// The channels.
    pub fn channels(&self) -> Vec<Arc<Channel>> {
        lock(&self.channels).all.clone()
    }

    /// The channels and the state of the list, if it has changed since another state.
    pub fn channels_since(&self, version: u64) -> Option<(u64, Vec<Arc<Channel>>)> {
        let channels = lock(&self.channels);
        (channels.version != version).then(|| (channels.version, channels.all.clone()))
    }

    /// The services and the state of the list, if it has changed since another state.
    pub fn services_since(&self, version: u64) -> Option<(u64, Vec<Arc<Service>>)> {
        let services = lock(&self.services);
        (services.version != version).then(|| (services.version, services.all.clone()))
    }

    /// Keeps a warning for the person who runs the server.
    pub fn warn(&self, warning: String) {
        let mut warnings = lock(&self.warnings);
        if warnings.len() < MAX_WARNINGS {
            warnings.push(warning);
        }
    }

    /// Looks for topics and services that are new or gone.
    pub fn look(&self) -> Result<(), InspectError> {
        self.look_for_topics()?;
        self.look_for_services()
    }

    fn look_for_services(&self) -> Result<(), InspectError> {
        let Some(selection) = &self.options.call else { return Ok(()) };
        let mut found = inspect::services(&self.root)?;
        found.retain(|it| selection.has(&it.name) && it.requests.subscribers.iter().any(|it| it.alive));
        let mut services = lock(&self.services);
        let before = services.all.len();
        services.all.retain(|service| found.iter().any(|it| service.is(it)));
        services.refused.retain(|name| found.iter().any(|it| it.name == *name));
        let mut is_changed = services.all.len() != before;
        for info in &found {
            let is_known = services.all.iter().any(|service| service.service == info.name);
            if is_known || services.refused.contains(&info.name) {
                continue;
            }
            services.last_id += 1;
            match Service::of(services.last_id, info) {
                Ok(service) => {
                    services.all.push(Arc::new(service));
                    is_changed = true;
                }
                Err(error) => {
                    services.refused.insert(info.name.clone());
                    self.warn(format!("service {:?} is not shown: {error}", info.name));
                }
            }
        }
        if is_changed {
            services.version += 1;
            drop(services);
            self.ring();
        }
        Ok(())
    }

    fn look_for_topics(&self) -> Result<(), InspectError> {
        let mut topics = inspect::topics(&self.root)?;
        // A topic without publishers has nothing to show, and clients that look at it would keep it for ever.
        topics.retain(|it| self.options.selection.has(&it.name) && !it.publishers.is_empty());
        let mut channels = lock(&self.channels);
        let before = channels.all.len();
        channels.all.retain(|channel| topics.iter().any(|topic| channel.is(topic)));
        // Another topic of the name may be one that can be shown.
        channels.refused.retain(|name| topics.iter().any(|topic| topic.name == *name));
        let mut is_changed = channels.all.len() != before || channels.version == 0;
        for topic in &topics {
            let is_known = channels.all.iter().any(|channel| channel.topic == topic.name);
            if is_known || channels.refused.contains(&topic.name) {
                continue;
            }
            channels.last_id += 1;
            match Channel::of(channels.last_id, topic) {
                Ok(channel) => {
                    channels.all.push(Arc::new(channel));
                    is_changed = true;
                }
                Err(error) => {
                    channels.refused.insert(topic.name.clone());
                    self.warn(format!("topic {:?} is not shown: {error}", topic.name));
                }
            }
        }
        if is_changed {
            channels.version += 1;
            drop(channels);
            self.ring();
        }
        Ok(())
    }

    /// Ends the waits of all clients.
    pub fn ring(&self) {
        lock(&self.clients).values().for_each(|client| client.bell.trigger());
    }
}
