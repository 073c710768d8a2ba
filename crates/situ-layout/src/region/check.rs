//! Checking that bytes are a region before any of them is believed: canonical images with one cursor, live ones with a bitmap.

use super::error::{Invalid, InvalidProblem};
use super::memory::{GRANULE, MAX_SIZE, ROOT, in_granules, u32_at};
use super::stored::Stored;
use crate::error::FieldPath;

/// How many links may lead from one to the next.
const MAX_DEPTH: u32 = 64;
pub(super) const MAGIC: u32 = 0x4e47_5253;
pub(super) const VERSION: u8 = 1;

/// An error at an offset.
pub(super) fn invalid<T>(offset: u32, problem: InvalidProblem) -> Result<T, Invalid> {
    Err(Invalid { path: FieldPath::default(), offset, problem })
}

/// A check that is under way.
pub struct Check<'a> {
    image: &'a [u8],
    /// `None` for canonical images.
    bits: Option<Vec<u64>>,
    cursor: u32,
    depth: u32,
}

impl<'a> Check<'a> {
    pub(super) fn image(&self) -> &'a [u8] {
        self.image
    }

    pub(super) fn canonical(&self) -> bool {
        self.bits.is_none()
    }

    fn size(&self) -> u32 {
        self.image.len() as u32
    }

    pub(super) fn flag(&self, at: u32) -> Result<(), Invalid> {
        match self.image[at as usize] {
            0 | 1 => Ok(()),
            value => invalid(at, InvalidProblem::NotABool { value }),
        }
    }

    pub(super) fn back_link(&self, at: u32, link_at: u32) -> Result<(), Invalid> {
        let found = u32_at(self.image, link_at);
        if found == at.wrapping_neg() {
            return Ok(());
        }
        invalid(at, InvalidProblem::WrongBackLink { found: found as i32 })
    }

    /// What all containers of 16 bytes have: length and capacity. `trimmed` is the capacity of a canonical one of a length.
    pub(super) fn container(&self, at: u32, trimmed: fn(u32) -> u32) -> Result<(u32, u32), Invalid> {
        self.back_link(at, at + 12)?;
        let (len, cap) = (u32_at(self.image, at + 4), u32_at(self.image, at + 8));
        if len > cap {
            return invalid(at, InvalidProblem::TooLong { len, cap });
        }
        if self.canonical() && cap != trimmed(len) {
            return invalid(at, InvalidProblem::NotTrimmed { found: cap, wanted: trimmed(len) });
        }
        if cap == 0 && u32_at(self.image, at) != 0 {
            let to = i64::from(at) + i64::from(u32_at(self.image, at) as i32);
            return invalid(at, InvalidProblem::Outside { to, size: self.size() });
        }
        Ok((len, cap))
    }

    /// The block of `bytes` to which the link at `at` leads, of which `used` hold something.
    pub(super) fn claim(&mut self, at: u32, bytes: u64, used: u64) -> Result<u32, Invalid> {
        let to = i64::from(at) + i64::from(u32_at(self.image, at) as i32);
        let whole = in_granules(bytes) as i64;
        let size = self.size();
        let Some(bits) = &mut self.bits else {
            if to != i64::from(self.cursor) {
                return invalid(at, InvalidProblem::Misplaced { to, wanted: self.cursor });
            }
            if whole > i64::from(size - self.cursor) {
                return invalid(at, InvalidProblem::Outside { to: to + whole, size });
            }
            let block = self.cursor;
            self.cursor += whole as u32;
            self.zero(block + used as u32, self.cursor)?;
            return Ok(block);
        };
        if to < i64::from(ROOT) || to > i64::from(size) || whole > i64::from(size) - to {
            return invalid(at, InvalidProblem::Outside { to, size });
        }
        let block = to as u32;
        if !block.is_multiple_of(GRANULE) {
            return invalid(at, InvalidProblem::Unaligned { to: block });
        }
        for granule in block / GRANULE..(block + whole as u32) / GRANULE {
            let (word, bit) = (&mut bits[granule as usize / 64], 1_u64 << (granule % 64));
            if *word & bit != 0 {
                return invalid(at, InvalidProblem::Overlap { to: block });
            }
            *word |= bit;
        }
        Ok(block)
    }

    /// In canonical images, that bytes that belong to nothing are zero.
    pub fn zero(&self, from: u32, to: u32) -> Result<(), Invalid> {
        if self.canonical() {
            for at in from..to {
                if self.image[at as usize] != 0 {
                    return invalid(at, InvalidProblem::NotZero { at });
                }
            }
        }
        Ok(())
    }

    /// What a link leads to is one deeper than the link.
    pub(super) fn deeper(
        &mut self,
        at: u32,
        inner: impl FnOnce(&mut Self) -> Result<(), Invalid>,
    ) -> Result<(), Invalid> {
        if self.depth == MAX_DEPTH {
            return invalid(at, InvalidProblem::TooDeep);
        }
        self.depth += 1;
        let checked = inner(self);
        self.depth -= 1;
        checked
    }

    pub(super) fn elements<T: Stored>(&mut self, at: u32, count: u32) -> Result<(), Invalid> {
        if T::ANY && (T::DENSE || !self.canonical()) {
            return Ok(());
        }
        let each = |check: &mut Self| {
            (0..count)
                .try_for_each(|i| T::check(check, at + i * T::SIZE).map_err(|error| error.in_element(i)))
        };
        if T::LINKS { self.deeper(at, each) } else { each(self) }
    }

    /// A vector of T, or what is made of one. Its block, and its length.
    pub(super) fn vector<T: Stored>(&mut self, at: u32) -> Result<(u32, u32), Invalid> {
        let (len, cap) = self.container(at, |len| len)?;
        if cap == 0 {
            return Ok((0, 0));
        }
        let size = u64::from(T::SIZE);
        let block = self.claim(at, u64::from(cap) * size, u64::from(len) * size)?;
        self.elements::<T>(block, len)?;
        Ok((block, len))
    }
}

/// Checks an image of a `T`, wherever it lies. Its bytes without what may follow them, and the bitmap of a live one.
pub(super) fn check_image<T: Stored>(
    image: &[u8],
    layout: u64,
) -> Result<(&[u8], Option<Vec<u64>>), Invalid> {
    let first = u64::from(ROOT) + in_granules(u64::from(T::SIZE));
    let there = image.len() as u64;
    if there < first {
        return invalid(0, InvalidProblem::TooSmall { found: there, least: first });
    }
    let u64_at = |at| u64::from(u32_at(image, at)) | u64::from(u32_at(image, at + 4)) << 32;
    if u32_at(image, 0) != MAGIC {
        return invalid(0, InvalidProblem::NotARegion);
    }
    let (version, form) = (u16::from_le_bytes([image[4], image[5]]), image[6]);
    if version != u16::from(VERSION) || form > 1 {
        return invalid(4, InvalidProblem::Unknown { version, form });
    }
    if image[7] != 0 {
        return invalid(7, InvalidProblem::NotZero { at: 7 });
    }
    for (at, which, wanted) in [(8, "schema", T::SCHEMA_HASH), (16, "layout", layout)] {
        let found = u64_at(at);
        if found != wanted {
            return invalid(at, InvalidProblem::OtherType { which, found, wanted });
        }
    }
    let size = u32_at(image, 24);
    if u64::from(size) < first || u64::from(size) > there || !size.is_multiple_of(GRANULE) || size > MAX_SIZE
    {
        return invalid(24, InvalidProblem::WrongSize { found: size, there });
    }
    if u32_at(image, 28) != ROOT {
        return invalid(28, InvalidProblem::Outside { to: i64::from(u32_at(image, 28)), size });
    }
    let image = &image[..size as usize];
    let bits = (form == 1).then(|| {
        let mut bits = vec![0; (size / GRANULE).div_ceil(64) as usize];
        (0..first as u32 / GRANULE).for_each(|granule| bits[granule as usize / 64] |= 1 << (granule % 64));
        bits
    });
    let mut check = Check { image, bits, cursor: first as u32, depth: 0 };
    check.zero(32, ROOT)?;
    T::check(&mut check, ROOT)?;
    check.zero(ROOT + T::SIZE, first as u32)?;
    if check.canonical() && check.cursor != size {
        return invalid(check.cursor, InvalidProblem::LeftOver { size, end: check.cursor });
    }
    Ok((image, check.bits))
}
