//! A subscriber's topic as a source of a wait set.
//!
//! The set keeps the topic, and not the subscriber. When the subscriber is dropped, the source is detached by
//! the set's next look at it.
//!
//! The topics of a client and of a server come with a [`SourceAlarm`], which makes them ready without a
//! message.

use std::sync::{Arc, Weak};

use situ_memory::HOST;
use situ_memory::sync::atomic::Ordering;

use crate::node::handle::NodeInner;
use crate::node::living::Living;
use crate::port::pool_cache::Core;
use crate::port::subscriber::RawSubscriber;
use crate::topic::Topic;
use crate::wait::reactor::{PresentPools, Watch, Watched};
use crate::wait::readiness::{PendingFence, Readiness, ReadinessTracker};
use crate::wait_set::alarm::SourceAlarm;
use crate::wait_set::guard_condition::Target;
use crate::wake::Wake;

/// What a set knows of a subscriber.
#[derive(Debug)]
pub(crate) struct TopicSource {
    topic: Arc<Topic>,
    core: Weak<Core>,
    tracker: ReadinessTracker,
    takes_on_host: bool,
    living: Arc<Living>,
    pools: PresentPools,
    /// The value of the topic's word at the last look that found nothing. As long as the word has this value,
    /// nothing was published.
    announced: Option<u32>,
    /// What makes it ready without a message.
    alarm: Option<Arc<SourceAlarm>>,
    /// The watch by the node's threads, if the waiting thread does not sleep on the topic's word itself.
    watch: Option<Arc<Watch>>,
}

/// What a set finds when it looks at a topic.
#[derive(Debug)]
pub(crate) enum TopicLook {
    /// There is something to take.
    Ready,
    /// There is nothing.
    Nothing,
    /// There is a message that is not complete. Its fence ends when it is.
    Incomplete(PendingFence),
    /// The subscriber was dropped.
    Gone,
}

impl TopicSource {
    pub(crate) fn new(subscriber: &RawSubscriber) -> Self {
        let core = subscriber.core();
        let topic = core.topic.clone();
        Self {
            living: core.node.living.clone(),
            pools: PresentPools::of(&topic),
            announced: None,
            alarm: None,
            topic,
            core: Arc::downgrade(core),
            tracker: subscriber.tracker().for_watch(),
            takes_on_host: subscriber.domain() == HOST,
            watch: None,
        }
    }

    /// The topic of a client or a server, which is ready at times without a message.
    pub(crate) fn with_alarm(subscriber: &RawSubscriber, alarm: &Arc<SourceAlarm>) -> Self {
        Self { alarm: Some(alarm.clone()), ..Self::new(subscriber) }
    }

    /// What makes it ready without a message.
    pub(crate) fn alarm(&self) -> Option<&Arc<SourceAlarm>> {
        self.alarm.as_ref()
    }

    fn has_kept(&self) -> bool {
        self.alarm.as_ref().is_some_and(|alarm| alarm.has_kept())
    }

    /// Whether there is something to take.
    pub(crate) fn look(&mut self) -> TopicLook {
        let Some(core) = self.core.upgrade() else { return TopicLook::Gone };
        // The subscriber stores its cursor there at each take. Of a dropped subscriber whose samples remain,
        // it is the last number.
        let cursor = core.own.cursor.load(Ordering::Acquire);
        if cursor == u64::MAX {
            return TopicLook::Gone;
        }
        if self.has_kept() {
            return TopicLook::Ready;
        }
        if !self.topic.is_published(cursor) {
            // The take then reports the removal.
            return if self.topic.is_removed() { TopicLook::Ready } else { TopicLook::Nothing };
        }
        match self.tracker.look(&self.topic, cursor).0 {
            Readiness::Nothing => TopicLook::Nothing,
            Readiness::Incomplete(awaited) => TopicLook::Incomplete(awaited),
            Readiness::Ready | Readiness::Stale | Readiness::TimedOut(_) => TopicLook::Ready,
        }
    }

    fn wake(&self) -> Wake<'_> {
        self.topic.wakes().of(self.takes_on_host)
    }

    /// The topic.
    pub(crate) fn topic(&self) -> &Arc<Topic> {
        &self.topic
    }

    /// Whether nothing was published since [`announce_and_look`](Self::announce_and_look) found nothing, and
    /// nothing is kept.
    pub(crate) fn is_unchanged(&self) -> bool {
        !self.has_kept() && self.announced == Some(self.wake().futex().load(Ordering::SeqCst))
    }

    /// The next look is a thorough one, whether something was published or not.
    pub(crate) fn forget(&mut self) {
        self.announced = None;
    }

    /// Announces a sleeper, and then looks. Returns the word to sleep on, and its value.
    pub(crate) fn announce_and_look(&mut self) -> (TopicLook, usize, u32) {
        let address = std::ptr::from_ref(self.wake().futex()).addr();
        if let Some(announced) = self.announced
            && self.is_unchanged()
        {
            // The word still tells of this sleeper.
            return (TopicLook::Nothing, address, announced);
        }
        let announced = self.wake().announce();
        let look = self.look();
        // A message of a device may come, or be incomplete again, without a change.
        let is_still = matches!(look, TopicLook::Nothing) && !self.topic.has_devices();
        self.announced = is_still.then_some(announced);
        (look, address, announced)
    }

    /// Lets the node's threads watch the topic, and ring when there is something to take.
    pub(crate) fn watch(&mut self, node: &NodeInner, target: &Target) -> std::io::Result<()> {
        let cursor = self.core.upgrade().map_or(u64::MAX, |core| core.own.cursor.load(Ordering::Acquire));
        let watched = Watched {
            topic: self.topic.clone(),
            next: cursor,
            tracker: self.tracker.for_watch(),
            takes_on_host: self.takes_on_host,
            living: self.living.clone(),
        };
        self.watch = Some(node.reactor()?.ring_at(watched, &target.bell, &target.link)?);
        Ok(())
    }

    /// Whether the node's threads watch the topic.
    pub(crate) fn is_watched(&self) -> bool {
        self.watch.is_some()
    }

    /// Repairs the state that dead members left. Returns whether the subscriber should take, because a
    /// publisher or the topic is gone.
    pub(crate) fn look_after_the_dead(&mut self, for_removal: bool) -> bool {
        self.pools.look(&self.topic, &self.living, for_removal)
    }
}
