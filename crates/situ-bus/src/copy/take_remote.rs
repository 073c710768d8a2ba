//! Takes messages whose payload lies in another domain, or not behind their head.

use std::io::ErrorKind::NotFound;
use std::sync::Arc;

use situ_memory::{
    Domain, DomainError, Fence, FenceState, HOST, MemoryError, SlotId, Stream, ViewError, short_generation,
};

use crate::copy::copier::{CopyHandle, CopyMode, Source};
use crate::copy::copy_error::CopyError;
use crate::node::liveness::NodeId;
use crate::port::payload::Payload;
use crate::port::pool_cache::{Mapped, Pin};
use crate::port::sample::RawSample;
use crate::port::sample_payload::IncompleteError;
use crate::port::subscriber::{RawSubscriber, TakeError};
use crate::port::taken::{Missed, Taken};
use crate::protocol::copy_state::Found;
use crate::protocol::ring::Reference;
use crate::timeouts::STREAM_TIMEOUT;
use crate::topic::format::{BODY_ENTRY, BODY_IN_SLOT, BODY_IS_MESSAGE, domain_from_word};
use crate::topic::{Encoding, StateWord};

/// The error text for a copy whose place is smaller than when it was pinned.
const SHRUNK: &str = "the place of its copy became smaller while it was taken";

/// The steps of a take in another domain. The descriptor was read once; each step checks what it uses of it.
struct RemoteTake<'a> {
    subscriber: &'a RawSubscriber,
    taken: &'a Taken,
    head_slot: SlotId,
    /// The pin of the head, if a stream shares it.
    hold: Option<&'a Arc<Pin>>,
    how: CopyMode<'a>,
    /// Whether the publisher keeps the message for late subscribers.
    keeps: bool,
}

impl RemoteTake<'_> {
    fn malformed(&self, reason: &str) -> TakeError {
        let topic = self.subscriber.core().topic.name.clone();
        TakeError::Malformed { topic, sequence: self.taken.number, reason: reason.to_owned() }
    }

    /// Checks that the head lies in its slot and has memory. Returns false if the pool is gone.
    fn check_head(&self) -> Result<bool, TakeError> {
        let taken = self.taken;
        let end = taken.head_offset + taken.head_size;
        if end > taken.len {
            return Err(self.malformed("its head reaches out of its slot"));
        }
        let is_wanted = match taken.encoding {
            Encoding::Flat => true,
            Encoding::Region => false,
            Encoding::Xcdr1 | Encoding::Xcdr2 => {
                self.subscriber.domain() == HOST || self.subscriber.takes_serialized
            }
        };
        if !is_wanted {
            return Err(self.malformed("only flat messages can be on a device, unless both sides serialize"));
        }
        match taken.mapped().view.find(self.head_slot, taken.offset, end as u64) {
            Ok(()) => Ok(true),
            Err(ViewError::Gone(_)) => Ok(false),
            Err(source) => Err(self.subscriber.pool_error(taken.number, source)),
        }
    }

    /// The offset and length of a payload in the slot of its head. `None` if its memory is gone.
    fn place_in_slot(&self) -> Result<Option<(u64, u64)>, TakeError> {
        let taken = self.taken;
        if !taken.body_fits() {
            return Err(self.malformed("its body reaches out of its slot"));
        }
        let (at, size) = match taken.body_size {
            0 => (taken.head_offset, taken.head_size),
            size => (taken.body_offset, size),
        };
        let Some(offset) = taken.mapped().view.bytes().offset_of(taken.memory as u64 + at as u64) else {
            return Err(self.malformed("its slot lies outside of the pool"));
        };
        let is_there = self.subscriber.find_payload(taken.number, taken.mapped(), offset, size as u64)?;
        Ok(is_there.then_some((offset, size as u64)))
    }

    /// A copy of a payload in the slot of its head. `None` if the message has passed.
    fn copy_of_slot(&self, offset: u64, len: u64) -> Result<Option<(Payload, bool)>, TakeError> {
        if let Some(copy) = self.ready_copy(self.taken.body_size)? {
            return Ok(Some(copy));
        }
        let mapped = self.taken.mapped();
        let register = |domain: &dyn Domain| mapped.register(domain, self.head_slot, len);
        self.bring(mapped, (offset, len), None, &register, self.taken.body_size)
    }

    /// Whether a payload in another pool is the whole message, and not only its body.
    fn is_whole(&self) -> Result<bool, TakeError> {
        if self.taken.body_pool & !(BODY_ENTRY | BODY_IS_MESSAGE) != 0 {
            return Err(self.malformed("its body lies in a pool that cannot exist"));
        }
        let is_whole = self.taken.body_pool & BODY_IS_MESSAGE != 0;
        if is_whole && self.taken.body_size != self.taken.head_size {
            return Err(
                self.malformed("its payload is the whole message, but has another size than its head")
            );
        }
        Ok(is_whole)
    }

    /// The entry of the body's pool, and whether the pool is in the subscriber's domain. `None` if the entry
    /// was given to another publisher.
    fn entry_of_body(&self) -> Result<Option<(u16, bool)>, TakeError> {
        let entry = (self.taken.body_pool & BODY_ENTRY) as u16;
        let Some(bodies) = self.subscriber.core().topic.named_entry(usize::from(entry)) else {
            return Err(self.malformed("its body lies in a pool that does not exist"));
        };
        let word = StateWord::read(&bodies.state);
        // Read after the state: if the entry was given away since the message was held, its tenure shows that
        // by now. If it is free, no pool has it.
        if bodies.tenure.of(self.taken.number).is_none() || !word.is_taken() {
            return Ok(None);
        }
        if !word.is_of_bodies() {
            return Err(self.malformed("its body lies in a pool that does not hold bodies"));
        }
        Ok(Some((entry, domain_from_word(&bodies.domain) == self.subscriber.domain())))
    }

    /// An existing copy, which needs no access to the original.
    fn ready_copy(&self, body_size: usize) -> Result<Option<(Payload, bool)>, TakeError> {
        let len = self.payload_len();
        let copy = self.subscriber.ready(self.taken.number, len, self.how)?;
        copy.map_or(Ok(None), |copy| self.payload_of(copy, len, body_size))
    }

    /// The body itself if it lies in the subscriber's domain, or a copy of it. `None` if the message has
    /// passed.
    fn body_or_copy(&self, entry: u16, body_size: usize) -> Result<Option<(Payload, bool)>, TakeError> {
        let (subscriber, taken) = (self.subscriber, self.taken);
        let mapped = match subscriber.pools().get(subscriber.core(), entry, taken.number) {
            Ok(mapped) => mapped,
            Err(ViewError::Gone(_)) => return Ok(None),
            Err(source) => return Err(subscriber.pool_error(taken.number, source)),
        };
        // The files may be gone since the pool was mapped: a ledger that names a head does not keep its body.
        let Some((offset, has)) = mapped.view.place(taken.body_slot) else {
            return match subscriber.no_place(taken.number, &mapped.view, taken.body_slot) {
                TakeError::Pool { source: ViewError::Gone(_), .. } => Ok(None),
                error => Err(error),
            };
        };
        let end = taken.body_offset.checked_add(taken.body_size);
        let fits = end.is_some_and(|end| end as u64 <= has);
        let Some(fence) = mapped.view.fence(taken.body_slot).filter(|_| fits) else {
            return Err(self.malformed("its body reaches out of its slot"));
        };
        let (offset, len) = (offset + taken.body_offset as u64, taken.body_size as u64);
        if !subscriber.find_payload(taken.number, &mapped, offset, len)? {
            return Ok(None);
        }
        if mapped.view.bytes().domain() != subscriber.domain() {
            // Bodies are not named in ledgers, so bodies in memory that the CPU can access are not
            // registered.
            return self.bring(&mapped, (offset, len), Some(&fence), &|_| {}, body_size);
        }
        let (owner, fence) = (mapped.owner(), Some(fence));
        let head = self.hold.cloned();
        Ok(Some((Payload { mapped, offset, len, body_size, fence, owner, _copy: None, _head: head }, false)))
    }

    /// Copies a payload into the subscriber's domain. Returns `None` if the message has passed.
    fn bring(
        &self,
        mapped: &Mapped,
        (offset, len): (u64, u64),
        fence: Option<&Fence>,
        register: &dyn Fn(&dyn Domain),
        body_size: usize,
    ) -> Result<Option<(Payload, bool)>, TakeError> {
        let source = Source {
            memory: mapped.view.bytes(),
            offset,
            len,
            fence,
            owner: mapped.owner(),
            keeps: self.keeps,
            origin: Some((self.taken.mapped(), self.head_slot, self.taken.generation)),
            register,
        };
        let copy = self.subscriber.brought(self.taken.number, &source, self.how)?;
        copy.map_or(Ok(None), |copy| self.payload_of(copy, len, body_size))
    }

    /// The payload's size in bytes: that of the body, or of the head if there is nothing else.
    fn payload_len(&self) -> u64 {
        let taken = self.taken;
        let is_head = taken.body_pool == BODY_IN_SLOT && taken.body_size == 0;
        (if is_head { taken.head_size } else { taken.body_size }) as u64
    }

    /// Returns where a copy lies, and whether it is ordered before all work that is enqueued on the stream
    /// from now on. The place was checked when it was pinned, but its owner may write there. Only the place
    /// that is read and checked here, once, is used.
    ///
    /// `None` if the copy's files are gone: its copier was killed and removed after the pin, and this process
    /// has not mapped that memory yet.
    fn payload_of(
        &self,
        copy: CopyHandle,
        len: u64,
        body_size: usize,
    ) -> Result<Option<(Payload, bool)>, TakeError> {
        let CopyHandle { pin, fence, ordered } = copy;
        let (subscriber, number) = (self.subscriber, self.taken.number);
        let Some((offset, has)) = pin.mapped.view.place(pin.slot) else {
            return match subscriber.no_place(number, &pin.mapped.view, pin.slot) {
                TakeError::Pool { source: ViewError::Gone(_), .. } => Ok(None),
                error => Err(error),
            };
        };
        if len > has {
            return Err(self.malformed(SHRUNK));
        }
        if !subscriber.find_payload(number, &pin.mapped, offset, len)? {
            return Ok(None);
        }
        let mapped = pin.mapped.clone();
        // The copier's node owns a pending fence of a copy.
        let (fence, owner) = fence.map_or((None, NodeId(0)), |(fence, copier)| (Some(fence), copier));
        let head = self.hold.cloned();
        let payload = Payload { mapped, offset, len, body_size, fence, owner, _copy: Some(pin), _head: head };
        Ok(Some((payload, ordered)))
    }
}

impl RawSubscriber {
    /// Takes a message whose payload is not behind its head, or has to be copied. `taken` holds the head; its
    /// descriptor was read but not checked. On the host the message has to be complete. With a stream it need
    /// not be, because the stream waits. Returns `None` if the message has passed in the meantime.
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

    /// Returns the sample, and whether its payload is ordered before all work that is enqueued on the stream
    /// from now on. If nothing can be enqueued, the payload is copied in the mode `usual`.
    fn take_from_elsewhere(
        &self,
        mut taken: Taken,
        on: Option<&dyn Stream>,
        usual: CopyMode<'_>,
    ) -> Result<Option<(RawSample, bool)>, TakeError> {
        // Checked once: a message that expires during the take stays valid.
        let expired = taken.is_expired();
        let in_slot = taken.body_pool == BODY_IN_SLOT;
        let is_head = in_slot && taken.body_size == 0 && self.has_bulk();
        // Copies are enqueued on a stream of the subscriber's domain. The stream then holds the head too,
        // while it copies the message's payload. If nothing can be enqueued, the sample alone holds the head.
        let here = |stream: &&dyn Stream| stream.domain() == self.domain() && !expired && !is_head;
        let head_slot = taken.slot();
        let hold = on.filter(here).map(|stream| (stream, taken.sample.share_pin()));
        let publisher = self.core().topic.publisher(usize::from(taken.pool));
        let take = RemoteTake {
            subscriber: self,
            taken: &taken,
            head_slot,
            hold: hold.as_ref().map(|(_, pin)| pin),
            how: hold.as_ref().map_or(usual, |(stream, pin)| CopyMode::On(*stream, pin)),
            keeps: StateWord::read(&publisher.state).is_transient_local(),
        };

        if !take.check_head()? {
            return Ok(None);
        }
        let head = taken.memory.wrapping_add(taken.head_offset);
        if expired {
            return Ok(Some((taken.into_sample(head, (head, 0), None), true)));
        }
        if in_slot {
            // The payload is in host memory, but the subscriber takes on a device.
            let Some((offset, len)) = take.place_in_slot()? else { return Ok(None) };
            if is_head {
                // The message is only a head, which stays on the host as every head does.
                return Ok(Some((taken.into_sample(head, (head, 0), None), true)));
            }
            let Some((payload, ordered)) = take.copy_of_slot(offset, len)? else { return Ok(None) };
            return Ok(Some((taken.into_sample(head, (head, 0), Some(payload)), ordered)));
        }

        let is_whole = take.is_whole()?;
        let body_size = if is_whole { 0 } else { taken.body_size };
        let Some((entry, is_here)) = take.entry_of_body()? else { return Ok(None) };
        let found = match if is_here { None } else { take.ready_copy(body_size)? } {
            Some(copy) => Some(copy),
            None => take.body_or_copy(entry, body_size)?,
        };
        let Some((payload, ordered)) = found else { return Ok(None) };
        // If the CPU can access the payload, the sample shows it as if it lay behind the head.
        let shown = payload.mapped.view.bytes().host(payload.offset, payload.len);
        let shown = shown.map_err(|source| self.pool_error(taken.number, source.into()))?;
        let Some(bytes) = shown.map(<*mut u8>::cast_const) else {
            return Ok(Some((taken.into_sample(head, (head, 0), Some(payload)), ordered)));
        };
        let head = if is_whole { bytes } else { head };
        Ok(Some((taken.into_sample(head, (bytes, body_size), Some(payload)), ordered)))
    }

    /// Checks that a payload lies in allocated memory. Returns whether the payload still exists.
    fn find_payload(&self, number: u64, pool: &Mapped, offset: u64, len: u64) -> Result<bool, TakeError> {
        match pool.view.bytes().find(offset, len) {
            Ok(()) => Ok(true),
            Err(DomainError::Memory(MemoryError::System { source, .. })) if source.kind() == NotFound => {
                Ok(false)
            }
            Err(error) => Err(self.pool_error(number, error.into())),
        }
    }

    /// Whether there is a complete copy in this domain. Nearly always true for a subscriber that the copy's
    /// end woke.
    fn is_here(&self, number: u64) -> bool {
        let (Found::Ready(slot), _) = self.core().topic.entry(self.column(), number).look() else {
            return false;
        };
        let pool = self.pools().get_copies(self.core(), slot.pool).ok();
        let fence = pool.and_then(|pool| pool.view.fence(SlotId::from(slot.slot)));
        // The value of a slot's fence is the slot's generation plus 1.
        let this = |fence: &Fence| short_generation(fence.value().wrapping_sub(1)) == slot.generation;
        fence.is_some_and(|fence| this(&fence) && fence.state() == FenceState::Complete)
    }

    /// A copy in this domain that can be used as it is, if there is one.
    fn ready(&self, number: u64, len: u64, how: CopyMode<'_>) -> Result<Option<CopyHandle>, TakeError> {
        let entry = self.core().topic.entry(self.column(), number);
        let (Found::Ready(slot), word) = entry.look() else { return Ok(None) };
        // If it cannot be mapped, the caller makes a copy, and reports the error if that fails too.
        let Some(pin) = self.share(slot, len, &|| entry.still(word)).unwrap_or(None) else {
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

    /// A copy in this domain, made if there is none. `None` if the message has passed.
    fn brought(
        &self,
        number: u64,
        source: &Source<'_>,
        how: CopyMode<'_>,
    ) -> Result<Option<CopyHandle>, TakeError> {
        let share = |slot, still: &dyn Fn() -> bool| self.share(slot, source.len, still);
        self.copies().bring(number, source, how, share).map_err(|source| TakeError::Copy {
            topic: self.core().topic.name.clone(),
            sequence: number,
            domain: self.domain(),
            source,
        })
    }

    /// Pins a copy's slot while the entry still names it. Returns `None` if the slot was recycled.
    fn share(
        &self,
        reference: Reference,
        len: u64,
        still: &dyn Fn() -> bool,
    ) -> Result<Option<Pin>, ViewError> {
        let mapped = match self.pools().get_copies(self.core(), reference.pool) {
            Ok(mapped) => mapped,
            Err(ViewError::Gone(_)) => return Ok(None),
            Err(error) => return Err(error),
        };
        if mapped.view.bytes().domain() != self.domain() {
            return Ok(None);
        }
        let slot = SlotId::from(reference.slot);
        let (Some(control), Some(word)) = (mapped.view.control(slot), self.free_word()) else {
            return Ok(None);
        };
        if !self.hold(word, control, reference) {
            return Ok(None);
        }
        // From here on the slot is held, and `Pin` releases it on every return.
        let pin = Pin { mapped, slot, word: word as u16 };
        let fits = pin.mapped.view.place(pin.slot).is_some_and(|(_, has)| len <= has);
        Ok((still() && fits).then_some(pin))
    }
}
