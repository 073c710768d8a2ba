//! Text in packed images: up to three bytes lie in the place of the link.

use situ_layout::{Invalid, InvalidProblem};

use crate::error::invalid;
use crate::image::check::{Check, any_bits};
use crate::image::writer::Writer;
use crate::memory::granule::{HIGHEST_BITS, u32_at};
use crate::packed::place::{EMPTY, counted_at};
use crate::value::layout::LINK;

/// The longest text in the place of its link.
const SHORT: usize = 3;
/// The bit that marks short text, in the last byte of the link. No link has it.
const TAG: u8 = 0x80;

/// The bytes of the text at `at`.
#[inline]
pub(crate) fn bytes_at(image: &[u8], at: u32) -> &[u8] {
    let last = image[at as usize + SHORT];
    let (begin, len) = if last & TAG != 0 { (at, u32::from(last & 3)) } else { counted_at(image, at) };
    &image[begin as usize..][..len as usize]
}

/// The text at `at`.
#[inline]
pub(crate) fn str_at(image: &[u8], at: u32) -> &str {
    let bytes = bytes_at(image, at);
    if any_bits(bytes) & HIGHEST_BITS == 0 {
        // SAFETY: bytes without their highest bits are ASCII, which is UTF-8.
        return unsafe { std::str::from_utf8_unchecked(bytes) };
    }
    std::str::from_utf8(bytes).unwrap_or_default()
}

pub(crate) fn pack(writer: &mut Writer<'_>, text: &[u8], to: u32) {
    match text.len() {
        0 => {}
        len @ 1..=SHORT => {
            writer.put_bytes(to, text);
            writer.put_byte(to + SHORT as u32, TAG | len as u8);
        }
        len => {
            writer.packed_link(to, 1);
            writer.packed_length(len as u32);
            let place = writer.end;
            writer.end += len as u32;
            writer.put_bytes(place, text);
        }
    }
}

#[inline]
pub(crate) fn check<const CANONICAL: bool>(check: &mut Check<'_, CANONICAL>, at: u32) -> Result<(), Invalid> {
    let link = u32_at(check.image(), at);
    if link == 0 {
        return Ok(());
    }
    let before = check.cursor;
    if link >> 31 == 0
        && let Some((begin, len)) = check.packed_few(at, 1, 1)
        && len as usize > SHORT
        && any_bits(&check.image()[begin as usize..][..len as usize]) & HIGHEST_BITS == 0
    {
        return Ok(());
    }
    check.cursor = before;
    check_other(check, at, link)
}

/// Checks text that is short, long, not ASCII, or none.
#[inline(never)]
fn check_other<const CANONICAL: bool>(
    check: &mut Check<'_, CANONICAL>,
    at: u32,
    link: u32,
) -> Result<(), Invalid> {
    let last = (link >> 24) as u8;
    let (begin, len) = if last & TAG != 0 {
        let len = u32::from(last & !TAG);
        if !(1..=SHORT as u32).contains(&len) {
            return invalid(at, InvalidProblem::BadLength { at: at + SHORT as u32 });
        }
        check.zero(at + len, at + SHORT as u32)?;
        (at, len)
    } else {
        check.packed_link(at, 1)?;
        let len = check.packed_length(SHORT as u32 + 1)?;
        (check.packed_room(at, u64::from(len), 1)?, len)
    };
    let bytes = &check.image()[begin as usize..][..len as usize];
    match std::str::from_utf8(bytes) {
        Ok(_) => Ok(()),
        Err(error) => invalid(at, InvalidProblem::NotUtf8 { valid_up_to: error.valid_up_to() }),
    }
}

const _: () = assert!(SHORT + 1 == LINK as usize && EMPTY < LINK);
