//! Sorted sets and maps within a region: vectors of keys or entries, ascending.

use std::cmp::Ordering;
use std::marker::PhantomData;

use super::check::Check;
use super::copy::Writer;
use super::error::{Full, Invalid, InvalidProblem, invalid};
use super::key::Key;
use super::keyed::{Engine, Map, Reserve, Set};
use super::memory::{Memory, target};
use super::slide::Slide;
use super::stored::Stored;
use super::vector;

/// Keys or entries in a sorted vector.
#[doc(hidden)]
pub enum Sorted {}

/// A sorted set.
pub type FlatSet<K> = Set<K, Sorted>;

/// A sorted map; best up to some hundred entries.
pub type FlatMap<K, V> = Map<K, V, Sorted>;

/// Where a key is (`Ok`) or belongs, among elements that begin with their keys.
#[inline]
fn search<E: Stored, K: Key>(image: &[u8], at: u32, key: K::View<'_>) -> Result<u32, u32> {
    let [link, mut left, _] = vector::header(image, at);
    let block = at.wrapping_add(link);
    let compare = |index| K::compare(image, block + index * E::SIZE, key);
    if left == 0 {
        return Err(0);
    }
    let mut first = 0;
    while left > 1 {
        let middle = first + left / 2;
        if compare(middle) != Ordering::Greater {
            first = middle;
        }
        left -= left / 2;
    }
    match compare(first) {
        Ordering::Less => Err(first + 1),
        Ordering::Equal => Ok(first),
        Ordering::Greater => Err(first),
    }
}

/// The same where a key is to be added, which is greater than the last one where keys are added in their order.
#[inline]
fn search_to_add<E: Stored, K: Key>(image: &[u8], at: u32, key: K::View<'_>) -> Result<u32, u32> {
    let count = vector::len(image, at);
    let Some(last) = count.checked_sub(1) else { return Err(0) };
    match K::compare(image, vector::element::<E>(image, at, last), key) {
        Ordering::Less => Err(count),
        Ordering::Equal => Ok(last),
        Ordering::Greater => search::<E, K>(image, at, key),
    }
}

/// The places of the elements of a vector.
#[doc(hidden)]
pub struct Places<E> {
    next: u32,
    left: u32,
    of: PhantomData<fn() -> E>,
}

impl<E: Stored> Iterator for Places<E> {
    type Item = u32;
    #[inline]
    fn next(&mut self) -> Option<u32> {
        self.left = self.left.checked_sub(1)?;
        self.next += E::SIZE;
        Some(self.next - E::SIZE)
    }
    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left as usize, Some(self.left as usize))
    }
}

impl Engine for Sorted {
    const KINDS: [&'static str; 2] = ["flat_set", "flat_map"];
    type Places<'a, E: Stored> = Places<E>;

    #[inline]
    fn places<E: Stored>(image: &[u8], at: u32) -> Places<E> {
        Places { next: target(image, at), left: vector::len(image, at), of: PhantomData }
    }
    #[inline]
    fn find<E: Stored, K: Key>(image: &[u8], at: u32, key: K::View<'_>) -> Option<u32> {
        let index = search::<E, K>(image, at, key).ok()?;
        Some(vector::element::<E>(image, at, index))
    }
    #[inline]
    fn insert<E: Stored, K: Key>(
        memory: &mut Memory,
        at: u32,
        key: K::View<'_>,
    ) -> Result<(u32, bool), Full> {
        match search_to_add::<E, K>(memory.bytes(), at, key) {
            Ok(index) => Ok((vector::element::<E>(memory.bytes(), at, index), false)),
            Err(index) => {
                let place = vector::open::<E>(memory, at, index)?;
                if let Err(full) = K::put(memory, place, key) {
                    vector::close::<E>(memory, at, index, index + 1);
                    return Err(full);
                }
                Ok((place, true))
            }
        }
    }
    #[inline]
    fn remove<E: Stored, K: Key>(memory: &mut Memory, at: u32, key: K::View<'_>) -> bool {
        let found = search::<E, K>(memory.bytes(), at, key);
        if let Ok(index) = found {
            vector::close::<E>(memory, at, index, index + 1);
        }
        found.is_ok()
    }
    fn clear<E: Stored>(memory: &mut Memory, at: u32) {
        let count = vector::len(memory.bytes(), at);
        vector::close::<E>(memory, at, 0, count);
    }
    fn slide<E: Stored>(slide: &mut Slide<'_>, at: u32) {
        vector::slide::<E>(slide, at);
    }
    fn release<E: Stored>(memory: &mut Memory, at: u32) {
        vector::release::<E>(memory, at);
    }
    fn write<E: Stored, K: Key>(writer: &mut Writer<'_>, from: u32, to: u32) {
        writer.vector::<E>(from, to);
    }
    fn check<E: Stored, K: Key>(check: &mut Check<'_>, at: u32) -> Result<(), Invalid> {
        let (block, len) = check.vector::<E>(at)?;
        if let Some(index) = K::not_ascending(check.image(), block, E::SIZE, len) {
            return invalid(at, InvalidProblem::NotSorted { index });
        }
        Ok(())
    }
}

impl Reserve for Sorted {
    fn reserve<E: Stored, K: Key>(memory: &mut Memory, at: u32, count: u32) -> Result<(), Full> {
        vector::reserve::<E>(memory, at, count, true)
    }
    fn shrink<E: Stored, K: Key>(memory: &mut Memory, at: u32) -> Result<(), Full> {
        vector::shrink::<E>(memory, at);
        Ok(())
    }
}
