//! The state of a slot that other processes see: its generation, and the fence of its bytes.
//!
//! The owner raises the generation when it retires the slot. From then on no reader can hold the slot any
//! more that comes for an earlier message. Which readers hold it is not written here, but in their own
//! memory: see `protocol::ledger` in `situ-bus`. An owner that dies frees nothing any more; its slots stay
//! readable until the pool is unlinked.

use crate::sync::atomic::{AtomicU64, Ordering};
use crate::sync::fence::{FenceEnd, FenceWords};

/// The number of bits of a generation that a row has. One bit for the model checker, so that generations
/// repeat soon.
pub const GENERATION_BITS: u32 = if cfg!(loom) { 1 } else { 13 };

/// The part of a generation that a row has.
#[inline]
pub const fn short_generation(generation: u64) -> u16 {
    (generation & ((1 << GENERATION_BITS) - 1)) as u16
}

/// The part of a slot that other processes see, in host shared memory: a cache line, and a second one beside
/// it. Processors fetch lines in pairs, so the line of a slot that is read never travels with that of another
/// slot, which its owner is about to write.
///
/// Zeroed memory is a valid control of a slot that was never used.
#[repr(C, align(128))]
#[derive(Debug)]
pub struct SlotControl {
    /// Incremented by the owner each time the slot leaves circulation. The row that refers to the slot has
    /// its low [`GENERATION_BITS`].
    generation: AtomicU64,
    /// The offset of the slot's bytes in the pool's memory, and their number; 0: it has none yet.
    offset: AtomicU64,
    capacity: AtomicU64,
    /// The generation up to which the bytes are complete: see [`Fence`](crate::Fence).
    fence: FenceWords,
    /// Not 0: a holder registered the slot's bytes with a device, see
    /// [`note_registered`](Self::note_registered).
    registered: AtomicU64,
    reserved: [AtomicU64; 2],
    /// When the fence ended, if an emulated device completed it.
    fence_end: FenceEnd,
}

#[cfg(not(loom))]
const _: () = assert!(size_of::<SlotControl>() == 128);

#[cfg(all(test, not(loom)))]
use crate::sync::fence::{END_FIELDS as END, FIELDS as FENCE};

/// Offset, size and name of each field of a control.
#[cfg(all(test, not(loom)))]
pub(crate) const FIELDS: [(usize, usize, &str); 9] = [
    (std::mem::offset_of!(SlotControl, generation), 8, "generation"),
    (std::mem::offset_of!(SlotControl, offset), 8, "offset"),
    (std::mem::offset_of!(SlotControl, capacity), 8, "capacity"),
    (std::mem::offset_of!(SlotControl, fence) + FENCE[0].0, FENCE[0].1, FENCE[0].2),
    (std::mem::offset_of!(SlotControl, fence) + FENCE[1].0, FENCE[1].1, FENCE[1].2),
    (std::mem::offset_of!(SlotControl, registered), 8, "registered"),
    (std::mem::offset_of!(SlotControl, reserved), 16, "reserved"),
    (std::mem::offset_of!(SlotControl, fence_end) + END[0].0, END[0].1, END[0].2),
    (std::mem::offset_of!(SlotControl, fence_end) + END[1].0, END[1].1, END[1].2),
];

impl SlotControl {
    /// A control outside of shared memory, for the model checker.
    #[cfg(loom)]
    #[allow(clippy::new_without_default)]
    pub fn new() -> Self {
        Self {
            generation: AtomicU64::new(0),
            offset: AtomicU64::new(0),
            capacity: AtomicU64::new(0),
            fence: FenceWords::new(0),
            registered: AtomicU64::new(0),
            reserved: std::array::from_fn(|_| AtomicU64::new(0)),
            fence_end: FenceEnd::default(),
        }
    }

    /// The slot's current generation, which the owner publishes with its message.
    #[inline]
    pub fn generation(&self) -> u64 {
        self.generation.load(Ordering::SeqCst)
    }

    /// The words of the slot's fence: the bytes of generation *g* are complete when the first word is *g* + 1
    /// or more.
    #[inline]
    pub fn fence(&self) -> &FenceWords {
        &self.fence
    }

    /// Where the end of that fence is noted.
    #[inline]
    pub fn fence_end(&self) -> &FenceEnd {
        &self.fence_end
    }

    /// Whether the slot still has the generation that a row names, by the bits that a row has. A reader that
    /// cannot exclude that all their values have passed must check that otherwise.
    #[inline]
    pub fn has_generation(&self, short: u16) -> bool {
        short_generation(self.generation()) == short
    }

    /// Owner: takes the slot out of circulation. Readers that look for the slot's generation from now on do
    /// not find it; those that hold the slot already have written that before. If the owner dies right after,
    /// the slot is lost with its pool, and nothing else is.
    #[inline]
    pub fn retire(&self) {
        // Only the owner writes the generation, so this needs no read-modify-write. The owner reads the
        // ledgers behind a sequentially consistent fence.
        let next = self.generation.load(Ordering::Relaxed).wrapping_add(1);
        self.generation.store(next, Ordering::Release);
    }

    /// The offset and the number of the slot's bytes, as its owner wrote them. Not checked.
    #[cfg(not(loom))]
    #[inline]
    pub(crate) fn place(&self) -> (u64, u64) {
        // Acquire: the slot's first granule was zeroed before.
        (self.offset.load(Ordering::Acquire), self.capacity.load(Ordering::Relaxed))
    }

    /// Owner: writes where the bytes lie. A reader that finds them there finds what was written before.
    #[cfg(not(loom))]
    pub(crate) fn put(&self, offset: u64, capacity: u64) {
        self.offset.store(offset, Ordering::Release);
        self.resize(capacity);
    }

    /// Owner: writes how many bytes there are.
    #[cfg(not(loom))]
    pub(crate) fn resize(&self, capacity: u64) {
        self.capacity.store(capacity, Ordering::Relaxed);
    }

    /// Holder: notes that it has registered the slot's bytes with a device's driver. The owner then gives no
    /// memory of the pool back, because the device would go on with pages that are no longer the file's.
    ///
    /// The owner sees the note before it can give back this slot's memory. It gives back only slots without
    /// holders, and the process that registers releases its hold (release) after this.
    pub fn note_registered(&self) {
        self.registered.store(1, Ordering::Relaxed);
    }

    /// Owner, of a slot without holders: whether a process has its bytes registered.
    #[cfg(not(loom))]
    pub(crate) fn is_registered(&self) -> bool {
        self.registered.load(Ordering::Relaxed) != 0
    }

    /// Owner: sets the first generation of a slot that no other process refers to yet.
    #[cfg(not(loom))]
    pub(crate) fn start_at(&self, generation: u64) {
        self.generation.store(generation, Ordering::SeqCst);
    }
}
