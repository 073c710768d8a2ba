//! `Debug` and `PartialEq` of sets and maps: by their keys and values.

use std::fmt;
use std::marker::PhantomData;

use crate::containers::engine::Engine;
use crate::containers::key::{Entry, Key};
use crate::containers::vector;
use crate::memory::later::Place;
use crate::value::equal_walk::{Equal, EqualBehind};
use crate::value::show::Shown;
use crate::value::show_walk::ShowWalk;
use crate::value::stored::Stored;

/// Prints a set.
pub(crate) fn show_set<K: Key, H: Engine>(
    walk: &ShowWalk<'_>,
    at: u32,
    f: &mut fmt::Formatter<'_>,
) -> fmt::Result {
    if vector::len(walk.image(), at) == 0 {
        return f.write_str("{}");
    }
    walk.deeper(f, |f| {
        let keys = H::elements::<K>(walk.image(), at);
        f.debug_set().entries(keys.map(|key| Shown::<K>::new(walk, key.at()))).finish()
    })
}

/// Prints a map.
pub(crate) fn show_map<K: Key, V: Stored, H: Engine>(
    walk: &ShowWalk<'_>,
    at: u32,
    f: &mut fmt::Formatter<'_>,
) -> fmt::Result {
    if vector::len(walk.image(), at) == 0 {
        return f.write_str("{}");
    }
    walk.deeper(f, |f| {
        let entries = H::elements::<Entry<K, V>>(walk.image(), at).map(|entry| {
            let value = entry.at() + Entry::<K, V>::VALUE;
            (Shown::<K>::new(walk, entry.at()), Shown::<V>::new(walk, value))
        });
        f.debug_map().entries(entries).finish()
    })
}

/// Whether for each element of the set or map at `a`, that at `b` has one with an equal key for which
/// `equals` is true of their places. Both have as many elements.
fn all_match<E: Stored, K: Key, H: Engine>(
    equal: &mut Equal<'_, '_>,
    [a, b]: [u32; 2],
    mut equals: impl FnMut(&mut Equal<'_, '_>, u32, u32) -> bool,
) -> bool {
    let (ours, theirs) = (equal.a(), equal.b());
    let mut elements = H::elements::<E>(ours, a);
    if H::HASHED {
        return elements.all(|element| {
            let found = H::find::<E, K>(theirs, b, K::of(element.part(0)));
            found.is_some_and(|found| equals(equal, element.at(), found))
        });
    }
    elements.zip(H::elements::<E>(theirs, b)).all(|(element, other)| {
        K::compare(theirs, other.at(), K::of(element.part(0))).is_eq()
            && equals(equal, element.at(), other.at())
    })
}

/// The number of keys that two sets or maps have; `None` if one has more.
fn common_len(equal: &Equal<'_, '_>, a: u32, b: u32) -> Option<u32> {
    let len = vector::len(equal.a(), a);
    (len == vector::len(equal.b(), b)).then_some(len)
}

/// Whether two sets have the same keys.
pub(crate) fn equal_sets<K: Key, H: Engine>(equal: &mut Equal<'_, '_>, a: u32, b: u32) -> bool {
    match common_len(equal, a, b) {
        Some(0) => true,
        Some(_) => all_match::<K, K, H>(equal, [a, b], |_, _, _| true),
        None => false,
    }
}

/// Whether two maps have the same keys with equal values.
pub(crate) fn equal_maps<K: Key, V: Stored, H: Engine>(equal: &mut Equal<'_, '_>, a: u32, b: u32) -> bool {
    match common_len(equal, a, b) {
        Some(0) => true,
        Some(_) => equal.behind::<Entries<K, V, H>>([a, b, 0]),
        None => false,
    }
}

/// The entries of two maps.
struct Entries<K, V, H>(PhantomData<(K, V, H)>);

impl<K: Key, V: Stored, H: Engine> EqualBehind for Entries<K, V, H> {
    fn equals(equal: &mut Equal<'_, '_>, [a, b, _]: Place) -> bool {
        all_match::<Entry<K, V>, K, H>(equal, [a, b], |equal, a, b| {
            V::equals(equal, a + Entry::<K, V>::VALUE, b + Entry::<K, V>::VALUE)
        })
    }
}
