//! Repair: what the dead leave is taken away by whoever comes next.
//!
//! Under the lock of the topic's directory. Places of dead nodes are freed (their holder bits cleared in every pool before
//! the place is given to anybody else), pools of dead publishers are removed once nobody can still want their
//! messages. Each step can be repeated, so it does not matter where a repairer dies.

use std::fs;
use std::path::Path;

use situ_memory::sync::atomic::Ordering;
use situ_memory::{MemoryError, PoolMetadata, PoolView, ViewError};

use super::file::{FILE, Topic};
use super::format::{PLACES, PublisherEntry, domain_from_word, state};
use super::registry::{Lock, active_places, active_publishers, used_publishers};
use crate::entry::Entry;
use crate::liveness::{NodeId, has_ended, is_alive, nodes};
use crate::ring::Ring;
use crate::root::{Root, topic_name};

/// Whether any participant lives. Right after [`repair`], so the active ones do.
pub(super) fn in_use(topic: &Topic) -> bool {
    active_places(topic).next().is_some() || active_publishers(topic).next().is_some()
}

/// Repairs what the dead left. Under the lock: nobody takes a place or an entry meanwhile.
pub(super) fn repair(topic: &Topic, lock: &Lock) {
    let followed = topic.hint_at_rings();
    topic.mark_dead_places();
    for (_, entry) in used_publishers(topic) {
        let word = entry.state.load(Ordering::SeqCst);
        if word & state::ACTIVE != 0 && !is_alive(&topic.root, NodeId(entry.node.load(Ordering::Relaxed))) {
            entry.state.store((word & !state::ACTIVE) | state::GONE, Ordering::SeqCst);
        }
    }
    let devices = topic.domains().nth(1).is_some();
    free_places(topic, devices);
    if followed {
        topic.forget_rings(lock);
    }
    free_entries(topic);
    remove_orphans(topic, lock);
}

/// Poisons what the dead left unfinished in a pool in the memory of a device, so that nobody waits for it for ever. Not before their
/// work has ended: it may complete after all. Gives whether that is done, or need not be: until then the pool's files must stay,
/// because who waits may have taken the message, and no row and no cursor tells of it.
fn poison(topic: &Topic, entry: &PublisherEntry) -> bool {
    let node = NodeId(entry.node.load(Ordering::Relaxed));
    if is_alive(&topic.root, node) {
        // The publisher was dropped; its node lives until its streams are done. Should it die before, who waits poisons.
        return true;
    }
    if !has_ended(&topic.root, node) {
        return false;
    }
    match PoolMetadata::open(&topic.pool_path(entry.pool.load(Ordering::Relaxed))) {
        Ok(pool) => _ = pool.poison(),
        // For want of descriptors or memory: another time.
        Err(ViewError::Memory(MemoryError::System { .. })) => return false,
        Err(_) => {}
    }
    true
}

/// Frees the places of those who are gone: first their bits in every pool, then the place. Where there are devices, not
/// before their processes have ended: until then a device may work for them on what they held.
fn free_places(topic: &Topic, devices: bool) {
    let used = topic.registry().places_used.load(Ordering::SeqCst).min(PLACES) as usize;
    let gone: Vec<usize> = (0..used)
        .filter(|index| topic.place(*index).state.load(Ordering::SeqCst) & state::GONE != 0)
        .filter(|index| {
            let node = NodeId(topic.place(*index).node.load(Ordering::Relaxed));
            // Of a node that lives, the subscriber and its last sample were dropped.
            !devices || is_alive(&topic.root, node) || has_ended(&topic.root, node)
        })
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
/// once no row names them. Pools of bodies and copies first: who dies in between leaves the heads' entry to tell. What is pending in them
/// is poisoned before they go.
fn free_entries(topic: &Topic) {
    let end = topic.end();
    let slowest = active_places(topic).map(|place| place.cursor.load(Ordering::SeqCst)).min().unwrap_or(end);
    let rings = topic.needed_rings();
    let is_of_pool =
        |entry: &PublisherEntry| entry.state.load(Ordering::SeqCst) & (state::BODIES | state::COPIES) != 0;
    let (pools, heads): (Vec<_>, Vec<_>) = used_publishers(topic).partition(|(_, entry)| is_of_pool(entry));
    // An entry that bodies which are still there belong to is not given to anybody else: they would seem to belong to that one's heads.
    let has_bodies = |index: usize| {
        used_publishers(topic).any(|(_, entry)| {
            let word = entry.state.load(Ordering::SeqCst);
            let used = word & (state::ACTIVE | state::GONE) != 0 && word & state::BODIES != 0;
            used && entry.depth.load(Ordering::Relaxed) == index as u64
        })
    };
    for (index, entry) in pools.into_iter().chain(heads) {
        let mut word = entry.state.load(Ordering::SeqCst);
        if word & state::GONE == 0 {
            continue;
        }
        let of_device = word & (state::BODIES | state::COPIES) != 0;
        if of_device && word & state::UNLINKED == 0 && !poison(topic, entry) {
            continue;
        }
        let mut named = is_named(topic, &rings, index, entry, word);
        let keeps = word & state::TRANSIENT_LOCAL != 0;
        if word & state::UNLINKED == 0 && (!named || (slowest >= end && !keeps)) {
            PoolView::unlink(&topic.pool_path(entry.pool.load(Ordering::Relaxed)));
            word |= state::UNLINKED;
            entry.state.store(word, Ordering::SeqCst);
        }
        if named && word & (state::COPIES | state::UNLINKED) == state::COPIES | state::UNLINKED {
            // Who still wants one of its messages has to copy it anew. (Rows of slow topics stay for long, and takers that come
            // and go would use up all entries.)
            named_by(topic, &rings, entry).for_each(|copy| copy.forget(index as u8));
            named = false;
        }
        if !named && !has_bodies(index) {
            entry.state.store(word & !(state::COUNT - 1), Ordering::SeqCst);
        }
    }
}

/// Whether a row, or an entry of a row that is still there, names a pool.
fn is_named(topic: &Topic, rings: &[Ring<'_>], index: usize, entry: &PublisherEntry, word: u32) -> bool {
    let refers_to = |pool: u8| rings.iter().any(|ring| ring.refers_to(pool));
    if word & state::BODIES != 0 {
        let heads = u8::try_from(entry.depth.load(Ordering::Relaxed));
        return heads.is_ok_and(refers_to);
    }
    if word & state::COPIES != 0 {
        return named_by(topic, rings, entry).any(|copy| copy.refers_to(index as u8));
    }
    refers_to(index as u8)
}

/// The entries of all messages in the column of the domain of a pool of copies.
fn named_by<'t>(
    topic: &'t Topic,
    rings: &'t [Ring<'t>],
    pool: &PublisherEntry,
) -> impl Iterator<Item = Entry<'t>> {
    let column = topic.column(domain_from_word(&pool.domain));
    column.into_iter().flat_map(move |column| {
        rings.iter().flat_map(move |ring| {
            let end = ring.end();
            let oldest = end.saturating_sub(ring.depth()).max(ring.base());
            (oldest..end).map(move |number| topic.entry(column, number))
        })
    })
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
pub(super) fn remove_files(lock: &Lock) {
    remove_if(lock, |name| name == FILE);
    remove_if(lock, |name| name.starts_with("topic.") || name.ends_with(".pool") || name.ends_with(".data"));
}

/// Removes a topic's files and its directory. Gives whether it is gone.
pub(super) fn remove_topic(directory: &Path, lock: &Lock) -> bool {
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
