//! Limits on what a process gives to a session.

use std::time::Duration;

/// The most that a traced process gives to a session, whatever the session asks for. Other processes write
/// the session into shared memory; the process sets its limits itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limits {
    /// How long all its writers together wait for chunks in one session, and in each period of
    /// [`REFILL`](Self::REFILL), even if several sessions begin in that period.
    pub stall: Duration,
    /// The most bytes of chunks in a ring.
    pub ring_bytes: u64,
    /// Whether it takes part in sessions of other users. It always does in those of its own user and of the
    /// superuser.
    pub other_users: bool,
}

impl Limits {
    /// After this time, writers may wait for the whole of [`stall`](Self::stall) again.
    pub const REFILL: Duration = Duration::from_secs(10);

    /// The default limits: 10 ms, 64 MiB, and no sessions of other users.
    pub const fn new() -> Self {
        Self { stall: Duration::from_millis(10), ring_bytes: 64 << 20, other_users: false }
    }

    /// The default limits, with sessions of other users if `SITU_TRACE_OTHER_USERS=1`.
    pub fn from_environment() -> Self {
        let other_users = std::env::var_os("SITU_TRACE_OTHER_USERS").is_some_and(|value| value == "1");
        Self { other_users, ..Self::new() }
    }

    /// Sets how long writers wait.
    #[must_use]
    pub const fn stall(mut self, time: Duration) -> Self {
        self.stall = time;
        self
    }

    /// Sets the bytes of chunks.
    #[must_use]
    pub const fn ring_bytes(mut self, bytes: u64) -> Self {
        self.ring_bytes = bytes;
        self
    }

    /// Sets whether sessions of other users are joined.
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
