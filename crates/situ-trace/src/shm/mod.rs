//! What producers and the collector share in memory: layouts, and the protocols on them.
//!
//! ```text
//! control        one page for each root directory: announces the session
//! session        what it announces
//! format         the layout of a ring file, of which each producer has one in a session
//! ring           that file made and mapped, its parts by name
//!   free_list    numbers of free chunks: the collector fills it, the writers empty it
//!   chunk_state  the word in front of each chunk: its owner, and how much of it is finished
//! ```
//!
//! `free_list` and `chunk_state` are pure: only they are built for the model checker (`--cfg loom`).

pub mod chunk_state;
pub mod free_list;

#[cfg(not(loom))]
pub(crate) mod control;
#[cfg(not(loom))]
pub(crate) mod format;
#[cfg(not(loom))]
pub(crate) mod ring;
#[cfg(not(loom))]
pub(crate) mod session;
