//! Checks that bytes are an image of a type before any of them is used.

use std::cell::Cell;

use situ_layout::{Invalid, InvalidProblem};

use crate::error::invalid;
use crate::image::check::{Check, mark};
use crate::image::header::{MAGIC, VERSION, schema_hash};
use crate::image::lines::Facts;
use crate::image::versions::{TABLE_AT, Versions, compare, table_of};
use crate::memory::granule::{GRANULE, MAX_SIZE, ROOT, in_granules, u32_at, words};
use crate::value::stored::Stored;

/// A checked image.
pub(crate) struct Checked<'a, 'b> {
    /// The image, without bytes that may follow it.
    pub image: &'a [u8],
    /// The granules in use, for a live image.
    pub bits: Option<&'b [u64]>,
    /// The versions, if the image has others than this program.
    pub versions: Option<Versions>,
}

thread_local! {
    /// A used bitmap kept for reuse, so that checking received images does not allocate each time.
    static SPARE: Cell<Vec<u64>> = const { Cell::new(Vec::new()) };
}

/// The number of words of bitmap for images of up to 16 KiB.
const SMALL: usize = 16;

/// The bitmap of a check. For a small image, it lies in the caller's stack frame.
#[derive(Default)]
pub(crate) struct Bitmap {
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

/// Checks an image of a `T` at any address, with a new bitmap.
pub(crate) fn check_image<'a, 'b, T: Stored>(
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
    if version != u16::from(VERSION) {
        return invalid(4, InvalidProblem::OtherFormat { found: version, here: u16::from(VERSION) });
    }
    if form > 1 {
        return invalid(6, InvalidProblem::UnknownForm { form });
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
        *versions = Some(compare::<false>(image, (at, bytes), &facts.versions)?);
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
    check.finish()?;
    if !check.newer() {
        check.zero(ROOT + root, first)?;
        if CANONICAL && check.cursor != size {
            return invalid(check.cursor, InvalidProblem::LeftOver { size, end: check.cursor });
        }
    }
    check.links_are_counted()?;
    Ok(versions)
}

/// Whether an image begins at a multiple of 16.
pub(crate) fn is_aligned(image: &[u8]) -> bool {
    image.as_ptr().addr().is_multiple_of(GRANULE as usize)
}

/// Returns an error for an image in an unsuitable version.
pub(crate) fn refuse(version: Option<(&'static str, u32, u32)>) -> Result<(), Invalid> {
    match version {
        None => Ok(()),
        Some((name, found, here)) => invalid(0, InvalidProblem::OtherVersion { name, found, here }),
    }
}
