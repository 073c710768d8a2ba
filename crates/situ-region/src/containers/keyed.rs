//! Sets and maps, whether a sorted vector, a hash table or a tree holds their keys.

use std::fmt;
use std::marker::PhantomData;

use situ_layout::Invalid;

use crate::containers::engine::{Engine, Reserve};
use crate::containers::key::{Entry, Key};
use crate::containers::keyed_traits::{equal_maps, equal_sets, show_map, show_set};
use crate::containers::vector;
use crate::error::Full;
use crate::image::check::Check;
use crate::image::lines::Lines;
use crate::image::writer::Writer;
use crate::memory::blocks::MemoryMut;
use crate::memory::slide::Slide;
use crate::packed::keyed as packed_keyed;
use crate::packed::keyed::NoValue;
use crate::packed::unpack::Unpacker;
use crate::value::assign::Assign;
use crate::value::equal_walk::Equal;
use crate::value::handle::{Mut, Ref};
use crate::value::layout::LINK;
use crate::value::show_walk::ShowWalk;
use crate::value::stored::Stored;

/// A set within a region. The type is only a name; see the methods of [`Ref`] and [`Mut`].
pub struct Set<K, H>(PhantomData<(K, H)>);

/// A map within a region. The type is only a name; see the methods of [`Ref`] and [`Mut`].
pub struct Map<K, V, H>(PhantomData<(K, V, H)>);

macro_rules! keyed {
    ($name:ident<$($parameter:ident),*>, $element:ty, $value:ty, $kind:literal, $show:ident, $equal:ident) => {
        impl<$($parameter: Stored,)* H: Engine> Stored for $name<$($parameter,)* H> where K: Key {
            const SIZE: u32 = 16;
            const ALIGN: u32 = 4;
            const LINKS: bool = true;
            const DENSE: bool = false;
            const ANY: bool = false;
            const PACKED_SIZE: u32 = LINK;
            const PACKED_ALIGN: u32 = 1;
            const IS_PACKED_LINK: bool = true;

            fn kind() -> String {
                H::KINDS[$kind].to_owned()
            }
            fn inner(lines: &mut Lines, path: &str) {
                lines.value::<$element>(&format!("{path}[]"), 0);
            }
            fn needed(lines: &mut Lines) {
                <$element>::needed(lines);
            }
            fn begin(MemoryMut(memory): MemoryMut<'_>, at: u32) {
                vector::begin(memory, at);
            }
            fn moved(MemoryMut(memory): MemoryMut<'_>, at: u32, distance: u32) {
                vector::moved(memory, at, distance);
            }
            fn slide(slide: &mut Slide<'_>, at: u32) {
                H::slide::<$element, K>(slide, at);
            }
            fn release(memory: MemoryMut<'_>, at: u32) {
                H::release::<$element>(memory, at);
            }
            fn write(writer: &mut Writer<'_>, from: u32, to: u32) {
                H::write::<$element, K>(writer, from, to);
            }
            fn check<const CANONICAL: bool>(check: &mut Check<'_, CANONICAL>, at: u32) -> Result<(), Invalid> {
                H::check::<$element, K, CANONICAL>(check, at)
            }
            fn is_empty(image: &[u8], at: u32) -> bool {
                vector::len(image, at) == 0
            }
            fn pack(writer: &mut Writer<'_>, from: u32, to: u32) {
                packed_keyed::pack::<H, K, $value>(writer, from, to);
            }
            fn check_packed<const CANONICAL: bool>(
                check: &mut Check<'_, CANONICAL>,
                at: u32,
            ) -> Result<(), Invalid> {
                packed_keyed::check::<H, K, $value, CANONICAL>(check, at)
            }
            fn unpack(
                unpacker: &mut Unpacker<'_>,
                MemoryMut(memory): MemoryMut<'_>,
                at: u32,
                from: u32,
            ) -> Result<(), Full> {
                packed_keyed::unpack::<H, K, $value>(unpacker, memory, at, from)
            }
            fn show(walk: &ShowWalk<'_>, at: u32, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                $show::<$($parameter,)* H>(walk, at, f)
            }
            fn equals(equal: &mut Equal<'_, '_>, a: u32, b: u32) -> bool {
                $equal::<$($parameter,)* H>(equal, a, b)
            }
        }

        impl<$($parameter: Stored,)* H: Engine> Ref<'_, $name<$($parameter,)* H>> where K: Key {
            /// The number of keys.
            #[inline]
            pub fn len(self) -> usize {
                vector::len(self.image(), self.at()) as usize
            }

            /// Whether there are no keys.
            #[inline]
            pub fn is_empty(self) -> bool {
                self.len() == 0
            }

            /// Whether the key exists.
            #[inline]
            pub fn contains(self, key: K::View<'_>) -> bool {
                H::find::<$element, K>(self.image(), self.at(), key).is_some()
            }
        }

        impl<$($parameter: Stored,)* H: Engine> Mut<'_, $name<$($parameter,)* H>> where K: Key {
            /// The number of keys.
            #[inline]
            pub fn len(&self) -> usize {
                self.as_ref().len()
            }

            /// Whether there are no keys.
            #[inline]
            pub fn is_empty(&self) -> bool {
                self.len() == 0
            }

            /// Removes a key; false if it does not exist.
            #[inline]
            pub fn remove(&mut self, key: K::View<'_>) -> bool {
                let at = self.at();
                H::remove::<$element, K>(MemoryMut(self.memory()), at, key)
            }

            /// Removes all keys. A sorted vector keeps its capacity.
            pub fn clear(&mut self) {
                let at = self.at();
                H::clear::<$element>(MemoryMut(self.memory()), at);
            }
        }

        impl<$($parameter: Stored,)* H: Reserve> Mut<'_, $name<$($parameter,)* H>> where K: Key {
            /// Reserves memory for `count` keys in total.
            pub fn reserve(&mut self, count: usize) -> Result<(), Full> {
                let at = self.at();
                let count = u32::try_from(count).map_err(|_| self.memory().full())?;
                H::reserve::<$element, K>(MemoryMut(self.memory()), at, count)
            }

            /// Releases unused memory.
            pub fn shrink_to_fit(&mut self) -> Result<(), Full> {
                let at = self.at();
                H::shrink::<$element, K>(MemoryMut(self.memory()), at)
            }
        }
    };
}

keyed!(Set<K>, K, NoValue, 0, show_set, equal_sets);
keyed!(Map<K, V>, Entry<K, V>, V, 1, show_map, equal_maps);

impl<'r, K: Key, H: Engine> Ref<'r, Set<K, H>> {
    /// The keys: ascending; those of a hash set in the order of insertion, until one is removed.
    #[inline]
    pub fn iter(self) -> impl Iterator<Item = K::View<'r>> + use<'r, K, H> {
        H::elements::<K>(self.image(), self.at()).map(K::of)
    }
}

impl<K: Key, H: Engine> Mut<'_, Set<K, H>> {
    /// Adds a key; false if it exists already. If there is no room, nothing changes.
    #[inline]
    pub fn insert(&mut self, key: K::View<'_>) -> Result<bool, Full> {
        let at = self.at();
        Ok(H::insert::<K, K>(MemoryMut(self.memory()), at, key)?.1)
    }
}

impl<'r, K: Key, V: Stored, H: Engine> Ref<'r, Map<K, V, H>> {
    /// The value of a key.
    #[inline]
    pub fn get(self, key: K::View<'_>) -> Option<Ref<'r, V>> {
        let place = H::find::<Entry<K, V>, K>(self.image(), self.at(), key)?;
        Some(Ref::new(self.image(), place + Entry::<K, V>::VALUE))
    }

    /// Keys and values: ascending; those of a hash map in the order of insertion, until one is removed.
    #[inline]
    pub fn iter(self) -> impl Iterator<Item = (K::View<'r>, Ref<'r, V>)> + use<'r, K, V, H> {
        H::elements::<Entry<K, V>>(self.image(), self.at()).map(Entry::both)
    }
}

impl<'r, K: Key, V: Stored, H: Engine> Mut<'r, Map<K, V, H>> {
    /// The value of a key, if it exists, as a mutable handle.
    #[inline]
    pub fn get_mut(&mut self, key: K::View<'_>) -> Option<Mut<'_, V>> {
        let at = self.as_ref().get(key)?.at();
        Some(Mut::new(self.memory(), at))
    }

    /// The value of a key, as a mutable handle. A missing key gets a default value.
    #[inline]
    pub fn entry(&mut self, key: K::View<'_>) -> Result<Mut<'_, V>, Full> {
        let at = self.at();
        let (place, _) = H::insert::<Entry<K, V>, K>(MemoryMut(self.memory()), at, key)?;
        Ok(Mut::new(self.memory(), place + Entry::<K, V>::VALUE))
    }

    /// Sets the value of a key. If there is no room, a missing key is still missing.
    #[inline]
    pub fn insert<X>(&mut self, key: K::View<'_>, value: X) -> Result<(), Full>
    where
        V: Assign<X>,
    {
        let at = self.at();
        H::set::<K, V, X>(MemoryMut(self.memory()), at, key, value)
    }
}
