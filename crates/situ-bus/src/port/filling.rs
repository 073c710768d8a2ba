//! Whether a publisher fills its large messages, or only a small part of them.
//!
//! A large message that is filled is best written into the slot of the last one, whose memory is warm. To
//! know that no subscriber needs that slot any more, the publisher reads a cache line of each subscriber,
//! which that subscriber writes with every message: some transfers between cores, little beside the filling.
//! But a publisher that writes only a head, or the beginning of a large slot, gains no warm memory by that.
//! It uses a few slots in turn, and looks at its subscribers once for all of them.
//!
//! The publisher takes the time from loan to publication of some of its messages. In that time no core can
//! have written more than a certain part of the slot.

use crate::clock::now_ns;
use crate::port::pool_options::EAGER_SIZE;

/// How many messages are published before a publisher looks whether their slots are free, if it uses a few
/// slots in turn.
pub(crate) const FEW: u64 = 4;
/// One in this many large messages is timed.
const TIMED: u32 = 16;
/// No core writes more bytes in a nanosecond than a quarter of this number.
const QUARTERS_PER_NS: u64 = 256;
/// In this time, at most an eighth of a megabyte is written, which stays in a core's cache for each of the
/// few slots.
const MAX_NS: u64 = 2000;

/// What a publisher knows about its large messages.
#[derive(Debug, Default)]
pub(crate) struct Filling {
    /// When the timed loan began; 0: none is timed.
    since_ns: u64,
    /// How many loans are not timed before the next one.
    left: u32,
    is_partial: bool,
}

impl Filling {
    /// Whether its large messages are written only in part.
    #[inline(always)]
    pub(crate) fn is_partial(&self) -> bool {
        self.is_partial
    }

    /// A slot of this size is lent.
    #[inline(always)]
    pub(crate) fn begin(&mut self, size: usize) {
        if size >= EAGER_SIZE {
            self.begin_large();
        }
    }

    fn begin_large(&mut self) {
        if self.left == 0 {
            (self.left, self.since_ns) = (TIMED, now_ns());
        }
        self.left -= 1;
    }

    /// A slot of this size was published.
    #[inline(always)]
    pub(crate) fn end(&mut self, size: usize) {
        if self.since_ns != 0 {
            self.end_timed(size);
        }
    }

    #[cold]
    fn end_timed(&mut self, size: usize) {
        let took = now_ns().saturating_sub(std::mem::take(&mut self.since_ns));
        self.is_partial = took < (size as u64 / QUARTERS_PER_NS).min(MAX_NS);
    }
}
