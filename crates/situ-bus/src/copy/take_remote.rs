//! Takes in another domain than the message's, or of messages whose payload is not behind their head.

use std::io::ErrorKind::NotFound;
use std::sync::Arc;

use situ_memory::{Domain, DomainError, Fence, FenceState, HOST, MemoryError, SlotId, Stream, ViewError};

use crate::copy::copier::{CopyHandle, CopyMode, Source};
use crate::copy::copy_error::CopyError;
use crate::node::liveness::NodeId;
use crate::port::bodies::NO_BODY;
use crate::port::payload::Payload;
use crate::port::pool_cache::{Mapped, Pin};
use crate::port::sample::RawSample;
use crate::port::sample_payload::IncompleteError;
use crate::port::subscriber::{Missed, RawSubscriber, TakeError, Taken};
use crate::protocol::copy_state::Found;
use crate::protocol::ring::Reference;
use crate::timeouts::STREAM_TIMEOUT;
use crate::topic::format::{BODY_ENTRY, BODY_IN_SLOT, BODY_IS_MESSAGE, DESCRIPTOR, domain_from_word};
use crate::topic::{Encoding, StateWord};

/// What is said of a copy whose place is smaller than when it was pinned.
const SHRUNK: &str = "the place of its copy became smaller while it was taken";

/// Where a copy lies. Its place was checked when it was pinned; its owner may write there, so what counts is
/// what is read and checked now, once. Nothing if the payload does not fit any more.
fn payload_of(copy: CopyHandle, len: u64, body_size: usize, head: Option<Arc<Pin>>) -> Option<Payload> {
    let CopyHandle { pin, fence, .. } = copy;
    let (offset, _) = pin.mapped.view.place(pin.slot).filter(|(_, has)| len <= *has)?;
    pin.mapped.view.bytes().find(offset, len).ok()?;
    let mapped = pin.mapped.clone();
    // The copier completes a copy.
    let (fence, owner) = fence.map_or((None, NodeId(0)), |(fence, copier)| (Some(fence), copier));
    Some(Payload { mapped, offset, len, body_size, fence, owner, _copy: Some(pin), _head: head })
}

impl RawSubscriber {
    /// Takes a message whose payload is not behind its head, or has to be copied. `taken` holds the head,
    /// whose descriptor was read but not checked. On the host the message has to be complete; with a stream
    /// it need not be, because the stream waits. Nothing if it has passed meanwhile.
    #[cold]
    pub(crate) fn take_elsewhere(
        &self,
        taken: Taken,
        on: Option<&dyn Stream>,
    ) -> Result<Option<RawSample>, Missed> {
        let number = taken.number;
        let mut usual = CopyMode::Complete;
        if self.domain() == HOST && !taken.is_expired() && !self.is_here(number) && self.is_stale(number)? {
            usual = CopyMode::Anew;
        }
        let Some((sample, ordered)) = self.take_from_elsewhere(taken, on, usual)? else { return Ok(None) };
        if let Some(stream) = on.filter(|_| !ordered) {
            sample.wait_on(stream, STREAM_TIMEOUT).map_err(|error| TakeError::Copy {
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

    /// The sample, and whether its payload comes before whatever is enqueued on the stream from now on. Where
    /// nothing is enqueued, it is brought as is `usual`.
    fn take_from_elsewhere(
        &self,
        mut taken: Taken,
        on: Option<&dyn Stream>,
        usual: CopyMode<'_>,
    ) -> Result<Option<(RawSample, bool)>, TakeError> {
        // Asked once: what has time to expire meanwhile is taken as it was found.
        let expired = taken.is_expired();
        let is_head = taken.body_pool == BODY_IN_SLOT && taken.body_size == 0 && self.has_bulk();
        // Copies are enqueued where they are wanted. The stream then holds the head too, for as long as it
        // copies what belongs to it. Where nothing can be copied, the sample itself holds it.
        let here = |stream: &&dyn Stream| stream.domain() == self.domain() && !expired && !is_head;
        let hold = on.filter(here).map(|stream| {
            let nothing = Pin { mapped: taken.pin.mapped.clone(), slot: NO_BODY };
            let slot = taken.pin.slot;
            (stream, Arc::new(std::mem::replace(&mut taken.pin, nothing)), slot)
        });
        let how = hold.as_ref().map_or(usual, |(stream, pin, _)| CopyMode::On(*stream, pin));
        let head_pin = || hold.as_ref().map(|(_, pin, _)| pin.clone());
        let head_slot = hold.as_ref().map_or(taken.pin.slot, |(.., slot)| *slot);
        let Taken { pin, memory, len, number, generation, .. } = &taken;
        let publisher = self.core().topic.publisher(usize::from(taken.pool));
        let keeps = StateWord::read(&publisher.state).is_transient_local();
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
        let word = StateWord::read(&bodies.state);
        // After the state: an entry that was given to another since the message was held says so by now.
        if bodies.tenure.of(*number).is_none() {
            return Ok(None);
        }
        if !word.is_of_bodies() {
            return Err(malformed("its body lies in a pool that is none of bodies"));
        }
        // What lies in this domain is never copied; for anything else, a copy that is there needs no look at
        // the original.
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
                        // Bodies have no holder bits: of those in memory that the CPU may touch nothing is
                        // registered.
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

    /// Whether there is a complete copy in this domain. Nearly always true for a subscriber that was woken by
    /// it.
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
    fn ready(&self, number: u64, len: u64, how: CopyMode<'_>) -> Result<Option<CopyHandle>, TakeError> {
        let entry = self.core().topic.entry(self.column(), number);
        let (Found::Ready(slot), word) = entry.look() else { return Ok(None) };
        // If it cannot be had, it is brought, and then it is an error.
        let Some(pin) = self.share(slot, number, len, &|| entry.still(word)).unwrap_or(None) else {
            return Ok(None);
        };
        let Some(fence) = pin.mapped.view.fence(pin.slot) else { return Ok(None) };
        let fence = match fence.state() {
            FenceState::Complete => None,
            FenceState::Pending if matches!(how, CopyMode::On(..)) => Some((fence, pin.mapped.owner())),
            FenceState::Pending | FenceState::Poisoned => return Ok(None),
        };
        Ok(Some(CopyHandle { pin, fence, ordered: false }))
    }

    /// A copy in this domain, made if need be; nothing if the message has passed.
    fn brought(
        &self,
        number: u64,
        source: &Source<'_>,
        how: CopyMode<'_>,
    ) -> Result<Option<CopyHandle>, TakeError> {
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
