//! Waiting: for messages, for the completion of their payload, and for interruption.
//!
//! ```text
//!   sleep      sleeping on several words of memory at once
//!   interrupt  a wait that another thread ends
//!   readiness  whether a take would return now, and when to look again
//!   wait_any   waiting for the first of several subscribers
//!   reactor    the thread that wakes asynchronous tasks and event descriptors
//! ```

pub(crate) mod interrupt;
pub(crate) mod reactor;
pub(crate) mod readiness;
pub(crate) mod sleep;
pub(crate) mod wait_any;
