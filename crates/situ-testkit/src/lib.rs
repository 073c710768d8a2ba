//! What the tests of several crates share.
//!
//! ```text
//!   scratch            directories that are removed at the end of a test
//!   process            the test's own program, started again to play a role
//!   step               runs a child one instruction or system call at a time, to kill it there
//!   allocator          an allocator that counts
//!   scarce_allocator   an allocator that refuses large allocations
//!   system_calls       threads that may not call the system
//!   random             numbers that can be repeated from their seed
//! ```
//!
//! This crate depends on no other crate of Situ, because their tests depend on it.

pub mod allocator;
pub mod process;
pub mod random;
pub mod scarce_allocator;
pub mod scratch;
pub mod step;
pub mod system_calls;

pub use random::Random;
pub use scratch::Scratch;
