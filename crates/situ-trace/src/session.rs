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

/// What a process that is traced gives a session at most, whatever the session asks for. The session is what others wrote into shared
/// memory; these are the process' own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limits {
    /// How long its writers wait for room, all together: in one session, and in [`REFILL`](Self::REFILL), however many sessions begin in
    /// that time.
    pub stall: Duration,
    /// How many bytes of chunks it has.
    pub ring_bytes: u64,
    /// Whether it takes part in sessions of other users, too; in those of its own user and of the superuser it does anyway.
    pub other_users: bool,
}

impl Limits {
    /// After this time writers may wait again as long as in the beginning.
    pub const REFILL: Duration = Duration::from_secs(10);

    /// What a process gives if nobody says otherwise: 10 ms, 64 MiB, and nothing to other users.
    pub const fn new() -> Self {
        Self { stall: Duration::from_millis(10), ring_bytes: 64 << 20, other_users: false }
    }

    /// The same, with what the environment says: `SITU_TRACE_OTHER_USERS=1` takes part in sessions of other users.
    pub fn from_environment() -> Self {
        let other_users = std::env::var_os("SITU_TRACE_OTHER_USERS").is_some_and(|value| value == "1");
        Self { other_users, ..Self::new() }
    }

    /// The same, with this time for waiting.
    #[must_use]
    pub const fn stall(mut self, time: Duration) -> Self {
        self.stall = time;
        self
    }

    /// The same, with so many bytes of chunks.
    #[must_use]
    pub const fn ring_bytes(mut self, bytes: u64) -> Self {
        self.ring_bytes = bytes;
        self
    }

    /// The same, with or without sessions of other users.
    #[must_use]
    pub const fn other_users(mut self, others: bool) -> Self {
        self.other_users = others;
        self
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self::new()
    }
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
