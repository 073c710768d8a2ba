//! The bytes of a Situ message: storage policies, containers, in-place construction and validation.
//!
//! A message type is generated once and is generic over its [`Storage`]:
//!
//! - [`Heap`] keeps variable-length parts in ordinary vectors and strings.
//! - [`Flat`] keeps them inline. The message is one block of plain memory with the same bytes in every
//!   language (`spec/flat.md`).
//! - [`Ros`] makes the message the struct that ROS 2's C code has (`spec/ros.md`).
//!
//! This crate uses no operating system and no threads.
//!
//! - [`Message`] and [`FlatMessage`] are implemented by generated types and used by a transport.
//! - [`Value`] is implemented by every type that can be a member of a message.
//! - [`visit`] is the pass over the members on which encodings are built.
//! - [`flat`] and [`heap`] hold the containers of the two policies; [`api`] has the operations that they
//!   share.

#[cfg(not(target_pointer_width = "64"))]
compile_error!(
    "Situ needs addresses of 64 bits: a region may have 2 GiB and its bitmap behind it, and what is reckoned with offsets into it, here and \
     in what reads images, counts on `usize` being larger than they are"
);

pub mod api;
#[doc(hidden)]
pub mod assign;
mod bulk;
mod bulk_ref;
mod error;
#[doc(hidden)]
pub mod field;
pub mod flat;
pub mod foreign;
#[doc(hidden)]
pub mod hand_over;
pub mod heap;
mod in_place;
mod macros_union;
mod message;
#[doc(hidden)]
pub mod newtype;
mod primitive;
mod region_form;
pub mod ros;
#[doc(hidden)]
pub mod set;
mod shape;
mod shared;
mod storage;
#[doc(hidden)]
pub mod take;
mod value;
pub mod visit;

pub use api::{List, Maybe, Table, Text, WideText};
pub use assign::{AssignError, AssignFrom, AssignProblem, Bodies};
pub use bulk::{BulkError, BulkField};
pub use bulk_ref::{BULK_ALIGN, BulkCursor, BulkRef, UNBOUNDED};
pub use error::{BoundError, Bounded, FieldPath, OpaqueBuffer, Segment, ValidateError, ValidateProblem};
pub use flat::{Flat, FlatMap, FlatOptional, FlatSequence, FlatString, FlatWString};
pub use heap::{BoundedMap, BoundedString, BoundedVec, BoundedWString, Heap, WString};
pub use in_place::{
    Absent, Composite, ElementClass, IfScalar, InPlace, Present, Scalar, SelfContained,
    assert_self_contained, boxed, clone_value, default_value, dense_bytes, dense_bytes_mut, reset,
};
pub use message::{Action, FlatForm, FlatFormError, FlatMessage, Message, RegionFormError, Service};
#[doc(hidden)]
pub use message::{read_flat, write_flat};
pub use newtype::Newtype;
pub use region_form::{Invalid, InvalidPlace, InvalidProblem};
pub use ros::{Ros, RosSequence, RosString, RosWString};
pub use shared::{NoMemory, SharedBytes};
pub use storage::{Held, Storage, StorageKind, Unbounded};
pub use take::{TakeFrom, convert, convert_owned};
pub use value::{Key, Plain, Validation, Value};
