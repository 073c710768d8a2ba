//! A topic that leaves the machine: a publisher of Zenoh, and a thread that sends while others subscribe.
//!
//! The thread's subscriber is best effort, so that no local publisher waits for the network. What the network
//! cannot take waits in the topic's ring; what is overwritten there is counted as lost. Each topic has a
//! thread of its own: a reliable topic that waits for the network does not hold back the others.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{Builder, JoinHandle};
use std::time::{Duration, Instant};

use situ_bus::{
    Durability, EndpointId, Interrupter, Node, NodeId, RawSample, RawSubscriber, RegisterError, Reliability,
    SubscriberQos, TakeError, Wait as BusWait,
};
use zenoh::Wait;
use zenoh::bytes::ZBytes;
use zenoh::matching::MatchingStatus;
use zenoh::pubsub::Publisher;
use zenoh::qos::{CongestionControl, Priority, Reliability as LinkReliability};
use zenoh::sample::Locality;
use zenoh_ext::{AdvancedPublisher, AdvancedPublisherBuilderExt, CacheConfig, MissDetectionConfig};

use crate::counts::Counts;
use crate::message_type::MessageType;
use crate::rules::Crossing;
use crate::shared::{Event, Shared};
use crate::wire::attachment::{Attachment, ReplyPart};
use crate::wire::token::Space;

/// How long a wait is at most.
const SLICE: Duration = Duration::from_millis(200);
/// How many samples the subscriber may hold. Zenoh's cache of a topic that is transient local holds them.
const MAX_HELD: usize = 493;
/// How many messages such a cache keeps at most.
const MAX_CACHE: usize = 256;
/// Up to this size, messages of topics without a rule are sent at once.
const SMALL: usize = 4096;
/// Up to this size, Zenoh drops best-effort messages for which it has no room at once. Larger ones take
/// several of its batches: it would drop them whenever the link is slower than memory, so they wait.
const DROPPED: usize = 32 * 1024;
/// How many publishers are remembered. Machines that come and go have ever new ones.
const MAX_KNOWN: usize = 4096;
/// How often the publisher of a reliable topic with a cache states its last number, as rmw_zenoh's does.
const HEARTBEAT: Duration = Duration::from_millis(500);

/// How messages of a topic leave. If it changes, the publisher is made anew.
#[derive(Debug, Clone, PartialEq)]
pub struct OutboundQos {
    /// Whether a publisher of the topic is reliable.
    pub reliable: bool,
    /// How many messages are kept for late subscribers, if a publisher of the topic keeps some.
    pub cache: Option<usize>,
    /// What the rules say.
    pub crossing: Crossing,
}

impl OutboundQos {
    /// For publishers of these qualities, each with its depth.
    pub fn of(
        publishers: impl Iterator<Item = (Reliability, Durability, usize)>,
        crossing: Crossing,
    ) -> Self {
        let mut made = Self { reliable: false, cache: None, crossing };
        for (reliability, durability, depth) in publishers {
            made.reliable |= reliability == Reliability::Reliable;
            if durability == Durability::TransientLocal {
                let before = made.cache.unwrap_or(0);
                made.cache = Some(before.saturating_add(depth.max(1)).min(MAX_CACHE));
            }
        }
        made
    }
}

/// The publishers of Zenoh for a topic.
enum Sender {
    /// One that waits for the network, and for best-effort topics one that does not.
    Plain { waits: Publisher<'static>, drops: Option<Publisher<'static>> },
    /// One with a cache.
    Cached(AdvancedPublisher<'static>),
}

impl Sender {
    fn new(shared: &Shared, key: &str, qos: &OutboundQos, express: bool) -> zenoh::Result<Self> {
        // Zenoh drops messages that are not marked as reliable, also with `CongestionControl::Block`.
        let publisher = |congestion, reliability| {
            shared
                .session
                .declare_publisher(key.to_owned())
                .congestion_control(congestion)
                .reliability(reliability)
                .priority(qos.crossing.priority.unwrap_or(Priority::DEFAULT))
                .express(express)
                .allowed_destination(Locality::Remote)
        };
        let waits = publisher(CongestionControl::Block, LinkReliability::Reliable);
        let Some(depth) = qos.cache else {
            let drops = (!qos.reliable)
                .then(|| publisher(CongestionControl::Drop, LinkReliability::BestEffort).wait());
            let drops = drops.transpose()?;
            return Ok(Self::Plain { waits: waits.wait()?, drops });
        };
        let mut cached = waits.cache(CacheConfig::default().max_samples(depth)).publisher_detection();
        if qos.reliable {
            let config = MissDetectionConfig::default().sporadic_heartbeat(HEARTBEAT);
            cached = cached.sample_miss_detection(config);
        }
        Ok(Self::Cached(cached.wait()?))
    }

    fn put(&self, payload: ZBytes, attachment: Vec<u8>) -> zenoh::Result<()> {
        match self {
            Self::Plain { waits, drops } => {
                let publisher = drops.as_ref().filter(|_| payload.len() <= DROPPED).unwrap_or(waits);
                publisher.put(payload).attachment(attachment).wait()
            }
            Self::Cached(publisher) => publisher.put(payload).attachment(attachment).wait(),
        }
    }

    /// Tells the bridge when others subscribe, or no longer do.
    fn watch(&self, shared: &Shared, key: &str) -> zenoh::Result<()> {
        let (events, name) = (shared.events.clone(), key.to_owned());
        let tell = move |status: MatchingStatus| {
            let _ = events.send(Event::Matching(name.clone(), status.matching()));
        };
        match self {
            Self::Plain { waits, .. } => waits.matching_listener().callback(tell).background().wait(),
            Self::Cached(publisher) => publisher.matching_listener().callback(tell).background().wait(),
        }
    }
}

/// A topic that leaves the machine.
pub struct Outbound {
    shared: Arc<Shared>,
    /// The topic on the bus.
    pub topic: String,
    /// Its key.
    pub key: String,
    /// Its type.
    pub message_type: Arc<MessageType>,
    /// Where its keys lie.
    pub space: Space,
    /// How its messages leave.
    pub qos: OutboundQos,
    /// What has left.
    pub counts: Arc<Counts>,
    sender: Arc<Sender>,
    worker: Option<Worker>,
}

impl Outbound {
    /// Declares a topic to the network. Nothing is sent before another machine subscribes.
    pub fn declare(
        shared: &Arc<Shared>,
        (topic, key): (&str, &str),
        (message_type, space): (&Arc<MessageType>, Space),
        qos: OutboundQos,
    ) -> zenoh::Result<Self> {
        let fixed = message_type.description().fixed_size as usize;
        let is_small = fixed != 0 && fixed <= SMALL;
        let sender = Sender::new(shared, key, &qos, qos.crossing.express.unwrap_or(is_small))?;
        sender.watch(shared, key)?;
        Ok(Self {
            shared: shared.clone(),
            topic: topic.to_owned(),
            key: key.to_owned(),
            message_type: message_type.clone(),
            space,
            qos,
            counts: Arc::default(),
            sender: Arc::new(sender),
            worker: None,
        })
    }

    /// Whether another machine subscribes now.
    pub fn has_subscriber(&self) -> bool {
        let status = match &*self.sender {
            Sender::Plain { waits, .. } => waits.matching_status().wait(),
            Sender::Cached(publisher) => publisher.matching_status().wait(),
        };
        status.is_ok_and(|status| status.matching())
    }

    /// Whether it sends.
    pub fn is_active(&self) -> bool {
        self.worker.is_some()
    }

    /// Begins or ends to send. A topic with a cache goes on, so that the cache has its last messages.
    pub fn set_active(&mut self, node: &Node, active: bool) -> Result<(), RegisterError> {
        if active && self.worker.is_none() {
            self.worker = Some(self.start(node)?);
        } else if !active && self.qos.cache.is_none() {
            self.worker = None;
        }
        Ok(())
    }

    /// Drops a thread that has ended because its topic was removed, or that could not be started.
    pub fn tidy(&mut self) {
        if self
            .worker
            .as_ref()
            .is_some_and(|worker| worker.thread.as_ref().is_none_or(JoinHandle::is_finished))
        {
            self.worker = None;
        }
    }

    fn start(&self, node: &Node) -> Result<Worker, RegisterError> {
        let durability = match self.qos.cache {
            Some(_) => Durability::TransientLocal,
            None => Durability::Volatile,
        };
        let qos = SubscriberQos { durability, max_held: MAX_HELD, ..SubscriberQos::default() };
        let subscriber = RawSubscriber::create(node, &self.topic, &self.message_type.any(), qos)?;
        let (stop, interrupter) = (Arc::new(AtomicBool::new(false)), Interrupter::new());
        let sending = Sending {
            shared: self.shared.clone(),
            topic: self.topic.clone(),
            message_type: self.message_type.clone(),
            space: self.space,
            interval: self.qos.crossing.interval,
            sender: self.sender.clone(),
            counts: self.counts.clone(),
            nodes: HashMap::new(),
            due: HashMap::new(),
            lost: 0,
            has_warned: false,
        };
        let (stopped, interrupted) = (stop.clone(), interrupter.clone());
        let thread = Builder::new().name("bridge-out".into());
        let thread = thread.spawn(move || sending.run(&subscriber, &stopped, &interrupted));
        if let Err(error) = &thread {
            self.shared.warn(format!("topic {:?} is not sent: cannot start a thread: {error}", self.topic));
        }
        Ok(Worker { stop, interrupter, thread: thread.ok() })
    }
}

/// The thread that sends.
struct Worker {
    stop: Arc<AtomicBool>,
    interrupter: Interrupter,
    thread: Option<JoinHandle<()>>,
}

impl Drop for Worker {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        self.interrupter.interrupt();
        self.thread.take().map(JoinHandle::join);
    }
}

/// What the thread needs.
struct Sending {
    shared: Arc<Shared>,
    topic: String,
    message_type: Arc<MessageType>,
    space: Space,
    interval: Option<Duration>,
    sender: Arc<Sender>,
    counts: Arc<Counts>,
    /// Whether nodes are bridges.
    nodes: HashMap<NodeId, bool>,
    /// When the next message of a publisher may be sent.
    due: HashMap<EndpointId, Instant>,
    /// The losses that were counted.
    lost: u64,
    has_warned: bool,
}

impl Sending {
    fn run(mut self, subscriber: &RawSubscriber, stop: &AtomicBool, interrupter: &Interrupter) {
        while !stop.load(Ordering::Relaxed) {
            match subscriber.take() {
                Ok(Some(sample)) => self.send(sample),
                Ok(None) => {
                    self.count_losses(subscriber);
                    let _ = subscriber.wait_with(BusWait::at_most(SLICE).until(interrupter));
                }
                Err(TakeError::Held { .. }) => std::thread::sleep(Duration::from_micros(200)),
                Err(TakeError::Removed { .. }) => break,
                // The subscriber counts it as lost.
                Err(error) => self.warn(&error.to_string()),
            }
        }
        self.count_losses(subscriber);
        self.shared.tell(Event::Graph);
    }

    fn count_losses(&mut self, subscriber: &RawSubscriber) {
        let lost = subscriber.lost();
        self.counts.add_lost(lost.saturating_sub(self.lost));
        if lost > 0 {
            self.warn(
                "messages are overwritten before the network takes them; a larger depth keeps them longer",
            );
        }
        self.lost = lost;
    }

    fn warn(&mut self, reason: &str) {
        if !std::mem::replace(&mut self.has_warned, true) {
            self.shared.warn(format!("topic {:?}: {reason}", self.topic));
        }
    }

    fn send(&mut self, sample: RawSample) {
        let node = sample.publisher();
        if self.nodes.len() >= MAX_KNOWN {
            self.nodes.clear();
        }
        let shared = &self.shared;
        if *self.nodes.entry(node).or_insert_with(|| shared.is_of_bridge(node)) {
            return;
        }
        let publisher = sample.publisher_id();
        if let Some(interval) = self.interval {
            let now = Instant::now();
            if self.due.len() >= MAX_KNOWN {
                self.due.retain(|_, due| now < *due);
            }
            let due = self.due.entry(publisher).or_insert(now);
            if now < *due {
                self.counts.add_skipped();
                return;
            }
            // The rate stays what it is even if messages come a little late.
            *due = (*due + interval).max(now);
        }
        let attachment = Attachment {
            sequence: i64::try_from(sample.publisher_sequence().saturating_add(1)).unwrap_or(i64::MAX),
            time_ns: self.shared.since_1970(sample.published_at_ns()),
            gid: self.shared.gid(publisher),
            origin: Some(self.shared.origin),
            part: ReplyPart::Last,
        };
        let payload = match self.message_type.to_wire(self.space, sample) {
            Ok(payload) => payload,
            Err(error) => {
                self.counts.add_refused();
                return self.warn(&error.to_string());
            }
        };
        let size = payload.len();
        match self.sender.put(payload, attachment.to_bytes()) {
            Ok(()) => self.counts.add(size),
            Err(error) => {
                self.counts.add_lost(1);
                self.warn(&error.to_string());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_quality_is_that_of_all_publishers() {
        let of = |publishers: &[(Reliability, Durability, usize)]| {
            let made = OutboundQos::of(publishers.iter().copied(), Crossing::default());
            (made.reliable, made.cache)
        };
        let (loose, kept) = (Durability::Volatile, Durability::TransientLocal);
        assert_eq!(of(&[(Reliability::BestEffort, loose, 8)]), (false, None));
        assert_eq!(
            of(&[(Reliability::BestEffort, kept, 1), (Reliability::Reliable, kept, 2)]),
            (true, Some(3))
        );
        assert_eq!(of(&[(Reliability::Reliable, kept, 1000)]), (true, Some(256)));
        let most = (Reliability::Reliable, kept, usize::MAX);
        assert_eq!(of(&[most, most]), (true, Some(256)));
    }
}
