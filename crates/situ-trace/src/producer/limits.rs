//! What a process gives a session at most.

use std::time::Duration;

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
