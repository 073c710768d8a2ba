//! Blackboards: the latest value of each of some keys, which one writer replaces and others read without
//! blocking it.
//!
//! A blackboard is one file. Its writer makes it with all keys and keeps it locked; readers map it read-only.
//! `spec/blackboard.md` has the format, and [`cell`](crate::protocol::cell) the protocol on a value.
//!
//! ```text
//!   format   the bytes of the file, and what of them is checked
//!   place    where files lie, and what their names lead to
//!   board    the mapped file, and its keys
//!   errors   why an operation failed
//!   writer   creating a blackboard, and setting values
//!   reader   opening a blackboard, and getting values
//!   list     all blackboards of a root, and those that dead writers left
//!   typed    the same of generated types
//! ```

mod board;
pub(crate) mod errors;
mod format;
pub(crate) mod list;
mod place;
pub(crate) mod reader;
pub(crate) mod typed;
pub(crate) mod writer;
