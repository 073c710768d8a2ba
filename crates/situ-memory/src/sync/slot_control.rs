//! Which readers hold a slot: a generation and a bitmap, never a count.
//!
//! The problem: a reader in another process pins, without a lock, a slot that its owner may be about to
//! reuse. Either of them may be killed between any two instructions. A reference count leaks when its holder
//! dies.
//!
//! The protocol: every reader has a bit of its own.
//!
//! ```text
//!   reader: pin                               owner: retire
//!   1. holders |= my bit     (SeqCst)         1. generation += 1        (SeqCst)
//!   2. generation as in the row? (SeqCst)     2. holders == 0?          (SeqCst)
//!      yes: the slot is mine to read             yes: the slot is free
//!      no:  clear my bit; it was recycled        no:  a reader holds it; look again later
//! ```
//!
//! All four accesses are sequentially consistent, so they have a single total order. Either the reader's 1
//! precedes the owner's 2: the owner sees the bit and does not reuse the slot. Or the owner's 1 precedes the
//! reader's 2: the reader sees the new generation and releases the slot. Both may happen, which is harmless;
//! it cannot happen that neither does.
//!
//! A reader that dies leaves its bit set. The bit names the reader's place in its topic. Any process can look
//! up whether that place is alive, and clearing the bit twice does no harm. An owner that dies frees nothing
//! any more; its slots stay readable until the pool is unlinked.

use crate::sync::atomic::{AtomicU64, Ordering};
use crate::sync::between_sequentially_consistent;
use crate::sync::fence::{FenceEnd, FenceWords};

/// How many readers of a slot can be told apart: one bit each.
pub const HOLDERS: usize = 256;
/// The bits of a generation that a row has. One bit for the model checker, so that generations repeat soon.
const GENERATION: u64 = if cfg!(loom) { 1 } else { 0xffff };

/// The part of a slot that owner and readers both write, in host shared memory: one cache line, and a second
/// one beside it that only emulated devices use.
///
/// Why two: processors fetch lines in pairs. Without the second line, a reader that pins a slot would take
/// the neighbouring line away from the owner, which has just fetched it to reuse that slot. Measured: 80 ns a
/// message.
///
/// Zeroed memory is a valid control of a slot that was never used.
#[repr(C, align(128))]
#[derive(Debug)]
pub struct SlotControl {
    /// Incremented by the owner each time the slot leaves circulation. The row that refers to the slot has
    /// its low 16 bits.
    generation: AtomicU64,
    /// The generation up to which the bytes are complete: see [`Fence`](crate::Fence).
    fence: FenceWords,
    /// Not 0: a holder registered the slot's bytes with a device, see
    /// [`note_registered`](Self::note_registered).
    registered: AtomicU64,
    /// One bit for each reader, numbered by its place in the topic.
    holders: [AtomicU64; HOLDERS / 64],
    /// When the fence ended, if an emulated device completed it.
    fence_end: FenceEnd,
}

#[cfg(not(loom))]
const _: () = assert!(size_of::<SlotControl>() == 128);

#[cfg(all(test, not(loom)))]
use crate::sync::fence::{END_FIELDS as END, FIELDS as FENCE};

/// Offset, size and name of each field of a control.
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
    /// A control outside of shared memory, for the model checker.
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

    /// Reader: holds the slot if it still has `generation`.
    ///
    /// Only the low 16 bits are compared. A reader that cannot exclude that 65,536 generations have passed
    /// must check that otherwise. `place` is the reader's number in the topic, below [`HOLDERS`].
    ///
    /// On success all that the owner wrote before it published this generation is visible (the caller has
    /// read the row with acquire ordering). It stays unchanged until [`release`](Self::release).
    #[inline]
    #[must_use]
    pub fn pin(&self, place: usize, generation: u16) -> bool {
        let (word, bit) = (place / 64, 1u64 << (place % 64));
        // If the process dies right here, before or after the bit is set, repair finds the bit by its place.
        self.holders[word].fetch_or(bit, Ordering::SeqCst);
        between_sequentially_consistent();
        if (self.generation.load(Ordering::SeqCst) ^ u64::from(generation)) & GENERATION == 0 {
            return true;
        }
        self.holders[word].fetch_and(!bit, Ordering::SeqCst);
        false
    }

    /// Reader: releases the slot. Its reads happen before the owner next reads the bitmap (release, paired
    /// with the owner's acquiring load). The owner therefore never overwrites bytes that are still being
    /// read.
    #[inline]
    pub fn release(&self, place: usize) {
        self.holders[place / 64].fetch_and(!(1u64 << (place % 64)), Ordering::SeqCst);
    }

    /// Owner: takes the slot out of circulation and says whether a reader still holds it. Later attempts to
    /// pin it fail. If the owner dies right after, the slot is lost with its pool, and nothing else is.
    #[inline]
    pub fn retire(&self) -> Held {
        // Only the owner writes the generation, so this needs no compare-and-swap. It is `swap` and not
        // `store` because the bitmap must be read after it in the total order. (On x86 a locked exchange is
        // also the cheapest such write.)
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
