//! The policy of ROS storage.

use std::collections::BTreeMap;

use super::sequence::RosSequence;
use super::text::{RosString, RosWString};
use crate::storage::heap::BoundedMap;
use crate::storage::policy::{Held, Storage, StorageKind, Unbounded};
use crate::value::traits::{BulkElement, MapKey, Value};

/// The strings and sequences of ROS 2's C messages. `ROS_DISTRO` selects the layout of sequences when Situ is
/// built: that of releases up to Kilted, which is also the default, or that of Lyrical and later. A message
/// of a ROS package is bit for bit the struct that `rosidl_generator_c` generates, and may be passed to C
/// code by its address.
///
/// ROS has no maps and no optional members. Situ uses those of [`Heap`](crate::Heap).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ros;

impl Storage for Ros {
    const KIND: StorageKind = StorageKind::Ros;
    type String<const N: usize> = RosString<N>;
    type WString<const N: usize> = RosWString<N>;
    type Sequence<T: Value, const N: usize> = RosSequence<T, N>;
    type Map<K: MapKey, V: Value, const N: usize> = BoundedMap<K, V, N>;
    type Optional<T: Value> = Option<T>;
    type Bulk<T: BulkElement, const N: usize> = RosSequence<T, N>;
}

impl Unbounded for Ros {
    type UnboundedString = RosString;
    type UnboundedWString = RosWString;
    type UnboundedSequence<T: Value> = RosSequence<T>;
    type UnboundedMap<K: MapKey, V: Value> = BTreeMap<K, V>;
    type SequenceOf<H: Held<Self>, const N: usize> = RosSequence<H::Type, N>;
    type MapOf<K: MapKey, H: Held<Self>, const N: usize> = BoundedMap<K, H::Type, N>;
    type OptionalOf<H: Held<Self>> = Option<H::Type>;
    type UnboundedSequenceOf<H: Held<Self>> = RosSequence<H::Type>;
    type UnboundedMapOf<K: MapKey, H: Held<Self>> = BTreeMap<K, H::Type>;
}
