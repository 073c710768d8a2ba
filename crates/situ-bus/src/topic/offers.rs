//! The quality of service of members, as their entries and places say, and whether members match.

use rustix::thread::futex;
use situ_memory::sync::atomic::{AtomicU32, Ordering, fence};

use super::entries::used_publishers;
use super::file::Topic;
use super::format::{PublisherEntry, RosterEntry};
use super::members::PlaceView;
use super::state_word::StateWord;
use crate::qos::Terms;

fn terms(word: StateWord, deadline_ns: u64, lease_ns: u64) -> Terms {
    let (reliable, transient_local, manual) =
        (word.is_reliable(), word.is_transient_local(), word.is_manual());
    Terms { reliable, transient_local, deadline_ns, manual, lease_ns }
}

impl PublisherEntry {
    /// What the publisher offers whose entry had this state word.
    pub(crate) fn terms(&self, word: StateWord) -> Terms {
        terms(word, self.deadline_ns.load(Ordering::Relaxed), self.lease_ns.load(Ordering::Relaxed))
    }

    /// Whether the entry still has this state word, for a reader without the lock: then all that it has read
    /// before belongs to that word.
    ///
    /// The next holder of the entry frees the word before it writes the fields, with a fence in between
    /// (`NewEntry::take`). If a load before this fence read such a field, the load behind it finds another
    /// word. A next holder has another count in its word, so the old word does not come back.
    pub(crate) fn is_unchanged(&self, word: StateWord) -> bool {
        fence(Ordering::Acquire);
        StateWord::read(&self.state) == word
    }
}

impl PlaceView<'_> {
    /// What its subscriber requests.
    pub(crate) fn terms(self) -> Terms {
        terms(self.word, self.deadline_ns(), self.lease_ns())
    }
}

impl RosterEntry {
    /// What its subscriber requests.
    pub(super) fn terms(&self) -> Terms {
        terms(self.word(), self.deadline_ns, self.lease_ns)
    }
}

/// The offers of all publishers that still have a pool: of those that are present, and of those that have
/// left. Their messages may be taken.
pub(super) fn offers(topic: &Topic) -> impl Iterator<Item = Terms> {
    used_publishers(topic).filter_map(|(_, entry)| {
        let word = StateWord::read(&entry.state);
        (word.has_pool() && word.is_of_heads()).then(|| entry.terms(word))
    })
}

/// How many messages the publishers keep for subscribers that join late: their depths together.
pub(super) fn history(topic: &Topic) -> u64 {
    used_publishers(topic)
        .filter(|(_, entry)| {
            let word = StateWord::read(&entry.state);
            word.has_pool() && word.is_of_heads() && word.is_transient_local()
        })
        .fold(0, |sum, (_, entry)| sum.saturating_add(entry.depth.load(Ordering::Relaxed)))
}

impl Topic {
    /// Whether there may be a publisher and a subscriber that do not match: one load.
    ///
    /// A member that does not match another one stores this under the lock, before it is visible itself. So a
    /// participant that finds such a member, or one of its messages, finds this too.
    #[inline]
    pub(crate) fn is_mixed(&self) -> bool {
        self.registry().mixed.load(Ordering::Acquire) != 0
            || self.places.arrivals().mixed.load(Ordering::Acquire) != 0
    }

    /// Notes that there are two that do not match, for a member that joins. Under the lock.
    pub(super) fn note_mixed(&self) {
        self.own_side().1.store(1, Ordering::SeqCst);
    }

    /// The words of changes and of `mixed` that a member of this process writes: a subscriber those in the
    /// subscribers' file, a publisher those in the topic's own.
    fn own_side(&self) -> (&AtomicU32, &AtomicU32) {
        if self.places.are_writable() {
            let arrivals = self.places.arrivals();
            return (&arrivals.changes, &arrivals.mixed);
        }
        let registry = self.registry();
        (&registry.changes, &registry.mixed)
    }

    /// A number that changes whenever a member joins, leaves, is found dead, or is alive again.
    #[inline]
    pub(crate) fn changes(&self) -> u64 {
        let [publishers, subscribers] = self.words_of_changes();
        let half = |word: &AtomicU32| u64::from(word.load(Ordering::SeqCst));
        half(publishers) << 32 | half(subscribers)
    }

    /// The words to sleep on until a member changes: read them before the members.
    pub(crate) fn words_of_changes(&self) -> [&AtomicU32; 2] {
        [&self.registry().changes, &self.places.arrivals().changes]
    }

    /// How often a subscriber has found the lease of a publisher over.
    pub(crate) fn lapses(&self) -> &AtomicU32 {
        &self.places.arrivals().lapses
    }

    /// Reports a change of a member, after it was made, to the processes that watch the members. One system
    /// call: members join and leave rarely. A participant that may write neither file reports nothing.
    ///
    /// A process that dies before this was a member itself, or repaired the state of one. Its own end is
    /// noticed, and watchers look once a second even if nothing is reported.
    pub(crate) fn note_change(&self) {
        // A tool that repairs has its mapping writable only for a while.
        let _writing = match self.places.are_writable() {
            true => None,
            false => match self.writing() {
                Ok(writing) => Some(writing),
                Err(_) => return,
            },
        };
        let (changes, _) = self.own_side();
        changes.fetch_add(1, Ordering::SeqCst);
        let _ = futex::wake(changes, futex::Flags::empty(), i32::MAX as u32);
    }
}
