//! Waiting: for messages, for the completion of their payload, and for interruption.
//!
//! ```text
//!   sleep        sleeping on several words of memory at once
//!   interrupt    a wait that another thread ends
//!   readiness    whether a take would return now, and when to check again
//!   wait_any     waiting for the first of several subscribers
//!   reactor      the thread that wakes asynchronous tasks and event descriptors
//!   fence        the death of a fence's owner
//!   sleep_until  sleeping until a message comes or is complete
//! ```

pub(crate) mod fence;
pub(crate) mod interrupt;
pub(crate) mod reactor;
pub(crate) mod readiness;
pub(crate) mod sleep;
pub(crate) mod sleep_until;
pub(crate) mod wait_any;
