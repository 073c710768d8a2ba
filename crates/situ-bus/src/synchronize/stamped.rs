//! A subscriber with the stamps of its messages, and tuples of them: the topics of a synchronizer.

use std::collections::VecDeque;
use std::fmt;
use std::time::Duration;

use situ_layout::Message;
use situ_layout::time::Timestamp;
use situ_region::RegionMessage;

use crate::api::region::{RegionSample, RegionSubscriber};
use crate::api::typed::{ReceiveError, Sample, Subscriber};
use crate::port::subscriber::RawSubscriber;

/// A subscriber whose messages a synchronizer can queue: [`Subscriber`] or [`RegionSubscriber`].
pub trait SampleSource: sealed::Source {}

impl<S: sealed::Source> SampleSource for S {}

/// The topics of a synchronizer: a tuple of 2 to 9 [`Stamped`] subscribers.
pub trait StampedTopics: sealed::Topics {}

impl<T: sealed::Topics> StampedTopics for T {}

pub(crate) mod sealed {
    use super::*;

    pub trait Source {
        /// What a take returns.
        type Sample;

        fn take(&self) -> Result<Option<Self::Sample>, ReceiveError>;
        fn raw(&self) -> &RawSubscriber;
        fn published_at_ns(sample: &Self::Sample) -> u64;
    }

    pub trait Topics {
        /// One sample of each topic.
        type Set;

        /// Takes the next message of a topic, if there is one, appends it to the topic's queue, and returns
        /// its stamp.
        fn take(&mut self, topic: usize) -> Result<Option<i64>, ReceiveError>;
        /// Drops the first message of a topic's queue.
        fn drop_first(&mut self, topic: usize);
        /// Removes the first messages of all queues. `None` if one is empty.
        fn take_firsts(&mut self) -> Option<Self::Set>;
        fn subscribers(&self) -> Vec<&RawSubscriber>;
        fn lower_bounds(&self) -> Vec<Duration>;
    }
}

impl<T: Message> sealed::Source for Subscriber<T> {
    type Sample = Sample<T>;

    fn take(&self) -> Result<Option<Sample<T>>, ReceiveError> {
        self.take()
    }

    fn raw(&self) -> &RawSubscriber {
        self.raw()
    }

    fn published_at_ns(sample: &Sample<T>) -> u64 {
        sample.published_at_ns()
    }
}

impl<T: RegionMessage> sealed::Source for RegionSubscriber<T> {
    type Sample = RegionSample<T>;

    fn take(&self) -> Result<Option<RegionSample<T>>, ReceiveError> {
        self.take()
    }

    fn raw(&self) -> &RawSubscriber {
        self.raw()
    }

    fn published_at_ns(sample: &RegionSample<T>) -> u64 {
        sample.published_at_ns()
    }
}

/// Returns a sample's stamp, in nanoseconds.
type StampOf<S> = Box<dyn Fn(&S) -> i64 + Send>;

/// A subscriber of a [`Synchronizer`](crate::Synchronizer), with the stamps of its messages and the samples
/// that wait for other topics.
pub struct Stamped<S: SampleSource> {
    subscriber: S,
    stamp: StampOf<S::Sample>,
    lower_bound: Duration,
    queue: VecDeque<S::Sample>,
}

impl<S: SampleSource> Stamped<S> {
    /// The stamps are in the messages: `Stamped::new(images, |image| image.header.stamp)`. All topics of a
    /// synchronizer must use the same clock.
    pub fn new<T: Timestamp>(subscriber: S, stamp: impl Fn(&S::Sample) -> T + Send + 'static) -> Self {
        Self::with_nanos(subscriber, move |sample| stamp(sample).to_nanos())
    }

    /// The stamps are the times of publication, which are from the machine's steady clock. Publishers must
    /// not leave them out.
    pub fn as_published(subscriber: S) -> Self {
        let nanos = |sample: &S::Sample| i64::try_from(S::published_at_ns(sample)).unwrap_or(i64::MAX);
        Self::with_nanos(subscriber, nanos)
    }

    fn with_nanos(subscriber: S, stamp: impl Fn(&S::Sample) -> i64 + Send + 'static) -> Self {
        let lower_bound = Duration::ZERO;
        Self { subscriber, stamp: Box::new(stamp), lower_bound, queue: VecDeque::new() }
    }

    /// Promises that the stamps of two messages are at least this far apart. [`ApproximateTime`] then knows
    /// earlier that no later message is nearer, and so returns sets sooner; they are the same sets. If the
    /// promise is wrong, sets may not be the best ones. The default is zero.
    ///
    /// [`ApproximateTime`]: crate::ApproximateTime
    pub fn inter_message_lower_bound(mut self, bound: Duration) -> Self {
        self.lower_bound = bound;
        self
    }

    fn take(&mut self) -> Result<Option<i64>, ReceiveError> {
        let Some(sample) = self.subscriber.take()? else { return Ok(None) };
        let stamp = (self.stamp)(&sample);
        self.queue.push_back(sample);
        Ok(Some(stamp))
    }
}

impl<S: SampleSource> fmt::Debug for Stamped<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Stamped")
            .field("topic", &self.subscriber.raw().topic())
            .field("queued", &self.queue.len())
            .finish_non_exhaustive()
    }
}

macro_rules! topics {
    ($($name:ident $index:tt),*) => {
        impl<$($name: SampleSource),*> sealed::Topics for ($(Stamped<$name>,)*) {
            type Set = ($($name::Sample,)*);

            fn take(&mut self, topic: usize) -> Result<Option<i64>, ReceiveError> {
                match topic {
                    $($index => self.$index.take(),)*
                    _ => Ok(None),
                }
            }

            fn drop_first(&mut self, topic: usize) {
                match topic {
                    $($index => drop(self.$index.queue.pop_front()),)*
                    _ => {}
                }
            }

            fn take_firsts(&mut self) -> Option<Self::Set> {
                Some(($(self.$index.queue.pop_front()?,)*))
            }

            fn subscribers(&self) -> Vec<&RawSubscriber> {
                vec![$(self.$index.subscriber.raw()),*]
            }

            fn lower_bounds(&self) -> Vec<Duration> {
                vec![$(self.$index.lower_bound),*]
            }
        }
    };
}

topics!(A 0, B 1);
topics!(A 0, B 1, C 2);
topics!(A 0, B 1, C 2, D 3);
topics!(A 0, B 1, C 2, D 3, E 4);
topics!(A 0, B 1, C 2, D 3, E 4, F 5);
topics!(A 0, B 1, C 2, D 3, E 4, F 5, G 6);
topics!(A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7);
topics!(A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7, I 8);
