//! What collections of the standard library can do as well: append from iterators, return what is removed,
//! insert what is missing, keep some keys, sort by keys.
//!
//! Values that hold containers cannot leave their region as Rust values. So only numbers and plain structs
//! are returned ([`Plain`]). Other values are read first, copied ([`Ref::to_region`]), or moved within the
//! region ([`Mut::move_within`]).

use std::fmt;
use std::ops::Deref;

use crate::containers::edit::reorder;
use crate::containers::engine::Engine;
use crate::containers::key::{Entry, Key};
use crate::containers::keyed::{Map, Set};
use crate::containers::maybe::Maybe;
use crate::containers::sorted::{SortedMap, SortedSet};
use crate::containers::text::Text;
use crate::containers::vector::{self, Vector};
use crate::error::Full;
use crate::memory::blocks::MemoryMut;
use crate::value::assign::Assign;
use crate::value::element::Of;
use crate::value::handle::{Mut, Ref};
use crate::value::plain::Plain;
use crate::value::stored::Stored;

impl<T: Stored> Mut<'_, Vector<T>> {
    /// Appends the values of an iterator. If there is no room for all of them, nothing changes.
    ///
    /// ```
    /// # use situ_region::{Region, Vector};
    /// let mut r = Region::<Vector<u16>>::with_limit(128);
    /// r.root_mut().extend((1..=3).map(|i| i * 10))?;
    /// assert!(r.root_mut().extend(0..1000).is_err());
    /// assert_eq!(r.root(), [10, 20, 30]);
    /// # Ok::<(), situ_region::Full>(())
    /// ```
    pub fn extend<V>(&mut self, values: impl IntoIterator<Item = V>) -> Result<(), Full>
    where
        T: Assign<V>,
    {
        let (values, before, at) = (values.into_iter(), self.len(), self.at());
        let least = u32::try_from(before.saturating_add(values.size_hint().0)).unwrap_or(u32::MAX);
        // Without this, elements are added one by one, until there is no room.
        let _ = vector::reserve(Of::<T>::TYPE, self.memory(), at, least, false);
        for value in values {
            if let Err(full) = self.push(value) {
                self.truncate(before);
                return Err(full);
            }
        }
        Ok(())
    }

    /// Removes the last element and returns it.
    ///
    /// [`pop`](Self::pop) removes an element of any type; read it before by [`Ref::last`].
    pub fn pop_value(&mut self) -> Option<T>
    where
        T: Plain,
    {
        let last = *self.as_ref().last()?;
        self.pop();
        Some(last)
    }

    /// Removes an element and returns it; those after it move up. [`remove`](Self::remove) removes an element
    /// of any type.
    pub fn remove_value(&mut self, index: usize) -> Option<T>
    where
        T: Plain,
    {
        let value = *self.as_ref().get(index)?;
        self.remove(index);
        Some(value)
    }

    /// Removes an element, in whose place the last one comes; false if it does not exist.
    pub fn swap_remove(&mut self, index: usize) -> bool {
        let Some(last) = self.len().checked_sub(1) else { return false };
        self.swap(index, last) && self.pop()
    }

    /// Sorts the elements by a key of each; equal ones keep their order. Allocates memory on the heap for
    /// their bytes.
    pub fn sort_by_key<K: Ord>(&mut self, mut key: impl FnMut(Ref<'_, T>) -> K) {
        let keys: Vec<K> = self.as_ref().values().map(&mut key).collect();
        let mut order: Vec<u32> = (0..keys.len() as u32).collect();
        order.sort_by(|a, b| keys[*a as usize].cmp(&keys[*b as usize]));
        self.rearrange(&order);
    }

    /// Reverses the order of the elements. Allocates memory on the heap for their bytes.
    pub fn reverse(&mut self) {
        let order: Vec<u32> = (0..self.len() as u32).rev().collect();
        self.rearrange(&order);
    }

    fn rearrange(&mut self, order: &[u32]) {
        if !order.is_empty() {
            let at = self.at();
            let first = vector::element(Of::<T>::TYPE, self.memory().bytes(), at, 0);
            reorder(Of::<T>::TYPE, self.memory(), first, order);
        }
    }
}

impl<K: Key, H: Engine> Mut<'_, Set<K, H>> {
    /// Adds keys. If there is no room for one, those before it stay.
    pub fn extend<'k>(&mut self, keys: impl IntoIterator<Item = K::View<'k>>) -> Result<(), Full> {
        keys.into_iter().try_for_each(|key| self.insert(key).map(drop))
    }

    /// Removes the keys for which `is_kept` is false. Calls it once for each key, in the order of `iter`.
    /// Returns the number of removed keys.
    pub fn retain(&mut self, mut is_kept: impl FnMut(K::View<'_>) -> bool) -> usize {
        let at = self.at();
        H::retain::<K, K>(MemoryMut(self.memory()), at, &mut |key| is_kept(K::of(key)))
    }
}

impl<K: Key, V: Stored, H: Engine> Mut<'_, Map<K, V, H>> {
    /// Sets the values of keys. If there is no room for one, those before it stay.
    pub fn extend<'k, X>(&mut self, entries: impl IntoIterator<Item = (K::View<'k>, X)>) -> Result<(), Full>
    where
        V: Assign<X>,
    {
        entries.into_iter().try_for_each(|(key, value)| self.insert(key, value))
    }

    /// The value of a key, as a mutable handle. A missing key gets the value that `make` returns, as by
    /// `entry(key).or_insert_with(make)` of the standard library. If there is no room, the key is still
    /// missing.
    ///
    /// ```
    /// # use situ_region::{OrderedMap, Region, Text};
    /// let mut r = Region::<OrderedMap<u32, Text>>::new();
    /// r.root_mut().get_or_insert_with(7, || "seven")?.push_str("!")?;
    /// r.root_mut().get_or_insert_with(7, || "not called")?.push_str("!")?;
    /// assert_eq!(r.root().get(7).unwrap(), "seven!!");
    /// # Ok::<(), situ_region::Full>(())
    /// ```
    pub fn get_or_insert_with<X>(
        &mut self,
        key: K::View<'_>,
        make: impl FnOnce() -> X,
    ) -> Result<Mut<'_, V>, Full>
    where
        V: Assign<X>,
    {
        // Before the entry is made, because `make` may panic.
        let made = if self.contains(key) { None } else { Some(make()) };
        let at = self.at();
        let (place, _) = H::insert::<Entry<K, V>, K>(MemoryMut(self.memory()), at, key)?;
        let value = place + Entry::<K, V>::VALUE;
        if let Some(made) = made
            && let Err(full) = V::assign(MemoryMut(self.memory()), value, made)
        {
            H::remove::<Entry<K, V>, K>(MemoryMut(self.memory()), at, key);
            return Err(full);
        }
        Ok(Mut::new(self.memory(), value))
    }

    /// Removes a key and returns its value. [`remove`](Self::remove) removes a value of any type.
    pub fn remove_value(&mut self, key: K::View<'_>) -> Option<V>
    where
        V: Plain,
    {
        let value = *self.as_ref().get(key)?;
        self.remove(key);
        Some(value)
    }

    /// Removes the keys for which `is_kept` is false, with their values. Calls it once for each key, in the
    /// order of `iter`. Returns the number of removed keys.
    pub fn retain(&mut self, mut is_kept: impl FnMut(K::View<'_>, Ref<'_, V>) -> bool) -> usize {
        let at = self.at();
        H::retain::<Entry<K, V>, K>(MemoryMut(self.memory()), at, &mut |entry| {
            let (key, value) = Entry::both(entry);
            is_kept(key, value)
        })
    }
}

impl<'r, K: Key> Ref<'r, SortedSet<K>> {
    /// The least key.
    pub fn first(self) -> Option<K::View<'r>> {
        self.range(..).next()
    }

    /// The greatest key.
    pub fn last(self) -> Option<K::View<'r>> {
        self.range(..).next_back()
    }
}

impl<'r, K: Key, V: Stored> Ref<'r, SortedMap<K, V>> {
    /// The least key and its value.
    pub fn first(self) -> Option<(K::View<'r>, Ref<'r, V>)> {
        self.range(..).next()
    }

    /// The greatest key and its value.
    pub fn last(self) -> Option<(K::View<'r>, Ref<'r, V>)> {
        self.range(..).next_back()
    }
}

impl<T: Plain> Mut<'_, Maybe<T>> {
    /// Removes the value and returns it, if there is one.
    pub fn take_value(&mut self) -> Option<T> {
        let value = *self.as_ref().get()?;
        self.clear();
        Some(value)
    }
}

impl Mut<'_, Text> {
    /// Appends a character.
    pub fn push(&mut self, character: char) -> Result<(), Full> {
        self.push_str(character.encode_utf8(&mut [0; 4]))
    }
}

impl Deref for Mut<'_, Text> {
    type Target = str;
    fn deref(&self) -> &str {
        self.as_ref().as_str()
    }
}

/// Appends formatted text: `write!(name, "{first} {last}")`. If there is no room for a part of it, those
/// before it stay.
impl fmt::Write for Mut<'_, Text> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.push_str(text).map_err(|_| fmt::Error)
    }
}

impl fmt::Display for Mut<'_, Text> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.as_ref().fmt(f)
    }
}
