//! Copies of payloads between memory domains: one for each domain, shared by its subscribers.
//!
//! ```text
//!   copier       copies a payload, or finds the copy of another process
//!   copy_pool    the slots that hold copies
//!   eager        copies that a publisher begins before a subscriber asks
//!   take_remote  takes of messages whose payload lies in another domain
//! ```

pub(crate) mod copier;
pub(crate) mod copy_pool;
pub(crate) mod eager;
pub(crate) mod take_remote;
