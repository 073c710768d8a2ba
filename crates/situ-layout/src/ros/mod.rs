//! ROS storage: strings and sequences with the layout of ROS 2's C code (`spec/ros.md`). A message is the C
//! struct itself.
//!
//! Their memory comes from the C library's allocator, so C code may free memory that Rust code allocated, and
//! the reverse.

mod clip;
mod hand_over;
pub mod lend;
mod loaded;
mod memory;
mod native;
mod policy;
mod sequence;
mod string;
mod tail;
mod wstring;

pub use clip::clip;
pub use lend::{Lend, Lent, lend, lend_with_body};
pub use loaded::checked_type_support;
pub use memory::{CAllocator, shares_memory_with_c};
pub use native::{idiomatic, idiomatic_clipped, native};
pub use policy::Ros;
pub use sequence::RosSequence;
pub use string::RosString;
pub use tail::{BufferFlags, Finalize, NoTail, PrimitiveTail, SEQUENCES_HAVE_FLAGS};
pub use wstring::RosWString;

/// The bound of a string or sequence that has none in the schema.
const NO_BOUND: usize = usize::MAX;

/// The bound in the form that the containers' traits use.
const fn bound(of: usize) -> Option<usize> {
    if of == NO_BOUND { None } else { Some(of) }
}
