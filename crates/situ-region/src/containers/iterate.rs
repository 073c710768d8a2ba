//! Iteration over vectors, sets and maps by `for`, and over elements to change them.

use std::slice;

use crate::containers::engine::Engine;
use crate::containers::key::{Entry, Key};
use crate::containers::keyed::{Map, Set};
use crate::containers::vector::Vector;
use crate::value::handle::{Mut, Ref, Values};
use crate::value::plain::Plain;
use crate::value::stored::Stored;

/// The elements of a vector, in turn, to change them. It is not an iterator, because only one element can be
/// borrowed for a change at a time.
pub struct Elements<'r, T> {
    vector: Mut<'r, Vector<T>>,
    next: usize,
}

impl<T: Stored> Elements<'_, T> {
    /// The next element.
    #[allow(clippy::should_implement_trait, reason = "what it gives is borrowed from it")]
    pub fn next(&mut self) -> Option<Mut<'_, T>> {
        let element = self.vector.get_mut(self.next)?;
        self.next += 1;
        Some(element)
    }
}

impl<'r, T: Stored> Ref<'r, Vector<T>> {
    /// The first element, if there is one.
    pub fn first(self) -> Option<Ref<'r, T>> {
        self.get(0)
    }

    /// The last element, if there is one.
    pub fn last(self) -> Option<Ref<'r, T>> {
        self.get(self.len().checked_sub(1)?)
    }

    /// Whether an element equals a value.
    pub fn contains<V: ?Sized>(self, value: &V) -> bool
    where
        Ref<'r, T>: PartialEq<V>,
    {
        self.values().any(|element| element == *value)
    }
}

impl<T: Stored> Mut<'_, Vector<T>> {
    /// The element at an index, if it exists, to read it.
    pub fn get(&self, index: usize) -> Option<Ref<'_, T>> {
        self.as_ref().get(index)
    }

    /// The elements, to read them.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = Ref<'_, T>> + DoubleEndedIterator {
        self.as_ref().values()
    }

    /// The first element, if there is one, as a mutable handle.
    pub fn first_mut(&mut self) -> Option<Mut<'_, T>> {
        self.get_mut(0)
    }

    /// The last element, if there is one, as a mutable handle.
    pub fn last_mut(&mut self) -> Option<Mut<'_, T>> {
        self.get_mut(self.len().checked_sub(1)?)
    }

    /// The elements as Rust values, to change them. For other types, see [`elements`](Self::elements).
    pub fn iter_mut(&mut self) -> slice::IterMut<'_, T>
    where
        T: Plain,
    {
        self.as_mut_slice().iter_mut()
    }

    /// The elements in turn, to change them.
    ///
    /// ```
    /// # use situ_region::{Region, Text, Vector};
    /// let mut r = Region::<Vector<Text>>::new();
    /// let mut names = r.root_mut();
    /// names.extend(["one", "two"])?;
    /// let mut elements = names.elements();
    /// while let Some(mut name) = elements.next() {
    ///     name.push_str("!")?;
    /// }
    /// assert_eq!(r.root(), ["one!", "two!"]);
    /// # Ok::<(), situ_region::Full>(())
    /// ```
    pub fn elements(&mut self) -> Elements<'_, T> {
        Elements { vector: self.reborrow(), next: 0 }
    }
}

impl<'r, T: Stored> IntoIterator for &Ref<'r, Vector<T>> {
    type Item = Ref<'r, T>;
    type IntoIter = Values<'r, T>;
    fn into_iter(self) -> Values<'r, T> {
        self.values()
    }
}

impl<'r, T: Stored> IntoIterator for &'r Mut<'_, Vector<T>> {
    type Item = Ref<'r, T>;
    type IntoIter = Values<'r, T>;
    fn into_iter(self) -> Values<'r, T> {
        self.as_ref().values()
    }
}

impl<'r, T: Plain> IntoIterator for &'r mut Mut<'_, Vector<T>> {
    type Item = &'r mut T;
    type IntoIter = slice::IterMut<'r, T>;
    fn into_iter(self) -> slice::IterMut<'r, T> {
        self.iter_mut()
    }
}

/// The keys of a set.
pub struct Keys<'r, K: Key, H: Engine>(H::Elements<'r, K>);

impl<'r, K: Key, H: Engine> Iterator for Keys<'r, K, H> {
    type Item = K::View<'r>;
    fn next(&mut self) -> Option<K::View<'r>> {
        self.0.next().map(K::of)
    }
    fn size_hint(&self) -> (usize, Option<usize>) {
        self.0.size_hint()
    }
}

/// The keys and values of a map.
pub struct KeysAndValues<'r, K: Key, V: Stored, H: Engine>(H::Elements<'r, Entry<K, V>>);

impl<'r, K: Key, V: Stored, H: Engine> Iterator for KeysAndValues<'r, K, V, H> {
    type Item = (K::View<'r>, Ref<'r, V>);
    fn next(&mut self) -> Option<Self::Item> {
        self.0.next().map(Entry::both)
    }
    fn size_hint(&self) -> (usize, Option<usize>) {
        self.0.size_hint()
    }
}

macro_rules! by_for {
    ($name:ident<$($parameter:ident: $bound:ident),*>, $iterator:ident, $item:ty, $element:ty) => {
        impl<'r, $($parameter: $bound,)* H: Engine> IntoIterator for Ref<'r, $name<$($parameter,)* H>> {
            type Item = $item;
            type IntoIter = $iterator<'r, $($parameter,)* H>;
            fn into_iter(self) -> Self::IntoIter {
                $iterator(H::elements::<$element>(self.image(), self.at()))
            }
        }

        impl<'r, $($parameter: $bound,)* H: Engine> IntoIterator for &Ref<'r, $name<$($parameter,)* H>> {
            type Item = $item;
            type IntoIter = $iterator<'r, $($parameter,)* H>;
            fn into_iter(self) -> Self::IntoIter {
                (*self).into_iter()
            }
        }

        impl<'r, $($parameter: $bound,)* H: Engine> IntoIterator for &'r Mut<'_, $name<$($parameter,)* H>> {
            type Item = $item;
            type IntoIter = $iterator<'r, $($parameter,)* H>;
            fn into_iter(self) -> Self::IntoIter {
                self.as_ref().into_iter()
            }
        }
    };
}

by_for!(Set<K: Key>, Keys, K::View<'r>, K);
by_for!(Map<K: Key, V: Stored>, KeysAndValues, (K::View<'r>, Ref<'r, V>), Entry<K, V>);

impl<K: Key, H: Engine> Mut<'_, Set<K, H>> {
    /// Whether the key exists.
    pub fn contains(&self, key: K::View<'_>) -> bool {
        self.as_ref().contains(key)
    }

    /// The keys, in the order of [`Ref::iter`].
    pub fn iter(&self) -> Keys<'_, K, H> {
        self.into_iter()
    }
}

impl<'r, K: Key, V: Stored, H: Engine> Ref<'r, Map<K, V, H>> {
    /// The keys, in the order of `iter`.
    pub fn keys(self) -> impl Iterator<Item = K::View<'r>> + use<'r, K, V, H> {
        self.into_iter().map(|(key, _)| key)
    }

    /// The values, in the order of `iter`.
    pub fn values(self) -> impl Iterator<Item = Ref<'r, V>> + use<'r, K, V, H> {
        self.into_iter().map(|(_, value)| value)
    }
}

impl<K: Key, V: Stored, H: Engine> Mut<'_, Map<K, V, H>> {
    /// Whether the key exists.
    pub fn contains(&self, key: K::View<'_>) -> bool {
        self.as_ref().contains(key)
    }

    /// The value of a key, to read it.
    pub fn get(&self, key: K::View<'_>) -> Option<Ref<'_, V>> {
        self.as_ref().get(key)
    }

    /// Keys and values, to read them, in the order of [`Ref::iter`].
    pub fn iter(&self) -> KeysAndValues<'_, K, V, H> {
        self.into_iter()
    }
}
