//! Small messages that travel in the row: see [`row`](crate::protocol::row) for the protocol.

use std::sync::Arc;

use situ_memory::sync::atomic::Ordering;

use crate::port::copied_messages::CopiedMessages;
use crate::port::loan::RawLoan;
use crate::port::pool_cache::Mapped;
use crate::port::publisher::RawPublisher;
use crate::port::sample::RawSample;
use crate::port::subscriber::RawSubscriber;
use crate::protocol::ring::{Copied, Reference, Ring};
use crate::protocol::row::NOT_STAMPED;
use crate::topic::Encoding;
use crate::topic::format::BODY_IN_SLOT;

impl RawPublisher {
    /// The words of a message, if the publisher copies it into its row. Decided before the claim; a publisher
    /// that joins meanwhile makes the copy useless, but not wrong.
    #[inline(always)]
    pub(crate) fn copied<'l>(&self, loan: &'l RawLoan<'_>) -> Option<Copied<'l>> {
        let CopiedMessages { size, user_header_size, since } = self.copied?;
        let fits = loan.head_size == size
            && loan.body_size == 0
            && loan.body_pool == BODY_IN_SLOT
            && loan.encoding == Encoding::Flat;
        if !fits || !self.topic.registry().alone.is(since) {
            return None;
        }
        let begin = loan.head().wrapping_sub(user_header_size);
        // SAFETY: the head begins at 64 or 128 bytes of a slot of at least this size, and its user header
        // lies before it, behind the descriptor. The size of the user header is a multiple of 8, and sizes of
        // slots are multiples of 64. Shared memory is always initialized, and only this publisher writes its
        // slots.
        let message = unsafe {
            std::slice::from_raw_parts(
                begin.cast::<u64>().cast_const(),
                (user_header_size + size).div_ceil(8),
            )
        };
        Some(Copied::new(message))
    }
}

impl RawSubscriber {
    /// Copies a message out of its row. `None` if the row has no copy: then the slot is taken.
    ///
    /// The copy is private, so the message cannot change any more, and nothing has to be given back. It is
    /// made only where the slot would be read in place: messages of publishers that are not trusted keep the
    /// way that counts them as copies.
    #[inline(always)]
    pub(crate) fn copy_from_row(
        &self,
        ring: Ring<'_>,
        reference: Reference,
        number: u64,
    ) -> Option<RawSample> {
        let core = self.core();
        core.cells.as_ref()?;
        let publisher_sequence = core.topic.registry().alone.wrote(number)?;
        let lend = |mapped: &Arc<Mapped>| if mapped.in_place { self.record_for(mapped) } else { None };
        let mut sample = self.pools().with(core, reference.pool, number, lend).ok()??;
        let cell = sample.cell()?;
        // The header was checked: the sizes fit a cell.
        let copied_size = core.topic.header.copied_size;
        // SAFETY: the sample was just made, and this is its first use of the cell.
        let words = unsafe { cell.words(core.topic.user_header_size(), copied_size as usize) };
        let stamp = ring.read_copy(number, reference, words)?;
        let descriptor = cell.descriptor();
        let published = if stamp == NOT_STAMPED { 0 } else { stamp };
        descriptor.published_at_ns.store(published, Ordering::Relaxed);
        descriptor.publisher_sequence.store(publisher_sequence, Ordering::Relaxed);
        let (message, descriptor) = (cell.message(), std::ptr::from_ref(descriptor));
        let fields = sample.fields_mut();
        fields.head = message;
        fields.head_size = copied_size;
        fields.body = message;
        fields.body_size = 0;
        fields.encoding = Encoding::Flat;
        fields.sequence = number;
        fields.received_at_ns = self.reception_time();
        fields.descriptor = descriptor;
        Some(sample)
    }
}
