//! A packed image as a whole: its header, and how it is written, checked and unpacked.

use situ_layout::{Invalid, InvalidProblem};

use crate::error::{BufferError, Full, invalid};
use crate::image::canonical::image_of;
use crate::image::check::Check;
use crate::image::checked::{is_aligned, refuse};
use crate::image::header::{MAGIC, VERSION, schema_hash};
use crate::image::versions::{Versions, compare, table_size};
use crate::image::writer::Writer;
use crate::memory::blocks::{Memory, MemoryMut};
use crate::memory::granule::{MAX_SIZE, ROOT, u32_at};
use crate::packed::handle::Packed;
use crate::packed::unpack::Unpacker;
use crate::value::stored::Stored;

/// The size of the header: the offset of the table of versions, or of the root.
pub(crate) const FIRST: u32 = 32;

/// The form of packed images.
const PACKED: u8 = 2;

/// The offset of the root behind a table of `table` bytes.
const fn root_behind<T: Stored>(table: u32) -> u32 {
    (FIRST + table).next_multiple_of(T::PACKED_ALIGN)
}

/// Whether bytes begin like a packed image.
pub(crate) fn is_packed(image: &[u8]) -> bool {
    image.len() > 6 && image[..4] == MAGIC.to_le_bytes() && image[6] == PACKED
}

/// Writes the packed image of a region's image. Returns its size; if the buffer is smaller, the size is the
/// error.
pub(crate) fn write_packed<T: Stored>(from: &[u8], to: &mut [u8]) -> Result<usize, usize> {
    let (found, facts) = (to.len(), T::facts());
    let table = &facts.packed_table;
    let root = root_behind::<T>(table.len() as u32);
    let mut writer = Writer::new(from, to, root);
    writer.put_bytes(FIRST, table);
    let at = writer.packed_room(T::PACKED_SIZE, 1);
    writer.packed_whole::<T>(ROOT, at);
    let size = writer.end as usize;
    if size > found {
        return Err(size);
    }
    put_packed_header(to, [schema_hash::<T>(facts), facts.layout], size as u32, root);
    Ok(size)
}

/// Writes the header of a packed image of `size` bytes, with the schema hash and the layout hash. The image
/// is zero there.
pub(crate) fn put_packed_header(image: &mut [u8], [schema, layout]: [u64; 2], size: u32, root: u32) {
    let header = &mut image[..FIRST as usize];
    header[..4].copy_from_slice(&MAGIC.to_le_bytes());
    header[4] = VERSION;
    header[6] = PACKED;
    header[8..16].copy_from_slice(&schema.to_le_bytes());
    header[16..24].copy_from_slice(&layout.to_le_bytes());
    header[24..28].copy_from_slice(&size.to_le_bytes());
    header[28..32].copy_from_slice(&root.to_le_bytes());
}

impl Writer<'_> {
    /// Writes a value with everything that it holds.
    fn packed_whole<T: Stored>(&mut self, from: u32, to: u32) {
        T::pack(self, from, to);
        self.rest();
    }
}

/// As [`write_packed`], as a result for callers.
pub(crate) fn packed_into<T: Stored>(from: &[u8], to: &mut [u8]) -> Result<usize, BufferError> {
    let found = to.len();
    write_packed::<T>(from, to).map_err(|least| BufferError::TooSmall { found, least })
}

/// The packed image, in memory that `make` returns.
pub(crate) fn packed_image<T: Stored, E>(
    from: &[u8],
    make: impl Fn(usize) -> Result<Vec<u8>, E>,
) -> Result<Vec<u8>, E> {
    image_of(from.len(), |to| write_packed::<T>(from, to), make)
}

/// A checked packed image.
pub(crate) struct Checked<'a> {
    image: &'a [u8],
    root: u32,
    versions: Option<Versions>,
}

/// Checks a packed image of a `T` at any address.
pub(crate) fn check_packed<T: Stored>(image: &[u8]) -> Result<Checked<'_>, Invalid> {
    let (facts, there) = (T::facts(), image.len() as u64);
    let least = u64::from(FIRST) + if T::APPENDABLE { 0 } else { u64::from(T::PACKED_SIZE) };
    let Some(header) = image.first_chunk::<{ FIRST as usize }>().filter(|_| there >= least) else {
        return invalid(0, InvalidProblem::TooSmall { found: there, least });
    };
    if u32_at(header, 0) != MAGIC {
        return invalid(0, InvalidProblem::NotARegion);
    }
    let version = u16::from_le_bytes([header[4], header[5]]);
    if version != u16::from(VERSION) {
        return invalid(4, InvalidProblem::OtherFormat { found: version, here: u16::from(VERSION) });
    }
    if header[6] != PACKED {
        return invalid(6, InvalidProblem::NotPacked { form: header[6] });
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
    if u64::from(size) < least || u64::from(size) > there || size > MAX_SIZE {
        return invalid(24, InvalidProblem::WrongSize { found: size, there });
    }
    let image = &image[..size as usize];
    let (mut table, mut versions) = (0, None);
    if !facts.packed_table.is_empty() {
        table = table_size(image, FIRST)
            .map_or_else(|| invalid(FIRST, InvalidProblem::BadVersions { at: FIRST }), Ok)?;
        if image[FIRST as usize..][..table as usize] != facts.packed_table {
            versions = Some(compare::<true>(image, (FIRST, table), &facts.versions)?);
        }
    }
    let root = root_behind::<T>(table);
    if u32_at(header, 28) != root {
        return invalid(28, InvalidProblem::Outside { to: i64::from(u32_at(header, 28)), size });
    }
    let mut check = Check::<true>::new(image, &mut []);
    check.versions = versions.as_ref();
    check.cursor = FIRST + table;
    let bytes = check.packed_size::<T>(root)?;
    check.packed_room(root, u64::from(bytes), T::PACKED_ALIGN)?;
    T::check_packed(&mut check, root)?;
    check.finish()?;
    check.weak_links_lead_to_values()?;
    if !check.newer() && check.cursor != size {
        return invalid(check.cursor, InvalidProblem::LeftOver { size, end: check.cursor });
    }
    Ok(Checked { image, root, versions })
}

/// The value of a packed image, to be read in place. Everything in the image is checked first. It must begin
/// at a multiple of 16.
pub fn view_packed<T: Stored>(image: &[u8]) -> Result<Packed<'_, T>, Invalid> {
    if !is_aligned(image) {
        return invalid(0, InvalidProblem::MisalignedImage);
    }
    let checked = check_packed::<T>(image)?;
    refuse(checked.versions.and_then(|versions| versions.fewer))?;
    Ok(Packed::new(checked.image, checked.root))
}

impl Unpacker<'_> {
    /// Unpacks the value at `from`, with everything that it holds, over the default value at `at`.
    pub(crate) fn whole<T: Stored>(&mut self, memory: &mut Memory, at: u32, from: u32) -> Result<(), Full> {
        T::unpack(self, MemoryMut(memory), at, from)?;
        while let Some((visit, place)) = self.later.next() {
            visit(self, memory, place)?;
        }
        self.link_weak(memory);
        Ok(())
    }
}

impl Checked<'_> {
    /// Writes the value over the default value of a region.
    pub(crate) fn unpack<T: Stored>(&self, memory: &mut Memory) -> Result<(), Full> {
        Unpacker::new(self.image, self.versions.as_ref()).whole::<T>(memory, ROOT, self.root)
    }
}
