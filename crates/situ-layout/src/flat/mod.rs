//! The containers of flat storage: bounded, inline, without pointers (`spec/flat.md`).
//!
//! All are `repr(C)`, begin with their length, and leave unoccupied memory alone: constructing one writes its length,
//! copying one copies what is occupied. A length read from memory that another process can write is clamped to the bound
//! at each access, so that memory safety never depends on that process.

mod map;
mod optional;
mod sequence;
mod string;
mod wstring;

pub use map::{Entry, FlatMap};
pub use optional::FlatOptional;
pub use sequence::FlatSequence;
pub use string::FlatString;
pub use wstring::FlatWString;
