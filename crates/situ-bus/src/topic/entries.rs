//! The entries of publishers and of their pools.

use situ_memory::sync::atomic::Ordering;

use super::file::Topic;
use super::format::{PUBLISHERS, PublisherEntry};
use super::state_word::StateWord;

/// The entries of publishers that are present.
pub(crate) fn active_publishers(topic: &Topic) -> impl Iterator<Item = &PublisherEntry> {
    used_publishers(topic)
        .map(|(_, entry)| entry)
        .filter(|entry| StateWord::read(&entry.state).is_publisher())
}

/// The publishers' entries that were ever taken, with their numbers.
pub(super) fn used_publishers(topic: &Topic) -> impl Iterator<Item = (usize, &PublisherEntry)> {
    let used = topic.registry().publishers_used.load(Ordering::SeqCst).min(PUBLISHERS) as usize;
    (0..used).map(|index| (index, topic.publisher(index)))
}
