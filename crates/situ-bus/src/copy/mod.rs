//! Copies of payloads between memory domains: one for each domain, shared by its subscribers.
//!
//! ```text
//!   copier       copies a payload, or finds the copy of another process
//!   copy_pool    the slots that hold copies
//!   eager        copies that a publisher begins before a subscriber takes the message
//!   take_remote  takes of messages whose payload lies in another domain
//!   copy_error   why a copy fails
//!   await_fence  waiting for a fence whose owner may die
//!   enqueued     copies that streams are still making
//! ```

pub(crate) mod await_fence;
pub(crate) mod copier;
pub(crate) mod copy_error;
pub(crate) mod copy_pool;
pub(crate) mod eager;
pub(crate) mod enqueued;
pub(crate) mod take_remote;
