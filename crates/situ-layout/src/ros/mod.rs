//! ROS storage: strings and sequences with the layout of ROS 2's C code (`spec/ros.md`). A message is the C
//! struct itself.
//!
//! Their memory comes from the C library's allocator, so C code may free memory that Rust code allocated, and
//! the reverse.

mod clip;
mod given;
pub mod lend;
mod loaded;
mod memory;
mod native;
mod sequence;
mod string;
mod tail;
mod wstring;

use std::collections::BTreeMap;

use crate::heap::BoundedMap;
use crate::storage::{Held, Storage, StorageKind, Unbounded};
use crate::value::{Key, Plain, Value};

pub(crate) use given::within;

pub use clip::clip;
pub use given::{GivenList, GivenText};
pub use lend::{Lend, Lent, lend, lend_with_body};
pub use loaded::checked_type_support;
pub use memory::{CAllocator, shares_memory_with_c};
pub use native::{idiomatic, idiomatic_clipped, native};
pub use sequence::{RosSequence, RosidlBuffer};
pub use string::RosString;
pub use tail::{BufferFlags, Finalize, NoTail, PrimitiveTail, SEQUENCES_HAVE_FLAGS, SequenceTail};
pub use wstring::RosWString;

/// The bound of a string or sequence that has none in the schema.
const NO_BOUND: usize = usize::MAX;

/// The bound in the form that the containers' traits use.
const fn bound(of: usize) -> Option<usize> {
    if of == NO_BOUND { None } else { Some(of) }
}

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
    type Map<K: Key, V: Value, const N: usize> = BoundedMap<K, V, N>;
    type Optional<T: Value> = Option<T>;
    type Bulk<T: Plain, const N: usize> = RosSequence<T, N>;
}

impl Unbounded for Ros {
    type UnboundedString = RosString;
    type UnboundedWString = RosWString;
    type UnboundedSequence<T: Value> = RosSequence<T>;
    type UnboundedMap<K: Key, V: Value> = BTreeMap<K, V>;
    type SequenceOf<H: Held<Self>, const N: usize> = RosSequence<H::Type, N>;
    type MapOf<K: Key, H: Held<Self>, const N: usize> = BoundedMap<K, H::Type, N>;
    type OptionalOf<H: Held<Self>> = Option<H::Type>;
    type UnboundedSequenceOf<H: Held<Self>> = RosSequence<H::Type>;
    type UnboundedMapOf<K: Key, H: Held<Self>> = BTreeMap<K, H::Type>;
}
