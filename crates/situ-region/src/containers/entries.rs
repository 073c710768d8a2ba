//! Visits the entries of a map to change their values.

use crate::containers::engine::Engine;
use crate::containers::key::{Entry, Key};
use crate::containers::keyed::Map;
use crate::value::handle::{Mut, Ref};
use crate::value::stored::Stored;

/// The entries of a map, in turn. It is not an iterator, because only one value can be borrowed for a change
/// at a time.
pub struct Entries<'r, K, V, H> {
    map: Mut<'r, Map<K, V, H>>,
    /// The places of the remaining entries, the next one last. They do not change while values are changed.
    left: Vec<u32>,
}

/// An entry of a map: its key, and its value as a mutable handle.
pub struct EntryMut<'r, K, V>(Mut<'r, Entry<K, V>>);

impl<K: Key, V: Stored, H: Engine> Entries<'_, K, V, H> {
    /// The next entry.
    #[allow(clippy::should_implement_trait, reason = "what it gives is borrowed from it")]
    pub fn next(&mut self) -> Option<EntryMut<'_, K, V>> {
        let at = self.left.pop()?;
        Some(EntryMut(Mut::new(self.map.memory(), at)))
    }
}

impl<K: Key, V: Stored> EntryMut<'_, K, V> {
    /// The key.
    pub fn key(&self) -> K::View<'_> {
        Entry::both(self.0.as_ref()).0
    }

    /// The value, as a mutable handle.
    pub fn value(&mut self) -> Mut<'_, V> {
        self.0.part(Entry::<K, V>::VALUE)
    }
}

impl<K: Key, V: Stored, H: Engine> Mut<'_, Map<K, V, H>> {
    /// The entries, in the order in which `iter` visits them. Allocates four bytes on the heap for each.
    ///
    /// ```
    /// # use situ_region::{SortedMap, Region};
    /// let mut r = Region::<SortedMap<u32, u32>>::new();
    /// let mut map = r.root_mut();
    /// map.insert(1, 10)?;
    /// map.insert(2, 20)?;
    /// let mut entries = map.entries();
    /// while let Some(mut entry) = entries.next() {
    ///     *entry.value() += entry.key();
    /// }
    /// assert_eq!(r.root().iter().map(|(key, value)| (key, *value)).collect::<Vec<_>>(), [(1, 11), (2, 22)]);
    /// # Ok::<(), situ_region::Full>(())
    /// ```
    pub fn entries(&mut self) -> Entries<'_, K, V, H> {
        let at = self.at();
        let mut left: Vec<u32> = H::elements::<Entry<K, V>>(self.memory().bytes(), at).map(Ref::at).collect();
        left.reverse();
        Entries { map: self.reborrow(), left }
    }
}
