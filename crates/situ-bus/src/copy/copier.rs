//! Copies a message's payload into another memory domain, once for all subscribers there.
//!
//! The first subscriber that needs the payload in a domain claims the copy (see `protocol/copy_state.rs`) and
//! copies into a slot of a pool of its own. That pool belongs to the topic like a publisher's: it has an
//! entry, other participants map it and hold its slots, and repair frees it when its owner dies. Like a
//! publisher, its owner retires slots that no subscriber can still take. It looks for them in each call.
//!
//! A copy is made in the call, or *enqueued* on a stream. An enqueued copy is `READY` at once, and the fence
//! of its slot tells when it is complete, as for a message that was published before it was complete. If the
//! copier dies, repair poisons that fence. A subscriber that finds a poisoned copy of a complete message
//! copies again, and claims the copy from the word that it found.

use std::any::Any;
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Instant;

use situ_memory::sync::atomic::Ordering;
use situ_memory::{
    AllocateError, Beneath, Copier, Domain, DomainError, DomainId, Enqueuing, Fence, FenceState, HOST,
    Memory, PageOptions, PoolOwner, Registered, SlotId, Strategy, Stream, Then, ViewError,
};

use crate::copy::await_fence::await_fence;
use crate::copy::copy_error::{CopyError, MAX_TURNS};
use crate::copy::copy_pool::{CopyPool, CopyRecord, begin_fence};
use crate::node::handle::NodeInner;
use crate::node::liveness::{NodeId, is_alive};
use crate::node::process_watch::{ProcessWatch, wait_for_exiting_processes};
use crate::observe::hook::{self, Step};
use crate::port::pool_cache::{Mapped, Pin};
use crate::port::pool_options::{WARM_SIZE, pool_options};
use crate::protocol::copy_state::{CopyState, Found};
use crate::protocol::ring::Reference;
use crate::timeouts::{COPY_TIMEOUT, FENCE_TIMEOUT, POLL_INTERVAL, copier_grace};
use crate::topic::writing::OwnedWriting;
use crate::topic::{StateWord, Topic};
use crate::wait::fence::repair_if_dead;

/// How many slots a pool of copies has in addition to those that rows can name.
const SPARE_SLOTS: u64 = 1024;
/// How many times to poll before sleeping.
const SPINS: u32 = 500;

/// The payload of a message, as a holder of the message finds it.
pub(crate) struct Source<'a> {
    pub memory: &'a Arc<dyn Memory>,
    pub offset: u64,
    pub len: u64,
    /// The fence that completes it. `None` if the CPU wrote it.
    pub fence: Option<&'a Fence>,
    /// The node of the message's publisher.
    pub owner: NodeId,
    /// Whether the publisher keeps the message for late subscribers.
    pub keeps: bool,
    /// The slot of the message's head and its generation. When the generation has changed, the message cannot
    /// be taken any more.
    pub origin: Option<(&'a Arc<Mapped>, SlotId, u16)>,
    /// Registers the payload with the driver of a domain whose streams copy it, if it lies in host memory.
    pub register: &'a dyn Fn(&dyn Domain),
}

/// When a copy has to be complete.
#[derive(Clone, Copy)]
pub(crate) enum CopyMode<'a> {
    /// On return: the call waits for it.
    Complete,
    /// On return, and the wait for the present copy has already timed out: the call copies again.
    Anew,
    /// When its fence is: the copy is enqueued on this stream, if the stream can copy. The enqueued work
    /// holds the message until the stream has passed it.
    On(&'a dyn Stream, &'a Arc<Pin>),
}

/// A message's payload in the requested domain.
pub(crate) struct CopyHandle {
    pub pin: Pin,
    /// The fence of a copy that is not complete yet, and the node of the copier.
    pub fence: Option<(Fence, NodeId)>,
    /// Whether work that is enqueued on the given stream runs after the copy without a wait.
    pub ordered: bool,
}

/// The copies that one participant makes into one domain.
pub(crate) struct DomainCopier {
    topic: Arc<Topic>,
    node: Arc<NodeInner>,
    domain: DomainId,
    column: usize,
    capacity: Option<u64>,
    own: Option<CopyPool>,
    /// Pools that became too small when the topic grew, until their copies are not needed any more.
    outgrown: Vec<CopyPool>,
    /// The copiers, one for each source domain so far.
    origins: Vec<Origin>,
    /// Since the own pool exists: words of copies are written in the topic's own file.
    writing: Option<Arc<OwnedWriting>>,
}

/// The copier for one source domain. It is looked up once, because a take waits for the lookup.
struct Origin {
    domain: DomainId,
    copier: Copier,
    /// The domain that copies, if its driver registers host memory.
    registers: Option<Arc<dyn Domain>>,
}

impl std::fmt::Debug for DomainCopier {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("DomainCopier").field("domain", &self.domain).finish_non_exhaustive()
    }
}

/// Whether the CPU can access a memory.
fn is_host(memory: &Arc<dyn Memory>) -> bool {
    matches!(memory.host(0, 0), Ok(Some(_)))
}

impl DomainCopier {
    pub(crate) fn new(
        topic: Arc<Topic>,
        node: Arc<NodeInner>,
        (column, domain): (usize, DomainId),
        capacity: Option<u64>,
    ) -> Self {
        let (own, outgrown, origins, writing) = Default::default();
        Self { topic, node, domain, column, capacity, own, outgrown, origins, writing }
    }

    pub(crate) fn domain(&self) -> DomainId {
        self.domain
    }

    /// Provides message `number` in this domain: shares the existing copy, or copies the message if there is
    /// no copy and none is under way. `share` pins the slot that it is given, if the slot still has that
    /// generation and the entry still holds the word. Returns `None` if the message has passed.
    pub(crate) fn bring(
        &mut self,
        number: u64,
        source: &Source<'_>,
        how: CopyMode<'_>,
        share: impl FnMut(Reference, &dyn Fn() -> bool) -> Result<Option<Pin>, ViewError>,
    ) -> Result<Option<CopyHandle>, CopyError> {
        // A large copy reuses the slot of the last one, whose pages are warm, so slots are retired first. A
        // small copy is not delayed by that.
        let is_large = source.len >= WARM_SIZE as u64;
        if is_large {
            self.tidy(0);
        }
        let brought = self.share_or_copy(number, source, how, share);
        if !is_large {
            self.tidy(0);
        }
        brought
    }

    fn share_or_copy(
        &mut self,
        number: u64,
        source: &Source<'_>,
        mut how: CopyMode<'_>,
        mut share: impl FnMut(Reference, &dyn Fn() -> bool) -> Result<Option<Pin>, ViewError>,
    ) -> Result<Option<CopyHandle>, CopyError> {
        let topic = self.topic.clone();
        let entry = topic.entry(self.column, number);
        let mut ordered = false;
        for _ in 0..MAX_TURNS {
            let (found, word) = entry.look();
            match found {
                Found::Passed => return Ok(None),
                Found::Ready(slot) => {
                    let ours = self.own.as_ref().is_some_and(|own| own.entry == usize::from(slot.pool));
                    match share(slot, &|| entry.still(word)) {
                        Ok(Some(pin)) => {
                            if let Some(fence) = self.usable(&pin, source, how)? {
                                return Ok(Some(CopyHandle { pin, fence, ordered: ordered && ours }));
                            }
                        }
                        // The copy was recycled, or its pool is gone or cannot be reached from here.
                        Ok(None) => {}
                        Err(error) if ours => return Err(error.into()),
                        Err(_) => {}
                    }
                }
                Found::Copying(slot) if self.wait_for(entry, word, slot, source.len) => continue,
                Found::Copying(_) | Found::Absent => {}
            }
            let stream = match how {
                CopyMode::On(stream, _) => self.stream_for(Some(stream), source)?,
                CopyMode::Complete | CopyMode::Anew => None,
            };
            match source.fence.map(Fence::state) {
                Some(FenceState::Poisoned) => return Err(CopyError::Poisoned),
                Some(FenceState::Pending) if stream.is_none() => {
                    // This wait comes before the claim: a participant that has claimed then only copies, and
                    // should finish soon. Then the loop checks the entry again, because the publisher may
                    // have copied the message in the meantime.
                    if let Some(fence) = source.fence {
                        await_fence(&self.topic, source.owner, fence, FENCE_TIMEOUT)?;
                    }
                    continue;
                }
                _ => {}
            }
            match (stream, how) {
                (Some(stream), CopyMode::On(_, pin)) => {
                    ordered = stream.is_given();
                    self.copy_on(&stream, entry, word, number, source, Box::new(pin.clone()))?;
                }
                _ => self.copy(entry, word, number, source)?,
            }
            if matches!(how, CopyMode::Anew) {
                // Any copy that the next turn finds is a new one.
                how = CopyMode::Complete;
            }
        }
        Err(CopyError::Contended)
    }

    /// Copies message `number` if there is no copy and none is under way.
    ///
    /// The copy is enqueued on the given stream if the message's completion was enqueued there, and otherwise
    /// on a stream of the copier, behind the message's completion. A complete message is copied in the call
    /// if nothing can be enqueued, or if the copy is for the host. A subscriber on the host that checks now
    /// then finds it.
    ///
    /// Returns the copy's fence if it is pending. Until that fence ends, the source must not change. Its end
    /// wakes subscribers that sleep until a payload is complete.
    pub(crate) fn bring_if_absent(
        &mut self,
        number: u64,
        source: &Source<'_>,
        on: Option<&dyn Stream>,
    ) -> Result<Option<Fence>, CopyError> {
        let topic = self.topic.clone();
        let entry = topic.entry(self.column, number);
        let (Found::Absent, word) = entry.look() else { return Ok(None) };
        let complete = source.fence.is_none_or(|fence| fence.state() == FenceState::Complete);
        let in_call = complete && on.is_none() && self.domain == HOST;
        let stream = if in_call { None } else { self.stream_for(on, source)? };
        // The enqueued work keeps the node alive: otherwise the copier would look dead before the stream has
        // passed the copy.
        let node = Box::new(self.node.clone());
        match stream {
            // The given stream itself completes the message, or has completed it: no wait is needed.
            Some(stream) if stream.is_given() => {
                self.enqueue_copy(&stream, entry, word, number, source, node)
            }
            Some(stream) if self.domain != HOST || !complete => {
                self.copy_on(&stream, entry, word, number, source, node)
            }
            _ if complete => self.copy(entry, word, number, source).map(|()| None),
            _ => Ok(None),
        }
    }

    /// Whether a pinned copy can be used in this mode. `None` if its copier died, failed or is too slow;
    /// otherwise the copy's fence, if it is pending.
    #[allow(clippy::option_option, reason = "whether it is usable, and whether it has a fence")]
    fn usable(
        &self,
        pin: &Pin,
        source: &Source<'_>,
        how: CopyMode<'_>,
    ) -> Result<Option<Option<(Fence, NodeId)>>, CopyError> {
        let Some(fence) = pin.mapped.view.fence(pin.slot) else { return Ok(None) };
        let copier = pin.mapped.owner();
        match (fence.state(), how) {
            (FenceState::Complete, _) => Ok(Some(None)),
            (FenceState::Poisoned, _) | (FenceState::Pending, CopyMode::Anew) => Ok(None),
            (FenceState::Pending, CopyMode::On(..)) => Ok(Some(Some((fence, copier)))),
            (FenceState::Pending, CopyMode::Complete) => {
                Ok(self.await_copy(&fence, copier, source)?.then_some(None))
            }
        }
    }

    /// Waits until a copy is complete. Returns false if its copier died or failed, or if the copy takes too
    /// long once its source is complete.
    fn await_copy(&self, fence: &Fence, copier: NodeId, source: &Source<'_>) -> Result<bool, CopyError> {
        let start = Instant::now();
        let mut possible = None;
        loop {
            match fence.wait(POLL_INTERVAL) {
                FenceState::Complete => return Ok(true),
                FenceState::Poisoned => return Ok(false),
                FenceState::Pending => repair_if_dead(&self.topic, copier, fence),
            }
            if let Some(fence) = source.fence.filter(|fence| fence.state() == FenceState::Pending) {
                repair_if_dead(&self.topic, source.owner, fence);
                if start.elapsed() > FENCE_TIMEOUT {
                    return Err(CopyError::Incomplete { waited: start.elapsed() });
                }
            } else if possible.get_or_insert_with(Instant::now).elapsed() > copier_grace(source.len) {
                return Ok(false);
            }
        }
    }

    /// Waits for the copier until the entry holds another word. Returns false if the copier is dead or slow:
    /// the caller then has to claim the copy from it.
    fn wait_for(&self, entry: CopyState<'_>, word: u64, by: Reference, len: u64) -> bool {
        let start = Instant::now();
        let limit = copier_grace(len);
        let Some(copier) = self.topic.named_entry(usize::from(by.pool)) else { return false };
        for _ in 0..SPINS {
            if !entry.still(word) {
                return true;
            }
            std::hint::spin_loop();
        }
        while start.elapsed() < limit {
            self.topic.sleep_unless(|| !entry.still(word), POLL_INTERVAL);
            if !entry.still(word) {
                return true;
            }
            let of_copier = StateWord::read(&copier.state);
            let node = NodeId(copier.node.load(Ordering::Relaxed));
            if !(of_copier.is_active() && of_copier.is_of_copies() && is_alive(&self.topic.root, node)) {
                return false;
            }
        }
        false
    }

    /// Allocates a slot of the own pool for a copy, and claims the entry for it from the word that was read.
    /// Returns `None` if another participant came first.
    fn claim(
        &mut self,
        entry: CopyState<'_>,
        seen: u64,
        len: u64,
    ) -> Result<Option<(SlotId, u64)>, CopyError> {
        let slot = self.allocate(len)?;
        let Some(own) = &mut self.own else { return Ok(None) };
        let target =
            Reference { pool: own.entry as u16, slot: slot as u16, generation: own.pool.share(slot) };
        let claim = entry.claim(seen, target);
        if claim.is_none() {
            own.pool.deallocate(slot);
        }
        // If the process dies from here on, repair finds the claim through the pool's entry, and another
        // participant takes it over.
        Ok(claim.map(|claim| (slot, claim)))
    }

    /// Abandons a failed copy, so that another participant may try.
    fn abandon(&mut self, entry: CopyState<'_>, (slot, claim): (SlotId, u64), reuse: bool) {
        entry.abandon(claim);
        self.topic.wakes().notify();
        // A slot that may still be written to is never used again.
        if reuse {
            self.give_up(slot);
        }
    }

    /// Marks a copy that is complete, or will be, as `READY`. Returns false if the claim was taken over; the
    /// slot is then freed.
    fn finish(
        &mut self,
        entry: CopyState<'_>,
        (slot, claim): (SlotId, u64),
        number: u64,
        source: &Source<'_>,
        complete: bool,
    ) -> bool {
        if entry.finish(claim).is_none() {
            self.give_up(slot);
            return false;
        }
        let Some(own) = &mut self.own else { return false };
        let origin = source.origin.map(|(mapped, slot, generation)| (mapped.clone(), slot, generation));
        own.made.push_back(CopyRecord { number, slot, keeps: source.keeps, origin });
        if complete {
            self.topic.wakes().notify();
        } else {
            // This wakes only the waits for the entry, not the subscribers that sleep until a payload is
            // complete.
            self.topic.wakes().notify_early();
        }
        true
    }

    /// Counts a copy that was made or enqueued. If the process dies right before, the copy is not counted.
    fn count(&self, len: u64) {
        let counters = self.topic.copies(self.column);
        counters.copies.fetch_add(1, Ordering::Relaxed);
        counters.bytes.fetch_add(len, Ordering::Relaxed);
    }

    /// Claims the entry from the word that was read, copies, and publishes the result. It is no error if
    /// another participant came first, with the claim or with a takeover.
    fn copy(
        &mut self,
        entry: CopyState<'_>,
        seen: u64,
        number: u64,
        source: &Source<'_>,
    ) -> Result<(), CopyError> {
        let Some(claimed) = self.claim(entry, seen, source.len)? else { return Ok(()) };
        let topic = self.topic.clone();
        let _step = self.tell_copying(&topic, number, source);
        if let Err(error) = self.transfer(claimed.0, source) {
            self.abandon(entry, claimed, !matches!(error, DomainError::TimedOut { .. }));
            return Err(error.into());
        }
        if let Some(own) = &self.own {
            own.pool.fence(claimed.0).complete();
        }
        self.count(source.len);
        self.finish(entry, claimed, number, source, true);
        Ok(())
    }

    /// Like `copy`, but enqueues the copy on a stream that first waits until the source is complete. Returns
    /// the copy's fence.
    fn copy_on(
        &mut self,
        stream: &Enqueuing<'_>,
        entry: CopyState<'_>,
        seen: u64,
        number: u64,
        source: &Source<'_>,
        kept: Box<dyn Any + Send>,
    ) -> Result<Option<Fence>, CopyError> {
        if let Some(fence) = source.fence.filter(|fence| fence.state() == FenceState::Pending) {
            // The watch must come first: if the owner is not watched before a device waits, the wait may
            // never end.
            if self.node.fences.watch(&self.topic, source.owner, fence).is_err() {
                await_fence(&self.topic, source.owner, fence, FENCE_TIMEOUT)?;
            }
            stream.stream().wait(fence, COPY_TIMEOUT)?;
        }
        self.enqueue_copy(stream, entry, seen, number, source, kept)
    }

    /// Claims the entry, marks it `READY`, and enqueues the copy and its completion. The fence tells how the
    /// copy ends.
    fn enqueue_copy(
        &mut self,
        stream: &Enqueuing<'_>,
        entry: CopyState<'_>,
        seen: u64,
        number: u64,
        source: &Source<'_>,
        kept: Box<dyn Any + Send>,
    ) -> Result<Option<Fence>, CopyError> {
        let Some(claimed) = self.claim(entry, seen, source.len)? else { return Ok(None) };
        let topic = self.topic.clone();
        let _step = self.tell_copying(&topic, number, source);
        // If this fails, the driver copies by a detour. It must come before any stream can wait for this
        // copy, because a driver may wait for its device here.
        let _ = self.register(claimed.0, source);
        // The entry becomes READY before the copy is enqueued, so that other subscribers can enqueue waits
        // for the fence while this thread is still busy. A process that dies before this line has a claim
        // that it did not finish, so its claim is taken over. A process that dies after it, even before
        // anything is enqueued, leaves a pending fence. Repair poisons that fence when the process has ended,
        // and then another copy is made.
        if !self.finish(entry, claimed, number, source, false) {
            return Ok(None);
        }
        let Some(own) = &self.own else { return Ok(None) };
        let fence = own.pool.fence(claimed.0);
        let fence = if self.domain == HOST { fence.telling(self.sleepers()) } else { fence };
        let (from, to) = ((source.memory, source.offset), (own.pool.bytes(), own.pool.place(claimed.0).0));
        let enqueued = Copier::enqueue(stream, from, to, source.len, (&fence, source.fence), kept);
        if let Err(error) = enqueued {
            // The fence is poisoned: another participant may try. A slot that may still be written to is
            // never used again.
            if let Some(own) = &mut self.own {
                own.made.retain(|made| made.slot != claimed.0);
            }
            return Err(error.into());
        }
        self.count(source.len);
        Ok(Some(fence))
    }

    /// Returns a function that wakes the subscribers that sleep until a payload is complete.
    fn sleepers(&self) -> Then {
        // A copy may be complete later than this copier exists.
        let (topic, writing) = (self.topic.clone(), self.writing.clone());
        Arc::new(move || {
            if writing.is_some() {
                topic.wakes().notify();
            }
        })
    }

    /// Reports to a watcher of the process that a copy begins. The step ends when the result is dropped: the
    /// copy is then complete or enqueued.
    fn tell_copying<'t>(&self, topic: &'t Topic, number: u64, source: &Source<'_>) -> Option<hook::Open<'t>> {
        hook::watcher().map(|watcher| {
            let step = Step::Copy { from: source.memory.domain(), into: self.domain };
            watcher.step(Some(topic.subject(self.column)), step, Some(number), source.len)
        })
    }

    /// Registers host memory, whether source or target, with the driver of the domain that copies.
    fn register(&mut self, slot: SlotId, source: &Source<'_>) -> Result<(), DomainError> {
        let Some(domain) = self.origin(source)?.registers.clone() else { return Ok(()) };
        if source.memory.host(0, 0)?.is_some() {
            (source.register)(domain.as_ref());
        } else if let Some(own) = self.own.as_mut().filter(|own| is_host(own.pool.bytes())) {
            let note = || {
                own.pool.control(slot).note_registered();
                true
            };
            let place = (&note as &dyn Fn() -> bool, own.pool.place(slot));
            own.registered.add(domain.as_ref(), own.pool.bytes(), source.len, place);
        }
        Ok(())
    }

    /// The copier from the source's domain into the own pool.
    fn origin(&mut self, source: &Source<'_>) -> Result<&mut Origin, DomainError> {
        let from = source.memory.domain();
        let index = match self.origins.iter().position(|origin| origin.domain == from) {
            Some(index) => index,
            None => {
                let to_host = self.own.as_ref().is_some_and(|own| is_host(own.pool.bytes()));
                self.node.domains_with(self.domain)?;
                let domains = self.node.domains_with(from)?;
                let copies = domains.get(if to_host { from } else { self.domain })?.clone();
                let registers = copies.registers().then_some(copies);
                self.origins.push(Origin { domain: from, copier: Copier::new(domains), registers });
                self.origins.len() - 1
            }
        };
        Ok(&mut self.origins[index])
    }

    /// Returns the stream on which a copy can be enqueued, if there is one: see [`Copier::stream_for`].
    fn stream_for<'s>(
        &mut self,
        given: Option<&'s dyn Stream>,
        source: &Source<'_>,
    ) -> Result<Option<Enqueuing<'s>>, CopyError> {
        self.make_own()?;
        let Some(to) = self.own.as_ref().map(|own| own.pool.bytes().clone()) else { return Ok(None) };
        Ok(self.origin(source)?.copier.stream_for(given, source.memory, &to)?)
    }

    fn transfer(&mut self, slot: SlotId, source: &Source<'_>) -> Result<(), DomainError> {
        self.register(slot, source)?;
        let Some(own) = &self.own else { return Ok(()) };
        let (to, (offset, _)) = (own.pool.bytes().clone(), own.pool.place(slot));
        let copier = &mut self.origin(source)?.copier;
        copier.copy((source.memory, source.offset), (&to, offset), source.len, None, COPY_TIMEOUT).map(drop)
    }

    fn make_own(&mut self) -> Result<(), CopyError> {
        if self.own.is_none() {
            self.writing.get_or_insert(Arc::new(self.topic.keep_writing().map_err(CopyError::Rights)?));
            self.own = Some(self.make_pool()?);
        }
        Ok(())
    }

    /// Allocates a slot of the own pool. The first call makes the pool.
    fn allocate(&mut self, len: u64) -> Result<SlotId, CopyError> {
        let size = usize::try_from(len).unwrap_or(usize::MAX);
        self.make_own()?;
        let Some(own) = &mut self.own else { return Err(CopyError::Contended) };
        let slot = match own.pool.allocate(size) {
            Err(AllocateError::Exhausted { .. } | AllocateError::Memory(_)) => {
                self.tidy(0);
                let Some(own) = &mut self.own else { return Err(CopyError::Contended) };
                let mut slot = None;
                wait_for_exiting_processes(&self.topic, &self.node.processes, || {
                    own.reclaim(&self.topic);
                    slot = own.pool.allocate(size).ok();
                    slot.is_some()
                });
                match slot {
                    Some(slot) => slot,
                    None if self.topic.ring().depth() > own.rows => {
                        // The pool is too small only because the topic has grown since.
                        let larger = self.make_pool()?;
                        self.outgrown.extend(self.own.replace(larger));
                        let Some(own) = &mut self.own else { return Err(CopyError::Contended) };
                        own.pool.allocate(size)?
                    }
                    None => own.pool.allocate(size)?,
                }
            }
            slot => slot?,
        };
        if let Some(own) = &self.own {
            begin_fence(&own.pool, slot);
        }
        Ok(slot)
    }

    fn make_pool(&self) -> Result<CopyPool, CopyError> {
        let domains = self.node.domains_with(self.domain)?;
        let domain = domains.get(self.domain)?;
        let rows = self.topic.ring().depth();
        let slots = rows + SPARE_SLOTS;
        let memory = (self.capacity, Strategy::SizeClasses, PageOptions::default());
        let options = pool_options(&self.node, domain.as_ref(), slots, memory);
        let mut pool = None;
        let make = |path: &Beneath| {
            pool = Some(PoolOwner::create(domain.as_ref(), path, &options)?);
            Ok(())
        };
        let entry = self
            .topic
            .take_copies(self.node.life.id(), options.id, self.domain, make)
            .map_err(|error| CopyError::Register(Box::new(error)))?;
        let Some(pool) = pool else { unreachable!("an entry is only taken with a pool") };
        let (made, held, names) = (VecDeque::new(), VecDeque::new(), Vec::new());
        let process_watch = ProcessWatch::default();
        let column = self.column;
        Ok(CopyPool {
            entry,
            column,
            pool,
            registered: Registered::default(),
            rows,
            made,
            held,
            names,
            process_watch,
        })
    }

    /// Retires copies that no subscriber can take any more. Their messages were overwritten, were retired by
    /// their publisher (or are below `oldest`), or were passed by all subscribers in this domain.
    pub(crate) fn tidy(&mut self, oldest: u64) {
        if let Some(own) = &mut self.own {
            own.tidy(&self.topic, &self.node.processes, self.domain, oldest);
        }
        if !self.outgrown.is_empty() {
            self.outgrown
                .iter_mut()
                .for_each(|own| own.tidy(&self.topic, &self.node.processes, self.domain, oldest));
            let empty = self.outgrown.extract_if(.., |own| own.made.is_empty() && own.held.is_empty());
            let entries: Vec<usize> = empty.map(|own| own.entry).collect();
            if !entries.is_empty() {
                self.topic.leave_empty_copies(entries);
            }
        }
    }

    /// Returns the memory of free slots to the system, and the number of its bytes to the caller.
    pub(crate) fn trim(&mut self) -> u64 {
        self.tidy(0);
        let pools = self.own.iter_mut().chain(&mut self.outgrown);
        pools
            .map(|own| {
                own.reclaim(&self.topic);
                own.pool.trim()
            })
            .sum()
    }

    /// Takes back a slot that was never shown to other participants and that no work writes to any more.
    fn give_up(&mut self, slot: SlotId) {
        if let Some(own) = &mut self.own {
            // Only its owner ends its fence. With a pending fence, the slot would never be used again.
            own.pool.fence(slot).poison();
            own.retire(slot);
        }
    }
}

impl Drop for DomainCopier {
    /// Its copies stay for subscribers that have not taken them yet.
    fn drop(&mut self) {
        if !self.node.life.is_ours() {
            return;
        }
        let entries: Vec<usize> = self.own.iter().chain(&self.outgrown).map(|own| own.entry).collect();
        if !entries.is_empty() {
            self.topic.leave_entries(entries);
        }
    }
}
