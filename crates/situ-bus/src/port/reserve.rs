//! Memory for messages before they are lent, and the pages that it has.
//!
//! Without a reservation, the first messages of a publisher pay for their memory: system calls, and the
//! kernel's clearing of pages. Then free slots are reused. A publisher that must be fast from the first
//! message on, or in a burst, reserves.

use situ_memory::{AllocateError, PageOutcome};

use crate::port::growing::GROWING_ROOM;
use crate::port::loan::LoanError;
use crate::port::pool_options::BODY_ALIGN;
use crate::port::publisher::RawPublisher;
use crate::port::publisher_state::Inner;
use crate::topic::Encoding;

/// Heads whose bodies lie in another domain are seldom larger.
const HEAD_ELSEWHERE: usize = 4096;

impl RawPublisher {
    /// Gives memory to `messages` messages of at most `bytes` bytes each, head and body together. The next
    /// loans then make no system call, and writing them makes no page fault.
    ///
    /// These count free slots: messages that stay available, samples and loans are not among them. A
    /// publisher that keeps `depth` messages, of which subscribers hold `n` more, uses `depth + n + 1`
    /// slots. The memory stays until [`trim`](Self::trim), and smaller messages use it, too. In a ring it
    /// is that of the next messages. After an error nothing is reserved.
    ///
    /// Where bodies lie in another domain, their memory is reserved there, and heads of up to 4 KiB. Memory
    /// of a device has no page faults.
    pub fn reserve(&self, messages: usize, bytes: usize) -> Result<(), LoanError> {
        if self.is_inherited() {
            return Err(self.loan_forked());
        }
        let inner = &mut *self.inner.borrow_mut();
        self.retire_passed(inner);
        self.reclaim(inner);
        let total = |size: usize| size.saturating_add(self.head_offset + BODY_ALIGN as usize);
        let reserve = |inner: &mut Inner| match &mut inner.bodies {
            Some(bodies) => {
                bodies.pool.reserve(messages, bytes)?;
                inner.pool.reserve(messages, total(bytes.min(HEAD_ELSEWHERE)))
            }
            // The slots that a region's loan looks for have this room.
            None if self.encoding == Encoding::Region => {
                inner.pool.reserve_growing(messages, total(bytes), GROWING_ROOM + self.head_offset)
            }
            None => inner.pool.reserve(messages, total(bytes)),
        };
        match reserve(inner) {
            Err(AllocateError::Exhausted { .. } | AllocateError::Memory(_)) => {
                Ok(self.recover_enough(inner, reserve)?)
            }
            reserved => Ok(reserved?),
        }
    }

    /// What the kernel answered to [`Placement::pages`](crate::Placement::pages), for the memory of its
    /// bodies.
    pub fn pages(&self) -> PageOutcome {
        let inner = self.inner.borrow();
        inner.bodies.as_ref().map_or_else(|| inner.pool.pages(), |bodies| bodies.pool.pages())
    }
}
