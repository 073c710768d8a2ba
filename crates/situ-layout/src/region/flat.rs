//! Sorted sets and maps within a region: vectors of keys or entries, ascending.

use std::cmp::Ordering;
use std::marker::PhantomData;

use super::check::{Check, invalid};
use super::copy::Writer;
use super::error::{Full, Invalid, InvalidProblem};
use super::handle::{Mut, Ref};
use super::key::{Entry, Key};
use super::layout::Lines;
use super::memory::Memory;
use super::stored::{Assign, Stored};
use super::vector;

/// A sorted set. A name for what lies in a region: see the methods of [`Ref`] and [`Mut`].
pub struct FlatSet<K>(PhantomData<fn() -> K>);

/// A sorted map; best up to some hundred entries. A name for what lies in a region: see the methods of [`Ref`] and [`Mut`].
pub struct FlatMap<K, V>(PhantomData<fn() -> (K, V)>);

/// Where a key is (`Ok`) or belongs, among elements that begin with their keys.
fn search<E: Stored, K: Key>(image: &[u8], at: u32, key: K::View<'_>) -> Result<u32, u32> {
    let (mut low, mut high) = (0, vector::len(image, at));
    while low < high {
        let middle = low + (high - low) / 2;
        match K::compare(image, vector::element::<E>(image, at, middle), key) {
            Ordering::Less => low = middle + 1,
            Ordering::Equal => return Ok(middle),
            Ordering::Greater => high = middle,
        }
    }
    Err(low)
}

fn check_sorted<E: Stored, K: Key>(check: &mut Check<'_>, at: u32) -> Result<(), Invalid> {
    let (block, len) = check.vector::<E>(at)?;
    for index in 1..len {
        let place = block + index * E::SIZE;
        if K::compare_in(check.image(), place - E::SIZE, place) != Ordering::Less {
            return invalid(at, InvalidProblem::NotSorted { index });
        }
    }
    Ok(())
}

/// The element of a key, and whether it is new. When there is no room, nothing changes.
fn insert<E: Stored, K: Key>(memory: &mut Memory, at: u32, key: K::View<'_>) -> Result<(u32, bool), Full> {
    match search::<E, K>(memory.bytes(), at, key) {
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

fn remove<E: Stored, K: Key>(memory: &mut Memory, at: u32, key: K::View<'_>) -> bool {
    let found = search::<E, K>(memory.bytes(), at, key);
    if let Ok(index) = found {
        vector::close::<E>(memory, at, index, index + 1);
    }
    found.is_ok()
}

macro_rules! sorted {
    ($name:ident<$($parameter:ident),*>, $element:ty, $kind:literal) => {
        impl<$($parameter: Stored),*> Stored for $name<$($parameter),*> where K: Key {
            const SIZE: u32 = 16;
            const ALIGN: u32 = 4;
            const LINKS: bool = true;
            const DENSE: bool = false;
            const ANY: bool = false;

            fn kind() -> String {
                $kind.to_owned()
            }
            fn inner(lines: &mut Lines, path: &str) {
                lines.value::<$element>(&format!("{path}[]"), 0);
            }
            fn needed(lines: &mut Lines) {
                <$element>::needed(lines);
            }
            fn begin(memory: &mut Memory, at: u32) {
                vector::begin(memory, at);
            }
            fn moved(memory: &mut Memory, at: u32, distance: u32) {
                vector::moved(memory, at, distance);
            }
            fn release(memory: &mut Memory, at: u32) {
                vector::release::<$element>(memory, at);
            }
            fn write(writer: &mut Writer<'_>, from: u32, to: u32) {
                writer.vector::<$element>(from, to);
            }
            fn check(check: &mut Check<'_>, at: u32) -> Result<(), Invalid> {
                check_sorted::<$element, K>(check, at)
            }
        }

        impl<$($parameter: Stored),*> Ref<'_, $name<$($parameter),*>> where K: Key {
            /// How many keys there are.
            pub fn len(self) -> usize {
                vector::len(self.image(), self.at()) as usize
            }

            /// Whether there are none.
            pub fn is_empty(self) -> bool {
                self.len() == 0
            }

            /// Whether there is this key.
            pub fn contains(self, key: K::View<'_>) -> bool {
                search::<$element, K>(self.image(), self.at(), key).is_ok()
            }
        }

        impl<$($parameter: Stored),*> Mut<'_, $name<$($parameter),*>> where K: Key {
            /// Removes a key; false if there is none.
            pub fn remove(&mut self, key: K::View<'_>) -> bool {
                let at = self.at();
                remove::<$element, K>(self.memory(), at, key)
            }

            /// Makes room for so many keys in all.
            pub fn reserve(&mut self, count: usize) -> Result<(), Full> {
                let at = self.at();
                let count = u32::try_from(count).map_err(|_| self.memory().full())?;
                vector::reserve::<$element>(self.memory(), at, count, true)
            }

            /// Gives back the room that is not used.
            pub fn shrink_to_fit(&mut self) {
                let at = self.at();
                vector::shrink::<$element>(self.memory(), at);
            }

            /// Removes all keys; the room stays.
            pub fn clear(&mut self) {
                let at = self.at();
                let count = vector::len(self.memory().bytes(), at);
                vector::close::<$element>(self.memory(), at, 0, count);
            }
        }
    };
}

sorted!(FlatSet<K>, K, "flat_set");
sorted!(FlatMap<K, V>, Entry<K, V>, "flat_map");

impl<'r, K: Key> Ref<'r, FlatSet<K>> {
    /// The keys, ascending.
    pub fn iter(self) -> impl ExactSizeIterator<Item = K::View<'r>> {
        let (image, at) = (self.image(), self.at());
        (0..vector::len(image, at)).map(move |i| K::view(image, vector::element::<K>(image, at, i)))
    }
}

impl<K: Key> Mut<'_, FlatSet<K>> {
    /// Adds a key; false if it is there already.
    pub fn insert(&mut self, key: K::View<'_>) -> Result<bool, Full> {
        let at = self.at();
        Ok(insert::<K, K>(self.memory(), at, key)?.1)
    }
}

impl<'r, K: Key, V: Stored> Ref<'r, FlatMap<K, V>> {
    /// The value of a key.
    pub fn get(self, key: K::View<'_>) -> Option<Ref<'r, V>> {
        let (image, at) = (self.image(), self.at());
        let index = search::<Entry<K, V>, K>(image, at, key).ok()?;
        Some(Ref::new(image, vector::element::<Entry<K, V>>(image, at, index) + Entry::<K, V>::VALUE))
    }

    /// Keys and values, ascending.
    pub fn iter(self) -> impl ExactSizeIterator<Item = (K::View<'r>, Ref<'r, V>)> {
        let (image, at) = (self.image(), self.at());
        (0..vector::len(image, at)).map(move |i| {
            let place = vector::element::<Entry<K, V>>(image, at, i);
            (K::view(image, place), Ref::new(image, place + Entry::<K, V>::VALUE))
        })
    }
}

impl<'r, K: Key, V: Stored> Mut<'r, FlatMap<K, V>> {
    /// The value of a key, if there is one.
    pub fn get_mut(&mut self, key: K::View<'_>) -> Option<Mut<'_, V>> {
        let at = self.as_ref().get(key)?.at();
        Some(Mut::new(self.memory(), at))
    }

    /// The value of a key, which is made if there is none.
    pub fn entry(&mut self, key: K::View<'_>) -> Result<Mut<'_, V>, Full> {
        let at = self.at();
        let (place, _) = insert::<Entry<K, V>, K>(self.memory(), at, key)?;
        Ok(self.reborrow().into_part(place + Entry::<K, V>::VALUE))
    }

    /// Sets the value of a key. When there is no room, a key that was not there is not there.
    pub fn insert<X>(&mut self, key: K::View<'_>, value: X) -> Result<(), Full>
    where
        V: Assign<X>,
    {
        let at = self.at();
        let (place, new) = insert::<Entry<K, V>, K>(self.memory(), at, key)?;
        let assigned = V::assign(self.memory(), place + Entry::<K, V>::VALUE, value);
        if assigned.is_err() && new {
            remove::<Entry<K, V>, K>(self.memory(), at, key);
        }
        assigned
    }
}
