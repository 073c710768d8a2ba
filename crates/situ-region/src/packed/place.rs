//! The numbers of packed images, links and lengths; and the next block of a writer and a check.

use situ_layout::{Invalid, InvalidProblem};

use crate::error::invalid;
use crate::image::check::{Check, any_bits};
use crate::image::versions::Versions;
use crate::image::writer::Writer;
use crate::memory::granule::{target, u32_at};
use crate::value::stored::Stored;

/// The link of an empty container in an optional that has a value. No link leads to a place so near.
pub(crate) const EMPTY: u32 = 1;

/// The length at an offset, and where it ends. `None` if these bytes are none, or not the shortest ones.
#[inline]
pub(crate) fn length_at(image: &[u8], at: u32) -> Option<(u32, u32)> {
    let bytes = image.get(at as usize..)?;
    let first = *bytes.first()?;
    if first < 0x80 {
        return Some((u32::from(first), at + 1));
    }
    let mut len = u32::from(first & 0x7f);
    for (i, byte) in (1..5).zip(bytes.get(1..)?) {
        len |= u32::from(byte & 0x7f) << (7 * i);
        if *byte < 0x80 {
            // Five bytes have room for more than the 31 bits of a length.
            return (*byte != 0 && (i < 4 || *byte < 8)).then_some((len, at + i + 1));
        }
    }
    None
}

/// The bytes of a length, and their number.
fn length_bytes(mut len: u32) -> ([u8; 5], usize) {
    let (mut bytes, mut count) = ([0; 5], 0);
    loop {
        bytes[count] = (len & 0x7f) as u8;
        len >>= 7;
        if len == 0 {
            return (bytes, count + 1);
        }
        bytes[count] |= 0x80;
        count += 1;
    }
}

/// The place behind the length of the container whose link is at `at`, and the length.
#[inline]
pub(crate) fn counted_at(image: &[u8], at: u32) -> (u32, u32) {
    let link = u32_at(image, at);
    let counted = if link <= EMPTY { None } else { length_at(image, at.wrapping_add(link)) };
    counted.map_or((at, 0), |(len, end)| (end, len))
}

/// The first element of the container whose link is at `at`, and the number of its elements.
#[inline]
pub(crate) fn elements_at<T: Stored>(image: &[u8], at: u32) -> (u32, u32) {
    let (end, len) = counted_at(image, at);
    (end.next_multiple_of(T::PACKED_ALIGN), len)
}

impl Writer<'_> {
    /// Sets the link at `at` to the next place at a multiple of `align`.
    pub(crate) fn packed_link(&mut self, at: u32, align: u32) -> u32 {
        let place = self.packed_room(0, align);
        self.put_u32(at, place.wrapping_sub(at));
        place
    }

    /// Takes the next `bytes` bytes from a multiple of `align` on. They are zero.
    pub(crate) fn packed_room(&mut self, bytes: u32, align: u32) -> u32 {
        let place = self.end.next_multiple_of(align);
        let end = place + bytes;
        self.zero(self.end, end - self.end);
        self.end = end;
        place
    }

    /// Writes a length.
    pub(crate) fn packed_length(&mut self, len: u32) {
        let (bytes, count) = length_bytes(len);
        self.put_bytes(self.end, &bytes[..count]);
        self.end += count as u32;
    }
}

impl<const CANONICAL: bool> Check<'_, CANONICAL> {
    /// Follows the link at `at`, which must lead to the next place at a multiple of `align`.
    pub(crate) fn packed_link(&mut self, at: u32, align: u32) -> Result<u32, Invalid> {
        let (to, wanted) = (target(self.image(), at), self.cursor.next_multiple_of(align));
        // Blocks that this program does not know may come before it.
        let skips = || self.newer() && to > wanted && to.is_multiple_of(align);
        if to != wanted && !skips() {
            return invalid(at, InvalidProblem::Misplaced { to: i64::from(to), wanted });
        }
        self.packed_inside(at, u64::from(to))?;
        if !self.newer() {
            self.zero(self.cursor, to)?;
        }
        self.cursor = to;
        Ok(to)
    }

    /// Takes the block to which the link at `at` leads: the first of its values of `size` bytes, and their
    /// number, if it has nothing wrong and has 1 to 127 values. Nearly always it has.
    #[inline]
    pub(crate) fn packed_few(&mut self, at: u32, size: u32, align: u32) -> Option<(u32, u32)> {
        let (image, block) = (self.image(), self.cursor);
        let count = u32::from(*image.get(block as usize)?);
        if target(image, at) != block || !(1..0x80).contains(&count) {
            return None;
        }
        let first = (block + 1).next_multiple_of(align);
        let end = u64::from(first) + u64::from(count) * u64::from(size);
        if end > image.len() as u64 || any_bits(&image[block as usize + 1..first as usize]) != 0 {
            return None;
        }
        self.cursor = end as u32;
        Some((first, count))
    }

    /// Takes the next `bytes` bytes from a multiple of `align` on, for the container at `at`.
    pub(crate) fn packed_room(&mut self, at: u32, bytes: u64, align: u32) -> Result<u32, Invalid> {
        let place = self.cursor.next_multiple_of(align);
        let end = self.packed_inside(at, u64::from(place) + bytes)?;
        self.zero(self.cursor, place)?;
        self.cursor = end;
        Ok(place)
    }

    /// Takes the next length, which is at least `least`.
    pub(crate) fn packed_length(&mut self, least: u32) -> Result<u32, Invalid> {
        match length_at(self.image(), self.cursor).filter(|(len, _)| *len >= least) {
            Some((len, end)) => {
                self.cursor = end;
                Ok(len)
            }
            None => invalid(self.cursor, InvalidProblem::BadLength { at: self.cursor }),
        }
    }

    /// Checks that something ends within the image.
    fn packed_inside(&self, at: u32, end: u64) -> Result<u32, Invalid> {
        let size = self.image().len() as u64;
        if end > size {
            return invalid(at, InvalidProblem::Outside { to: end as i64, size: size as u32 });
        }
        Ok(end as u32)
    }

    /// The number of members of an appendable struct in a packed image, and its size there.
    pub(crate) fn packed_version<T: Stored>(&self, at: u32) -> Result<(u32, u32), Invalid> {
        let Some(versions) = self.versions else { return Ok((u32::MAX, T::PACKED_SIZE)) };
        match Versions::of::<T>(versions) {
            Some(found) => Ok(found),
            None => invalid(at, InvalidProblem::BadVersions { at: crate::packed::image::FIRST }),
        }
    }

    /// The size of the value that a link leads to, or of the root.
    pub(crate) fn packed_size<T: Stored>(&self, at: u32) -> Result<u32, Invalid> {
        if T::APPENDABLE { Ok(self.packed_version::<T>(at)?.1) } else { Ok(T::PACKED_SIZE) }
    }
}
