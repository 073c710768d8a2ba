//! The roster: what a joining participant needs to know of each place behind the first window, side by side.
//!
//! A place is a page, so a look at thousands of places takes as many cache lines and entries of page tables.
//! A participant that joins or leaves reads the roster instead, at the end of the subscribers' file: 64 bytes
//! for each place, by a few `read` calls. Places of the first window have no entries, because every
//! participant has them mapped. So a topic with few subscribers has no roster, and pays nothing for it.
//!
//! The places stay the truth. Participants that may write places write the roster, under the lock of the
//! directory, and always the entry before the place:
//!
//! ```text
//!                 before         a process that dies in between leaves            after
//!   joining       both free      the entry taken, the place free                  both taken
//!   freeing       both taken     the entry free, the place taken by a gone one    both free
//! ```
//!
//! So a subscriber that is present always has an entry. The first of the two states keeps a place out of use.
//! Its entry names a dead node, and is found like the places of dead subscribers; at the latest when no place
//! seems to be free. The second one is found by the next subscriber that wants the place. Both lead to a
//! repair of the whole topic, which [mends](mend) the roster. A roster with any other content, from a process
//! that does not keep to this, has no other effects than a place out of use, an unnecessary repair, or a
//! participant that does not compare itself with the subscriber whose entry was changed.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use super::file::Topic;
use super::files::SUBSCRIBERS_FILE;
use super::format::{ROSTER_OFFSET, RosterEntry, domain_to_word, state};
use super::lock::Lock;
use super::members::{PlaceView, WINDOWS};
use super::state_word::StateWord;

/// The first place that has an entry.
pub(super) const FIRST: usize = WINDOWS[0];
/// How many entries one `read` call takes.
const AT_ONCE: usize = 256;
const SIZE: usize = size_of::<RosterEntry>();

/// The roster of a topic whose lock is held.
#[derive(Debug)]
pub(super) struct Roster(File);

impl Roster {
    /// Opens the roster in the locked directory, because the path may lead elsewhere by now.
    pub(super) fn open(topic: &Topic, lock: &Lock, write: bool) -> io::Result<Self> {
        let file = lock.at(SUBSCRIBERS_FILE).open(write)?;
        if topic.places.is(&file) { Ok(Self(file)) } else { Err(io::ErrorKind::NotFound.into()) }
    }

    /// Calls `visit` with the entries of the places below `used`, each with the number of its place.
    pub(super) fn read(&self, used: usize, mut visit: impl FnMut(usize, RosterEntry)) -> io::Result<()> {
        let mut buffer = [0; AT_ONCE * SIZE];
        for first in (FIRST..used).step_by(AT_ONCE) {
            let bytes = &mut buffer[..AT_ONCE.min(used - first) * SIZE];
            self.0.read_exact_at(bytes, offset_of(first))?;
            for (at, bytes) in bytes.chunks_exact(SIZE).enumerate() {
                // SAFETY: an entry is plain numbers without padding, for which any bytes are valid; there are
                // as many as it has.
                let entry = unsafe { bytes.as_ptr().cast::<RosterEntry>().read_unaligned() };
                visit(first + at, entry);
            }
        }
        Ok(())
    }

    /// Writes the entry of a place behind the first window. The entry has memory.
    pub(super) fn write(&self, place: usize, entry: &RosterEntry) -> io::Result<()> {
        debug_assert!(place >= FIRST);
        // SAFETY: an entry is plain numbers without padding.
        let bytes = unsafe { std::slice::from_raw_parts((&raw const *entry).cast::<u8>(), SIZE) };
        self.0.write_all_at(bytes, offset_of(place))
    }
}

/// The offset of a place's entry in the file.
pub(super) fn offset_of(place: usize) -> u64 {
    (ROSTER_OFFSET + place * SIZE) as u64
}

/// What the entry of a place with this state word should be. Whether the subscriber has left or died is no
/// part of it: subscribers leave without the lock.
pub(super) fn entry_of(place: PlaceView<'_>, word: StateWord) -> RosterEntry {
    if !word.is_taken() {
        return RosterEntry::default();
    }
    RosterEntry {
        state: word.0 & !state::GONE,
        encoding: place.encoding(),
        node: place.node(),
        domain: domain_to_word(place.domain()),
        layout_hash: place.layout_hash(),
        deadline_ns: place.deadline_ns(),
        lease_ns: place.lease_ns(),
        reserved: [0; 2],
    }
}

/// Corrects the entries that differ from their places. Without the right to write them, the next repairer
/// that has it does this.
pub(super) fn mend(topic: &Topic, lock: &Lock) {
    let used = topic.places.used();
    if used <= FIRST {
        return;
    }
    let mut wrong = Vec::new();
    let compare = |index: usize, entry: RosterEntry| {
        let right = topic.places.at(index).map(|place| entry_of(place, place.word));
        wrong.extend(right.filter(|right| *right != entry).map(|right| (index, right)));
    };
    let read = Roster::open(topic, lock, false).and_then(|roster| roster.read(used, compare));
    if read.is_err() || wrong.is_empty() {
        return;
    }
    if let Ok(roster) = Roster::open(topic, lock, true) {
        wrong.iter().for_each(|(index, right)| _ = roster.write(*index, right));
    }
}
