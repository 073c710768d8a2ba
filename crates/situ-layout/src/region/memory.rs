//! The memory that a region is edited in: granules in use are bits of a bitmap beside the image, which is neither sent nor
//! believed.

use thiserror::Error;

/// What blocks are measured and aligned in, in bytes.
pub const GRANULE: u32 = 16;
/// The greatest size of a region, in bytes: links have 32 bits and a sign.
pub const MAX_SIZE: u32 = 0x7fff_fff0;
/// Where the root begins.
pub(super) const ROOT: u32 = 64;

/// A region may not become larger.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("the region is full: it may have {limit} bytes; give it a higher limit")]
pub struct Full {
    /// The region's limit, in bytes.
    pub limit: u32,
}

/// What is kept aligned, so that numbers within the image are.
#[derive(Clone, Copy)]
#[repr(C, align(16))]
struct Granule([u8; GRANULE as usize]);

/// Rounded up to whole granules.
pub(super) const fn in_granules(bytes: u64) -> u64 {
    bytes.div_ceil(GRANULE as u64) * GRANULE as u64
}

/// The image of a region that is edited, and which of its granules are in use. It moves when it grows; so what lies in it is
/// named by offsets.
#[derive(Clone)]
pub struct Memory {
    granules: Vec<Granule>,
    bits: Vec<u64>,
    /// No bit is clear in the words before this one.
    first_word: usize,
    free: u32,
    limit: u32,
}

impl Memory {
    /// `size` bytes of zeros, all in use.
    pub(super) fn new(size: u32, limit: u32) -> Self {
        let count = (size / GRANULE) as usize;
        let mut memory = Self {
            granules: vec![Granule([0; GRANULE as usize]); count],
            bits: vec![0; count.div_ceil(64)],
            first_word: 0,
            free: 0,
            limit: limit.min(MAX_SIZE),
        };
        memory.mark(0, count as u32, true);
        memory
    }

    /// A copy of an image whose granules in use `bits` says; the others become zero. Without bits, all are in use.
    pub(super) fn adopt(image: &[u8], bits: Option<Vec<u64>>, limit: u32) -> Self {
        let mut memory = Self::new(image.len() as u32, limit.max(image.len() as u32));
        memory.bytes_mut().copy_from_slice(image);
        if let Some(bits) = bits {
            memory.bits = bits;
            for granule in 0..memory.granules.len() {
                if memory.bits[granule / 64] >> (granule % 64) & 1 == 0 {
                    memory.granules[granule].0 = [0; GRANULE as usize];
                    memory.free += 1;
                }
            }
            memory.trim();
        }
        memory
    }

    /// The live image.
    pub fn bytes(&self) -> &[u8] {
        let size = self.granules.len() * GRANULE as usize;
        // SAFETY: granules are arrays of bytes, of 16 bytes and without padding, so that the vector's memory is `size` bytes.
        unsafe { std::slice::from_raw_parts(self.granules.as_ptr().cast(), size) }
    }

    pub(super) fn bytes_mut(&mut self) -> &mut [u8] {
        let size = self.granules.len() * GRANULE as usize;
        // SAFETY: as above; the vector is borrowed exclusively, and any bytes are granules.
        unsafe { std::slice::from_raw_parts_mut(self.granules.as_mut_ptr().cast(), size) }
    }

    pub(super) fn size(&self) -> u32 {
        self.granules.len() as u32 * GRANULE
    }

    pub(super) fn free_bytes(&self) -> u32 {
        self.free * GRANULE
    }

    pub(super) fn full(&self) -> Full {
        Full { limit: self.limit }
    }

    pub(super) fn u32(&self, at: u32) -> u32 {
        u32_at(self.bytes(), at)
    }

    pub(super) fn set_u32(&mut self, at: u32, value: u32) {
        let at = at as usize;
        self.bytes_mut()[at..at + 4].copy_from_slice(&value.to_le_bytes());
    }

    pub(super) fn zero(&mut self, at: u32, count: u32) {
        self.bytes_mut()[at as usize..(at + count) as usize].fill(0);
    }

    pub(super) fn copy_within(&mut self, from: u32, to: u32, count: u32) {
        self.bytes_mut().copy_within(from as usize..(from + count) as usize, to as usize);
    }

    /// The first granule from `from` on that is in use (or free), or the end.
    fn next(&self, from: u32, used: bool) -> u32 {
        let end = self.granules.len() as u32;
        let word = |i: usize| if used { self.bits[i] } else { !self.bits[i] };
        if from >= end {
            return end;
        }
        let mut i = from as usize / 64;
        let mut here = word(i) & (!0 << (from % 64));
        while here == 0 {
            i += 1;
            if i >= self.bits.len() {
                return end;
            }
            here = word(i);
        }
        (i as u32 * 64 + here.trailing_zeros()).min(end)
    }

    fn mark(&mut self, mut from: u32, mut count: u32, used: bool) {
        while count != 0 {
            let shift = from % 64;
            let here = count.min(64 - shift);
            let mask = (!0_u64 >> (64 - here)) << shift;
            let word = &mut self.bits[from as usize / 64];
            *word = if used { *word | mask } else { *word & !mask };
            from += here;
            count -= here;
        }
    }

    /// A zeroed block; the first run of free granules that is long enough, or else the end.
    pub(super) fn allocate(&mut self, bytes: u64) -> Result<u32, Full> {
        if bytes > u64::from(MAX_SIZE) {
            return Err(self.full());
        }
        let count = (in_granules(bytes) / u64::from(GRANULE)) as u32;
        let end = self.granules.len() as u32;
        if self.free >= count {
            let mut from = self.next(self.first_word as u32 * 64, false);
            self.first_word = from as usize / 64;
            while end - from >= count {
                let used = self.next(from, true);
                if used - from >= count {
                    self.mark(from, count, true);
                    self.free -= count;
                    return Ok(from * GRANULE);
                }
                from = self.next(used, false);
            }
        }
        self.extend_end(count)?;
        Ok(end * GRANULE)
    }

    fn extend_end(&mut self, count: u32) -> Result<(), Full> {
        let end = self.granules.len() as u32;
        if u64::from(end + count) * u64::from(GRANULE) > u64::from(self.limit) {
            return Err(self.full());
        }
        let size = (end + count) as usize;
        self.granules.resize(size, Granule([0; GRANULE as usize]));
        self.bits.resize(size.div_ceil(64), 0);
        self.mark(end, count, true);
        self.write_size();
        Ok(())
    }

    /// The header says how large the image is.
    pub(super) fn write_size(&mut self) {
        self.set_u32(24, self.size());
    }

    /// Takes a block back; its bytes become zero, and the image ends behind the last granule in use.
    pub(super) fn free(&mut self, at: u32, bytes: u64) {
        let count = (in_granules(bytes) / u64::from(GRANULE)) as u32;
        if count == 0 {
            return;
        }
        self.zero(at, count * GRANULE);
        let from = at / GRANULE;
        self.mark(from, count, false);
        self.free += count;
        self.first_word = self.first_word.min(from as usize / 64);
        if from + count == self.granules.len() as u32 {
            self.trim();
        }
    }

    fn trim(&mut self) {
        let mut end = 0;
        for (i, word) in self.bits.iter().enumerate().rev() {
            if *word != 0 {
                end = i * 64 + 64 - word.leading_zeros() as usize;
                break;
            }
        }
        self.free -= (self.granules.len() - end) as u32;
        self.granules.truncate(end);
        self.bits.truncate(end.div_ceil(64));
        self.write_size();
    }

    /// Makes a block longer where it lies, if what lies behind it is free or the end.
    pub(super) fn extend(&mut self, at: u32, old: u64, new: u64) -> bool {
        let from = at / GRANULE + (in_granules(old) / u64::from(GRANULE)) as u32;
        let Ok(to) = u32::try_from(u64::from(at / GRANULE) + in_granules(new) / u64::from(GRANULE)) else {
            return false;
        };
        let end = self.granules.len() as u32;
        if to <= from {
            return true;
        }
        if self.next(from, true) < to.min(end) {
            return false;
        }
        if to > end && self.extend_end(to - end).is_err() {
            return false;
        }
        let inside = to.min(end) - from.min(end);
        self.mark(from, inside, true);
        self.free -= inside;
        true
    }
}

pub(super) fn u32_at(image: &[u8], at: u32) -> u32 {
    let at = at as usize;
    u32::from_le_bytes([image[at], image[at + 1], image[at + 2], image[at + 3]])
}

/// Where the link at `at` leads; `at` itself where there is none.
pub(super) fn target(image: &[u8], at: u32) -> u32 {
    at.wrapping_add(u32_at(image, at))
}
