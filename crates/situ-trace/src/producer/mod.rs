//! The producer: a traced process, and the writers of its threads.
//!
//! ```text
//! connection       waits for sessions on a thread of its own, creates a ring for each
//! writer           a thread's writer and its packets
//!   chunk_writer   writes the bytes of packets into chunks of the ring
//! session_state    the current session: the connection's thread sets it, the writers read it
//! stall_budget     the time that the writers of the process may still wait for chunks
//! limits           the maximum resources that the process gives to a session
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
