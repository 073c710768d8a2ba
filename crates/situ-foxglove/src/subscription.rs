//! A subscriber on the bus, for as long as a client looks at its topic.

use std::sync::Arc;
use std::time::{Duration, Instant};

use situ_bus::inspect::{self, InspectError};
use situ_bus::{
    Durability, Encoding, History, Node, RawSubscriber, RegisterError, Root, SourceId, SubscriberQos,
    TakeError, TypeDescription,
};
use situ_record::Projected;

use crate::channels::{Channel, MessageError};
use crate::protocol::{HEADER, put_header};

/// How many messages of a topic wait for a client.
const QUEUE: usize = 32;

/// What came of a look at the topic.
pub enum Taken {
    /// A message, ready to be sent.
    Message(Vec<u8>),
    /// There is none yet.
    Nothing,
    /// A message that cannot be shown, and why.
    Unreadable(String),
    /// The topic is gone.
    Gone,
}

/// Why a topic cannot be looked at.
#[derive(Debug, thiserror::Error)]
pub enum SubscribeError {
    /// The root cannot be read.
    #[error(transparent)]
    Inspect(#[from] InspectError),
    /// The topic does not let the server join.
    #[error(transparent)]
    Register(#[from] Box<RegisterError>),
}

/// A subscription of a client.
pub struct Subscription {
    /// The number that the client chose.
    pub id: u32,
    /// The channel.
    pub channel: Arc<Channel>,
    /// Its place in the wait set.
    pub source: Option<SourceId>,
    /// The drops that the client was told.
    pub told: u64,
    /// Whether the client was told of a message that cannot be shown.
    pub told_unreadable: bool,
    /// Its subscriber.
    pub subscriber: RawSubscriber,
    /// The time between two messages.
    period: Option<Duration>,
    due: Instant,
    scratch: Projected,
}

impl Subscription {
    /// Joins a topic. `rate` limits the messages a second.
    pub fn new(
        (node, root): (&Node, &Root),
        id: u32,
        channel: Arc<Channel>,
        rate: Option<f64>,
    ) -> Result<Self, SubscribeError> {
        let info = inspect::topic(root, &channel.topic)?;
        let publishers = info.map(|it| it.publishers).unwrap_or_default();
        let living: Vec<_> = publishers.iter().filter(|publisher| publisher.alive).collect();
        // Messages of publishers that have left may still be there.
        let all = if living.is_empty() { publishers.iter().collect() } else { living };
        let keeps = !all.is_empty() && all.iter().all(|it| it.durability == Durability::TransientLocal);
        let qos = SubscriberQos {
            durability: if keeps { Durability::TransientLocal } else { Durability::Volatile },
            // A topic with a limit has the newest message, others those that wait for the connection.
            history: History::KeepLast(if rate.is_some() { 1 } else { QUEUE }),
            ..SubscriberQos::default()
        };
        // Messages are read by their schema, in any layout.
        let any =
            TypeDescription { encoding: Encoding::Region, layout_hash: 0, ..channel.description.clone() };
        let subscriber = RawSubscriber::create(node, &channel.topic, &any, qos).map_err(Box::new)?;
        let period = rate.map(|rate| Duration::from_secs_f64(1.0 / rate));
        let scratch = Projected::default();
        let due = Instant::now();
        Ok(Self {
            id,
            channel,
            source: None,
            told: 0,
            told_unreadable: false,
            subscriber,
            period,
            due,
            scratch,
        })
    }

    /// When it may take its next message.
    pub fn due(&self) -> Instant {
        self.due
    }

    /// The messages that the client does not get, because its connection is slower than the topic.
    pub fn dropped(&self) -> u64 {
        if self.period.is_some() { 0 } else { self.subscriber.lost() + self.subscriber.skipped() }
    }

    /// Takes a message, and writes it as the client gets it. `offset` is the time from the bus' clock to
    /// 1970.
    pub fn take(&mut self, now: Instant, offset: u64) -> Taken {
        if now < self.due {
            return Taken::Nothing;
        }
        let sample = match self.subscriber.take() {
            Ok(Some(sample)) => sample,
            Ok(None) => return Taken::Nothing,
            Err(TakeError::Removed { .. }) => return Taken::Gone,
            // The subscriber counts it as lost.
            Err(error) => return Taken::Unreadable(error.to_string()),
        };
        if let Some(period) = self.period {
            // A rate of its own, that of the topic does not beat against it.
            self.due = (self.due + period).max(now);
        }
        let mut message = Vec::new();
        let size = HEADER + sample.head_in_place().len() + sample.body_in_place().len();
        if message.try_reserve(size).is_err() {
            return Taken::Unreadable(format!("there is no memory for a message of {size} bytes"));
        }
        put_header(&mut message, self.id, sample.published_at_ns().wrapping_add(offset));
        let put: Result<(), MessageError> = self.channel.put(&sample, &mut self.scratch, &mut message);
        match put {
            Ok(()) => Taken::Message(message),
            Err(error) => Taken::Unreadable(error.to_string()),
        }
    }
}
