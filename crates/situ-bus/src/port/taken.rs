//! A message that is being taken: its head is pinned, and its descriptor is not checked yet.

use std::sync::Arc;

use situ_memory::{SlotId, ViewError};

use crate::port::payload::Payload;
use crate::port::pool_cache::Mapped;
use crate::port::sample::{RawSample, is_expired};
use crate::port::take_error::TakeError;
use crate::topic::Encoding;
use crate::topic::format::{BODY_IN_SLOT, Descriptor};

/// Why there is no sample of a message.
pub(crate) enum Missed {
    /// It is not complete yet, and stays available.
    NotYet,
    /// The subscriber holds too many slots, and the message stays available.
    Held(TakeError),
    /// Its publisher does not match the subscriber.
    Stranger,
    /// It cannot be taken.
    Failed(TakeError),
}

impl From<TakeError> for Missed {
    fn from(error: TakeError) -> Self {
        Self::Failed(error)
    }
}

/// A message whose head is pinned, as its descriptor describes it. The descriptor is read once, because its
/// publisher could change it at any time, and is not checked yet.
pub(crate) struct Taken {
    /// The sample that it becomes. It holds the slot of the head, and has nothing else yet.
    pub(crate) sample: RawSample,
    /// The slot's offset in its pool, and its address.
    pub(crate) offset: u64,
    pub(crate) memory: *const u8,
    pub(crate) len: usize,
    pub(crate) number: u64,
    pub(crate) pool: u16,
    pub(crate) generation: u16,
    /// The offset of the head in the slot.
    pub(crate) head_offset: usize,
    pub(crate) descriptor: *const Descriptor,
    pub(crate) head_size: usize,
    pub(crate) encoding: Encoding,
    pub(crate) body_offset: usize,
    pub(crate) body_size: usize,
    pub(crate) body_pool: u32,
    pub(crate) body_slot: SlotId,
}

impl Taken {
    /// The pool of the head.
    #[inline(always)]
    pub(crate) fn mapped(&self) -> &Arc<Mapped> {
        self.sample.mapped()
    }

    /// The slot of the head.
    #[inline(always)]
    pub(crate) fn slot(&self) -> SlotId {
        self.sample.fields().slot
    }

    /// Whether head and body lie in the slot.
    #[inline(always)]
    pub(crate) fn body_fits(&self) -> bool {
        let head_end = self.head_offset + self.head_size;
        let fits = head_end <= self.len
            && self.body_offset >= head_end
            && self.encoding.allows_body_at(self.body_offset)
            && self.body_offset.checked_add(self.body_size).is_some_and(|end| end <= self.len);
        // An empty body may begin right behind a head that fills its slot.
        fits || (head_end <= self.len && self.body_size == 0)
    }

    /// Checks that head and body, if they lie in the slot, have memory.
    #[inline(always)]
    pub(crate) fn find(&self) -> Result<(), ViewError> {
        let head_end = self.head_offset + self.head_size;
        let in_slot = self.body_pool == BODY_IN_SLOT && self.body_size > 0;
        let end = if in_slot { self.body_offset + self.body_size } else { head_end };
        self.mapped().view.find(self.slot(), self.offset, end as u64)
    }

    pub(crate) fn is_expired(&self) -> bool {
        // SAFETY: checked by `RawSubscriber::pin`; the mapping lives as long as the pin.
        is_expired(unsafe { &*self.descriptor })
    }

    /// Makes the sample. Head and body were checked to lie in memory that the hold, or the payload, keeps
    /// unchanged.
    #[inline(always)]
    pub(crate) fn into_sample(
        self,
        head: *const u8,
        (body, body_size): (*const u8, usize),
        payload: Option<Payload>,
    ) -> RawSample {
        let mut sample = self.sample;
        let fields = sample.fields_mut();
        fields.head = head;
        // It fits its slot, and was read as 32 bits.
        fields.head_size = self.head_size as u32;
        fields.body = body;
        fields.body_size = body_size;
        fields.encoding = self.encoding;
        fields.sequence = self.number;
        fields.descriptor = self.descriptor;
        if let Some(payload) = payload {
            fields.payload = Some(Box::new(payload));
        }
        sample
    }
}
