//! Inspection: reads the state of topics and nodes from their files, without taking part.

use std::collections::HashMap;
use std::io;
use std::path::PathBuf;
use std::time::Duration;

use situ_memory::sync::atomic::Ordering;
use situ_memory::{Access, DomainId, MemoryError, OpenRoot, PoolMetadata, PoolView, SlotId, guard};

use crate::clock::now_ns;
use crate::node::endpoint::EndpointId;
use crate::node::liveness::{self, NodeId, NodeInfo};
use crate::node::living::Living;
use crate::protocol::ledger::HeldSlot;
use crate::protocol::ring::{Look, Reference};
use crate::qos::{Durability, Liveliness, QosPolicies, Terms, nanoseconds};
use crate::root::{Root, RootError, topic_name};
use crate::topic::format::{MAX_DEPTH, PublisherEntry, domain_from_word};
use crate::topic::rights::Role;
use crate::topic::{Encoding, PlaceView, StateWord, Topic, TypeDescription, names};

/// A topic and its members.
#[derive(Debug, Clone)]
pub struct TopicInfo {
    /// Its name.
    pub name: String,
    /// Its type. Encoding and layout are those of its first publisher, if it has one.
    pub description: TypeDescription,
    /// The number of rows of its newest ring.
    pub depth: u32,
    /// The number of messages published so far.
    pub published: u64,
    /// Its publishers, including those that are gone but whose messages are still there.
    pub publishers: Vec<PublisherInfo>,
    /// Its subscribers.
    pub subscribers: Vec<SubscriberInfo>,
    /// The memory domains in which it was ever used, the host first.
    pub domains: Vec<DomainUse>,
}

/// The use of a topic in one memory domain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DomainUse {
    /// The domain.
    pub domain: DomainId,
    /// The number of messages that were copied into it.
    pub copies: u64,
    /// The number of bytes of these copies.
    pub bytes: u64,
}

/// A publisher of a topic.
#[derive(Debug, Clone)]
pub struct PublisherInfo {
    /// Its id.
    pub id: EndpointId,
    /// The publisher's node.
    pub node: NodeId,
    /// Whether that node lives and the publisher is present.
    pub alive: bool,
    /// Whether it waits for reliable subscribers.
    pub reliable: bool,
    /// Which messages it keeps for late subscribers.
    pub durability: Durability,
    /// The longest time between two messages that it promises.
    pub deadline: Option<Duration>,
    /// How it shows that it is alive, and how often.
    pub liveliness: Liveliness,
    /// See [`liveliness`](Self::liveliness).
    pub lease: Option<Duration>,
    /// How many of its last messages stay available.
    pub depth: u64,
    /// The encoding of its messages.
    pub encoding: Option<Encoding>,
    /// The memory domain of its bodies.
    pub domain: DomainId,
    /// The number of slots of its pool that are held by a subscriber.
    pub held_slots: usize,
    /// The number of slots of its pool.
    pub slots: usize,
    /// The size of its pool's memory in bytes.
    pub memory_bytes: u64,
    /// The subscriber that it waits for, if that subscriber has no room at the moment.
    pub waits: Option<Waits>,
}

/// A publisher's wait for a reliable subscriber.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Waits {
    /// The subscriber's node.
    pub subscriber: NodeId,
    /// How long it has waited so far.
    pub waited: Duration,
}

/// A subscriber of a topic.
#[derive(Debug, Clone)]
pub struct SubscriberInfo {
    /// Its id.
    pub id: EndpointId,
    /// The subscriber's node.
    pub node: NodeId,
    /// Whether that node lives.
    pub alive: bool,
    /// Whether it requests reliable delivery.
    pub reliable: bool,
    /// Whether publishers wait for it.
    pub backpressure: bool,
    /// Whether it requests messages that were published before it joined.
    pub durability: Durability,
    /// The longest time between two messages that it expects.
    pub deadline: Option<Duration>,
    /// How publishers have to show that they are alive, and how often.
    pub liveliness: Liveliness,
    /// See [`liveliness`](Self::liveliness).
    pub lease: Option<Duration>,
    /// How many messages it keeps. `None` if it keeps all.
    pub keep_last: Option<u64>,
    /// The number of messages that it has taken.
    pub taken: u64,
    /// The number of messages that it has lost, including those that it has not noticed yet.
    pub lost: u64,
    /// The number of published messages that it has not taken or skipped yet.
    pub behind: u64,
    /// The memory domain in which it takes messages.
    pub domain: DomainId,
    /// The number of slots that it holds: one for each sample, and one more for each copy in another domain.
    pub held: usize,
}

/// Why a root directory cannot be inspected.
#[derive(thiserror::Error)]
pub enum InspectError {
    /// Another user could have written the files in it.
    #[error(transparent)]
    Root(#[from] RootError),
    /// A directory in it cannot be read.
    #[error("cannot list {path}: {source}; check who owns it, or set SITU_ROOT to another directory")]
    List {
        /// The directory.
        path: PathBuf,
        /// The kernel's error.
        source: io::Error,
    },
    /// A topic's file cannot be used.
    #[error(transparent)]
    Topic(#[from] MemoryError),
}

situ_layout::debug_as_text!(InspectError);

/// Returns all topics of a root directory, by name. Files that are not readable as topics are left out: see
/// [`survey`]. So are the topics of services: see [`services`].
pub fn topics(root: &Root) -> Result<Vec<TopicInfo>, InspectError> {
    Ok(survey(root)?.into_iter().filter_map(|(_, topic)| topic.ok()).collect())
}

/// A topic's name, and its state or the reason why its file cannot be used.
pub type Surveyed = (String, Result<TopicInfo, MemoryError>);

/// Returns all topics of a root directory, by name, including those that cannot be used. The topics of
/// services are left out.
pub fn survey(root: &Root) -> Result<Vec<Surveyed>, InspectError> {
    let Some(root) = root.open()? else { return Ok(Vec::new()) };
    let mut found: Vec<_> = names_in(&root)?
        .into_iter()
        .filter(|name| !names::is_hidden(name))
        .filter_map(|name| Some((topic_in(&root, &name).transpose()?, name)))
        .map(|(topic, name)| (name, topic))
        .collect();
    found.sort_by(|a, b| a.0.cmp(&b.0));
    Ok(found)
}

/// A service, with the nodes of its clients and servers.
#[derive(Debug, Clone)]
pub struct ServiceInfo {
    /// Its name.
    pub name: String,
    /// The topic of its requests. Its type's name is `<request> -> <reply>`, its schema that of the requests,
    /// a line `---`, and that of the replies. Its publishers are the clients, its subscribers the servers.
    pub requests: TopicInfo,
}

/// Returns all services of a root directory, by name. Files that are not readable as topics are left out.
pub fn services(root: &Root) -> Result<Vec<ServiceInfo>, InspectError> {
    let Some(root) = root.open()? else { return Ok(Vec::new()) };
    let mut found: Vec<_> = names_in(&root)?
        .iter()
        .filter_map(|topic| {
            let name = names::service_of(topic)?.to_owned();
            Some(ServiceInfo { name, requests: topic_in(&root, topic).ok()?? })
        })
        .collect();
    found.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(found)
}

/// The names of all topics.
fn names_in(root: &OpenRoot) -> Result<Vec<String>, InspectError> {
    let directory = root.topics();
    match directory.names() {
        Ok(names) => Ok(names.iter().filter_map(|name| topic_name(name.to_str()?)).collect()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(source) => Err(InspectError::List { path: directory.path().to_owned(), source }),
    }
}

/// Returns one topic. `None` if there is none of this name.
pub fn topic(root: &Root, name: &str) -> Result<Option<TopicInfo>, InspectError> {
    let Some(root) = root.open()? else { return Ok(None) };
    Ok(topic_in(&root, name)?)
}

fn topic_in(root: &OpenRoot, name: &str) -> Result<Option<TopicInfo>, MemoryError> {
    let Some(topic) = Topic::open(root, &root.topic(name), Role::Observer)? else { return Ok(None) };
    let info = describe(&topic);
    if guard::has_damage() && topic.is_damaged() {
        return Err(MemoryError::Truncated { path: topic.damaged_file().path().to_owned() });
    }
    Ok(Some(info))
}

/// Returns all nodes of a root directory, dead ones included, by name.
pub fn nodes(root: &Root) -> Result<Vec<NodeInfo>, InspectError> {
    let Some(root) = root.open()? else { return Ok(Vec::new()) };
    let list = |source| InspectError::List { path: root.nodes().path().to_owned(), source };
    liveness::nodes(&root).map_err(list)
}

/// Returns the information about one node. `None` if it has left.
pub fn node(root: &Root, id: NodeId) -> Result<Option<NodeInfo>, InspectError> {
    Ok(root.open()?.and_then(|root| liveness::node(&root, id)))
}

impl PublisherInfo {
    fn terms(&self) -> Terms {
        Terms {
            reliable: self.reliable,
            transient_local: self.durability == Durability::TransientLocal,
            deadline_ns: nanoseconds(self.deadline),
            manual: self.liveliness == Liveliness::ManualByTopic,
            lease_ns: nanoseconds(self.lease),
        }
    }

    /// The policies in which it offers less than a subscriber requests. If there are any, the two exchange no
    /// messages.
    pub fn mismatch(&self, subscriber: &SubscriberInfo) -> QosPolicies {
        self.terms().mismatch(subscriber.terms())
    }
}

impl SubscriberInfo {
    fn terms(&self) -> Terms {
        Terms {
            reliable: self.reliable,
            transient_local: self.durability == Durability::TransientLocal,
            deadline_ns: nanoseconds(self.deadline),
            manual: self.liveliness == Liveliness::ManualByTopic,
            lease_ns: nanoseconds(self.lease),
        }
    }
}

fn time(ns: u64) -> Option<Duration> {
    (ns != 0).then(|| Duration::from_nanos(ns))
}

fn liveliness(word: StateWord) -> Liveliness {
    if word.is_manual() { Liveliness::ManualByTopic } else { Liveliness::Automatic }
}

fn durability(word: StateWord) -> Durability {
    if word.is_transient_local() { Durability::TransientLocal } else { Durability::Volatile }
}

fn describe(topic: &Topic) -> TopicInfo {
    let published = topic.end();
    let living = Living::default();
    let there = |place: &PlaceView<'_>| living.is_alive(&topic.root, NodeId(place.node()));
    let mut held: Vec<HeldSlot> = topic.places.active().filter(there).flat_map(PlaceView::held).collect();
    held.sort_unstable();
    held.dedup();
    let publishers: Vec<PublisherInfo> = (0..topic.used_entries())
        .map(|index| (index, topic.publisher(index)))
        .filter_map(|(index, entry)| {
            let word = StateWord::read(&entry.state);
            if !word.has_pool() || !word.is_of_heads() {
                return None;
            }
            let node = NodeId(entry.node.load(Ordering::Relaxed));
            let pool = entry.tenure.pool();
            let path = topic.pool_path(pool);
            let slots = PoolMetadata::open(&path, Access::Read).map_or(0, |pool| pool.slots());
            let held_slots = held.iter().filter(|held| usize::from(held.pool) == index).count();
            let alive = word.is_active() && living.is_alive(&topic.root, node);
            Some(PublisherInfo {
                id: EndpointId { node, number: pool },
                node,
                alive,
                waits: waits(topic, entry).filter(|_| alive),
                reliable: word.is_reliable(),
                durability: durability(word),
                deadline: time(entry.deadline_ns.load(Ordering::Relaxed)),
                liveliness: liveliness(word),
                lease: time(entry.lease_ns.load(Ordering::Relaxed)),
                depth: entry.depth.load(Ordering::Relaxed),
                encoding: Encoding::from_number(entry.encoding.load(Ordering::Relaxed)),
                domain: domain_from_word(&entry.domain),
                held_slots,
                slots,
                memory_bytes: PoolView::memory_bytes(&path),
            })
        })
        .collect();
    let subscribers = topic
        .places
        .all()
        .filter_map(|place| {
            let word = place.word;
            if !word.is_active() {
                return None;
            }
            let node = NodeId(place.node());
            Some(SubscriberInfo {
                id: EndpointId { node, number: place.number() },
                node,
                alive: !word.is_gone() && living.is_alive(&topic.root, node),
                reliable: word.is_reliable(),
                backpressure: word.is_waited_for(),
                durability: durability(word),
                deadline: time(place.deadline_ns()),
                liveliness: liveliness(word),
                lease: time(place.lease_ns()),
                keep_last: match place.keep_last() {
                    0 => None,
                    last => Some(last),
                },
                taken: place.taken(),
                lost: place.lost().saturating_add(lost_by_now(topic, place, published)),
                behind: published.saturating_sub(place.cursor()),
                domain: place.domain(),
                held: place.held().count(),
            })
        })
        .collect();
    let first = (0..topic.used_entries())
        .map(|index| topic.publisher(index))
        .find(|entry| StateWord::read(&entry.state).is_publisher());
    TopicInfo {
        name: topic.name.clone(),
        description: TypeDescription {
            name: topic.type_name.clone(),
            schema: topic.schema.clone(),
            schema_hash: topic.header.schema_hash,
            layout_hash: first.map_or(0, |entry| entry.layout_hash.load(Ordering::Relaxed)),
            encoding: first
                .and_then(|entry| Encoding::from_number(entry.encoding.load(Ordering::Relaxed)))
                .unwrap_or(Encoding::Flat),
            fixed_size: topic.header.copied_size,
            user_header_size: topic.header.user_header_size,
        },
        depth: topic.ring().depth() as u32,
        published,
        publishers,
        subscribers,
        domains: topic
            .domains()
            .map(|(column, domain)| {
                let counters = topic.copies(column);
                DomainUse {
                    domain,
                    copies: counters.copies.load(Ordering::Relaxed),
                    bytes: counters.bytes.load(Ordering::Relaxed),
                }
            })
            .collect(),
    }
}

/// The number of lost messages that a subscriber has yet to notice: they were overwritten, or their slots
/// were reused.
fn lost_by_now(topic: &Topic, place: PlaceView<'_>, end: u64) -> u64 {
    let (cursor, joined_at) = (place.cursor(), place.joined_at());
    if cursor == u64::MAX || joined_at == u64::MAX {
        return 0;
    }
    let wants = match place.keep_last() {
        0 => 0,
        last => end.saturating_sub(last),
    };
    let mut number = cursor.max(joined_at).max(wants);
    let (mut lost, mut pools) = (0, HashMap::new());
    // Each step passes a row. The limit ends the loop even if other processes write to the rows meanwhile.
    for _ in 0..4 * u64::from(MAX_DEPTH) {
        if number >= end {
            break;
        }
        let ring = topic.ring_of(number);
        let next = match ring.look(number) {
            Look::NotYet => break,
            Look::Sealed if topic.follow().is_ok() && topic.ring_of(number).base() > ring.base() => continue,
            Look::Sealed => break,
            Look::Passed(later) => {
                let oldest = later.saturating_add(1).saturating_sub(ring.depth());
                oldest.clamp(number.saturating_add(1), end)
            }
            Look::Here(at) if is_there(topic, number, at, &mut pools) => {
                number += 1;
                continue;
            }
            Look::Here(_) => number + 1,
        };
        lost += next - number;
        number = next;
    }
    lost
}

/// Whether the slot of a message still holds it.
fn is_there(
    topic: &Topic,
    number: u64,
    at: Reference,
    pools: &mut HashMap<u64, Option<PoolMetadata>>,
) -> bool {
    let Some(pool) = topic.named_entry(usize::from(at.pool)).and_then(|entry| entry.tenure.of(number)) else {
        return false;
    };
    let opened =
        pools.entry(pool).or_insert_with(|| PoolMetadata::open(topic.pool_path(pool), Access::Read).ok());
    let control = opened.as_ref().and_then(|pool| pool.control(SlotId::from(at.slot)));
    control.is_some_and(|control| control.has_generation(at.generation))
}

/// The subscriber that a publisher waits for.
fn waits(topic: &Topic, entry: &PublisherEntry) -> Option<Waits> {
    // Acquire, so that `waits_since_ns` belongs to this wait.
    let place = entry.waits_for.load(Ordering::Acquire).checked_sub(1)?;
    let place = topic.places.all().nth(place as usize)?;
    let waited = now_ns().saturating_sub(entry.waits_since_ns.load(Ordering::Relaxed));
    Some(Waits { subscriber: NodeId(place.node()), waited: Duration::from_nanos(waited) })
}
