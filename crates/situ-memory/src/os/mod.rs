//! Files, mappings, descriptors, processes and threads, as Linux has them.
//!
//! ```text
//!   runtime_dir      the root directory: which one it is, and the check of it
//!   beneath          paths below a checked directory, without following links
//!   shared_file      files of shared memory, as their owner makes them
//!   mapping, extent  mappings of files, and their addresses
//!   mapped_range     the only place that maps files; shared_ranges maps one once for all of the process
//!   pages            the pages behind a mapping: present, huge, of a NUMA node
//!   file_windows     mappings that grow with the use of their file
//!   address_window   address ranges in which private regions grow without moving
//!   fd_passing       descriptors handed from process to process
//!   fork             what happens to all this in a forked child
//!   guard            survives files that are shortened while they are mapped
//!   process, thread  the identity of a process, and threads of the library's own
//! ```

mod address_window;
pub mod beneath;
mod extent;
pub(crate) mod fd_passing;
pub(crate) mod file_windows;
pub mod fork;
pub mod guard;
pub(crate) mod mapped_range;
pub(crate) mod mapping;
pub(crate) mod pages;
pub mod process;
pub mod runtime_dir;
pub(crate) mod shared_file;
mod shared_ranges;
pub mod thread;

pub use address_window::{AddressWindow, NoAddressWindow};
pub use beneath::Beneath;
pub use extent::Extent;
pub use mapped_range::Access;
pub use mapping::{Mapping, MemoryError, advice, find_memory};
pub use pages::{Outcome, PageOptions, PageOutcome, prefer_pages};
pub use runtime_dir as root;
pub use runtime_dir::{OpenRoot, Root, RootError};
