//! A subscriber: joining a topic, finding a message, pinning it, and releasing it.

use std::cell::{Cell, OnceCell, RefCell, RefMut};
use std::sync::Arc;

use situ_memory::fork::Process;
use situ_memory::sync::atomic::Ordering;
use situ_memory::{DomainId, HOST, Lent, SlotControl, SlotId, Stream, ViewError, guard};

use crate::clock::now_ns;
use crate::copy::copier::DomainCopier;
use crate::events::deadline_clock::DeadlineClock;
use crate::events::endpoint_events::EndpointEvents;
use crate::graph::endpoint_info::{EndpointInfo, EndpointRole};
use crate::graph::listing::{Listed, check_user_data};
use crate::node::handle::Node;
use crate::observe::hook;
use crate::port::cells::Cells;
use crate::port::empty_takes::EmptyTakes;
use crate::port::placement::Placement;
use crate::port::pool_cache::{Core, Pools};
use crate::port::prefetch::{prefetch, prefetch_for_write};
use crate::port::sample::RawSample;
use crate::port::sample_records::{LastRecord, SampleRecords};
pub use crate::port::take_error::TakeError;
use crate::port::taken::{Missed, Taken};
use crate::port::thread_number::this_thread;
use crate::protocol::ledger::HeldSlot;
use crate::protocol::ring::{Look, Reference};
use crate::qos::{Durability, Reliability, SubscriberQos, Terms};
use crate::topic::format::{BODY_IN_SLOT, DESCRIPTOR, Descriptor};
use crate::topic::{
    Encoding, Matching, MissingForms, RegisterError, Registration, SchemaFlags, TypeDescription, names,
};
use crate::wait::readiness::ReadinessTracker;

/// How many times a take moves closer to the newest message before it gives up.
const MAX_ROUNDS: u64 = 32;

/// Subscribes to a topic whose type is known only at run time. One thread at a time; the samples may go to
/// other threads.
#[derive(Debug)]
pub struct RawSubscriber {
    core: Arc<Core>,
    qos: SubscriberQos,
    keep_last: u64,
    backpressure: bool,
    /// Messages before this one were never promised, so missing them is no loss.
    joined_at: u64,
    cursor: Cell<u64>,
    lost: Cell<u64>,
    skipped: Cell<u64>,
    expired: Cell<u64>,
    taken: Cell<u64>,
    /// Counts missed deadlines, if there is one.
    pub(crate) deadline: Option<Arc<DeadlineClock>>,
    /// Its events, from their first use on.
    pub(crate) events: OnceCell<Arc<EndpointEvents>>,
    /// The number of the thread that used it last.
    thread: Cell<u64>,
    /// The records of its samples, which the core keeps too.
    records: Arc<SampleRecords>,
    /// The record that it took last.
    last_record: LastRecord,
    /// The word of its ledger that it used last.
    last_word: Cell<usize>,
    /// When it last looked after dead participants.
    pub(crate) empty: EmptyTakes,
    /// How many samples it may take before it has to count those that it holds.
    may_take: Cell<usize>,
    pools: Pools,
    /// The domain in which it takes, with its column, and the copies that it makes there.
    domain: DomainId,
    column: usize,
    copies: RefCell<DomainCopier>,
    /// Determines which messages are complete.
    tracker: RefCell<Box<ReadinessTracker>>,
    /// Whether the type has bulk members. Then the payload on a device is the body alone.
    has_bulk: bool,
    /// Whether it takes serialized messages. On a device, only such a subscriber may get one.
    pub(crate) takes_serialized: bool,
    /// The offset of the head in slots.
    head_offset: usize,
    /// Its place in the graph, if it is not one of Situ's own.
    listed: Option<Listed>,
}

impl RawSubscriber {
    /// Joins a topic as subscriber, in host memory.
    pub fn create(
        node: &Node,
        topic: &str,
        description: &TypeDescription,
        qos: SubscriberQos,
    ) -> Result<Self, RegisterError> {
        Self::create_in(node, topic, description, qos, &Placement::default())
    }

    /// Joins a topic as subscriber, in a memory domain.
    pub fn create_in(
        node: &Node,
        topic: &str,
        description: &TypeDescription,
        qos: SubscriberQos,
        placement: &Placement,
    ) -> Result<Self, RegisterError> {
        Self::create_without(MissingForms::default(), node, topic, description, qos, placement)
    }

    /// Joins a topic as subscriber of a type that lacks forms. Publishers of messages in these forms are
    /// refused, and so is the subscriber if one is there.
    pub(crate) fn create_without(
        missing: MissingForms,
        node: &Node,
        topic: &str,
        description: &TypeDescription,
        qos: SubscriberQos,
        placement: &Placement,
    ) -> Result<Self, RegisterError> {
        names::check_given(topic)?;
        check_user_data(topic, &qos.user_data)?;
        let mut made = Self::create_hidden(missing, node, topic, description, qos, placement, 0)?;
        let (qos, data) = ((&made.qos).into(), &made.qos.user_data);
        let this = (made.id(), EndpointRole::Subscriber);
        let info = EndpointInfo::new(this, topic, description, placement.domain, qos, data);
        made.listed = Some(node.inner.list(&info)?);
        Ok(made)
    }

    /// The same for a topic of any name, also one that Situ keeps for itself. If it is created now, it has
    /// rows for publishers of an expected depth.
    pub(crate) fn create_hidden(
        missing: MissingForms,
        node: &Node,
        topic: &str,
        description: &TypeDescription,
        qos: SubscriberQos,
        placement: &Placement,
        expected_depth: usize,
    ) -> Result<Self, RegisterError> {
        let inner = &node.inner;
        inner.check_process(topic)?;
        if placement.domain != HOST {
            // The domain is opened now, and not with the first message.
            inner.domains_with(placement.domain)?;
        }
        let keep_last = qos.history.kept();
        let mut registration = Registration {
            root: &inner.root,
            node: inner.life.id(),
            topic,
            description,
            flags: SchemaFlags::read(&description.schema),
            terms: Terms::of_subscriber(&qos),
            depth: keep_last as usize,
            expected_depth,
            publishes: false,
            domain: placement.domain,
            serialized_on_device: placement.serialized,
            missing_forms: missing.bits(),
        };
        let mut joined = registration.join()?;
        let qos = joined.adapt_subscriber(qos);
        registration.terms = Terms::of_subscriber(&qos);
        let backpressure = qos.reliability == Reliability::Reliable && keep_last == 0;
        let wants = match (qos.durability, keep_last) {
            (Durability::Volatile, _) => 0,
            (Durability::TransientLocal, 0) => u64::MAX,
            (Durability::TransientLocal, last) => last,
        };
        let (place, column) = joined.take_place(&registration, backpressure, wants, keep_last)?;
        let topic = joined.topic.clone();
        drop(joined);
        let cursor = place.cursor.load(Ordering::Relaxed);
        // A volatile subscriber begins at the end of the topic.
        let joined_at = if wants == 0 { cursor } else { topic.end() };
        place.joined_at.store(joined_at, Ordering::Relaxed);
        let into = (column, placement.domain);
        let head_offset = topic.head_offset();
        let cells = Cells::of(&topic, placement.domain, &qos.limits);
        let records = Arc::new(SampleRecords::new());
        let copies = RefCell::new(DomainCopier::new(topic.clone(), inner.clone(), into, placement.capacity));
        Ok(Self {
            core: Arc::new(Core {
                topic,
                node: inner.clone(),
                own: place,
                process: Process::this(),
                trust: qos.trust,
                limits: qos.limits,
                cells,
                records: records.clone(),
            }),
            deadline: DeadlineClock::new(qos.deadline),
            events: OnceCell::new(),
            qos,
            keep_last,
            backpressure,
            joined_at,
            cursor: Cell::new(cursor),
            lost: Cell::new(0),
            skipped: Cell::new(0),
            expired: Cell::new(0),
            taken: Cell::new(0),
            thread: Cell::new(0),
            records,
            last_record: LastRecord::default(),
            last_word: Cell::new(0),
            empty: EmptyTakes::default(),
            may_take: Cell::new(0),
            pools: Pools::new(Matching::new(registration.terms)),
            domain: placement.domain,
            column,
            copies,
            tracker: RefCell::new(Box::new(ReadinessTracker::new(placement.domain != HOST, keep_last))),
            has_bulk: registration.flags.has_bulk,
            takes_serialized: description.encoding.is_cdr(),
            head_offset,
            listed: None,
        })
    }

    /// The topic's name.
    pub fn topic(&self) -> &str {
        &self.core.topic.name
    }

    /// The schema of the topic's type, as the topic carries it.
    pub fn schema(&self) -> &str {
        &self.core.topic.schema
    }

    /// The node that it belongs to.
    pub fn node(&self) -> Node {
        Node { inner: self.core.node.clone() }
    }

    /// The quality of service that it requests.
    pub fn qos(&self) -> &SubscriberQos {
        &self.qos
    }

    /// The number of messages that it lost, because they were overwritten before it took them.
    pub fn lost(&self) -> u64 {
        self.lost.get()
    }

    /// The number of messages that it skipped because it keeps only the last.
    pub fn skipped(&self) -> u64 {
        self.skipped.get()
    }

    /// The number of messages that were too old when it reached them.
    pub fn expired(&self) -> u64 {
        self.expired.get()
    }

    /// The number of messages that it took.
    pub fn taken(&self) -> u64 {
        self.taken.get()
    }

    /// Whether a message is published that was not taken. This costs two loads. The message may not be
    /// complete yet: see [`wait`](Self::wait).
    #[inline]
    pub fn has_next(&self) -> bool {
        let topic = &self.core.topic;
        // In a forked child, the take returns an error.
        (topic.is_published(self.cursor.get()) && (!topic.is_mixed() || self.pass_strangers()))
            || self.is_inherited()
    }

    /// Whether it belongs to the process that this one was forked from. Then nothing can be taken here, and
    /// dropping it here changes nothing there. A process that forks and goes on in the child creates its
    /// nodes there.
    #[inline]
    pub fn is_inherited(&self) -> bool {
        !self.core.process.is_this()
    }

    /// Takes the next message, if there is one. The message is copied only if it lies in another domain. On
    /// the host, a message that a device is still filling or copying is not taken yet. A subscriber on a
    /// device gets it, with its [fence](RawSample::fence). The call waits only if the message has to be
    /// copied from another domain (or see [`take_on`](Self::take_on)).
    #[inline(always)]
    pub fn take(&self) -> Result<Option<RawSample>, TakeError> {
        if self.is_inherited() {
            return Err(self.forked());
        }
        if let Some(watcher) = hook::watcher() {
            return self.take_watched(watcher, None);
        }
        self.take_with(None)
    }

    /// The result of a take that finds no message: `None`, or an error if the topic's files were removed.
    #[inline]
    pub(crate) fn nothing(&self) -> Result<Option<RawSample>, TakeError> {
        let topic = &self.core.topic;
        match topic.is_removed() {
            false => Ok(None),
            true => Err(TakeError::Removed { topic: topic.name.clone(), removed: topic.removed() }),
        }
    }

    #[cold]
    fn forked(&self) -> TakeError {
        TakeError::Forked { topic: self.core.topic.name.clone() }
    }

    /// Takes the next message, if there is one, in stream order: work that is enqueued on `stream` from now
    /// on runs after the message's completion. The call waits for no device. If the message lies in another
    /// domain and has no copy, the copy is enqueued on `stream`. For that, `stream` must belong to the
    /// subscriber's domain. Other subscribers of that domain share the copy.
    ///
    /// If the CPU itself reads the copy (a subscriber on the host), this is the same as [`take`](Self::take).
    ///
    /// See [`RawSample::wait_on`] for the case that the publisher or the copier dies or fails before the
    /// message is complete.
    pub fn take_on(&self, stream: &dyn Stream) -> Result<Option<RawSample>, TakeError> {
        if self.is_inherited() {
            return Err(self.forked());
        }
        let on = (self.domain != HOST).then_some(stream);
        match hook::watcher() {
            Some(watcher) => self.take_watched(watcher, on),
            None => self.take_with(on),
        }
    }

    #[inline(always)]
    pub(crate) fn take_with(&self, on: Option<&dyn Stream>) -> Result<Option<RawSample>, TakeError> {
        let number = self.cursor.get();
        if self.may_take.get() == 0 {
            let most = self.count_held()?;
            if most == 0 {
                return Ok(None);
            }
            self.may_take.set(most);
        }
        // Nearly always the message is there, or a loop asks for it. All other cases are kept off this path.
        let ring = self.core.topic.ring_of(number);
        let look = if self.keep_last == 0 { ring.look(number) } else { Look::Sealed };
        match look {
            Look::Here(reference) => {
                let next = number.wrapping_add(1);
                if let Some(sample) = self.copy_from_row(ring, reference, number) {
                    self.note_taken(next, 1);
                    return Ok(Some(sample));
                }
                match self.pin(reference, number, false, on) {
                    Ok(Some(sample)) if !sample.is_expired() => {
                        self.note_taken(next, 1);
                        Ok(Some(sample))
                    }
                    other => self.pass_over(number, other, on),
                }
            }
            Look::NotYet => self.find_nothing(),
            Look::Passed(_) | Look::Sealed => self.take_from(number, false, on),
        }
    }

    /// The end of a take that finds no message.
    #[inline(always)]
    pub(crate) fn find_nothing(&self) -> Result<Option<RawSample>, TakeError> {
        // A publisher may have read this line since the last message. It is taken back now, so that the next
        // take need not wait for it.
        prefetch_for_write(std::ptr::from_ref(&*self.core.own).cast());
        self.look_after_the_dead();
        self.nothing()
    }

    /// Skips a message that could not be taken, and continues behind it.
    #[cold]
    #[inline(never)]
    fn pass_over(
        &self,
        number: u64,
        result: Result<Option<RawSample>, Missed>,
        on: Option<&dyn Stream>,
    ) -> Result<Option<RawSample>, TakeError> {
        let next = number.wrapping_add(1);
        match result {
            Ok(Some(_)) => {
                self.expired.set(self.expired.get() + 1);
                self.take_from(next, false, on)
            }
            Ok(None) => {
                self.count_lost(number, next);
                self.take_from(next, true, on)
            }
            Err(Missed::NotYet) => Ok(None),
            Err(Missed::Stranger) => self.take_from(next, false, on),
            Err(Missed::Held(error)) => Err(error),
            Err(Missed::Failed(error)) => {
                self.count_lost(number, next);
                self.advance(next);
                Err(error)
            }
        }
    }

    #[inline]
    pub(crate) fn note_taken(&self, next: u64, count: usize) {
        self.advance(next);
        self.taken.set(self.taken.get() + count as u64);
        self.may_take.set(self.may_take.get() - count);
        self.core.own.taken.store(self.taken.get(), Ordering::Relaxed);
        self.note_arrival();
    }

    /// Takes the first available message from `number` on. `behind` tells whether earlier messages are known
    /// to be lost.
    #[inline(never)]
    fn take_from(
        &self,
        mut number: u64,
        mut behind: bool,
        on: Option<&dyn Stream>,
    ) -> Result<Option<RawSample>, TakeError> {
        let topic = &self.core.topic;
        let mut ring = topic.ring_of(number);
        let mut chosen = None;
        // Each step passes a row. If publishers overwrite rows as fast as this loop reads them, each round
        // continues closer to the newest message. With corrupt rows the loop would not end, so a few rounds
        // without a message are an error.
        let (mut steps, mut rounds) = (4 * ring.depth(), 0);
        loop {
            if steps == 0 {
                rounds += 1;
                if rounds > MAX_ROUNDS {
                    self.advance(number);
                    return Err(TakeError::Malformed {
                        topic: topic.name.clone(),
                        sequence: number,
                        reason:
                            "its row and the following ones are overwritten faster than they can be read, or \
                                 contradict each other"
                                .to_owned(),
                    });
                }
                let near = topic.ring().depth() >> rounds;
                let nearer = topic.end().saturating_sub(near).max(number);
                self.count_lost(number, nearer);
                number = nearer;
                behind = true;
                ring = topic.ring_of(number);
                steps = near + MAX_ROUNDS;
            }
            steps -= 1;
            match ring.look(number) {
                Look::NotYet => break,
                Look::Sealed => {
                    topic.follow().map_err(|source| TakeError::Pool {
                        topic: topic.name.clone(),
                        sequence: number,
                        source: source.into(),
                    })?;
                    let before = std::mem::replace(&mut ring, topic.ring_of(number));
                    if ring.base() > before.base() {
                        steps += 4 * ring.depth();
                    }
                }
                Look::Passed(later) => {
                    // The row of `number` holds `later`, so this is the oldest message that can still be
                    // available.
                    let oldest = later.saturating_add(1).saturating_sub(ring.depth());
                    let oldest = oldest.max(number.wrapping_add(1));
                    self.count_lost(number, oldest);
                    number = oldest;
                    behind = true;
                }
                Look::Here(reference) => {
                    let next = number.wrapping_add(1);
                    if self.keep_last != 0 && chosen != Some(number) && topic.is_mixed() {
                        number = self.skip_to_last(number);
                        ring = topic.ring_of(number);
                        chosen = Some(number);
                        continue;
                    }
                    if self.keep_last != 0
                        && chosen != Some(number)
                        && topic.has_more_than(self.keep_last, number)
                    {
                        let mut first = topic.end().saturating_sub(self.keep_last).max(next);
                        if self.domain == HOST && topic.has_devices() {
                            first = self.tracker.borrow_mut().choose(topic, number, first);
                            chosen = Some(first);
                        }
                        self.count_skipped(first.wrapping_sub(number));
                        number = first;
                        ring = topic.ring_of(number);
                        continue;
                    }
                    if let Some(sample) = self.copy_from_row(ring, reference, number) {
                        self.note_taken(next, 1);
                        return Ok(Some(sample));
                    }
                    match self.pin(reference, number, behind, on) {
                        Ok(Some(sample)) => {
                            if sample.is_expired() {
                                self.expired.set(self.expired.get() + 1);
                                number = next;
                                continue;
                            }
                            self.note_taken(next, 1);
                            return Ok(Some(sample));
                        }
                        Ok(None) => {
                            self.count_lost(number, next);
                            number = next;
                            behind = true;
                        }
                        Err(Missed::NotYet) => break,
                        Err(Missed::Stranger) => number = next,
                        Err(Missed::Held(error)) => {
                            self.advance(number);
                            return Err(error);
                        }
                        Err(Missed::Failed(error)) => {
                            self.count_lost(number, next);
                            self.advance(next);
                            return Err(error);
                        }
                    }
                }
            }
        }
        self.advance(number);
        self.find_nothing()
    }

    /// Pins the slot that a row refers to. Returns `None` if it was recycled in the meantime.
    #[inline(always)]
    pub(crate) fn pin(
        &self,
        reference: Reference,
        number: u64,
        behind: bool,
        on: Option<&dyn Stream>,
    ) -> Result<Option<RawSample>, Missed> {
        let topic = &self.core.topic;
        let mut sample = match self.pools.with(&self.core, reference.pool, number, |it| self.record_for(it)) {
            Ok(Some(sample)) => sample,
            Ok(None) => return Err(self.full()),
            Err(ViewError::Gone(_)) if self.pools.is_stranger(topic, reference.pool, number) => {
                return Err(Missed::Stranger);
            }
            Err(ViewError::Gone(_)) => return Ok(None),
            Err(source) => return Err(self.pool_error(number, source).into()),
        };
        let (slot, view) = (SlotId::from(reference.slot), &sample.mapped().view);
        let malformed = |reason: &str| TakeError::Malformed {
            topic: topic.name.clone(),
            sequence: number,
            reason: reason.to_owned(),
        };
        let control = view.control(slot).ok_or_else(|| malformed("its slot does not exist"))?;
        // All lines are fetched together: naming the slot, below, is a locked instruction, and the loads
        // behind it wait for that.
        prefetch(std::ptr::from_ref(control).cast());
        let memory = view.last_address(slot);
        prefetch(memory);
        prefetch(memory.wrapping_add(DESCRIPTOR));
        // A subscriber that is far behind finds most slots recycled. This check does not write to their
        // lines.
        if behind && !control.has_generation(reference.generation) {
            return self.recycled(view, number);
        }
        let Some(word) = self.free_word() else { return Err(self.full()) };
        if !self.hold(word, control, reference) {
            return self.recycled(view, number);
        }
        // From here on the slot is held, and the sample releases it on every return.
        let fields = sample.fields_mut();
        (fields.slot, fields.word) = (slot, word as u16);
        let view = &sample.mapped().view;
        let Some(Lent { offset, memory, len }) = view.lent(slot) else {
            return match self.no_place(number, view, slot) {
                TakeError::Pool { source: ViewError::Gone(_), .. } => Ok(None),
                error => Err(error.into()),
            };
        };
        let head_offset = self.head_offset;
        if len < head_offset {
            return Err(malformed("its slot is too small for a descriptor and a user header").into());
        }
        // SAFETY: the view checked that `len` bytes from `memory` lie in the pool and are aligned to 64; a
        // descriptor consists of atomics, for which any bits are valid.
        let descriptor = unsafe { &*memory.cast::<Descriptor>() };
        // The row has 13 bits of the generation, and the rows of a sealed ring remain. So the slot may be in
        // a later generation with the same low bits, and then the pin does not count. Each generation in
        // between had its own message in the slot, and wrote that message's later number. A reader that sees
        // the generation sees that number (acquire; release in `retire`).
        if descriptor.sequence.load(Ordering::Relaxed) != number.wrapping_add(1) {
            return self.recycled(view, number);
        }
        // Each word is read once and checked, because its publisher could change it at any time.
        let head_size = descriptor.head_size.load(Ordering::Relaxed) as usize;
        let body_size = usize::try_from(descriptor.body_size.load(Ordering::Relaxed));
        let body_offset = usize::try_from(descriptor.body_offset.load(Ordering::Relaxed));
        let encoding = Encoding::from_number(descriptor.encoding.load(Ordering::Relaxed));
        let (Ok(body_size), Ok(body_offset), Some(encoding)) = (body_size, body_offset, encoding) else {
            return Err(malformed("its descriptor contains impossible numbers").into());
        };
        let body_pool = descriptor.body_pool.load(Ordering::Relaxed);
        let body_slot = descriptor.body_slot.load(Ordering::Relaxed);
        sample.fields_mut().received_at_ns = self.reception_time();
        let taken = Taken {
            sample,
            offset,
            memory,
            len,
            number,
            pool: reference.pool,
            generation: reference.generation,
            head_offset,
            descriptor,
            head_size,
            encoding,
            body_offset,
            body_size,
            body_pool,
            body_slot,
        };
        let bytes = head_size.saturating_add(body_size) as u64;
        if bytes > self.qos.limits.message {
            return Err(self.too_large(number, bytes).into());
        }
        // For a subscriber on the host that takes a message from host memory, this test is the only cost of
        // domains.
        if body_pool != BODY_IN_SLOT || self.domain != HOST {
            if self.free_word().is_none() {
                // A copy needs a name too.
                return Err(self.full());
            }
            let sample = self.take_elsewhere(taken, on)?;
            return Ok(match sample {
                Some(sample) if !sample.is_in_place() => Some(self.privately(sample)?),
                sample => sample,
            });
        }
        if !taken.body_fits() {
            return Err(malformed("its head or body reaches out of its slot").into());
        }
        if let Err(source) = taken.find() {
            return self.not_found(number, source);
        }
        let body = if body_size == 0 { memory } else { memory.wrapping_add(body_offset) };
        if guard::has_damage() {
            // The values that were read above may be zeroes of the guard.
            self.check_damage(&taken.mapped().view, number)?;
        }
        let sample = taken.into_sample(memory.wrapping_add(head_offset), (body, body_size), None);
        if sample.is_in_place() { Ok(Some(sample)) } else { Ok(Some(self.privately(sample)?)) }
    }

    /// A free word of the ledger.
    #[inline(always)]
    pub(crate) fn free_word(&self) -> Option<usize> {
        self.core.own.ledger.free(self.last_word.get())
    }

    /// Names a slot in a free word of the ledger, if the slot still has the generation of the reference.
    #[inline(always)]
    #[must_use]
    pub(crate) fn hold(&self, word: usize, control: &SlotControl, reference: Reference) -> bool {
        let named = HeldSlot { pool: reference.pool, slot: reference.slot };
        self.last_word.set(word);
        self.core.own.ledger.hold(word, named, control, reference.generation)
    }

    /// Moves the cursor. A publisher that sees the new cursor also sees every name in the ledger that was
    /// written before (release).
    #[inline]
    pub(crate) fn advance(&self, number: u64) {
        if self.cursor.replace(number) == number {
            return;
        }
        let place = &self.core.own;
        if self.backpressure {
            // A publisher may be about to sleep until the cursor moves: it announces itself, then reads the
            // cursor. This subscriber moves the cursor, then checks for an announcement. Hence the
            // sequentially consistent exchange.
            self.note_thread();
            place.cursor.swap(number, Ordering::SeqCst);
            self.core.topic.room().notify();
        } else {
            place.cursor.store(number, Ordering::Release);
        }
    }

    /// Publishes the number of the thread that uses the subscriber. A waiting publisher compares it with its
    /// own: if they are equal, it would wait without end.
    #[inline]
    pub(crate) fn note_thread(&self) {
        let thread = this_thread();
        if self.backpressure && self.thread.replace(thread) != thread {
            self.core.own.thread.store(thread, Ordering::Relaxed);
        }
    }

    #[cold]
    pub(super) fn count_lost(&self, from: u64, to: u64) {
        let lost = to.saturating_sub(from.max(self.joined_at));
        if lost > 0 {
            self.lost.set(self.lost.get().wrapping_add(lost));
            self.core.own.lost.store(self.lost.get(), Ordering::Relaxed);
            self.tell_lost();
        }
    }

    /// The reception time of a message that is taken now; 0 if the subscriber does not ask for it.
    #[inline(always)]
    pub(crate) fn reception_time(&self) -> u64 {
        if self.qos.reception_times { now_ns() } else { 0 }
    }

    #[inline]
    fn note_arrival(&self) {
        if let Some(deadline) = &self.deadline {
            deadline.restart(now_ns());
        }
    }

    pub(crate) fn core(&self) -> &Arc<Core> {
        &self.core
    }

    pub(crate) fn pools(&self) -> &Pools {
        &self.pools
    }

    /// How many messages it may take in order before it has to count the samples that it holds.
    #[inline]
    pub(crate) fn may_take_in_order(&self) -> usize {
        if self.keep_last == 0 && !self.core.topic.is_mixed() { self.may_take.get() } else { 0 }
    }

    /// The records of its samples, and the one that it took last.
    #[inline(always)]
    pub(crate) fn records(&self) -> (&SampleRecords, &LastRecord) {
        (&self.records, &self.last_record)
    }

    /// Determines which messages are complete.
    pub(crate) fn tracker(&self) -> RefMut<'_, ReadinessTracker> {
        RefMut::map(self.tracker.borrow_mut(), Box::as_mut)
    }

    /// The memory domain in which it takes.
    pub fn domain(&self) -> DomainId {
        self.domain
    }

    /// The number of that domain's column.
    pub(crate) fn column(&self) -> usize {
        self.column
    }

    /// Whether the type has bulk members.
    pub(crate) fn has_bulk(&self) -> bool {
        self.has_bulk
    }

    /// The copies that it makes in its domain.
    pub(crate) fn copies(&self) -> RefMut<'_, DomainCopier> {
        self.copies.borrow_mut()
    }

    /// The number of the next message to take.
    pub fn cursor(&self) -> u64 {
        self.cursor.get()
    }

    /// Counts messages that it skips because it keeps only the last.
    pub(crate) fn count_skipped(&self, number: u64) {
        self.skipped.set(self.skipped.get().wrapping_add(number));
    }
}

impl Drop for RawSubscriber {
    /// Samples may outlive the subscriber, and then keep its place. But no more messages are taken, so
    /// publishers need not wait for it.
    fn drop(&mut self) {
        self.core.own.cursor.swap(u64::MAX, Ordering::SeqCst);
        self.core.topic.room().notify();
        self.core.topic.note_change();
        self.events.get().inspect(|events| events.end());
        self.records.forget(|_| true);
    }
}
