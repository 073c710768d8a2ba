//! The entries of publishers and of their pools.

use super::file::Topic;
use super::format::PublisherEntry;
use super::state_word::StateWord;

/// The entries of publishers that are present.
pub(crate) fn active_publishers(topic: &Topic) -> impl Iterator<Item = &PublisherEntry> {
    used_publishers(topic)
        .filter(|(index, entry)| {
            let word = StateWord::read(&entry.state);
            topic.is_present(*index, word)
        })
        .map(|(_, entry)| entry)
}

/// The publishers' entries that were ever taken, with their numbers.
pub(super) fn used_publishers(topic: &Topic) -> impl Iterator<Item = (usize, &PublisherEntry)> {
    (0..topic.used_entries()).map(|index| (index, topic.publisher(index)))
}

impl Topic {
    /// Whether a publisher, by the number of its pool, is present, as far as this participant knows.
    pub(crate) fn has_publisher(&self, pool: u64) -> bool {
        active_publishers(self).any(|entry| entry.tenure.pool() == pool)
    }

    /// Whether the entry with this state word is that of a publisher that is present, as far as this
    /// participant knows.
    #[inline]
    pub(crate) fn is_present(&self, index: usize, word: StateWord) -> bool {
        word.is_publisher() && !self.dead_entries.contains(index, word)
    }
}
