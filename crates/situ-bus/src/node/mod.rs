//! A process among others: its node, and whether the nodes of others are alive.
//!
//! ```text
//!   handle          the node, and cleaning after dead ones
//!   liveness        the files that say which nodes are alive
//!   process_watch   watches that tell when a process ends
//!   fence_watchdog  fences whose owner died
//! ```

pub(crate) mod fence_watchdog;
pub(crate) mod handle;
pub(crate) mod liveness;
pub(crate) mod process_watch;
