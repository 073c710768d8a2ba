//! Sorted sets and maps within a region: vectors of keys or entries, ascending.

use std::marker::PhantomData;
use std::ops::{Bound, RangeBounds};

use situ_layout::{Invalid, InvalidProblem};

use crate::containers::engine::{Engine, Reserve, set_in};
use crate::containers::key::{Entry, Key};
use crate::containers::keyed::{Map, Set};
use crate::containers::vector::{self, Vector};
use crate::error::{Full, invalid};
use crate::image::check::{Check, CheckBehind};
use crate::image::writer::Writer;
use crate::memory::blocks::{Memory, MemoryMut};
use crate::memory::later::Place;
use crate::memory::slide::Slide;
use crate::value::assign::Assign;
use crate::value::element::{Element, Of};
use crate::value::handle::{Mut, Ref, Values};
use crate::value::stored::Stored;

/// Keys or entries in a sorted vector.
#[doc(hidden)]
pub enum Sorted {}

/// A sorted set.
pub type SortedSet<K> = Set<K, Sorted>;

/// A sorted map; best for up to some hundred entries.
pub type SortedMap<K, V> = Map<K, V, Sorted>;

/// The index of a key (`Ok`), or the index where it belongs, among elements that begin with their keys.
#[inline]
fn search<E: Stored, K: Key>(image: &[u8], at: u32, key: K::View<'_>) -> Result<u32, u32> {
    let [link, count, _] = vector::header(image, at);
    K::search::<false>(image, at.wrapping_add(link), E::SIZE, count, key)
}

/// The element of a key.
#[inline]
pub(crate) fn find<E: Element, K: Key>(of: E, image: &[u8], at: u32, key: K::View<'_>) -> Option<u32> {
    let [link, count, _] = vector::header(image, at);
    let block = at.wrapping_add(link);
    K::search::<false>(image, block, of.size(), count, key).ok().map(|index| block + index * of.size())
}

/// The element of a key, and whether it is new. If there is no room, the content is unchanged.
#[inline]
pub(crate) fn insert<E: Element, K: Key>(
    of: E,
    memory: &mut Memory,
    at: u32,
    key: K::View<'_>,
) -> Result<(u32, bool), Full> {
    // The type is only a name; all vectors begin with the same numbers.
    let mut to = Mut::<Vector<K>>::new(memory, at);
    let mut vector = to.open();
    let [link, count] = vector.numbers();
    let block = vector.target(link);
    let index = match K::search::<true>(vector.image(), block, of.size(), count, key) {
        Ok(index) => return Ok((block + index * of.size(), false)),
        Err(index) => index,
    };
    let place = vector::open(of, &mut to, index)?;
    if let Err(full) = K::put(MemoryMut(to.memory()), place, key) {
        vector::close(of, &mut to, index, index + 1);
        return Err(full);
    }
    Ok((place, true))
}

/// Removes a key; false if it does not exist.
#[inline]
pub(crate) fn remove<E: Element, K: Key>(of: E, memory: &mut Memory, at: u32, key: K::View<'_>) -> bool {
    let mut within = Mut::<Vector<K>>::new(memory, at);
    let mut vector = within.open();
    let [link, count] = vector.numbers();
    let block = vector.target(link);
    let found = K::search::<false>(vector.image(), block, of.size(), count, key);
    if let Ok(index) = found {
        vector::close(of, &mut within, index, index + 1);
    }
    found.is_ok()
}

/// The elements of a sorted set or map, in a check.
struct InOrder<E, K>(PhantomData<fn() -> (E, K)>);

impl<E: Stored, K: Key> CheckBehind for InOrder<E, K> {
    fn check<const CANONICAL: bool>(
        check: &mut Check<'_, CANONICAL>,
        [block, len, at]: Place,
    ) -> Result<(), Invalid> {
        check.elements::<E>(block, len)?;
        match K::not_ascending(check.image(), block, E::SIZE, len) {
            Some(index) => invalid(at, InvalidProblem::NotSorted { index }),
            None => Ok(()),
        }
    }
}

impl Engine for Sorted {
    const KINDS: [&'static str; 2] = ["flat_set", "flat_map"];
    type Elements<'a, E: Stored> = Values<'a, E>;

    #[inline]
    fn elements<E: Stored>(image: &[u8], at: u32) -> Values<'_, E> {
        let [link, count, _] = vector::header(image, at);
        Values::new(image, at.wrapping_add(link), count)
    }
    #[inline]
    fn find<E: Stored, K: Key>(image: &[u8], at: u32, key: K::View<'_>) -> Option<u32> {
        find::<_, K>(Of::<E>::TYPE, image, at, key)
    }
    #[inline]
    fn insert<E: Stored, K: Key>(
        MemoryMut(memory): MemoryMut<'_>,
        at: u32,
        key: K::View<'_>,
    ) -> Result<(u32, bool), Full> {
        insert::<_, K>(Of::<E>::TYPE, memory, at, key)
    }
    #[inline]
    fn set<K: Key, V: Assign<X>, X>(
        MemoryMut(memory): MemoryMut<'_>,
        at: u32,
        key: K::View<'_>,
        value: X,
    ) -> Result<(), Full> {
        let mut to = Mut::<Vector<Entry<K, V>>>::new(memory, at);
        let mut vector = to.open();
        let [link, count, cap] = vector.numbers();
        let (Some(put_key), true) = (K::PUT, V::IN_PLACE) else {
            return set_in::<Self, K, V, X>(memory, at, key, value);
        };
        let block = vector.target(link);
        let (index, new) = match K::search::<true>(vector.image(), block, Entry::<K, V>::SIZE, count, key) {
            Ok(index) => (index, false),
            Err(_) if count >= cap => return set_in::<Self, K, V, X>(memory, at, key, value),
            Err(index) => (index, true),
        };
        let place = block + index * Entry::<K, V>::SIZE;
        if new {
            let gap = Entry::<K, V>::SIZE as usize;
            vector::open_gap(
                vector.image(),
                place,
                gap,
                vector::extent(Of::<Entry<K, V>>::TYPE, count - index),
            );
            put_key(vector.image(), place, key);
            vector.set_number::<1>(count + 1);
        }
        V::put_all(vector.image(), place + Entry::<K, V>::VALUE, std::slice::from_ref(&value));
        Ok(())
    }
    fn make_room<E: Stored, K: Key>(memory: MemoryMut<'_>, at: u32, count: u32) -> Result<(), Full> {
        Self::reserve::<E, K>(memory, at, count)
    }
    #[inline]
    fn remove<E: Stored, K: Key>(MemoryMut(memory): MemoryMut<'_>, at: u32, key: K::View<'_>) -> bool {
        remove::<_, K>(Of::<E>::TYPE, memory, at, key)
    }
    fn retain<E: Stored, K: Key>(
        MemoryMut(memory): MemoryMut<'_>,
        at: u32,
        is_kept: &mut dyn FnMut(Ref<'_, E>) -> bool,
    ) -> usize {
        let count = vector::len(memory.bytes(), at);
        // Those to remove, as runs; the last one first, so that the others keep their indices.
        let mut runs: Vec<(u32, u32)> = Vec::new();
        for (index, element) in (0..count).zip(Self::elements::<E>(memory.bytes(), at)) {
            match (is_kept(element), runs.last_mut()) {
                (true, _) => {}
                (false, Some((_, end))) if *end == index => *end += 1,
                (false, _) => runs.push((index, index + 1)),
            }
        }
        let mut within = Mut::<Vector<E>>::new(memory, at);
        let mut removed = 0;
        for (from, to) in runs.into_iter().rev() {
            vector::close(Of::<E>::TYPE, &mut within, from, to);
            removed += (to - from) as usize;
        }
        removed
    }
    fn clear<E: Stored>(MemoryMut(memory): MemoryMut<'_>, at: u32) {
        Mut::<Vector<E>>::new(memory, at).clear();
    }
    fn slide<E: Stored, K: Key>(slide: &mut Slide<'_>, at: u32) {
        vector::slide::<E>(slide, at);
    }
    fn release<E: Stored>(MemoryMut(memory): MemoryMut<'_>, at: u32) {
        vector::release::<E>(memory, at);
    }
    fn write<E: Stored, K: Key>(writer: &mut Writer<'_>, from: u32, to: u32) {
        writer.vector::<E>(from, to);
    }
    fn check<E: Stored, K: Key, const CANONICAL: bool>(
        check: &mut Check<'_, CANONICAL>,
        at: u32,
    ) -> Result<(), Invalid> {
        let (block, len) = check.vector::<E>(at)?;
        let place = [block, len, at];
        if E::LINKS { check.behind::<InOrder<E, K>>(at, place) } else { InOrder::<E, K>::check(check, place) }
    }
}

impl Reserve for Sorted {
    fn reserve<E: Stored, K: Key>(MemoryMut(memory): MemoryMut<'_>, at: u32, count: u32) -> Result<(), Full> {
        vector::reserve(Of::<E>::TYPE, memory, at, count, true)
    }
    fn shrink<E: Stored, K: Key>(MemoryMut(memory): MemoryMut<'_>, at: u32) -> Result<(), Full> {
        vector::shrink(Of::<E>::TYPE, memory, at);
        Ok(())
    }
}

/// The elements of a range of keys.
fn range<'r, E: Stored, K: Key>(
    image: &'r [u8],
    at: u32,
    keys: &impl RangeBounds<K::View<'r>>,
) -> Values<'r, E> {
    let count = vector::len(image, at);
    // The first element that is not before the bound; with `behind`, the first one after it.
    let edge = |bound: Bound<&K::View<'r>>, behind: bool| match bound {
        Bound::Unbounded => count * u32::from(behind),
        Bound::Included(key) => {
            search::<E, K>(image, at, *key).map_or_else(|at| at, |at| at + u32::from(behind))
        }
        Bound::Excluded(key) => {
            search::<E, K>(image, at, *key).map_or_else(|at| at, |at| at + u32::from(!behind))
        }
    };
    let (first, end) = (edge(keys.start_bound(), false), edge(keys.end_bound(), true));
    Values::new(image, vector::element(Of::<E>::TYPE, image, at, first), end.saturating_sub(first))
}

impl<'r, K: Key> Ref<'r, SortedSet<K>> {
    /// The keys of a range, ascending, as a double-ended iterator; `range(..)` gives all keys.
    pub fn range(self, keys: impl RangeBounds<K::View<'r>>) -> impl DoubleEndedIterator<Item = K::View<'r>> {
        range::<K, K>(self.image(), self.at(), &keys).map(K::of)
    }
}

impl<'r, K: Key, V: Stored> Ref<'r, SortedMap<K, V>> {
    /// The keys of a range and their values, ascending, as a double-ended iterator; `range(..)` gives all
    /// entries.
    pub fn range(
        self,
        keys: impl RangeBounds<K::View<'r>>,
    ) -> impl DoubleEndedIterator<Item = (K::View<'r>, Ref<'r, V>)> {
        range::<Entry<K, V>, K>(self.image(), self.at(), &keys).map(Entry::both)
    }
}
