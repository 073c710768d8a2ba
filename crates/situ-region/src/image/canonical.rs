//! Writes the canonical image of a region: header, table of versions, and the value in a compacting copy.

use situ_layout::{Invalid, InvalidProblem};

use crate::error::invalid;
use crate::image::checked::Checked;
use crate::image::header::{first_size, table_place, write_header};
use crate::image::versions::Versions;
use crate::image::writer::Writer;
use crate::memory::granule::ROOT;
use crate::value::stored::Stored;

pub(crate) fn no_memory<T>(bytes: usize) -> Result<T, Invalid> {
    invalid(0, InvalidProblem::NoMemory { bytes: bytes as u64 })
}

/// `len` zeros, for a length that comes from outside.
pub(crate) fn zeros(len: usize) -> Result<Vec<u8>, Invalid> {
    let mut bytes = Vec::new();
    bytes.try_reserve_exact(len).or_else(|_| no_memory(len))?;
    bytes.resize(len, 0);
    Ok(bytes)
}

/// The canonical image of an image in another version, without its unknown members.
pub(crate) fn rewritten<T: Stored>(checked: &Checked<'_, '_>) -> Result<Option<Vec<u8>>, Invalid> {
    let Some(versions) = &checked.versions else { return Ok(None) };
    canonical_image::<T, _>(checked.image, Some(versions), zeros).map(Some)
}

/// The canonical image, in zeroed memory that `make` returns.
pub(crate) fn canonical_image<T: Stored, E>(
    from: &[u8],
    versions: Option<&Versions>,
    make: impl Fn(usize) -> Result<Vec<u8>, E>,
) -> Result<Vec<u8>, E> {
    image_of(from.len(), |to| write_canonical::<T>(from, versions, to), make)
}

/// The image that `write` writes, in zeroed memory that `make` returns, of `len` bytes if it fits. `write`
/// returns the size of the image; if the buffer is smaller, the size is the error.
pub(crate) fn image_of<E>(
    len: usize,
    write: impl Fn(&mut [u8]) -> Result<usize, usize>,
    make: impl Fn(usize) -> Result<Vec<u8>, E>,
) -> Result<Vec<u8>, E> {
    let mut image = make(len)?;
    let size = match write(&mut image) {
        Ok(size) => size,
        Err(size) => {
            image = make(size)?;
            // There is room here.
            write(&mut image).unwrap_or(size)
        }
    };
    image.truncate(size);
    Ok(image)
}

/// Writes the canonical image. Returns its size; if the buffer is smaller, the size is the error.
pub(crate) fn write_canonical<T: Stored>(
    from: &[u8],
    versions: Option<&Versions>,
    to: &mut [u8],
) -> Result<usize, usize> {
    let found = to.len();
    let mut writer = Writer::new(from, to, first_size::<T>());
    writer.versions = versions;
    writer.put_bytes(table_place::<T>(), &T::facts().table);
    writer.whole::<T>(ROOT, ROOT);
    let size = writer.end();
    if size as usize > found {
        return Err(size as usize);
    }
    write_header::<T>(to, 0, size);
    Ok(size as usize)
}
