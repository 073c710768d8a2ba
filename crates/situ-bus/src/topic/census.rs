//! What a participant that joins or leaves knows of the members of a topic.
//!
//! A topic with few members is repaired as a whole first, and then its places are read: all that are present
//! live. In a topic with many that would take too long, because every node's life is a question to the
//! kernel. There, the [roster](super::roster) tells of the places, and at most [`MAX_ASKED`] nodes of each
//! side are asked whether they live. Everything is repaired only if one of them is dead, if something is
//! gone, or if a member is in the way: a member that may be dead is never the reason why a participant cannot
//! join.
//!
//! The nodes that are asked follow each other, from a random one on. So dead members do not pile up behind
//! living ones, also where no participant looks for the dead every second.

use situ_memory::DomainId;
use situ_memory::sync::atomic::Ordering;

use super::entries::active_publishers;
use super::file::Topic;
use super::format::{RosterEntry, domain_from};
use super::lock::Lock;
use super::roster::{FIRST, Roster, entry_of};
use super::state_word::StateWord;
use crate::clock::now_ns;
use crate::node::liveness::{NodeId, is_alive};

/// A topic with more entries of publishers than this, or with more places than [`FIRST`], has many members.
const MANY_ENTRIES: usize = 64;
/// How many nodes of each side are asked whether they live.
const MAX_ASKED: usize = 16;
/// How many kinds of subscribers are told apart. Further ones are listed as often as they occur.
const MAX_KINDS: usize = 32;

/// The subscribers of a topic, while its lock is held.
#[derive(Debug)]
pub(super) struct Census {
    /// The present subscribers; of those that differ in nothing but their nodes, one.
    pub(super) subscribers: Vec<RosterEntry>,
    /// The first place that is free. Only if the census is exact, it is certain to be.
    pub(super) free: Option<usize>,
    /// Whether all members live, as far as that is known, and the places themselves were read. If not, at
    /// least one member lives.
    pub(super) is_exact: bool,
}

impl RosterEntry {
    /// The state word that the place had when the subscriber took it.
    pub(super) fn word(&self) -> StateWord {
        StateWord(self.state)
    }

    pub(super) fn domain(&self) -> DomainId {
        domain_from(self.domain)
    }

    /// Whether a joining participant need not tell them apart.
    fn is_like(&self, other: &Self) -> bool {
        let kind = |it: &Self| Self { state: it.word().bits(), node: 0, reserved: [0; 2], ..*it };
        kind(self) == kind(other)
    }
}

impl Census {
    /// Reads the places, right after a repair.
    pub(super) fn of_places(topic: &Topic) -> Self {
        let mut census = Self { subscribers: Vec::new(), free: None, is_exact: true };
        for place in topic.places.all() {
            if !place.word.is_taken() {
                census.free = census.free.or(Some(place.index));
            } else if place.is_there() && !topic.places.is_passed_over(place) {
                census.add(entry_of(place, place.word));
            }
        }
        census
    }

    /// Reads the roster, and asks some nodes. `left` is a place whose subscriber has just left. `None` if the
    /// topic has few members, or has to be repaired first.
    pub(super) fn of_crowd(topic: &Topic, lock: &Lock, left: Option<usize>) -> Option<Self> {
        let (used, first) = (topic.places.used(), topic.places.used().min(FIRST));
        if used == first && topic.used_entries() <= MANY_ENTRIES {
            return None;
        }
        let mut census = Self { subscribers: Vec::new(), free: None, is_exact: false };
        let mut nodes = Vec::with_capacity(used);
        for place in (0..first).filter(|index| Some(*index) != left) {
            let place = topic.places.at(place)?;
            if place.word.is_gone() {
                return None;
            }
            census.count(topic, place.index, entry_of(place, place.word), &mut nodes);
        }
        let count = |index: usize, entry| {
            if Some(index) != left {
                census.count(topic, index, entry, &mut nodes);
            }
        };
        if used > first {
            Roster::open(topic, lock, false).and_then(|roster| roster.read(used, count)).ok()?;
        }
        let subscribers = ask(topic, &nodes)?;
        nodes.clear();
        nodes.extend(active_publishers(topic).map(|entry| entry.node.load(Ordering::Relaxed)));
        let publishers = ask(topic, &nodes)?;
        (subscribers + publishers > 0).then_some(census)
    }

    /// Counts what a place is by its entry.
    fn count(&mut self, topic: &Topic, index: usize, entry: RosterEntry, nodes: &mut Vec<u64>) {
        if !entry.word().is_taken() {
            self.free = self.free.or(Some(index));
        } else if !topic.places.has_passed_over(index, entry.word()) {
            nodes.push(entry.node);
            self.add(entry);
        }
    }

    fn add(&mut self, entry: RosterEntry) {
        let known = &self.subscribers[..self.subscribers.len().min(MAX_KINDS)];
        if !known.iter().any(|known| known.is_like(&entry)) {
            self.subscribers.push(entry);
        }
    }
}

/// Asks some of these nodes whether they live. Returns how many were asked; `None` if one is dead.
fn ask(topic: &Topic, nodes: &[u64]) -> Option<usize> {
    if nodes.is_empty() {
        return Some(0);
    }
    let start = (now_ns().wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) as usize % nodes.len();
    let (behind, from) = nodes.split_at(start);
    let mut asked: Vec<u64> = Vec::with_capacity(MAX_ASKED);
    for node in from.iter().chain(behind) {
        if asked.len() == MAX_ASKED {
            break;
        }
        if !asked.contains(node) {
            if !is_alive(&topic.root, NodeId(*node)) {
                return None;
            }
            asked.push(*node);
        }
    }
    Some(asked.len())
}
