//! The containers of flat storage: bounded, inline, without pointers (`spec/flat.md`).
//!
//! All are `repr(C)` and begin with their length. Unoccupied memory is not touched: construction writes the
//! length only, and a copy contains only the occupied part. A length in memory that another process can write
//! is clamped to the bound at each access, so memory safety never depends on that process.
//!
//! ```text
//!   policy  the policy
//!   text, sequence, map, optional
//!           the containers
//!   bulk    the elements of a bulk member in the body of a message
//! ```

mod bulk;
mod map;
mod optional;
mod policy;
mod sequence;
mod text;

pub use map::{Entry, FlatMap};
pub use optional::FlatOptional;
pub use policy::Flat;
pub use sequence::FlatSequence;
pub use text::{FlatString, FlatText, FlatWString};
