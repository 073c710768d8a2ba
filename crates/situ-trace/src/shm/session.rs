//! What a session is, as its collector announces it.

use std::time::Duration;

/// What a writer does when no chunk is free.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Policy {
    /// Its packets are lost, and counted, until there is one.
    Drop,
    /// It waits for one, but not longer than this for each packet, and all writers of a process together not longer than the process
    /// allows ([`Limits::stall`]); then the packet is lost, and counted. So a collector that hangs slows a program down, and never
    /// stops it.
    Stall {
        /// How long; whole milliseconds, at most 2^32 - 1 of them.
        at_most: Duration,
    },
}

/// A session: somebody collects.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Session {
    /// Odd, and another for each session of a root directory (until 2^31 of them have passed).
    pub generation: u32,
    /// Random.
    pub id: u64,
    /// What is wanted: the text that the collector was given, for the layer above to interpret.
    pub categories: String,
    /// The process that collects.
    pub collector_pid: u32,
    /// How many bytes each producer's ring has.
    pub ring_bytes: u64,
    /// How many bytes a chunk has.
    pub chunk_bytes: u32,
    /// What writers do when no chunk is free.
    pub policy: Policy,
}
