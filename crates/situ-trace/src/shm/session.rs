//! A session, as its collector announces it.

use std::time::Duration;

/// The action of a writer when no chunk is free.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Policy {
    /// The writer loses packets, and counts them, until a chunk is free.
    Drop,
    /// The writer waits for a chunk, at most this long for each packet. All writers of a process together
    /// wait at most as long as the process allows ([`Limits::stall`](crate::Limits::stall)). Then the packet
    /// is lost, and counted. A hanging collector therefore slows a program down, but never stops it.
    Stall {
        /// The time limit: whole milliseconds, at most 2^32 - 1.
        at_most: Duration,
    },
}

/// A session, which a collector records.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Session {
    /// Odd, and different for each session of a root directory (for the first 2^31).
    pub generation: u32,
    /// A random number.
    pub id: u64,
    /// The text passed to the collector. The layer above interprets it.
    pub categories: String,
    /// The collector's process.
    pub collector_pid: u32,
    /// The number of bytes of chunks in each producer's ring.
    pub ring_bytes: u64,
    /// The size of a chunk, in bytes.
    pub chunk_bytes: u32,
    /// The action of writers when no chunk is free.
    pub policy: Policy,
}
