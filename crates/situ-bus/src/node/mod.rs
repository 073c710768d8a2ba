//! The node of this process, and whether other nodes are alive.
//!
//! ```text
//!   handle          the node, and cleaning up after dead nodes
//!   options         what a node may be told when it is created
//!   endpoint        the ids of publishers and subscribers
//!   liveness        the files that tell which nodes are alive
//!   living          which nodes were alive at the last look
//!   node_file       the bytes of these files
//!   peer            a node, as errors name it
//!   process_watch   watches that tell when a process ends
//!   fence_watchdog  fences whose owner died
//! ```

pub(crate) mod endpoint;
pub(crate) mod fence_watchdog;
pub(crate) mod handle;
pub(crate) mod liveness;
pub(crate) mod living;
pub(crate) mod node_file;
pub(crate) mod options;
pub(crate) mod peer;
pub(crate) mod process_watch;
