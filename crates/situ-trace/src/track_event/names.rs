//! Names that a writer sends once, and later refers to by number.

use std::borrow::Cow;
use std::sync::atomic::{AtomicU32, Ordering};

/// Names with numbers below this are interned. Others are written out each time.
pub(super) const MAX_INTERNED: u32 = 8192;

static NEXT: AtomicU32 = AtomicU32::new(1);

/// The name of an event, an argument or a category. Created once, as a static, where it is used.
// The layout is that of `situ_trace_name` in C.
#[repr(C)]
#[derive(Debug)]
pub struct Name {
    text: *const u8,
    len: usize,
    /// 0 until the first use.
    number: AtomicU32,
}

// SAFETY: the text is never written, and lives as long as the program.
unsafe impl Sync for Name {}
// SAFETY: as above.
unsafe impl Send for Name {}

impl Name {
    /// Creates a name.
    pub const fn new(text: &'static str) -> Self {
        Self { text: text.as_ptr(), len: text.len(), number: AtomicU32::new(0) }
    }

    /// Returns the text. Invalid UTF-8, which only C can pass, is replaced by U+FFFD.
    pub fn text(&self) -> Cow<'_, str> {
        if self.text.is_null() {
            return Cow::Borrowed("");
        }
        // SAFETY: a `&'static str`, or memory that C promised to be valid as long. The pointer is not null.
        String::from_utf8_lossy(unsafe { std::slice::from_raw_parts(self.text, self.len) })
    }

    /// Returns its number in this process.
    #[inline(always)]
    pub(super) fn number(&self) -> u32 {
        match self.number.load(Ordering::Relaxed) {
            0 => self.take_number(),
            number => number,
        }
    }

    #[cold]
    fn take_number(&self) -> u32 {
        let number = take_number();
        // If two threads come at once, the number of the first stays, and the other number is never used.
        match self.number.compare_exchange(0, number, Ordering::Relaxed, Ordering::Relaxed) {
            Ok(_) => number,
            Err(first) => first,
        }
    }
}

/// The name of an event or an argument: known when the program is compiled, or computed.
#[derive(Debug, Clone, Copy)]
pub enum Label<'a> {
    /// A name that a writer sends once.
    Known(&'static Name),
    /// A text that is written out each time.
    Text(&'a str),
    /// A text of another language. Bytes that are not UTF-8 are replaced by U+FFFD.
    Foreign(&'a [u8]),
}

impl Label<'_> {
    /// Returns its text.
    pub fn text(&self) -> Cow<'_, str> {
        match self {
            Self::Known(name) => name.text(),
            Self::Text(text) => Cow::Borrowed(text),
            Self::Foreign(text) => String::from_utf8_lossy(text),
        }
    }
}

impl PartialEq for Label<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.text() == other.text()
    }
}

impl From<&'static Name> for Label<'_> {
    #[inline]
    fn from(name: &'static Name) -> Self {
        Self::Known(name)
    }
}

impl<'a> From<&'a str> for Label<'a> {
    #[inline]
    fn from(text: &'a str) -> Self {
        Self::Text(text)
    }
}

impl<'a> From<&'a String> for Label<'a> {
    #[inline]
    fn from(text: &'a String) -> Self {
        Self::Text(text)
    }
}

/// Returns a number that is unique in this process, from 1.
pub(super) fn take_number() -> u32 {
    NEXT.try_update(Ordering::Relaxed, Ordering::Relaxed, |next| next.checked_add(1)).unwrap_or(u32::MAX)
}

/// The table in which a reader looks up a name's number. A name may be in several: C++ has one name for each
/// literal, and a program in C or Rust may use one name for an event and for an argument.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub(super) enum Table {
    /// `event_categories`.
    Categories = 0,
    /// `event_names`.
    Events = 1,
    /// `debug_annotation_names`.
    Arguments = 2,
    /// The tracks of counters: not a table of interned data, but also described once.
    Counters = 3,
}

/// The number of tables.
const TABLES: u32 = 4;
const WORDS: usize = (MAX_INTERNED * TABLES / 64) as usize;

/// What a writer has sent.
#[derive(Debug)]
pub(super) struct Sent {
    /// The names since its state was last cleared: one bit for each table, with a name's bits side by side.
    names: [u64; WORDS],
    /// The number of the last message of a log. Perfetto refuses a number that had another text, even after
    /// the state was cleared.
    logs: u64,
    /// Tracks of calls that were described since then, at an index computed from the track's number. One whose
    /// place another one has taken is described again.
    tracks: [u64; TRACKS],
}

/// The number of tracks of calls that a thread remembers.
const TRACKS: usize = 32;

impl Sent {
    pub(super) const fn empty() -> Self {
        Self { names: [0; WORDS], logs: 0, tracks: [0; TRACKS] }
    }

    pub(super) fn clear(&mut self) {
        self.names.fill(0);
        self.tracks.fill(0);
    }

    /// Returns whether the track of a call was described.
    pub(super) fn has_track(&self, uuid: u64) -> bool {
        self.tracks[uuid as usize % TRACKS] == uuid
    }

    /// Marks the track of a call as described.
    pub(super) fn add_track(&mut self, uuid: u64) {
        self.tracks[uuid as usize % TRACKS] = uuid;
    }

    /// Returns a number for a message of a log: its text and its place in the source have this number.
    pub(super) fn next_log(&mut self) -> u64 {
        self.logs += 1;
        self.logs
    }

    /// Returns whether the name was sent into this table. True for names that are never interned.
    #[inline(always)]
    pub(super) fn has(&self, table: Table, number: u32) -> bool {
        let (word, bit) = place(table, number);
        self.names.get(word).is_none_or(|word| word & bit != 0)
    }

    /// Marks the name as sent into this table. Returns whether it was not sent before.
    pub(super) fn add(&mut self, table: Table, number: u32) -> bool {
        let is_new = !self.has(table, number);
        let (word, bit) = place(table, number);
        if let Some(word) = self.names.get_mut(word) {
            *word |= bit;
        }
        is_new
    }
}

/// Returns the index of the word with a name's bit, and the bit.
#[inline(always)]
fn place(table: Table, number: u32) -> (usize, u64) {
    let names = 64 / TABLES;
    ((number / names) as usize, 1 << (number % names * TABLES + table as u32))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_keeps_its_number() {
        static ONE: Name = Name::new("one");
        static OTHER: Name = Name::new("other");
        let number = ONE.number();
        assert_eq!(ONE.number(), number);
        assert_ne!(OTHER.number(), number);
        assert_eq!(ONE.text(), "one");
    }

    #[test]
    fn only_invalid_utf8_is_replaced() {
        let name =
            |text: &'static [u8]| Name { text: text.as_ptr(), len: text.len(), number: AtomicU32::new(0) };
        assert_eq!(name(b"caf\xe9!").text(), "caf\u{fffd}!");
        assert_eq!(name("café!".as_bytes()).text(), "café!");
        let nothing = Name { text: std::ptr::null(), len: 5, number: AtomicU32::new(0) };
        assert_eq!(nothing.text(), "", "C may pass no text");
    }

    #[test]
    fn a_sent_name_is_marked_in_its_table_until_it_is_cleared() {
        use Table::{Arguments, Categories, Counters, Events};
        let mut sent = Sent::empty();
        let tables = [Categories, Events, Arguments, Counters];
        for number in [1, 15, 16, 70, MAX_INTERNED - 1] {
            for (index, table) in tables.into_iter().enumerate() {
                assert!(!sent.has(table, number) && sent.add(table, number) && !sent.add(table, number));
                for (other, table) in tables.into_iter().enumerate() {
                    assert_eq!(sent.has(table, number), other <= index, "{number} in {table:?}");
                    assert!(!sent.has(table, number + 1) || number + 1 >= MAX_INTERNED);
                }
            }
        }
        assert!(sent.has(Events, MAX_INTERNED), "never interned, so never missing");
        sent.clear();
        assert!(!tables.iter().any(|table| sent.has(*table, 70)));
    }
}
