//! A publisher: joining and leaving a topic, and getting slots back.

use std::cell::{Cell, OnceCell, RefCell};
use std::sync::Arc;
use std::time::{Duration, Instant};

use situ_memory::fork::Process;
use situ_memory::{
    AllocateError, HOST, HostDomain, Memory, PageOptions, PoolOptions, PoolOwner, PoolStatistics, Strategy,
};

use crate::copy::eager::Eager;
use crate::events::deadline_clock::DeadlineClock;
use crate::events::endpoint_events::EndpointEvents;
use crate::events::lease::Lease;
use crate::graph::endpoint_info::{EndpointInfo, EndpointRole};
use crate::graph::listing::{Listed, check_user_data};
use crate::node::handle::{Node, NodeInner};
use crate::node::process_watch::wait_for_exiting_processes;
use crate::port::bodies::Bodies;
use crate::port::copied_messages::CopiedMessages;
use crate::port::placement::Placement;
use crate::port::pool_options::{pool_options, strategy_of_messages};
use crate::port::publisher_state::{Inner, Trimming, reclaim, retire};
use crate::qos::{Durability, PublisherQos, Terms, WhenFull, nanoseconds};
use crate::topic::{
    Encoding, PlaceView, RegisterError, Registration, SchemaFlags, Topic, TypeDescription, names,
};
use crate::wait::interrupt::Interrupter;

/// How long to wait for copies to end.
const COPYING: Duration = Duration::from_secs(1);
/// How many slots of a pool subscribers can hold, beside those that the depth needs. Only slots that are used
/// take memory.
const HELD_SLOTS: u64 = 8192;
/// With more subscribers than this, reading all their cursors costs more than warm memory saves.
const EAGER_PLACES: usize = 8;

/// Publishes messages whose type is known only at run time. One thread at a time.
#[derive(Debug)]
pub struct RawPublisher {
    pub(crate) topic: Arc<Topic>,
    pub(crate) node: Arc<NodeInner>,
    pub(crate) entry: usize,
    pub(crate) encoding: Encoding,
    pub(crate) qos: PublisherQos,
    pub(crate) stamps: bool,
    /// The offset of the head in its slots.
    pub(crate) head_offset: usize,
    /// The messages that it copies into rows, if there are such.
    pub(crate) copied: Option<CopiedMessages>,
    /// The memory of its pool of heads, and that of its bodies if they lie in another domain.
    pub(crate) memory: Arc<dyn Memory>,
    pub(crate) device: Option<Arc<dyn Memory>>,
    pub(crate) inner: RefCell<Inner>,
    /// The copies that it makes before a subscriber takes.
    pub(crate) eager: Option<Box<RefCell<Eager>>>,
    /// What to do when a reliable subscriber has no room. At first as in the quality of service.
    pub(crate) when_full: Cell<WhenFull>,
    /// What it offers.
    pub(crate) terms: Terms,
    /// Counts missed deadlines, if there is one.
    pub(crate) deadline: Option<Arc<DeadlineClock>>,
    /// Its lease of liveliness, if that is manual and has an end.
    pub(crate) lease: Option<Arc<Lease>>,
    /// Its events, from their first use on.
    pub(crate) events: OnceCell<Arc<EndpointEvents>>,
    /// Ends the waits for room.
    pub(crate) interrupter: RefCell<Option<Interrupter>>,
    /// The process that it belongs to. A forked child's copy lends, publishes and returns nothing.
    pub(crate) process: Process,
    /// Its place in the graph, if it is not one of Situ's own.
    listed: Option<Listed>,
    _one_thread: std::marker::PhantomData<Cell<()>>,
}

impl RawPublisher {
    /// Joins a topic as publisher, with bodies in host memory.
    pub fn create(
        node: &Node,
        topic: &str,
        description: &TypeDescription,
        qos: PublisherQos,
    ) -> Result<Self, RegisterError> {
        Self::create_in(node, topic, description, qos, &Placement::default())
    }

    /// Joins a topic as publisher, with bodies in a memory domain.
    pub fn create_in(
        node: &Node,
        topic: &str,
        description: &TypeDescription,
        qos: PublisherQos,
        placement: &Placement,
    ) -> Result<Self, RegisterError> {
        names::check_given(topic)?;
        check_user_data(topic, &qos.user_data)?;
        let mut made = Self::create_hidden(node, topic, description, qos, placement)?;
        let (qos, data) = ((&made.qos).into(), &made.qos.user_data);
        let this = (made.id(), EndpointRole::Publisher);
        let info = EndpointInfo::new(this, topic, description, placement.domain, qos, data);
        made.listed = Some(node.inner.list(&info)?);
        Ok(made)
    }

    /// The same for a topic of any name, also one that Situ keeps for itself.
    pub(crate) fn create_hidden(
        node: &Node,
        topic: &str,
        description: &TypeDescription,
        qos: PublisherQos,
        placement: &Placement,
    ) -> Result<Self, RegisterError> {
        let inner = &node.inner;
        inner.check_process(topic)?;
        let depth = qos.depth.max(1);
        let mut registration = Registration {
            root: &inner.root,
            node: inner.life.id(),
            topic,
            description,
            flags: SchemaFlags::read(&description.schema),
            terms: Terms::of_publisher(&qos),
            depth,
            expected_depth: 0,
            publishes: true,
            domain: placement.domain,
            serialized_on_device: placement.serialized,
            missing_forms: 0,
        };
        let domains = inner.domains_with(placement.domain)?;
        let mut joined = registration.join()?;
        let qos = joined.adapt_publisher(qos);
        registration.terms = Terms::of_publisher(&qos);
        let slots = depth as u64 * 2 + HELD_SLOTS;
        // The bodies come first: heads without bodies would be useless.
        let mut bodies = None;
        if placement.domain != HOST {
            let domain = domains.get(placement.domain)?;
            let memory = (placement.capacity, placement.strategy.clone(), placement.pages);
            let options = pool_options(inner, domain.as_ref(), slots, memory);
            let mut pool = None;
            let entry = joined.take_bodies(&registration, options.id, |path| {
                pool = Some(PoolOwner::create(domain.as_ref(), path, &options)?);
                Ok(())
            })?;
            let Some(pool) = pool else { unreachable!("an entry is only taken with a pool") };
            bodies = Some(Box::new(Bodies::new(entry, pool)));
        }
        let capacity = placement.capacity.filter(|_| bodies.is_none());
        // Heads with bodies in another domain are small and all have the same size.
        let ((strategy, grows), pages) = match bodies {
            Some(_) => ((Strategy::SizeClasses, false), PageOptions::default()),
            None => {
                let (are_regions, offset) =
                    (description.encoding == Encoding::Region, joined.topic.head_offset());
                (strategy_of_messages(&placement.strategy, are_regions, offset), placement.pages)
            }
        };
        let usual = pool_options(inner, &HostDomain, slots, (capacity, strategy, pages));
        // Only its owner writes a pool of messages on the host. In pools of devices and of copies, others arm
        // the words of fences.
        let options = PoolOptions { grows, mode: usual.mode & !0o020, ..usual };
        let mut pool = None;
        let lifespan_ns = nanoseconds(qos.lifespan);
        let entry = joined.take_entry(&registration, options.id, depth as u64, lifespan_ns, |path| {
            pool = Some(PoolOwner::create(&HostDomain, path, &options)?);
            Ok(())
        });
        if let Some(bodies) = &bodies {
            joined.name_heads(bodies.entry, entry.as_ref().ok().copied());
        }
        let entry = entry?;
        let topic = joined.topic.clone();
        drop(joined);
        let Some(pool) = pool else { unreachable!("an entry is only taken with a pool") };
        let eager = placement
            .eager_copies
            .then(|| Box::new(RefCell::new(Eager::new(topic.clone(), inner.clone(), placement.domain))));
        let next = topic.end();
        let lease = Lease::of(&topic, registration.terms);
        let mut made = Self {
            copied: CopiedMessages::of(&topic, entry, &qos),
            head_offset: topic.head_offset(),
            topic,
            node: inner.clone(),
            entry,
            encoding: description.encoding,
            stamps: true,
            memory: pool.bytes().clone(),
            device: bodies.as_ref().map(|bodies| bodies.pool.bytes().clone()),
            inner: RefCell::new(Inner::new((pool, bodies), (depth, next), Trimming::new(qos.trim_above))),
            eager,
            when_full: Cell::new(qos.when_full),
            terms: registration.terms,
            deadline: DeadlineClock::new(qos.deadline),
            lease,
            events: OnceCell::new(),
            qos: PublisherQos { depth, ..qos },
            interrupter: RefCell::default(),
            process: Process::this(),
            listed: None,
            _one_thread: std::marker::PhantomData,
        };
        // Without the topic's lock, because much memory takes a while. On failure, dropping it leaves the
        // topic.
        let inner = made.inner.get_mut();
        inner.pool.prepare()?;
        inner.bodies.as_mut().map_or(Ok(()), |bodies| bodies.pool.prepare())?;
        Ok(made)
    }

    /// Leaves out the time stamp of each message. This saves reading the clock, but then there is no
    /// `published_at_ns`. A publisher with a lifespan, a deadline or a lease keeps them.
    pub fn without_stamps(mut self) -> Self {
        self.stamps = self.qos.lifespan.is_some() || self.deadline.is_some() || self.lease.is_some();
        self
    }

    /// Changes what a reliable publisher does from now on when the topic is full.
    pub fn set_when_full(&self, when_full: WhenFull) {
        self.when_full.set(when_full);
    }

    /// The topic's name.
    pub fn topic(&self) -> &str {
        &self.topic.name
    }

    /// The node that it belongs to.
    pub fn node(&self) -> Node {
        Node { inner: self.node.clone() }
    }

    /// The quality of service that it offers.
    pub fn qos(&self) -> &PublisherQos {
        &self.qos
    }

    /// The statistics of its pool. Slots in use are lent, still available to subscribers, or held by one.
    pub fn memory(&self) -> PoolStatistics {
        let mut inner = self.inner.borrow_mut();
        if !self.is_inherited() {
            self.reclaim(&mut inner);
        }
        inner.pool.statistics()
    }

    /// Frees the retired slots that no subscriber holds.
    pub(crate) fn reclaim(&self, inner: &mut Inner) {
        reclaim(inner, &self.topic, self.entry);
    }

    /// Retires messages that every subscriber has passed, oldest first, so that the slot with the warmest
    /// memory is lent next.
    pub(crate) fn retire_passed(&self, inner: &mut Inner) {
        if self.qos.durability != Durability::Volatile
            || inner.published.is_empty()
            || self.topic.places.used() > EAGER_PLACES
        {
            return;
        }
        let passed = self.topic.places.active().map(|place| place.cursor()).min().unwrap_or(u64::MAX);
        while let Some(&(number, slot)) = inner.published.front()
            && number < passed
        {
            inner.published.pop_front();
            retire(inner, slot);
        }
    }

    /// Recovers memory when it is exhausted: frees slots, and if that does not suffice, waits for dying
    /// processes that still hold some.
    #[cold]
    pub(crate) fn recover_enough<T>(
        &self,
        inner: &mut Inner,
        mut allocate: impl FnMut(&mut Inner) -> Result<T, AllocateError>,
    ) -> Result<T, AllocateError> {
        let mut result = None;
        wait_for_exiting_processes(&self.topic, &self.node.processes, || {
            self.reclaim(inner);
            let allocated = allocate(inner);
            let enough =
                !matches!(allocated, Err(AllocateError::Exhausted { .. } | AllocateError::Memory(_)));
            result = Some(allocated);
            enough
        });
        let start = Instant::now();
        let mut result = result.unwrap_or_else(|| allocate(inner));
        // Slots that are still being copied from are free soon.
        while matches!(result, Err(AllocateError::Exhausted { .. } | AllocateError::Memory(_)))
            && let Some(left) = COPYING.checked_sub(start.elapsed())
            && inner.enqueued.wait_for_one(left)
        {
            self.reclaim(inner);
            result = allocate(inner);
        }
        result
    }

    /// Repairs the topic and frees all slots that are not held any more.
    #[cold]
    pub(crate) fn recover(&self, inner: &mut Inner) {
        self.topic.repair_if_free();
        self.reclaim(inner);
    }

    /// The slowest cursor of the subscribers that are waited for; `u64::MAX` if there are none.
    pub(crate) fn slowest(&self) -> u64 {
        if self.topic.places.map_all().is_err() {
            // It cannot see some of them, so it must not overtake any.
            return 0;
        }
        self.waited_for().map(|place| place.cursor()).min().unwrap_or(u64::MAX)
    }

    /// The places of the subscribers that it waits for: of those that match.
    pub(crate) fn waited_for(&self) -> impl Iterator<Item = PlaceView<'_>> {
        // Without the lock, a place may have another subscriber by now. That one has changed the epoch, and
        // the places are looked at again.
        let matches = |place: &PlaceView<'_>| {
            place.is_waited_for() && (!self.topic.is_mixed() || self.terms.satisfies(place.terms()))
        };
        self.topic.places.active().filter(matches)
    }

    pub(crate) fn refresh(&self, inner: &mut Inner) -> u64 {
        inner.window.refresh(self.topic.places.epoch(), || self.slowest())
    }
}

impl Drop for RawPublisher {
    fn drop(&mut self) {
        if self.is_inherited() {
            return;
        }
        self.events.get().inspect(|events| events.end());
        let start = Instant::now();
        let inner = self.inner.get_mut();
        // If the process ended now, streams that wait for such a copy would lose a complete message.
        while inner.bodies.is_none()
            && let Some(left) = COPYING.checked_sub(start.elapsed())
            && inner.enqueued.wait_for_one(left)
        {}
        let bodies = self.inner.get_mut().bodies.as_ref();
        for fence in bodies.iter().flat_map(|bodies| bodies.pending()) {
            let (fences, owner) = (&self.node.fences, self.node.life.id());
            fences.keep_until(&self.topic, owner, &fence, self.node.clone());
        }
        let bodies = bodies.map(|bodies| bodies.entry);
        self.topic.leave_entries([self.entry].into_iter().chain(bodies));
    }
}
