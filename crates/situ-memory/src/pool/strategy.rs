//! How a pool's owner chooses places for slots: three strategies of Situ's, and a trait for others.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

/// How a pool's owner allocates. Readers need not know.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Strategy {
    /// Size classes over an offset allocator: slots come free in any order.
    #[default]
    SizeClasses,
    /// A strict ring of bytes: allocated at its head, freed from its tail. It wastes the least and needs no
    /// search. But a slot that is held for long keeps everything behind it, and in its first lap the ring
    /// takes all of its capacity. Hence it must be chosen.
    Ring,
    /// This many slots of one size. All get their memory, with present pages, before the first one is lent,
    /// and keep it: see [`PoolOwner::prepare`](super::PoolOwner::prepare). No loan calls the system.
    FixedSlots {
        /// How many there are: at most 65,536.
        slots: u32,
        /// The size of each in bytes. Of a publisher, the size of the largest message, head and body
        /// together.
        size: u64,
    },
    /// A strategy of the program's own: see [`own`](Self::own).
    Own(OwnAllocator),
}

impl Strategy {
    /// A strategy of the program's own. The function makes an allocator for each pool.
    ///
    /// ```
    /// use std::ops::Range;
    ///
    /// use situ_memory::{Allocator, PoolSpace, Strategy};
    ///
    /// /// Slots of one mebibyte, the lowest free one first.
    /// struct Lowest(Vec<bool>);
    ///
    /// impl Allocator for Lowest {
    ///     fn allocate(&mut self, size: u64) -> Option<Range<u64>> {
    ///         let free = self.0.iter().position(|used| !used).filter(|_| size <= 1 << 20)?;
    ///         self.0[free] = true;
    ///         let begin = (free as u64) << 20;
    ///         Some(begin..begin + (1 << 20))
    ///     }
    ///
    ///     fn deallocate(&mut self, range: Range<u64>) {
    ///         self.0[(range.start >> 20) as usize] = false;
    ///     }
    /// }
    ///
    /// let strategy = Strategy::own(|space: &PoolSpace| Lowest(vec![false; (space.bytes >> 20) as usize]));
    /// # let Strategy::Own(own) = strategy else { panic!() };
    /// # let mut lowest = own.make(&PoolSpace { bytes: 2 << 20, unit: 64, slots: 64 });
    /// # assert_eq!(lowest.allocate(7), Some(0..1 << 20));
    /// # assert_eq!(lowest.allocate(7), Some(1 << 20..2 << 20));
    /// # assert_eq!(lowest.allocate(7), None);
    /// # lowest.deallocate(0..1 << 20);
    /// # assert_eq!(lowest.allocate(7), Some(0..1 << 20));
    /// ```
    pub fn own<A: Allocator + 'static>(make: impl Fn(&PoolSpace) -> A + Send + Sync + 'static) -> Self {
        Self::Own(OwnAllocator(Arc::new(move |space| Box::new(make(space)))))
    }

    /// The number in the pool's header.
    pub(crate) fn number(&self) -> u32 {
        match self {
            Self::SizeClasses => 1,
            Self::Ring => 2,
            Self::FixedSlots { .. } => 3,
            Self::Own(_) => 4,
        }
    }
}

/// Makes the allocator of a program's own strategy: see [`Strategy::own`].
#[derive(Clone)]
pub struct OwnAllocator(Arc<MakeAllocator>);

type MakeAllocator = dyn Fn(&PoolSpace) -> Box<dyn Allocator> + Send + Sync;

impl OwnAllocator {
    /// An allocator for a new pool.
    pub fn make(&self, space: &PoolSpace) -> Box<dyn Allocator> {
        (self.0)(space)
    }
}

impl fmt::Debug for OwnAllocator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("OwnAllocator")
    }
}

/// Two are equal if one is a clone of the other.
impl PartialEq for OwnAllocator {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for OwnAllocator {}

/// What an [`Allocator`] divides: the bytes from 0 on of memory of any domain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PoolSpace {
    /// The number of bytes. On the host this is an upper limit: a page has memory once a slot was in it.
    pub bytes: u64,
    /// Where a slot begins and ends: a multiple of this number, [`GRANULE`](super::GRANULE) or
    /// [`DEVICE_GRANULE`](super::DEVICE_GRANULE).
    pub unit: u64,
    /// The largest number of slots at a time.
    pub slots: u32,
}

/// Chooses where slots lie. For programs that bring a strategy of their own.
///
/// Only the pool's owner allocates, in one thread at a time. An allocator knows offsets only, so it works for
/// memory that the CPU may not touch, and keeps what it knows in private memory. The pool does the rest: it
/// numbers the slots, gives them memory, shares them with readers, and returns a range when no reader can
/// hold its slot any more.
///
/// A pool checks each answer. A range that lies outside, is too small or not aligned, or has bytes of another
/// slot in use is an error of the allocation ([`AllocateError::Misplaced`](super::AllocateError::Misplaced)),
/// and no slot is lent. The pool does not return such a range.
pub trait Allocator: Send {
    /// A range for a slot of `size` bytes, which is a multiple of [`PoolSpace::unit`]: as large or larger.
    /// `None`: there is no room now. The pool's owner then looks for slots that no reader holds any more,
    /// returns them, and asks again.
    fn allocate(&mut self, size: u64) -> Option<Range<u64>>;

    /// Takes back a range that [`allocate`](Self::allocate) returned. It may be used again at once.
    fn deallocate(&mut self, range: Range<u64>);
}

/// What is wrong with a range that an [`Allocator`] returned.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Misplacement {
    /// It does not lie in the memory.
    #[error("which does not lie in the pool's {bytes} bytes")]
    Outside {
        /// The bytes of the pool.
        bytes: u64,
    },
    /// Its begin or its end is not aligned.
    #[error("whose begin and end must be multiples of {unit}")]
    Unaligned {
        /// The unit.
        unit: u64,
    },
    /// It is smaller than what was asked for.
    #[error("which is too small")]
    TooSmall,
    /// It has bytes of a slot that is in use.
    #[error("which has bytes of slot {slot} at {begin}..{end}, which is in use")]
    Overlaps {
        /// That slot.
        slot: super::SlotId,
        /// Where it begins.
        begin: u64,
        /// Where it ends.
        end: u64,
    },
}
