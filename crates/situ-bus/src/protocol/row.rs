//! The rows of a ring, and copies of small messages in them.
//!
//! A row is a reference to a slot. In topics of small messages it has one or two cache lines, and also holds
//! a copy of the message, behind its user header if it has one:
//!
//! ```text
//!   0           8          16                       64 or 128
//!   +-----------+----------+-------------------------+
//!   | reference |  stamp   |  the message's words    |
//!   +-----------+----------+-------------------------+
//! ```
//!
//! A subscriber that finds the copy needs neither the slot nor a pin. The row's lines are then the only ones
//! that move from the publisher's cache to the subscriber's.
//!
//! The slot stays the truth. A subscriber that does not find the copy takes the slot as always, so the
//! publisher may die anywhere.
//!
//! ```text
//!   publisher, message n                      reader of message n
//!   1. stamp = 0; fence (release)             1. reference: is it n's?          (acquire)
//!   2. the words of the second line           2. does n's publisher write copies alone? (acquire, see below)
//!   3. reference: compare-and-swap (release)  3. stamp: not 0?                  (acquire)
//!      fence (release)                        4. the words
//!   4. the words of the first line            5. fence (acquire)
//!   5. stamp = the time, or 1      (release)  6. stamp (acquire), then reference: still the same?
//! ```
//!
//! The second line is written before the claim. Otherwise a polling reader would nearly always find the
//! reference before the stamp, which waits for that line.
//!
//! A reader that reaches the end has the words of message *n* and of no other:
//!
//! - It saw 3, so it sees 1 or something later in `stamp`. As `stamp` was not 0, it saw 5, or the `stamp` of
//!   a later lap. In the second case its step 6 also sees the reference of that lap, and there is no copy.
//! - Suppose that it reads a word of a later lap. A fence of the publisher and the reader's 5 then order an
//!   earlier store of that lap before the reader's 6. For a word of the second line, that is the 0 in
//!   `stamp`; for one of the first line, the reference.
//! - In place of that 0 the reader may find the later lap's stamp, and it may be equal to the one that it
//!   found before. Then it also sees the reference, which was stored before that stamp.
//!
//! This holds only if one publisher writes all copies. A publisher that is stopped between 3 and 5 for a
//! whole lap would otherwise write its words into the row of a later message. So only a publisher that is
//! *alone* writes copies, and a word of the topic says whether there is one:
//!
//! - It is 0, or one more than the first number of the publisher that is alone. It changes only when a
//!   publisher joins: under the topic's lock, and before that publisher can publish. It becomes 0 if another
//!   publisher is present, and stays 0 until a publisher joins that is alone. A publisher that has left or
//!   died writes nothing more, so all later writes to rows are those of the publisher that the word means.
//! - A reader that sees a message of the second publisher sees the word that this publisher's registration
//!   wrote, because that came before the message. It then uses no copy, whatever the first publisher writes.
//! - Copies of messages before the word's number are not used: another publisher may have written them, or
//!   may have left stamps behind.
//!
//! A copy does not hold the publisher's own number of the message, because that follows from the word. Every
//! message from the word's number on is this publisher's, and that one was its first.

use situ_memory::sync::atomic::{AtomicU64, Ordering, fence};

/// The number of words for a message in a row of one cache line.
pub const SHORT_WORDS: usize = 6;
/// The number of words for a message in a row of two cache lines.
pub const LONG_WORDS: usize = 14;
/// How often a reader looks again for a stamp. One that polls may find the reference before it, and to wait
/// for the rest of the line takes less time than to take the slot. There may be no copy, so the looks are
/// few.
const LOOKS: u32 = if cfg!(loom) { 0 } else { 64 };

/// The stamp of a copy whose publisher leaves out time stamps.
pub const NOT_STAMPED: u64 = 1;

/// A row with room for a copy of a message of `WORDS` words. Zeroed memory is an empty row.
#[repr(C, align(64))]
#[derive(Debug)]
pub struct CopyRow<const WORDS: usize> {
    reference: AtomicU64,
    /// 0: there is no copy. Otherwise the time at which the message was published, or [`NOT_STAMPED`].
    stamp: AtomicU64,
    words: [AtomicU64; WORDS],
}

#[cfg(not(loom))]
const _: () = assert!(size_of::<CopyRow<SHORT_WORDS>>() == 64 && size_of::<CopyRow<LONG_WORDS>>() == 128);

impl<const WORDS: usize> CopyRow<WORDS> {
    /// An empty row, outside of shared memory.
    #[allow(clippy::new_without_default)]
    pub fn new() -> Self {
        Self {
            reference: AtomicU64::new(0),
            stamp: AtomicU64::new(0),
            words: std::array::from_fn(|_| AtomicU64::new(0)),
        }
    }
}

/// The word that says which publisher is alone. Zeroed memory means none.
#[repr(transparent)]
#[derive(Debug, Default)]
pub struct Alone(AtomicU64);

impl Alone {
    /// For a publisher that joins, under the topic's lock and before it can publish: `since` is its first
    /// number if no other publisher is present, otherwise `None`.
    pub fn begin(&self, since: Option<u64>) {
        self.0.store(since.map_or(0, |since| since.wrapping_add(1)), Ordering::SeqCst);
    }

    /// Whether the publisher whose first number is `since` is alone. If another one joins after this, the
    /// copies that it still writes are not used.
    #[inline(always)]
    pub fn is(&self, since: u64) -> bool {
        self.0.load(Ordering::Acquire) == since.wrapping_add(1)
    }

    /// Reader, step 2: whether a message whose reference was read belongs to the publisher that is alone. If
    /// so, returns how many messages that publisher published before.
    #[inline(always)]
    pub fn wrote(&self, number: u64) -> Option<u64> {
        let alone = self.0.load(Ordering::Acquire);
        let after = number.wrapping_add(1);
        (alone != 0 && after >= alone).then(|| after.wrapping_sub(alone))
    }
}

/// What rows of a topic hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RowKind {
    /// References alone.
    Plain,
    /// References and messages of up to 48 bytes.
    Short,
    /// References and messages of up to 112 bytes.
    Long,
}

impl RowKind {
    /// The rows for messages that all have this size in bytes; 0: they vary.
    pub fn for_messages(size: usize) -> Self {
        match size {
            0 => Self::Plain,
            _ if size <= SHORT_WORDS * 8 => Self::Short,
            _ if size <= LONG_WORDS * 8 => Self::Long,
            _ => Self::Plain,
        }
    }

    /// The size of a row in bytes.
    pub const fn row_size(self) -> usize {
        match self {
            Self::Plain => 8,
            Self::Short => 64,
            Self::Long => 128,
        }
    }
}

/// The rows of a ring.
#[derive(Debug, Clone, Copy)]
pub enum Rows<'a> {
    /// References alone.
    Plain(&'a [AtomicU64]),
    /// Rows of one cache line.
    Short(&'a [CopyRow<SHORT_WORDS>]),
    /// Rows of two cache lines.
    Long(&'a [CopyRow<LONG_WORDS>]),
}

impl<'a> Rows<'a> {
    /// The rows that lie at an address.
    ///
    /// # Safety
    /// `depth` rows of that kind lie at `at`, aligned to 64 bytes, for as long as `'a`. Any bits are valid.
    #[cfg(not(loom))]
    #[inline]
    pub unsafe fn at(kind: RowKind, at: *const u8, depth: usize) -> Self {
        // SAFETY: the caller's promise; rows consist of atomics, for which any bits are valid, and sharing
        // them is no data race.
        unsafe {
            match kind {
                RowKind::Plain => Self::Plain(std::slice::from_raw_parts(at.cast(), depth)),
                RowKind::Short => Self::Short(std::slice::from_raw_parts(at.cast(), depth)),
                RowKind::Long => Self::Long(std::slice::from_raw_parts(at.cast(), depth)),
            }
        }
    }

    /// Their number.
    #[inline]
    pub(super) fn len(self) -> usize {
        match self {
            Self::Plain(rows) => rows.len(),
            Self::Short(rows) => rows.len(),
            Self::Long(rows) => rows.len(),
        }
    }

    /// The reference of a row. `index` is below [`len`](Self::len).
    #[inline(always)]
    pub(super) fn reference(self, index: usize) -> &'a AtomicU64 {
        match self {
            Self::Plain(rows) => &rows[index],
            Self::Short(rows) => &rows[index].reference,
            Self::Long(rows) => &rows[index].reference,
        }
    }

    /// The stamp and the words of a row's copy, if it has room for one.
    #[inline(always)]
    fn copy(self, index: usize) -> Option<(&'a AtomicU64, &'a [AtomicU64])> {
        match self {
            Self::Plain(_) => None,
            Self::Short(rows) => Some((&rows[index].stamp, &rows[index].words)),
            Self::Long(rows) => Some((&rows[index].stamp, &rows[index].words)),
        }
    }

    /// Publisher, steps 1 and 2: the row has no copy from here on. `rest` are the words of the second line;
    /// empty without a copy, or if there is no such line.
    #[inline(always)]
    pub(super) fn prepare(self, index: usize, rest: &[u64]) {
        if let Some((stamp, words)) = self.copy(index) {
            stamp.store(0, Ordering::Relaxed);
            if !rest.is_empty() {
                fence(Ordering::Release);
                store(&words[SHORT_WORDS..], rest);
            }
        }
    }

    /// Publisher, steps 4 and 5: after the claim of the row, writes the words of the first line and the
    /// stamp, which is not 0.
    #[inline(always)]
    pub(super) fn complete(self, index: usize, first: &[u64], stamp: u64) {
        if let Some((shown, words)) = self.copy(index) {
            fence(Ordering::Release);
            store(&words[..SHORT_WORDS], first);
            shown.store(stamp, Ordering::Release);
        }
    }

    /// Reader, steps 3 to 6: copies the message of the row that had this reference word, and returns its
    /// stamp. `None` if the row has no copy of that message; then `into` holds anything.
    #[inline(always)]
    pub(super) fn read(self, index: usize, reference: u64, into: &mut [u64]) -> Option<u64> {
        let (shown, words) = self.copy(index)?;
        let mut stamp = shown.load(Ordering::Acquire);
        for _ in 0..LOOKS {
            if stamp != 0 {
                break;
            }
            stamp = shown.load(Ordering::Acquire);
        }
        if stamp == 0 {
            return None;
        }
        for (value, word) in into.iter_mut().zip(words) {
            *value = word.load(Ordering::Relaxed);
        }
        fence(Ordering::Acquire);
        let is_same = shown.load(Ordering::Acquire) == stamp
            && self.reference(index).load(Ordering::Relaxed) == reference;
        is_same.then_some(stamp)
    }
}

#[inline(always)]
fn store(words: &[AtomicU64], values: &[u64]) {
    for (word, value) in words.iter().zip(values) {
        word.store(*value, Ordering::Relaxed);
    }
}

/// A message as it is written into a row: the words of the first line, and those of the second.
#[derive(Debug, Clone, Copy)]
pub struct Copied<'m> {
    /// Written after the claim.
    pub first: &'m [u64],
    /// Written before the claim.
    pub rest: &'m [u64],
}

impl<'m> Copied<'m> {
    /// Divides a message.
    #[inline(always)]
    pub fn new(message: &'m [u64]) -> Self {
        let (first, rest) = message.split_at(message.len().min(SHORT_WORDS));
        Self { first, rest }
    }
}
