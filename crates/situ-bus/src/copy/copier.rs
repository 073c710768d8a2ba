//! Copies a message's payload into another memory domain, once for all subscribers there.
//!
//! The first subscriber that needs the payload in a domain claims the copy (see `protocol/copy_state.rs`) and
//! copies into a slot of a pool of its own. That pool belongs to the topic like a publisher's: it has an
//! entry, other participants map it and hold its slots, and repair frees it when its owner dies. Like a
//! publisher, its owner retires slots that no subscriber can still take. It looks for them in each call.
//!
//! A copy is made in the call, or *enqueued* on a stream. An enqueued copy is `READY` at once, and the fence
//! of its slot says when it is complete, as for a message that was published before it was complete. If the
//! copier dies, repair poisons that fence. A subscriber that finds a poisoned copy of a message that is
//! complete makes another copy, and claims it from the word that it found.

use std::any::Any;
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Instant;

use situ_memory::sync::atomic::Ordering;
use situ_memory::{
    AllocateError, Beneath, Copier, Domain, DomainError, DomainId, Enqueuing, Fence, FenceState, HOST,
    Memory, PoolOwner, Registered, SlotId, Strategy, Stream, Then, ViewError,
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
use crate::topic::{StateWord, Topic};
use crate::wait::fence::repair_if_dead;

/// How many slots a pool of copies has beside those that rows can name.
const SPARE_SLOTS: u64 = 1024;
/// How often to look before sleeping.
const SPINS: u32 = 500;

/// The payload of a message, as one who holds the message finds it.
pub(crate) struct Source<'a> {
    pub memory: &'a Arc<dyn Memory>,
    pub offset: u64,
    pub len: u64,
    /// When it is complete; nothing for what the CPU wrote.
    pub fence: Option<&'a Fence>,
    /// The node of the message's publisher.
    pub owner: NodeId,
    /// Whether it stays for those who come late.
    pub keeps: bool,
    /// The slot of the message's head and its generation. When the generation has changed, the message cannot
    /// be taken any more.
    pub origin: Option<(&'a Arc<Mapped>, SlotId, u16)>,
    /// Registers it with the driver of a domain whose streams copy it, if it lies in host memory.
    pub register: &'a dyn Fn(&dyn Domain),
}

/// How a message is to be brought.
#[derive(Clone, Copy)]
pub(crate) enum CopyMode<'a> {
    /// It is complete when it is there: the call waits.
    Complete,
    /// The same, but a copy that is still not complete was waited for in vain: another is made.
    Anew,
    /// It is complete when its fence is: copies are enqueued on this stream, if it can, and keep hold of the
    /// message until it has passed them.
    On(&'a dyn Stream, &'a Arc<Pin>),
}

/// A message in the domain in which it was wanted.
pub(crate) struct CopyHandle {
    pub pin: Pin,
    /// When it is complete, if it is not yet, and the node of the copier.
    pub fence: Option<(Fence, NodeId)>,
    /// Whether work that is enqueued on the stream that was given comes after the copy by itself.
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
    /// What copies from each domain that something came from.
    origins: Vec<Origin>,
}

/// What it takes to copy from one domain: asked for once, as who takes a message waits for it.
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

/// Whether the CPU may touch a memory.
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
        Self { topic, node, domain, column, capacity, own: None, outgrown: Vec::new(), origins: Vec::new() }
    }

    pub(crate) fn domain(&self) -> DomainId {
        self.domain
    }

    /// Provides message `number` in this domain: copies it if there is no copy and none is under way, and
    /// shares the copy that there is. `share` takes hold of the slot that it is given, if the slot still has
    /// that generation and the entry still holds the word. Nothing if the message has passed.
    pub(crate) fn bring(
        &mut self,
        number: u64,
        source: &Source<'_>,
        how: CopyMode<'_>,
        share: impl FnMut(Reference, &dyn Fn() -> bool) -> Result<Option<Pin>, ViewError>,
    ) -> Result<Option<CopyHandle>, CopyError> {
        // A large copy reuses the slot of the last one, whose pages are warm. A small one does not wait for
        // that.
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
                        // Recycled, or its pool is gone or cannot be reached from here.
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
                    // Before the claim: a claimant then only copies, and can be expected to be done soon.
                    // Then look again: the publisher may have copied it meanwhile.
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
                // What is found from here on is new.
                how = CopyMode::Complete;
            }
        }
        Err(CopyError::Contended)
    }

    /// Copies message `number` if there is no copy and none is under way.
    ///
    /// The copy is enqueued on the given stream, if the message's completion was enqueued there; otherwise on
    /// a stream of the copier, behind the message's completion. A message that is complete is copied in the
    /// call if the copy is for the host, where a subscriber that looks now finds it, or if nothing can be
    /// enqueued.
    ///
    /// Returns the copy's fence if it is pending: until it ends, the source must not change. The end of that
    /// fence wakes subscribers that sleep until something is complete.
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
        // The enqueued work keeps the node alive: otherwise the copier would seem dead before the stream has
        // passed.
        let node = Box::new(self.node.clone());
        match stream {
            // The stream itself completes the message, or has: there is nothing to wait for.
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

    /// Whether a copy that is held can be used as it is wanted: nothing if its copier died, failed or is too
    /// slow; otherwise its fence, if it is pending.
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

    /// Waits until a copy is complete. Not if its copier died or failed, or takes longer than a copy can once
    /// there is something to copy.
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
    /// then the copy has to be claimed from it.
    fn wait_for(&self, entry: CopyState<'_>, word: u64, by: Reference, len: u64) -> bool {
        let start = Instant::now();
        let limit = copier_grace(len);
        let copier = self.topic.publisher(usize::from(by.pool));
        for _ in 0..SPINS {
            if !entry.still(word) {
                return true;
            }
            std::hint::spin_loop();
        }
        while start.elapsed() < limit {
            let announced = self.topic.wake().announce();
            if !entry.still(word) {
                return true;
            }
            self.topic.wake().sleep(announced, POLL_INTERVAL);
            if !entry.still(word) {
                return true;
            }
            let of_copier = StateWord::read(&copier.state);
            let node = NodeId(copier.node.load(Ordering::Relaxed));
            if !(of_copier.is_active() && of_copier.is_of_copies()) || !is_alive(&self.topic.root, node) {
                return false;
            }
        }
        false
    }

    /// Allocates a slot of the own pool for a copy, and claims the entry for it from the word that was seen.
    /// Nothing if another participant came first.
    fn claim(
        &mut self,
        entry: CopyState<'_>,
        seen: u64,
        len: u64,
    ) -> Result<Option<(SlotId, u64)>, CopyError> {
        let slot = self.allocate(len)?;
        let Some(own) = &mut self.own else { return Ok(None) };
        let target =
            Reference { pool: own.entry as u8, slot: slot as u16, generation: own.pool.share(slot) as u16 };
        let claim = entry.claim(seen, target);
        if claim.is_none() {
            own.pool.deallocate(slot);
        }
        // If the process dies from here on, the claim is found by the pool's entry, and taken over.
        Ok(claim.map(|claim| (slot, claim)))
    }

    /// The copy failed: another participant may try.
    fn abandon(&mut self, entry: CopyState<'_>, (slot, claim): (SlotId, u64), reuse: bool) {
        entry.abandon(claim);
        self.topic.wake().notify();
        // What may still be written to is never used again.
        if reuse {
            self.give_up(slot);
        }
    }

    /// The copy is complete, or will be: shows it. Not if the claim was taken over: then the slot is given
    /// back.
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
            self.topic.wake().notify();
        } else {
            // Those who wait for the entry: they do not sleep until something is complete.
            self.topic.wake().notify_early();
        }
        true
    }

    /// Counts a copy that was made or enqueued. If the process dies right before, the copy does not count.
    fn count(&self, len: u64) {
        let counters = self.topic.copies(self.column);
        counters.copies.fetch_add(1, Ordering::Relaxed);
        counters.bytes.fetch_add(len, Ordering::Relaxed);
    }

    /// Claims the entry from the word that was seen, copies, and publishes the result. It is no error if
    /// another participant came first, at either end.
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

    /// The same, but only enqueues the copy, on a stream that first waits until there is something to copy.
    /// Gives the copy's fence.
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
            // First, because the owner must be watched before a device waits. Otherwise the wait may never
            // end.
            if self.node.fences.watch(&self.topic, source.owner, fence).is_err() {
                await_fence(&self.topic, source.owner, fence, FENCE_TIMEOUT)?;
            }
            stream.stream().wait(fence, COPY_TIMEOUT)?;
        }
        self.enqueue_copy(stream, entry, seen, number, source, kept)
    }

    /// Claims the entry, shows it `READY`, and enqueues the copy and its completion. The fence tells how the
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
        // If this fails, the driver copies by a detour. It comes before any stream can wait for this copy,
        // because a driver may wait for its device here.
        let _ = self.register(claimed.0, source);
        // Before the copy is enqueued: other subscribers can then enqueue waits for the fence while this
        // thread is still busy. A process that dies before this line has claimed and not finished, so its
        // claim is taken over. A process that dies after it, even before anything is enqueued, leaves a
        // pending fence: repair poisons it when the process has ended, and then another copy is made.
        if !self.finish(entry, claimed, number, source, false) {
            return Ok(None);
        }
        let Some(own) = &self.own else { return Ok(None) };
        let fence = own.pool.fence(claimed.0);
        let fence = if self.domain == HOST { fence.telling(self.sleepers()) } else { fence };
        let (from, to) = ((source.memory, source.offset), (own.pool.bytes(), own.pool.place(claimed.0).0));
        let enqueued = Copier::enqueue(stream, from, to, source.len, (&fence, source.fence), kept);
        if let Err(error) = enqueued {
            // Its fence is poisoned: another participant may try. A slot that may still be written to is
            // never used again.
            if let Some(own) = &mut self.own {
                own.made.retain(|made| made.slot != claimed.0);
            }
            return Err(error.into());
        }
        self.count(source.len);
        Ok(Some(fence))
    }

    /// What wakes who sleeps until something is complete.
    fn sleepers(&self) -> Then {
        let topic = self.topic.clone();
        Arc::new(move || _ = topic.wake().notify())
    }

    /// Tells whoever watches the process that a copy begins; it ends, or is enqueued, when the result is
    /// dropped.
    fn tell_copying<'t>(&self, topic: &'t Topic, number: u64, source: &Source<'_>) -> Option<hook::Open<'t>> {
        hook::watcher().map(|watcher| {
            let step = Step::Copy { from: source.memory.domain(), into: self.domain };
            watcher.step(Some(topic.subject(self.column)), step, Some(number), source.len)
        })
    }

    /// Registers host memory with the driver of the domain that copies, be it the source or the target.
    fn register(&mut self, slot: SlotId, source: &Source<'_>) -> Result<(), DomainError> {
        let Some(domain) = self.origin(source)?.registers.clone() else { return Ok(()) };
        if source.memory.host(0, 0)?.is_some() {
            (source.register)(domain.as_ref());
        } else if let Some(own) = self.own.as_mut().filter(|own| is_host(own.pool.bytes())) {
            let slot = (own.pool.control(slot), own.pool.place(slot));
            own.registered.add(domain.as_ref(), own.pool.bytes(), source.len, slot);
        }
        Ok(())
    }

    /// What copies from the source's domain, into the own pool.
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

    /// The stream on which a copy can be enqueued, if there is any: see [`Copier::stream_for`].
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
            self.own = Some(self.make_pool()?);
        }
        Ok(())
    }

    /// A slot of the own pool, which is made with the first.
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
                    own.give_back(usize::MAX);
                    slot = own.pool.allocate(size).ok();
                    slot.is_some()
                });
                match slot {
                    Some(slot) => slot,
                    None if self.topic.ring().depth() > own.rows => {
                        // Its size was right for the topic as it was.
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
        let options =
            pool_options(&self.node, domain.as_ref(), slots, (self.capacity, Strategy::SizeClasses));
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
        let (made, held, process_watch) = (VecDeque::new(), VecDeque::new(), ProcessWatch::default());
        let column = self.column;
        Ok(CopyPool {
            entry,
            column,
            pool,
            registered: Registered::default(),
            rows,
            made,
            held,
            process_watch,
        })
    }

    /// Retires copies that no subscriber can still take: of messages that were overwritten, that their
    /// publisher has retired (or that are below `oldest`), or that all subscribers in this domain have
    /// passed.
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

    /// Gives the memory of free slots back to the system. How many bytes that are.
    pub(crate) fn trim(&mut self) -> u64 {
        self.tidy(0);
        let pools = self.own.iter_mut().chain(&mut self.outgrown);
        pools
            .map(|own| {
                own.give_back(usize::MAX);
                own.pool.trim()
            })
            .sum()
    }

    /// Takes back a slot that was never shown to other participants, and that nothing writes to any more.
    fn give_up(&mut self, slot: SlotId) {
        if let Some(own) = &mut self.own {
            // Only its owner ends its fence; with a pending fence it would never be used again.
            own.pool.fence(slot).poison();
            own.retire(slot);
        }
    }
}

impl Drop for DomainCopier {
    /// What it copied stays for those who still may take it.
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
