//! `map<K, V>` and `map<K, V, N>`, and `@optional`, in heap storage.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::Deref;

use crate::storage::methods::{not_flat, visit_as, write_whole};
use crate::value::container::{MapField, OptionalField, check};
use crate::value::error::BoundError;
use crate::value::in_place::{Composite, InPlace, default_value, reset};
use crate::value::traits::{MapKey, Value, Visitor, VisitorMut};

/// A sorted map of at most `N` entries.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct BoundedMap<K, V, const N: usize> {
    entries: BTreeMap<K, V>,
}

impl<K: MapKey, V: Value, const N: usize> BoundedMap<K, V, N> {
    /// The greatest number of entries.
    pub const fn capacity(&self) -> usize {
        N
    }

    /// A mutable reference to the value of a key.
    pub fn get_mut(&mut self, key: &K) -> Option<&mut V> {
        self.entries.get_mut(key)
    }

    /// Sets the value of a key and returns the previous value.
    pub fn try_insert(&mut self, key: K, value: V) -> Result<Option<V>, BoundError> {
        if self.entries.len() >= N && !self.entries.contains_key(&key) {
            check(Some(N), self.entries.len() + 1)?;
        }
        Ok(self.entries.insert(key, value))
    }

    /// Sets the value of a key to the default and returns a reference to it.
    pub fn try_entry(&mut self, key: K) -> Result<&mut V, BoundError> {
        if self.entries.len() >= N && !self.entries.contains_key(&key) {
            check(Some(N), self.entries.len() + 1)?;
        }
        MapField::try_entry(&mut self.entries, key)
    }

    /// Removes a key and returns its value.
    pub fn remove(&mut self, key: &K) -> Option<V> {
        self.entries.remove(key)
    }

    /// Removes all entries.
    pub fn clear(&mut self) {
        self.entries.clear();
    }
}

impl<K: MapKey, V: Value, const N: usize> MapField<K, V> for BoundedMap<K, V, N> {
    const BOUND: Option<usize> = Some(N);
    const ALLOCATES: bool = true;

    fn entry_count(&self) -> usize {
        self.entries.len()
    }

    fn get(&self, key: &K) -> Option<&V> {
        self.entries.get(key)
    }

    fn get_mut(&mut self, key: &K) -> Option<&mut V> {
        self.get_mut(key)
    }

    fn try_insert(&mut self, key: K, value: V) -> Result<Option<V>, BoundError> {
        self.try_insert(key, value)
    }

    fn try_entry(&mut self, key: K) -> Result<&mut V, BoundError> {
        self.try_entry(key)
    }

    fn remove(&mut self, key: &K) -> Option<V> {
        self.remove(key)
    }

    fn entries<'a>(&'a self) -> impl Iterator<Item = (&'a K, &'a V)>
    where
        K: 'a,
        V: 'a,
    {
        self.entries.iter()
    }

    fn clear(&mut self) {
        self.clear();
    }
}

impl<K: MapKey, V: Value> MapField<K, V> for BTreeMap<K, V> {
    const BOUND: Option<usize> = None;
    const ALLOCATES: bool = true;

    fn entry_count(&self) -> usize {
        self.len()
    }

    fn get(&self, key: &K) -> Option<&V> {
        self.get(key)
    }

    fn get_mut(&mut self, key: &K) -> Option<&mut V> {
        self.get_mut(key)
    }

    fn try_insert(&mut self, key: K, value: V) -> Result<Option<V>, BoundError> {
        Ok(self.insert(key, value))
    }

    fn try_entry(&mut self, key: K) -> Result<&mut V, BoundError> {
        let value = self.entry(key).or_insert_with(default_value);
        reset(value);
        Ok(value)
    }

    fn remove(&mut self, key: &K) -> Option<V> {
        self.remove(key)
    }

    fn entries<'a>(&'a self) -> impl Iterator<Item = (&'a K, &'a V)>
    where
        K: 'a,
        V: 'a,
    {
        self.iter()
    }

    fn clear(&mut self) {
        self.clear();
    }
}

impl<T: Value> OptionalField<T> for Option<T> {
    fn as_ref(&self) -> Option<&T> {
        self.as_ref()
    }

    fn as_mut(&mut self) -> Option<&mut T> {
        self.as_mut()
    }

    fn set(&mut self, value: T) {
        *self = Some(value);
    }

    fn set_default(&mut self) -> &mut T {
        self.insert(default_value())
    }

    fn clear(&mut self) {
        *self = None;
    }
}

// SAFETY: both functions write a whole value.
unsafe impl<K: MapKey, V: Value, const N: usize> InPlace for BoundedMap<K, V, N> {
    type Class = Composite;

    write_whole!();
}

// SAFETY: both functions write a whole value.
unsafe impl<K: MapKey, V: Value> InPlace for BTreeMap<K, V> {
    type Class = Composite;

    write_whole!();
}

// SAFETY: both functions write a whole value.
unsafe impl<T: Value> InPlace for Option<T> {
    type Class = Composite;

    write_whole!();
}

impl<K: MapKey, V: Value, const N: usize> Value for BoundedMap<K, V, N> {
    not_flat!();

    visit_as!(map);
}

impl<K: MapKey, V: Value> Value for BTreeMap<K, V> {
    not_flat!();

    visit_as!(map);
}

impl<T: Value> Value for Option<T> {
    not_flat!();

    fn visit<V: Visitor>(&self, visitor: &mut V) -> Result<(), V::Error> {
        visitor.optional(self.as_ref())
    }

    fn visit_mut<V: VisitorMut>(&mut self, visitor: &mut V) -> Result<(), V::Error> {
        visitor.optional(self)
    }
}

impl<K, V, const N: usize> Default for BoundedMap<K, V, N> {
    fn default() -> Self {
        Self { entries: BTreeMap::new() }
    }
}

/// Gives all reading methods of the standard map.
impl<K, V, const N: usize> Deref for BoundedMap<K, V, N> {
    type Target = BTreeMap<K, V>;

    fn deref(&self) -> &BTreeMap<K, V> {
        &self.entries
    }
}

impl<K: fmt::Debug, V: fmt::Debug, const N: usize> fmt::Debug for BoundedMap<K, V, N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.entries, f)
    }
}
