//! Storage policies: where the variable-length parts of a message are stored.

use std::fmt::Debug;

use crate::storage::bulk::BulkField;
use crate::storage::hand_over::{HandOverList, HandOverText};
use crate::value::container::{MapField, OptionalField, WideTextField};
use crate::value::traits::{BulkElement, MapKey, Value};

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
    type String<const N: usize>: HandOverText + MapKey;
    /// `wstring<N>`.
    type WString<const N: usize>: WideTextField + MapKey;
    /// `sequence<T, N>`.
    type Sequence<T: Value, const N: usize>: HandOverList<T> + Value;
    /// `map<K, V, N>`.
    type Map<K: MapKey, V: Value, const N: usize>: MapField<K, V> + Value;
    /// `@optional T`.
    type Optional<T: Value>: OptionalField<T> + Value;
    /// `@bulk sequence<T>` ([`UNBOUNDED`](crate::UNBOUNDED) for `N`) or `@bulk sequence<T, N>`.
    type Bulk<T: BulkElement, const N: usize>: BulkField<T> + Value;
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
    type UnboundedString: HandOverText + MapKey;
    /// `wstring`.
    type UnboundedWString: WideTextField + MapKey;
    /// `sequence<T>`.
    type UnboundedSequence<T: Value>: HandOverList<T> + Value;
    /// `map<K, V>`.
    type UnboundedMap<K: MapKey, V: Value>: MapField<K, V> + Value;

    /// `sequence<T, N>` of a [`Held`] container.
    type SequenceOf<H: Held<Self>, const N: usize>: HandOverList<H::Type> + Value;
    /// `map<K, V, N>` of a [`Held`] container.
    type MapOf<K: MapKey, H: Held<Self>, const N: usize>: MapField<K, H::Type> + Value;
    /// `@optional T` of a [`Held`] container.
    type OptionalOf<H: Held<Self>>: OptionalField<H::Type> + Value;
    /// `sequence<T>` of a [`Held`] container.
    type UnboundedSequenceOf<H: Held<Self>>: HandOverList<H::Type> + Value;
    /// `map<K, V>` of a [`Held`] container.
    type UnboundedMapOf<K: MapKey, H: Held<Self>>: MapField<K, H::Type> + Value;
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
