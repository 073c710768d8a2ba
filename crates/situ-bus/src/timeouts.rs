//! How long the bus waits, and how often it looks.

use std::time::Duration;

/// How long a copy may take before it counts as failed.
pub(crate) const COPY_TIMEOUT: Duration = Duration::from_secs(30);
/// How long bytes may be incomplete before a participant that waits for them gives up.
pub(crate) const FENCE_TIMEOUT: Duration = Duration::from_secs(30);
/// How long a stream may take to fill host memory, or to wait for a message.
pub(crate) const STREAM_TIMEOUT: Duration = Duration::from_secs(30);
/// How long a copy may take before another participant makes another: this, and some time for each byte.
const COPIER_GRACE: Duration = Duration::from_secs(1);
const COPIER_GRACE_NS_PER_BYTE: u64 = 10;
/// How long to sleep between looks at a copier, or at a fence.
pub(crate) const POLL_INTERVAL: Duration = Duration::from_millis(2);
/// How often a participant that finds nothing to take looks for dead ones.
pub(crate) const REPAIR_INTERVAL_NS: u64 = 1_000_000_000;

/// How long another participant may take to copy `len` bytes.
pub(crate) fn copier_grace(len: u64) -> Duration {
    COPIER_GRACE + Duration::from_nanos(len.saturating_mul(COPIER_GRACE_NS_PER_BYTE))
}
