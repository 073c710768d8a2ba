//! The ring of references: the data of a topic, and how a message is appended to it.
//!
//! A row begins with a 64-bit word, which names a slot, and the lap in which it was written
//! ([`row`](super::row) has the rest, in topics of small messages):
//!
//! ```text
//!   63            42 41          29 28          13 12            0
//!   +---------------+--------------+--------------+---------------+
//!   | lap + 1 (22)  |  pool (13)   |  slot (16)   | generation(13)|
//!   +---------------+--------------+--------------+---------------+
//! ```
//!
//! Message number `n` goes into row `n % depth` in lap `n / depth`. The compare-and-swap that replaces the
//! word of lap `l - 1` by one of lap `l` *is* the claim of number `n`. At no moment is a number taken and its
//! row not yet written, so a publisher that dies at any instruction leaves no hole. Several publishers race
//! for the same row; one wins, the others see its word and go on to the next number. Hence one total order.
//!
//! `head` is a hint that lies at or before the end. Any process may advance it; only speed depends on it.
//!
//! The lap is compared modulo 2^22 as a signed distance. The comparison is wrong only for a process that
//! sleeps for 2^21 laps. Therefore a publisher begins at `head` if that is further than its own last number,
//! and a subscriber compares its number with `head` when it has found nothing for a while: see
//! [`Ring::has_lapped`].
//!
//! A topic that needs more rows gets another ring behind this one. The ring is *sealed* by a row that names
//! no slot and takes a number like a message. The next ring begins with the number that the seal took. From
//! then on nothing is published here any more, and the present messages stay:
//!
//! - The seal takes number `n` by the same swap. So each number below `n` is a message of this ring, and no
//!   number above is.
//! - A publisher gets beyond a row only by reading it, and `head` never goes beyond `n`. The only row from
//!   which it could get to `n + 1` is the seal's, which it recognizes.
//!
//! So publishers, and after them readers, find the seal in a row that they read anyway. Before that, it costs
//! nothing.

use situ_memory::GENERATION_BITS;
use situ_memory::sync::atomic::{AtomicU64, Ordering};

pub use super::row::{Copied, Rows};

const LAP_BITS: u32 = 22;
const POOL_BITS: u32 = 13;
const SLOT_BITS: u32 = 16;
/// The bits of a generation in a word. The model checker uses fewer of them.
const SHORT_BITS: u32 = 13;
const _: () = assert!(LAP_BITS + POOL_BITS + SLOT_BITS + SHORT_BITS == 64 && GENERATION_BITS <= SHORT_BITS);
/// How many entries a row can name.
pub const ENTRIES: u32 = 1 << POOL_BITS;
const LAP_MASK: u64 = (1 << LAP_BITS) - 1;
/// The maximum number of steps along the rows in search of their end. After that, the rows are corrupt.
const MAX_STEPS: u32 = 1 << 20;

/// What a row refers to: a slot of a publisher's pool, in one of its generations.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reference {
    /// The entry in the topic of the publisher whose pool holds the slot.
    pub pool: u16,
    /// The slot's number in the pool.
    pub slot: u16,
    /// The low 13 bits of the slot's generation.
    pub generation: u16,
}

/// What a publisher appends: a reference, and the words that the row holds before it does (see
/// [`row`](super::row)).
///
/// It is passed by reference and has the reference's bits as one word: a copy of a structure that was written
/// field by field, just before, waits until those stores have left the processor's store buffer.
#[derive(Debug, Clone, Copy)]
pub struct NewRow<'m> {
    /// The bits of the reference.
    bits: u64,
    /// The words of the second line of the message's copy, if it has one.
    rest: &'m [u64],
}

impl<'m> NewRow<'m> {
    /// A reference, and the words of the second line of the message's copy if it has one.
    #[inline(always)]
    pub fn new(reference: Reference, rest: &'m [u64]) -> Self {
        Self { bits: reference.to_bits(), rest }
    }
}

impl From<Reference> for NewRow<'_> {
    fn from(reference: Reference) -> Self {
        Self::new(reference, &[])
    }
}

/// An entry number that no publisher has: a row that names it is a seal.
pub const SEAL_POOL: u16 = ENTRIES as u16 - 1;

impl Reference {
    /// The reference in a seal's row.
    const SEAL: Self = Self { pool: SEAL_POOL, slot: u16::MAX, generation: (1 << SHORT_BITS) - 1 };

    #[inline]
    pub(crate) fn to_bits(self) -> u64 {
        debug_assert!(self.generation >> SHORT_BITS == 0);
        u64::from(self.pool) << (SLOT_BITS + SHORT_BITS)
            | u64::from(self.slot) << SHORT_BITS
            | u64::from(self.generation)
    }

    pub(crate) fn from_bits(bits: u64) -> Self {
        Self {
            pool: pool_in(bits),
            slot: (bits >> SHORT_BITS) as u16,
            generation: bits as u16 & ((1 << SHORT_BITS) - 1),
        }
    }
}

/// The state of a message number in its row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Look {
    /// It is not published yet.
    NotYet,
    /// It is published, in this slot.
    Here(Reference),
    /// Its row was reused: the row now belongs to this later number.
    Passed(u64),
    /// The ring ends here: this number is the first of the next ring.
    Sealed,
}

/// Why a message could not be appended.
#[derive(Debug, PartialEq, Eq)]
pub enum ClaimError<E> {
    /// The caller's admission check refused.
    Refused(E),
    /// The ring was sealed: continue in the next one.
    Sealed,
    /// The rows contradict the head. No correct publisher can cause that.
    Corrupted,
}

/// The rows of a topic, and the hint of their end.
#[derive(Clone, Copy)]
pub struct Ring<'a> {
    rows: Rows<'a>,
    head: &'a AtomicU64,
    /// The first number of this ring.
    base: u64,
}

#[inline]
fn pool_in(word: u64) -> u16 {
    (word >> (SLOT_BITS + SHORT_BITS)) as u16 & SEAL_POOL
}

#[inline]
fn is_seal(word: u64) -> bool {
    pool_in(word) == SEAL_POOL
}

impl<'a> Ring<'a> {
    /// A ring over rows whose number is a power of two. Zeroed rows are a ring without messages.
    #[inline]
    pub fn new(rows: Rows<'a>, head: &'a AtomicU64) -> Self {
        Self::beginning_at(0, rows, head)
    }

    /// A ring whose first message has the number `base`.
    #[inline]
    pub fn beginning_at(base: u64, rows: Rows<'a>, head: &'a AtomicU64) -> Self {
        debug_assert!(rows.len().is_power_of_two());
        Self { rows, head, base }
    }

    /// The number of its first message.
    #[inline]
    pub fn base(&self) -> u64 {
        self.base
    }

    /// The number of rows.
    #[inline]
    pub fn depth(&self) -> u64 {
        self.rows.len() as u64
    }

    /// The index of the row of a message.
    #[inline]
    fn index(&self, number: u64) -> usize {
        number.wrapping_sub(self.base) as usize & (self.rows.len() - 1)
    }

    #[inline]
    fn row(&self, number: u64) -> &'a AtomicU64 {
        self.rows.reference(self.index(number))
    }

    /// The word of the row of message `number`.
    #[inline]
    fn word(&self, number: u64, reference: u64) -> u64 {
        self.mark(number) << (64 - LAP_BITS) | reference
    }

    /// The lap mark that the word of message `number` carries.
    #[inline]
    fn mark(&self, number: u64) -> u64 {
        (number.wrapping_sub(self.base) >> self.rows.len().trailing_zeros()).wrapping_add(1) & LAP_MASK
    }

    /// The number of laps that `word` is ahead of (or, if negative, behind) message `number`.
    #[inline]
    fn distance(&self, word: u64, number: u64) -> i64 {
        let difference = ((word >> (64 - LAP_BITS)).wrapping_sub(self.mark(number))) & LAP_MASK;
        // Sign-extend the lap.
        ((difference << (64 - LAP_BITS)) as i64) >> (64 - LAP_BITS)
    }

    /// Returns the state of message `number`, which must not belong to an earlier ring.
    ///
    /// All writes of its publisher before publishing are visible after `Here`. The load is sequentially
    /// consistent because a subscriber reads the row once more after it has announced that it will sleep.
    #[inline(always)]
    pub fn look(&self, number: u64) -> Look {
        let word = self.row(number).load(Ordering::SeqCst);
        match self.distance(word, number) {
            0 if is_seal(word) => Look::Sealed,
            0 => Look::Here(Reference::from_bits(word)),
            ahead @ 1.. => Look::Passed(number.wrapping_add(ahead as u64 * self.depth())),
            _ => Look::NotYet,
        }
    }

    /// Appends a reference and returns its number.
    ///
    /// `from` is where the caller expects the end (its last number plus one). `admit` decides before each
    /// attempt whether that number may be used (a reliable publisher must not lap its subscribers).
    ///
    /// Publication: the swap releases everything that the caller wrote into the slot. If the process dies
    /// before it, nothing has happened; if it dies after it, the message is published, and only the hint is
    /// behind.
    #[inline(always)]
    pub fn publish<'m, E>(
        &self,
        from: u64,
        row: impl Into<NewRow<'m>>,
        admit: impl FnMut(u64) -> Result<(), E>,
    ) -> Result<u64, ClaimError<E>> {
        self.publish_row(from, &row.into(), admit)
    }

    /// The same for a row that was made before.
    #[inline(always)]
    pub fn publish_row<E>(
        &self,
        from: u64,
        row: &NewRow<'_>,
        mut admit: impl FnMut(u64) -> Result<(), E>,
    ) -> Result<u64, ClaimError<E>> {
        // Nearly always the end is where the caller expects it. All other cases are off the hot path. The
        // hint is for a caller that has slept: after many laps, its own row would not tell it.
        let mut number = from.max(self.base).max(self.head.load(Ordering::Acquire));
        // Acquire: see `claim`.
        let word = self.row(number).load(Ordering::Acquire);
        if self.distance(word, number) != -1 || !self.swap(number, word, row, &mut admit)? {
            number = self.claim(number, row, admit)?;
        }
        if self.head.load(Ordering::Relaxed) <= number {
            self.head.store(number.wrapping_add(1), Ordering::Release);
        }
        Ok(number)
    }

    /// Completes the copy of a message in its row, directly after [`publish`](Self::publish) returned its
    /// number: `first` are the words of the first line. `stamp` is not 0. Only for the publisher that is
    /// alone: see [`row`](super::row).
    #[inline(always)]
    pub fn complete_copy(&self, number: u64, first: &[u64], stamp: u64) {
        self.rows.complete(self.index(number), first, stamp);
    }

    /// The first line of a message's row. A publisher that is about to claim the row may fetch it.
    #[inline(always)]
    pub fn first_line(&self, number: u64) -> *const u8 {
        std::ptr::from_ref(self.row(number)).cast()
    }

    /// Copies a message out of its row, which [`look`](Self::look) has found to hold this reference, and
    /// returns its stamp. `None` if the copy is not there; then `into` holds anything. Only for messages of
    /// a publisher that is alone.
    #[inline(always)]
    pub fn read_copy(&self, number: u64, reference: Reference, into: &mut [u64]) -> Option<u64> {
        self.rows.read(self.index(number), self.word(number, reference.to_bits()), into)
    }

    /// Ends the ring and returns the number at which the next one begins. `admit` is called as in
    /// [`publish`](Self::publish): the seal takes the row of an old message as every message does.
    ///
    /// The next ring must exist before, because a participant that finds the seal goes on to it. If the
    /// process dies before the swap, nothing has happened; if it dies after it, the topic has grown. The hint
    /// stays at or before the seal.
    pub fn seal<E>(&self, admit: impl FnMut(u64) -> Result<(), E>) -> Result<u64, ClaimError<E>> {
        self.claim(self.end(), &Reference::SEAL.into(), admit)
    }

    /// Puts a reference into the row of a number, if the row still holds the word of the previous lap.
    #[inline(always)]
    fn swap<E>(
        &self,
        number: u64,
        word: u64,
        row: &NewRow<'_>,
        admit: &mut impl FnMut(u64) -> Result<(), E>,
    ) -> Result<bool, ClaimError<E>> {
        admit(number).map_err(ClaimError::Refused)?;
        let new = self.word(number, row.bits);
        self.rows.prepare(self.index(number), row.rest);
        // SeqCst also orders the publisher's next read of the wake word after the row.
        Ok(self.row(number).compare_exchange(word, new, Ordering::SeqCst, Ordering::Relaxed).is_ok())
    }

    /// Takes the next number for a reference. The caller advances the hint.
    #[cold]
    #[inline(never)]
    fn claim<E>(
        &self,
        from: u64,
        row: &NewRow<'_>,
        mut admit: impl FnMut(u64) -> Result<(), E>,
    ) -> Result<u64, ClaimError<E>> {
        let mut number = from.max(self.base);
        for _ in 0..MAX_STEPS {
            // Acquire, here and for the head below: a process that has seen a message has seen all messages
            // before it. So the row of the next number is seen at least as it was when that message was
            // published, and never two laps behind.
            let word = self.row(number).load(Ordering::Acquire);
            match self.distance(word, number) {
                -1 if self.swap(number, word, row, &mut admit)? => return Ok(number),
                // Another publisher was faster.
                -1 => {}
                // This check comes before any step beyond the row, also if the row is read for a number that
                // is one lap earlier.
                0.. if is_seal(word) => return Err(ClaimError::Sealed),
                // Another publisher has this number: continue behind the furthest known number.
                ahead @ 0.. => {
                    let after = number.wrapping_add(ahead as u64 * self.depth()).wrapping_add(1);
                    number = after.max(self.head.load(Ordering::Acquire));
                }
                _ => break,
            }
        }
        Err(ClaimError::Corrupted)
    }

    /// Whether the row of message `number` was reused, by the hint of the end. For a reader that has slept
    /// for so many laps that the row does not show it.
    pub fn has_lapped(&self, number: u64) -> bool {
        self.head.load(Ordering::Acquire) > number.saturating_add(self.depth())
    }

    /// The number of the next message, as of now. If the ring is sealed, the number of the seal.
    pub fn end(&self) -> u64 {
        let mut number = self.head.load(Ordering::Acquire).max(self.base);
        // The hint is rarely more than a step behind. With corrupt rows, the loop would not end without the
        // limit.
        for _ in 0..4 * self.rows.len() {
            match self.look(number) {
                Look::NotYet | Look::Sealed => break,
                Look::Here(..) => number = number.wrapping_add(1),
                Look::Passed(later) => {
                    let last = self.row(later).load(Ordering::SeqCst);
                    number = if is_seal(last) { later } else { later.wrapping_add(1) };
                }
            }
        }
        number
    }

    /// The number of the seal, if the ring was sealed.
    pub fn sealed_at(&self) -> Option<u64> {
        let end = self.end();
        (self.look(end) == Look::Sealed).then_some(end)
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    fn at(slot: u16) -> Reference {
        Reference { pool: 3, slot, generation: 0x1ffe }
    }

    fn admit(_: u64) -> Result<(), ()> {
        Ok(())
    }

    #[test]
    fn numbers_follow_each_other_over_many_laps() {
        let rows: Vec<_> = (0..4).map(|_| AtomicU64::new(0)).collect();
        let head = AtomicU64::new(0);
        let ring = Ring::new(Rows::Plain(&rows), &head);
        assert_eq!(ring.look(0), Look::NotYet);
        for number in 0..1000u64 {
            assert_eq!(ring.end(), number);
            assert_eq!(ring.publish(number, at(number as u16), admit), Ok(number));
            assert!(matches!(ring.look(number), Look::Here(found) if found == at(number as u16)));
            assert_eq!(ring.look(number + 1), Look::NotYet);
            if number >= 4 {
                assert_eq!(ring.look(number - 4), Look::Passed(number));
            }
        }
    }

    #[test]
    fn a_stale_start_finds_the_end_even_without_the_hint() {
        let rows: Vec<_> = (0..8).map(|_| AtomicU64::new(0)).collect();
        let head = AtomicU64::new(0);
        let ring = Ring::new(Rows::Plain(&rows), &head);
        for number in 0..100 {
            assert_eq!(ring.publish(0, at(1), admit), Ok(number));
        }
        head.store(0, Ordering::Relaxed);
        assert_eq!(ring.end(), 100);
        head.store(0, Ordering::Relaxed);
        assert_eq!(ring.publish(17, at(1), admit), Ok(100));
    }

    #[test]
    fn the_lap_may_wrap() {
        let rows: Vec<_> = (0..2).map(|_| AtomicU64::new(0)).collect();
        let start = (1u64 << 23) - 6;
        let head = AtomicU64::new(start);
        let ring = Ring::new(Rows::Plain(&rows), &head);
        for number in start - 2..start {
            ring.row(number).store(ring.mark(number) << 42, Ordering::Relaxed);
        }
        for number in start..start + 20 {
            assert_eq!(ring.publish(start, at(9), admit), Ok(number));
            assert!(matches!(ring.look(number), Look::Here(..)));
            assert_eq!(ring.look(number + 2), Look::NotYet);
        }
    }

    /// A participant that slept for so many laps that its rows look as if they were still to come, or as if
    /// they were one lap behind.
    #[test]
    fn a_participant_that_slept_for_millions_of_laps_goes_on() {
        for laps in [1 << 21, (1 << 21) + 5, (1 << 22) - 1, 1 << 22, (1 << 22) + 1] {
            let rows: Vec<_> = (0..4).map(|_| AtomicU64::new(0)).collect();
            let end = laps * 4 + 2;
            let head = AtomicU64::new(end);
            let ring = Ring::new(Rows::Plain(&rows), &head);
            for number in end - 4..end {
                ring.row(number).store(ring.word(number, at(1).to_bits()), Ordering::Relaxed);
            }
            assert!(ring.has_lapped(0) && !ring.has_lapped(end - 4) && !ring.has_lapped(end));
            for from in [0, 1, 2, 3] {
                assert_eq!(ring.publish(from, at(2), admit), Ok(end + from), "{laps} laps");
            }
        }
    }

    #[test]
    fn a_refusal_leaves_the_row_alone_and_corrupt_rows_are_an_error() {
        let rows: Vec<_> = (0..4).map(|_| AtomicU64::new(0)).collect();
        let head = AtomicU64::new(0);
        let ring = Ring::new(Rows::Plain(&rows), &head);
        assert_eq!(ring.publish(0, at(0), Err), Err(ClaimError::Refused(0)));
        assert_eq!(ring.look(0), Look::NotYet);
        assert_eq!(ring.publish(4000, at(0), admit), Err(ClaimError::Corrupted));
    }

    #[test]
    fn corrupt_rows_and_heads_neither_panic_nor_loop_for_ever() {
        // Each row seems to be ahead of the previous one, in a circle.
        let rows: Vec<_> = [1u64, 0x180001, 0x300001, 0x300001].map(|mark| AtomicU64::new(mark << 42)).into();
        for head in [0, 1, u64::MAX - 1, u64::MAX] {
            let head = AtomicU64::new(head);
            let ring = Ring::new(Rows::Plain(&rows), &head);
            ring.end();
            for from in [0, u64::MAX] {
                ring.look(from);
                assert_eq!(ring.publish(from, at(0), admit), Err(ClaimError::Corrupted));
            }
        }
        let rows = [AtomicU64::new(LAP_MASK << 42)];
        let head = AtomicU64::new(u64::MAX);
        let ring = Ring::new(Rows::Plain(&rows), &head);
        assert_eq!(ring.publish(u64::MAX, at(0), admit), Ok(u64::MAX), "the numbers may wrap");
        assert_eq!(ring.end(), 0);
    }
}
