//! Leaving a topic, and how the remaining participants handle dead ones: they mark them, and repair.

use situ_memory::PoolView;
use situ_memory::sync::atomic::Ordering;

use super::entries::used_publishers;
use super::file::Topic;
use super::format::state;
use super::lock::Lock;
use super::members::PlaceView;
use super::repair::{is_over, remove_topic, repair, repair_for_member};
use super::state_word::StateWord;
use crate::node::liveness::{NodeId, has_ended, is_alive};
use crate::node::living::Living;

impl Topic {
    /// Marks dead subscribers without the lock, so that this participant stops waiting for them at once.
    /// Returns the number of newly marked ones. See [`Places::mark_dead`](super::members::Places::mark_dead).
    pub(crate) fn mark_dead_places(&self) -> usize {
        self.mark_places_of_dead(&Living::default())
    }

    /// The same, for a caller that asks for the nodes of other members too.
    pub(super) fn mark_places_of_dead(&self, living: &Living) -> usize {
        let is_dead = |place: &PlaceView<'_>| !living.is_alive(&self.root, NodeId(place.node()));
        let marked = self.places.active().filter(is_dead).filter(|place| self.places.mark_dead(*place));
        let number = marked.count();
        if number > 0 {
            self.note_change();
        }
        number
    }

    /// The pools whose files exist.
    pub(crate) fn pools(&self) -> impl Iterator<Item = u64> + '_ {
        used_publishers(self)
            .filter(|(_, entry)| StateWord::read(&entry.state).has_pool())
            .map(|(_, entry)| entry.tenure.pool())
    }

    /// Repairs the state that dead members left, unless another process is repairing. Returns whether no
    /// other process was.
    ///
    /// Also checks whether its files were removed: see [`removal`](crate::topic::removal).
    pub(crate) fn repair_if_free(&self) -> bool {
        self.look_for_removal();
        let Some(lock) = Lock::try_acquire(&self.directory) else { return false };
        if self.is_current() {
            repair(self, &lock);
        }
        true
    }

    /// Whether a repair can find something: a member that has left or died, or that is dead by `is_alive`. A
    /// member that this participant has listed, because it could not mark it, does not count. It makes no
    /// system call itself.
    pub(crate) fn may_need_repair(&self, mut is_alive: impl FnMut(NodeId) -> bool) -> bool {
        let mut is_there = |word: StateWord, node: u64| word.is_there() && is_alive(NodeId(node));
        used_publishers(self).any(|(index, entry)| {
            let word = StateWord::read(&entry.state);
            let is_listed = self.dead_entries.contains(index, word);
            word.is_taken() && !is_listed && !is_there(word, entry.node.load(Ordering::Relaxed))
        }) || self.places.all().any(|place| {
            let is_listed = self.places.is_released(place);
            place.word.is_taken() && !is_listed && !is_there(place.word, place.node())
        })
    }

    /// Repairs the topic if this node is dead, for a participant that waits for the node. Returns whether the
    /// node's process has ended: then it completes no fence any more.
    pub(crate) fn repair_if_dead(&self, node: NodeId) -> bool {
        if is_alive(&self.root, node) {
            return false;
        }
        self.repair_if_free();
        has_ended(&self.root, node)
    }

    /// Whether the directory still belongs to this topic, and not to another topic of the same name that was
    /// created after this one was removed by hand.
    ///
    /// In a forked child it does not: a repair there would read private zeroes, and every file in the
    /// directory would look superfluous.
    pub(crate) fn is_current(&self) -> bool {
        self.process.is_this() && matches!(Self::id_in(&self.directory), Ok(Some(id)) if id == self.header.id)
    }

    /// Marks the entries of a publisher's or copier's pools as left. Messages and copies stay for subscribers
    /// that have not taken them yet.
    pub(crate) fn leave_entries(&self, entries: impl IntoIterator<Item = usize>) {
        for index in entries {
            let entry = self.publisher(index);
            let word = StateWord::read(&entry.state);
            entry.state.store(word.left(), Ordering::SeqCst);
        }
        self.note_change();
        self.leave(None);
    }

    /// Frees the entries of pools of copies that nothing can be pinned in any more. Their files are removed
    /// at once.
    pub(crate) fn leave_empty_copies(&self, entries: impl IntoIterator<Item = usize>) {
        for index in entries {
            let entry = self.publisher(index);
            let word = StateWord::read(&entry.state);
            // A process that dies after the files are removed leaves an entry that is repaired like any
            // other: a subscriber that opens its pool for copies finds none.
            PoolView::unlink(self.pool_path(entry.tenure.pool()));
            entry.state.store(word.left() | state::UNLINKED, Ordering::SeqCst);
        }
        self.leave(None);
    }

    /// Repairs, and removes the topic if it has no members left. If the lock is not available, the next
    /// participant does it. `place` is that of a subscriber that has left.
    pub(super) fn leave(&self, place: Option<usize>) {
        let Ok(lock) = Lock::acquire(&self.root, &self.directory, &self.name) else { return };
        if self.is_current() {
            let census = repair_for_member(self, &lock, place);
            if census.is_exact && is_over(self) {
                remove_topic(&self.directory, &lock);
            }
        } else if let Ok(None) = Self::id_in(&self.directory) {
            // The directory was created by waiting for its lock.
            let _ = self.directory.remove_directory();
        }
    }
}
