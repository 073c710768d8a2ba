//! Checks that bytes are a region before any of them is used: canonical images with one cursor, live ones
//! with a bitmap.

use std::any::TypeId;
use std::cell::Cell;
use std::collections::BTreeMap;

use super::error::{Invalid, InvalidProblem, invalid};
use super::layout::Facts;
use super::memory::{GRANULE, MAX_SIZE, ROOT, halves_at, in_granules, is_zero_behind, u32_at, words};
use super::stored::Stored;
use super::versions::{TABLE_AT, Versions, compare, table_of};

/// The greatest number of links in a chain.
const MAX_DEPTH: u32 = 64;
pub(super) const MAGIC: u32 = 0x4e47_5253;
pub(super) const VERSION: u8 = 1;

/// A shared value that a check has reached.
struct Met {
    of: TypeId,
    /// The number of links that led to it, and the number it states.
    links: u32,
    count: u32,
    /// Its check is still in progress; a link to it now would lie within it.
    open: bool,
    /// The greatest number of links in a chain within it.
    height: u32,
}

/// A check in progress, of a canonical or a live image.
pub struct Check<'a, const CANONICAL: bool> {
    image: &'a [u8],
    /// The granules of a live image that belong to a block.
    bits: &'a mut [u64],
    /// The place of the next block in a canonical image.
    cursor: u32,
    depth: u32,
    /// The greatest depth so far of the shared value that is being checked.
    deepest: u32,
    /// The shared values, by their blocks.
    shared: BTreeMap<u32, Met>,
    /// The versions, if the image has others than this program.
    versions: Option<&'a Versions>,
}

// Functions that nearly every value needs are always inlined: a call with its saved registers takes as long
// as the check.
impl<'a, const CANONICAL: bool> Check<'a, CANONICAL> {
    #[inline]
    fn new(image: &'a [u8], bits: &'a mut [u64]) -> Self {
        Self { image, bits, cursor: 0, depth: 0, deepest: 0, shared: BTreeMap::new(), versions: None }
    }
    #[inline]
    pub(super) fn image(&self) -> &'a [u8] {
        self.image
    }
    #[inline]
    fn size(&self) -> u32 {
        self.image.len() as u32
    }

    /// Whether the image may contain blocks that this program does not know.
    #[inline]
    fn newer(&self) -> bool {
        self.versions.is_some_and(|versions| versions.newer)
    }

    /// Whether a block that begins at `to` is in its place in a canonical image.
    #[inline]
    fn placed(&self, to: i64) -> bool {
        let cursor = i64::from(self.cursor);
        to == cursor || (self.newer() && to >= cursor && to % i64::from(GRANULE) == 0)
    }

    /// The number of members of an appendable struct in the image, and its size there.
    pub fn version_of<T: Stored>(&self, at: u32) -> Result<(u32, u32), Invalid> {
        match self.versions {
            None => Ok((u32::MAX, T::SIZE)),
            Some(versions) => match versions.of::<T>() {
                Some(found) => Ok(found),
                None => invalid(at, InvalidProblem::BadVersions { at: u32_at(self.image, TABLE_AT) }),
            },
        }
    }

    /// The size of the value that a link leads to.
    pub(super) fn size_of<T: Stored>(&self, at: u32) -> Result<u32, Invalid> {
        if T::APPENDABLE { Ok(self.version_of::<T>(at)?.1) } else { Ok(T::SIZE) }
    }
    #[inline]
    pub(super) fn flag(&self, at: u32) -> Result<(), Invalid> {
        match self.image[at as usize] {
            0 | 1 => Ok(()),
            value => invalid(at, InvalidProblem::NotABool { value }),
        }
    }
    #[inline]
    pub(super) fn back_link(&self, at: u32, link_at: u32) -> Result<(), Invalid> {
        let found = u32_at(self.image, link_at);
        if found == at.wrapping_neg() {
            return Ok(());
        }
        invalid(at, InvalidProblem::WrongBackLink { found: found as i32 })
    }

    /// Checks the common part of all containers of 16 bytes and returns length and capacity. `trimmed` gives
    /// the canonical capacity for a length.
    #[inline]
    pub(super) fn container(&self, at: u32, trimmed: impl Fn(u32) -> u32) -> Result<(u32, u32), Invalid> {
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
    pub(super) fn no_block(&self, at: u32) -> Result<(), Invalid> {
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
    pub(super) fn peek(&self, at: u32, bytes: u64) -> Result<u32, Invalid> {
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
    pub(super) fn next(&self, at: u32, link: u32, bytes: u32) -> Option<&'a [[u8; GRANULE as usize]]> {
        if !CANONICAL || at.wrapping_add(link) != self.cursor {
            return None;
        }
        let begin = self.cursor as usize;
        let block = self.image.get(begin..begin + in_granules(u64::from(bytes)) as usize)?;
        Some(block.as_chunks().0)
    }

    /// Takes the block that [`next`](Self::next) returned.
    #[inline]
    pub(super) fn take_next(&mut self, bytes: u32) {
        self.cursor += in_granules(u64::from(bytes)) as u32;
    }

    /// Claims the block of `bytes` bytes to which the link at `at` leads. The first `used` bytes hold data.
    #[inline]
    pub(super) fn claim(&mut self, at: u32, bytes: u64, used: u64) -> Result<u32, Invalid> {
        let to = i64::from(at) + i64::from(u32_at(self.image, at) as i32);
        self.claim_at(at, to, bytes, used)?;
        Ok(to as u32)
    }
    #[inline(always)]
    fn claim_at(&mut self, at: u32, to: i64, bytes: u64, used: u64) -> Result<(), Invalid> {
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
            return invalid(at, InvalidProblem::Overlap { to: block });
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

    /// Runs a check one level deeper, for the value that a link leads to.
    #[inline]
    pub(super) fn deeper(
        &mut self,
        at: u32,
        inner: impl FnOnce(&mut Self) -> Result<(), Invalid>,
    ) -> Result<(), Invalid> {
        if self.depth == MAX_DEPTH {
            return invalid(at, InvalidProblem::TooDeep);
        }
        self.depth += 1;
        self.deepest = self.deepest.max(self.depth);
        let checked = inner(self);
        self.depth -= 1;
        checked
    }

    /// Whether the link at `at` leads to a shared value that was reached before.
    pub(super) fn shared_again<T: Stored>(&mut self, at: u32, block: u32) -> Result<bool, Invalid> {
        let Some(met) = self.shared.get_mut(&block) else { return Ok(false) };
        if met.of != TypeId::of::<T>() {
            return invalid(at, InvalidProblem::OtherShared { to: block });
        }
        if met.open {
            return invalid(at, InvalidProblem::Cycle { to: block });
        }
        met.links += 1;
        if self.depth + met.height > MAX_DEPTH {
            return invalid(at, InvalidProblem::TooDeep);
        }
        self.deepest = self.deepest.max(self.depth + met.height);
        Ok(true)
    }

    /// Checks a shared value that is reached for the first time, through the link at `at`.
    pub(super) fn shared_first<T: Stored>(
        &mut self,
        at: u32,
        block: u32,
        value: impl FnOnce(&mut Self) -> Result<(), Invalid>,
    ) -> Result<(), Invalid> {
        let count = u32_at(self.image, block);
        let met = Met { of: TypeId::of::<T>(), links: 1, count, open: true, height: 0 };
        self.shared.insert(block, met);
        let outer = std::mem::replace(&mut self.deepest, self.depth);
        let checked = self.deeper(at, value);
        if let Some(met) = self.shared.get_mut(&block) {
            met.open = false;
            met.height = self.deepest - self.depth;
        }
        self.deepest = self.deepest.max(outer);
        checked
    }

    /// Checks that the stated link counts of shared values equal the numbers of links found.
    fn links_are_counted(&self) -> Result<(), Invalid> {
        for (block, met) in &self.shared {
            if met.count != met.links && !(self.newer() && met.count > met.links) {
                let problem = InvalidProblem::WrongLinks { count: met.count, found: met.links };
                return invalid(*block, problem);
            }
        }
        Ok(())
    }

    #[inline]
    pub(super) fn elements<T: Stored>(&mut self, at: u32, count: u32) -> Result<(), Invalid> {
        if T::ANY && (T::DENSE || !CANONICAL) {
            return Ok(());
        }
        let each = |check: &mut Self| T::check_all(check, at, count);
        if T::LINKS { self.deeper(at, each) } else { each(self) }
    }

    /// Checks a vector without a block; reports an error for any other.
    #[inline(never)]
    fn without_block(&self, at: u32) -> Result<(), Invalid> {
        self.container(at, |len| len).map(drop)
    }

    /// Checks a vector of `T`, or a container built on one. Returns its block and its length.
    #[inline(always)]
    pub(super) fn vector<T: Stored>(&mut self, at: u32) -> Result<(u32, u32), Invalid> {
        let [link, len, cap, back] = numbers(self.image, at);
        if back != at.wrapping_neg() || cap == 0 || if CANONICAL { len != cap } else { len > cap } {
            self.without_block(at)?;
            return Ok((0, 0));
        }
        let size = u64::from(T::SIZE);
        let to = i64::from(at) + i64::from(link as i32);
        self.claim_at(at, to, u64::from(cap) * size, u64::from(len) * size)?;
        self.elements::<T>(to as u32, len)?;
        Ok((to as u32, len))
    }
}

impl Check<'_, false> {
    /// Whether a place lies in the value at `value` or in its blocks. True if this cannot be determined.
    pub(super) fn holds<T: Stored>(image: &[u8], value: u32, place: u32) -> bool {
        let mut bits = vec![0_u64; words(image.len() as u32)];
        let (first, last) = (value / GRANULE, (value + T::SIZE - 1) / GRANULE);
        mark(&mut bits, first, last + 1 - first);
        let whole = T::check(&mut Check::<false>::new(image, &mut bits), value).is_ok();
        let granule = place / GRANULE;
        !whole || bits[granule as usize / 64] >> (granule % 64) & 1 != 0
    }
}

/// A checked image.
pub(super) struct Checked<'a, 'b> {
    /// The image, without bytes that may follow it.
    pub image: &'a [u8],
    /// The granules in use, for a live image.
    pub bits: Option<&'b [u64]>,
    /// The versions, if the image has others than this program.
    pub versions: Option<Versions>,
}

/// The schema hash in images of a type. It is 0 for an appendable type, because its schema changes.
pub(super) fn schema_hash<T: Stored>(facts: &Facts) -> u64 {
    if facts.table.is_empty() { T::SCHEMA_HASH } else { 0 }
}

thread_local! {
    /// A used bitmap kept for reuse, so that checking received images does not allocate each time.
    static SPARE: Cell<Vec<u64>> = const { Cell::new(Vec::new()) };
}

/// The number of words of bitmap for images of up to 16 KiB.
const SMALL: usize = 16;

/// The bitmap of a check. For a small image, it lies in the caller's stack frame.
#[derive(Default)]
pub(super) struct Bitmap {
    small: [u64; SMALL],
    large: Vec<u64>,
}

impl Bitmap {
    /// `count` zeroed words; `None` if there is no memory for them.
    #[inline]
    fn words(&mut self, count: usize) -> Option<&mut [u64]> {
        if count <= SMALL { self.small.get_mut(..count) } else { self.large_words(count) }
    }
    #[inline(never)]
    fn large_words(&mut self, count: usize) -> Option<&mut [u64]> {
        self.large = SPARE.try_with(Cell::take).unwrap_or_default();
        self.large.clear();
        self.large.try_reserve(count).ok()?;
        self.large.resize(count, 0);
        Some(&mut self.large)
    }
}

impl Drop for Bitmap {
    #[inline]
    fn drop(&mut self) {
        if self.large.capacity() != 0 {
            // A thread that is ending keeps no bitmap.
            let _ = SPARE.try_with(|spare| spare.set(std::mem::take(&mut self.large)));
        }
    }
}

/// The four numbers of a container of 16 bytes. The last is the link back to the header.
#[inline(always)]
fn numbers(image: &[u8], at: u32) -> [u32; 4] {
    let header = &image[at as usize..at as usize + 16];
    [u32_at(header, 0), u32_at(header, 4), u32_at(header, 8), u32_at(header, 12)]
}

/// Most blocks lie in one word.
#[inline(always)]
fn mark(bits: &mut [u64], from: u32, count: u32) -> bool {
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
pub(super) fn any_bits(bytes: &[u8]) -> u64 {
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

/// Checks an image of a `T` at any address, with a new bitmap.
pub(super) fn check_image<'a, 'b, T: Stored>(
    image: &'a [u8],
    bitmap: &'b mut Bitmap,
) -> Result<Checked<'a, 'b>, Invalid> {
    let facts = T::facts();
    let there = image.len() as u64;
    // The smallest size of an image of the type. The root of another version may be smaller.
    let least = u64::from(ROOT) + if T::APPENDABLE { 0 } else { in_granules(u64::from(T::SIZE)) };
    let header = image.first_chunk::<{ ROOT as usize }>().filter(|_| there >= least);
    let Some(header) = header else {
        return invalid(0, InvalidProblem::TooSmall { found: there, least });
    };
    if u32_at(header, 0) != MAGIC {
        return invalid(0, InvalidProblem::NotARegion);
    }
    let (version, form) = (u16::from_le_bytes([header[4], header[5]]), header[6]);
    if version != u16::from(VERSION) || form > 1 {
        return invalid(4, InvalidProblem::Unknown { version, form });
    }
    if header[7] != 0 {
        return invalid(7, InvalidProblem::NotZero { at: 7 });
    }
    for (at, which, wanted) in [(8, "schema", schema_hash::<T>(facts)), (16, "layout", facts.layout)] {
        let found = u64::from(u32_at(header, at)) | u64::from(u32_at(header, at + 4)) << 32;
        if found != wanted {
            return invalid(at, InvalidProblem::OtherType { name: T::kind(), which, found, wanted });
        }
    }
    let size = u32_at(header, 24);
    if u64::from(size) < least || u64::from(size) > there || !size.is_multiple_of(GRANULE) || size > MAX_SIZE
    {
        return invalid(24, InvalidProblem::WrongSize { found: size, there });
    }
    if u32_at(header, 28) != ROOT {
        return invalid(28, InvalidProblem::Outside { to: i64::from(u32_at(header, 28)), size });
    }
    let image = &image[..size as usize];
    if form == 0 {
        let versions = check_form::<T, true>(image, &mut [], facts)?;
        return Ok(Checked { image, bits: None, versions });
    }
    let Some(bits) = bitmap.words(words(size)) else {
        return invalid(0, InvalidProblem::NoMemory { bytes: words(size) as u64 * 8 });
    };
    let versions = check_form::<T, false>(image, bits, facts)?;
    Ok(Checked { image, bits: Some(bits), versions })
}

/// Reads the table of versions. Returns its place and its size in bytes.
#[inline(never)]
fn read_versions(
    image: &[u8],
    facts: &Facts,
    versions: &mut Option<Versions>,
) -> Result<(u32, u32), Invalid> {
    let (at, bytes) = table_of(image)?;
    if image[at as usize..(at + bytes) as usize] != facts.table {
        *versions = Some(compare(image, (at, bytes), &facts.versions)?);
    }
    Ok((at, bytes))
}

/// Checks the part of an image after a valid header. Returns the versions of the image if they differ.
#[inline]
fn check_form<T: Stored, const CANONICAL: bool>(
    image: &[u8],
    bits: &mut [u64],
    facts: &Facts,
) -> Result<Option<Versions>, Invalid> {
    let size = image.len() as u32;
    let mut versions = None;
    let mut table = None;
    let mut check = Check::<CANONICAL>::new(image, bits);
    check.zero(32, if facts.table.is_empty() { ROOT } else { TABLE_AT })?;
    if !facts.table.is_empty() {
        table = Some(read_versions(image, facts, &mut versions)?);
        check.versions = versions.as_ref();
    }
    let root = check.size_of::<T>(ROOT)?;
    let first = u64::from(ROOT) + in_granules(u64::from(root));
    if u64::from(size) < first {
        return invalid(0, InvalidProblem::TooSmall { found: u64::from(size), least: first });
    }
    let first = first as u32;
    if CANONICAL {
        check.cursor = first;
    } else {
        mark(check.bits, 0, first / GRANULE);
    }
    if let Some((at, bytes)) = table {
        check.claim_at(TABLE_AT, i64::from(at), u64::from(bytes), u64::from(bytes))?;
    }
    T::check(&mut check, ROOT)?;
    if !check.newer() {
        check.zero(ROOT + root, first)?;
        if CANONICAL && check.cursor != size {
            return invalid(check.cursor, InvalidProblem::LeftOver { size, end: check.cursor });
        }
    }
    check.links_are_counted()?;
    Ok(versions)
}
