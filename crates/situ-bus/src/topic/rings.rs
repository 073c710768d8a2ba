//! The rings of a topic: the first lies in the topic's own file, each further one in a file beside it.
//!
//! A topic with too few rows for a new member gets another ring; no member waits, and no data moves. The file
//! of the new ring is created, then the present ring is sealed (see [`ring`](crate::protocol::ring)).
//! Publishers and readers find the seal in the row that they would use next, and continue in the new ring.
//! The old one stays as it is, for readers that are behind and for late readers that request earlier
//! messages.
//!
//! All other data stays in place, whichever ring is used: entries, domains and words to sleep on in the
//! topic's file, places in the file of its subscribers.

use std::fs::File;
use std::io;
use std::os::fd::AsFd;
use std::os::unix::fs::FileExt;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use situ_memory::sync::atomic::{AtomicU64, Ordering};
use situ_memory::{Beneath, Mapping, MemoryError, find_memory};

use super::file::Topic;
use super::files::{FILE, HIDDEN_FILE, find_column, is_topic_file, system};
use super::format::{DOMAINS, RingHeader, RingParts};
use super::lock::Lock;
use super::ring_files::{Further, MAX_RINGS};
use crate::protocol::copy_state::CopyState;
use crate::protocol::ring::{ClaimError, Look, Ring};
use crate::timeouts::SEAL_TIMEOUT;

impl Topic {
    /// The newest ring that this process has found.
    #[inline]
    pub(crate) fn ring(&self) -> Ring<'_> {
        match self.rings.known.load(Ordering::Acquire) {
            0 => self.first_ring(),
            known => self.newest(known),
        }
    }

    // Out of line, because in topics that have not grown the first ring is the only one.
    #[cold]
    #[inline(never)]
    fn newest(&self, known: usize) -> Ring<'_> {
        self.further(known - 1).unwrap_or_else(|| self.first_ring())
    }

    /// The ring that holds message `number`, among those that this process has found.
    #[inline]
    pub(crate) fn ring_of(&self, number: u64) -> Ring<'_> {
        match self.rings.known.load(Ordering::Acquire) {
            0 => self.first_ring(),
            known => self.ring_among(known, number),
        }
    }

    #[cold]
    #[inline(never)]
    fn ring_among(&self, known: usize, number: u64) -> Ring<'_> {
        (0..known)
            .rev()
            .filter_map(|index| self.further(index))
            .find(|ring| number >= ring.base())
            .unwrap_or_else(|| self.first_ring())
    }

    /// A ring behind the first one. `None` if this process has skipped it.
    fn further(&self, index: usize) -> Option<Ring<'_>> {
        self.rings.further[index].get().map(Further::ring)
    }

    /// The rings that this process has found, oldest first.
    fn all_rings(&self) -> impl Iterator<Item = Ring<'_>> {
        let known = self.rings.known.load(Ordering::Acquire);
        std::iter::once(self.first_ring()).chain((0..known).filter_map(|index| self.further(index)))
    }

    /// The rings whose rows still name messages that can be taken. A sealed ring is over when no present
    /// subscriber is in it and no new one begins in it.
    pub(super) fn needed_rings(&self) -> Vec<Ring<'_>> {
        let first = self.registry().first.load(Ordering::SeqCst);
        self.all_rings().filter(|ring| ring.sealed_at().is_none_or(|seal| seal > first)).collect()
    }

    /// The mappings of the further rings.
    pub(super) fn maps_of_further_rings(&self) -> impl Iterator<Item = &Mapping> {
        self.rings.further.iter().filter_map(OnceLock::get).map(|further| &further.map)
    }

    /// Finds and maps all rings up to the newest.
    #[cold]
    pub(crate) fn follow(&self) -> Result<(), MemoryError> {
        loop {
            let known = self.rings.known.load(Ordering::Acquire);
            let Some(seal) = self.ring().sealed_at() else { return Ok(()) };
            let (index, further) = self.open_behind(known, seal)?;
            // No writer begins or ends meanwhile.
            let writers = self.rights.writers();
            self.rights
                .adjust(&further.map, *writers)
                .map_err(|error| system("protect", self.ring_path(index).path(), error))?;
            // If another thread was faster, its ring is the same.
            let _ = self.rings.further[index - 1].set(further);
            drop(writers);
            self.rings.known.fetch_max(index, Ordering::AcqRel);
        }
    }

    /// Opens the ring behind the one that is sealed with this number, and returns its index and the ring.
    ///
    /// The file of the next ring is complete before the seal. It is missing only if it was removed since,
    /// because it is not needed any more (see [`forget_rings`](Self::forget_rings)). Then the newest ring is
    /// another one, which is never removed. Each remaining ring behind a removed one contains the number of
    /// its first message.
    fn open_behind(&self, known: usize, seal: u64) -> Result<(usize, Further), MemoryError> {
        let mut missing = None;
        for index in known + 1..MAX_RINGS {
            let path = self.ring_path(index);
            let base = (index == known + 1).then_some(seal);
            match Further::open(&path, &self.header, index as u32, base, self.rights.may_write()) {
                Ok(further) if further.base >= seal => return Ok((index, further)),
                Ok(_) => {
                    let reason = "it begins before the end of an earlier ring".to_owned();
                    return Err(MemoryError::Malformed { path: path.path().to_owned(), reason });
                }
                Err(MemoryError::System { source, action, path })
                    if source.kind() == io::ErrorKind::NotFound =>
                {
                    missing.get_or_insert(MemoryError::System { source, action, path });
                }
                Err(error) => return Err(error),
            }
        }
        let path = self.ring_path(known + 1);
        let reason = "the topic has too many rings".to_owned();
        Err(missing.unwrap_or(MemoryError::Malformed { path: path.path().to_owned(), reason }))
    }

    /// The number of the next message to be published, as of now.
    pub(crate) fn end(&self) -> u64 {
        match self.ring().sealed_at() {
            // If the next ring cannot be opened, nothing behind the seal can be taken either.
            Some(seal) => self.follow().map_or(seal, |()| self.ring().end()),
            None => self.ring().end(),
        }
    }

    /// Whether a take of message `number` has a result: the message is published or was passed, or its ring
    /// cannot be opened.
    #[inline]
    pub(crate) fn is_published(&self, number: u64) -> bool {
        match self.ring_of(number).look(number) {
            Look::NotYet => false,
            Look::Here(..) | Look::Passed(_) => true,
            Look::Sealed => self.is_published_behind_the_seal(number),
        }
    }

    #[cold]
    fn is_published_behind_the_seal(&self, number: u64) -> bool {
        self.follow().is_err() || self.ring_of(number).look(number) != Look::NotYet
    }

    /// Whether more than `keep` messages are published from `number` on.
    #[inline]
    pub(crate) fn has_more_than(&self, keep: u64, number: u64) -> bool {
        let beyond = number.wrapping_add(keep);
        self.is_published(beyond)
            // A seal between the two would hide messages that were published behind it. (A hint is enough:
            // its delay is the time of joining, growing and writing it.)
            || (self.registry().rings.load(Ordering::Relaxed) as usize != self.rings.known.load(Ordering::Relaxed)
                && self.end() > beyond)
    }

    /// The entry of a message in a column that [`take_column`](Self::take_column) returned.
    pub(crate) fn entry(&self, column: usize, number: u64) -> CopyState<'_> {
        assert!(column < DOMAINS as usize);
        let known = self.rings.known.load(Ordering::Acquire);
        let further = self.rings.further[..known].iter().rev().filter_map(OnceLock::get);
        let ((columns, depth), base) = further
            .map(|ring| ((ring.columns(), ring.header.depth), ring.base))
            .find(|(_, base)| number >= *base)
            .unwrap_or_else(|| (self.first_columns(), 0));
        let number = number.wrapping_sub(base);
        let row = (number & u64::from(depth - 1)) as usize;
        // SAFETY: the headers were checked against the sizes of the files: `DOMAINS` columns of `depth` words
        // lie there, aligned; any bits are a valid atomic, and sharing one is no data race.
        let word = unsafe { &*columns.cast::<AtomicU64>().add(column * depth as usize + row) };
        CopyState::new(word, number, u64::from(depth))
    }

    /// The files of the further rings, each with the offset of its columns and the number of its rows.
    pub(super) fn columns_of_further_rings(&self) -> impl Iterator<Item = (Beneath, u64, u32)> {
        let known = self.rings.known.load(Ordering::Acquire);
        let first = self.registry().first.load(Ordering::SeqCst);
        (0..known).filter_map(move |index| {
            let ring = self.rings.further[index].get()?;
            // The files of rings that are over are removed.
            ring.ring().sealed_at().is_none_or(|seal| seal > first).then_some(())?;
            Some((self.ring_path(index + 1), ring.parts.columns as u64, ring.header.depth))
        })
    }

    fn ring_path(&self, index: usize) -> Beneath {
        self.directory.join(format!("{FILE}.{index}"))
    }

    /// Gives the topic a ring of `depth` rows, a power of two and more than it has. The caller holds the
    /// directory's lock, so no member joins meanwhile, and no other process grows the topic. Returns false if
    /// a reliable subscriber leaves no row for the seal.
    pub(crate) fn grow(&self, depth: u32, _lock: &Lock) -> Result<bool, MemoryError> {
        let _writing = self.writing()?;
        self.follow()?;
        let index = self.rings.known.load(Ordering::Acquire) + 1;
        let path = self.ring_path(index);
        // An existing ring was created by a process that died before its seal: it was never used.
        path.remove_if(is_topic_file);
        self.make_ring(&path, index as u32, depth)?;
        if !self.seal() {
            path.remove_if(is_topic_file);
            return Ok(false);
        }
        self.follow()?;
        self.hint_at_rings();
        Ok(true)
    }

    /// Writes the hint of the number of rings, and the first number of each, also for a process that died
    /// before it did so. Under the directory's lock. Returns whether the newest ring could be opened.
    pub(crate) fn hint_at_rings(&self) -> bool {
        if self.follow().is_err() {
            return false;
        }
        let known = self.rings.known.load(Ordering::Acquire);
        let rings = || self.rings.further[..known].iter().filter_map(OnceLock::get);
        // The base comes from the seal of the previous ring or, if that ring is gone, from the header.
        let word = |ring: &Further| ring.base.wrapping_add(1);
        let are_right = rings().all(|ring| ring.base_word().load(Ordering::Relaxed) == word(ring))
            && self.registry().rings.load(Ordering::Relaxed) as usize == known;
        // Without the right to write, the next participant that has it does this.
        if !are_right && let Ok(_writing) = self.writing() {
            rings().for_each(|ring| ring.base_word().store(word(ring), Ordering::Release));
            self.registry().rings.store(known as u32, Ordering::Relaxed);
        }
        true
    }

    /// Removes the files of sealed rings that are over: all present subscribers have passed them, and the
    /// newest ring is so full that no new subscriber can begin in them. Under the directory's lock, so that
    /// none joins meanwhile; after [`hint_at_rings`](Self::hint_at_rings).
    ///
    /// A process that dies before `first` is written has done nothing. After that, no subscriber begins in
    /// those rings, even if a later ring is so deep that it would reach back there; the next repairer removes
    /// their files. A process that has such a ring mapped keeps it. A process that reaches its seal later, or
    /// finds its file missing, goes on to a remaining ring, whose base was written before.
    pub(super) fn forget_rings(&self, lock: &Lock) {
        let known = self.rings.known.load(Ordering::Acquire);
        if known == 0 {
            return;
        }
        let end = self.ring().end();
        let slowest = self.places.active().map(|place| place.cursor()).min().unwrap_or(end);
        let oldest = slowest.min(end.saturating_sub(self.ring().depth()));
        let over = self.all_rings().filter_map(|ring| ring.sealed_at()).filter(|seal| *seal <= oldest);
        let before = self.registry().first.load(Ordering::SeqCst);
        let first = over.fold(before, u64::max);
        if first != before {
            let Ok(_writing) = self.writing() else { return };
            self.registry().first.store(first, Ordering::SeqCst);
        }
        for index in 1..known {
            let is_over = |ring: Ring<'_>| ring.sealed_at().is_some_and(|seal| seal <= first);
            if self.further(index - 1).is_some_and(is_over) {
                lock.at(format!("{FILE}.{index}")).remove_if(is_topic_file);
            }
        }
    }

    /// Appends the seal. Like a publisher, it does not lap a subscriber that is waited for.
    fn seal(&self) -> bool {
        let ring = self.ring();
        let start = Instant::now();
        loop {
            let admit = |number: u64| {
                let waited_for = self.places.active().filter(|place| place.is_waited_for());
                // A publisher that does not match may have lapped a subscriber. That one has nothing to lose.
                let is_lapped = |cursor: u64| self.is_mixed() && number > cursor.saturating_add(ring.depth());
                let cursors = waited_for.map(|place| place.cursor());
                let slowest = cursors.filter(|cursor| !is_lapped(*cursor)).min();
                let fits = slowest.is_none_or(|slowest| number < slowest.saturating_add(ring.depth()));
                fits.then_some(()).ok_or(())
            };
            match ring.seal(admit) {
                // It may already be sealed by a process whose lock was lost. That process' ring is then the
                // present one.
                Ok(_) | Err(ClaimError::Sealed) => return true,
                Err(ClaimError::Corrupted) => return false,
                Err(ClaimError::Refused(())) if start.elapsed() > SEAL_TIMEOUT => return false,
                Err(ClaimError::Refused(())) => {
                    self.mark_dead_places();
                    std::thread::sleep(Duration::from_micros(200));
                }
            }
        }
    }

    fn make_ring(&self, place: &Beneath, index: u32, depth: u32) -> Result<(), MemoryError> {
        let hidden = self.directory.join(HIDDEN_FILE);
        hidden.remove_if(is_topic_file);
        let file = hidden
            .create(self.permissions.mode, self.permissions.group)
            .map_err(|error| system("create", hidden.path(), error))?;
        let made = self.fill_ring(&file, index, depth).and_then(|()| hidden.rename(place));
        made.map_err(|error| {
            let _ = hidden.remove();
            system("make", place.path(), error)
        })
    }

    fn fill_ring(&self, file: &File, index: u32, depth: u32) -> io::Result<()> {
        let header = RingHeader::new(&self.header, index, depth);
        let parts = RingParts::of(depth, self.header.row_kind());
        file.set_len(parts.end as u64)?;
        // As in the topic's file, no later write may fail because the file system is full.
        find_memory(file.as_fd(), 0, parts.columns as u64)?;
        if self.domains().nth(1).is_some() {
            for (column, _) in self.domains() {
                find_column(file, parts.columns as u64, depth, column)?;
            }
        }
        // SAFETY: a header is plain numbers without padding.
        let bytes =
            unsafe { std::slice::from_raw_parts((&raw const header).cast::<u8>(), size_of::<RingHeader>()) };
        file.write_all_at(bytes, 0)
    }
}
