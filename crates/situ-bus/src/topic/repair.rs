//! Repair: the next participant removes the state that dead ones left.
//!
//! It runs under the lock of the topic's directory. Places of dead nodes are freed, and with them all slots
//! that their ledgers name. Pools of dead publishers are removed once their messages cannot be taken any
//! more. Each step can be repeated, so a repairer may die at any instruction.

use std::cell::LazyCell;
use std::collections::HashSet;
use std::ffi::OsStr;
use std::io::ErrorKind;

use situ_memory::sync::atomic::Ordering;
use situ_memory::{Access, Beneath, MemoryError, OpenRoot, PoolMetadata, PoolView, ViewError};

use super::census::Census;
use super::entries::{active_publishers, used_publishers};
use super::file::Topic;
use super::files::{FILE, HIDDEN_FILE, SUBSCRIBERS_FILE, is_topic_file};
use super::format::{PublisherEntry, RosterEntry, domain_from_word};
use super::lock::Lock;
use super::members::PlaceView;
use super::rights::Role;
use super::roster::{FIRST, Roster, mend};
use super::state_word::StateWord;
use crate::node::liveness::{NodeId, has_ended, is_alive, nodes};
use crate::node::living::Living;
use crate::protocol::copy_state::CopyState;
use crate::protocol::ring::{Look, Reference, Ring};
use crate::root::topic_name;
use crate::wake::Wake;

/// Whether any participant lives. Call it right after [`repair`], when all active ones are alive.
pub(super) fn in_use(topic: &Topic) -> bool {
    topic.places.active().next().is_some() || active_publishers(topic).next().is_some()
}

/// Whether the topic is to be removed: no participant lives, and it does not stand without one. Call it right
/// after [`repair`].
pub(super) fn is_over(topic: &Topic) -> bool {
    topic.header.stands == 0 && !in_use(topic)
}

/// Repairs for a participant that joins or leaves, and tells what members there are. Of many members, it does
/// not ask each whether it lives: see [`Census`]. `left` is the place of a subscriber that has just left.
pub(super) fn repair_for_member(topic: &Topic, lock: &Lock, left: Option<usize>) -> Census {
    let Some(census) = Census::of_crowd(topic, lock, left) else { return repair_all(topic, lock) };
    let followed = topic.hint_at_rings();
    free(topic, lock, left.and_then(|index| topic.places.at(index)).into_iter(), followed);
    census
}

/// Repairs everything for a participant that joins, and tells what members there are.
pub(super) fn repair_all(topic: &Topic, lock: &Lock) -> Census {
    repair(topic, lock);
    Census::of_places(topic)
}

/// Repairs the state that dead members left. Under the lock, so no place and no entry is taken meanwhile.
pub(super) fn repair(topic: &Topic, lock: &Lock) {
    let followed = topic.hint_at_rings();
    let living = Living::default();
    let dead_subscribers = topic.mark_places_of_dead(&living);
    let dead_publishers = mark_dead_entries(topic, &living);
    if dead_publishers > 0 {
        topic.note_change();
    }
    let found_dead = dead_subscribers + dead_publishers > 0;
    free(topic, lock, topic.places.all(), followed);
    mend(topic, lock);
    if found_dead {
        remove_orphans(topic, lock);
    }
}

/// Frees what gone members do not need any more: those of these places whose subscribers are gone, rings, and
/// entries of publishers. `followed` tells whether the newest ring could be opened.
fn free<'t>(topic: &'t Topic, lock: &Lock, places: impl Iterator<Item = PlaceView<'t>>, followed: bool) {
    free_places(topic, lock, places);
    if followed {
        topic.forget_rings(lock);
    }
    free_entries(topic);
}

/// Marks the entries of dead publishers: for all participants if this one may write, otherwise for itself.
/// Returns the number of newly marked ones.
fn mark_dead_entries(topic: &Topic, living: &Living) -> usize {
    let is_dead = |(_, entry): &(usize, &PublisherEntry)| {
        StateWord::read(&entry.state).is_active()
            && !living.is_alive(&topic.root, NodeId(entry.node.load(Ordering::Relaxed)))
    };
    let mut dead = used_publishers(topic).filter(is_dead).peekable();
    let writing = dead.peek().map(|_| topic.writing());
    let mark = |(index, entry): (usize, &PublisherEntry)| {
        let word = StateWord::read(&entry.state);
        match writing {
            Some(Ok(_)) => entry.state.store(word.left(), Ordering::SeqCst),
            _ => return topic.dead_entries.insert(index, word),
        }
        true
    };
    dead.filter(|entry| mark(*entry)).count()
}

/// Poisons fences that a dead owner left pending in a pool of bodies or copies, so that no participant waits
/// for ever. It first waits for the end of the owner's process, because until then a device may complete
/// them. Returns whether that is done or not needed. Until then the pool's files must stay: a subscriber that
/// waits may have taken the message, and no row and no cursor shows that.
fn poison(topic: &Topic, entry: &PublisherEntry) -> bool {
    let node = NodeId(entry.node.load(Ordering::Relaxed));
    if is_alive(&topic.root, node) {
        // The publisher was dropped; its node lives until its streams are done. If the node dies before, the
        // waiting processes poison the fences.
        return true;
    }
    if !has_ended(&topic.root, node) {
        return false;
    }
    match PoolMetadata::open(topic.pool_path(entry.tenure.pool()), Access::ReadWrite) {
        Ok(pool) => _ = pool.poison(),
        // Out of descriptors or memory: repeated by the next repair.
        Err(ViewError::Memory(MemoryError::System { .. })) => return false,
        Err(_) => {}
    }
    true
}

/// Frees the places of subscribers that are gone: then their ledgers do not count any more. If the topic has
/// devices, it waits for the end of their processes: until then a device may work for them on slots that they
/// held.
///
/// A publisher maps the places again for this, for writing. If it may not, the places stay as they are for
/// the next repairer that may: the publisher skips them, and their ledgers do not count for it.
fn free_places<'t>(topic: &'t Topic, lock: &Lock, places: impl Iterator<Item = PlaceView<'t>>) {
    let devices = topic.domains().nth(1).is_some();
    let gone: Vec<_> = places
        .filter(|place| place.word.is_gone() || topic.places.is_passed_over(*place))
        .filter(|place| {
            let node = NodeId(place.node());
            // If the node lives, the subscriber and its last sample were dropped.
            !devices || is_alive(&topic.root, node) || has_ended(&topic.root, node)
        })
        .collect();
    if gone.is_empty() {
        return;
    }
    let writable = topic.places.writable(lock);
    // If it cannot be opened, the places behind the first window stay for the next repairer.
    let in_roster = writable.is_ok() && gone.iter().any(|place| place.index >= FIRST);
    let roster = in_roster.then(|| Roster::open(topic, lock, true).ok()).flatten();
    for view in gone {
        // Before the place: see `roster`.
        let strike = |roster: &Roster| roster.write(view.index, &RosterEntry::default()).is_ok();
        if writable.is_ok() && view.index >= FIRST && !roster.as_ref().is_some_and(strike) {
            continue;
        }
        match writable.as_ref().ok().and_then(|places| places.place(view.index)) {
            Some(place) => {
                let word = StateWord::read(&place.state);
                place.state.store(word.freed(), Ordering::SeqCst);
            }
            None => topic.places.release(view),
        }
    }
    if let Ok(places) = &writable {
        Wake::new(&places.room_made().rung, topic.room_armed()).notify();
    }
}

/// The newest messages of all pools: for each entry the number of the last message that a row names.
struct Newest(Vec<Option<u64>>);

impl Newest {
    /// Reads all rows that can still be taken once.
    fn of(topic: &Topic, rings: &[Ring<'_>]) -> Self {
        let mut newest = vec![None; topic.used_entries()];
        for ring in rings {
            for number in numbers_in(ring) {
                if let Look::Here(Reference { pool, .. }) = ring.look(number)
                    && let Some(newest) = newest.get_mut(usize::from(pool))
                    && topic.publisher(usize::from(pool)).tenure.of(number).is_some()
                {
                    *newest = (*newest).max(Some(number));
                }
            }
        }
        Self(newest)
    }

    /// The last message that needs the pool of this entry. For bodies, the last message whose head may be in
    /// the pool that they belong to.
    fn that_needs(&self, index: usize, entry: &PublisherEntry) -> Option<u64> {
        let heads = match StateWord::read(&entry.state).is_of_bodies() {
            false => Some(index),
            true => usize::try_from(entry.depth.load(Ordering::Relaxed)).ok(),
        };
        heads.and_then(|heads| *self.0.get(heads)?)
    }
}

/// The numbers whose rows a ring still has.
fn numbers_in(ring: &Ring<'_>) -> std::ops::Range<u64> {
    let end = ring.end();
    end.saturating_sub(ring.depth()).max(ring.base())..end
}

/// Removes the pools of publishers that are gone once their messages cannot be taken any more, and frees
/// their entries. Pools of bodies and copies come first: if the process dies in between, the heads' entry
/// still exists. Pending fences in them are poisoned before they are removed.
///
/// Rows that name a free entry are invalid, whichever pool has the entry next (see
/// [`tenure`](crate::protocol::tenure)). The words of copies do not have that property, because they belong
/// to messages from before their pool was made. So they are cleared first.
fn free_entries(topic: &Topic) {
    // The members that are gone are read before the end of the topic: a publisher that leaves in between may
    // have published until then.
    let gone: Vec<_> = used_publishers(topic).filter(|(_, entry)| is_gone(entry)).collect();
    if gone.is_empty() {
        return;
    }
    // Without the right to write, the next repairer that has it does this.
    let Ok(_writing) = topic.writing() else { return };
    let end = topic.end();
    // Only read where a message may still be wanted, because there may be thousands of places. Later is no
    // worse: cursors only increase, and no subscriber joins meanwhile.
    let slowest = LazyCell::new(|| topic.places.active().map(|place| place.cursor()).min().unwrap_or(end));
    let rings = topic.needed_rings();
    let newest = Newest::of(topic, &rings);
    let (heads, pools): (Vec<_>, Vec<_>) =
        gone.into_iter().partition(|(_, entry)| StateWord::read(&entry.state).is_of_heads());
    for (index, entry) in pools.into_iter().chain(heads) {
        let word = StateWord::read(&entry.state);
        if !word.is_of_heads() && !word.is_unlinked() && !poison(topic, entry) {
            continue;
        }
        if word.is_of_copies() {
            free_copies(topic, &rings, index, entry, *slowest >= end);
            continue;
        }
        let keeps = word.is_transient_local();
        let wanted = newest.that_needs(index, entry).is_some_and(|last| keeps || last >= *slowest);
        if word.is_unlinked() || !wanted {
            free_pool(topic, index, entry);
        }
    }
}

fn is_gone(entry: &PublisherEntry) -> bool {
    StateWord::read(&entry.state).is_gone()
}

/// Removes the pool of an entry and frees the entry. An entry of heads is freed when it has no bodies left:
/// otherwise they would seem to belong to the next pool in that entry.
fn free_pool(topic: &Topic, index: usize, entry: &PublisherEntry) {
    let mut word = StateWord::read(&entry.state);
    if !word.is_unlinked() {
        PoolView::unlink(topic.pool_path(entry.tenure.pool()));
        word = word.unlinked();
        entry.state.store(word.0, Ordering::SeqCst);
    }
    let has_bodies = || used_publishers(topic).any(|(_, other)| is_body_of(other, index));
    if word.is_of_bodies() || !has_bodies() {
        entry.state.store(word.freed(), Ordering::SeqCst);
    }
}

/// Whether an entry belongs to bodies whose heads lie in the pool of the entry `heads`.
fn is_body_of(entry: &PublisherEntry, heads: usize) -> bool {
    let word = StateWord::read(&entry.state);
    let used = word.is_taken() && word.is_of_bodies();
    used && entry.depth.load(Ordering::Relaxed) == heads as u64
}

/// The same for a pool of copies. `all_passed` tells whether all subscribers have passed all messages.
fn free_copies(topic: &Topic, rings: &[Ring<'_>], index: usize, entry: &PublisherEntry, all_passed: bool) {
    let mut word = StateWord::read(&entry.state);
    let named = named_by(topic, rings, entry).any(|copy| copy.refers_to(index as u16));
    if !word.is_unlinked() && (!named || all_passed) {
        PoolView::unlink(topic.pool_path(entry.tenure.pool()));
        word = word.unlinked();
        entry.state.store(word.0, Ordering::SeqCst);
    }
    if word.is_unlinked() {
        // A subscriber that still needs one of its messages has to copy it again. Rows of slow topics stay
        // for a long time, and subscribers that join and leave would use up all entries.
        named_by(topic, rings, entry).for_each(|copy| copy.forget(index as u16));
        entry.state.store(word.freed(), Ordering::SeqCst);
    }
}

/// Frees one entry when all entries are taken: the gone publisher's whose newest message is the oldest, with
/// its messages. Late subscribers then find fewer messages, and subscribers that are behind lose some.
/// Subscribers that publishers wait for lose none, because every message has to reach them. Returns whether
/// there was such an entry. Under the lock, after [`repair`].
pub(super) fn give_up_oldest(topic: &Topic) -> bool {
    let waited_for =
        topic.places.active().filter(|place| place.is_waited_for()).map(|place| place.cursor()).min();
    let is_heads = |entry: &PublisherEntry| StateWord::read(&entry.state).is_of_heads();
    let gone: Vec<_> =
        used_publishers(topic).filter(|(_, entry)| is_gone(entry) && is_heads(entry)).collect();
    // Read after the gone publishers: see `free_entries`.
    let newest = Newest::of(topic, &topic.needed_rings());
    let mut gone: Vec<_> = gone
        .into_iter()
        .map(|(index, entry)| (newest.that_needs(index, entry), index, entry))
        .filter(|(last, ..)| last.is_none_or(|last| waited_for.is_none_or(|first| last < first)))
        .collect();
    gone.sort_by_key(|(last, index, _)| (*last, *index));
    gone.into_iter().any(|(_, index, entry)| {
        let bodies: Vec<_> = used_publishers(topic).filter(|(_, other)| is_body_of(other, index)).collect();
        // Fences that participants may wait for stay until the process that completes them has ended.
        if !bodies.iter().all(|(_, bodies)| is_gone(bodies) && poison(topic, bodies)) {
            return false;
        }
        bodies.into_iter().for_each(|(index, bodies)| free_pool(topic, index, bodies));
        free_pool(topic, index, entry);
        true
    })
}

/// The entries of all messages in the column of the domain of a pool of copies.
fn named_by<'t>(
    topic: &'t Topic,
    rings: &'t [Ring<'t>],
    pool: &PublisherEntry,
) -> impl Iterator<Item = CopyState<'t>> {
    let column = topic.column(domain_from_word(&pool.domain));
    column.into_iter().flat_map(move |column| {
        rings.iter().flat_map(move |ring| numbers_in(ring).map(move |number| topic.entry(column, number)))
    })
}

/// Removes pool files that no entry names: their creator died before it had its entry. It is looked for where
/// something else shows that a process has died, because a topic may have thousands of files.
fn remove_orphans(topic: &Topic, lock: &Lock) {
    let known: HashSet<u64> = used_publishers(topic)
        .filter(|(_, entry)| StateWord::read(&entry.state).is_taken())
        .map(|(_, entry)| entry.tenure.pool())
        .collect();
    remove_pools(lock, |number| !known.contains(&number));
}

/// Removes the chosen pools, by the numbers in their names. It uses the open, locked directory and not its
/// path, which may lead elsewhere by now.
fn remove_pools(lock: &Lock, chosen: impl Fn(u64) -> bool) {
    for name in lock.names() {
        if pool_number(&name).is_some_and(&chosen) {
            PoolView::unlink(lock.at(name));
        }
    }
}

/// The number of the pool whose control file has this name.
fn pool_number(name: &OsStr) -> Option<u64> {
    let digits = name.to_str()?.strip_suffix(".pool")?;
    (digits.len() == 16).then(|| u64::from_str_radix(digits, 16).ok()).flatten()
}

/// Whether this is the name of a topic's file: its own, that of a further ring, that of either during
/// creation, or that of its subscribers.
fn is_file_name(name: &OsStr) -> bool {
    let further = |name: &str| name.strip_prefix("topic.").is_some_and(|it| it.parse::<u32>().is_ok());
    name.to_str().is_some_and(|name| [FILE, HIDDEN_FILE, SUBSCRIBERS_FILE].contains(&name) || further(name))
}

/// Removes all files of a topic, its name first, so that it cannot be opened from now on. Other files, by
/// name or content, stay, and the directory with them.
pub(super) fn remove_files(lock: &Lock) {
    lock.at(FILE).remove_if(is_topic_file);
    lock.names().into_iter().filter(|name| is_file_name(name)).for_each(|name| {
        lock.at(name).remove_if(is_topic_file);
    });
    remove_pools(lock, |_| true);
}

/// Removes a topic's files and its directory. Returns whether the directory is gone.
pub(super) fn remove_topic(directory: &Beneath, lock: &Lock) -> bool {
    remove_files(lock);
    directory.remove_directory().is_ok()
}

/// The result of a sweep of a topic's directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Swept {
    Removed,
    Kept,
    /// Another process holds its lock.
    Busy,
}

/// Repairs one topic's directory and removes it if it has no members left.
pub(crate) fn sweep(root: &OpenRoot, directory: &Beneath) -> Swept {
    let Some(lock) = Lock::try_acquire(directory) else {
        return if directory.open_directory().is_ok() { Swept::Busy } else { Swept::Kept };
    };
    let removable = match Topic::open(root, directory, Role::Repairer) {
        Ok(Some(topic)) => {
            repair(&topic, &lock);
            remove_orphans(&topic, &lock);
            is_over(&topic)
        }
        Ok(None) => true,
        // Out of descriptors or memory: nothing is known of the topic. (Without the right to write it, the
        // kernel decides whether its files can be removed.)
        Err(MemoryError::System { source, .. }) if source.kind() != ErrorKind::PermissionDenied => false,
        // The topic may be one of another version of Situ, and in use. But each member of a topic has a
        // living node, and no member joins while the lock is held.
        Err(_) => nodes(root).is_ok_and(|nodes| nodes.iter().all(|node| !node.alive)),
    };
    let known = directory.name().to_str().and_then(topic_name).is_some();
    if removable && known && remove_topic(directory, &lock) { Swept::Removed } else { Swept::Kept }
}
