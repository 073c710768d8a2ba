//! Which messages of several topics form a set.

use std::time::Duration;

/// Sets of messages with equal stamps.
///
/// Messages of a topic must arrive in the order of their stamps: see [`Synchronizer`](crate::Synchronizer).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ExactTime {
    /// How many messages of each topic wait for the others at most. If more arrive, the oldest is dropped. At
    /// least 1.
    pub queue_size: usize,
}

impl ExactTime {
    /// Queues of this many messages for each topic.
    pub fn new(queue_size: usize) -> Self {
        Self { queue_size }
    }
}

/// Sets of messages whose stamps are as near to each other as possible, by the adaptive algorithm of ROS's
/// `message_filters`.
///
/// No tolerance is needed. A set is complete when no later message can make a better one: when a later
/// message of the topics has arrived, or the lower bounds between messages
/// ([`Stamped::inter_message_lower_bound`](crate::Stamped::inter_message_lower_bound)) exclude it. A message
/// belongs to one set at most, and sets do not cross.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ApproximateTime {
    /// How many messages of each topic wait for the others at most. If more arrive, the oldest is dropped. At
    /// least 1; with 1, most messages are dropped.
    pub queue_size: usize,
    /// How much a later set must be better: the time from the end of an earlier set to the end of a later one
    /// counts `1 + age_penalty` times. Finite and not negative; 0.1 by default. A higher penalty completes
    /// sets earlier.
    pub age_penalty: f64,
    /// The longest time between the first and the last stamp of a set. `None` (the default) for no limit.
    pub max_interval: Option<Duration>,
}

impl ApproximateTime {
    /// Queues of this many messages for each topic.
    pub fn new(queue_size: usize) -> Self {
        Self { queue_size, age_penalty: 0.1, max_interval: None }
    }

    /// Sets [`age_penalty`](Self::age_penalty).
    pub fn age_penalty(mut self, age_penalty: f64) -> Self {
        self.age_penalty = age_penalty;
        self
    }

    /// Sets [`max_interval`](Self::max_interval).
    pub fn max_interval(mut self, longest: Duration) -> Self {
        self.max_interval = Some(longest);
        self
    }
}

/// Which messages form a set.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub enum SynchronizerPolicy {
    /// Those with equal stamps.
    Exact(ExactTime),
    /// Those whose stamps are as near to each other as possible.
    Approximate(ApproximateTime),
}

impl From<ExactTime> for SynchronizerPolicy {
    fn from(policy: ExactTime) -> Self {
        Self::Exact(policy)
    }
}

impl From<ApproximateTime> for SynchronizerPolicy {
    fn from(policy: ApproximateTime) -> Self {
        Self::Approximate(policy)
    }
}

impl SynchronizerPolicy {
    /// How many messages of each topic wait for the others at most.
    pub fn queue_size(&self) -> usize {
        match self {
            Self::Exact(policy) => policy.queue_size,
            Self::Approximate(policy) => policy.queue_size,
        }
    }

    pub(crate) fn check(&self) -> Result<(), SynchronizerError> {
        if self.queue_size() == 0 {
            return Err(SynchronizerError::QueueSize);
        }
        match self {
            Self::Approximate(ApproximateTime { age_penalty, .. })
                if !age_penalty.is_finite() || *age_penalty < 0.0 =>
            {
                Err(SynchronizerError::AgePenalty { age_penalty: *age_penalty })
            }
            _ => Ok(()),
        }
    }
}

/// Why a synchronizer could not be made.
#[derive(Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum SynchronizerError {
    /// The queues would have no place.
    #[error("a synchronizer's queue size is 0: it must be at least 1, and at least 2 for approximate times")]
    QueueSize,
    /// The penalty is no number from 0 on.
    #[error("the age penalty of a synchronizer is {age_penalty}: it must be finite and not negative")]
    AgePenalty {
        /// The penalty.
        age_penalty: f64,
    },
    /// A subscriber may hold too few samples.
    #[error(
        "the subscriber of topic {topic:?} may hold {max_held} samples, but queues of {queue_size} need {needed}: allow \
         it more (`max_held`), or choose a smaller queue size"
    )]
    MaxHeld {
        /// The topic.
        topic: String,
        /// How many samples the subscriber may hold at a time.
        max_held: usize,
        /// The queue size of the policy.
        queue_size: usize,
        /// How many samples it must be allowed: its queue, one that arrives while the queue is full, and one
        /// in a set that the program holds.
        needed: usize,
    },
}

situ_layout::debug_as_text!(SynchronizerError);
