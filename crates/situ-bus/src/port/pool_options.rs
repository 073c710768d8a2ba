//! How the pools of messages, bodies and copies are created.

use situ_memory::{Domain, OpenRoot, PageOptions, PoolOptions, Sharing, Strategy};

use crate::node::handle::NodeInner;
use crate::node::liveness::unique;

/// Half a terabyte. Memory is used only as messages need it.
const MAX_CAPACITY: u64 = 1 << 39;
/// A publisher below this limit could not hold a few camera images.
const MIN_CAPACITY: u64 = 1 << 30;
/// The default capacity in bytes of a pool whose memory is allocated at once: on a device, and of a ring.
const DEVICE_CAPACITY: u64 = 256 << 20;
/// From this size on, a slot that all subscribers have passed is reused at once if messages are filled (see
/// [`filling`](crate::port::filling)), because its cache lines (or at least its pages) are warm. Below it,
/// reading the cursors for each message costs more than it saves.
pub(crate) const EAGER_SIZE: usize = 64 << 10;
/// From this size on, a publisher that fills its messages checks for passed ones right before the loan
/// instead of after publishing. A message that was passed in between is then overwritten in place, in memory
/// that is still cached. Measured: filling 1 MiB takes 18 us in the same slot and 25 us in two slots by
/// turns; 4 MiB, 140 us and 247 us.
pub(crate) const WARM_SIZE: usize = 512 << 10;

/// Where bodies begin: at a multiple of this number.
pub(crate) const BODY_ALIGN: u64 = 64;

/// Returns the options of a pool of messages, bodies or copies.
pub(crate) fn pool_options(
    node: &NodeInner,
    domain: &dyn Domain,
    slots: u64,
    (capacity, strategy, pages): (Option<u64>, Strategy, PageOptions),
) -> PoolOptions {
    let root = &node.root;
    let usual = || match (domain.capabilities().sharing, &strategy) {
        // A ring uses all its memory before it reuses any.
        (Sharing::Descriptor, _) | (_, Strategy::Ring) => DEVICE_CAPACITY,
        (Sharing::File, _) => capacity_of(root),
    };
    PoolOptions {
        id: unique(),
        owner: node.life.id().0,
        slots: slots.min(1 << 16) as u32,
        capacity: capacity.unwrap_or_else(usual),
        strategy,
        pages,
        mode: root.file_mode(),
        group: root.group(),
        grows: false,
    }
}

/// The strategy of a publisher's pool of messages in host memory, and whether its slots grow. `offset` is
/// where heads begin in their slots.
pub(crate) fn strategy_of_messages(wanted: &Strategy, are_regions: bool, offset: usize) -> (Strategy, bool) {
    match wanted {
        // A message of this size, wherever its head ends and its body begins.
        Strategy::FixedSlots { slots, size } => {
            let size = size.saturating_add(offset as u64 + BODY_ALIGN);
            (Strategy::FixedSlots { slots: *slots, size }, false)
        }
        // Neither a ring nor a strategy of the program's own has slots that grow.
        _ if are_regions => (Strategy::SizeClasses, true),
        other => (other.clone(), false),
    }
}

/// The maximum size of a pool: the size of the file system, within limits.
fn capacity_of(root: &OpenRoot) -> u64 {
    rustix::fs::fstatvfs(root.descriptor())
        .map_or(MIN_CAPACITY, |stat| stat.f_blocks.saturating_mul(stat.f_frsize))
        .clamp(MIN_CAPACITY, MAX_CAPACITY)
}
