//! The file of a topic's subscribers, mapped: their places, which only subscribers write.
//!
//! A publisher maps it from a descriptor that was opened for reading. So no write of its process, by mistake
//! or on purpose, moves a cursor, and the kernel refuses to make the mapping writable. In the code it uses a
//! [`PlaceView`], which cannot store. Two types can: [`OwnPlace`](super::own_place::OwnPlace), of a
//! subscriber, and [`WritablePlaces`], of a repairer during the repair.
//!
//! So a publisher that finds a subscriber dead cannot mark its place. It keeps a [list](StateList) of the
//! places that it skips, and another of the places whose ledgers do not count any more.
//!
//! Every place is a page. Pages that were never used have no memory, and a participant maps only as many as
//! are used ([`WINDOWS`]): what is mapped gets memory if the program locks all of its pages.

use std::fs::File;
use std::io;
use std::os::fd::AsFd;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::ptr::NonNull;
use std::sync::OnceLock;

use situ_memory::sync::atomic::{Ordering, fence};
use situ_memory::{Access, Beneath, DomainId, Mapping, MemoryError, find_memory};

use super::files::{Identity, SUBSCRIBERS_FILE, identify, is_topic_file, leads_to, system};
use super::format::{
    ARRIVALS_OFFSET, Arrivals, PAGE, PLACES, PLACES_OFFSET, Place, ROOM_MADE_OFFSET, ROSTER_OFFSET, RoomMade,
    RosterEntry, SUBSCRIBERS_END, SubscribersHeader, domain_from_word, state,
};
use super::lock::Lock;
use super::rights::Permissions;
use super::state_list::StateList;
use super::state_word::StateWord;
use crate::protocol::flow_window::Epoch;
use crate::protocol::ledger::HeldSlot;

/// How many places each window of the file has. The first window is always mapped, the others when a place in
/// them is used.
pub(super) const WINDOWS: [usize; 3] = [63, 1023, PLACES as usize];

/// The places of a topic's subscribers, as this participant has them mapped.
#[derive(Debug)]
pub(crate) struct Places {
    /// The first window, from the beginning of the file.
    map: Mapping,
    /// The larger windows, also from the beginning of the file. Pages are shared, so a place is the same in
    /// each.
    further: [OnceLock<Mapping>; WINDOWS.len() - 1],
    identity: Identity,
    file: Beneath,
    /// The topic's number.
    id: u64,
    /// The dead subscribers whose places this participant cannot mark.
    passed_over: StateList,
    /// Those of them whose ledgers do not count any more.
    released: StateList,
}

/// A place as other participants read it, and its state word at one time.
///
/// The memory may be mapped read-only. A load of at most 8 bytes is one load instruction, in any ordering, on
/// every processor that has shared memory of this kind; only larger loads may need a write.
#[derive(Clone, Copy)]
pub(crate) struct PlaceView<'a> {
    place: &'a Place,
    pub(crate) index: usize,
    pub(crate) word: StateWord,
}

impl PlaceView<'_> {
    /// Whether a subscriber has it and was not found dead.
    #[inline]
    pub(crate) fn is_there(self) -> bool {
        self.word.is_there()
    }

    /// Whether publishers wait for it.
    #[inline]
    pub(crate) fn is_waited_for(self) -> bool {
        self.word.is_waited_for()
    }

    /// The number of its next message. SeqCst: see `flow_window`.
    #[inline]
    pub(crate) fn cursor(self) -> u64 {
        self.place.cursor.load(Ordering::SeqCst)
    }

    pub(crate) fn domain(self) -> DomainId {
        domain_from_word(&self.place.domain)
    }

    /// Whether the place still has the state word that this was made with.
    pub(crate) fn is_unchanged(self) -> bool {
        StateWord::read(&self.place.state) == self.word
    }
}

impl<'a> PlaceView<'a> {
    /// The slots that it holds.
    pub(crate) fn held(self) -> impl Iterator<Item = HeldSlot> + 'a {
        self.place.ledger.held()
    }
}

macro_rules! read {
    ($($field:ident: $type:ty),*) => {
        impl PlaceView<'_> {
            $(pub(crate) fn $field(self) -> $type {
                self.place.$field.load(Ordering::Relaxed)
            })*
        }
    };
}

read!(node: u64, encoding: u32, deadline_ns: u64, lost: u64, taken: u64, keep_last: u64, layout_hash: u64, thread: u64, joined_at: u64, number: u64, lease_ns: u64);

impl Places {
    /// Creates the file of a topic's subscribers, before the topic has its name. Under the lock of the
    /// directory.
    ///
    /// A process that dies here, or before it gives the topic its name, leaves a file to which no topic
    /// leads. The next creator of the topic removes it, so the file needs no other name while it is
    /// unfinished.
    pub(super) fn create(permissions: Permissions, directory: &Beneath, id: u64) -> Result<(), MemoryError> {
        let file = directory.join(SUBSCRIBERS_FILE);
        let path = file.path();
        file.remove_if(is_topic_file);
        let made = file
            .create(permissions.mode, permissions.group)
            .map_err(|error| system("create", path, error))?;
        let header = SubscribersHeader::new(id);
        // SAFETY: a header is plain numbers without padding.
        let bytes = unsafe {
            std::slice::from_raw_parts((&raw const header).cast::<u8>(), size_of::<SubscribersHeader>())
        };
        // As in the topic's file, no later write may fail because the file system is full. Places get memory
        // when they are taken.
        made.set_len(SUBSCRIBERS_END as u64)
            .and_then(|()| find_memory(made.as_fd(), 0, PLACES_OFFSET as u64))
            .and_then(|()| made.write_all_at(bytes, 0))
            .map_err(|error| system("make", path, error))
    }

    /// Opens and checks the file of the subscribers of the topic with this number.
    pub(super) fn open(file: Beneath, id: u64, access: Access) -> Result<Self, MemoryError> {
        let path = file.path();
        let opened = file.open(access == Access::ReadWrite).map_err(|error| system("open", path, error))?;
        check(&opened, path, id)?;
        let map =
            window(&opened, WINDOWS[0], access).map_err(|error| MemoryError::not_mapped(path, error))?;
        let identity = identify(&opened).map_err(|error| system("look at", path, error))?;
        let (passed_over, released) = (StateList::new(PLACES), StateList::new(PLACES));
        let further = Default::default();
        Ok(Self { map, further, identity, file, id, passed_over, released })
    }

    /// The window that has a place. Maps it if it is not mapped yet.
    #[inline]
    fn window_of(&self, index: usize) -> Result<&Mapping, MemoryError> {
        if index < WINDOWS[0] { Ok(&self.map) } else { self.further_window_of(index) }
    }

    #[cold]
    fn further_window_of(&self, index: usize) -> Result<&Mapping, MemoryError> {
        assert!(index < PLACES as usize);
        let number = WINDOWS.iter().position(|places| index < *places).unwrap_or_default().saturating_sub(1);
        if let Some(window) = self.further[number].get() {
            return Ok(window);
        }
        let path = self.file.path();
        let access = self.map.access();
        let file =
            self.file.open(access == Access::ReadWrite).map_err(|error| system("open", path, error))?;
        if identify(&file).map_err(|error| system("look at", path, error))? != self.identity {
            return Err(system("open", path, io::ErrorKind::NotFound.into()));
        }
        let mapped = window(&file, WINDOWS[number + 1], access)
            .map_err(|error| MemoryError::not_mapped(path, error))?;
        // Another thread may have been faster; then its window is used.
        Ok(self.further[number].get_or_init(|| mapped))
    }

    /// Gives memory to the page of a place, and to its entry in the roster if it has one, before the place is
    /// taken for the first time. Under the lock of the directory, by a participant that may write.
    pub(super) fn find_memory_for(&self, index: usize) -> Result<(), MemoryError> {
        let path = self.file.path();
        let file = self.file.open(true).map_err(|error| system("open", path, error))?;
        let find = |at: usize, len: usize| {
            find_memory(file.as_fd(), at as u64, len as u64)
                .map_err(|error| system("find memory for", path, error))
        };
        find(PLACES_OFFSET + index * PAGE, PAGE)?;
        if index >= WINDOWS[0] {
            const SIZE: usize = size_of::<RosterEntry>();
            find(ROSTER_OFFSET + index * SIZE, SIZE)?;
        }
        self.window_of(index).map(drop)
    }

    /// Whether this is its file.
    pub(super) fn is(&self, file: &File) -> bool {
        identify(file).is_ok_and(|identity| identity == self.identity)
    }

    /// Its file.
    pub(crate) fn file(&self) -> &Beneath {
        &self.file
    }

    /// Whether the file still has its name. If that cannot be determined, it counts as named.
    pub(crate) fn is_named(&self) -> bool {
        leads_to(&self.file, self.identity)
    }

    /// Whether the file was truncated while it was mapped, as the guard has found.
    pub(super) fn is_damaged(&self) -> bool {
        let further = self.further.iter().filter_map(OnceLock::get);
        std::iter::once(&self.map).chain(further).any(Mapping::is_damaged)
    }

    #[inline]
    pub(super) fn arrivals(&self) -> &Arrivals {
        // SAFETY: the file was checked to be as long as the mapping, which is longer than this. The words are
        // aligned atomics, for which any bits are valid and sharing is no data race. Only participants that
        // may write store there.
        unsafe { &*self.map.base().add(ARRIVALS_OFFSET).cast::<Arrivals>() }
    }

    /// The word that subscribers change when they have made room.
    #[inline]
    pub(super) fn room_made(&self) -> &RoomMade {
        // SAFETY: as in `arrivals`.
        unsafe { &*self.map.base().add(ROOM_MADE_OFFSET).cast::<RoomMade>() }
    }

    /// Whether this participant may write the places.
    pub(crate) fn are_writable(&self) -> bool {
        self.map.access() == Access::ReadWrite
    }

    /// A place below the number of [used](Self::used) ones, or one that was given memory.
    #[inline]
    pub(super) fn raw(&self, index: usize) -> Result<NonNull<Place>, MemoryError> {
        let window = self.window_of(index)?;
        // SAFETY: the window has the place; a mapping is not at address zero.
        Ok(unsafe {
            let first = window.base().add(PLACES_OFFSET).cast::<Place>();
            NonNull::new_unchecked(first.add(index))
        })
    }

    /// The epoch, which changes whenever a subscriber joins.
    #[inline]
    pub(crate) fn epoch(&self) -> Epoch<'_> {
        Epoch::new(&self.arrivals().epoch)
    }

    /// The number of places that were ever taken.
    #[inline]
    pub(crate) fn used(&self) -> usize {
        self.arrivals().places_used.load(Ordering::SeqCst).min(PLACES) as usize
    }

    /// A place that was ever taken. `None` if it cannot be mapped.
    #[inline]
    pub(crate) fn at(&self, index: usize) -> Option<PlaceView<'_>> {
        let place = self.raw(index).ok()?;
        // SAFETY: `raw` returns a place of a mapping that lives as long as `self`; a place consists of
        // atomics.
        let place = unsafe { place.as_ref() };
        Some(PlaceView { place, index, word: StateWord::read(&place.state) })
    }

    /// All places that were ever taken, as far as they can be mapped: see [`map_all`](Self::map_all).
    #[inline]
    pub(crate) fn all(&self) -> impl Iterator<Item = PlaceView<'_>> {
        (0..self.used()).map_while(|index| self.at(index))
    }

    /// Maps all places that were ever taken. A participant that cannot must not take the subscribers that it
    /// does not see for absent.
    #[inline]
    pub(crate) fn map_all(&self) -> Result<(), MemoryError> {
        self.used().checked_sub(1).map_or(Ok(()), |last| self.window_of(last).map(drop))
    }

    /// Collects the slots of an entry's pool that subscribers hold, in order. The caller has retired the
    /// slots in question before. An error if some ledgers cannot be mapped: then any slot may be held.
    ///
    /// A subscriber that joins meanwhile is no exception. If this misses its place, the place was taken after
    /// the fence. Whatever the subscriber then tries to hold has its new generation already.
    pub(crate) fn held_in(&self, pool: usize, slots: &mut Vec<u16>) -> Result<(), MemoryError> {
        slots.clear();
        // See `ledger`: the generations come before the names.
        fence(Ordering::SeqCst);
        self.map_all()?;
        for place in self.all().filter(|place| place.word.is_taken() && !self.is_released(*place)) {
            let held = place.held().filter(|held| usize::from(held.pool) == pool);
            slots.extend(held.map(|held| held.slot));
        }
        slots.sort_unstable();
        Ok(())
    }

    /// The places of subscribers that are present and were not found dead by this participant.
    #[inline]
    pub(crate) fn active(&self) -> impl Iterator<Item = PlaceView<'_>> {
        self.all().filter(|place| place.is_there() && !self.is_passed_over(*place))
    }

    /// Whether this participant found the place's subscriber dead, and could not mark it.
    #[inline]
    pub(super) fn is_passed_over(&self, place: PlaceView<'_>) -> bool {
        self.has_passed_over(place.index, place.word)
    }

    /// The same of the subscriber that took this place with this word.
    pub(super) fn has_passed_over(&self, index: usize, word: StateWord) -> bool {
        self.passed_over.contains(index, word)
    }

    /// Whether the ledger of the place does not count any more, although the place could not be freed.
    #[inline]
    pub(super) fn is_released(&self, place: PlaceView<'_>) -> bool {
        self.released.contains(place.index, place.word)
    }

    /// From now on the ledger of this place of a dead subscriber does not count for this participant.
    pub(super) fn release(&self, place: PlaceView<'_>) {
        self.released.insert(place.index, place.word);
    }

    /// Marks the subscriber of a place as dead: for all participants if this one may write, otherwise for
    /// itself. Works without the lock. Returns whether it was not marked before. If another subscriber has
    /// taken the place in the meantime, its word differs, and nothing is marked.
    pub(super) fn mark_dead(&self, place: PlaceView<'_>) -> bool {
        if self.map.access() == Access::ReadWrite {
            let (word, gone) = (place.word.0, place.word.0 | state::GONE);
            return place
                .place
                .state
                .compare_exchange(word, gone, Ordering::SeqCst, Ordering::SeqCst)
                .is_ok();
        }
        self.passed_over.insert(place.index, place.word)
    }

    /// Returns the places for a repairer to change: those that are already mapped for writing, or a new
    /// mapping, which ends when the result is dropped. An error if this process may not write to them. Under
    /// the lock of the directory.
    pub(super) fn writable(&self, lock: &Lock) -> Result<WritablePlaces<'_>, MemoryError> {
        if self.map.access() == Access::ReadWrite {
            return Ok(WritablePlaces::Own(self));
        }
        // Opened in the locked directory, because the path may lead elsewhere by now.
        let opened = Self::open(lock.at(SUBSCRIBERS_FILE), self.id, Access::ReadWrite)?;
        if opened.identity != self.identity {
            return Err(system("open", self.file.path(), io::ErrorKind::NotFound.into()));
        }
        Ok(WritablePlaces::Opened(Box::new(opened)))
    }
}

/// Maps the first places of the file.
fn window(file: &File, places: usize, access: Access) -> io::Result<Mapping> {
    Mapping::without_filling(file.as_fd(), PLACES_OFFSET + places * PAGE, access)
}

fn check(file: &File, path: &Path, id: u64) -> Result<(), MemoryError> {
    let size = file.metadata().map_err(|error| system("look at", path, error))?.len();
    let malformed =
        |reason: &str| MemoryError::Malformed { path: path.to_owned(), reason: reason.to_owned() };
    if size < SUBSCRIBERS_END as u64 {
        return Err(malformed("it is too short"));
    }
    let mut bytes = [0u8; size_of::<SubscribersHeader>()];
    file.read_exact_at(&mut bytes, 0).map_err(|error| system("read", path, error))?;
    // SAFETY: a header is plain numbers without padding, for which any bytes are valid.
    let header = unsafe { bytes.as_ptr().cast::<SubscribersHeader>().read_unaligned() };
    header.check(id, size).map_err(|unusable| unusable.at(path))
}

/// The places of a topic, mapped for writing.
pub(super) enum WritablePlaces<'a> {
    Own(&'a Places),
    Opened(Box<Places>),
}

impl WritablePlaces<'_> {
    fn places(&self) -> &Places {
        match self {
            Self::Own(places) => places,
            Self::Opened(places) => places,
        }
    }

    pub(super) fn arrivals(&self) -> &Arrivals {
        self.places().arrivals()
    }

    pub(super) fn room_made(&self) -> &RoomMade {
        self.places().room_made()
    }

    /// A place that was ever taken. `None` if it cannot be mapped.
    pub(super) fn place(&self, index: usize) -> Option<&Place> {
        self.places().at(index).map(|view| view.place)
    }
}
