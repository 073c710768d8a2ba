//! A check in progress. It claims the blocks of a canonical image with one cursor, and those of a live image
//! with a bitmap.

use std::any::TypeId;
use std::collections::{BTreeMap, VecDeque};

use situ_layout::{Invalid, InvalidProblem};

use crate::error::invalid;
use crate::image::versions::Versions;
use crate::memory::granule::{GRANULE, ROOT, halves_at, in_granules, is_zero_behind, u32_at};
use crate::memory::later::{LEVELS, Place};
use crate::memory::reached::{Met, MetWeak};

/// The target of a link of one type, in a check.
pub(crate) trait CheckBehind {
    fn check<const CANONICAL: bool>(check: &mut Check<'_, CANONICAL>, place: Place) -> Result<(), Invalid>;
}

/// A visit of a check that comes after everything else: see [`LEVELS`].
struct Noted<const CANONICAL: bool> {
    visit: fn(&mut Check<'_, CANONICAL>, Place) -> Result<(), Invalid>,
    place: Place,
    /// The block of the shared value in which it lies; 0 for none.
    within: u32,
}

/// A check in progress, of a canonical or a live image.
pub struct Check<'a, const CANONICAL: bool> {
    image: &'a [u8],
    /// The granules of a live image that belong to a block.
    pub(crate) bits: &'a mut [u64],
    /// The place of the next block in a canonical image.
    pub(crate) cursor: u32,
    depth: u32,
    later: VecDeque<Noted<CANONICAL>>,
    /// The shared values, by their blocks.
    pub(crate) shared: BTreeMap<u32, Met>,
    /// The block of the shared value that is being checked; 0 for none.
    within: u32,
    /// The links from shared values to shared values, as pairs of blocks.
    edges: Vec<(u32, u32)>,
    /// The weak links, whose targets are checked at the end.
    pub(crate) weak: Vec<MetWeak>,
    /// The versions, if the image has others than this program.
    pub(crate) versions: Option<&'a Versions>,
    /// The image is valid, and is walked to mark what a value reaches; some of it may be marked already.
    pub(crate) walks: bool,
    /// In a walk without a bitmap, the place that is searched for, and whether a block has it.
    sought: u32,
    found: bool,
}

// Functions that nearly every value needs are always inlined: a call with its saved registers takes as long
// as the check.
impl<'a, const CANONICAL: bool> Check<'a, CANONICAL> {
    #[inline]
    pub(crate) fn new(image: &'a [u8], bits: &'a mut [u64]) -> Self {
        let (later, shared, edges) = (VecDeque::new(), BTreeMap::new(), Vec::new());
        Self {
            image,
            bits,
            cursor: 0,
            depth: 0,
            later,
            shared,
            within: 0,
            edges,
            weak: Vec::new(),
            versions: None,
            walks: false,
            sought: 0,
            found: false,
        }
    }

    /// A walk over values of a valid image. It does not visit the shared values in `known` again.
    pub(crate) fn walk(image: &'a [u8], bits: &'a mut [u64], known: BTreeMap<u32, Met>) -> Self {
        Self { shared: known, walks: true, ..Self::new(image, bits) }
    }

    /// Searches a place in all that the shared value in a block leads to, as [`shared_value`] walks it.
    /// Returns whether it is there, and the number of shared values that were visited.
    ///
    /// [`shared_value`]: Self::shared_value
    pub(crate) fn search<T: 'static, B: CheckBehind>(
        image: &[u8],
        place: u32,
        (block, bytes, offset): (u32, u64, u32),
    ) -> (Result<bool, Invalid>, usize) {
        let none = Check::<CANONICAL>::new(image, &mut []);
        let mut search = Check { walks: true, sought: place, ..none };
        let searched = search.shared_value::<T, B>(block, bytes, offset).map(|()| search.found);
        (searched, search.shared.len())
    }

    /// A walk over values of a valid image that searches a place in what they lead to. Each value is visited
    /// as in a check, [`finish`](Self::finish) visits the rest, and [`has_found`](Self::has_found) tells the
    /// result.
    pub(crate) fn searching(image: &'a [u8], place: u32) -> Self {
        Self { walks: true, sought: place, ..Self::new(image, &mut []) }
    }

    pub(crate) fn has_found(&self) -> bool {
        self.found
    }

    /// The shared values that were visited, and those that were known before.
    pub(crate) fn into_shared(self) -> BTreeMap<u32, Met> {
        self.shared
    }

    /// Walks the shared value in a block of `bytes` bytes, at `offset`, unless it is known.
    pub(crate) fn shared_value<T: 'static, B: CheckBehind>(
        &mut self,
        block: u32,
        bytes: u64,
        offset: u32,
    ) -> Result<(), Invalid> {
        if self.shared.contains_key(&block) {
            return Ok(());
        }
        self.claim_at(block, i64::from(block), bytes, bytes)?;
        self.shared_first::<T, B>(block, (block, [0; 2]), [block + offset, 0, 0])?;
        self.finish()
    }
    #[inline]
    pub(crate) fn image(&self) -> &'a [u8] {
        self.image
    }
    #[inline]
    fn size(&self) -> u32 {
        self.image.len() as u32
    }

    /// Whether the image may contain blocks that this program does not know.
    #[inline]
    pub(crate) fn newer(&self) -> bool {
        self.versions.is_some_and(|versions| versions.newer)
    }

    /// Whether a block that begins at `to` is in its place in a canonical image.
    #[inline]
    fn placed(&self, to: i64) -> bool {
        let cursor = i64::from(self.cursor);
        to == cursor || (self.newer() && to >= cursor && to % i64::from(GRANULE) == 0)
    }

    #[inline]
    pub(crate) fn flag(&self, at: u32) -> Result<(), Invalid> {
        match self.image[at as usize] {
            0 | 1 => Ok(()),
            value => invalid(at, InvalidProblem::NotABool { value }),
        }
    }
    #[inline]
    pub(crate) fn back_link(&self, at: u32, link_at: u32) -> Result<(), Invalid> {
        let found = u32_at(self.image, link_at);
        if found == at.wrapping_neg() {
            return Ok(());
        }
        invalid(at, InvalidProblem::WrongBackLink { found: found as i32 })
    }

    /// Checks the common part of all containers of 16 bytes and returns length and capacity. `trimmed` gives
    /// the canonical capacity for a length.
    #[inline]
    pub(crate) fn container(&self, at: u32, trimmed: impl Fn(u32) -> u32) -> Result<(u32, u32), Invalid> {
        let [_, len, cap, back] = numbers(self.image, at);
        if back != at.wrapping_neg() {
            return invalid(at, InvalidProblem::WrongBackLink { found: back as i32 });
        }
        if len > cap {
            return invalid(at, InvalidProblem::TooLong { len, cap });
        }
        if CANONICAL && cap != trimmed(len) {
            return invalid(at, InvalidProblem::NotTrimmed { found: cap, wanted: trimmed(len) });
        }
        if cap == 0 {
            self.no_block(at)?;
        }
        Ok((len, cap))
    }

    /// Checks that the link at `at` leads nowhere.
    #[inline]
    pub(crate) fn no_block(&self, at: u32) -> Result<(), Invalid> {
        match u32_at(self.image, at) as i32 {
            0 => Ok(()),
            link => {
                let to = i64::from(at) + i64::from(link);
                invalid(at, InvalidProblem::Outside { to, size: self.size() })
            }
        }
    }

    /// The target of the link at `at`, a block of at least `bytes` bytes. The block is not claimed yet.
    #[inline]
    pub(crate) fn peek(&self, at: u32, bytes: u64) -> Result<u32, Invalid> {
        let to = i64::from(at) + i64::from(u32_at(self.image, at) as i32);
        if CANONICAL && !self.placed(to) {
            return invalid(at, InvalidProblem::Misplaced { to, wanted: self.cursor });
        }
        if to < i64::from(ROOT) || to + bytes as i64 > i64::from(self.size()) {
            return invalid(at, InvalidProblem::Outside { to, size: self.size() });
        }
        if to % i64::from(GRANULE) != 0 {
            return invalid(at, InvalidProblem::Unaligned { to: to as u32 });
        }
        Ok(to as u32)
    }

    /// The granules of the next block of a canonical image. The block must have `bytes` bytes, and the link
    /// at `at`, whose value is `link`, must lead to it. The caller still has to take them.
    #[inline]
    pub(crate) fn next(&self, at: u32, link: u32, bytes: u32) -> Option<&'a [[u8; GRANULE as usize]]> {
        if !CANONICAL || at.wrapping_add(link) != self.cursor {
            return None;
        }
        let begin = self.cursor as usize;
        let block = self.image.get(begin..begin + in_granules(u64::from(bytes)) as usize)?;
        Some(block.as_chunks().0)
    }

    /// Takes the block that [`next`](Self::next) returned.
    #[inline]
    pub(crate) fn take_next(&mut self, bytes: u32) {
        self.cursor += in_granules(u64::from(bytes)) as u32;
    }

    /// Claims the block of `bytes` bytes to which the link at `at` leads. The first `used` bytes hold data.
    #[inline]
    pub(crate) fn claim(&mut self, at: u32, bytes: u64, used: u64) -> Result<u32, Invalid> {
        let to = i64::from(at) + i64::from(u32_at(self.image, at) as i32);
        self.claim_at(at, to, bytes, used)?;
        Ok(to as u32)
    }
    #[inline(always)]
    pub(crate) fn claim_at(&mut self, at: u32, to: i64, bytes: u64, used: u64) -> Result<(), Invalid> {
        let whole = in_granules(bytes) as i64;
        let size = self.size();
        if CANONICAL {
            if !self.placed(to) {
                return invalid(at, InvalidProblem::Misplaced { to, wanted: self.cursor });
            }
            if whole > i64::from(size) - to {
                return invalid(at, InvalidProblem::Outside { to: to + whole, size });
            }
            let block = to as u32;
            self.cursor = block + whole as u32;
            return self.rest_is_zero(block + used as u32);
        }
        if to < i64::from(ROOT) || whole > i64::from(size) - to {
            return invalid(at, InvalidProblem::Outside { to, size });
        }
        let block = to as u32;
        if !block.is_multiple_of(GRANULE) {
            return invalid(at, InvalidProblem::Unaligned { to: block });
        }
        if !mark(self.bits, block / GRANULE, whole as u32 / GRANULE) {
            if !self.walks {
                return invalid(at, InvalidProblem::Overlap { to: block });
            }
            self.found |= self.sought.wrapping_sub(block) < whole as u32;
        }
        Ok(())
    }

    /// In canonical images, checks that bytes outside of all values are zero.
    #[inline(always)]
    pub fn zero(&self, from: u32, to: u32) -> Result<(), Invalid> {
        // The count is mostly a compile-time constant, and zero. The compiler sees this from the difference,
        // not from the two ends as indices.
        let (begin, count) = (from as usize, to.wrapping_sub(from) as usize);
        if count == 0 || !CANONICAL || any_bits(&self.image[begin..begin + count]) == 0 {
            return Ok(());
        }
        self.not_zero(from)
    }

    /// Checks that the block that ends at the cursor is zero from `used` on. Mostly, this is a part of its
    /// last granule.
    #[inline]
    fn rest_is_zero(&self, used: u32) -> Result<(), Invalid> {
        let rest = self.cursor - used;
        if rest == 0 {
            return Ok(());
        }
        if rest < GRANULE {
            let last = halves_at(self.image, self.cursor - GRANULE);
            return if is_zero_behind(last, GRANULE - rest) { Ok(()) } else { self.not_zero(used) };
        }
        self.zero(used, self.cursor)
    }

    /// Reports the first byte from `from` on that is not zero.
    #[cold]
    #[inline(never)]
    fn not_zero(&self, from: u32) -> Result<(), Invalid> {
        let zeros = self.image[from as usize..].iter().take_while(|byte| **byte == 0).count();
        let at = from + zeros as u32;
        invalid(at, InvalidProblem::NotZero { at })
    }

    /// Checks the target of the link at `at`: now, or after everything else.
    #[inline]
    pub(crate) fn behind<B: CheckBehind>(&mut self, at: u32, place: Place) -> Result<(), Invalid> {
        if self.depth == LEVELS {
            return self.note(at, B::check::<CANONICAL>, place);
        }
        self.depth += 1;
        let checked = B::check(self, place);
        self.depth -= 1;
        checked
    }

    #[cold]
    #[inline(never)]
    fn note(
        &mut self,
        at: u32,
        visit: fn(&mut Check<'_, CANONICAL>, Place) -> Result<(), Invalid>,
        place: Place,
    ) -> Result<(), Invalid> {
        if self.later.try_reserve(1).is_err() {
            let bytes = (self.later.len() as u64 + 1) * size_of::<Noted<CANONICAL>>() as u64;
            return invalid(at, InvalidProblem::NoMemory { bytes });
        }
        self.later.push_back(Noted { visit, place, within: self.within });
        Ok(())
    }

    /// Checks everything that was noted, at the end of a check. A path of an error begins where the chain of
    /// links does that was noted.
    #[inline]
    pub(crate) fn finish(&mut self) -> Result<(), Invalid> {
        if self.later.is_empty() { Ok(()) } else { self.check_noted() }
    }

    #[cold]
    #[inline(never)]
    fn check_noted(&mut self) -> Result<(), Invalid> {
        while let Some(next) = self.later.pop_front() {
            self.within = next.within;
            (next.visit)(self, next.place).map_err(|error| error.in_member("(deep)"))?;
        }
        if self.walks { Ok(()) } else { self.no_cycles() }
    }

    /// Checks that no chain of links leads from a shared value to itself. Without noted visits, this is known
    /// from values that are open.
    fn no_cycles(&mut self) -> Result<(), Invalid> {
        // Removes values to which no link of another one leads, again and again.
        self.edges.sort_unstable();
        let mut links: BTreeMap<u32, u32> = BTreeMap::new();
        for (_, to) in &self.edges {
            *links.entry(*to).or_default() += 1;
        }
        let mut removed: Vec<u32> =
            self.shared.keys().copied().filter(|block| !links.contains_key(block)).collect();
        while let Some(block) = removed.pop() {
            let first = self.edges.partition_point(|(from, _)| *from < block);
            for (_, to) in self.edges[first..].iter().take_while(|(from, _)| *from == block) {
                if let Some(left) = links.get_mut(to) {
                    *left -= 1;
                    if *left == 0 {
                        removed.push(*to);
                    }
                }
            }
        }
        match links.into_iter().find(|(_, left)| *left != 0) {
            Some((to, _)) => invalid(to, InvalidProblem::Cycle { to }),
            None => Ok(()),
        }
    }

    /// Notes a link from the shared value that is being checked.
    #[inline]
    fn links_to(&mut self, at: u32, block: u32) -> Result<(), Invalid> {
        if self.within != 0 && !self.walks {
            if self.edges.try_reserve(1).is_err() {
                let bytes = (self.edges.len() as u64 + 1) * size_of::<(u32, u32)>() as u64;
                return invalid(at, InvalidProblem::NoMemory { bytes });
            }
            self.edges.push((self.within, block));
        }
        Ok(())
    }

    /// Whether the link at `at` leads to a shared value that was reached before.
    pub(crate) fn shared_again<T: 'static>(&mut self, at: u32, block: u32) -> Result<bool, Invalid> {
        let Some(met) = self.shared.get_mut(&block) else { return Ok(false) };
        if met.of != TypeId::of::<T>() {
            return invalid(at, InvalidProblem::OtherShared { to: block });
        }
        if met.open {
            return invalid(at, InvalidProblem::Cycle { to: block });
        }
        met.links += 1;
        self.links_to(at, block)?;
        Ok(true)
    }

    /// Checks a shared value that is reached for the first time, through the link at `at`: its block, the
    /// numbers of links and weak links that it states, and the place of the value.
    pub(crate) fn shared_first<T: 'static, B: CheckBehind>(
        &mut self,
        at: u32,
        (block, [count, weak_count]): (u32, [u32; 2]),
        place: Place,
    ) -> Result<(), Invalid> {
        self.links_to(at, block)?;
        let met = Met { of: TypeId::of::<T>(), links: 1, count, weak: 0, weak_count, open: true };
        self.shared.insert(block, met);
        let outer = std::mem::replace(&mut self.within, block);
        let checked = self.behind::<B>(at, place);
        self.within = outer;
        if let Some(met) = self.shared.get_mut(&block) {
            met.open = false;
        }
        checked
    }

    /// Checks a vector without a block; reports an error for any other.
    #[inline(never)]
    pub(crate) fn without_block(&self, at: u32) -> Result<(), Invalid> {
        self.container(at, |len| len).map(drop)
    }
}

/// The four numbers of a container of 16 bytes. The last is the link back to the header.
#[inline(always)]
pub(crate) fn numbers(image: &[u8], at: u32) -> [u32; 4] {
    let header = &image[at as usize..at as usize + 16];
    [u32_at(header, 0), u32_at(header, 4), u32_at(header, 8), u32_at(header, 12)]
}

/// Most blocks lie in one word.
#[inline(always)]
pub(crate) fn mark(bits: &mut [u64], from: u32, count: u32) -> bool {
    let last = from.wrapping_add(count).wrapping_sub(1);
    let (head, tail) = (!0_u64 << (from % 64), !0_u64 >> (!last % 64));
    // Most blocks lie in one word.
    if from / 64 == last / 64
        && let Some(word) = bits.get_mut(from as usize / 64)
    {
        return mark_word(word, head & tail);
    }
    mark_words(bits, (from, head), (last, tail))
}
#[inline(always)]
fn mark_word(word: &mut u64, mask: u64) -> bool {
    let before = *word;
    *word = before | mask;
    before & mask == 0
}

/// As [`mark`], for granules in several words.
#[inline(never)]
fn mark_words(bits: &mut [u64], (from, head): (u32, u64), (last, tail): (u32, u64)) -> bool {
    match bits.get_mut(from as usize / 64..=last as usize / 64) {
        Some([first, between @ .., last]) => {
            let ends = mark_word(first, head) & mark_word(last, tail);
            between.iter_mut().fold(ends, |free, word| mark_word(word, !0) & free)
        }
        _ => false,
    }
}

/// The union of the bits in all bytes, as eight bytes by their position modulo eight.
#[inline]
pub(crate) fn any_bits(bytes: &[u8]) -> u64 {
    if let Some(last) = bytes.last_chunk() {
        // The last word may overlap the one before it.
        let words = bytes.as_chunks().0;
        return words.iter().fold(u64::from_le_bytes(*last), |any, word| any | u64::from_le_bytes(*word));
    }
    if let (Some(first), Some(last)) = (bytes.first_chunk(), bytes.last_chunk()) {
        return u64::from(u32::from_le_bytes(*first) | u32::from_le_bytes(*last));
    }
    bytes.iter().fold(0, |any, byte| any | u64::from(*byte))
}
