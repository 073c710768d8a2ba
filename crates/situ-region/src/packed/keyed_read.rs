//! Reads sets and maps in packed images.

use crate::containers::engine::Engine;
use crate::containers::key::Key;
use crate::containers::keyed::{Map, Set};
use crate::packed::handle::Packed;
use crate::packed::keyed::{NoValue, Parts};
use crate::packed::place::counted_at;
use crate::value::stored::Stored;

/// The functions that sets and maps have in common.
macro_rules! keyed {
    ($name:ident<$($parameter:ident),*>, $value:ty) => {
        impl<$($parameter: Stored,)* H: Engine> Packed<'_, $name<$($parameter,)* H>> where K: Key {
            /// The number of keys.
            #[inline]
            pub fn len(self) -> usize {
                counted_at(self.image(), self.at()).1 as usize
            }

            /// Whether there are no keys.
            #[inline]
            pub fn is_empty(self) -> bool {
                self.len() == 0
            }

            /// Whether the key exists.
            #[inline]
            pub fn contains(self, key: K::View<'_>) -> bool {
                Parts::<H, K, $value>::of(self.image(), self.at()).search(self.image(), key).is_ok()
            }
        }
    };
}

keyed!(Set<K>, NoValue);
keyed!(Map<K, V>, V);

impl<'r, K: Key, H: Engine> Packed<'r, Set<K, H>> {
    /// The keys: ascending; those of a hash set in the order of the image.
    pub fn iter(self) -> impl ExactSizeIterator<Item = K::View<'r>> + DoubleEndedIterator + use<'r, K, H> {
        let (image, parts) = (self.image(), Parts::<H, K, NoValue>::of(self.image(), self.at()));
        (0..parts.count).map(move |i| parts.key(image, i))
    }
}

impl<'r, K: Key, V: Stored, H: Engine> Packed<'r, Map<K, V, H>> {
    /// The value of a key.
    #[inline]
    pub fn get(self, key: K::View<'_>) -> Option<Packed<'r, V>> {
        let parts = Parts::<H, K, V>::of(self.image(), self.at());
        let index = parts.search(self.image(), key).ok()?;
        Some(Packed::new(self.image(), parts.value_at(index)))
    }

    /// Keys and values: ascending; those of a hash map in the order of the image.
    pub fn iter(
        self,
    ) -> impl ExactSizeIterator<Item = (K::View<'r>, Packed<'r, V>)> + DoubleEndedIterator + use<'r, K, V, H>
    {
        let (image, parts) = (self.image(), Parts::<H, K, V>::of(self.image(), self.at()));
        (0..parts.count).map(move |i| (parts.key(image, i), Packed::new(image, parts.value_at(i))))
    }
}
