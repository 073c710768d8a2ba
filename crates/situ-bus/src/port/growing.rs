//! Loans that grow in place, for messages whose size is not known before they are built.

use situ_memory::AllocateError;

use crate::observe::hook;
use crate::port::loan::{LoanError, RawLoan};
use crate::port::publisher::RawPublisher;
use crate::topic::format::BODY_IN_SLOT;

/// How large a loan can become by default. A publisher with a dozen messages in use then takes some gigabytes
/// of address space, which suffices for thousands of topics.
pub const GROWING_ROOM: usize = 256 << 20;

impl RawPublisher {
    /// Lends a body of `body_size` bytes, without a head, that grows in place ([`RawLoan::grow_body`]) up to
    /// `room` bytes, so pointers into it stay valid. Room costs address space, not memory. Publishing returns
    /// unused memory to the system.
    ///
    /// Only on a topic of regions in host memory. On other topics the loan is an ordinary one and does not
    /// grow.
    pub fn loan_growing(&self, body_size: usize, room: usize) -> Result<RawLoan<'_>, LoanError> {
        if self.is_inherited() {
            return Err(self.loan_forked());
        }
        match hook::watcher() {
            Some(watcher) => self.lend_growing_watched(body_size, room, watcher),
            None => self.lend_growing(body_size, room),
        }
    }

    #[inline]
    pub(crate) fn lend_growing(&self, body_size: usize, room: usize) -> Result<RawLoan<'_>, LoanError> {
        let mut inner = self.inner.borrow_mut();
        if inner.bodies.is_some() {
            drop(inner);
            return self.lend((0, 1), body_size);
        }
        let body_offset = self.head_offset + self.encoding.body_lead();
        let total = |size: usize| {
            size.checked_add(body_offset).ok_or(LoanError::Size {
                head_size: 0,
                head_align: 1,
                body_size,
                reason: "it is larger than the address space",
            })
        };
        let (total, room) = (total(body_size)?, total(room)?);
        self.tidy_for(&mut inner, total);
        let slot = match inner.pool.allocate_growing(total, room) {
            Err(AllocateError::Exhausted { .. } | AllocateError::Memory(_)) => {
                self.recover_enough(&mut inner, |inner| inner.pool.allocate_growing(total, room))?
            }
            slot => slot?,
        };
        let (memory, _) = inner.pool.memory(slot);
        self.clear_user_header(memory);
        let encoding = self.encoding;
        drop(inner);
        let loan = RawLoan {
            publisher: self,
            slot,
            memory,
            head_size: 0,
            body_offset,
            body_size,
            encoding,
            body_pool: BODY_IN_SLOT,
            signalled: false,
            grows: true,
        };
        Ok(loan)
    }
}

impl RawLoan<'_> {
    /// Makes the body larger in place, so pointers into it stay valid. Returns the offset in the body from
    /// which on all bytes up to the new size are zero; the content before it is unchanged or undefined. On
    /// failure the loan is unchanged.
    pub fn grow_body(&mut self, size: usize) -> Result<usize, LoanError> {
        if size <= self.body_size {
            return Ok(self.body_size);
        }
        if self.publisher.is_inherited() {
            return Err(self.publisher.loan_forked());
        }
        if !self.grows {
            let (size, room) = (size as u64, self.body_size as u64);
            return Err(AllocateError::NoRoom { size, room }.into());
        }
        let slot = self.slot;
        let total = self.body_offset.checked_add(size).ok_or(LoanError::Size {
            head_size: self.head_size,
            head_align: 1,
            body_size: size,
            reason: "it is larger than the address space",
        })?;
        let mut inner = self.publisher.inner.borrow_mut();
        let had = match inner.pool.grow(slot, total) {
            Err(AllocateError::Exhausted { .. } | AllocateError::Memory(_)) => {
                self.publisher.recover_enough(&mut inner, |inner| inner.pool.grow(slot, total))?
            }
            had => had?,
        };
        drop(inner);
        self.body_size = size;
        Ok(had.saturating_sub(self.body_offset))
    }
}
