//! The stamps of queued messages, topic by topic.
//!
//! The messages themselves are elsewhere, in queues of the same order: see [`MessageQueues`].

use std::collections::VecDeque;

/// The highest number of topics.
pub(super) const MAX_TOPICS: usize = 9;

/// The queues of the messages whose stamps are in [`Queues`]. Both always have the same lengths, except that
/// a message is appended here first.
pub(super) trait MessageQueues {
    /// Drops the first message of a topic.
    fn drop_first(&mut self, topic: usize);

    /// Removes the first message of every topic. Together they are a set.
    fn take_set(&mut self);
}

/// What became of the messages that a synchronizer received.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SynchronizerCounts {
    /// Sets that were found.
    pub sets: u64,
    /// Messages that were dropped because they belong to no set.
    pub unmatched: u64,
    /// Messages that were dropped because the queue of their topic was full.
    pub overflowed: u64,
    /// How often a stamp was earlier than the one before it on its topic, so that everything was dropped.
    pub clock_jumps: u64,
}

#[derive(Debug, Default)]
struct Queue {
    /// They never decrease.
    stamps: VecDeque<i64>,
    /// The stamp of the message that arrived last, even if it is no longer queued.
    last: Option<i64>,
}

/// The queues of all topics.
#[derive(Debug)]
pub(super) struct Queues {
    queues: Vec<Queue>,
    pub(super) counts: SynchronizerCounts,
}

impl Queues {
    pub(super) fn new(topics: usize) -> Self {
        let queues = (0..topics).map(|_| Queue::default()).collect();
        Self { queues, counts: SynchronizerCounts::default() }
    }

    /// The number of topics.
    pub(super) fn topics(&self) -> usize {
        self.queues.len()
    }

    /// The stamp at a place of a topic's queue.
    pub(super) fn stamp(&self, topic: usize, place: usize) -> Option<i64> {
        self.queues[topic].stamps.get(place).copied()
    }

    /// The stamp of the message that arrived last on a topic since the clock was last set back.
    pub(super) fn last(&self, topic: usize) -> Option<i64> {
        self.queues[topic].last
    }

    pub(super) fn len(&self, topic: usize) -> usize {
        self.queues[topic].stamps.len()
    }

    /// Appends a stamp, which is not earlier than the last one.
    pub(super) fn append(&mut self, topic: usize, stamp: i64) {
        let queue = &mut self.queues[topic];
        queue.stamps.push_back(stamp);
        queue.last = Some(stamp);
    }

    /// Drops the first message of a topic because it belongs to no set.
    pub(super) fn drop_unmatched(&mut self, topic: usize, messages: &mut impl MessageQueues) {
        self.drop_first(topic, messages);
        self.counts.unmatched += 1;
    }

    /// Drops the first message of a topic because its queue is full.
    pub(super) fn drop_overflowed(&mut self, topic: usize, messages: &mut impl MessageQueues) {
        self.drop_first(topic, messages);
        self.counts.overflowed += 1;
    }

    fn drop_first(&mut self, topic: usize, messages: &mut impl MessageQueues) {
        self.queues[topic].stamps.pop_front();
        messages.drop_first(topic);
    }

    /// The first messages of all topics are a set. No queue may be empty.
    pub(super) fn take_set(&mut self, messages: &mut impl MessageQueues) {
        for queue in &mut self.queues {
            queue.stamps.pop_front();
        }
        messages.take_set();
        self.counts.sets += 1;
    }

    /// Drops all messages and the last stamps, because the clock was set back.
    pub(super) fn start_over(&mut self, messages: &mut impl MessageQueues) {
        for topic in 0..self.topics() {
            while self.len(topic) > 0 {
                self.drop_unmatched(topic, messages);
            }
            self.queues[topic].last = None;
        }
        self.counts.clock_jumps += 1;
    }
}
