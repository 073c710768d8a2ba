//! `map<K, V, N>` in flat storage.

use std::fmt;
use std::mem::offset_of;

use crate::storage::flat::FlatSequence;
use crate::storage::methods::visit_as;
use crate::value::container::MapField;
use crate::value::error::{BoundError, ValidateError, ValidateProblem};
use crate::value::in_place::{Composite, InPlace, SelfContained, default_value, reset};
use crate::value::shape::{Extensibility, MemberInfo, TypeInfo};
use crate::value::traits::{MapKey, MemberVisitor, Structure, Validation, Value};

/// One entry of a [`FlatMap`].
#[repr(C)]
#[derive(Clone, Debug, PartialEq)]
pub struct Entry<K, V> {
    key: K,
    value: V,
}

/// At most `N` entries in ascending order of their keys, inline: `{u32 len; struct {K key; V value;}[N]}`.
#[repr(transparent)]
pub struct FlatMap<K, V, const N: usize> {
    entries: FlatSequence<Entry<K, V>, N>,
}

impl<K: MapKey, V: Value, const N: usize> FlatMap<K, V, N> {
    /// The number of entries.
    pub const fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there are no entries.
    pub const fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// The greatest number of entries.
    pub const fn capacity(&self) -> usize {
        N
    }

    /// All entries, in ascending order of their keys.
    pub fn iter(&self) -> impl Iterator<Item = (&K, &V)> {
        self.entries.iter().map(|entry| (&entry.key, &entry.value))
    }

    /// The index of the key (`Ok`), or the index where it belongs.
    fn search(&self, key: &K) -> Result<usize, usize> {
        self.entries.binary_search_by(|entry| entry.key.cmp(key))
    }

    /// The value of a key.
    pub fn get(&self, key: &K) -> Option<&V> {
        self.search(key).ok().map(|index| &self.entries[index].value)
    }

    /// A mutable reference to the value of a key.
    pub fn get_mut(&mut self, key: &K) -> Option<&mut V> {
        self.search(key).ok().map(|index| &mut self.entries[index].value)
    }

    /// Sets the value of a key and returns the previous value.
    pub fn try_insert(&mut self, key: K, value: V) -> Result<Option<V>, BoundError> {
        match self.search(&key) {
            Ok(index) => Ok(Some(std::mem::replace(&mut self.entries[index].value, value))),
            Err(index) => {
                // Entries usually come in order: append first, then rotate the new entry into place.
                self.entries.try_push(Entry { key, value })?;
                self.entries[index..].rotate_right(1);
                Ok(None)
            }
        }
    }

    /// Sets the value of a key to the default, in place, and returns a reference to it.
    pub fn try_entry(&mut self, key: K) -> Result<&mut V, BoundError> {
        let index = match self.search(&key) {
            Ok(index) => {
                reset(&mut self.entries[index].value);
                index
            }
            Err(index) => {
                self.entries.try_push_default()?.key = key;
                if index + 1 < self.entries.len() {
                    self.entries[index..].rotate_right(1);
                }
                index
            }
        };
        Ok(&mut self.entries[index].value)
    }

    /// Removes a key and returns its value.
    pub fn remove(&mut self, key: &K) -> Option<V> {
        let index = self.search(key).ok()?;
        self.entries[index..].rotate_left(1);
        self.entries.pop().map(|entry| entry.value)
    }

    /// Removes all entries.
    pub fn clear(&mut self) {
        self.entries.clear();
    }
}

// SAFETY: both functions write both parts.
unsafe impl<K: MapKey, V: Value> InPlace for Entry<K, V> {
    type Class = Composite;

    unsafe fn default_at(dst: *mut Self) {
        // SAFETY: dst is valid for writes of Self.
        unsafe {
            K::default_at(&raw mut (*dst).key);
            V::default_at(&raw mut (*dst).value);
        }
    }

    unsafe fn clone_at(&self, dst: *mut Self) {
        // SAFETY: as above.
        unsafe {
            self.key.clone_at(&raw mut (*dst).key);
            self.value.clone_at(&raw mut (*dst).value);
        }
    }
}

impl<K: MapKey, V: Value> Value for Entry<K, V> {
    unsafe fn validate_at(src: *const Self, validation: &Validation) -> Result<(), ValidateError> {
        // SAFETY: both parts lie within the caller's bytes.
        unsafe {
            K::validate_at(src.cast::<u8>().add(offset_of!(Self, key)).cast(), validation)
                .map_err(|error| error.in_member("key"))?;
            V::validate_at(src.cast::<u8>().add(offset_of!(Self, value)).cast(), validation)
                .map_err(|error| error.in_member("value"))
        }
    }

    visit_as!(structure);
}

impl<K: MapKey, V: Value> Structure for Entry<K, V> {
    const INFO: &'static TypeInfo = &TypeInfo {
        name: "entry",
        extensibility: Extensibility::Final,
        members: &[MemberInfo::new("key", 0), MemberInfo::new("value", 1)],
    };

    fn visit_members<U: MemberVisitor<Self>>(visitor: &mut U) -> Result<(), U::Error> {
        visitor.member(&Self::INFO.members[0], |entry| &entry.key, |entry| &mut entry.key)?;
        visitor.member(&Self::INFO.members[1], |entry| &entry.value, |entry| &mut entry.value)
    }
}

// SAFETY: an entry consists of two self-contained parts.
unsafe impl<K: SelfContained, V: SelfContained> SelfContained for Entry<K, V> {}

// SAFETY: the entries keep the promises.
unsafe impl<K: MapKey, V: Value, const N: usize> InPlace for FlatMap<K, V, N> {
    type Class = Composite;

    unsafe fn default_at(dst: *mut Self) {
        // SAFETY: a FlatMap is its entries.
        unsafe { InPlace::default_at(&raw mut (*dst).entries) }
    }

    unsafe fn clone_at(&self, dst: *mut Self) {
        // SAFETY: a FlatMap is its entries.
        unsafe { self.entries.clone_at(&raw mut (*dst).entries) }
    }
}

impl<K: MapKey, V: Value, const N: usize> Value for FlatMap<K, V, N> {
    unsafe fn validate_at(src: *const Self, validation: &Validation) -> Result<(), ValidateError> {
        // SAFETY: a FlatMap is its entries, which are valid once they are validated.
        let entries = unsafe {
            FlatSequence::<Entry<K, V>, N>::validate_at(src.cast(), validation)?;
            &(*src).entries
        };
        let out_of_order = entries.windows(2).position(|pair| pair[0].key >= pair[1].key);
        match out_of_order {
            None => Ok(()),
            Some(before) => Err(ValidateProblem::NotSorted { index: before + 1 }.into()),
        }
    }

    visit_as!(map);
}

// SAFETY: a map is its entries.
unsafe impl<K: SelfContained, V: SelfContained, const N: usize> SelfContained for FlatMap<K, V, N> {}

impl<K: MapKey, V: Value, const N: usize> MapField<K, V> for FlatMap<K, V, N> {
    const BOUND: Option<usize> = Some(N);
    const ALLOCATES: bool = false;

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
        self.iter()
    }

    fn clear(&mut self) {
        self.clear();
    }
}

impl<K: MapKey, V: Value, const N: usize> Default for FlatMap<K, V, N> {
    fn default() -> Self {
        default_value()
    }
}

impl<K: MapKey, V: Value, const N: usize> Clone for FlatMap<K, V, N> {
    fn clone(&self) -> Self {
        Self { entries: self.entries.clone() }
    }
}

impl<K: PartialEq, V: PartialEq, const N: usize> PartialEq for FlatMap<K, V, N> {
    fn eq(&self, other: &Self) -> bool {
        self.entries == other.entries
    }
}

impl<K: fmt::Debug, V: fmt::Debug, const N: usize> fmt::Debug for FlatMap<K, V, N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.entries.iter().map(|entry| (&entry.key, &entry.value))).finish()
    }
}
