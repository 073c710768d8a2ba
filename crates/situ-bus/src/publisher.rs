//! Publishing: loans, the order, back-pressure, and getting slots back.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use situ_memory::sync::atomic::Ordering;
use situ_memory::{
    AllocateError, HOST, Held, HostDomain, PoolOptions, PoolOwner, PoolStatistics, SlotId, Strategy,
};

use crate::clock::{Deadline, now_ns};
use crate::node::{Node, NodeInner};
use crate::prefetch::prefetch_for_write;
use crate::qos::{Durability, PublisherQos, Reliability, Terms, WhenFull, nanoseconds};
use crate::ring::{ClaimError, Reference};
use crate::topic::format::{BODY_IN_SLOT, DESCRIPTOR, Descriptor, PLACES, state};
use crate::topic::{Encoding, RegisterError, Registration, Topic, TypeDescription};
use crate::window::Window;

/// A pool of half a terabyte of address space at most; memory is used as messages need it.
const MOST_CAPACITY: u64 = 1 << 39;
/// A publisher that may use less than this would not be able to hold a few camera images.
const LEAST_CAPACITY: u64 = 1 << 30;
/// From this size on a slot that everybody has passed is reused at once, because its lines (or at least its pages)
/// are warm; below it, looking at the cursors costs more than it saves.
const EAGER_SIZE: usize = 64 << 10;
/// From this size on it pays to look right before the loan rather than after publishing, so that a message which has
/// been passed meanwhile is overwritten where it lies: two slots in turns do not fit into a core's cache, and larger ones
/// not into its page tables' cache either (measured at 4 MiB: 140 us to fill the same slot again, 245 us in turns).
const WARM_SIZE: usize = 512 << 10;
/// With more subscribers than this, looking at all their cursors costs more than warm memory saves.
const EAGER_PLACES: u32 = 8;
/// How often slots that nobody returns are asked about: a holder may have died.
const ASK_NS: u64 = 1_000_000_000;
/// How long a blocked publisher sleeps before it looks whether who blocks it is dead.
const BLOCKED_SLICE: Duration = Duration::from_millis(2);
/// How often a blocked publisher looks again before it sleeps.
const SPINS: u32 = 256;

/// Why a slot could not be lent.
#[derive(Debug, thiserror::Error)]
pub enum LoanError {
    /// The memory of the publisher's pool is in use, or the system has none left.
    #[error(transparent)]
    Memory(#[from] AllocateError),
    /// The sizes asked for make no sense.
    #[error(
        "a head of {head_size} bytes aligned to {head_align} with a body of {body_size} bytes cannot be lent: {reason}"
    )]
    Size {
        /// The head's size in bytes.
        head_size: usize,
        /// Its alignment in bytes.
        head_align: usize,
        /// The body's size in bytes.
        body_size: usize,
        /// What is wrong with them.
        reason: &'static str,
    },
}

/// Why a message could not be published.
#[derive(Debug, thiserror::Error)]
pub enum PublishError {
    /// A reliable subscriber has no room.
    #[error(
        "the slowest reliable subscriber of topic {topic:?} has not taken message {waiting_for} yet, and the depth is \
         {depth}; gave up after {waited:?}"
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

/// Publishes messages whose type is known only at run time. One thread at a time.
#[derive(Debug)]
pub struct RawPublisher {
    topic: Arc<Topic>,
    node: Arc<NodeInner>,
    entry: usize,
    encoding: Encoding,
    qos: PublisherQos,
    stamps: bool,
    inner: RefCell<Inner>,
    _one_thread: std::marker::PhantomData<Cell<()>>,
}

struct Inner {
    pool: PoolOwner,
    /// What was published and is still available, oldest first.
    published: VecDeque<(u64, SlotId)>,
    /// What was taken out of circulation while a reader held it, in the order in which it is looked at again.
    held: VecDeque<SlotId>,
    /// Where the order probably ends.
    next: u64,
    window: Window,
    asked_ns: u64,
    published_ns: u64,
    missed: u64,
}

impl std::fmt::Debug for Inner {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Inner").field("next", &self.next).field("pool", &self.pool.statistics()).finish()
    }
}

impl RawPublisher {
    /// Joins a topic as publisher.
    pub fn create(
        node: &Node,
        topic: &str,
        description: &TypeDescription,
        qos: PublisherQos,
    ) -> Result<Self, RegisterError> {
        let inner = &node.inner;
        let depth = qos.depth.max(1);
        let registration = Registration {
            root: &inner.root,
            node: inner.life.id(),
            topic,
            description,
            terms: Terms::of_publisher(&qos),
            depth,
            domain: HOST,
        };
        let joined = registration.join()?;
        let options = PoolOptions {
            id: crate::liveness::unique(),
            owner: inner.life.id().0,
            slots: (depth as u64 * 2 + 1024).min(1 << 16) as u32,
            capacity: capacity_of(&inner.root),
            strategy: Strategy::SizeClasses,
            mode: inner.root.file_mode(),
            group: inner.root.group(),
        };
        let mut pool = None;
        let lifespan_ns = nanoseconds(qos.lifespan);
        let entry = joined.take_entry(&registration, options.id, depth as u64, lifespan_ns, |path| {
            pool = Some(PoolOwner::create(&HostDomain, path, &options)?);
            Ok(())
        })?;
        let topic = joined.topic.clone();
        drop(joined);
        let Some(pool) = pool else { unreachable!("an entry is only taken with a pool") };
        let next = topic.ring().end();
        Ok(Self {
            topic,
            node: inner.clone(),
            entry,
            encoding: description.encoding,
            stamps: true,
            inner: RefCell::new(Inner {
                pool,
                published: VecDeque::with_capacity(depth + 2),
                held: VecDeque::with_capacity(depth + 2),
                next,
                window: Window::default(),
                asked_ns: 0,
                published_ns: now_ns(),
                missed: 0,
            }),
            qos: PublisherQos { depth, ..qos },
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
        places(&self.topic).count()
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
        let size = |reason| LoanError::Size { head_size, head_align, body_size, reason };
        if head_align > DESCRIPTOR || !head_align.is_power_of_two() {
            return Err(size("the alignment must be a power of two up to 64"));
        }
        if u32::try_from(head_size).is_err() {
            return Err(size("a head must be smaller than 4 GiB; mark large fields @bulk"));
        }
        let body_offset = (DESCRIPTOR + head_size).next_multiple_of(64);
        let total =
            body_offset.checked_add(body_size).ok_or(size("they are larger than the address space"))?;
        let mut inner = self.inner.borrow_mut();
        if total >= WARM_SIZE {
            self.retire_passed(&mut inner);
        }
        // Two a loan suffices: at most one is added a message.
        give_back(&mut inner, 2);
        let slot = match inner.pool.allocate(total) {
            Ok(slot) => slot,
            Err(AllocateError::Exhausted { .. } | AllocateError::Memory(_)) => {
                self.recover(&mut inner);
                inner.pool.allocate(total)?
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
    fn retire_passed(&self, inner: &mut Inner) {
        if self.qos.durability != Durability::Volatile
            || inner.published.is_empty()
            || self.topic.registry().places_used.load(Ordering::Relaxed) > EAGER_PLACES
        {
            return;
        }
        let passed = places(&self.topic).map(|(_, cursor)| cursor).min().unwrap_or(u64::MAX);
        while let Some(&(number, slot)) = inner.published.front()
            && number < passed
        {
            inner.published.pop_front();
            retire(inner, slot);
        }
    }

    /// The memory is exhausted: look at everything that may have come free, also by death.
    #[cold]
    fn recover(&self, inner: &mut Inner) {
        self.topic.repair_if_free();
        give_back(inner, usize::MAX);
    }

    /// The slowest cursor of those who are waited for; `u64::MAX` if there is none.
    fn slowest(&self) -> u64 {
        places(&self.topic)
            .filter(|(word, _)| word & state::BACKPRESSURE != 0)
            .map(|(_, cursor)| cursor)
            .min()
            .unwrap_or(u64::MAX)
    }

    fn refresh(&self, inner: &mut Inner) -> u64 {
        inner.window.refresh(&self.topic.registry().epoch, || self.slowest())
    }

    fn publish(&self, loan: &RawLoan<'_>) -> Result<u64, PublishError> {
        let mut inner = self.inner.borrow_mut();
        let inner = &mut *inner;
        let now = if self.stamps { now_ns() } else { 0 };
        let descriptor = loan.descriptor();
        descriptor.published_at_ns.store(now, Ordering::Relaxed);
        descriptor.head_size.store(loan.head_size as u32, Ordering::Relaxed);
        descriptor.encoding.store(loan.encoding as u32, Ordering::Relaxed);
        descriptor.body_offset.store(loan.body_offset as u64, Ordering::Relaxed);
        descriptor.body_size.store(loan.body_size as u64, Ordering::Relaxed);
        descriptor.body_pool.store(BODY_IN_SLOT, Ordering::Relaxed);
        descriptor.lifespan_ns.store(nanoseconds(self.qos.lifespan), Ordering::Relaxed);
        descriptor.publisher.store(self.node.life.id().0, Ordering::Relaxed);
        let reference = Reference {
            pool: self.entry as u8,
            slot: loan.slot as u16,
            generation: inner.pool.share(loan.slot) as u16,
        };
        let number = match self.claim(inner, descriptor, reference) {
            Ok(number) => number,
            Err(ClaimError::Refused(())) => self.wait_and_claim(inner, descriptor, reference)?,
            Err(ClaimError::Corrupted) => return Err(self.corrupted()),
        };
        inner.next = number.wrapping_add(1);
        inner.published.push_back((number, loan.slot));
        self.topic.wake().notify();
        // What follows is off the message's way.
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
            if now.saturating_sub(inner.asked_ns) > ASK_NS {
                inner.asked_ns = now;
                self.recover(inner);
            }
        }
        Ok(number)
    }

    #[inline]
    fn claim(
        &self,
        inner: &mut Inner,
        descriptor: &Descriptor,
        reference: Reference,
    ) -> Result<u64, ClaimError<()>> {
        let ring = self.topic.ring();
        let reliable = self.qos.reliability == Reliability::Reliable;
        let room = (self.qos.depth as u64).min(ring.depth());
        let (window, epoch) = (&mut inner.window, &self.topic.registry().epoch);
        ring.publish(inner.next, reference, |number| {
            descriptor.sequence.store(number, Ordering::Relaxed);
            if !reliable || window.admits(number, room, epoch, || self.slowest()) { Ok(()) } else { Err(()) }
        })
    }

    /// A reliable subscriber has no room: waits for it, or for its death, as long as the quality of service says.
    #[cold]
    fn wait_and_claim(
        &self,
        inner: &mut Inner,
        descriptor: &Descriptor,
        reference: Reference,
    ) -> Result<u64, PublishError> {
        let start = now_ns();
        let full = |inner: &Inner| PublishError::Full {
            topic: self.topic.name.clone(),
            waiting_for: inner.window.slowest(),
            depth: self.qos.depth,
            waited: Duration::from_nanos(now_ns() - start),
        };
        let deadline = match self.qos.when_full {
            WhenFull::Fail => return Err(full(inner)),
            WhenFull::Block(limit) => Deadline::after(limit),
        };
        let mut spins = 0;
        loop {
            let announced = (spins >= SPINS).then(|| self.topic.room().announce());
            match self.claim(inner, descriptor, reference) {
                Ok(number) => return Ok(number),
                Err(ClaimError::Corrupted) => return Err(self.corrupted()),
                Err(ClaimError::Refused(())) => {}
            }
            let Some(announced) = announced else {
                spins += 1;
                std::hint::spin_loop();
                continue;
            };
            let Some(slice) = deadline.slice(BLOCKED_SLICE) else { return Err(full(inner)) };
            self.topic.room().sleep(announced, slice);
            // Nobody tells that a subscriber died; who waits for it looks.
            let waited = Duration::from_nanos(now_ns() - start);
            if waited >= BLOCKED_SLICE && self.topic.mark_dead_places() > 0 {
                self.topic.repair_if_free();
            }
        }
    }

    fn corrupted(&self) -> PublishError {
        PublishError::Corrupted { topic: self.topic.name.clone() }
    }
}

impl Drop for RawPublisher {
    fn drop(&mut self) {
        self.topic.leave_entries([self.entry]);
    }
}

/// The state words and cursors of those who are there.
#[inline]
fn places(topic: &Topic) -> impl Iterator<Item = (u32, u64)> + '_ {
    let used = topic.registry().places_used.load(Ordering::SeqCst).min(PLACES) as usize;
    (0..used).filter_map(|index| {
        let place = topic.place(index);
        let word = place.state.load(Ordering::SeqCst);
        let active = word & (state::ACTIVE | state::GONE) == state::ACTIVE;
        active.then(|| (word, place.cursor.load(Ordering::SeqCst)))
    })
}

/// Takes a slot out of circulation. If nobody holds it, it is the next to be lent, so its first lines are asked for.
#[inline]
fn retire(inner: &mut Inner, slot: SlotId) {
    match inner.pool.control(slot).retire() {
        Held::No => {
            inner.pool.deallocate(slot);
            let memory = inner.pool.memory(slot).0;
            prefetch_for_write(memory);
            prefetch_for_write(memory.wrapping_add(DESCRIPTOR));
        }
        Held::Yes => inner.held.push_back(slot),
    }
}

/// Looks at the next so many slots that were held, and frees those that are not any more.
#[inline]
fn give_back(inner: &mut Inner, most: usize) {
    for _ in 0..inner.held.len().min(most) {
        // In turns: those that are held for long must not hide those behind them.
        let Some(slot) = inner.held.pop_front() else { return };
        match inner.pool.control(slot).held() {
            Held::No => inner.pool.deallocate(slot),
            Held::Yes => inner.held.push_back(slot),
        }
    }
}

/// How many whole deadlines lie between two moments.
pub(crate) fn periods(from_ns: u64, to_ns: u64, deadline: Option<Duration>) -> u64 {
    match nanoseconds(deadline) {
        0 => 0,
        period => to_ns.saturating_sub(from_ns) / period,
    }
}

/// How large a pool may become: what the file system holds, within reason.
fn capacity_of(root: &crate::root::Root) -> u64 {
    rustix::fs::statvfs(root.path())
        .map_or(LEAST_CAPACITY, |stat| stat.f_blocks.saturating_mul(stat.f_frsize))
        .clamp(LEAST_CAPACITY, MOST_CAPACITY)
}

/// A slot that is lent: a head and a body, in shared memory, that nobody else can see yet. Dropping it returns it.
#[derive(Debug)]
pub struct RawLoan<'p> {
    publisher: &'p RawPublisher,
    slot: SlotId,
    memory: *mut u8,
    head_size: usize,
    body_offset: usize,
    body_size: usize,
    encoding: Encoding,
}

impl RawLoan<'_> {
    /// Where the head begins: aligned to 64 bytes, `head_size` bytes long, not initialized.
    #[inline]
    pub fn head(&self) -> *mut u8 {
        self.memory.wrapping_add(DESCRIPTOR)
    }

    /// The head's size in bytes.
    #[inline]
    pub fn head_size(&self) -> usize {
        self.head_size
    }

    /// Where the body begins: aligned to 64 bytes, [`body_size`](Self::body_size) bytes long, not initialized.
    #[inline]
    pub fn body(&self) -> *mut u8 {
        self.memory.wrapping_add(self.body_offset)
    }

    /// The body's size in bytes.
    #[inline]
    pub fn body_size(&self) -> usize {
        self.body_size
    }

    /// The head's bytes for writing. What the slot held before is still there: see [`body_bytes`](Self::body_bytes).
    #[inline]
    pub fn head_bytes(&mut self) -> &mut [u8] {
        // SAFETY: the slot was allocated with room for the head, and only this loan can reach it; pages of a memory
        // file are always initialized.
        unsafe { std::slice::from_raw_parts_mut(self.head(), self.head_size) }
    }

    /// The body's bytes for writing. What the slot held before is still there: they are initialized as far as the
    /// system is concerned (shared memory begins as zeroes), but with anything.
    #[inline]
    pub fn body_bytes(&mut self) -> &mut [u8] {
        // SAFETY: the slot was allocated with room for the body, and only this loan can reach it; pages of a memory
        // file are always initialized.
        unsafe { std::slice::from_raw_parts_mut(self.body(), self.body_size) }
    }

    /// How the message's bytes are laid out.
    #[inline]
    pub fn encoding(&self) -> Encoding {
        self.encoding
    }

    /// Says how the message's bytes are laid out, if not as the publisher's type description says.
    pub fn set_encoding(&mut self, encoding: Encoding) {
        self.encoding = encoding;
    }

    /// Makes the body smaller than was asked for: only so much was needed.
    pub fn shrink_body(&mut self, size: usize) {
        self.body_size = self.body_size.min(size);
    }

    /// Publishes the message and gives its number in the topic's order. On failure the slot is returned.
    pub fn publish(self) -> Result<u64, PublishError> {
        self.publish_or_return().map_err(|(error, _)| error)
    }

    /// Publishes the message; on failure gives it back along with the reason.
    pub fn publish_or_return(self) -> Result<u64, (PublishError, Self)> {
        match self.publisher.publish(&self) {
            Ok(number) => {
                std::mem::forget(self);
                Ok(number)
            }
            Err(error) => Err((error, self)),
        }
    }

    /// Parts the loan from the publisher's lifetime, for languages without lifetimes. The slot stays lent until
    /// [`RawPublisher::attach`] takes the loan back, or the publisher is gone.
    #[inline]
    pub fn detach(self) -> DetachedLoan {
        let loan = std::mem::ManuallyDrop::new(self);
        DetachedLoan {
            slot: loan.slot,
            memory: loan.memory,
            head_size: loan.head_size,
            body_offset: loan.body_offset,
            body_size: loan.body_size,
            encoding: loan.encoding,
        }
    }

    #[inline]
    fn descriptor(&self) -> &Descriptor {
        // SAFETY: every slot begins with room for a descriptor, aligned to 64; it consists of atomics.
        unsafe { &*self.memory.cast::<Descriptor>() }
    }
}

impl Drop for RawLoan<'_> {
    fn drop(&mut self) {
        // It was never published in this generation, so nobody can hold it.
        self.publisher.inner.borrow_mut().pool.deallocate(self.slot);
    }
}

/// A loan that knows nothing of its publisher: see [`RawLoan::detach`].
#[derive(Debug)]
#[must_use = "its slot stays lent until it is attached again"]
pub struct DetachedLoan {
    slot: SlotId,
    memory: *mut u8,
    head_size: usize,
    body_offset: usize,
    body_size: usize,
    encoding: Encoding,
}

impl RawPublisher {
    /// Takes back a loan that was detached.
    ///
    /// # Safety
    /// The loan was detached from a loan of this very publisher.
    #[inline]
    pub unsafe fn attach(&self, loan: DetachedLoan) -> RawLoan<'_> {
        let DetachedLoan { slot, memory, head_size, body_offset, body_size, encoding } = loan;
        RawLoan { publisher: self, slot, memory, head_size, body_offset, body_size, encoding }
    }
}
