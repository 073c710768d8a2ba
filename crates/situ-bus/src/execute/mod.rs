//! The executor: runs callbacks when their sources are ready, on one thread or several.
//!
//! ```text
//!   executor   callbacks are added here, and threads spin here
//!   callback   a callback, its group, and what it returns
//!   queue      the callbacks that are ready, and which of them may run
//!   run        what each spinning thread does
//!   stop       stopping from callbacks, threads and signal handlers
//! ```

pub(crate) mod callback;
pub(crate) mod executor;
pub(crate) mod queue;
pub(crate) mod run;
pub(crate) mod stop;
