//! What shared values can reach, while a region is edited: a new link to a value is then tested for a cycle
//! without a walk through all that the value leads to.
//!
//! A value that a link shall lead to is walked once; its granules, and those of all that it leads to, are
//! marked. If the new link lies in a granule that is not marked, no such value leads to the place, so there
//! is no cycle.
//!
//! The marks stay a superset of what the walked values reach:
//!
//! * A new block is marked if its container lies in a marked granule, or if its container is not known.
//! * A link that is made in a marked granule leads to a value that was walked just before.
//! * Elements that move stay in a block of the same container.
//!
//! The marks end when blocks move without their containers, as in a compaction.

use std::any::TypeId;
use std::collections::BTreeMap;

use crate::memory::granule::{GRANULE, in_granules, words};

/// A shared value that a check or a walk has reached.
pub(crate) struct Met {
    pub of: TypeId,
    /// The number of links that led to it, and the number it states.
    pub links: u32,
    pub count: u32,
    /// The number of weak links that led to it, and the number it states.
    pub weak: u32,
    pub weak_count: u32,
    /// Its check is still in progress; a link to it now would lie within it.
    pub open: bool,
}

/// A weak link that a check has met.
pub(crate) struct MetWeak {
    pub at: u32,
    /// The place to which it leads, modulo 2^32.
    pub to: u32,
    pub of: TypeId,
}

/// The marks of a region.
#[derive(Default)]
pub(crate) struct Reached {
    /// The marked granules.
    pub bits: Vec<u64>,
    /// The values that were walked, by their blocks.
    pub values: BTreeMap<u32, Met>,
}

impl Reached {
    /// Has a bit for each granule of an image of `size` bytes. False if there is no memory for them.
    pub(crate) fn cover(&mut self, size: u32) -> bool {
        let missing = words(size).saturating_sub(self.bits.len());
        if self.bits.try_reserve(missing).is_err() {
            return false;
        }
        self.bits.resize(self.bits.len() + missing, 0);
        true
    }

    /// Whether the granule of a place is marked.
    pub(crate) fn has(&self, at: u32) -> bool {
        let granule = at / GRANULE;
        self.bits.get(granule as usize / 64).is_some_and(|word| word >> (granule % 64) & 1 != 0)
    }

    /// A block was taken, for a container in a marked granule or not.
    pub(crate) fn taken(&mut self, block: u32, bytes: u64, marked: bool) {
        let end = block + in_granules(bytes) as u32;
        if !self.cover(end) {
            // Without marks, values are walked again.
            *self = Self::default();
            return;
        }
        for granule in block / GRANULE..end / GRANULE {
            let (word, bit) = (&mut self.bits[granule as usize / 64], 1 << (granule % 64));
            *word = if marked { *word | bit } else { *word & !bit };
        }
        // Values that lay there are gone.
        while let Some((value, _)) = self.values.range(block..end).next() {
            let value = *value;
            self.values.remove(&value);
        }
    }
}
