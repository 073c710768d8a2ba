//! Decides by their stamps which messages of several topics form a set, and which are dropped.

use std::time::Duration;

use crate::synchronize::approximate::Search;
use crate::synchronize::exact;
use crate::synchronize::policy::SynchronizerPolicy;
use crate::synchronize::queues::{MAX_TOPICS, MessageQueues, Queues, SynchronizerCounts};

/// The stamps of the queued messages, and the state of the policy.
#[derive(Debug)]
pub(super) struct Matcher {
    queues: Queues,
    queue_size: usize,
    /// `None` for sets of equal stamps.
    search: Option<Search>,
}

impl Matcher {
    /// For one topic per lower bound; at most [`MAX_TOPICS`].
    pub(super) fn new(policy: &SynchronizerPolicy, lower_bounds: &[Duration]) -> Self {
        debug_assert!(lower_bounds.len() <= MAX_TOPICS);
        Self {
            queues: Queues::new(lower_bounds.len()),
            queue_size: policy.queue_size(),
            search: match policy {
                SynchronizerPolicy::Exact(_) => None,
                SynchronizerPolicy::Approximate(policy) => Some(Search::new(policy, lower_bounds)),
            },
        }
    }

    pub(super) fn counts(&self) -> SynchronizerCounts {
        self.queues.counts
    }

    /// The stamp of the last message of a topic.
    pub(super) fn last(&self, topic: usize) -> Option<i64> {
        self.queues.last(topic)
    }

    /// Tells that a message with this stamp (in nanoseconds) was appended to the messages of a topic.
    ///
    /// A stamp that is earlier than the last one of the topic means that the clock was set back. Nothing that
    /// was queued before can belong to what comes, so all of it is dropped.
    pub(super) fn push(&mut self, topic: usize, stamp: i64, messages: &mut impl MessageQueues) {
        if self.queues.last(topic).is_some_and(|last| stamp < last) {
            self.queues.start_over(messages);
            self.search.iter_mut().for_each(Search::start_over);
        }
        self.queues.append(topic, stamp);
        self.settle(messages);
        if self.queues.len(topic) > self.queue_size {
            self.queues.drop_overflowed(topic, messages);
            self.search.iter_mut().for_each(|search| search.overflowed(topic));
            self.settle(messages);
        }
    }

    fn settle(&mut self, messages: &mut impl MessageQueues) {
        match &mut self.search {
            None => exact::settle(&mut self.queues, messages),
            Some(search) => search.settle(&mut self.queues, messages),
        }
    }
}
