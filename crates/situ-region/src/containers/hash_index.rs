//! The index of a hash table: words that say which entry has a key. `spec/region.md` describes the bytes.
//!
//! An index is searched from the home of a key on, word by word. No word is far from the home of its entry.
//! If keys would need that, because they were chosen so or by chance, the index gets another seed.

use std::hash::{BuildHasher, RandomState};

use crate::containers::key::Key;
use crate::memory::blocks::Memory;
use crate::memory::granule::u32_at;

/// The greatest capacity of a table without an index. All its keys are compared.
const UNINDEXED: u32 = 8;

/// The greatest number of words between the home of an entry and its word.
const FARTHEST: u32 = 256;

/// Seeds from 0 on are tried for the index of a canonical table.
pub(crate) const SEEDS: u32 = 64;

/// The place of an index in a block, after the entries: a seed, then the words.
#[derive(Clone, Copy)]
pub(crate) struct Index {
    at: u32,
    /// The number of words.
    count: u32,
    /// The bits of a word for the number of its entry, counted from 1. The others are of the key's hash.
    mask: u32,
}

/// A key that an index does not have.
pub(crate) struct Missing {
    /// The word to write, without the number of the entry.
    tag: u32,
    /// The position of the empty word where it belongs; `None` if that is too far from its home.
    slot: Option<u32>,
}

/// Keys at even distances, as the entries of a table begin with them.
#[derive(Clone, Copy)]
pub(crate) struct Keys<'a> {
    pub image: &'a [u8],
    pub first: u32,
    pub stride: u32,
}

impl Keys<'_> {
    #[inline]
    pub(crate) fn at(self, entry: u32) -> u32 {
        self.first.wrapping_add(entry.wrapping_mul(self.stride))
    }
    #[inline]
    fn hash<K: Key>(self, entry: u32, seed: u32) -> u64 {
        K::hash(K::view(self.image, self.at(entry)), seed)
    }
}

/// Seeds that other processes cannot predict.
fn random_seeds() -> impl Iterator<Item = u32> {
    let random = RandomState::new();
    (0..SEEDS).map(move |i| random.hash_one(i) as u32)
}

impl Index {
    /// The number of words for `cap` entries.
    fn count_for(cap: u32) -> u64 {
        if cap <= UNINDEXED { 0 } else { u64::from(cap) * 5 / 3 }
    }

    /// The size of a block for `cap` entries of `size` bytes.
    pub(crate) fn block_bytes(cap: u32, size: u32) -> u64 {
        let entries = u64::from(cap) * u64::from(size);
        match Self::count_for(cap) {
            0 => entries,
            count => entries.next_multiple_of(4) + 4 + 4 * count,
        }
    }

    /// The index in a block that has such a size.
    #[inline]
    pub(crate) fn of(block: u32, cap: u32, size: u32) -> Option<Self> {
        if cap <= UNINDEXED {
            return None;
        }
        let at = block.wrapping_add(cap.wrapping_mul(size).wrapping_add(3) & !3);
        let count = Self::count_for(cap) as u32;
        Some(Self { at, count, mask: u32::MAX >> cap.leading_zeros() })
    }

    /// The offset of the seed.
    pub(crate) fn at(self) -> u32 {
        self.at
    }
    #[inline]
    pub(crate) fn seed(self, image: &[u8]) -> u32 {
        u32_at(image, self.at)
    }
    #[inline]
    fn words(self, image: &[u8]) -> &[[u8; 4]] {
        image[self.at as usize + 4..][..self.count as usize * 4].as_chunks().0
    }
    #[inline]
    fn place_of(self, slot: u32) -> u32 {
        self.at + 4 + 4 * slot
    }
    #[inline]
    fn home(self, hash: u64) -> u32 {
        (((hash >> 32) * u64::from(self.count)) >> 32) as u32
    }
    #[inline]
    fn tag(self, hash: u64) -> u32 {
        hash as u32 & !self.mask
    }
    #[inline]
    fn next(self, slot: u32) -> u32 {
        if slot + 1 == self.count { 0 } else { slot + 1 }
    }
    /// How many words after `from` the word at `to` is.
    fn distance(self, from: u32, to: u32) -> u32 {
        if to >= from { to - from } else { to + self.count - from }
    }

    /// The entry of a key.
    #[inline]
    pub(crate) fn find<K: Key>(self, keys: Keys<'_>, key: K::View<'_>) -> Result<u32, Missing> {
        let words = self.words(keys.image);
        let hash = K::hash(key, self.seed(keys.image));
        let (tag, mut slot) = (self.tag(hash), self.home(hash));
        for _ in 0..=FARTHEST {
            let word = u32::from_le_bytes(words[slot as usize]);
            if word == 0 {
                return Err(Missing { tag, slot: Some(slot) });
            }
            if word & !self.mask == tag {
                let entry = (word & self.mask).wrapping_sub(1);
                if K::compare(keys.image, keys.at(entry), key).is_eq() {
                    return Ok(entry);
                }
            }
            slot = self.next(slot);
        }
        Err(Missing { tag, slot: None })
    }

    /// Adds an entry whose key is missing. False if its word would be too far from its home.
    #[inline]
    pub(crate) fn add(self, memory: &mut Memory, missing: &Missing, entry: u32) -> bool {
        match missing.slot {
            Some(slot) => {
                memory.set_u32(self.place_of(slot), missing.tag | (entry + 1));
                true
            }
            None => false,
        }
    }

    /// The position of the word of an entry that is in the index.
    fn slot_of<K: Key>(self, keys: Keys<'_>, entry: u32) -> u32 {
        let words = self.words(keys.image);
        let mut slot = self.home(keys.hash::<K>(entry, self.seed(keys.image)));
        for _ in 0..self.count {
            if u32::from_le_bytes(words[slot as usize]) & self.mask == entry + 1 {
                break;
            }
            slot = self.next(slot);
        }
        slot
    }

    /// Removes the word of an entry. Words after it, up to an empty one, move nearer to their homes.
    pub(crate) fn remove<K: Key>(self, memory: &mut Memory, (first, stride): (u32, u32), entry: u32) {
        let keys = Keys { image: memory.bytes(), first, stride };
        let (seed, mut hole) = (self.seed(keys.image), self.slot_of::<K>(keys, entry));
        let mut slot = hole;
        for _ in 0..self.count {
            slot = self.next(slot);
            let image = memory.bytes();
            let word = u32_at(image, self.place_of(slot));
            if word == 0 {
                break;
            }
            let home = self.home(Keys { image, first, stride }.hash::<K>((word & self.mask) - 1, seed));
            if self.distance(home, slot) >= self.distance(hole, slot) {
                memory.set_u32(self.place_of(hole), word);
                hole = slot;
            }
        }
        memory.set_u32(self.place_of(hole), 0);
    }

    /// Lets the word of an entry lead to the place `to` among the entries.
    pub(crate) fn renumber<K: Key>(
        self,
        memory: &mut Memory,
        (first, stride): (u32, u32),
        entry: u32,
        to: u32,
    ) {
        let slot = self.slot_of::<K>(Keys { image: memory.bytes(), first, stride }, entry);
        let word = memory.u32(self.place_of(slot));
        memory.set_u32(self.place_of(slot), word & !self.mask | (to + 1));
    }

    /// Fills an index of zeros for `len` entries, which may lie elsewhere. Begins with `seed`, and takes a
    /// random one if that does not do. False if none does; the index is then zero.
    pub(crate) fn fill<K: Key>(
        self,
        memory: &mut Memory,
        (first, stride): (u32, u32),
        len: u32,
        seed: u32,
    ) -> bool {
        std::iter::once(seed).chain(random_seeds()).any(|seed| {
            memory.set_u32(self.at, seed);
            let all = (0..len).all(|entry| {
                let image = memory.bytes();
                let hash = Keys { image, first, stride }.hash::<K>(entry, seed);
                match self.empty_from(self.home(hash), |slot| u32_at(image, self.place_of(slot))) {
                    Some(slot) => {
                        memory.set_u32(self.place_of(slot), self.tag(hash) | (entry + 1));
                        true
                    }
                    None => false,
                }
            });
            if !all {
                memory.zero(self.at, 4 + 4 * self.count);
            }
            all
        })
    }

    /// The first empty word from a home on, unless it is too far.
    #[inline]
    fn empty_from(self, home: u32, word: impl Fn(u32) -> u32) -> Option<u32> {
        let mut slot = home;
        for _ in 0..=FARTHEST {
            if word(slot) == 0 {
                return Some(slot);
            }
            slot = self.next(slot);
        }
        None
    }

    /// Makes the words of an index of `len` entries. Returns false if one would be too far from its home.
    fn try_seed(self, words: &mut [u32], len: u32, hash: impl Fn(u32) -> u64) -> bool {
        words.fill(0);
        (0..len).all(|entry| {
            let hash = hash(entry);
            let empty = self.empty_from(self.home(hash), |slot| words[slot as usize]);
            if let Some(slot) = empty {
                words[slot as usize] = self.tag(hash) | (entry + 1);
            }
            empty.is_some()
        })
    }

    /// Memory on the heap for the words of an index; `None` if there is none.
    pub(crate) fn memory(self) -> Option<Vec<u32>> {
        let mut words = Vec::new();
        words.try_reserve_exact(self.count as usize).ok()?;
        words.resize(self.count as usize, 0);
        Some(words)
    }

    /// The least of the seeds less than `end` with which no word is too far from its home, and the words for
    /// it. `hash` is the hash of an entry with a seed.
    pub(crate) fn least_seed(
        self,
        words: &mut [u32],
        len: u32,
        end: u32,
        hash: impl Fn(u32, u32) -> u64,
    ) -> Option<u32> {
        (0..end).find(|seed| self.try_seed(words, len, |entry| hash(entry, *seed)))
    }

    /// Gives the index a random seed, if there is one that does. The last entry may be missing yet.
    pub(crate) fn reseed<K: Key>(self, memory: &mut Memory, place: (u32, u32), len: u32) -> bool {
        let Some(mut words) = self.memory() else { return false };
        let keys = Keys { image: memory.bytes(), first: place.0, stride: place.1 };
        let seed =
            random_seeds().find(|seed| self.try_seed(&mut words, len, |entry| keys.hash::<K>(entry, *seed)));
        if let Some(seed) = seed {
            self.put(memory, seed, &words);
        }
        seed.is_some()
    }

    /// Writes an index.
    pub(crate) fn put(self, memory: &mut Memory, seed: u32, words: &[u32]) {
        memory.set_u32(self.at, seed);
        for (slot, word) in (0..).zip(words) {
            memory.set_u32(self.place_of(slot), *word);
        }
    }

    /// The first of `len` entries that is not found by its key, or found as another one (`Err`), or the
    /// number of words in use. In a canonical index, an entry's word is the first one from its home on that
    /// no earlier entry has.
    pub(crate) fn check<K: Key, const CANONICAL: bool>(self, keys: Keys<'_>, len: u32) -> Result<u32, u32> {
        let words = self.words(keys.image);
        let seed = self.seed(keys.image);
        for entry in 0..len {
            let hash = keys.hash::<K>(entry, seed);
            let (tag, mut slot) = (self.tag(hash), self.home(hash));
            let mut left = FARTHEST;
            loop {
                let word = u32::from_le_bytes(words[slot as usize]);
                if word == tag | (entry + 1) {
                    break;
                }
                let other = (word & self.mask).wrapping_sub(1);
                // Keys of canonical tables ascend, so no two are equal.
                let equal = || K::compare_in(keys.image, keys.at(other), keys.at(entry)).is_eq();
                let wrong = if CANONICAL {
                    other >= entry
                } else {
                    other >= len || (word & !self.mask == tag && equal())
                };
                if left == 0 || wrong {
                    return Err(entry);
                }
                left -= 1;
                slot = self.next(slot);
            }
        }
        Ok(words.iter().map(|word| u32::from(*word != [0; 4])).sum())
    }
}
