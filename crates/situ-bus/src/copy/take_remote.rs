//! Messages whose payload is not where the CPU reads them: spans of device memory, bodies of publishers on devices, and
//! takes in another domain than the message's.

use std::io::ErrorKind::NotFound;
use std::marker::PhantomData;
use std::sync::Arc;
use std::time::Duration;

use situ_memory::sync::atomic::Ordering;
use situ_memory::{
    AllocateError, Domain, DomainError, DomainId, Fence, FenceState, HOST, Memory, MemoryError, PoolOwner,
    SlotId, Strategy, Stream, StreamOrder, ViewError,
};

use crate::copy::copier::{Brought, CopyError, How, Source, await_fence};
use crate::copy::copy_pool::begin_fence;
use crate::node::liveness::NodeId;
use crate::port::pool_cache::{Mapped, Pin};
use crate::port::sample::RawSample;
use crate::port::subscriber::{Missed, RawSubscriber, TakeError, Taken};
use crate::protocol::copy_state::Found;
use crate::protocol::ring::Reference;
use crate::topic::Encoding;
use crate::topic::format::{BODY_ENTRY, BODY_IN_SLOT, BODY_IS_MESSAGE, DESCRIPTOR, domain_from_word, state};

/// Where a publisher's bodies lie, or where a subscriber takes, and what memory that may cost.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Placement {
    /// The memory domain. The host's shared memory unless told otherwise.
    pub domain: DomainId,
    /// At most so many bytes for the bodies of a publisher, or for the copies that a subscriber makes. Unless told otherwise
    /// as much as there is where memory is used piece by piece (the host), and 256 MiB where it is taken at once.
    pub capacity: Option<u64>,
    /// Whether a publisher copies its messages into every domain with a subscriber, right after publishing, instead of
    /// leaving that to the first who takes there. Copies into a device are enqueued, and made while the publisher goes on; a publisher that is
    /// faster than the device leaves some to those who take. One that is dropped waits for them, for a second at most.
    pub eager_copies: bool,
    /// How a publisher's pool of messages, or of bodies if they lie on a device, is allocated. A ring is of 256 MiB unless `capacity` tells
    /// otherwise, and one message that is held for long exhausts it.
    pub strategy: Strategy,
}

impl Default for Placement {
    fn default() -> Self {
        Self { domain: HOST, capacity: None, eager_copies: false, strategy: Strategy::SizeClasses }
    }
}

/// A range of a memory domain's memory that holds elements of type `U`, for work on the domain's streams. Lasts as long as the
/// loan or sample that it came from; that has to last until the streams have passed the work.
pub struct DeviceSpan<'a, U> {
    memory: &'a Arc<dyn Memory>,
    offset: u64,
    len: usize,
    element: PhantomData<fn() -> U>,
}

impl<'a, U> DeviceSpan<'a, U> {
    pub(crate) fn new(memory: &'a Arc<dyn Memory>, offset: u64, len: usize) -> Self {
        Self { memory, offset, len, element: PhantomData }
    }

    /// The memory that it lies in.
    pub fn memory(&self) -> &'a Arc<dyn Memory> {
        self.memory
    }

    /// Where it begins in that memory, in bytes.
    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// Where it begins, as work on the domain's streams sees it. The CPU may use it only if the domain is the host's.
    pub fn address(&self) -> u64 {
        let bytes = (self.len as u64).saturating_mul(size_of::<U>() as u64);
        match self.memory.host(self.offset, bytes) {
            Ok(Some(first)) => first as u64,
            _ => self.memory.address().wrapping_add(self.offset),
        }
    }

    /// The number of elements.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Its size in bytes.
    pub fn size(&self) -> u64 {
        (self.len * size_of::<U>()) as u64
    }

    /// The part that a bulk member names: `len` elements at `offset` bytes; an empty one if that reaches out of this.
    pub(crate) fn part<V>(&self, offset: u64, len: usize) -> DeviceSpan<'a, V> {
        let size = len.checked_mul(size_of::<V>()).and_then(|size| u64::try_from(size).ok());
        let fits = size.and_then(|size| size.checked_add(offset)).is_some_and(|end| end <= self.size());
        let at = if fits { self.offset.wrapping_add(offset) } else { self.offset };
        DeviceSpan::new(self.memory, at, if fits { len } else { 0 })
    }
}

impl<U> Clone for DeviceSpan<'_, U> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<U> Copy for DeviceSpan<'_, U> {}

impl<U> std::fmt::Debug for DeviceSpan<'_, U> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("DeviceSpan")
            .field("domain", &self.memory.domain())
            .field("offset", &self.offset)
            .field("len", &self.len)
            .finish()
    }
}

/// A head without a body in the pool of bodies: no slot has this number.
const NO_BODY: SlotId = SlotId::MAX;
/// How long a stream may take to wait for a message that is taken.
const PATIENCE: Duration = Duration::from_secs(30);

/// The pool of a publisher's bodies. A body's slot is used for as long as its head's.
pub(crate) struct Bodies {
    pub(crate) entry: usize,
    pub(crate) pool: PoolOwner,
    /// The body of each head, by their slots.
    of: Vec<SlotId>,
}

impl Bodies {
    pub(crate) fn new(entry: usize, pool: PoolOwner) -> Self {
        Self { entry, pool, of: Vec::new() }
    }

    /// Gives a head that is lent a body of so many bytes.
    pub(crate) fn allocate(&mut self, head: SlotId, size: usize) -> Result<(), AllocateError> {
        let slot = self.pool.allocate(size)?;
        begin_fence(&self.pool, slot);
        let index = head as usize;
        if self.of.len() <= index {
            self.of.resize(index + 1, NO_BODY);
        }
        self.of[index] = slot;
        Ok(())
    }

    pub(crate) fn of(&self, head: SlotId) -> Option<SlotId> {
        self.of.get(head as usize).copied().filter(|slot| *slot != NO_BODY)
    }

    pub(crate) fn fence(&self, head: SlotId) -> Option<Fence> {
        self.of(head).map(|slot| self.pool.fence(slot))
    }

    /// Whether a device is still filling the body. Then its slot must not be used again yet: a signal that comes late would undo that of the
    /// next message.
    pub(crate) fn is_pending(&self, head: SlotId) -> bool {
        self.fence(head).is_some_and(|fence| fence.state() == FenceState::Pending)
    }

    /// The fences of all bodies that a device is still filling.
    pub(crate) fn pending(&self) -> impl Iterator<Item = Fence> + '_ {
        let used = self.of.iter().filter(|slot| **slot != NO_BODY);
        used.map(|slot| self.pool.fence(*slot)).filter(|fence| fence.state() == FenceState::Pending)
    }

    /// Takes the body back with its head, which nobody holds any more.
    pub(crate) fn release(&mut self, head: SlotId) {
        if let Some(slot) = self.of(head) {
            self.of[head as usize] = NO_BODY;
            // Nobody holds it; but the next message in it needs another generation, which its fence is of.
            let _ = self.pool.control(slot).retire();
            self.pool.deallocate(slot);
        }
    }
}

/// The payload of a message that was taken elsewhere than behind its head.
#[derive(Debug)]
pub(crate) struct Payload {
    mapped: Arc<Mapped>,
    offset: u64,
    len: u64,
    /// The size of the message's body: 0 if the payload is the head, or the whole message.
    body_size: usize,
    fence: Option<Fence>,
    /// Who completes the fence.
    owner: NodeId,
    /// The hold on a copy; the hold on the head is enough for what its publisher put there.
    _copy: Option<Pin>,
    /// The hold on the head, if a stream shares it that copies what the head belongs to.
    _head: Option<Arc<Pin>>,
}

impl Payload {
    /// Whether it lies in memory that only those may write who are trusted.
    pub(crate) fn is_in_place(&self) -> bool {
        self.mapped.in_place
    }
}

/// Why a message's bytes are not complete.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum IncompleteError {
    /// Its publisher died, or failed, before.
    #[error(
        "message {sequence} of topic {topic:?} never becomes complete: the device or the process that should have \
         written it failed"
    )]
    Poisoned {
        /// The topic.
        topic: String,
        /// The message's number.
        sequence: u64,
    },
    /// Not yet.
    #[error("message {sequence} of topic {topic:?} was still not complete after {waited:?}")]
    Pending {
        /// The topic.
        topic: String,
        /// The message's number.
        sequence: u64,
        /// How long it was waited.
        waited: Duration,
    },
    /// It was taken by the process that this one was forked from.
    #[error("message {sequence} of topic {topic:?} was taken by the process that this one was forked from")]
    Forked {
        /// The topic.
        topic: String,
        /// The message's number.
        sequence: u64,
    },
    /// The stream cannot wait for it.
    #[error(transparent)]
    Domain(#[from] DomainError),
}

impl RawSample {
    /// The message's payload where it lies: its body if it has one, otherwise its head.
    pub fn span(&self) -> DeviceSpan<'_, u8> {
        if let Some(payload) = self.payload() {
            return DeviceSpan::new(payload.mapped.view.bytes(), payload.offset, payload.len as usize);
        }
        let (begin, len) = self.host_payload();
        let memory = self.pin().mapped.view.bytes();
        // It was found there when it was taken.
        let offset = memory.offset_of(begin as u64).unwrap_or_default();
        DeviceSpan::new(memory, offset, len)
    }

    /// The domain that its payload lies in.
    pub fn domain(&self) -> DomainId {
        self.payload().map_or(HOST, |payload| payload.mapped.view.bytes().domain())
    }

    /// The size of its body in bytes, wherever it lies.
    #[inline]
    pub fn body_size(&self) -> usize {
        self.payload().map_or(self.body().len(), |payload| payload.body_size)
    }

    /// Whether its payload was copied into the subscriber's domain, by whomever.
    pub fn was_brought(&self) -> bool {
        self.payload().is_some_and(|payload| payload._copy.is_some())
    }

    /// When its payload is complete, if a device may still be filling it. Nothing for what was complete when it was published.
    pub fn fence(&self) -> Option<&Fence> {
        self.payload().and_then(|payload| payload.fence.as_ref())
    }

    /// Whether, and how, work on the subscriber's streams waits for the payload: by words that the device itself waits for if it
    /// can. [`StreamOrder::Host`] also for what is complete already.
    pub fn order(&self) -> StreamOrder {
        let core = &self.pin().mapped.core;
        let order = |domain| {
            let domains = core.node.domains_with(domain).ok()?;
            Some(domains.get(domain).ok()?.capabilities().order)
        };
        self.fence().and_then(|_| order(self.domain())).unwrap_or(StreamOrder::Host)
    }

    /// Waits until its payload is complete, at most for `patience`.
    pub fn synchronize(&self, patience: Duration) -> Result<(), IncompleteError> {
        let Some((payload, fence)) = self.payload().and_then(|it| Some((it, it.fence.as_ref()?))) else {
            return Ok(());
        };
        self.check_process()?;
        let topic = &self.pin().mapped.core.topic;
        match await_fence(topic, payload.owner, fence, patience) {
            Ok(()) => Ok(()),
            Err(CopyError::Incomplete { waited }) => {
                Err(IncompleteError::Pending { topic: topic.name.clone(), sequence: self.sequence(), waited })
            }
            Err(_) => Err(self.poisoned()),
        }
    }

    /// Has the work that is enqueued on `stream` from now on wait until the payload is complete. The call itself waits only
    /// where the device cannot (see [`order`](Self::order)), at most for `patience`.
    ///
    /// Should who completes it, or copies it, die or fail before, the wait ends too: look at the [`fence`](Self::fence) when the work is done.
    pub fn wait_on(
        &self,
        stream: &dyn situ_memory::Stream,
        patience: Duration,
    ) -> Result<(), IncompleteError> {
        let Some((payload, fence)) = self.payload().and_then(|it| Some((it, it.fence.as_ref()?))) else {
            return Ok(());
        };
        self.check_process()?;
        match fence.state() {
            FenceState::Complete => Ok(()),
            FenceState::Poisoned => Err(self.poisoned()),
            FenceState::Pending => {
                let core = &self.pin().mapped.core;
                // First: where the call itself waits, somebody has to look after the owner meanwhile.
                if core.node.fences.watch(&core.topic, payload.owner, fence).is_err() {
                    return self.synchronize(patience);
                }
                Ok(stream.wait(fence, patience)?)
            }
        }
    }

    /// Gives the message back when `stream` has passed everything that is enqueued on it so far, instead of when this is dropped: for kernels
    /// that still read it. The call waits for nothing, unless the stream can tell nobody that it has passed
    /// ([`Stream::complete_copy`](situ_memory::Stream::complete_copy)). On CUDA, where what the driver calls may not release it, it is given back
    /// by whoever next enqueues something on the stream, or synchronizes with it.
    ///
    /// After an error the message is never given back, because the device may still be reading it: it stays until this process ends.
    pub fn release_on(self, stream: &dyn situ_memory::Stream) -> Result<(), DomainError> {
        stream.complete_copy(&Fence::of_process(0, 1), None, Box::new(self))
    }

    fn check_process(&self) -> Result<(), IncompleteError> {
        let core = &self.pin().mapped.core;
        if core.process.is_this() {
            return Ok(());
        }
        Err(IncompleteError::Forked { topic: core.topic.name.clone(), sequence: self.sequence() })
    }

    fn poisoned(&self) -> IncompleteError {
        let topic = self.pin().mapped.core.topic.name.clone();
        IncompleteError::Poisoned { topic, sequence: self.sequence() }
    }
}

/// What is said of a copy whose place is smaller than when it was pinned.
const SHRUNK: &str = "the place of its copy became smaller while it was taken";

/// Where a copy lies. Its place was checked when it was pinned; its owner may write there, so what counts is what is read and checked now, once.
/// Nothing if the payload does not fit any more.
fn payload_of(copy: Brought, len: u64, body_size: usize, head: Option<Arc<Pin>>) -> Option<Payload> {
    let Brought { pin, fence, .. } = copy;
    let (offset, _) = pin.mapped.view.place(pin.slot).filter(|(_, has)| len <= *has)?;
    pin.mapped.view.bytes().find(offset, len).ok()?;
    let mapped = pin.mapped.clone();
    // A copy is completed by who makes it.
    let (fence, owner) = fence.map_or((None, NodeId(0)), |(fence, copier)| (Some(fence), copier));
    Some(Payload { mapped, offset, len, body_size, fence, owner, _copy: Some(pin), _head: head })
}

impl RawSubscriber {
    /// Takes a message whose payload is not behind its head, or has to be brought elsewhere. `taken` holds the head, whose
    /// descriptor was read but not checked. On the host it has to be complete; with a stream it need not, the stream waits. Nothing if it has
    /// passed meanwhile.
    #[cold]
    pub(crate) fn take_elsewhere(
        &self,
        taken: Taken,
        on: Option<&dyn Stream>,
    ) -> Result<Option<RawSample>, Missed> {
        let number = taken.number;
        let mut usual = How::Complete;
        if self.domain() == HOST && !taken.is_expired() && !self.is_here(number) && self.is_stale(number)? {
            usual = How::Anew;
        }
        let Some((sample, ordered)) = self.take_from_elsewhere(taken, on, usual)? else { return Ok(None) };
        if let Some(stream) = on.filter(|_| !ordered) {
            sample.wait_on(stream, PATIENCE).map_err(|error| TakeError::Copy {
                topic: self.core().topic.name.clone(),
                sequence: number,
                domain: self.domain(),
                source: match error {
                    IncompleteError::Poisoned { .. } | IncompleteError::Forked { .. } => CopyError::Poisoned,
                    IncompleteError::Pending { waited, .. } => CopyError::Incomplete { waited },
                    IncompleteError::Domain(error) => CopyError::Domain(error),
                },
            })?;
        }
        Ok(Some(sample))
    }

    /// The sample, and whether its payload comes before whatever is enqueued on the stream from now on. Where nothing is enqueued, it is brought
    /// as is `usual`.
    fn take_from_elsewhere(
        &self,
        mut taken: Taken,
        on: Option<&dyn Stream>,
        usual: How<'_>,
    ) -> Result<Option<(RawSample, bool)>, TakeError> {
        // Asked once: what has time to expire meanwhile is taken as it was found.
        let expired = taken.is_expired();
        let is_head = taken.body_pool == BODY_IN_SLOT && taken.body_size == 0 && self.has_bulk();
        // Copies are enqueued where they are wanted. The stream then holds the head too, for as long as it copies what belongs to it. Where
        // nothing can be copied, the sample itself holds it.
        let here = |stream: &&dyn Stream| stream.domain() == self.domain() && !expired && !is_head;
        let hold = on.filter(here).map(|stream| {
            let nothing = Pin { mapped: taken.pin.mapped.clone(), slot: NO_BODY };
            let slot = taken.pin.slot;
            (stream, Arc::new(std::mem::replace(&mut taken.pin, nothing)), slot)
        });
        let how = hold.as_ref().map_or(usual, |(stream, pin, _)| How::On(*stream, pin));
        let head_pin = || hold.as_ref().map(|(_, pin, _)| pin.clone());
        let head_slot = hold.as_ref().map_or(taken.pin.slot, |(.., slot)| *slot);
        let Taken { pin, memory, len, number, generation, .. } = &taken;
        let publisher = self.core().topic.publisher(usize::from(taken.pool));
        let keeps = publisher.state.load(Ordering::SeqCst) & state::TRANSIENT_LOCAL != 0;
        let malformed = |reason: &str| TakeError::Malformed {
            topic: self.core().topic.name.clone(),
            sequence: *number,
            reason: reason.to_owned(),
        };
        let head_end = DESCRIPTOR + taken.head_size;
        if head_end > *len {
            return Err(malformed("its head reaches out of its slot"));
        }
        if taken.encoding != Encoding::Flat {
            return Err(malformed("it is serialized, but not meant for the host alone"));
        }
        match pin.mapped.view.find(head_slot, taken.offset, head_end as u64) {
            Ok(()) => {}
            Err(ViewError::Gone(_)) => return Ok(None),
            Err(source) => return Err(self.pool_error(*number, source)),
        }
        let head = memory.wrapping_add(DESCRIPTOR);
        if expired {
            return Ok(Some((taken.into_sample(head, (head, 0), None), true)));
        }
        let origin = Some((&pin.mapped, head_slot, *generation));
        if taken.body_pool == BODY_IN_SLOT {
            // In host memory, but wanted on a device.
            if !taken.body_fits() {
                return Err(malformed("its body reaches out of its slot"));
            }
            let (at, size) = match taken.body_size {
                0 => (DESCRIPTOR, taken.head_size),
                size => (taken.body_offset, size),
            };
            let bytes = pin.mapped.view.bytes();
            let Some(offset) = bytes.offset_of(*memory as u64 + at as u64) else {
                return Err(malformed("its slot lies outside of the pool"));
            };
            if !self.find_payload(*number, &pin.mapped, offset, size as u64)? {
                return Ok(None);
            }
            let owner = pin.mapped.owner();
            let len = size as u64;
            let register = |domain: &dyn Domain| pin.mapped.register(domain, head_slot, len);
            let source =
                Source { memory: bytes, offset, len, fence: None, owner, keeps, origin, register: &register };
            let body_size = taken.body_size;
            if is_head {
                // Its head stays on the host, like any other's.
                return Ok(Some((taken.into_sample(head, (head, 0), None), true)));
            }
            let copy = match self.ready(*number, size as u64, how)? {
                Some(copy) => Some(copy),
                None => self.brought(*number, &source, how)?,
            };
            let Some(copy) = copy else { return Ok(None) };
            let ordered = copy.ordered;
            let payload =
                payload_of(copy, size as u64, body_size, head_pin()).ok_or_else(|| malformed(SHRUNK))?;
            return Ok(Some((taken.into_sample(head, (head, 0), Some(payload)), ordered)));
        }
        if taken.body_pool & !(BODY_ENTRY | BODY_IS_MESSAGE) != 0 {
            return Err(malformed("its body lies in no pool that there can be"));
        }
        let whole = taken.body_pool & BODY_IS_MESSAGE != 0;
        let body_size = if whole { 0 } else { taken.body_size };
        if whole && taken.body_size != taken.head_size {
            return Err(malformed("as a whole it has another size than its head"));
        }
        let entry = (taken.body_pool & BODY_ENTRY) as u8;
        let bodies = self.core().topic.publisher(usize::from(entry));
        let word = bodies.state.load(Ordering::SeqCst);
        // After the state: an entry that was given to another since the message was held says so by now.
        if bodies.tenure.of(*number).is_none() {
            return Ok(None);
        }
        if word & state::BODIES == 0 {
            return Err(malformed("its body lies in a pool that is none of bodies"));
        }
        // What lies in this domain is never copied; for anything else, a copy that is there needs no look at the original.
        let here = domain_from_word(&bodies.domain) == self.domain();
        let copy = if here { None } else { self.ready(*number, taken.body_size as u64, how)? };
        let mut ordered = false;
        let payload = match copy {
            Some(copy) => payload_of(copy, taken.body_size as u64, body_size, head_pin())
                .ok_or_else(|| malformed(SHRUNK))?,
            None => {
                let mapped = match self.pools().get(self.core(), entry, *number) {
                    Ok(mapped) => mapped,
                    Err(ViewError::Gone(_)) => return Ok(None),
                    Err(source) => return Err(self.pool_error(*number, source)),
                };
                let place = mapped.view.place(taken.body_slot).filter(|(_, len)| {
                    let end = taken.body_offset.checked_add(taken.body_size);
                    end.is_some_and(|end| end as u64 <= *len)
                });
                let (Some((offset, _)), Some(fence)) = (place, mapped.view.fence(taken.body_slot)) else {
                    return Err(malformed("its body reaches out of its slot"));
                };
                let (offset, owner) = (offset + taken.body_offset as u64, mapped.owner());
                let len = taken.body_size as u64;
                let view = &mapped.view;
                if !self.find_payload(*number, &mapped, offset, len)? {
                    return Ok(None);
                }
                if view.bytes().domain() == self.domain() {
                    let fence = Some(fence);
                    Payload { mapped, offset, len, body_size, fence, owner, _copy: None, _head: head_pin() }
                } else {
                    let source = Source {
                        memory: view.bytes(),
                        offset,
                        len,
                        fence: Some(&fence),
                        owner,
                        keeps,
                        origin,
                        // Bodies have no holder bits: of those in memory that the CPU may touch nothing is registered.
                        register: &|_| {},
                    };
                    match self.brought(*number, &source, how)? {
                        Some(copy) => {
                            ordered = copy.ordered;
                            payload_of(copy, len, body_size, head_pin()).ok_or_else(|| malformed(SHRUNK))?
                        }
                        None => return Ok(None),
                    }
                }
            }
        };
        // Where the CPU may look, the sample shows the payload as if it lay behind the head.
        let shown = payload.mapped.view.bytes().host(payload.offset, payload.len);
        let shown = shown.map_err(|source| self.pool_error(*number, source.into()))?;
        let Some(bytes) = shown.map(<*mut u8>::cast_const) else {
            return Ok(Some((taken.into_sample(head, (head, 0), Some(payload)), ordered)));
        };
        let head = if whole { bytes } else { head };
        Ok(Some((taken.into_sample(head, (bytes, body_size), Some(payload)), ordered)))
    }

    /// Makes sure that a payload is no hole. Whether it is still there to be looked at.
    fn find_payload(&self, number: u64, pool: &Mapped, offset: u64, len: u64) -> Result<bool, TakeError> {
        match pool.view.bytes().find(offset, len) {
            Ok(()) => Ok(true),
            Err(DomainError::Memory(MemoryError::System { source, .. })) if source.kind() == NotFound => {
                Ok(false)
            }
            Err(error) => Err(self.pool_error(number, error.into())),
        }
    }

    /// Whether there is a complete copy in this domain: nearly always, for who was woken by that.
    fn is_here(&self, number: u64) -> bool {
        let (Found::Ready(slot), _) = self.core().topic.entry(self.column(), number).look() else {
            return false;
        };
        let pool = self.pools().get(self.core(), slot.pool, number).ok();
        let fence = pool.and_then(|pool| pool.view.fence(SlotId::from(slot.slot)));
        // The value of a slot's fence is that of its generation, and 1.
        let this = |fence: &Fence| fence.value().wrapping_sub(1) as u16 == slot.generation;
        fence.is_some_and(|fence| this(&fence) && fence.state() == FenceState::Complete)
    }

    /// A copy in this domain, if there is one that can be used as it is.
    fn ready(&self, number: u64, len: u64, how: How<'_>) -> Result<Option<Brought>, TakeError> {
        let entry = self.core().topic.entry(self.column(), number);
        let (Found::Ready(slot), word) = entry.look() else { return Ok(None) };
        // If it cannot be had, it is brought, and then it is an error.
        let Some(pin) = self.share(slot, number, len, &|| entry.still(word)).unwrap_or(None) else {
            return Ok(None);
        };
        let Some(fence) = pin.mapped.view.fence(pin.slot) else { return Ok(None) };
        let fence = match fence.state() {
            FenceState::Complete => None,
            FenceState::Pending if matches!(how, How::On(..)) => Some((fence, pin.mapped.owner())),
            FenceState::Pending | FenceState::Poisoned => return Ok(None),
        };
        Ok(Some(Brought { pin, fence, ordered: false }))
    }

    /// A copy in this domain, made if need be; nothing if the message has passed.
    fn brought(&self, number: u64, source: &Source<'_>, how: How<'_>) -> Result<Option<Brought>, TakeError> {
        let share = |slot, still: &dyn Fn() -> bool| self.share(slot, number, source.len, still);
        self.copies().bring(number, source, how, share).map_err(|source| TakeError::Copy {
            topic: self.core().topic.name.clone(),
            sequence: number,
            domain: self.domain(),
            source,
        })
    }

    /// Takes hold of a copy that lies in a slot while its entry says so. Nothing if it was recycled.
    fn share(
        &self,
        reference: Reference,
        number: u64,
        len: u64,
        still: &dyn Fn() -> bool,
    ) -> Result<Option<Pin>, ViewError> {
        let mapped = match self.pools().get(self.core(), reference.pool, number) {
            Ok(mapped) => mapped,
            Err(ViewError::Gone(_)) => return Ok(None),
            Err(error) => return Err(error),
        };
        let slot = SlotId::from(reference.slot);
        let Some(control) = mapped.view.control(slot) else { return Ok(None) };
        if mapped.view.bytes().domain() != self.domain()
            || !control.pin(self.core().place, reference.generation)
        {
            return Ok(None);
        }
        // From here on the slot is held, and `Pin` lets go of it on every way out.
        let pin = Pin { mapped, slot };
        let fits = pin.mapped.view.place(slot).is_some_and(|(_, has)| len <= has);
        Ok((still() && fits).then_some(pin))
    }
}
