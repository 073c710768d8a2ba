//! How the pools of messages, bodies and copies are made.

use situ_memory::{Domain, OpenRoot, PoolOptions, Sharing, Strategy};

use crate::node::handle::NodeInner;
use crate::node::liveness::unique;

/// At most half a terabyte; memory is used as messages need it.
const MAX_CAPACITY: u64 = 1 << 39;
/// A publisher that may use less than this would not be able to hold a few camera images.
const MIN_CAPACITY: u64 = 1 << 30;
/// What a pool may take unless told otherwise, in bytes, where its memory is taken as a whole: that of a
/// device, and a ring.
const DEVICE_CAPACITY: u64 = 256 << 20;
/// From this size on, a slot that all subscribers have passed is reused at once, because its cache lines (or
/// at least its pages) are warm. Below it, reading the cursors costs more than it saves.
pub(crate) const EAGER_SIZE: usize = 64 << 10;
/// From this size on, it pays to look right before the loan rather than after publishing: a message that was
/// passed meanwhile is then overwritten where it lies, in memory that is still cached. Measured: filling 1
/// MiB takes 18 us in the same slot and 25 us in two slots by turns; 4 MiB, 140 us and 247 us.
pub(crate) const WARM_SIZE: usize = 512 << 10;

/// How a pool of messages, bodies or copies is made.
pub(crate) fn pool_options(
    node: &NodeInner,
    domain: &dyn Domain,
    slots: u64,
    (capacity, strategy): (Option<u64>, Strategy),
) -> PoolOptions {
    let root = &node.root;
    let usual = || match (domain.capabilities().sharing, strategy) {
        (Sharing::File, Strategy::SizeClasses) => capacity_of(root),
        // A ring uses all of it before it uses any of it again.
        (Sharing::Descriptor, _) | (_, Strategy::Ring) => DEVICE_CAPACITY,
    };
    PoolOptions {
        id: unique(),
        owner: node.life.id().0,
        slots: slots.min(1 << 16) as u32,
        capacity: capacity.unwrap_or_else(usual),
        strategy,
        mode: root.file_mode(),
        group: root.group(),
        grows: false,
    }
}

/// How large a pool may become: what the file system holds, within reason.
fn capacity_of(root: &OpenRoot) -> u64 {
    rustix::fs::fstatvfs(root.descriptor())
        .map_or(MIN_CAPACITY, |stat| stat.f_blocks.saturating_mul(stat.f_frsize))
        .clamp(MIN_CAPACITY, MAX_CAPACITY)
}
