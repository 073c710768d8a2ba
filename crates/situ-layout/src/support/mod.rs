//! What is not about messages: bytes and texts that other processes wrote, memory, and the text of errors.
//!
//! ```text
//!   shared_bytes  bytes that may change while they are read
//!   headroom      whether there is memory for nodes of maps
//!   foreign       text that is safe to print on a terminal
//!   error_text    `Debug` of errors
//! ```

pub(crate) mod error_text;
pub mod foreign;
pub(crate) mod headroom;
pub(crate) mod shared_bytes;
