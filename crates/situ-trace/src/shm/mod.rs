//! Memory that producers and the collector share: layouts, and the protocols on them.
//!
//! ```text
//! control        one page for each root directory: announces the session
//! session        the announced session
//! format         the layout of a ring file; each producer has one in a session
//! ring           that file created and mapped, its parts by name
//!   free_list    numbers of free chunks: the collector fills it, the writers empty it
//!   chunk_state  the word in front of each chunk: its owner, and the number of finished fragments
//! ```
//!
//! The model checker (`--cfg loom`) sees only `free_list` and `chunk_state`, which depend on nothing else
//! here.

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
