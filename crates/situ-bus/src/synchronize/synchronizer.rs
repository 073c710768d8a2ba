//! Receives sets of samples of several topics that belong together by their time stamps.

use std::collections::VecDeque;
use std::fmt;
use std::time::Duration;

use crate::api::typed::ReceiveError;
use crate::clock::Deadline;
use crate::port::subscriber::RawSubscriber;
use crate::protocol::ledger::HOLDS;
use crate::synchronize::matcher::Matcher;
use crate::synchronize::policy::{SynchronizerError, SynchronizerPolicy};
use crate::synchronize::queues::{MessageQueues, SynchronizerCounts};
use crate::synchronize::stamped::StampedTopics;
use crate::wait::interrupt::Wait;
use crate::wait::wait_any::wait_any_with;

/// How many messages a wait takes before it looks at the clock again. So its time limit holds even if
/// messages that complete no set arrive faster than they are taken.
const BETWEEN_LOOKS_AT_THE_CLOCK: usize = 1024;

/// Receives messages of 2 to 9 topics in sets that belong together by their stamps: with
/// [`ExactTime`](crate::ExactTime) those with equal stamps, with [`ApproximateTime`](crate::ApproximateTime)
/// those that are nearest to each other.
///
/// ```no_run
/// use std::time::Duration;
/// use situ_bus::{ApproximateTime, Node, Stamped, Synchronizer};
/// # use situ_layout::Message;
/// # fn demo<Image: Message, Cloud: Message>(node: &Node) -> Result<(), Box<dyn std::error::Error>> {
/// let images = node.subscriber::<Image>("images").create()?;
/// let clouds = node.subscriber::<Cloud>("clouds").create()?;
/// let mut pairs = Synchronizer::new(
///     ApproximateTime::new(10).max_interval(Duration::from_millis(50)),
///     (Stamped::as_published(images), Stamped::as_published(clouds)),
/// )?;
/// while let Some((image, cloud)) = pairs.recv(Some(Duration::from_secs(1)))? {
///     println!("image {} and cloud {}", image.sequence(), cloud.sequence());
/// }
/// # Ok(())
/// # }
/// ```
///
/// Samples wait in queues, one for each topic, where they stay in the memory of their publisher. Each message
/// belongs to one set at most; a message that belongs to none is dropped as soon as that is known.
///
/// The messages of a topic must arrive in the order of their stamps; the topics may be delayed against each
/// other as far as the queues reach. A stamp that is earlier than the one before it on its topic means that
/// the clock was set back, as when a recording starts again: everything that waits is dropped then.
pub struct Synchronizer<T: StampedTopics> {
    topics: T,
    matcher: Matcher,
    /// Sets that the last message completed.
    complete: VecDeque<T::Set>,
}

impl<T: StampedTopics> Synchronizer<T> {
    /// Receives from these subscribers. Each must be allowed to hold two samples more than the policy's queue
    /// size ([`max_held`](crate::SubscriberQos::max_held)), and more if the program holds several sets at a
    /// time.
    pub fn new(policy: impl Into<SynchronizerPolicy>, topics: T) -> Result<Self, SynchronizerError> {
        let policy = policy.into();
        policy.check()?;
        let queue_size = policy.queue_size();
        for subscriber in topics.subscribers() {
            let (max_held, needed) =
                (subscriber.qos().max_held.clamp(1, HOLDS), queue_size.saturating_add(2));
            if max_held < needed {
                let topic = subscriber.topic().to_owned();
                return Err(SynchronizerError::MaxHeld { topic, max_held, queue_size, needed });
            }
        }
        let matcher = Matcher::new(&policy, &topics.lower_bounds());
        Ok(Self { topics, matcher, complete: VecDeque::new() })
    }

    /// Takes what the subscribers have until a set is complete, and returns the set. Returns `None` when they
    /// have no more messages. The error is that of a subscriber, and skips at most one message; the next call
    /// goes on behind it.
    pub fn take(&mut self) -> Result<Option<T::Set>, ReceiveError> {
        self.take_from(usize::MAX)
    }

    /// Takes at most this number of messages until a set is complete.
    fn take_from(&mut self, messages: usize) -> Result<Option<T::Set>, ReceiveError> {
        for _ in 0..messages {
            if !self.complete.is_empty() || !self.take_message()? {
                break;
            }
        }
        Ok(self.complete.pop_front())
    }

    /// Takes one message, if there is one, of the topic that is furthest behind. So a topic of which many
    /// messages are waiting does not fill its queue before the others have their turn.
    fn take_message(&mut self) -> Result<bool, ReceiveError> {
        let mut order: Vec<usize> = (0..self.topics.subscribers().len()).collect();
        order.sort_by_key(|topic| self.matcher.last(*topic));
        for topic in order {
            if let Some(stamp) = self.topics.take(topic)? {
                let mut queues = Queues { topics: &mut self.topics, complete: &mut self.complete };
                self.matcher.push(topic, stamp, &mut queues);
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Waits for the next set. Returns `None` if the time is over (never without a `timeout`).
    pub fn recv(&mut self, timeout: Option<Duration>) -> Result<Option<T::Set>, ReceiveError> {
        self.recv_with(Wait::limit(timeout))
    }

    /// As [`recv`](Self::recv), but other events may end the wait: see [`Wait`]. The error is then
    /// [`ReceiveError::Interrupted`].
    pub fn recv_with(&mut self, how: Wait<'_>) -> Result<Option<T::Set>, ReceiveError> {
        how.check()?;
        let deadline = Deadline::after(how.timeout);
        loop {
            if let Some(set) = self.take_from(BETWEEN_LOOKS_AT_THE_CLOCK)? {
                return Ok(Some(set));
            }
            let Some(slice) = deadline.slice(Duration::from_secs(3600)) else { return Ok(None) };
            wait_any_with(&self.subscribers(), Wait { timeout: Some(slice), ..how })?;
        }
    }

    /// The untyped subscribers, in the order of the topics: for their statistics, and to wait for several
    /// things at once ([`wait_any`](crate::wait_any)).
    pub fn subscribers(&self) -> Vec<&RawSubscriber> {
        self.topics.subscribers()
    }

    /// How many sets were found, and how many messages were dropped for which reason.
    pub fn counts(&self) -> SynchronizerCounts {
        self.matcher.counts()
    }
}

impl<T: StampedTopics + fmt::Debug> fmt::Debug for Synchronizer<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Synchronizer")
            .field("topics", &self.topics)
            .field("complete", &self.complete.len())
            .field("counts", &self.counts())
            .finish_non_exhaustive()
    }
}

/// The queues of samples, and where sets go.
struct Queues<'a, T: StampedTopics> {
    topics: &'a mut T,
    complete: &'a mut VecDeque<T::Set>,
}

impl<T: StampedTopics> MessageQueues for Queues<'_, T> {
    fn drop_first(&mut self, topic: usize) {
        self.topics.drop_first(topic);
    }

    fn take_set(&mut self) {
        self.complete.extend(self.topics.take_firsts());
    }
}
