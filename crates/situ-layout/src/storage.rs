//! Storage policies: where the variable-length parts of a message are stored.

use std::collections::BTreeMap;
use std::fmt::Debug;

use crate::api::{List, Maybe, Table, Text, WideText};
use crate::bulk::{BulkField, BulkRef};
use crate::flat::{FlatMap, FlatOptional, FlatSequence, FlatString, FlatWString};
use crate::heap::{BoundedMap, BoundedString, BoundedVec, BoundedWString, WString};
use crate::value::{Key, Plain, Value};

/// The storage policies, as a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum StorageKind {
    /// Ordinary vectors and strings. The message is serialized to travel.
    Heap,
    /// The strings and sequences of ROS 2's C messages. The message is serialized to travel.
    Ros,
    /// Bounded and inline; the memory is the message.
    Flat,
}

/// Where the variable-length parts of a message are stored.
///
/// Generated types are generic over this trait: `PointCloud2<Flat>` and `PointCloud2<Heap>` have the same
/// members and the same methods.
pub trait Storage: Copy + Clone + Default + PartialEq + Eq + Debug + Send + Sync + 'static {
    /// This policy as a value.
    const KIND: StorageKind;
    /// `string<N>`.
    type String<const N: usize>: Text + Key;
    /// `wstring<N>`.
    type WString<const N: usize>: WideText + Key;
    /// `sequence<T, N>`.
    type Sequence<T: Value, const N: usize>: List<T> + Value;
    /// `map<K, V, N>`.
    type Map<K: Key, V: Value, const N: usize>: Table<K, V> + Value;
    /// `@optional T`.
    type Optional<T: Value>: Maybe<T> + Value;
    /// `@bulk sequence<T>` ([`UNBOUNDED`](crate::UNBOUNDED) for `N`) or `@bulk sequence<T, N>`.
    type Bulk<T: Plain, const N: usize>: BulkField<T> + Value;
}

/// A storage policy that supports strings, sequences and maps without a bound. `Flat` does not:
///
/// ```compile_fail
/// fn text<S: situ_layout::Unbounded>() -> S::UnboundedString {
///     Default::default()
/// }
/// text::<situ_layout::Flat>();
/// ```
#[diagnostic::on_unimplemented(
    message = "this message has a member without a bound, so it cannot be stored as `{Self}`",
    label = "needs a storage with room for unbounded members",
    note = "use `Heap`, or give every string, sequence and map of the message a bound (or `@bulk`) in its schema"
)]
pub trait Unbounded: Storage {
    /// `string`.
    type UnboundedString: Text + Key;
    /// `wstring`.
    type UnboundedWString: WideText + Key;
    /// `sequence<T>`.
    type UnboundedSequence<T: Value>: List<T> + Value;
    /// `map<K, V>`.
    type UnboundedMap<K: Key, V: Value>: Table<K, V> + Value;

    /// `sequence<T, N>` of a [`Held`] container.
    type SequenceOf<H: Held<Self>, const N: usize>: List<H::Type> + Value;
    /// `map<K, V, N>` of a [`Held`] container.
    type MapOf<K: Key, H: Held<Self>, const N: usize>: Table<K, H::Type> + Value;
    /// `@optional T` of a [`Held`] container.
    type OptionalOf<H: Held<Self>>: Maybe<H::Type> + Value;
    /// `sequence<T>` of a [`Held`] container.
    type UnboundedSequenceOf<H: Held<Self>>: List<H::Type> + Value;
    /// `map<K, V>` of a [`Held`] container.
    type UnboundedMapOf<K: Key, H: Held<Self>>: Table<K, H::Type> + Value;
}

/// A container within a container of a type that contains itself, such as the `sequence<T>` of `@optional
/// sequence<T>` in `T`. Generated code names each such container by a type of its own.
///
/// Why it needs a name: to compute the size of `T<Heap>`, the compiler expands
/// `Heap::Optional<Vec<T<Heap>>>`. For that it must prove that `Vec<T<Heap>>` is a [`Value`]. Every
/// implementation for a `Vec` requires that its element is sized, which closes the circle (E0275). To prove
/// that a name is `Held`, the compiler needs nothing of `T`.
pub trait Held<S: Unbounded> {
    /// The container.
    type Type: Value;
}

/// Ordinary vectors, strings and maps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Heap;

impl Storage for Heap {
    const KIND: StorageKind = StorageKind::Heap;
    type String<const N: usize> = BoundedString<N>;
    type WString<const N: usize> = BoundedWString<N>;
    type Sequence<T: Value, const N: usize> = BoundedVec<T, N>;
    type Map<K: Key, V: Value, const N: usize> = BoundedMap<K, V, N>;
    type Optional<T: Value> = Option<T>;
    type Bulk<T: Plain, const N: usize> = BoundedVec<T, N>;
}

impl Unbounded for Heap {
    type UnboundedString = String;
    type UnboundedWString = WString;
    type UnboundedSequence<T: Value> = Vec<T>;
    type UnboundedMap<K: Key, V: Value> = BTreeMap<K, V>;
    type SequenceOf<H: Held<Self>, const N: usize> = BoundedVec<H::Type, N>;
    type MapOf<K: Key, H: Held<Self>, const N: usize> = BoundedMap<K, H::Type, N>;
    type OptionalOf<H: Held<Self>> = Option<H::Type>;
    type UnboundedSequenceOf<H: Held<Self>> = Vec<H::Type>;
    type UnboundedMapOf<K: Key, H: Held<Self>> = BTreeMap<K, H::Type>;
}

/// Bounded, inline, plain memory: the same bytes in every process and language.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Flat;

impl Storage for Flat {
    const KIND: StorageKind = StorageKind::Flat;
    type String<const N: usize> = FlatString<N>;
    type WString<const N: usize> = FlatWString<N>;
    type Sequence<T: Value, const N: usize> = FlatSequence<T, N>;
    type Map<K: Key, V: Value, const N: usize> = FlatMap<K, V, N>;
    type Optional<T: Value> = FlatOptional<T>;
    type Bulk<T: Plain, const N: usize> = BulkRef<T, N>;
}
