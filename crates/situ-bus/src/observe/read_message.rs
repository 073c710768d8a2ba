//! Reading the messages of a topic without taking part in it.
//!
//! An observer holds no slot, so a message may be recycled before it is read. Messages that travel in rows
//! stay until the ring has gone round once.

use situ_layout::SharedBytes;
use situ_memory::sync::atomic::Ordering;

use crate::observe::observer::{Observer, Slot};
use crate::protocol::ring::{Look, Reference};
use crate::protocol::row::NOT_STAMPED;
use crate::topic::Encoding;
use crate::topic::format::{BODY_IN_SLOT, head_offset};
use crate::trust::Limits;

/// A private copy of a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ObservedMessage {
    /// When it was published, by [`now_ns`](crate::now_ns); 0 if its publisher leaves out time stamps.
    pub published_at_ns: u64,
    /// The encoding of its bytes.
    pub encoding: Encoding,
    /// Its head.
    pub head: Vec<u8>,
    /// Its body.
    pub body: Vec<u8>,
}

/// A message, its user header, and the number of its publisher's pool.
#[derive(Debug)]
pub(super) struct Read {
    pub(super) publisher: u64,
    pub(super) user_header: Vec<u8>,
    pub(super) message: ObservedMessage,
}

impl Observer {
    /// Goes back to the oldest message that may still be there.
    pub(super) fn rewind(&mut self) {
        self.next = 0;
    }

    /// How many messages the topic keeps at most.
    pub(super) fn depth(&self) -> usize {
        usize::try_from(self.topic.ring_of(self.next).depth()).unwrap_or(usize::MAX)
    }

    /// Copies the next message, if it is published. Messages that cannot be read are counted in `missed`.
    pub(super) fn read(&mut self) -> Option<Read> {
        // Rows that another process wrote must not lead around for ever.
        let mut steps = 4 * self.topic.ring_of(self.next).depth();
        while steps > 0 {
            steps -= 1;
            let number = self.next;
            let ring = self.topic.ring_of(number);
            match ring.look(number) {
                Look::NotYet if ring.has_lapped(number) => {
                    self.skip_to(self.topic.end().saturating_sub(ring.depth()).max(number.saturating_add(1)));
                }
                Look::NotYet => return None,
                Look::Sealed => {
                    self.topic.follow().ok()?;
                    if self.topic.ring_of(number).look(number) == Look::Sealed {
                        return None;
                    }
                }
                Look::Passed(later) => {
                    let oldest = later.saturating_add(1).saturating_sub(ring.depth());
                    self.skip_to(oldest.max(number.saturating_add(1)));
                }
                Look::Here(reference) => {
                    self.next = number.wrapping_add(1);
                    match self
                        .copy_from_row(number, reference)
                        .or_else(|| self.copy_from_slot(number, reference))
                    {
                        Some(read) => return Some(read),
                        None => self.missed = self.missed.saturating_add(1),
                    }
                }
            }
        }
        None
    }

    fn skip_to(&mut self, number: u64) {
        self.missed = self.missed.saturating_add(number.saturating_sub(self.next));
        self.next = number;
    }

    fn copy_from_row(&self, number: u64, reference: Reference) -> Option<Read> {
        let publisher = self.topic.named_entry(usize::from(reference.pool))?.tenure.of(number)?;
        // The sizes were checked when the topic was opened: they fit a row.
        let size = self.topic.header.copied_size as usize;
        if size == 0 {
            return None;
        }
        // The row is read before this, and its copy after it: see `protocol::row`.
        self.topic.registry().alone.wrote(number)?;
        let in_header = self.topic.user_header_size() / 8;
        let mut words = vec![0; in_header + size.div_ceil(8)];
        let stamp = self.topic.ring_of(number).read_copy(number, reference, &mut words)?;
        let bytes = |words: &[u64]| words.iter().flat_map(|word| word.to_ne_bytes()).collect::<Vec<u8>>();
        let (user_header, mut head) = (bytes(&words[..in_header]), bytes(&words[in_header..]));
        head.truncate(size);
        let published_at_ns = if stamp == NOT_STAMPED { 0 } else { stamp };
        let message = ObservedMessage { published_at_ns, encoding: Encoding::Flat, head, body: Vec::new() };
        Some(Read { publisher, user_header, message })
    }

    fn copy_from_slot(&mut self, number: u64, reference: Reference) -> Option<Read> {
        let publisher = self.topic.named_entry(usize::from(reference.pool))?.tenure.of(number)?;
        let user_header_size = self.topic.user_header_size();
        self.read_slot(number, reference, |slot| {
            let (user_header, message) = copy(&slot, user_header_size)?;
            Some(Read { publisher, user_header, message })
        })
    }
}

/// Copies a message out of its slot. Each word of the descriptor is read once and checked, because the slot
/// may be recycled, or its owner hostile.
fn copy(slot: &Slot<'_>, user_header_size: usize) -> Option<(Vec<u8>, ObservedMessage)> {
    let Slot { view, id, lent, descriptor } = slot;
    let head_at = head_offset(user_header_size as u32);
    let head_size = descriptor.head_size.load(Ordering::Relaxed) as usize;
    let body_size = usize::try_from(descriptor.body_size.load(Ordering::Relaxed)).ok()?;
    let body_at = usize::try_from(descriptor.body_offset.load(Ordering::Relaxed)).ok()?;
    let encoding = Encoding::from_number(descriptor.encoding.load(Ordering::Relaxed))?;
    if body_size > 0 && descriptor.body_pool.load(Ordering::Relaxed) != BODY_IN_SLOT {
        return None;
    }
    let (body_at, head_end) =
        (if body_size > 0 { body_at } else { head_at }, head_at.checked_add(head_size)?);
    let end = body_at.checked_add(body_size)?.max(head_end);
    if end > lent.len || end as u64 > Limits::default().message {
        return None;
    }
    view.find(*id, lent.offset, end as u64).ok()?;
    // SAFETY: the view checked that the slot has that many bytes in its pool, and that they have memory.
    // Other processes may change them, and `SharedBytes` allows that.
    let bytes = unsafe { SharedBytes::new(lent.memory, end) };
    let part = |at: usize, len: usize| bytes.get(at, len)?.try_to_vec().ok();
    let user_header = part(head_at - user_header_size, user_header_size)?;
    let message = ObservedMessage {
        published_at_ns: descriptor.published_at_ns.load(Ordering::Relaxed),
        encoding,
        head: part(head_at, head_size)?,
        body: part(body_at, body_size)?,
    };
    Some((user_header, message))
}
