//! Compaction in place: blocks slide down over the gaps between them, in the order in which they lie, and all links follow.
//!
//! Three passes. A walk over the value trims capacities. A second walk makes each link what it will be when all blocks have slid
//! down; how far each goes is counted from the bitmap. Then the bytes are moved. There is no second copy of the image.

use super::memory::{GRANULE, Memory, ROOT, target, u32_at};
use super::stored::Stored;
use super::versions::TABLE_AT;

/// For so many parts of an image it is counted on the stack where their blocks go: in an image of up to a megabyte, the parts are
/// a word of the bitmap.
const PARTS: usize = 1024;

/// The highest bit of the count of a shared value, which no count reaches: 2 GiB have no room for so many links. The first walk sets
/// it in each value that it meets, the second clears it; so both meet each value once, and neither needs memory for that.
const MET: u32 = 1 << 31;

/// A walk over all links of a region. It reads no keys: those may lie behind links that say already where they will lead.
pub struct Slide<'a> {
    memory: &'a mut Memory,
    /// In the second walk.
    places: Option<Places<'a>>,
}

/// Where granules will be: behind all that are in use before them.
struct Places<'a> {
    /// How many are in use before each part.
    before: &'a [u32],
    /// The words of a part.
    part: usize,
}

impl<'a> Places<'a> {
    fn count(bits: &[u64], before: &'a mut [u32]) -> Self {
        let part = bits.len().div_ceil(before.len()).max(1);
        let mut used = 0;
        for (before, part) in before.iter_mut().zip(bits.chunks(part)) {
            *before = used;
            used += ones(part);
        }
        Self { before, part }
    }

    /// Where the byte at `at`, whose granule is in use, will be.
    fn of(&self, bits: &[u64], at: u32) -> u32 {
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

impl Slide<'_> {
    /// In the first walk, the memory in which to trim.
    pub(super) fn trims(&mut self) -> Option<&mut Memory> {
        self.places.is_none().then_some(&mut *self.memory)
    }

    pub(super) fn image(&self) -> &[u8] {
        self.memory.bytes()
    }

    /// The block to which the link at `at` leads, where it still lies; none if it leads nowhere.
    pub(super) fn link(&mut self, at: u32) -> Option<u32> {
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

    /// The link at `link_at` of the container at `at`, back to the header.
    #[doc(hidden)]
    pub fn back_link(&mut self, at: u32, link_at: u32) {
        if let Some(places) = &self.places {
            let link = places.of(self.memory.bits(), at).wrapping_neg();
            self.memory.set_u32(link_at, link);
        }
    }

    /// Whether this walk meets the shared value, whose block begins with its count, for the first time.
    pub(super) fn meets(&mut self, block: u32) -> bool {
        let count = self.memory.u32(block);
        let first = (count & MET == 0) == self.places.is_none();
        if first {
            self.memory.set_u32(block, count ^ MET);
        }
        first
    }

    /// Values that lie one behind the other.
    pub(super) fn elements<T: Stored>(&mut self, at: u32, count: u32) {
        if T::LINKS {
            (0..count).for_each(|i| T::slide(self, at + i * T::SIZE));
        }
    }
}

/// Compacts a region that holds a `T`.
pub(super) fn compact<T: Stored>(memory: &mut Memory) {
    T::slide(&mut Slide { memory, places: None }, ROOT);
    memory.flush_caches();
    let (mut few, mut many) = ([0; PARTS], Vec::new());
    let words = memory.bits().len();
    // For larger images, a part for each word, if there is memory for that: 1/256 of the image.
    let before = if words > PARTS && many.try_reserve_exact(words).is_ok() {
        many.resize(words, 0);
        &mut many[..]
    } else {
        &mut few[..]
    };
    let places = Places::count(memory.bits(), before);
    if !T::facts().table.is_empty() {
        let table = places.of(memory.bits(), u32_at(memory.bytes(), TABLE_AT));
        memory.set_u32(TABLE_AT, table);
    }
    T::slide(&mut Slide { memory, places: Some(places) }, ROOT);
    memory.close_gaps();
}

#[cfg(test)]
mod tests {
    use super::Places;

    #[test]
    fn places_are_the_same_however_large_the_parts_are() {
        // Of each word, the lowest bits: as many as the word's index.
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
