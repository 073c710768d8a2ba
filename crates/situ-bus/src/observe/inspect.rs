//! What is running: read from the files that lie there, without taking part.

use std::collections::HashMap;
use std::io;
use std::path::PathBuf;
use std::time::Duration;

use situ_memory::sync::atomic::Ordering;
use situ_memory::{Access, DomainId, MemoryError, OpenRoot, PoolMetadata, PoolView, SlotId, guard};

use crate::clock::now_ns;
use crate::node::liveness::{self, NodeId, NodeInfo};
use crate::protocol::ring::{Look, Reference};
use crate::qos::Durability;
use crate::root::{Root, RootError, topic_name};
use crate::topic::format::{MAX_DEPTH, PLACES, PUBLISHERS, PublisherEntry, domain_from_word};
use crate::topic::{Encoding, PlaceView, StateWord, Topic, TypeDescription};

/// A topic and its members.
#[derive(Debug, Clone)]
pub struct TopicInfo {
    /// Its name.
    pub name: String,
    /// What it carries. Encoding and layout are those of its first publisher, if it has one.
    pub description: TypeDescription,
    /// How many rows its ring has; the newest, if it has grown.
    pub depth: u32,
    /// How many messages were published so far.
    pub published: u64,
    /// Its publishers, those that are gone but whose messages are still there included.
    pub publishers: Vec<PublisherInfo>,
    /// Its subscribers.
    pub subscribers: Vec<SubscriberInfo>,
    /// The memory domains it was ever used in, the host first.
    pub domains: Vec<DomainUse>,
}

/// What became of a topic's messages in one memory domain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DomainUse {
    /// The domain.
    pub domain: DomainId,
    /// How many messages were copied into it.
    pub copies: u64,
    /// How many bytes that were.
    pub bytes: u64,
}

/// A publisher of a topic.
#[derive(Debug, Clone)]
pub struct PublisherInfo {
    /// The node that it belongs to.
    pub node: NodeId,
    /// Whether that node lives and the publisher is there.
    pub alive: bool,
    /// Whether it waits for reliable subscribers.
    pub reliable: bool,
    /// What it keeps for subscribers that come late.
    pub durability: Durability,
    /// How many of its last messages stay available.
    pub depth: u64,
    /// How its messages are laid out.
    pub encoding: Option<Encoding>,
    /// The memory domain of its bodies.
    pub domain: DomainId,
    /// How many slots of its pool are held by a subscriber.
    pub held_slots: usize,
    /// How many slots its pool has.
    pub slots: usize,
    /// How many bytes of memory its pool takes.
    pub memory_bytes: u64,
    /// The subscriber that it waits for, if it has no room at the moment.
    pub waits: Option<Waits>,
}

/// A publisher waits for a reliable subscriber to take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Waits {
    /// The subscriber's node.
    pub subscriber: NodeId,
    /// For how long by now.
    pub waited: Duration,
}

/// A subscriber of a topic.
#[derive(Debug, Clone)]
pub struct SubscriberInfo {
    /// The node that it belongs to.
    pub node: NodeId,
    /// Whether that node lives.
    pub alive: bool,
    /// Whether it asks for reliable delivery.
    pub reliable: bool,
    /// Whether publishers wait for it.
    pub backpressure: bool,
    /// Whether it wants what was published before it came.
    pub durability: Durability,
    /// How many messages it keeps; nothing for all.
    pub keep_last: Option<u64>,
    /// How many messages it took.
    pub taken: u64,
    /// How many it lost, those that it has not come to miss yet included.
    pub lost: u64,
    /// How many are published that it has not looked at yet.
    pub behind: u64,
    /// The memory domain that it takes in.
    pub domain: DomainId,
}

/// Why a root directory cannot be looked at.
#[derive(Debug, thiserror::Error)]
pub enum InspectError {
    /// Another user could have put there what would be found.
    #[error(transparent)]
    Root(#[from] RootError),
    /// A directory in it cannot be read.
    #[error("cannot list {path}: {source}; check who owns it, or set SITU_ROOT to another directory")]
    List {
        /// The directory.
        path: PathBuf,
        /// What the kernel answered.
        source: io::Error,
    },
    /// A topic's file cannot be used.
    #[error(transparent)]
    Topic(#[from] MemoryError),
}

/// All topics of a root directory, by name. Files that are not readable as topics are left out: see
/// [`survey`].
pub fn topics(root: &Root) -> Result<Vec<TopicInfo>, InspectError> {
    Ok(survey(root)?.into_iter().filter_map(|(_, topic)| topic.ok()).collect())
}

/// A topic's name, and what the topic is or why its file cannot be used.
pub type Surveyed = (String, Result<TopicInfo, MemoryError>);

/// All topics of a root directory, by name, those that cannot be used included.
pub fn survey(root: &Root) -> Result<Vec<Surveyed>, InspectError> {
    let Some(root) = root.open()? else { return Ok(Vec::new()) };
    let directory = root.topics();
    let names = match directory.names() {
        Ok(names) => names,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(source) => return Err(InspectError::List { path: directory.path().to_owned(), source }),
    };
    let mut found: Vec<_> = names
        .iter()
        .filter_map(|name| topic_name(name.to_str()?))
        .filter_map(|name| Some((topic_in(&root, &name).transpose()?, name)))
        .map(|(topic, name)| (name, topic))
        .collect();
    found.sort_by(|a, b| a.0.cmp(&b.0));
    Ok(found)
}

/// One topic; nothing if there is none of this name.
pub fn topic(root: &Root, name: &str) -> Result<Option<TopicInfo>, InspectError> {
    let Some(root) = root.open()? else { return Ok(None) };
    Ok(topic_in(&root, name)?)
}

fn topic_in(root: &OpenRoot, name: &str) -> Result<Option<TopicInfo>, MemoryError> {
    let Some(topic) = Topic::open(root, &root.topic(name), Access::Read)? else { return Ok(None) };
    let info = describe(&topic);
    if guard::has_damage() && topic.is_damaged() {
        return Err(MemoryError::Truncated { path: topic.damaged_file().path().to_owned() });
    }
    Ok(Some(info))
}

/// All nodes of a root directory, dead ones included, by name.
pub fn nodes(root: &Root) -> Result<Vec<NodeInfo>, InspectError> {
    let Some(root) = root.open()? else { return Ok(Vec::new()) };
    let list = |source| InspectError::List { path: root.nodes().path().to_owned(), source };
    liveness::nodes(&root).map_err(list)
}

/// What is known of one node; nothing if it has left.
pub fn node(root: &Root, id: NodeId) -> Result<Option<NodeInfo>, InspectError> {
    Ok(root.open()?.and_then(|root| liveness::node(&root, id)))
}

fn durability(word: StateWord) -> Durability {
    if word.is_transient_local() { Durability::TransientLocal } else { Durability::Volatile }
}

fn describe(topic: &Topic) -> TopicInfo {
    let published = topic.end();
    let publishers: Vec<PublisherInfo> = used(&topic.registry().publishers_used, PUBLISHERS)
        .map(|index| topic.publisher(index))
        .filter_map(|entry| {
            let word = StateWord::read(&entry.state);
            if !word.has_pool() || !word.is_of_heads() {
                return None;
            }
            let node = NodeId(entry.node.load(Ordering::Relaxed));
            let path = topic.pool_path(entry.tenure.pool());
            let (held_slots, slots) = PoolMetadata::open(&path).map_or((0, 0), |pool| pool.usage());
            let alive = word.is_active() && liveness::is_alive(&topic.root, node);
            Some(PublisherInfo {
                node,
                alive,
                waits: waits(topic, entry).filter(|_| alive),
                reliable: word.is_reliable(),
                durability: durability(word),
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
                node,
                alive: !word.is_gone() && liveness::is_alive(&topic.root, node),
                reliable: word.is_reliable(),
                backpressure: word.is_waited_for(),
                durability: durability(word),
                keep_last: match place.keep_last() {
                    0 => None,
                    last => Some(last),
                },
                taken: place.taken(),
                lost: place.lost().saturating_add(lost_by_now(topic, place, published)),
                behind: published.saturating_sub(place.cursor()),
                domain: place.domain(),
            })
        })
        .collect();
    let first = used(&topic.registry().publishers_used, PUBLISHERS)
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

/// How many messages a subscriber will find lost when it comes to take: they were overwritten, or their slots
/// were used again.
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
    // Each step leaves a row behind; what others write to them cannot make it go on for ever.
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

/// Whether the slot of a message still has it.
fn is_there(
    topic: &Topic,
    number: u64,
    at: Reference,
    pools: &mut HashMap<u64, Option<PoolMetadata>>,
) -> bool {
    let Some(pool) = topic.publisher(usize::from(at.pool)).tenure.of(number) else { return false };
    let opened = pools.entry(pool).or_insert_with(|| PoolMetadata::open(topic.pool_path(pool)).ok());
    let control = opened.as_ref().and_then(|pool| pool.control(SlotId::from(at.slot)));
    control.is_some_and(|control| control.generation() as u16 == at.generation)
}

/// The subscriber that a publisher waits for.
fn waits(topic: &Topic, entry: &PublisherEntry) -> Option<Waits> {
    // Acquire: since when, with it.
    let place = entry.waits_for.load(Ordering::Acquire).checked_sub(1)?;
    let place = (place < PLACES).then(|| topic.places.at(place as usize))?;
    let waited = now_ns().saturating_sub(entry.waits_since_ns.load(Ordering::Relaxed));
    Some(Waits { subscriber: NodeId(place.node()), waited: Duration::from_nanos(waited) })
}

fn used(counter: &situ_memory::sync::atomic::AtomicU32, most: u32) -> impl Iterator<Item = usize> {
    0..counter.load(Ordering::SeqCst).min(most) as usize
}

impl Topic {
    /// How many publishers are there.
    pub(crate) fn publishers(&self) -> usize {
        used(&self.registry().publishers_used, PUBLISHERS)
            .filter(|index| StateWord::read(&self.publisher(*index).state).is_publisher())
            .count()
    }
}
