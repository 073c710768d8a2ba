//! Coming and going: places, publishers' entries, and the repair of what the dead leave.
//!
//! Everything here happens under the lock of the topic's directory, which the kernel drops with its holder; a hot path
//! never takes it. Whoever comes or goes first repairs: places of dead nodes are freed (their holder bits cleared in
//! every pool before the place is given to anybody else), pools of dead publishers are removed once nobody can still
//! want their messages. Each step can be repeated, so it does not matter where a repairer dies.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::fd::AsFd;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::fs::FlockOperation;
use situ_memory::sync::atomic::Ordering;
use situ_memory::{DomainError, MemoryError, PoolMetadata, PoolView, ViewError};

use super::TypeDescription;
use super::file::{FILE, HIDDEN_FILE, Topic};
use super::format::{DEPTH, MOST_DEPTH, PLACES, PUBLISHERS, Place, PublisherEntry, state};
use crate::liveness::{NodeId, is_alive, nodes};
use crate::qos::{QosMismatch, Terms};
use crate::root::{Root, RootError, file_name, topic_name};
use crate::window;

/// What file systems take as a name, in bytes.
const MOST_FILE_NAME: usize = 255;
/// How long a registration waits for others that are registering.
const PATIENCE: Duration = Duration::from_secs(5);

/// Why a publisher or subscriber could not be made.
#[derive(Debug, thiserror::Error)]
pub enum RegisterError {
    /// The name cannot be a topic's.
    #[error(
        "{0:?} cannot name a topic: use 1 to 80 characters, none of them a control character (fewer if they are not plain \
         letters and digits: as a file name, where others are written as %XX, it must not exceed 255 bytes)"
    )]
    InvalidName(String),
    /// The root directory cannot be used.
    #[error(transparent)]
    Root(#[from] RootError),
    /// A file cannot be made or used.
    #[error(transparent)]
    Memory(#[from] MemoryError),
    /// A memory domain cannot be used.
    #[error(transparent)]
    Domain(DomainError),
    /// The topic carries another type.
    #[error(
        "topic {topic:?} carries {theirs} (schema {their_hash:016x}), not {ours} (schema {our_hash:016x}): {difference}"
    )]
    TypeMismatch {
        /// The topic.
        topic: String,
        /// The type that was asked for.
        ours: String,
        /// Its schema hash.
        our_hash: u64,
        /// The type that the topic carries.
        theirs: String,
        /// Its schema hash.
        their_hash: u64,
        /// The first difference between the two schemas.
        difference: String,
    },
    /// Both sides use the flat layout, but not the same one.
    #[error(
        "topic {topic:?}: node {node} lays {type_name} out differently (layout {theirs:016x}, here {ours:016x}); generate \
         both from the same schema, with the same annotations"
    )]
    LayoutMismatch {
        /// The topic.
        topic: String,
        /// The node on the other side.
        node: NodeId,
        /// The type.
        type_name: String,
        /// The layout hash that was asked for.
        ours: u64,
        /// The other's.
        theirs: u64,
    },
    /// A participant on the other side offers or asks for another quality of service.
    #[error("topic {topic:?} has an incompatible participant, node {node}: {mismatch}")]
    Qos {
        /// The topic.
        topic: String,
        /// The node on the other side.
        node: NodeId,
        /// What differs.
        mismatch: QosMismatch,
    },
    /// All places are taken.
    #[error("topic {topic:?} has no place for another {role}: all {most} are taken by living nodes")]
    Full {
        /// The topic.
        topic: String,
        /// "subscriber" or "publisher".
        role: &'static str,
        /// How many there can be.
        most: u32,
    },
    /// More messages are to be kept than the topic has rows.
    #[error(
        "a depth of {asked} does not fit topic {topic:?}, which has room for {rows}; join first with the largest depth, \
         at most 32768"
    )]
    Depth {
        /// The topic.
        topic: String,
        /// What was asked for.
        asked: usize,
        /// What there is room for.
        rows: u32,
    },
    /// Somebody else holds the topic's lock and does not let go.
    #[error(
        "topic {topic:?} was locked by another process for {waited:?}; look for a stopped process (`situ doctor`)"
    )]
    Busy {
        /// The topic.
        topic: String,
        /// How long it was waited.
        waited: Duration,
    },
}

impl From<DomainError> for RegisterError {
    fn from(error: DomainError) -> Self {
        match error {
            DomainError::Memory(error) => Self::Memory(error),
            error => Self::Domain(error),
        }
    }
}

/// The lock of a topic's directory, held until dropped.
#[derive(Debug)]
pub(crate) struct Lock(File);

impl Lock {
    /// Waits for the lock. The directory is made if it is missing, and made again if its last user removed it while
    /// this process was waiting.
    fn acquire(root: &Root, directory: &Path, topic: &str) -> Result<Self, RegisterError> {
        let system =
            |action, source: io::Error| MemoryError::System { action, path: directory.to_owned(), source };
        let start = Instant::now();
        loop {
            root.make(directory)?;
            let opened = match open_directory(directory) {
                Ok(opened) => opened,
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                Err(error) => return Err(system("open", error).into()),
            };
            match rustix::fs::flock(&opened, FlockOperation::NonBlockingLockExclusive) {
                Ok(()) if is_still(&opened, directory) => return Ok(Self(opened)),
                Ok(()) => continue,
                Err(rustix::io::Errno::WOULDBLOCK) if start.elapsed() < PATIENCE => {
                    std::thread::sleep(Duration::from_micros(100));
                }
                Err(rustix::io::Errno::WOULDBLOCK) => {
                    return Err(RegisterError::Busy { topic: topic.to_owned(), waited: start.elapsed() });
                }
                Err(error) => return Err(system("lock", error.into()).into()),
            }
        }
    }

    /// Takes the lock of a directory that is there, if nobody else has it.
    fn try_acquire(directory: &Path) -> Option<Self> {
        let opened = open_directory(directory).ok()?;
        rustix::fs::flock(opened.as_fd(), FlockOperation::NonBlockingLockExclusive).ok()?;
        is_still(&opened, directory).then_some(Self(opened))
    }
}

/// Opens a directory that is one: a link could lead anywhere.
fn open_directory(path: &Path) -> io::Result<File> {
    let flags = rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::DIRECTORY;
    OpenOptions::new().read(true).custom_flags(flags.bits() as i32).open(path)
}

/// Whether the path still leads to the open directory.
fn is_still(opened: &File, path: &Path) -> bool {
    match (opened.metadata(), fs::metadata(path)) {
        (Ok(a), Ok(b)) => (a.dev(), a.ino()) == (b.dev(), b.ino()),
        _ => false,
    }
}

/// What a participant is, while it registers.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Registration<'a> {
    pub root: &'a Root,
    pub node: NodeId,
    pub topic: &'a str,
    pub description: &'a TypeDescription,
    pub terms: Terms,
    /// How many rows the participant needs at least.
    pub depth: usize,
}

/// A topic that was joined, while its lock is held.
pub(crate) struct Joined {
    pub topic: Arc<Topic>,
    lock: Lock,
}

impl Drop for Joined {
    /// Who made the topic but could not take part leaves nothing behind.
    fn drop(&mut self) {
        if !in_use(&self.topic) {
            remove_topic(&self.topic.directory, &self.lock);
        }
    }
}

impl Registration<'_> {
    /// Opens the topic, or makes it, and repairs what the dead left in it.
    pub(crate) fn join(&self) -> Result<Joined, RegisterError> {
        if self.topic.is_empty()
            || self.topic.chars().count() > 80
            || self.topic.chars().any(char::is_control)
            || file_name(self.topic).len() > MOST_FILE_NAME
        {
            return Err(RegisterError::InvalidName(self.topic.to_owned()));
        }
        self.check_depth(MOST_DEPTH / 2)?;
        self.root.prepare()?;
        let directory = self.root.topic(self.topic);
        let lock = Lock::acquire(self.root, &directory, self.topic)?;
        if let Some(topic) = Topic::open(self.root, &directory)? {
            repair(&topic, &lock);
            if !in_use(&topic) {
                // Everybody who was here is dead: begin anew, whatever type or depth they had.
                remove_files(&lock);
            } else {
                self.check_type(&topic)?;
                return Ok(Joined { topic: Arc::new(topic), lock });
            }
        }
        let depth =
            (self.depth.saturating_mul(2) as u64).clamp(u64::from(DEPTH), u64::from(MOST_DEPTH)) as u32;
        let depth = depth.next_power_of_two();
        match Topic::create(self.root, &directory, self.topic, self.description, depth) {
            Ok(topic) => Ok(Joined { topic: Arc::new(topic), lock }),
            Err(error) => {
                remove_topic(&directory, &lock);
                Err(error.into())
            }
        }
    }

    fn check_depth(&self, rows: u32) -> Result<(), RegisterError> {
        if self.depth <= rows as usize {
            return Ok(());
        }
        Err(RegisterError::Depth { topic: self.topic.to_owned(), asked: self.depth, rows })
    }

    fn check_type(&self, topic: &Topic) -> Result<(), RegisterError> {
        self.check_depth(topic.header.depth)?;
        let ours = self.description;
        if topic.type_name == ours.name && topic.header.schema_hash == ours.schema_hash {
            return Ok(());
        }
        Err(RegisterError::TypeMismatch {
            topic: self.topic.to_owned(),
            ours: ours.name.clone(),
            our_hash: ours.schema_hash,
            theirs: topic.type_name.clone(),
            their_hash: topic.header.schema_hash,
            difference: first_difference(&topic.schema, &ours.schema),
        })
    }

    fn qos_error(&self, node: u64, mismatch: QosMismatch) -> RegisterError {
        RegisterError::Qos { topic: self.topic.to_owned(), node: NodeId(node), mismatch }
    }

    /// Two flat layouts must be the same. Who only serializes has none; a subscriber of serialized messages that can
    /// also read flat ones names theirs.
    fn check_layout(&self, node: u64, theirs: u64) -> Result<(), RegisterError> {
        let ours = self.description.layout_hash;
        if ours == 0 || theirs == 0 || ours == theirs {
            return Ok(());
        }
        let type_name = self.description.name.clone();
        let topic = self.topic.to_owned();
        Err(RegisterError::LayoutMismatch { topic, node: NodeId(node), type_name, ours, theirs })
    }
}

impl Joined {
    /// Takes a place for a subscriber and gives its number. `wants` is how far back it wants to begin.
    pub(crate) fn take_place(
        &self,
        registration: &Registration<'_>,
        backpressure: bool,
        wants: u64,
        keep_last: u64,
    ) -> Result<usize, RegisterError> {
        let topic = &self.topic;
        for entry in active_publishers(topic) {
            let node = entry.node.load(Ordering::Relaxed);
            publisher_terms(entry)
                .satisfies(registration.terms)
                .map_err(|mismatch| registration.qos_error(node, mismatch))?;
            registration.check_layout(node, entry.layout_hash.load(Ordering::Relaxed))?;
        }
        let free = (0..PLACES as usize).find(|index| {
            topic.place(*index).state.load(Ordering::SeqCst) & (state::ACTIVE | state::GONE) == 0
        });
        let Some(index) = free else {
            return Err(RegisterError::Full { topic: topic.name.clone(), role: "subscriber", most: PLACES });
        };
        let place = topic.place(index);
        let word = place.state.load(Ordering::Relaxed);
        place.node.store(registration.node.0, Ordering::Relaxed);
        place.encoding.store(registration.description.encoding as u32, Ordering::Relaxed);
        place.deadline_ns.store(registration.terms.deadline_ns, Ordering::Relaxed);
        place.domain.store(super::format::domain_to_word(situ_memory::HOST), Ordering::Relaxed);
        place.lost.store(0, Ordering::Relaxed);
        place.taken.store(0, Ordering::Relaxed);
        place.keep_last.store(keep_last, Ordering::Relaxed);
        place.layout_hash.store(registration.description.layout_hash, Ordering::Relaxed);
        place.cursor.store(window::begin(topic.ring(), wants), Ordering::Relaxed);
        let mut bits = state::ACTIVE;
        if backpressure {
            bits |= state::BACKPRESSURE;
        }
        if registration.terms.reliable {
            bits |= state::RELIABLE;
        }
        if registration.terms.transient_local {
            bits |= state::TRANSIENT_LOCAL;
        }
        topic.registry().places_used.fetch_max(index as u32 + 1, Ordering::SeqCst);
        // Publication of the place: publishers that see it active see its cursor. If the process dies before, the
        // place is still free; after, it is repaired as any dead node's.
        place.state.store(state::next(word, bits), Ordering::SeqCst);
        window::enter(topic.ring(), &place.cursor, &topic.registry().epoch, wants);
        Ok(index)
    }

    /// Takes an entry for a publisher whose pool, of this number, `create` makes, and gives the entry's number.
    pub(crate) fn take_entry(
        &self,
        registration: &Registration<'_>,
        pool: u64,
        depth: u64,
        lifespan_ns: u64,
        create: impl FnOnce(&Path) -> Result<(), DomainError>,
    ) -> Result<usize, RegisterError> {
        let topic = &self.topic;
        let description = registration.description;
        for place in active_places(topic) {
            let node = place.node.load(Ordering::Relaxed);
            registration
                .terms
                .satisfies(place_terms(place))
                .map_err(|mismatch| registration.qos_error(node, mismatch))?;
            registration.check_layout(node, place.layout_hash.load(Ordering::Relaxed))?;
        }
        for entry in active_publishers(topic) {
            let node = entry.node.load(Ordering::Relaxed);
            registration.check_layout(node, entry.layout_hash.load(Ordering::Relaxed))?;
        }
        let free = (0..PUBLISHERS as usize).find(|index| {
            let word = topic.publisher(*index).state.load(Ordering::SeqCst);
            word & (state::ACTIVE | state::GONE | state::UNLINKED) == 0
        });
        let Some(index) = free else {
            return Err(RegisterError::Full {
                topic: topic.name.clone(),
                role: "publisher",
                most: PUBLISHERS,
            });
        };
        // The pool's files come first and the entry after them: who dies in between leaves files that no entry names,
        // which the next repair removes.
        create(&topic.pool_path(pool))?;
        let entry = topic.publisher(index);
        let word = entry.state.load(Ordering::Relaxed);
        entry.node.store(registration.node.0, Ordering::Relaxed);
        entry.pool.store(pool, Ordering::Relaxed);
        entry.encoding.store(description.encoding as u32, Ordering::Relaxed);
        entry.layout_hash.store(description.layout_hash, Ordering::Relaxed);
        entry.domain.store(super::format::domain_to_word(situ_memory::HOST), Ordering::Relaxed);
        entry.deadline_ns.store(registration.terms.deadline_ns, Ordering::Relaxed);
        entry.depth.store(depth, Ordering::Relaxed);
        entry.lifespan_ns.store(lifespan_ns, Ordering::Relaxed);
        let mut bits = state::ACTIVE;
        if registration.terms.reliable {
            bits |= state::RELIABLE;
        }
        if registration.terms.transient_local {
            bits |= state::TRANSIENT_LOCAL;
        }
        topic.registry().publishers_used.fetch_max(index as u32 + 1, Ordering::SeqCst);
        entry.state.store(state::next(word, bits), Ordering::SeqCst);
        Ok(index)
    }
}

pub(crate) fn publisher_terms(entry: &PublisherEntry) -> Terms {
    terms(entry.state.load(Ordering::Relaxed), entry.deadline_ns.load(Ordering::Relaxed))
}

pub(crate) fn place_terms(place: &Place) -> Terms {
    terms(place.state.load(Ordering::Relaxed), place.deadline_ns.load(Ordering::Relaxed))
}

fn terms(word: u32, deadline_ns: u64) -> Terms {
    Terms {
        reliable: word & state::RELIABLE != 0,
        transient_local: word & state::TRANSIENT_LOCAL != 0,
        deadline_ns,
    }
}

/// Places that a subscriber was given and did not lose.
pub(crate) fn active_places(topic: &Topic) -> impl Iterator<Item = &Place> {
    let used = topic.registry().places_used.load(Ordering::SeqCst).min(PLACES) as usize;
    (0..used)
        .map(|index| topic.place(index))
        .filter(|place| place.state.load(Ordering::SeqCst) & (state::ACTIVE | state::GONE) == state::ACTIVE)
}

/// Entries of publishers that are there.
pub(crate) fn active_publishers(topic: &Topic) -> impl Iterator<Item = &PublisherEntry> {
    used_publishers(topic)
        .map(|(_, entry)| entry)
        .filter(|entry| entry.state.load(Ordering::SeqCst) & state::ACTIVE != 0)
}

fn used_publishers(topic: &Topic) -> impl Iterator<Item = (usize, &PublisherEntry)> {
    let used = topic.registry().publishers_used.load(Ordering::SeqCst).min(PUBLISHERS) as usize;
    (0..used).map(|index| (index, topic.publisher(index)))
}

impl Topic {
    /// Marks the places of dead subscribers, without the lock: publishers stop waiting for them at once. Gives how many
    /// were found. A place that was given to somebody else meanwhile has another state word and is not hit.
    pub(crate) fn mark_dead_places(&self) -> usize {
        active_places(self)
            .filter(|place| {
                let word = place.state.load(Ordering::SeqCst);
                let node = NodeId(place.node.load(Ordering::Relaxed));
                word & (state::ACTIVE | state::GONE) == state::ACTIVE
                    && !is_alive(&self.root, node)
                    && place
                        .state
                        .compare_exchange(word, word | state::GONE, Ordering::SeqCst, Ordering::SeqCst)
                        .is_ok()
            })
            .count()
    }

    /// Repairs what the dead left, if nobody else is at it.
    pub(crate) fn repair_if_free(&self) {
        if let Some(lock) = Lock::try_acquire(&self.directory)
            && self.is_current()
        {
            repair(self, &lock);
        }
    }

    /// Whether the directory still is this topic's, and not that of another of the same name that was made after
    /// somebody removed this one by hand.
    pub(crate) fn is_current(&self) -> bool {
        matches!(Self::open(&self.root, &self.directory), Ok(Some(current)) if current.header.id == self.header.id)
    }

    /// A subscriber leaves.
    pub(crate) fn leave_place(&self, index: usize) {
        let place = self.place(index);
        place.state.fetch_or(state::GONE, Ordering::SeqCst);
        self.room().notify();
        self.leave();
    }

    /// A publisher leaves. What it published stays for those who still may take it.
    pub(crate) fn leave_entry(&self, index: usize) {
        let entry = self.publisher(index);
        let word = entry.state.load(Ordering::SeqCst);
        entry.state.store((word & !state::ACTIVE) | state::GONE, Ordering::SeqCst);
        self.leave();
    }

    /// Repairs, and removes the topic if nobody is left. If the lock cannot be had, the next who comes does it.
    fn leave(&self) {
        let Ok(lock) = Lock::acquire(&self.root, &self.directory, &self.name) else { return };
        if self.is_current() {
            repair(self, &lock);
            if !in_use(self) {
                remove_topic(&self.directory, &lock);
            }
        } else if let Ok(None) = Self::open(&self.root, &self.directory) {
            // Made by waiting for its lock.
            let _ = fs::remove_dir(&self.directory);
        }
    }
}

/// Whether any participant lives. Right after [`repair`], so the active ones do.
fn in_use(topic: &Topic) -> bool {
    active_places(topic).next().is_some() || active_publishers(topic).next().is_some()
}

/// Repairs what the dead left. Under the lock: nobody takes a place or an entry meanwhile.
fn repair(topic: &Topic, lock: &Lock) {
    topic.mark_dead_places();
    for (_, entry) in used_publishers(topic) {
        let word = entry.state.load(Ordering::SeqCst);
        if word & state::ACTIVE != 0 && !is_alive(&topic.root, NodeId(entry.node.load(Ordering::Relaxed))) {
            entry.state.store((word & !state::ACTIVE) | state::GONE, Ordering::SeqCst);
        }
    }
    free_places(topic);
    free_entries(topic);
    remove_orphans(topic, lock);
}

/// Frees the places of those who are gone: first their bits in every pool, then the place.
fn free_places(topic: &Topic) {
    let used = topic.registry().places_used.load(Ordering::SeqCst).min(PLACES) as usize;
    let gone: Vec<usize> = (0..used)
        .filter(|index| topic.place(*index).state.load(Ordering::SeqCst) & state::GONE != 0)
        .collect();
    if gone.is_empty() {
        return;
    }
    for (_, entry) in used_publishers(topic) {
        let word = entry.state.load(Ordering::SeqCst);
        if word & (state::ACTIVE | state::GONE) == 0 || word & state::UNLINKED != 0 {
            continue;
        }
        match PoolMetadata::open(&topic.pool_path(entry.pool.load(Ordering::Relaxed))) {
            Ok(pool) => gone.iter().for_each(|place| _ = pool.release_all(*place)),
            // For want of descriptors or memory: the places must keep until their bits can be cleared.
            Err(ViewError::Memory(MemoryError::System { .. })) => return,
            Err(_) => {}
        }
    }
    for index in gone {
        let place = topic.place(index);
        let word = place.state.load(Ordering::SeqCst);
        place.state.store(word & !(state::COUNT - 1), Ordering::SeqCst);
    }
    topic.room().notify();
}

/// Removes the pools of publishers that are gone once nobody can still want their messages, and frees their entries
/// once no row names them.
fn free_entries(topic: &Topic) {
    let ring = topic.ring();
    let end = ring.end();
    let slowest = active_places(topic).map(|place| place.cursor.load(Ordering::SeqCst)).min().unwrap_or(end);
    for (index, entry) in used_publishers(topic) {
        let mut word = entry.state.load(Ordering::SeqCst);
        if word & state::GONE == 0 {
            continue;
        }
        let named = ring.refers_to(index as u8);
        let keeps = word & state::TRANSIENT_LOCAL != 0;
        if word & state::UNLINKED == 0 && (!named || (slowest >= end && !keeps)) {
            PoolView::unlink(&topic.pool_path(entry.pool.load(Ordering::Relaxed)));
            word |= state::UNLINKED;
            entry.state.store(word, Ordering::SeqCst);
        }
        if !named {
            entry.state.store(word & !(state::COUNT - 1), Ordering::SeqCst);
        }
    }
}

/// Removes pool files that no entry names: their maker died before it had its entry.
fn remove_orphans(topic: &Topic, lock: &Lock) {
    let known: Vec<u64> = used_publishers(topic)
        .filter(|(_, entry)| entry.state.load(Ordering::SeqCst) & (state::ACTIVE | state::GONE) != 0)
        .map(|(_, entry)| entry.pool.load(Ordering::Relaxed))
        .collect();
    remove_if(lock, |name| {
        let name = Path::new(name);
        let is_pool = name.extension().is_some_and(|extension| extension == "pool" || extension == "data");
        let number = name.file_stem().and_then(|stem| u64::from_str_radix(stem.to_str()?, 16).ok());
        is_pool && number.is_none_or(|number| !known.contains(&number))
    });
}

/// Removes those files of the locked directory whose names are chosen. By the open directory and not by its path, which
/// may lead elsewhere by now.
fn remove_if(lock: &Lock, chosen: impl Fn(&str) -> bool) {
    let Ok(entries) = rustix::fs::Dir::read_from(&lock.0) else { return };
    for entry in entries.flatten() {
        if entry.file_name().to_str().is_ok_and(&chosen) {
            let _ = rustix::fs::unlinkat(&lock.0, entry.file_name(), rustix::fs::AtFlags::empty());
        }
    }
}

/// Removes all files of a topic, its name first: who opens it from now on finds none. Files that no topic has are left.
fn remove_files(lock: &Lock) {
    remove_if(lock, |name| name == FILE);
    remove_if(lock, |name| name == HIDDEN_FILE || name.ends_with(".pool") || name.ends_with(".data"));
}

/// Removes a topic's files and its directory. Gives whether it is gone.
fn remove_topic(directory: &Path, lock: &Lock) -> bool {
    remove_files(lock);
    fs::remove_dir(directory).is_ok()
}

/// What became of a topic's directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Swept {
    Removed,
    Kept,
    /// Somebody else has its lock.
    Busy,
}

/// Repairs one topic's directory and removes it if nobody is left in it.
pub(crate) fn sweep(root: &Root, directory: &Path) -> Swept {
    let Some(lock) = Lock::try_acquire(directory) else {
        return if directory.is_dir() { Swept::Busy } else { Swept::Kept };
    };
    let removable = match Topic::open(root, directory) {
        Ok(Some(topic)) => {
            repair(&topic, &lock);
            !in_use(&topic)
        }
        Ok(None) => true,
        // It may be another version's, and in use. But whoever takes part in a topic has a node that lives, and nobody
        // joins while the lock is held.
        Err(_) => nodes(root).is_ok_and(|nodes| nodes.iter().all(|node| !node.alive)),
    };
    let known = directory.file_name().and_then(|name| topic_name(name.to_str()?)).is_some();
    if removable && known && remove_topic(directory, &lock) { Swept::Removed } else { Swept::Kept }
}

/// The first line in which two canonical schemas differ, in words.
fn first_difference(theirs: &str, ours: &str) -> String {
    let (mut a, mut b) = (theirs.lines(), ours.lines());
    loop {
        match (a.next(), b.next()) {
            (Some(a), Some(b)) if a == b => {}
            (Some(a), Some(b)) => {
                return format!("the first difference is `{}` there and `{}` here", a.trim(), b.trim());
            }
            (Some(a), None) => return format!("it also has `{}`", a.trim()),
            (None, Some(b)) => return format!("it lacks `{}`", b.trim()),
            (None, None) => return "they differ in name only".to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_difference_is_named() {
        let a = "struct P {\n  float x;\n};";
        assert_eq!(
            first_difference(a, "struct P {\n  double x;\n};"),
            "the first difference is `float x;` there and `double x;` here"
        );
        assert_eq!(first_difference(a, "struct P {\n  float x;\n"), "it also has `};`");
        assert_eq!(first_difference("", "module m {"), "it lacks `module m {`");
    }
}
