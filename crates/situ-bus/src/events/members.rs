//! The endpoints on the other side, as one endpoint last saw them, and what changes between two looks.
//!
//! A look reads the members of the topic without the lock. A member that joins or leaves changes the topic's
//! number of changes after that, so a look that comes too early is followed by another one.

use std::sync::Arc;

use situ_memory::OpenRoot;
use situ_memory::sync::atomic::Ordering;
use situ_memory::sync::between_sequentially_consistent;

use crate::events::peers::{Peer, Peers};
use crate::events::status::Counts;
use crate::node::liveness::NodeId;
use crate::qos::{QosPolicies, Terms};
use crate::topic::{StateWord, Topic};

/// Which side of its topic an endpoint is on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Side {
    Publisher,
    /// With the number of its place.
    Subscriber(usize),
}

/// One endpoint on the other side.
#[derive(Debug)]
struct Member {
    /// The number of its place or entry, and the count in its state word: no other member has both.
    index: usize,
    holder: u32,
    peer: Arc<Peer>,
    matches: bool,
    /// The lease of a publisher whose liveliness is manual; 0: none.
    lease_ns: u64,
    is_alive: bool,
}

/// A member as it is found.
struct Found {
    index: usize,
    holder: u32,
    node: NodeId,
    mismatch: QosPolicies,
    lease_ns: u64,
}

/// The endpoints on the other side of one endpoint, in the order of their numbers.
#[derive(Debug, Default)]
pub(crate) struct Members {
    known: Vec<Member>,
}

/// The members that are there. Those that change during the look are left out, and found by the next one.
fn find(topic: &Topic, side: Side, own: Terms) -> Vec<Found> {
    match side {
        Side::Publisher => {
            let places = topic.places.active().filter(|place| place.cursor() != u64::MAX);
            let found = places.map(|place| {
                let found = Found {
                    index: place.index,
                    holder: place.word.holder(),
                    node: NodeId(place.node()),
                    mismatch: own.mismatch(place.terms()),
                    lease_ns: 0,
                };
                (found, place)
            });
            found.filter(|(_, place)| place.is_unchanged()).map(|(found, _)| found).collect()
        }
        Side::Subscriber(_) => {
            let entries = (0..topic.used_entries()).map(|index| (index, topic.publisher(index)));
            let found = entries.filter_map(|(index, entry)| {
                let word = StateWord::read(&entry.state);
                if !topic.is_present(index, word) {
                    return None;
                }
                let offered = entry.terms(word);
                let found = Found {
                    index,
                    holder: word.holder(),
                    node: NodeId(entry.node.load(Ordering::Relaxed)),
                    mismatch: offered.mismatch(own),
                    lease_ns: if word.is_manual() { offered.lease_ns } else { 0 },
                };
                entry.is_unchanged(word).then_some(found)
            });
            found.collect()
        }
    }
}

impl Members {
    /// Compares the members that are there with those that were there, and counts what has changed. Returns
    /// whether a member's process has ended that no participant has marked yet.
    pub(crate) fn compare(
        &mut self,
        topic: &Topic,
        (side, own): (Side, Terms),
        (peers, root): (&Peers, &OpenRoot),
        counts: &mut Counts,
    ) -> bool {
        let watches_publishers = side != Side::Publisher;
        let mut before = std::mem::take(&mut self.known).into_iter().peekable();
        let mut found_dead = false;
        for found in find(topic, side, own) {
            while let Some(gone) = before.next_if(|known| known.index < found.index) {
                gone.leave(watches_publishers, counts);
            }
            let same = before.next_if(|known| known.index == found.index);
            let member = match same {
                Some(known) if known.holder == found.holder => known,
                other => {
                    if let Some(gone) = other {
                        gone.leave(watches_publishers, counts);
                    }
                    let peer = peers.meet(root, found.node);
                    if peer.has_ended() {
                        found_dead = true;
                        continue;
                    }
                    Member::join(found, peer, watches_publishers, counts)
                }
            };
            if member.peer.has_ended() {
                found_dead = true;
                member.leave(watches_publishers, counts);
            } else {
                self.known.push(member);
            }
        }
        before.for_each(|gone| gone.leave(watches_publishers, counts));
        found_dead
    }

    /// Which of the publishers that match are alive. Returns when the next lease ends.
    pub(crate) fn look_at_leases(&mut self, topic: &Topic, now: u64, counts: &mut Counts) -> u64 {
        let mut next = u64::MAX;
        let watched = self.known.iter_mut().filter(|member| member.matches && member.lease_ns != 0);
        for member in watched {
            let end = member.end_of_lease(topic, now);
            let is_alive = end.is_some();
            if std::mem::replace(&mut member.is_alive, is_alive) != is_alive {
                let (more, fewer) = match is_alive {
                    true => (&mut counts.alive, &mut counts.not_alive),
                    false => (&mut counts.not_alive, &mut counts.alive),
                };
                more.now += 1;
                fewer.now -= 1;
            }
            next = next.min(end.unwrap_or(u64::MAX));
        }
        next
    }

    /// The peers whose processes have no descriptor.
    pub(crate) fn unwatched(&self) -> impl Iterator<Item = &Peer> {
        self.known.iter().map(|member| &*member.peer).filter(|peer| peer.is_unwatched())
    }
}

impl Member {
    fn join(found: Found, peer: Arc<Peer>, watches_publishers: bool, counts: &mut Counts) -> Self {
        let Found { index, holder, mismatch, lease_ns, .. } = found;
        let matches = mismatch.is_empty();
        if matches {
            counts.matched.now += 1;
            counts.matches.now += 1;
            counts.alive.now += u64::from(watches_publishers);
        } else {
            counts.incompatible.now += 1;
            counts.last_policy = mismatch.iter().next();
            counts.policies.add(mismatch);
        }
        Self { index, holder, peer, matches, lease_ns, is_alive: true }
    }

    fn leave(self, watches_publishers: bool, counts: &mut Counts) {
        if !self.matches {
            return;
        }
        counts.matches.now -= 1;
        if watches_publishers {
            let count = if self.is_alive { &mut counts.alive } else { &mut counts.not_alive };
            count.now -= 1;
        }
    }

    /// When the lease of this publisher ends. `None` if it has ended: see `lease`.
    fn end_of_lease(&self, topic: &Topic, now: u64) -> Option<u64> {
        let entry = topic.publisher(self.index);
        let end = || {
            let end = entry.asserted_ns.load(Ordering::SeqCst).saturating_add(self.lease_ns);
            (end >= now).then_some(end.saturating_add(1))
        };
        end().or_else(|| {
            // Once for each end, so that other publishers do not report their signs of life each time.
            if !self.is_alive {
                return None;
            }
            topic.lapses().fetch_add(1, Ordering::SeqCst);
            between_sequentially_consistent();
            end()
        })
    }
}
