//! Who holds a slot: a generation and a bitmap, never a count.
//!
//! The problem. A reader in another process wants to pin a slot that its owner may be about to reuse, without a lock,
//! and either of them may be killed between any two instructions. A reference count leaks when its holder dies.
//!
//! The protocol. Every reader has a bit of its own.
//!
//! ```text
//!   reader: pin                               owner: retire
//!   1. holders |= my bit     (SeqCst)         1. generation += 1        (SeqCst)
//!   2. generation as in the row? (SeqCst)     2. holders == 0?          (SeqCst)
//!      yes: the slot is mine to read             yes: the slot is free
//!      no:  clear my bit; it was recycled        no:  somebody reads; look again later
//! ```
//!
//! All four accesses are sequentially consistent, so in their single total order either the reader's 1 precedes the
//! owner's 2 (the owner sees the bit and keeps its hands off) or the owner's 1 precedes the reader's 2 (the reader sees
//! the new generation and lets go). Both may happen, which is harmless; neither cannot.
//!
//! A reader that dies leaves its bit. The bit names the place it had in its topic, whose liveness anybody can look
//! up, and clearing it twice does no harm. An owner that dies frees nothing any more; its slots stay readable until
//! the pool is unlinked.

use crate::sync::atomic::{AtomicU64, Ordering};
use crate::sync::between_sequentially_consistent;
use crate::sync::fence::{FenceEnd, FenceWords};

/// How many readers of a slot can be told apart: one bit each.
pub const HOLDERS: usize = 256;
/// The bits of a generation that a row has. One for the model checker, so that generations come round soon.
const GENERATION: u64 = if cfg!(loom) { 1 } else { 0xffff };

/// The part of a slot that owner and readers both write, in host shared memory: one cache line, and one beside it that only emulated devices
/// use. (Processors fetch lines in pairs: without the second one, a reader that pins a slot would take the neighbour's
/// line away from the owner, who has just fetched it to reuse it. Measured: 80 ns a message.)
///
/// Zeroed memory is a valid control of a slot that was never used.
#[repr(C, align(128))]
#[derive(Debug)]
pub struct SlotControl {
    /// Bumped by the owner each time the slot leaves circulation; its low 16 bits stand in the row that refers to it.
    generation: AtomicU64,
    /// Up to which generation the bytes are complete: see [`Fence`](crate::Fence).
    fence: FenceWords,
    /// Not 0: somebody has the slot's bytes registered with a device, see [`note_registered`](Self::note_registered).
    registered: AtomicU64,
    /// One bit a reader, numbered by its place in the topic.
    holders: [AtomicU64; HOLDERS / 64],
    /// When that was, if an emulated device completed it.
    fence_end: FenceEnd,
}

#[cfg(not(loom))]
const _: () = assert!(size_of::<SlotControl>() == 128);

#[cfg(all(test, not(loom)))]
use crate::sync::fence::{END_FIELDS as END, FIELDS as FENCE};

/// Where the fields of a control lie: offset, size, name.
#[cfg(all(test, not(loom)))]
pub(crate) const FIELDS: [(usize, usize, &str); 7] = [
    (std::mem::offset_of!(SlotControl, generation), 8, "generation"),
    (std::mem::offset_of!(SlotControl, fence) + FENCE[0].0, FENCE[0].1, FENCE[0].2),
    (std::mem::offset_of!(SlotControl, fence) + FENCE[1].0, FENCE[1].1, FENCE[1].2),
    (std::mem::offset_of!(SlotControl, registered), 8, "registered"),
    (std::mem::offset_of!(SlotControl, holders), HOLDERS / 8, "holders"),
    (std::mem::offset_of!(SlotControl, fence_end) + END[0].0, END[0].1, END[0].2),
    (std::mem::offset_of!(SlotControl, fence_end) + END[1].0, END[1].1, END[1].2),
];

/// What an owner finds when it retires or revisits a slot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Held {
    /// No reader holds the slot: it may be reused.
    No,
    /// At least one reader holds it.
    Yes,
}

impl SlotControl {
    /// A control outside of shared memory, as the model checker needs it.
    #[cfg(loom)]
    #[allow(clippy::new_without_default)]
    pub fn new() -> Self {
        Self {
            generation: AtomicU64::new(0),
            fence: FenceWords::new(0),
            registered: AtomicU64::new(0),
            holders: std::array::from_fn(|_| AtomicU64::new(0)),
            fence_end: FenceEnd::default(),
        }
    }

    /// The generation as the owner would publish it now.
    #[inline]
    pub fn generation(&self) -> u64 {
        self.generation.load(Ordering::SeqCst)
    }

    /// The words of the slot's fence: the bytes of generation *g* are complete when the first is *g* + 1 or more.
    #[inline]
    pub fn fence(&self) -> &FenceWords {
        &self.fence
    }

    /// Where the end of that fence is noted.
    #[inline]
    pub fn fence_end(&self) -> &FenceEnd {
        &self.fence_end
    }

    /// Reader: takes hold of the slot if it still has `generation` (compared in its low 16 bits: who cannot be sure that fewer than
    /// 65,536 generations have gone by since makes sure otherwise). `place` is the reader's number in the topic, below [`HOLDERS`].
    ///
    /// On success everything that the owner wrote before it published this generation is visible (the caller has read
    /// the row with acquire ordering), and stays unchanged until [`release`](Self::release).
    #[inline]
    #[must_use]
    pub fn pin(&self, place: usize, generation: u16) -> bool {
        let (word, bit) = (place / 64, 1u64 << (place % 64));
        // If the process dies right here, before or after the bit is set, the bit (if any) is found by its place.
        self.holders[word].fetch_or(bit, Ordering::SeqCst);
        between_sequentially_consistent();
        if (self.generation.load(Ordering::SeqCst) ^ u64::from(generation)) & GENERATION == 0 {
            return true;
        }
        self.holders[word].fetch_and(!bit, Ordering::SeqCst);
        false
    }

    /// Reader: lets go. Its reads happen before the owner's next look at the bitmap (release, paired with the owner's
    /// acquiring load), so the owner never overwrites bytes that are still being read.
    #[inline]
    pub fn release(&self, place: usize) {
        self.holders[place / 64].fetch_and(!(1u64 << (place % 64)), Ordering::SeqCst);
    }

    /// Owner: takes the slot out of circulation and tells whether a reader still holds it. Readers that come from now
    /// on fail to pin. If the owner dies right after, the slot is merely lost with its pool.
    #[inline]
    pub fn retire(&self) -> Held {
        // Only the owner writes the generation, so this needs no compare; `swap` rather than `store` because the
        // bitmap must be read after it in the total order (a locked exchange is also the cheapest such on x86).
        let next = self.generation.load(Ordering::Relaxed).wrapping_add(1);
        self.generation.swap(next, Ordering::SeqCst);
        between_sequentially_consistent();
        self.held()
    }

    /// Owner: whether any reader holds the slot.
    #[inline]
    pub fn held(&self) -> Held {
        let any = self.holders.iter().fold(0, |any, word| any | word.load(Ordering::SeqCst));
        if any == 0 { Held::No } else { Held::Yes }
    }

    /// Who holds the slot, when it has registered its bytes with a device's driver: the owner gives no memory of the pool back any more, as the
    /// device would go on with pages that are not the file's. The owner sees it before it can give back this slot's: it does so only with
    /// slots that nobody holds, and whoever registers lets go of its hold (release) after this.
    pub fn note_registered(&self) {
        self.registered.store(1, Ordering::Relaxed);
    }

    /// Owner, of a slot that nobody holds: whether somebody has its bytes registered.
    #[cfg(not(loom))]
    pub(crate) fn is_registered(&self) -> bool {
        self.registered.load(Ordering::Relaxed) != 0
    }

    /// Owner: sets the first generation of a slot that nobody knows yet.
    #[cfg(not(loom))]
    pub(crate) fn start_at(&self, generation: u64) {
        self.generation.store(generation, Ordering::SeqCst);
    }

    /// Whether the reader at `place` holds the slot.
    pub fn holds(&self, place: usize) -> bool {
        self.holders[place / 64].load(Ordering::SeqCst) & (1u64 << (place % 64)) != 0
    }

    /// The places that hold the slot, lowest first.
    pub fn holders(&self) -> impl Iterator<Item = usize> + '_ {
        self.holders.iter().enumerate().flat_map(|(word, bits)| {
            let mut bits = bits.load(Ordering::SeqCst);
            std::iter::from_fn(move || {
                let place = bits.trailing_zeros() as usize;
                (bits != 0).then(|| {
                    bits &= bits - 1;
                    word * 64 + place
                })
            })
        })
    }
}
