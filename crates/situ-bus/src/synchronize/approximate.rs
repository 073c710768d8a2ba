//! Finds sets of messages whose stamps are as near to each other as possible.
//!
//! The algorithm is that of ROS's `message_filters`. The latest of the first messages of all topics is the
//! *pivot*: the set to be found contains it, because every earlier message of its topic is gone. Candidates
//! come from advancing, again and again, in the topic whose message is the earliest. That ends at the pivot,
//! because later candidates do not contain it.
//!
//! ```text
//!   topic 0   a     b     c             candidates   a d f   (pivot f: the latest of the first messages)
//!   topic 1      d         e                         b d f   a was the earliest
//!   topic 2           f        g                     b e f   d was the earliest: worse, it ends later
//!            ------------------> time
//! ```
//!
//! The best candidate is always at the front of the queues: everything before it is dropped when it is found.
//! `visited` counts the messages of each topic from there on that the search has left behind.

use std::time::Duration;

use crate::synchronize::policy::ApproximateTime;
use crate::synchronize::queues::{MAX_TOPICS, MessageQueues, Queues};

/// The state of the search for a set.
#[derive(Debug)]
pub(super) struct Search {
    /// `1 + age_penalty`.
    aging: f64,
    /// In nanoseconds.
    max_interval: u64,
    /// The least time between two messages of each topic, in nanoseconds.
    lower_bounds: [i64; MAX_TOPICS],
    /// Topics whose queue overflowed, so that a message which is gone may have been nearer to the others.
    lossy: [bool; MAX_TOPICS],
    /// How many messages of each topic the search has left behind. All 0 without a candidate.
    visited: [usize; MAX_TOPICS],
    candidate: Option<Candidate>,
}

/// The best set so far: the first messages of all topics.
#[derive(Debug, Clone, Copy)]
struct Candidate {
    /// Its first stamp.
    start: i64,
    /// Its last stamp.
    end: i64,
    /// The topic of the pivot.
    pivot: usize,
    /// The pivot's stamp.
    pivot_time: i64,
}

/// The time from a stamp to one that is not earlier, in nanoseconds.
fn distance(from: i64, to: i64) -> u64 {
    to.wrapping_sub(from) as u64
}

/// The first and the last of one stamp for each topic, and their topics.
#[derive(Debug, Clone, Copy)]
struct Span {
    start: i64,
    start_topic: usize,
    end: i64,
    end_topic: usize,
}

impl Span {
    /// Of equal stamps, the first topic has the start, and the last topic has the end. `None` if a topic has
    /// no stamp.
    fn of(topics: usize, stamp: impl Fn(usize) -> Option<i64>) -> Option<Self> {
        let first = stamp(0)?;
        let mut span = Self { start: first, start_topic: 0, end: first, end_topic: 0 };
        for topic in 1..topics {
            let stamp = stamp(topic)?;
            if stamp < span.start {
                (span.start, span.start_topic) = (stamp, topic);
            }
            if stamp >= span.end {
                (span.end, span.end_topic) = (stamp, topic);
            }
        }
        Some(span)
    }
}

impl Search {
    /// The bounds are in nanoseconds, one for each topic.
    pub(super) fn new(policy: &ApproximateTime, lower_bounds: &[Duration]) -> Self {
        let mut search = Self {
            aging: 1.0 + policy.age_penalty,
            max_interval: policy.max_interval.map_or(u64::MAX, nanoseconds),
            lower_bounds: [0; MAX_TOPICS],
            lossy: [false; MAX_TOPICS],
            visited: [0; MAX_TOPICS],
            candidate: None,
        };
        for (place, bound) in search.lower_bounds.iter_mut().zip(lower_bounds) {
            *place = i64::try_from(nanoseconds(*bound)).unwrap_or(i64::MAX);
        }
        search
    }

    /// Takes all sets that no later message can improve.
    pub(super) fn settle(&mut self, queues: &mut Queues, messages: &mut impl MessageQueues) {
        loop {
            let heads = Span::of(queues.topics(), |topic| queues.stamp(topic, self.visited[topic]));
            let complete = match (heads, self.candidate) {
                (Some(heads), None) => self.start(heads, queues, messages),
                (Some(heads), Some(candidate)) => self.advance(heads, candidate, queues, messages),
                (None, Some(candidate)) if self.is_final(candidate, queues) => true,
                (None, _) => return,
            };
            if complete {
                queues.take_set(messages);
                self.cancel();
            }
        }
    }

    /// The first messages of all topics are the first candidate, or the earliest of them is dropped.
    fn start(&mut self, heads: Span, queues: &mut Queues, messages: &mut impl MessageQueues) -> bool {
        // The first messages of the other topics are not later than that of this one. What these topics lost
        // is even earlier, and so not nearer to it.
        for topic in (0..queues.topics()).filter(|topic| *topic != heads.end_topic) {
            self.lossy[topic] = false;
        }
        if distance(heads.start, heads.end) > self.max_interval || self.lossy[heads.end_topic] {
            queues.drop_unmatched(heads.start_topic, messages);
            return false;
        }
        let candidate =
            Candidate { start: heads.start, end: heads.end, pivot: heads.end_topic, pivot_time: heads.end };
        self.candidate = Some(candidate);
        self.visited[heads.start_topic] += 1;
        self.is_best(candidate, heads.end)
    }

    /// The messages that the search has reached may be a better candidate. Returns whether the best candidate
    /// is known.
    fn advance(
        &mut self,
        heads: Span,
        mut candidate: Candidate,
        queues: &mut Queues,
        messages: &mut impl MessageQueues,
    ) -> bool {
        if self.is_better(heads, candidate) {
            for topic in 0..queues.topics() {
                for _ in 0..std::mem::take(&mut self.visited[topic]) {
                    queues.drop_unmatched(topic, messages);
                }
            }
            candidate = Candidate { start: heads.start, end: heads.end, ..candidate };
            self.candidate = Some(candidate);
        }
        self.visited[heads.start_topic] += 1;
        heads.start_topic == candidate.pivot || self.is_best(candidate, heads.end)
    }

    /// Whether the set is smaller than the candidate; its end counts more than its start.
    fn is_better(&self, set: Span, candidate: Candidate) -> bool {
        self.aged(distance(candidate.end, set.end)) < distance(candidate.start, set.start) as f64
    }

    /// Whether no set with the pivot that ends at `end` or later can be better: it starts at the pivot or
    /// earlier.
    fn is_best(&self, candidate: Candidate, end: i64) -> bool {
        self.aged(distance(candidate.end, end)) >= distance(candidate.start, candidate.pivot_time) as f64
    }

    fn aged(&self, nanoseconds: u64) -> f64 {
        nanoseconds as f64 * self.aging
    }

    /// Whether the candidate is the best even if the missing messages come as near to the pivot as the lower
    /// bounds let them.
    fn is_final(&self, candidate: Candidate, queues: &Queues) -> bool {
        let mut visited = self.visited;
        loop {
            let heads = Span::of(queues.topics(), |topic| {
                queues.stamp(topic, visited[topic]).or_else(|| {
                    let next = queues.last(topic)?.saturating_add(self.lower_bounds[topic]);
                    Some(next.max(candidate.pivot_time))
                })
            });
            let Some(heads) = heads else { return false };
            if self.is_best(candidate, heads.end) {
                return true;
            }
            if self.is_better(heads, candidate) {
                return false;
            }
            // The start is before the pivot, or one of the two conditions would hold. So it is a message that
            // has arrived, and the loop ends at the pivot.
            visited[heads.start_topic] += 1;
        }
    }

    /// A message of the topic was dropped because the queue was full.
    pub(super) fn overflowed(&mut self, topic: usize) {
        self.lossy[topic] = true;
        self.cancel();
    }

    /// All messages were dropped because the clock was set back.
    pub(super) fn start_over(&mut self) {
        self.lossy = [false; MAX_TOPICS];
        self.cancel();
    }

    fn cancel(&mut self) {
        self.candidate = None;
        self.visited = [0; MAX_TOPICS];
    }
}

fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}
