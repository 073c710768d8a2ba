//! The bytes of a Situ message: storage policies, containers, in-place construction and validation.
//!
//! A message type is generated once and is generic over its [`Storage`]:
//!
//! - [`Heap`] keeps variable-length parts in ordinary vectors and strings.
//! - [`Flat`] keeps them inline. The message is one block of plain memory with the same bytes in every
//!   language (`spec/flat.md`).
//! - [`Ros`] makes the message the struct that ROS 2's C code has (`spec/ros.md`).
//!
//! This crate uses no operating system, but for the clock of [`time::Timestamp::now`], and no threads.
//!
//! - [`Message`] and [`FlatMessage`] are implemented by generated types and used by a transport.
//! - [`Value`] is implemented by every type that can be a member of a message.
//! - [`visit`] is the pass over the members on which encodings are built.
//! - [`flat`] and [`heap`] hold the containers of the two policies; [`TextField`], [`SequenceField`] and
//!   their like have the operations that these share.
//!
//! | Room | What is there |
//! |---|---|
//! | `value` | values, visitors, the operations of containers, errors; numbers, enums and bitmasks |
//! | `storage` | the storage policies, and the containers of each |
//! | `convert` | conversion between storages, and to and from C structs of ROS |
//! | `message` | messages, their flat form and their region form |
//! | `support` | bytes and texts that other processes wrote, the text of errors |

#[cfg(not(target_endian = "little"))]
compile_error!(
    "Situ needs a little-endian target: messages in shared memory are little-endian and are not converted"
);
// Offsets of regions have 32 bits, and the code that calculates with them relies on a larger `usize`.
#[cfg(not(target_pointer_width = "64"))]
compile_error!("Situ needs a target with 64-bit addresses: pools are larger than 32-bit addresses can map");

mod convert;
mod message;
mod storage;
mod support;
mod value;

/// ROS storage: strings and sequences with the layout of ROS 2's C code (`spec/ros.md`). A message is the C
/// struct itself.
///
/// Their memory comes from the C library's allocator, so C code may free memory that Rust code allocated, and
/// the reverse.
pub mod ros {
    pub use crate::convert::ros::clip::clip;
    pub use crate::convert::ros::lend::{self, Lend, Lent, lend, lend_with_body};
    pub use crate::convert::ros::native::{idiomatic, idiomatic_clipped, native};
    pub use crate::storage::ros::loaded::checked_type_support;
    pub use crate::storage::ros::memory::{CAllocator, shares_memory_with_c};
    pub use crate::storage::ros::policy::Ros;
    pub use crate::storage::ros::sequence::RosSequence;
    pub use crate::storage::ros::tail::{BufferFlags, Finalize, NoTail, PrimitiveTail, SEQUENCES_HAVE_FLAGS};
    pub use crate::storage::ros::text::{RosString, RosText, RosWString};
}

/// One pass over the members of any message: visitors, and the properties of types and members.
pub mod visit {
    pub use crate::value::shape::{Element, Extensibility, MemberInfo, Shape, TypeInfo};
    pub use crate::value::traits::{
        Bitmask, Discriminator, Enumeration, MemberVisitor, Number, Structure, Union, Visitor, VisitorMut,
    };
}

pub use storage::{flat, heap};
#[doc(hidden)]
pub use support::error_text::write_error_text;
pub use support::foreign;

#[doc(hidden)]
pub use convert::{assign, take};
#[doc(hidden)]
pub use message::{field, set};
#[doc(hidden)]
pub use value::{newtype, union};

pub use convert::assign::{AssignError, AssignFrom, AssignProblem, Bodies};
pub use convert::take::{TakeFrom, convert, convert_owned};
pub use flat::{Flat, FlatMap, FlatOptional, FlatSequence, FlatString, FlatWString};
pub use heap::{BoundedMap, BoundedString, BoundedVec, BoundedWString, Heap, WString};
pub use message::region_form::{Invalid, InvalidPlace, InvalidProblem};
pub use message::traits::{
    Action, FlatForm, FlatFormError, FlatMessage, Message, Outcome, RegionFormError, Service,
};
#[doc(hidden)]
pub use message::traits::{read_flat, write_flat};
pub use ros::{Ros, RosSequence, RosString, RosWString};
pub use storage::bulk::{BulkError, BulkField};
pub use storage::policy::{Held, Storage, StorageKind, Unbounded};
#[doc(hidden)]
pub use support::headroom::Headroom;
pub use support::shared_bytes::{NoMemory, SharedBytes};
pub use value::bulk_ref::{BULK_ALIGN, BulkCursor, BulkRef, UNBOUNDED};
#[doc(hidden)]
pub use value::container::within;
pub use value::container::{MapField, OptionalField, SequenceField, TextField, WideTextField};
pub use value::error::{
    BoundError, Bounded, FieldPath, OpaqueBuffer, Segment, ValidateError, ValidateProblem,
};
pub use value::in_place::{
    Absent, Composite, ElementClass, IfScalar, InPlace, Present, Scalar, SelfContained,
    assert_self_contained, boxed, clone_value, default_value, dense_bytes, dense_bytes_mut, reset,
};
pub use value::newtype::Newtype;
pub use value::time;
pub use value::total_order::TotalOrder;
pub use value::traits::{BulkElement, MapKey, Validation, Value};
