//! The operations of ordered sets and maps only: first and last key, and ranges of keys.

use std::ops::{Bound, RangeBounds};

use crate::containers::key::{Entry, Key};
use crate::containers::keyed::{Map, Set};
use crate::containers::node::Path;
use crate::containers::tree::{Elements, Tree};
use crate::value::element::Of;
use crate::value::handle::Ref;
use crate::value::stored::Stored;

/// The path to the first element that is not before the bound; with `end`, that of the end of a range.
fn edge<E: Stored, K: Key>(image: &[u8], at: u32, bound: Bound<&K::View<'_>>, end: bool) -> Path {
    let (key, included) = match bound {
        Bound::Unbounded if end => return Path::end(image, at),
        Bound::Unbounded => return Path::begin(Of::<E>::TYPE, image, at),
        Bound::Included(key) => (*key, true),
        Bound::Excluded(key) => (*key, false),
    };
    let (mut path, found) = Path::to::<_, K>(Of::<E>::TYPE, image, at, key);
    // At the start of a range, an included key is in the range; at its end, an excluded key is not.
    if found && included == end {
        path.next(Of::<E>::TYPE, image);
    }
    if found { path } else { path.settle(image) }
}

fn range<'r, E: Stored, K: Key>(
    image: &'r [u8],
    at: u32,
    keys: &impl RangeBounds<K::View<'r>>,
) -> Elements<'r, E> {
    let front = edge::<E, K>(image, at, keys.start_bound(), false);
    let behind = edge::<E, K>(image, at, keys.end_bound(), true);
    // A range that ends before it begins is empty.
    let turned = match (front.depth, behind.depth) {
        (0, _) => true,
        (_, 0) => false,
        _ => !K::compare_in(image, front.place(Of::<E>::TYPE), behind.place(Of::<E>::TYPE)).is_lt(),
    };
    Elements::new(image, at, front, if turned { front } else { behind })
}

impl<'r, K: Key> Ref<'r, Set<K, Tree>> {
    /// The least key.
    pub fn first(self) -> Option<K::View<'r>> {
        self.range(..).next()
    }

    /// The greatest key.
    pub fn last(self) -> Option<K::View<'r>> {
        self.range(..).next_back()
    }

    /// The keys of a range, ascending, as a double-ended iterator; `range(..)` gives all keys.
    pub fn range(self, keys: impl RangeBounds<K::View<'r>>) -> impl DoubleEndedIterator<Item = K::View<'r>> {
        range::<K, K>(self.image(), self.at(), &keys).map(K::of)
    }
}

impl<'r, K: Key, V: Stored> Ref<'r, Map<K, V, Tree>> {
    /// The least key and its value.
    pub fn first(self) -> Option<(K::View<'r>, Ref<'r, V>)> {
        self.range(..).next()
    }

    /// The greatest key and its value.
    pub fn last(self) -> Option<(K::View<'r>, Ref<'r, V>)> {
        self.range(..).next_back()
    }

    /// The keys of a range and their values, ascending, as a double-ended iterator; `range(..)` gives all
    /// entries.
    pub fn range(
        self,
        keys: impl RangeBounds<K::View<'r>>,
    ) -> impl DoubleEndedIterator<Item = (K::View<'r>, Ref<'r, V>)> {
        range::<Entry<K, V>, K>(self.image(), self.at(), &keys).map(Entry::both)
    }
}
