//! The producer: a process that can be traced, and the writers of its threads.
//!
//! ```text
//! connection       waits for sessions on a thread of its own, makes a ring for each
//! writer           a thread's writer and its packets
//!   chunk_writer   puts the bytes of packets into chunks of the ring
//! session_state    the session that the process is in: its thread sets it, its writers look
//! stall_budget     how long the writers of the process may still wait for chunks
//! limits           what the process gives a session at most
//! ```

mod chunk_writer;
mod connection;
mod limits;
pub(crate) mod session_state;
mod stall_budget;
pub(crate) mod writer;

pub use connection::{ConnectError, Producer};
pub use limits::Limits;
pub use writer::{Packet, Writer};
