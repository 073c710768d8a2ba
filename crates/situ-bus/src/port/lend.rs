//! Lending slots for messages that are to be published.

use situ_memory::{AllocateError, SlotId};

use crate::observe::hook;
use crate::port::loan::{LoanError, RawLoan};
use crate::port::pool_options::{EAGER_SIZE, WARM_SIZE};
use crate::port::publisher::RawPublisher;
use crate::port::publisher_state::{Inner, pays_to_reclaim};
use crate::topic::format::{BODY_IN_SLOT, DESCRIPTOR, MAX_USER_HEADER};

/// The maximum size of a head in bytes.
const MAX_HEAD: usize = u32::MAX as usize;

/// A slot and its address. A call returns both in registers.
struct LentSlot {
    memory: *mut u8,
    slot: SlotId,
}

impl RawPublisher {
    /// Lends a slot for a head and a body. The bytes are those of the slot's last message: write the head
    /// before publishing.
    // Inlined, so that the loan is built where it is used: to move it there takes longer than to find its
    // slot.
    #[inline(always)]
    pub fn loan(
        &self,
        head_size: usize,
        head_align: usize,
        body_size: usize,
    ) -> Result<RawLoan<'_>, LoanError> {
        if head_align <= DESCRIPTOR && head_align.is_power_of_two() && head_size <= MAX_HEAD {
            let body_offset = self.body_offset(head_size);
            if let Some(total) = body_offset.checked_add(body_size) {
                let LentSlot { memory, slot } = self.lend_slot(total);
                if !memory.is_null() {
                    return Ok(self.loan_of((slot, memory), head_size, (body_offset, body_size)));
                }
            }
        }
        self.loan_unusual(head_size, head_align, body_size)
    }

    /// Where the body begins in a slot.
    #[inline(always)]
    fn body_offset(&self, head_size: usize) -> usize {
        let lead = if head_size == 0 { self.encoding.body_lead() } else { 0 };
        (self.head_offset + head_size).next_multiple_of(64) + lead
    }

    /// A slot of this size in the usual case. Its address is null if anything is unusual: then
    /// [`loan_unusual`](Self::loan_unusual) finds out.
    fn lend_slot(&self, total: usize) -> LentSlot {
        let nothing = LentSlot { memory: std::ptr::null_mut(), slot: 0 };
        if self.is_inherited() || hook::watcher().is_some() {
            return nothing;
        }
        let inner = &mut *self.inner.borrow_mut();
        if inner.bodies.is_some() {
            return nothing;
        }
        self.tidy_for(inner, total);
        let Ok(slot) = inner.pool.allocate(total) else { return nothing };
        let memory = inner.pool.memory(slot).0;
        self.clear_user_header(memory);
        LentSlot { memory, slot }
    }

    #[inline(always)]
    fn loan_of(
        &self,
        (slot, memory): (SlotId, *mut u8),
        head_size: usize,
        (body_offset, body_size): (usize, usize),
    ) -> RawLoan<'_> {
        RawLoan {
            publisher: self,
            slot,
            memory,
            head_size,
            body_offset,
            body_size,
            encoding: self.encoding,
            body_pool: BODY_IN_SLOT,
            signalled: false,
            grows: false,
        }
    }

    #[cold]
    #[inline(never)]
    fn loan_unusual(
        &self,
        head_size: usize,
        head_align: usize,
        body_size: usize,
    ) -> Result<RawLoan<'_>, LoanError> {
        if self.is_inherited() {
            return Err(self.loan_forked());
        }
        let size = |reason| LoanError::Size { head_size, head_align, body_size, reason };
        if head_align > DESCRIPTOR || !head_align.is_power_of_two() {
            return Err(size("the alignment must be a power of two up to 64"));
        }
        if head_size > MAX_HEAD {
            return Err(size("a head must be smaller than 4 GiB; mark large fields @bulk"));
        }
        if let Some(watcher) = hook::watcher() {
            return self.lend_watched((head_size, head_align), body_size, watcher);
        }
        self.lend((head_size, head_align), body_size)
    }

    pub(crate) fn lend(
        &self,
        (head_size, head_align): (usize, usize),
        body_size: usize,
    ) -> Result<RawLoan<'_>, LoanError> {
        let mut inner = self.inner.borrow_mut();
        if inner.bodies.is_some() {
            return self.loan_in_device(&mut inner, head_size, body_size);
        }
        let body_offset = self.body_offset(head_size);
        let total = body_offset.checked_add(body_size).ok_or(LoanError::Size {
            head_size,
            head_align,
            body_size,
            reason: "they are larger than the address space",
        })?;
        self.tidy_for(&mut inner, total);
        let slot = match inner.pool.allocate(total) {
            Ok(slot) => slot,
            Err(AllocateError::Exhausted { .. } | AllocateError::Memory(_)) => {
                self.recover_enough(&mut inner, |inner| inner.pool.allocate(total))?
            }
            Err(error) => return Err(error.into()),
        };
        let (memory, len) = inner.pool.memory(slot);
        debug_assert!(len >= total);
        self.clear_user_header(memory);
        Ok(self.loan_of((slot, memory), head_size, (body_offset, body_size)))
    }

    /// Zeroes the user header of a slot, so that a publisher that does not write it sends no earlier one.
    #[inline(always)]
    pub(crate) fn clear_user_header(&self, memory: *mut u8) {
        if self.head_offset != DESCRIPTOR {
            // The head is then behind room for the largest user header. All of that is zeroed: with a size that
            // the compiler knows, these are a few stores, and no call.
            const WORDS: usize = MAX_USER_HEADER as usize / size_of::<u64>();
            debug_assert_eq!(self.head_offset, DESCRIPTOR + MAX_USER_HEADER as usize);
            let user_header = memory.wrapping_add(DESCRIPTOR).cast::<[u64; WORDS]>();
            // SAFETY: the slot was allocated with room for a descriptor, a user header and a head, it is
            // aligned to 64 bytes, and only its loan, which is being made, can reach it.
            unsafe { user_header.write([0; WORDS]) };
        }
    }

    /// Collects free slots before a slot of this size is lent.
    #[inline(always)]
    pub(crate) fn tidy_for(&self, inner: &mut Inner, total: usize) {
        inner.filling.begin(total);
        if total >= WARM_SIZE && !inner.uses_slots_in_turn(total) {
            self.retire_passed(inner);
        }
        if pays_to_reclaim(inner, &self.topic, total) {
            self.reclaim(inner);
        }
    }

    /// Lends a head whose body lies in another domain.
    #[cold]
    fn loan_in_device(
        &self,
        inner: &mut Inner,
        head_size: usize,
        body_size: usize,
    ) -> Result<RawLoan<'_>, LoanError> {
        self.reclaim(inner);
        if body_size >= EAGER_SIZE {
            self.retire_passed(inner);
        }
        self.copy_eagerly(inner, None);
        let slot = match inner.pool.allocate(self.head_offset + head_size) {
            Err(AllocateError::Exhausted { .. } | AllocateError::Memory(_)) => {
                self.recover_enough(inner, |inner| inner.pool.allocate(self.head_offset + head_size))?
            }
            slot => slot?,
        };
        let add_body = |inner: &mut Inner| match &mut inner.bodies {
            Some(bodies) if body_size > 0 => bodies.allocate(slot, body_size).map(|()| bodies.entry as u32),
            _ => Ok(BODY_IN_SLOT),
        };
        let body_pool = match add_body(inner) {
            Err(AllocateError::TooLarge { size, capacity }) => {
                Err(AllocateError::TooLarge { size, capacity })
            }
            Err(_) => {
                self.retire_passed(inner);
                self.recover_enough(inner, add_body)
            }
            added => added,
        };
        let body_pool = body_pool.inspect_err(|_| inner.pool.deallocate(slot))?;
        let (memory, _) = inner.pool.memory(slot);
        self.clear_user_header(memory);
        let body_size = if body_pool == BODY_IN_SLOT { 0 } else { body_size };
        let (encoding, signalled) = (self.encoding, false);
        Ok(RawLoan {
            publisher: self,
            slot,
            memory,
            head_size,
            body_offset: 0,
            body_size,
            encoding,
            body_pool,
            signalled,
            grows: false,
        })
    }
}
