//! ROS storage: strings and sequences with the layout of ROS 2's C code (`spec/ros.md`). A message is the C
//! struct itself. The crate's public module `ros` shows them, together with `convert/ros`.
//!
//! ```text
//!   policy     the policy
//!   text, sequence
//!              the containers
//!   tail       the flags at the end of sequences, from the release Lyrical on
//!   memory     the C library's allocator
//!   hand_over  how strings and sequences hand over their memory
//!   loaded     compares the layout of messages with that of the ROS libraries
//! ```

mod hand_over;
pub(crate) mod loaded;
pub(crate) mod memory;
pub(crate) mod policy;
pub(crate) mod sequence;
pub(crate) mod tail;
pub(crate) mod text;

/// The bound of a string or sequence that has none in the schema.
const NO_BOUND: usize = usize::MAX;

/// The bound in the form that the containers' traits use.
const fn bound(of: usize) -> Option<usize> {
    if of == NO_BOUND { None } else { Some(of) }
}
