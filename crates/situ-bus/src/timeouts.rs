//! How long the bus waits, and how often it polls.

use std::time::Duration;

/// How long a copy may take before it counts as failed.
pub(crate) const COPY_TIMEOUT: Duration = Duration::from_secs(30);
/// How long a participant waits for incomplete bytes before it gives up.
pub(crate) const FENCE_TIMEOUT: Duration = Duration::from_secs(30);
/// How long a stream may take to fill host memory or to wait for a message.
pub(crate) const STREAM_TIMEOUT: Duration = Duration::from_secs(30);
/// How long a registration waits for other registrations.
pub(crate) const REGISTRATION_TIMEOUT: Duration = Duration::from_secs(5);
/// How long the seal of a ring waits for reliable subscribers to free a row.
pub(crate) const SEAL_TIMEOUT: Duration = Duration::from_secs(1);
/// How long a participant may take for a copy before another participant copies again: this time, plus some
/// time per byte.
const COPIER_GRACE: Duration = Duration::from_secs(1);
const COPIER_GRACE_NS_PER_BYTE: u64 = 10;
/// How long to sleep between two checks of a copier or a fence.
pub(crate) const POLL_INTERVAL: Duration = Duration::from_millis(2);
/// How often a subscriber that finds no message checks for dead participants.
pub(crate) const REPAIR_INTERVAL_NS: u64 = 1_000_000_000;

/// How long another participant may take to copy `len` bytes.
pub(crate) fn copier_grace(len: u64) -> Duration {
    COPIER_GRACE + Duration::from_nanos(len.saturating_mul(COPIER_GRACE_NS_PER_BYTE))
}
