//! Limits on the resources that a process gives to a session.

use std::time::Duration;

/// The maximum resources that a traced process gives to a session, regardless of the session's requests.
/// Other processes write the session into shared memory; the process sets its limits itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limits {
    /// The maximum time that all its writers together wait for chunks in one session, and in each period of
    /// [`REFILL`](Self::REFILL), even if several sessions begin in that period.
    pub stall: Duration,
    /// The maximum size of all chunks in a ring, in bytes.
    pub ring_bytes: u64,
    /// Whether it takes part in sessions of other users. It always takes part in sessions of its own user and
    /// of the superuser.
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

    /// Sets the maximum time that writers wait.
    #[must_use]
    pub const fn stall(mut self, time: Duration) -> Self {
        self.stall = time;
        self
    }

    /// Sets the maximum size of all chunks in a ring, in bytes.
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
