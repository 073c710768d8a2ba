//! The bytes of an image: the unit of its blocks, and the numbers, links and granules in it.

/// The unit of size and alignment of blocks, in bytes.
pub const GRANULE: u32 = 16;
/// The greatest size of a region, in bytes: links have 32 bits and a sign.
pub const MAX_SIZE: u32 = 0x7fff_fff0;
/// The offset of the root.
pub(crate) const ROOT: u32 = 64;

/// Rounded up to whole granules.
#[inline]
pub(crate) const fn in_granules(bytes: u64) -> u64 {
    bytes.div_ceil(GRANULE as u64) * GRANULE as u64
}

/// The number of words of a bitmap for `bytes` bytes.
#[inline]
pub(crate) const fn words(bytes: u32) -> usize {
    (bytes / GRANULE).div_ceil(64) as usize
}

#[inline]
pub(crate) fn u32_at(image: &[u8], at: u32) -> u32 {
    let mut bytes = [0; 4];
    bytes.copy_from_slice(&image[at as usize..at as usize + 4]);
    u32::from_le_bytes(bytes)
}

/// Zeroes bytes of an image.
#[inline]
pub(crate) fn zero(image: &mut [u8], at: u32, count: u32) {
    image[at as usize..at as usize + count as usize].fill(0);
}

/// A granule as two numbers. Shifting one number of 128 bits would take instructions that are slow on many
/// processors.
pub(crate) type Halves = [u64; 2];

/// The highest bit of each byte.
pub(crate) const HIGHEST_BITS: u64 = u64::MAX / 0xff * 0x80;

#[inline]
pub(crate) fn halves(granule: &[u8; GRANULE as usize]) -> Halves {
    let number = u128::from_le_bytes(*granule);
    [number as u64, (number >> 64) as u64]
}

/// The granule at `at`.
#[inline]
pub(crate) fn halves_at(image: &[u8], at: u32) -> Halves {
    let mut bytes = [0; GRANULE as usize];
    bytes.copy_from_slice(&image[at as usize..at as usize + GRANULE as usize]);
    halves(&bytes)
}

/// A mask of ones for the unused bytes of a granule whose first 1 to 16 bytes are in use.
#[inline]
fn unused_mask(used: u32) -> Halves {
    static BYTES: [u8; 2 * GRANULE as usize] = {
        let mut bytes = [0; 2 * GRANULE as usize];
        let mut i = GRANULE as usize;
        while i < bytes.len() {
            bytes[i] = 0xff;
            i += 1;
        }
        bytes
    };
    halves_at(&BYTES, (GRANULE - used) % GRANULE)
}

/// Whether a granule is zero after its first 1 to 16 bytes.
#[inline]
pub(crate) fn is_zero_behind(granule: Halves, used: u32) -> bool {
    let unused = unused_mask(used);
    (granule[0] & unused[0]) | (granule[1] & unused[1]) == 0
}

/// Whether a granule begins with 1 to 16 bytes of ASCII and is zero after them. This check proves nearly all
/// text to be UTF-8.
#[inline]
pub(crate) fn is_ascii_then_zero(granule: Halves, used: u32) -> bool {
    let unused = unused_mask(used);
    (granule[0] & (unused[0] | HIGHEST_BITS)) | (granule[1] & (unused[1] | HIGHEST_BITS)) == 0
}

/// Whether no byte of these granules has its highest bit.
#[inline]
pub(crate) fn is_ascii(granules: &[[u8; GRANULE as usize]]) -> bool {
    let any = granules.iter().map(halves).fold(0, |any, [low, high]| any | low | high);
    any & HIGHEST_BITS == 0
}

/// The target of the link at `at`; `at` itself if there is none.
#[inline]
pub(crate) fn target(image: &[u8], at: u32) -> u32 {
    at.wrapping_add(u32_at(image, at))
}
