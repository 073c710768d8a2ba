//! What is not about messages: bytes and texts that other processes wrote.
//!
//! ```text
//!   shared_bytes  bytes that may change while they are read
//!   foreign       text that is safe to print on a terminal
//! ```

pub mod foreign;
pub(crate) mod shared_bytes;
