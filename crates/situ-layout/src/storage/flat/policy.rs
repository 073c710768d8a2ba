//! The policy of flat storage.

use super::{FlatMap, FlatOptional, FlatSequence, FlatString, FlatWString};
use crate::storage::policy::{Storage, StorageKind};
use crate::value::bulk_ref::BulkRef;
use crate::value::traits::{BulkElement, MapKey, Value};

/// Bounded, inline, plain memory: the same bytes in every process and language.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Flat;

impl Storage for Flat {
    const KIND: StorageKind = StorageKind::Flat;
    type String<const N: usize> = FlatString<N>;
    type WString<const N: usize> = FlatWString<N>;
    type Sequence<T: Value, const N: usize> = FlatSequence<T, N>;
    type Map<K: MapKey, V: Value, const N: usize> = FlatMap<K, V, N>;
    type Optional<T: Value> = FlatOptional<T>;
    type Bulk<T: BulkElement, const N: usize> = BulkRef<T, N>;
}
