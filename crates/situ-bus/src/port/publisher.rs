//! Publishing: loans, the order, back-pressure, and getting slots back.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};

use situ_memory::fork::Process;
use situ_memory::sync::atomic::Ordering;
use situ_memory::{
    Access, AllocateError, DomainError, FenceState, HOST, Held, HostDomain, Memory, MemoryError, PoolOptions,
    PoolOwner, PoolStatistics, SlotId, Strategy, Stream,
};

use crate::clock::now_ns;
use crate::copy::copier::pool_options;
use crate::copy::eager::{Eager, Enqueued};
use crate::copy::take_remote::{Bodies, Placement};
use crate::node::fence_watchdog::FenceWatch;
use crate::node::handle::{Node, NodeInner};
use crate::node::process_watch::{Deaths, wait_for_the_dying};
use crate::observe::hook::{self, Began};
use crate::port::loan::{LoanError, RawLoan};
use crate::port::prefetch::prefetch_for_write;
use crate::port::slow_subscriber::SlowSubscriber;
use crate::port::trim::{Trimming, give_excess_back};
use crate::protocol::flow_window::Window;
use crate::protocol::ring::{ClaimError, Reference, Ring};
use crate::qos::{Durability, PublisherQos, Reliability, Terms, nanoseconds, periods};
use crate::topic::format::{BODY_IN_SLOT, DESCRIPTOR, Descriptor};
use crate::topic::removal::Removed;
use crate::topic::{Encoding, MOST_RINGS, RegisterError, Registration, Topic, TypeDescription};
use crate::wait::interrupt::Interrupter;

/// From this size on a slot that everybody has passed is reused at once, because its lines (or at least its pages)
/// are warm; below it, looking at the cursors costs more than it saves.
const EAGER_SIZE: usize = 64 << 10;
/// From this size on it pays to look right before the loan rather than after publishing, so that a message which has
/// been passed meanwhile is overwritten where it lies, in memory that is still at hand (measured: filling 1 MiB takes 18 us in
/// the same slot again and 25 us in two slots by turns; 4 MiB, 140 us and 247 us).
pub(crate) const WARM_SIZE: usize = 512 << 10;
/// How long to wait for the end of copies.
const COPYING: Duration = Duration::from_secs(1);
/// With more subscribers than this, looking at all their cursors costs more than warm memory saves.
const EAGER_PLACES: usize = 8;

/// Why a message could not be published.
#[derive(Debug, thiserror::Error)]
pub enum PublishError {
    /// A reliable subscriber has no room.
    #[error(
        "the slowest reliable subscriber of topic {topic:?}{} has not taken message {waiting_for} yet, and the depth is \
         {depth}; gave up after {waited:?}", named(.subscriber.as_deref())
    )]
    Full {
        /// The topic.
        topic: String,
        /// The oldest message that it has not taken.
        waiting_for: u64,
        /// How far this publisher may run ahead.
        depth: usize,
        /// How long it was waited.
        waited: Duration,
        /// Which subscriber that is; nothing if it has gone just now.
        subscriber: Option<Box<SlowSubscriber>>,
    },
    /// The slowest reliable subscriber was last used by the thread that publishes: while that thread waits, no thread takes.
    /// A publisher whose limit is 20 ms or less gets `Full` instead.
    #[error(
        "the slowest reliable subscriber of topic {topic:?}, {subscriber}, has not taken message {waiting_for} yet, the depth is \
         {depth}, and it is used by the very thread that publishes, which cannot take while it waits: take before more is \
         published, let another thread take, or use a larger depth"
    )]
    OwnThread {
        /// The topic.
        topic: String,
        /// The oldest message that it has not taken.
        waiting_for: u64,
        /// How far this publisher may run ahead.
        depth: usize,
        /// The subscriber.
        subscriber: Box<SlowSubscriber>,
    },
    /// The root, the topic or the node was removed under it: nobody who comes from now on would get the message.
    #[error("topic {topic:?} cannot be used any more: {removed}")]
    Removed {
        /// The topic.
        topic: String,
        /// What was removed.
        removed: Removed,
    },
    /// It belongs to the process that this one was forked from.
    #[error(
        "topic {topic:?} was joined by the process that this one was forked from: make a node here, and join with that"
    )]
    Forked {
        /// The topic.
        topic: String,
    },
    /// The wait for a reliable subscriber was ended by the publisher's interrupter. The message was not published.
    #[error("the wait for room on topic {topic:?} was interrupted")]
    Interrupted {
        /// The topic.
        topic: String,
    },
    /// The stream that fills the message cannot signal that it has.
    #[error("message of topic {topic:?} cannot be published in stream order: {source}")]
    Stream {
        /// The topic.
        topic: String,
        /// What the stream answered.
        source: Box<DomainError>,
    },
    /// The topic has grown, and its new rows cannot be mapped.
    #[error("the new rows of topic {topic:?} cannot be used: {source}")]
    Ring {
        /// The topic.
        topic: String,
        /// What is wrong with their file.
        source: Box<MemoryError>,
    },
    /// The topic's rows contradict each other.
    #[error(
        "the rows of topic {topic:?} are corrupted: another process wrote to them; stop its users and run `situ clean`"
    )]
    Corrupted {
        /// The topic.
        topic: String,
    },
}

fn named(subscriber: Option<&SlowSubscriber>) -> String {
    subscriber.map_or_else(String::new, |subscriber| format!(", {subscriber},"))
}

/// Publishes messages whose type is known only at run time. One thread at a time.
#[derive(Debug)]
pub struct RawPublisher {
    pub(crate) topic: Arc<Topic>,
    pub(crate) node: Arc<NodeInner>,
    pub(crate) entry: usize,
    pub(crate) encoding: Encoding,
    pub(crate) qos: PublisherQos,
    stamps: bool,
    /// The memory of its pool, and of that of its bodies if they lie elsewhere.
    pub(crate) memory: Arc<dyn Memory>,
    pub(crate) device: Option<Arc<dyn Memory>>,
    pub(crate) inner: RefCell<Inner>,
    /// Ends its waits for room.
    pub(crate) interrupter: RefCell<Option<Interrupter>>,
    /// Whose it is. A forked child's copy lends and publishes nothing, and gives nothing back.
    pub(crate) process: Process,
    _one_thread: std::marker::PhantomData<Cell<()>>,
}

pub(crate) struct Inner {
    pub(crate) pool: PoolOwner,
    /// The bodies, if they lie in another domain than the heads.
    pub(crate) bodies: Option<Box<Bodies>>,
    /// Copies that are made without being asked for, and those of them that are only enqueued.
    eager: Option<Box<Eager>>,
    pub(crate) enqueued: Enqueued,
    /// What was published and is still available, oldest first.
    pub(crate) published: VecDeque<(u64, SlotId)>,
    /// What was taken out of circulation while a reader held it, in the order in which it is looked at again.
    pub(crate) held: VecDeque<SlotId>,
    /// Where the order probably ends.
    next: u64,
    pub(crate) window: Window,
    pub(crate) deaths: Deaths,
    pub(crate) trimming: Trimming,
    published_ns: u64,
    missed: u64,
}

impl std::fmt::Debug for Inner {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Inner").field("next", &self.next).field("pool", &self.pool.statistics()).finish()
    }
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
        let inner = &node.inner;
        inner.check_process(topic)?;
        let depth = qos.depth.max(1);
        let registration = Registration {
            root: &inner.root,
            node: inner.life.id(),
            topic,
            description,
            terms: Terms::of_publisher(&qos),
            depth,
            domain: placement.domain,
        };
        let domains = inner.domains_with(placement.domain)?;
        let joined = registration.join(Access::Read)?;
        let slots = depth as u64 * 2 + 1024;
        // First the bodies: heads without them would be nothing.
        let mut bodies = None;
        if placement.domain != HOST {
            let domain = domains.get(placement.domain)?;
            let options =
                pool_options(inner, domain.as_ref(), slots, (placement.capacity, placement.strategy));
            let mut pool = None;
            let entry = joined.take_bodies(&registration, options.id, |path| {
                pool = Some(PoolOwner::create(domain.as_ref(), path, &options)?);
                Ok(())
            })?;
            let Some(pool) = pool else { unreachable!("an entry is only taken with a pool") };
            bodies = Some(Box::new(Bodies::new(entry, pool)));
        }
        let capacity = placement.capacity.filter(|_| bodies.is_none());
        // Heads of bodies elsewhere are small, and all alike.
        // Nor does a ring have slots that grow, as regions do.
        let grows = bodies.is_none() && description.encoding == Encoding::Region;
        let strategy = if bodies.is_none() && !grows { placement.strategy } else { Strategy::SizeClasses };
        let options = PoolOptions { grows, ..pool_options(inner, &HostDomain, slots, (capacity, strategy)) };
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
            .then(|| Box::new(Eager::new(topic.clone(), inner.clone(), placement.domain)));
        let next = topic.end();
        Ok(Self {
            topic,
            node: inner.clone(),
            entry,
            encoding: description.encoding,
            stamps: true,
            memory: pool.bytes().clone(),
            device: bodies.as_ref().map(|bodies| bodies.pool.bytes().clone()),
            inner: RefCell::new(Inner {
                pool,
                bodies,
                eager,
                enqueued: Enqueued::default(),
                published: VecDeque::with_capacity(depth + 2),
                held: VecDeque::with_capacity(depth + 2),
                next,
                window: Window::default(),
                deaths: Deaths::default(),
                trimming: Trimming::new(qos.trim_above),
                published_ns: now_ns(),
                missed: 0,
            }),
            qos: PublisherQos { depth, ..qos },
            interrupter: RefCell::default(),
            process: Process::this(),
            _one_thread: std::marker::PhantomData,
        })
    }

    /// Leaves out the time stamp of each message: saves reading the clock, costs `published_at_ns` and the lifespan.
    pub fn without_stamps(mut self) -> Self {
        self.stamps = self.qos.lifespan.is_some() || self.qos.deadline.is_some();
        self
    }

    /// The topic's name.
    pub fn topic(&self) -> &str {
        &self.topic.name
    }

    /// The node that it belongs to.
    pub fn node(&self) -> Node {
        Node { inner: self.node.clone() }
    }

    /// What it offers.
    pub fn qos(&self) -> &PublisherQos {
        &self.qos
    }

    /// What its pool holds.
    pub fn memory(&self) -> PoolStatistics {
        self.inner.borrow().pool.statistics()
    }

    /// How many subscribers the topic has at the moment.
    pub fn subscribers(&self) -> usize {
        self.topic.places.active().count()
    }

    /// How many deadlines went by without a message, the current one included.
    pub fn deadlines_missed(&self) -> u64 {
        let inner = self.inner.borrow();
        inner.missed + periods(inner.published_ns, now_ns(), self.qos.deadline)
    }

    /// Lends a slot for a head and a body. The bytes are whatever was there before: write the head before publishing.
    pub fn loan(
        &self,
        head_size: usize,
        head_align: usize,
        body_size: usize,
    ) -> Result<RawLoan<'_>, LoanError> {
        if self.is_inherited() {
            return Err(self.loan_forked());
        }
        let size = |reason| LoanError::Size { head_size, head_align, body_size, reason };
        if head_align > DESCRIPTOR || !head_align.is_power_of_two() {
            return Err(size("the alignment must be a power of two up to 64"));
        }
        if u32::try_from(head_size).is_err() {
            return Err(size("a head must be smaller than 4 GiB; mark large fields @bulk"));
        }
        if let Some(watcher) = hook::watcher() {
            return self.lend_watched((head_size, head_align), body_size, watcher);
        }
        self.lend((head_size, head_align), body_size)
    }

    #[inline(always)]
    pub(crate) fn lend(
        &self,
        (head_size, head_align): (usize, usize),
        body_size: usize,
    ) -> Result<RawLoan<'_>, LoanError> {
        let mut inner = self.inner.borrow_mut();
        if inner.bodies.is_some() {
            return self.loan_in_device(&mut inner, head_size, body_size);
        }
        let body_offset = (DESCRIPTOR + head_size).next_multiple_of(64);
        let total = body_offset.checked_add(body_size).ok_or(LoanError::Size {
            head_size,
            head_align,
            body_size,
            reason: "they are larger than the address space",
        })?;
        self.tidy_for(&mut inner, total);
        let slot = match inner.pool.allocate(total) {
            Ok(slot) => slot,
            Err(AllocateError::Exhausted { .. } | AllocateError::Memory(_)) => {
                self.recover_enough(&mut inner, |inner| inner.pool.allocate(total))?
            }
            Err(error) => return Err(error.into()),
        };
        let (memory, len) = inner.pool.memory(slot);
        debug_assert!(len >= total);
        Ok(RawLoan {
            publisher: self,
            slot,
            memory,
            head_size,
            body_offset,
            body_size,
            encoding: self.encoding,
            body_pool: BODY_IN_SLOT,
            signalled: false,
            grows: false,
        })
    }

    /// Looks for what came free before a slot of so many bytes is lent.
    #[inline(always)]
    pub(crate) fn tidy_for(&self, inner: &mut Inner, total: usize) {
        if total >= WARM_SIZE {
            self.retire_passed(inner);
        }
        if !inner.held.is_empty() {
            // Two a loan suffices: at most one is added a message.
            give_back(inner, 2);
        }
    }

    /// Lends a head whose body lies in another domain.
    #[cold]
    fn loan_in_device(
        &self,
        inner: &mut Inner,
        head_size: usize,
        body_size: usize,
    ) -> Result<RawLoan<'_>, LoanError> {
        give_back(inner, 2);
        if body_size >= EAGER_SIZE {
            self.retire_passed(inner);
        }
        self.copy_eagerly(inner, None);
        let slot = match inner.pool.allocate(DESCRIPTOR + head_size) {
            Err(AllocateError::Exhausted { .. } | AllocateError::Memory(_)) => {
                self.recover_enough(inner, |inner| inner.pool.allocate(DESCRIPTOR + head_size))?
            }
            slot => slot?,
        };
        let add_body = |inner: &mut Inner| match &mut inner.bodies {
            Some(bodies) if body_size > 0 => bodies.allocate(slot, body_size).map(|()| bodies.entry as u32),
            _ => Ok(BODY_IN_SLOT),
        };
        let body_pool = match add_body(inner) {
            Err(AllocateError::TooLarge { size, capacity }) => {
                Err(AllocateError::TooLarge { size, capacity })
            }
            Err(_) => {
                self.retire_passed(inner);
                self.recover_enough(inner, add_body)
            }
            added => added,
        };
        let body_pool = body_pool.inspect_err(|_| inner.pool.deallocate(slot))?;
        let (memory, _) = inner.pool.memory(slot);
        let body_size = if body_pool == BODY_IN_SLOT { 0 } else { body_size };
        let (encoding, signalled) = (self.encoding, false);
        Ok(RawLoan {
            publisher: self,
            slot,
            memory,
            head_size,
            body_offset: 0,
            body_size,
            encoding,
            body_pool,
            signalled,
            grows: false,
        })
    }

    /// Takes out of circulation what is beyond the depth, right after a message was published: off its way, and early
    /// enough for the lines of the slot that comes next to be here when it is lent.
    #[inline]
    fn retire_oldest(&self, inner: &mut Inner) {
        while inner.published.len() > self.qos.depth {
            let Some(&(number, slot)) = inner.published.front() else { break };
            if number >= inner.window.slowest() && number >= self.refresh(inner) {
                break;
            }
            inner.published.pop_front();
            retire(inner, slot);
        }
    }

    /// Takes out of circulation what every subscriber has passed, oldest first, so that the warmest is lent next.
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

    /// The memory is exhausted: gets back what there is, and if that does not do, waits for the end of those who died with some of it.
    #[cold]
    pub(crate) fn recover_enough<T>(
        &self,
        inner: &mut Inner,
        mut allocate: impl FnMut(&mut Inner) -> Result<T, AllocateError>,
    ) -> Result<T, AllocateError> {
        let mut result = None;
        wait_for_the_dying(&self.topic, &self.node, || {
            give_back(inner, usize::MAX);
            let allocated = allocate(inner);
            let enough =
                !matches!(allocated, Err(AllocateError::Exhausted { .. } | AllocateError::Memory(_)));
            result = Some(allocated);
            enough
        });
        let start = Instant::now();
        let mut result = result.unwrap_or_else(|| allocate(inner));
        // What is still being copied comes free soon.
        while matches!(result, Err(AllocateError::Exhausted { .. } | AllocateError::Memory(_)))
            && let Some(left) = COPYING.checked_sub(start.elapsed())
            && inner.enqueued.wait_for_one(left)
        {
            give_back(inner, usize::MAX);
            result = allocate(inner);
        }
        result
    }

    /// Looks at everything that may have come free, also by death.
    #[cold]
    fn recover(&self, inner: &mut Inner) {
        self.topic.repair_if_free();
        give_back(inner, usize::MAX);
    }

    /// The slowest cursor of those who are waited for; `u64::MAX` if there is none.
    fn slowest(&self) -> u64 {
        let waited_for = self.topic.places.active().filter(|place| place.is_waited_for());
        waited_for.map(|place| place.cursor()).min().unwrap_or(u64::MAX)
    }

    fn refresh(&self, inner: &mut Inner) -> u64 {
        inner.window.refresh(self.topic.places.epoch(), || self.slowest())
    }

    /// Puts a loan into the order. `on` is the stream that completes it, if one does.
    pub(crate) fn publish(&self, loan: &RawLoan<'_>, on: Option<&dyn Stream>) -> Result<u64, PublishError> {
        if self.is_inherited() {
            return Err(self.publish_forked());
        }
        if self.topic.is_removed() {
            return Err(self.publish_removed());
        }
        match hook::watcher() {
            None => self.publish_since(loan, on, None),
            Some(watcher) => self.publish_watched(loan, on, watcher),
        }
    }

    /// Publishes, and tells of it if it `began` at a time that somebody wants to know. In line, so that nothing is left of
    /// that where nobody does.
    #[inline(always)]
    pub(crate) fn publish_since(
        &self,
        loan: &RawLoan<'_>,
        on: Option<&dyn Stream>,
        mut began: Option<Began>,
    ) -> Result<u64, PublishError> {
        let mut inner = self.inner.borrow_mut();
        let inner = &mut *inner;
        if let Some(bodies) = &inner.bodies
            && !loan.signalled
            && let Some(fence) = bodies.fence(loan.slot)
        {
            // Whatever fills it is done: the row publishes that.
            fence.complete();
        }
        let now = if self.stamps { now_ns() } else { 0 };
        let descriptor = loan.descriptor();
        descriptor.published_at_ns.store(now, Ordering::Relaxed);
        descriptor.head_size.store(loan.head_size as u32, Ordering::Relaxed);
        descriptor.encoding.store(loan.encoding as u32, Ordering::Relaxed);
        descriptor.body_offset.store(loan.body_offset as u64, Ordering::Relaxed);
        descriptor.body_size.store(loan.body_size as u64, Ordering::Relaxed);
        descriptor.body_pool.store(loan.body_pool, Ordering::Relaxed);
        if loan.body_pool != BODY_IN_SLOT {
            let body = inner.bodies.as_ref().and_then(|bodies| bodies.of(loan.slot));
            descriptor.body_slot.store(body.unwrap_or_default(), Ordering::Relaxed);
        }
        descriptor.lifespan_ns.store(nanoseconds(self.qos.lifespan), Ordering::Relaxed);
        descriptor.publisher.store(self.node.life.id().0, Ordering::Relaxed);
        let reference = Reference {
            pool: self.entry as u8,
            slot: loan.slot as u16,
            generation: inner.pool.share(loan.slot) as u16,
        };
        let number = match self.claim(inner, descriptor, reference) {
            Ok(number) => number,
            Err(ClaimError::Refused(())) => self.wait_and_claim(inner, descriptor, reference, &mut began)?,
            Err(error) => return Err(self.unclaimed(error)),
        };
        inner.next = number.wrapping_add(1);
        inner.published.push_back((number, loan.slot));
        // What a device is still filling, and brings to the host by itself, is of use there only when that is done: who is woken before
        // has nothing to do, and takes a core from those who have.
        let brought = loan.signalled && inner.eager.is_some();
        // A copy of what is not complete is enqueued, which takes less time than waking somebody, and then the device goes on meanwhile. Any
        // other may be made in the call.
        let first = brought && on.is_some() && Self::is_pending(inner, loan.slot);
        let wakes = first && self.copy_eagerly(inner, on);
        if brought && (wakes || !first) {
            self.topic.wake().notify_early();
        } else {
            self.topic.wake().notify();
        }
        // What follows is off the message's way.
        self.look_around(inner, now);
        let bytes = loan.head_size as u64 + loan.body_size as u64;
        if let Some(began) = began {
            self.tell_published(began, number, bytes);
        }
        if loan.grows {
            inner.pool.give_tail_back(loan.slot, loan.body_offset + loan.body_size);
        }
        if !first && inner.eager.is_some() {
            let wakes = self.copy_eagerly(inner, on);
            if brought && !wakes {
                self.topic.wake().notify();
            }
        }
        self.retire_oldest(inner);
        if (EAGER_SIZE..WARM_SIZE).contains(&inner.pool.memory(loan.slot).1) {
            self.retire_passed(inner);
        }
        if self.qos.deadline.is_some() {
            inner.missed += periods(inner.published_ns, now, self.qos.deadline);
            inner.published_ns = now;
        }
        if !inner.held.is_empty() {
            let now = if self.stamps { now } else { now_ns() };
            if inner.deaths.noticed(&self.topic, &self.node, now) {
                self.recover(inner);
            }
        }
        if let Some(began) = began {
            self.tell_done(began, inner, number, bytes);
        }
        Ok(number)
    }

    /// Puts a message into the order. Where the ring is sealed, goes on in the next.
    #[inline(always)]
    pub(crate) fn claim(
        &self,
        inner: &mut Inner,
        descriptor: &Descriptor,
        reference: Reference,
    ) -> Result<u64, ClaimError<()>> {
        match self.claim_in(self.topic.ring(), inner, descriptor, reference) {
            Err(ClaimError::Sealed) => self.claim_behind_the_seal(inner, descriptor, reference),
            result => result,
        }
    }

    #[cold]
    fn claim_behind_the_seal(
        &self,
        inner: &mut Inner,
        descriptor: &Descriptor,
        reference: Reference,
    ) -> Result<u64, ClaimError<()>> {
        // A ring cannot be sealed as often as this: each is deeper than the one before it.
        for _ in 0..MOST_RINGS {
            if self.topic.follow().is_err() {
                break;
            }
            match self.claim_in(self.topic.ring(), inner, descriptor, reference) {
                Err(ClaimError::Sealed) => {}
                result => return result,
            }
        }
        Err(ClaimError::Sealed)
    }

    #[inline(always)]
    fn claim_in(
        &self,
        ring: Ring<'_>,
        inner: &mut Inner,
        descriptor: &Descriptor,
        reference: Reference,
    ) -> Result<u64, ClaimError<()>> {
        let reliable = self.qos.reliability == Reliability::Reliable;
        let room = (self.qos.depth as u64).min(ring.depth());
        let (window, epoch) = (&mut inner.window, self.topic.places.epoch());
        ring.publish(inner.next, reference, |number| {
            descriptor.sequence.store(number.wrapping_add(1), Ordering::Relaxed);
            if !reliable || window.admits(number, room, epoch, || self.slowest()) { Ok(()) } else { Err(()) }
        })
    }

    /// Why no number could be had, other than for want of room.
    #[cold]
    pub(crate) fn unclaimed(&self, error: ClaimError<()>) -> PublishError {
        let topic = self.topic.name.clone();
        match (error, self.topic.follow()) {
            (ClaimError::Sealed, Err(source)) => PublishError::Ring { topic, source: Box::new(source) },
            _ => PublishError::Corrupted { topic },
        }
    }
}

impl RawPublisher {
    /// Copies what was published into every domain that somebody takes in; the last message on this stream, if it completes it. Whether
    /// the end of a copy of that wakes who takes it on the host.
    fn copy_eagerly(&self, inner: &mut Inner, on: Option<&dyn Stream>) -> bool {
        let Some(mut eager) = inner.eager.take() else { return false };
        let wakes = eager.copy(self, inner, on);
        inner.eager = Some(eager);
        wakes
    }

    /// Whether a device is still filling the body of a message.
    fn is_pending(inner: &Inner, slot: SlotId) -> bool {
        let fence = inner.bodies.as_ref().and_then(|bodies| bodies.fence(slot));
        fence.is_some_and(|fence| fence.state() == FenceState::Pending)
    }
}

impl Inner {
    pub(crate) fn trim_copies(&mut self) -> u64 {
        self.eager.as_mut().map_or(0, |eager| eager.trim())
    }
}

impl Drop for RawPublisher {
    fn drop(&mut self) {
        if self.is_inherited() {
            return;
        }
        let start = Instant::now();
        let inner = self.inner.get_mut();
        // Should the process end now, who has a stream wait for such a copy would lose what is complete.
        while inner.bodies.is_none()
            && let Some(left) = COPYING.checked_sub(start.elapsed())
            && inner.enqueued.wait_for_one(left)
        {}
        let bodies = self.inner.get_mut().bodies.as_ref();
        for fence in bodies.iter().flat_map(|bodies| bodies.pending()) {
            FenceWatch::keep_until(&self.node, &self.topic, &fence);
        }
        let bodies = bodies.map(|bodies| bodies.entry);
        self.topic.leave_entries([self.entry].into_iter().chain(bodies));
    }
}

/// Takes a slot out of circulation. If nobody holds it, it is the next to be lent, so its first lines are asked for.
#[inline]
fn retire(inner: &mut Inner, slot: SlotId) {
    match inner.pool.control(slot).retire() {
        Held::No if is_idle(inner, slot) => {
            free(inner, slot);
            let memory = inner.pool.memory(slot).0;
            prefetch_for_write(memory);
            prefetch_for_write(memory.wrapping_add(DESCRIPTOR));
        }
        Held::Yes | Held::No => inner.held.push_back(slot),
    }
}

/// Whether no device is still filling the body of a slot, or copying what is in it elsewhere: a copy would hold some of the next message.
#[inline]
pub(crate) fn is_idle(inner: &Inner, slot: SlotId) -> bool {
    inner.bodies.as_ref().is_none_or(|bodies| !bodies.is_pending(slot)) && !inner.enqueued.use_slot(slot)
}

/// Frees a slot, and its body with it.
#[inline]
pub(crate) fn free(inner: &mut Inner, slot: SlotId) {
    inner.pool.deallocate(slot);
    if let Some(bodies) = &mut inner.bodies {
        bodies.release(slot);
    }
    give_excess_back(inner);
}

/// Looks at the next so many slots that were held, and frees those that are not any more.
#[inline]
pub(crate) fn give_back(inner: &mut Inner, most: usize) {
    for _ in 0..inner.held.len().min(most) {
        // In turns: those that are held for long must not hide those behind them.
        let Some(slot) = inner.held.pop_front() else { return };
        match inner.pool.control(slot).held() {
            Held::No if is_idle(inner, slot) => free(inner, slot),
            Held::Yes | Held::No => inner.held.push_back(slot),
        }
    }
}
