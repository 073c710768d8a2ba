//! Text within a region; up to 11 bytes lie in the string itself.

use std::cmp::Ordering;
use std::fmt;
use std::ops::Deref;

use situ_layout::{Invalid, InvalidProblem};

use crate::containers::key::{Key, mix, start};
use crate::error::{Full, invalid};
use crate::image::check::{Check, any_bits};
use crate::image::writer::Writer;
use crate::memory::blocks::{Memory, MemoryMut};
use crate::memory::granule::{
    GRANULE, HIGHEST_BITS, Halves, MAX_SIZE, halves, halves_at, in_granules, is_ascii, is_ascii_then_zero,
    target, u32_at,
};
use crate::memory::slide::Slide;
use crate::packed::handle::Packed;
use crate::packed::text as packed_text;
use crate::packed::unpack::Unpacker;
use crate::value::assign::Assign;
use crate::value::equal_walk::Equal;
use crate::value::handle::{Mut, Ref};
use crate::value::layout::LINK;
use crate::value::show_walk::ShowWalk;
use crate::value::stored::Stored;

/// The longest text without a block.
const INLINE: usize = 11;
const TAG: u8 = 0x80;

/// UTF-8 text of any length. The type is only a name; see the methods of [`Ref`] and [`Mut`].
pub enum Text {}
#[inline]
fn tag(image: &[u8], at: u32) -> u8 {
    image[at as usize + INLINE]
}

/// The place of the characters, their number, and the capacity.
#[inline]
fn extent(image: &[u8], at: u32) -> (u32, u32, u32) {
    let tag = tag(image, at);
    if tag & TAG != 0 {
        return (at, u32::from(tag & 0x0f), INLINE as u32);
    }
    let cap = u32_at(image, at + 8);
    if cap == 0 { (at, 0, INLINE as u32) } else { (target(image, at), u32_at(image, at + 4), cap) }
}
#[inline]
fn has_block(image: &[u8], at: u32) -> bool {
    tag(image, at) & TAG == 0 && u32_at(image, at + 8) != 0
}
#[inline]
pub(crate) fn bytes_at(image: &[u8], at: u32) -> &[u8] {
    let (begin, len, _) = extent(image, at);
    &image[begin as usize..][..len as usize]
}

/// The text as a `str`. It is UTF-8, because adopted images are checked, and text is assigned from `str`.
#[inline]
pub(crate) fn str_at(image: &[u8], at: u32) -> &str {
    let bytes = bytes_at(image, at);
    if any_bits(bytes) & HIGHEST_BITS == 0 {
        // SAFETY: bytes without their highest bits are ASCII, which is UTF-8.
        return unsafe { std::str::from_utf8_unchecked(bytes) };
    }
    std::str::from_utf8(bytes).unwrap_or_default()
}

/// One to seven bytes as a number. Two reads that may overlap, because a copy of so few bytes is a call.
#[inline]
fn few(bytes: &[u8]) -> u64 {
    let at = 8 * (bytes.len() as u32);
    if let (Some(first), Some(last)) = (bytes.first_chunk(), bytes.last_chunk()) {
        return u64::from(u32::from_le_bytes(*first)) | u64::from(u32::from_le_bytes(*last)) << (at - 32);
    }
    if let (Some(first), Some(last)) = (bytes.first_chunk(), bytes.last_chunk()) {
        return u64::from(u16::from_le_bytes(*first)) | u64::from(u16::from_le_bytes(*last)) << (at - 16);
    }
    bytes.first().map_or(0, |byte| u64::from(*byte))
}

/// Makes the text empty; its block is kept.
fn clear(memory: &mut Memory, at: u32) {
    if !has_block(memory.bytes(), at) {
        // Zeroes all bytes before the back link: in an adopted live image, the bytes after the text may be
        // anything.
        memory.zero(at, 12);
        return;
    }
    let (begin, before, _) = extent(memory.bytes(), at);
    memory.set_u32(at + 4, 0);
    memory.zero(begin, before);
}

/// Reserves memory for `len` characters, and keeps the text.
fn reserve(memory: &mut Memory, at: u32, len: usize) -> Result<(), Full> {
    let (begin, count, cap) = extent(memory.bytes(), at);
    if len <= cap as usize {
        return Ok(());
    }
    if len > MAX_SIZE as usize {
        return Err(memory.full());
    }
    let room = in_granules(len as u64);
    let block = memory.allocate(room)?;
    memory.copy_within(begin, block, count);
    if has_block(memory.bytes(), at) {
        memory.free(begin, u64::from(cap));
    }
    set_block(memory, at, block, count, room as u32);
    Ok(())
}

fn shrink(memory: &mut Memory, at: u32) {
    if !has_block(memory.bytes(), at) {
        return;
    }
    let (begin, len, cap) = extent(memory.bytes(), at);
    if len as usize > INLINE {
        let kept = in_granules(u64::from(len));
        memory.shorten(begin, u64::from(cap), kept);
        memory.set_u32(at + 8, cap.min(kept as u32));
        return;
    }
    memory.zero(at, 12);
    memory.copy_within(begin, at, len);
    memory.free(begin, u64::from(cap));
    if len != 0 {
        memory.bytes_mut()[at as usize + INLINE] = TAG | len as u8;
    }
}

fn append(memory: &mut Memory, at: u32, text: &str) -> Result<(), Full> {
    let (_, before, cap) = extent(memory.bytes(), at);
    let len = before as usize + text.len();
    if len > cap as usize {
        // Takes the grown capacity if there is room for it, otherwise the needed one.
        let wanted = u32::try_from(len).map_or(len, |len| memory.next_capacity(before, len) as usize);
        reserve(memory, at, wanted).or_else(|_| reserve(memory, at, len))?;
    }
    let in_block = has_block(memory.bytes(), at);
    let begin = extent(memory.bytes(), at).0 as usize + before as usize;
    memory.bytes_mut()[begin..begin + text.len()].copy_from_slice(text.as_bytes());
    if in_block {
        memory.set_u32(at + 4, len as u32);
    } else if len != 0 {
        memory.bytes_mut()[at as usize + INLINE] = TAG | len as u8;
    }
    Ok(())
}

pub(crate) fn assign(memory: &mut Memory, at: u32, text: &str) -> Result<(), Full> {
    if text.len() <= INLINE && !has_block(memory.bytes(), at) {
        let mut short = [0; INLINE + 1];
        short[..text.len()].copy_from_slice(text.as_bytes());
        short[INLINE] = if text.is_empty() { 0 } else { TAG | text.len() as u8 };
        memory.bytes_mut()[at as usize..][..short.len()].copy_from_slice(&short);
        return Ok(());
    }
    let (begin, before, cap) = extent(memory.bytes(), at);
    let len = text.len();
    if len <= cap as usize {
        // Text that is longer than the inline room lies in a block.
        memory.bytes_mut()[begin as usize..][..len].copy_from_slice(text.as_bytes());
        memory.set_u32(at + 4, len as u32);
        if before > len as u32 {
            memory.zero(begin + len as u32, before - len as u32);
        }
        return Ok(());
    }
    if len > MAX_SIZE as usize {
        return Err(memory.full());
    }
    let room = in_granules(len as u64);
    let block = memory.allocate(room)?;
    memory.bytes_mut()[block as usize..][..len].copy_from_slice(text.as_bytes());
    if has_block(memory.bytes(), at) {
        memory.free(begin, u64::from(cap));
    }
    set_block(memory, at, block, len as u32, room as u32);
    Ok(())
}

/// Sets the string's numbers for text in a block.
fn set_block(memory: &mut Memory, at: u32, block: u32, len: u32, cap: u32) {
    memory.set_u32(at, block.wrapping_sub(at));
    memory.set_u32(at + 4, len);
    memory.set_u32(at + 8, cap);
}

impl Stored for Text {
    const SIZE: u32 = 16;
    const ALIGN: u32 = 4;
    const LINKS: bool = true;
    const DENSE: bool = false;
    const ANY: bool = false;
    const PACKED_SIZE: u32 = LINK;
    const PACKED_ALIGN: u32 = 1;
    const IS_PACKED_LINK: bool = true;

    fn kind() -> String {
        "string".to_owned()
    }
    fn begin(MemoryMut(memory): MemoryMut<'_>, at: u32) {
        memory.set_u32(at + 12, at.wrapping_neg());
    }
    fn moved(MemoryMut(memory): MemoryMut<'_>, at: u32, distance: u32) {
        if has_block(memory.bytes(), at) {
            let link = memory.u32(at).wrapping_add(distance);
            memory.set_u32(at, link);
        }
        memory.set_u32(at + 12, at.wrapping_neg());
    }
    fn slide(slide: &mut Slide<'_>, at: u32) {
        if let Some(memory) = slide.trims() {
            shrink(memory, at);
            if has_block(memory.bytes(), at) {
                let len = memory.u32(at + 4);
                memory.set_u32(at + 8, len);
            }
        }
        slide.back_link(at, at + 12);
        if has_block(slide.image(), at) {
            slide.link(at);
        }
    }
    fn release(MemoryMut(memory): MemoryMut<'_>, at: u32) {
        if has_block(memory.bytes(), at) {
            let (begin, _, cap) = extent(memory.bytes(), at);
            memory.free(begin, u64::from(cap));
        }
        memory.zero(at, 12);
    }
    #[inline]
    fn write(writer: &mut Writer<'_>, from: u32, to: u32) {
        let (begin, len, _) = extent(writer.image(), from);
        if len as usize > INLINE {
            writer.container(to, len, len);
            let block = writer.place_dense(to, u64::from(len));
            writer.copy(begin, block, len);
        } else {
            writer.container(to, 0, 0);
            writer.copy(begin, to, len);
            if len != 0 {
                writer.put_byte(to + INLINE as u32, TAG | len as u8);
            }
        }
    }
    #[inline]
    fn is_empty(image: &[u8], at: u32) -> bool {
        bytes_at(image, at).is_empty()
    }
    fn pack(writer: &mut Writer<'_>, from: u32, to: u32) {
        packed_text::pack(writer, bytes_at(writer.image(), from), to);
    }
    fn check_packed<const CANONICAL: bool>(check: &mut Check<'_, CANONICAL>, at: u32) -> Result<(), Invalid> {
        packed_text::check(check, at)
    }
    fn unpack(
        unpacker: &mut Unpacker<'_>,
        MemoryMut(memory): MemoryMut<'_>,
        at: u32,
        from: u32,
    ) -> Result<(), Full> {
        assign(memory, at, packed_text::str_at(unpacker.image(), from))
    }
    #[inline]
    fn check<const CANONICAL: bool>(check: &mut Check<'_, CANONICAL>, at: u32) -> Result<(), Invalid> {
        let header @ [low, high] = halves_at(check.image(), at);
        if (high >> 32) as u32 != at.wrapping_neg() {
            return check.back_link(at, at + 12);
        }
        // Nearly always, the first test decides.
        let tag = (high >> 24) as u8;
        if tag & TAG == 0 {
            return check_far(check, at, header);
        }
        let len = u32::from(tag & !TAG);
        if (1..=INLINE as u32).contains(&len) && is_ascii_then_zero([low, high & 0x00ff_ffff], len) {
            return Ok(());
        }
        check_short(check, at, len)
    }
    fn show(walk: &ShowWalk<'_>, at: u32, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(str_at(walk.image(), at), f)
    }
    fn equals(equal: &mut Equal<'_, '_>, a: u32, b: u32) -> bool {
        bytes_at(equal.a(), a) == bytes_at(equal.b(), b)
    }
}

/// Checks inline text.
#[inline(never)]
fn check_short<const CANONICAL: bool>(
    check: &Check<'_, CANONICAL>,
    at: u32,
    len: u32,
) -> Result<(), Invalid> {
    if len > INLINE as u32 {
        return invalid(at, InvalidProblem::TooLong { len, cap: INLINE as u32 });
    }
    if CANONICAL && len == 0 {
        return invalid(at, InvalidProblem::NotTrimmed { found: u32::from(TAG), wanted: 0 });
    }
    check.zero(at + len, at + INLINE as u32)?;
    is_utf8(check.image(), at, at, len)
}

/// Checks text that is not inline. In a canonical image, it is mostly ASCII in the next block.
#[inline(never)]
fn check_far<const CANONICAL: bool>(
    check: &mut Check<'_, CANONICAL>,
    at: u32,
    [low, high]: Halves,
) -> Result<(), Invalid> {
    let (link, len, cap) = (low as u32, (low >> 32) as u32, high as u32);
    if cap == len
        && len as usize > INLINE
        && let Some(block) = check.next(at, link, len)
        && is_text(block, len)
    {
        check.take_next(len);
        return Ok(());
    }
    check_block(check, at)
}

/// Checks text that lies in a block, or is empty.
#[inline(never)]
fn check_block<const CANONICAL: bool>(check: &mut Check<'_, CANONICAL>, at: u32) -> Result<(), Invalid> {
    let (len, cap) = check.container(at, |len| len)?;
    if cap == 0 {
        return Ok(());
    }
    if CANONICAL && len as usize <= INLINE {
        return invalid(at, InvalidProblem::NotTrimmed { found: cap, wanted: 0 });
    }
    let block = check.claim(at, u64::from(cap), u64::from(len))?;
    let granules = &check.image()[block as usize..][..in_granules(u64::from(len)) as usize];
    if is_text(granules.as_chunks().0, len) { Ok(()) } else { is_utf8(check.image(), at, block, len) }
}

/// Whether these granules hold `len` bytes of ASCII followed by zeros. In a live image, other bytes may
/// follow; the caller then checks the text itself.
#[inline]
fn is_text(granules: &[[u8; GRANULE as usize]], len: u32) -> bool {
    let Some((last, whole)) = granules.split_last() else { return true };
    let used = len - whole.len() as u32 * GRANULE;
    is_ascii(whole) && is_ascii_then_zero(halves(last), used)
}

/// Checks the `len` bytes at `begin`, the text of the string at `at`.
#[inline(never)]
fn is_utf8(image: &[u8], at: u32, begin: u32, len: u32) -> Result<(), Invalid> {
    match std::str::from_utf8(&image[begin as usize..][..len as usize]) {
        Ok(_) => Ok(()),
        Err(error) => invalid(at, InvalidProblem::NotUtf8 { valid_up_to: error.valid_up_to() }),
    }
}

impl Assign<&str> for Text {
    fn assign(MemoryMut(memory): MemoryMut<'_>, at: u32, text: &str) -> Result<(), Full> {
        assign(memory, at, text)
    }
}

impl Assign<String> for Text {
    fn assign(memory: MemoryMut<'_>, at: u32, text: String) -> Result<(), Full> {
        Self::assign(memory, at, text.as_str())
    }
}

impl Assign<&String> for Text {
    fn assign(memory: MemoryMut<'_>, at: u32, text: &String) -> Result<(), Full> {
        Self::assign(memory, at, text.as_str())
    }
}

impl Key for Text {
    type View<'a> = &'a str;
    #[inline]
    fn view(image: &[u8], at: u32) -> &str {
        str_at(image, at)
    }
    #[inline]
    fn compare(image: &[u8], at: u32, other: &str) -> Ordering {
        bytes_at(image, at).cmp(other.as_bytes())
    }
    #[inline]
    fn packed(image: &[u8], at: u32) -> &str {
        packed_text::str_at(image, at)
    }
    #[inline]
    fn compare_packed(image: &[u8], at: u32, other: &str) -> Ordering {
        packed_text::bytes_at(image, at).cmp(other.as_bytes())
    }
    #[inline]
    fn hash(key: &str, seed: u32) -> u64 {
        let begin = mix(start(seed).wrapping_add(key.len() as u64));
        let (words, rest) = key.as_bytes().as_chunks::<8>();
        let hash = words.iter().fold(begin, |h, word| mix(h ^ u64::from_le_bytes(*word)));
        match (rest.len(), key.as_bytes().last_chunk::<8>()) {
            (0, _) => hash,
            // The last eight bytes, without those of the word before.
            (count, Some(last)) => mix(hash ^ (u64::from_le_bytes(*last) >> (64 - 8 * count))),
            (_, None) => mix(hash ^ few(rest)),
        }
    }
    #[inline]
    fn put(MemoryMut(memory): MemoryMut<'_>, at: u32, key: &str) -> Result<(), Full> {
        assign(memory, at, key)
    }
}

impl fmt::Display for Ref<'_, Text> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.as_str().fmt(f)
    }
}

impl PartialEq<str> for Ref<'_, Text> {
    fn eq(&self, other: &str) -> bool {
        self.as_str() == other
    }
}

impl PartialEq<&str> for Ref<'_, Text> {
    fn eq(&self, other: &&str) -> bool {
        self.as_str() == *other
    }
}

impl<'r> Ref<'r, Text> {
    /// The text.
    pub fn as_str(self) -> &'r str {
        str_at(self.image(), self.at())
    }
}

impl Deref for Ref<'_, Text> {
    type Target = str;
    fn deref(&self) -> &str {
        self.as_str()
    }
}

impl Mut<'_, Text> {
    /// Appends text.
    pub fn push_str(&mut self, text: &str) -> Result<(), Full> {
        let at = self.at();
        append(self.memory(), at, text)
    }

    /// Reserves memory for `bytes` bytes in total.
    pub fn reserve(&mut self, bytes: usize) -> Result<(), Full> {
        let at = self.at();
        reserve(self.memory(), at, bytes)
    }

    /// Releases unused memory; short text becomes inline.
    pub fn shrink_to_fit(&mut self) {
        let at = self.at();
        shrink(self.memory(), at);
    }

    /// Makes the text empty; the capacity is kept.
    pub fn clear(&mut self) {
        let at = self.at();
        clear(self.memory(), at);
    }
}

impl<'r> Packed<'r, Text> {
    /// The text.
    #[inline]
    pub fn as_str(self) -> &'r str {
        packed_text::str_at(self.image(), self.at())
    }
}

impl Deref for Packed<'_, Text> {
    type Target = str;
    #[inline]
    fn deref(&self) -> &str {
        self.as_str()
    }
}

impl fmt::Display for Packed<'_, Text> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.as_str().fmt(f)
    }
}

impl PartialEq<str> for Packed<'_, Text> {
    fn eq(&self, other: &str) -> bool {
        self.as_str() == other
    }
}

impl PartialEq<&str> for Packed<'_, Text> {
    fn eq(&self, other: &&str) -> bool {
        self.as_str() == *other
    }
}
