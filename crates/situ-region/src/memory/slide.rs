//! A walk over the links of a region that is compacted in place. The first walk trims capacities. The second
//! walk sets each link to its future target; the distance of each move is counted from the bitmap.

use crate::memory::blocks::Memory;
use crate::memory::granule::{GRANULE, target};
use crate::memory::later::{Later, Place};

/// The highest bit of the count of a shared value. No count reaches it, because 2 GiB have no room for 2^31
/// links. The first walk sets it in each value that it reaches, and the second clears it. Both thus visit
/// each value once, without memory for a list of visited values.
const MET: u32 = 1 << 31;

/// The target of a link of one type, in a compaction.
pub(crate) trait SlideBehind {
    fn slide(slide: &mut Slide<'_>, place: Place);
}

/// A walk over all links of a region. It reads no keys, because keys may lie behind links that already have
/// future targets.
pub struct Slide<'a> {
    pub(crate) memory: &'a mut Memory,
    /// The future places; `Some` in the second walk.
    places: Option<Places<'a>>,
    pub(crate) later: Later<fn(&mut Slide<'_>, Place)>,
}

/// The future places of granules: after all granules in use before them.
pub(crate) struct Places<'a> {
    /// The number of granules in use before each part.
    before: &'a [u32],
    /// The number of words of a part.
    part: usize,
}

impl<'a> Places<'a> {
    pub(crate) fn count(bits: &[u64], before: &'a mut [u32]) -> Self {
        let part = bits.len().div_ceil(before.len()).max(1);
        let mut used = 0;
        for (before, part) in before.iter_mut().zip(bits.chunks(part)) {
            *before = used;
            used += ones(part);
        }
        Self { before, part }
    }

    /// The future offset of the byte at `at`, whose granule is in use.
    pub(crate) fn of(&self, bits: &[u64], at: u32) -> u32 {
        let (word, bit) = ((at / GRANULE / 64) as usize, at / GRANULE % 64);
        let part = word / self.part;
        let in_word = bits[word] & ((1 << bit) - 1);
        let used = self.before[part] + ones(&bits[part * self.part..word]) + in_word.count_ones();
        used * GRANULE + at % GRANULE
    }
}

fn ones(words: &[u64]) -> u32 {
    words.iter().map(|word| word.count_ones()).sum()
}

impl<'a> Slide<'a> {
    /// Begins a walk; the second one gets the future places.
    pub(crate) fn new(memory: &'a mut Memory, places: Option<Places<'a>>) -> Self {
        Self { memory, places, later: Later::default() }
    }

    /// Visits the target of a link.
    pub(crate) fn behind<B: SlideBehind>(&mut self, place: Place) {
        if self.later.enter(B::slide, place) {
            B::slide(self, place);
            self.later.leave();
        }
    }

    /// The memory in which to trim, in the first walk.
    pub(crate) fn trims(&mut self) -> Option<&mut Memory> {
        self.places.is_none().then_some(&mut *self.memory)
    }

    pub(crate) fn image(&self) -> &[u8] {
        self.memory.bytes()
    }

    /// The current place of the block to which the link at `at` leads; `None` if it leads nowhere.
    pub(crate) fn link(&mut self, at: u32) -> Option<u32> {
        let block = target(self.memory.bytes(), at);
        if block == at {
            return None;
        }
        if let Some(places) = &self.places {
            let bits = self.memory.bits();
            let link = places.of(bits, block).wrapping_sub(places.of(bits, at));
            self.memory.set_u32(at, link);
        }
        Some(block)
    }

    /// Updates the link at `link_at` of the container at `at`, which leads back to the header.
    #[doc(hidden)]
    pub fn back_link(&mut self, at: u32, link_at: u32) {
        if let Some(places) = &self.places {
            let link = places.of(self.memory.bits(), at).wrapping_neg();
            self.memory.set_u32(link_at, link);
        }
    }

    /// Whether this walk reaches a shared value for the first time. Its block begins with the count.
    pub(crate) fn meets(&mut self, block: u32) -> bool {
        let count = self.memory.u32(block);
        let first = (count & MET == 0) == self.places.is_none();
        if first {
            self.memory.set_u32(block, count ^ MET);
        }
        first
    }
}

#[cfg(test)]
mod tests {
    use super::Places;

    #[test]
    fn places_are_the_same_however_large_the_parts_are() {
        // In each word, the lowest bits are set, as many as the word's index.
        let bits: Vec<u64> = (0..50).map(|i| (1 << i) - 1).collect();
        for parts in [1, 2, 3, 7, 49, 50, 51, 1024] {
            let mut before = vec![0; parts];
            let places = Places::count(&bits, &mut before);
            for word in 1..50_u32 {
                let used = word * (word - 1) / 2 + word - 1;
                let last = word * 64 + word - 1;
                assert_eq!(places.of(&bits, last * 16 + 5), used * 16 + 5, "{parts} parts, word {word}");
            }
        }
    }
}
