//! A topic that comes from other machines: a subscriber of Zenoh, and a publisher here for each of theirs.
//!
//! Each publisher of another machine has one here, on a node with the name of its own. It exists as long as
//! its token does. So a publisher that dies, and a cable that is cut, are seen here as on one machine. The
//! subscriber exists only while a program here subscribes.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, TryLockError, Weak};
use std::time::Duration;

use situ_bus::{
    Durability, EndpointQos, History, LoanError, Node, PublishError, PublisherQos, RawPublisher,
    RegisterError, TypeDescription, WhenFull,
};
use zenoh::Wait;
use zenoh::pubsub::Subscriber;
use zenoh::sample::{Locality, Sample, SampleKind};
use zenoh_ext::{AdvancedSubscriber, AdvancedSubscriberBuilderExt, HistoryConfig, RecoveryConfig};

use crate::counts::Counts;
use crate::kept::{Forgot, Keeper};
use crate::message_type::{MessageError, MessageType};
use crate::shared::Shared;
use crate::wire::attachment::{Attachment, AttachmentError, Gid};
use crate::wire::token::Space;
use crate::wire::type_hash;

/// The greatest depth of a publisher here.
const MAX_DEPTH: usize = 1024;
/// How long a message of a reliable publisher waits for a subscriber here that has no room.
const PATIENCE: Duration = Duration::from_millis(100);

/// Why a message that came is not published.
#[derive(Debug, thiserror::Error)]
enum ArriveError {
    #[error(transparent)]
    Attachment(#[from] AttachmentError),
    #[error(transparent)]
    Message(#[from] MessageError),
    #[error("no publisher of the other machine is known")]
    NoPublisher,
    #[error(transparent)]
    Loan(#[from] LoanError),
    #[error(transparent)]
    Publish(#[from] PublishError),
}

/// A publisher of another machine.
struct Proxy {
    gid: Gid,
    publisher: RawPublisher,
    /// The number of its last message, if its messages may come again: from its cache, after an interruption.
    /// Only such a publisher keeps messages for late subscribers.
    last: Option<i64>,
    /// How many bytes it keeps.
    kept: u64,
}

impl Proxy {
    fn keeps(&self) -> bool {
        self.last.is_some()
    }
}

impl Drop for Proxy {
    /// What a publisher keeps goes with it, as in ROS 2. Otherwise ever new publishers of other machines
    /// would leave ever more memory.
    fn drop(&mut self) {
        if self.keeps() {
            while self.publisher.forget_oldest() {}
            self.publisher.trim();
        }
    }
}

/// What callbacks of Zenoh need.
struct Receiving {
    shared: Arc<Shared>,
    topic: String,
    message_type: Arc<MessageType>,
    space: Space,
    description: TypeDescription,
    counts: Arc<Counts>,
    proxies: Mutex<Proxies>,
    /// Its number among the topics that keep messages.
    keeper: u64,
}

#[derive(Default)]
struct Proxies {
    /// By their tokens.
    by_token: HashMap<String, Proxy>,
    has_warned: bool,
    has_warned_of_limit: bool,
}

impl Proxies {
    fn kept(&self) -> u64 {
        self.by_token.values().map(|proxy| proxy.kept).sum()
    }
}

/// A subscriber of Zenoh. Dropping it ends it.
enum Subscription {
    Plain { _subscriber: Subscriber<()> },
    Cached { _subscriber: AdvancedSubscriber<()> },
}

/// A topic that comes from other machines.
pub struct Inbound {
    /// Its key.
    pub key: String,
    /// The topic on the bus.
    pub topic: String,
    /// What has come.
    pub counts: Arc<Counts>,
    receiving: Arc<Receiving>,
    subscription: Option<(Subscription, bool)>,
}

/// What a publisher here tells rmw_situ about the one of ROS: see `rmw_situ`'s user data of endpoints.
pub fn endpoint_data(type_hash: &str, qos: &EndpointQos) -> Vec<u8> {
    let mut data = b"ROS\x01".to_vec();
    let digest = type_hash::from_text(type_hash);
    data.push(u8::from(digest.is_some()));
    data.extend_from_slice(&digest.unwrap_or_default());
    let (history, depth) = match qos.history {
        History::KeepLast(depth) => (1, depth as u64),
        History::KeepAll => (2, 0),
    };
    data.push(history);
    data.push(0);
    data.extend_from_slice(&depth.to_le_bytes());
    data
}

/// The quality of a publisher here.
fn publisher_qos(type_hash: &str, qos: &EndpointQos) -> PublisherQos {
    let depth = match qos.history {
        History::KeepLast(depth) => depth.clamp(1, MAX_DEPTH),
        History::KeepAll => MAX_DEPTH,
    };
    // A publisher of ROS keeps at least 16, so that subscribers of different depths find theirs.
    let depth = if qos.durability == Durability::TransientLocal { depth } else { depth.max(16) };
    PublisherQos {
        reliability: qos.reliability,
        durability: qos.durability,
        depth,
        when_full: WhenFull::Block(Some(PATIENCE)),
        deadline: qos.deadline,
        lifespan: qos.lifespan,
        user_data: endpoint_data(type_hash, qos),
        ..PublisherQos::default()
    }
}

impl Inbound {
    /// A topic whose messages are published here with `description`.
    pub fn new(
        shared: &Arc<Shared>,
        (topic, key): (&str, &str),
        (message_type, space): (&Arc<MessageType>, Space),
        description: TypeDescription,
    ) -> Self {
        let counts = Arc::<Counts>::default();
        let receiving = Arc::new_cyclic(|this: &Weak<Receiving>| Receiving {
            shared: shared.clone(),
            topic: topic.to_owned(),
            message_type: message_type.clone(),
            space,
            description,
            counts: counts.clone(),
            proxies: Mutex::default(),
            keeper: shared.kept.join(this.clone()),
        });
        Self { key: key.to_owned(), topic: topic.to_owned(), counts, receiving, subscription: None }
    }

    fn proxies(&self) -> std::sync::MutexGuard<'_, Proxies> {
        self.receiving.proxies.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The tokens of the publishers that are here.
    pub fn tokens(&self) -> Vec<String> {
        self.proxies().by_token.keys().cloned().collect()
    }

    /// Adds a publisher of another machine.
    pub fn add(
        &mut self,
        node: &Node,
        token: &str,
        gid: Gid,
        type_hash: &str,
        qos: &EndpointQos,
    ) -> Result<(), RegisterError> {
        let qos = publisher_qos(type_hash, qos);
        let keeps = qos.durability == Durability::TransientLocal;
        let publisher = RawPublisher::create(node, &self.topic, &self.receiving.description, qos)?;
        let last = keeps.then_some(i64::MIN);
        self.proxies().by_token.insert(token.to_owned(), Proxy { gid, publisher, last, kept: 0 });
        Ok(())
    }

    /// Removes a publisher whose token is gone. Returns whether there are others.
    pub fn remove(&mut self, token: &str) -> bool {
        let removed = self.proxies().by_token.remove(token);
        // Outside of the lock: leaving a topic takes a while.
        drop(removed);
        let proxies = self.proxies();
        self.receiving.shared.kept.set(self.receiving.keeper, proxies.kept());
        !proxies.by_token.is_empty()
    }

    /// Counts anew what it keeps for late subscribers.
    pub fn count_kept(&self) {
        self.receiving.count_kept();
    }

    /// The name of its type.
    pub fn type_name(&self) -> &str {
        self.receiving.message_type.name()
    }

    /// Whether it receives.
    pub fn is_active(&self) -> bool {
        self.subscription.is_some()
    }

    /// Begins or ends to receive.
    pub fn set_active(&mut self, active: bool) -> zenoh::Result<()> {
        let depth = {
            let proxies = self.proxies();
            let kept = proxies.by_token.values().filter(|proxy| proxy.keeps());
            kept.map(|proxy| proxy.publisher.qos().depth).max()
        };
        let is_cached = depth.is_some();
        if !active {
            self.subscription = None;
        } else if self.subscription.as_ref().is_none_or(|(_, cached)| *cached != is_cached) {
            self.subscription = None;
            self.subscription = Some((self.subscribe(depth)?, is_cached));
        }
        Ok(())
    }

    fn subscribe(&self, depth: Option<usize>) -> zenoh::Result<Subscription> {
        let receiving = self.receiving.clone();
        let builder = self
            .receiving
            .shared
            .session
            .declare_subscriber(self.key.clone())
            .callback(move |sample| receiving.receive(&sample))
            .allowed_origin(Locality::Remote);
        let Some(depth) = depth else { return Ok(Subscription::Plain { _subscriber: builder.wait()? }) };
        let history = HistoryConfig::default().detect_late_publishers().max_samples(depth);
        let builder =
            builder.history(history).recovery(RecoveryConfig::default().heartbeat()).subscriber_detection();
        Ok(Subscription::Cached { _subscriber: builder.wait()? })
    }
}

impl Receiving {
    fn receive(&self, sample: &Sample) {
        if sample.kind() != SampleKind::Put {
            return;
        }
        let mut proxies = self.proxies.lock().unwrap_or_else(PoisonError::into_inner);
        if let Err(error) = self.publish(&mut proxies, sample) {
            match error {
                ArriveError::Loan(_) | ArriveError::Publish(_) => self.counts.add_lost(1),
                _ => self.counts.add_refused(),
            }
            if !std::mem::replace(&mut proxies.has_warned, true) {
                self.shared
                    .warn(format!("topic {:?}: a message that came is not published: {error}", self.topic));
            }
        }
        if proxies.by_token.values().any(Proxy::keeps) {
            self.shared.kept.set(self.keeper, proxies.kept());
            drop(proxies);
            self.shared.kept.enforce(Some(self.keeper));
        }
    }

    /// Counts anew what it keeps: subscribers may have passed messages.
    fn count_kept(&self) {
        let mut proxies = self.proxies.lock().unwrap_or_else(PoisonError::into_inner);
        for proxy in proxies.by_token.values_mut().filter(|proxy| proxy.keeps()) {
            proxy.kept = proxy.publisher.kept_bytes();
        }
        self.shared.kept.set(self.keeper, proxies.kept());
    }

    fn publish(&self, proxies: &mut Proxies, sample: &Sample) -> Result<(), ArriveError> {
        let attachment = sample.attachment().ok_or(AttachmentError::Missing)?.to_bytes();
        let attachment = Attachment::from_bytes(&attachment)?;
        if attachment.origin == Some(self.shared.origin) {
            self.counts.add_echo();
            return Ok(());
        }
        // A publisher that has just appeared has another GID until its token is there.
        let known = proxies.by_token.values().any(|proxy| proxy.gid == attachment.gid);
        let proxy = proxies.by_token.values_mut().find(|proxy| !known || proxy.gid == attachment.gid);
        let proxy = proxy.ok_or(ArriveError::NoPublisher)?;
        if let Some(last) = proxy.last.as_mut().filter(|_| known) {
            if attachment.sequence <= *last {
                return Ok(());
            }
            *last = attachment.sequence;
        }
        let payload = sample.payload();
        let arrived = self.message_type.arrived(self.space, payload, self.description.encoding)?;
        let (head, body) = arrived.sizes();
        let mut loan = proxy.publisher.loan(head, 64, body)?;
        arrived.fill(&mut loan);
        loan.publish()?;
        if proxy.keeps() {
            proxy.kept = proxy.publisher.kept_bytes();
        }
        self.counts.add(payload.len());
        Ok(())
    }
}

impl Keeper for Receiving {
    fn forget_one(&self, gives_back: bool, set: &dyn Fn(u64)) -> Forgot {
        let mut proxies = match self.proxies.try_lock() {
            Ok(proxies) => proxies,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            Err(TryLockError::WouldBlock) => return Forgot::Busy,
        };
        let mut keeping: Vec<&mut Proxy> =
            proxies.by_token.values_mut().filter(|proxy| proxy.kept > 0).collect();
        keeping.sort_by_key(|proxy| std::cmp::Reverse(proxy.kept));
        let Some(proxy) = keeping.into_iter().find(|proxy| proxy.publisher.forget_oldest()) else {
            return Forgot::Nothing;
        };
        if gives_back {
            proxy.publisher.trim();
        }
        proxy.kept = proxy.publisher.kept_bytes();
        set(proxies.kept());
        if !std::mem::replace(&mut proxies.has_warned_of_limit, true) {
            self.shared.warn(format!(
                "topic {:?}: topics of other machines keep more than {} MiB for late subscribers. The oldest \
                 messages are forgotten; a larger limit (--keep) keeps them",
                self.topic,
                self.shared.kept.limit() >> 20
            ));
        }
        Forgot::One
    }
}

impl Drop for Receiving {
    fn drop(&mut self) {
        self.shared.kept.leave(self.keeper);
    }
}

#[cfg(test)]
mod tests {
    use situ_bus::{Liveliness, Reliability};

    use super::*;

    #[test]
    fn rmw_situ_reads_what_publishers_tell() {
        let qos = EndpointQos {
            reliability: Reliability::Reliable,
            durability: Durability::TransientLocal,
            history: History::KeepLast(5),
            deadline: None,
            lifespan: None,
            liveliness: Liveliness::Automatic,
            lease: None,
        };
        let hash = format!("RIHS01_{}", "0a".repeat(32));
        let data = endpoint_data(&hash, &qos);
        let mut expected = b"ROS\x01\x01".to_vec();
        expected.extend_from_slice(&[0x0a; 32]);
        expected.extend_from_slice(&[1, 0, 5, 0, 0, 0, 0, 0, 0, 0]);
        assert_eq!(data, expected);
        assert_eq!(endpoint_data("TypeHashNotSupported", &qos)[4], 0);
        assert_eq!(publisher_qos(&hash, &qos).depth, 5);
        let volatile = EndpointQos { durability: Durability::Volatile, ..qos };
        assert_eq!(publisher_qos(&hash, &volatile).depth, 16);
    }
}
