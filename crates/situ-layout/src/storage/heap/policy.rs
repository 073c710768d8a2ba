//! The policy of heap storage.

use std::collections::BTreeMap;

use super::{BoundedMap, BoundedString, BoundedVec, BoundedWString, WString};
use crate::storage::policy::{Held, Storage, StorageKind, Unbounded};
use crate::value::traits::{BulkElement, MapKey, Value};

/// Ordinary vectors, strings and maps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Heap;

impl Storage for Heap {
    const KIND: StorageKind = StorageKind::Heap;
    type String<const N: usize> = BoundedString<N>;
    type WString<const N: usize> = BoundedWString<N>;
    type Sequence<T: Value, const N: usize> = BoundedVec<T, N>;
    type Map<K: MapKey, V: Value, const N: usize> = BoundedMap<K, V, N>;
    type Optional<T: Value> = Option<T>;
    type Bulk<T: BulkElement, const N: usize> = BoundedVec<T, N>;
}

impl Unbounded for Heap {
    type UnboundedString = String;
    type UnboundedWString = WString;
    type UnboundedSequence<T: Value> = Vec<T>;
    type UnboundedMap<K: MapKey, V: Value> = BTreeMap<K, V>;
    type SequenceOf<H: Held<Self>, const N: usize> = BoundedVec<H::Type, N>;
    type MapOf<K: MapKey, H: Held<Self>, const N: usize> = BoundedMap<K, H::Type, N>;
    type OptionalOf<H: Held<Self>> = Option<H::Type>;
    type UnboundedSequenceOf<H: Held<Self>> = Vec<H::Type>;
    type UnboundedMapOf<K: MapKey, H: Held<Self>> = BTreeMap<K, H::Type>;
}
