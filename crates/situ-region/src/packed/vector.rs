//! Vectors and arrays in packed images.

use std::marker::PhantomData;

use situ_layout::Invalid;

use crate::error::Full;
use crate::image::check::{Check, CheckBehind};
use crate::image::writer::{WriteBehind, Writer};
use crate::memory::blocks::{Memory, MemoryMut};
use crate::memory::granule::u32_at;
use crate::memory::later::Place;
use crate::packed::handle::{Packed, PackedValues};
use crate::packed::unpack::{UnpackBehind, Unpacker};
use crate::value::element::Of;
use crate::value::stored::Stored;

/// The elements of a vector in a packed image.
struct Elements<T>(PhantomData<fn() -> T>);

impl<T: Stored> WriteBehind for Elements<T> {
    fn write(writer: &mut Writer<'_>, [from, to, count]: Place) {
        writer.packed_elements::<T>(from, to, count);
    }
}

impl<T: Stored> CheckBehind for Elements<T> {
    fn check<const CANONICAL: bool>(
        check: &mut Check<'_, CANONICAL>,
        [first, count, _]: Place,
    ) -> Result<(), Invalid> {
        check.packed_elements::<T>(first, count)
    }
}

impl<T: Stored> UnpackBehind for Elements<T> {
    fn unpack(
        unpacker: &mut Unpacker<'_>,
        memory: &mut Memory,
        [from, to, count]: Place,
    ) -> Result<(), Full> {
        unpacker.elements::<T>(memory, from, to, count)
    }
}

impl Writer<'_> {
    /// Writes consecutive values.
    pub(crate) fn packed_elements<T: Stored>(&mut self, from: u32, to: u32, count: u32) {
        if T::LINKS {
            (0..count).for_each(|i| T::pack(self, from + i * T::SIZE, to + i * T::PACKED_SIZE));
        } else {
            self.elements(Of::<T>::TYPE, from, to, count);
        }
    }
}

impl<const CANONICAL: bool> Check<'_, CANONICAL> {
    /// Checks consecutive values.
    pub(crate) fn packed_elements<T: Stored>(&mut self, at: u32, count: u32) -> Result<(), Invalid> {
        if !T::LINKS {
            return self.elements::<T>(at, count);
        }
        (0..count).try_for_each(|i| {
            T::check_packed(self, at + i * T::PACKED_SIZE).map_err(|error| error.in_element(i))
        })
    }
}

impl Unpacker<'_> {
    /// Unpacks the elements of a vector, whose links are the next level.
    pub(crate) fn vector<T: Stored>(
        &mut self,
        memory: &mut Memory,
        from: u32,
        to: u32,
        count: u32,
    ) -> Result<(), Full> {
        if !T::LINKS {
            return self.elements::<T>(memory, from, to, count);
        }
        (0..count).for_each(|i| T::begin(MemoryMut(memory), to + i * T::SIZE));
        self.behind::<Elements<T>>(memory, [from, to, count])
    }

    /// Unpacks consecutive values.
    pub(crate) fn elements<T: Stored>(
        &mut self,
        memory: &mut Memory,
        from: u32,
        to: u32,
        count: u32,
    ) -> Result<(), Full> {
        if !T::LINKS {
            self.copy(memory, from, to, count * T::SIZE);
            return Ok(());
        }
        (0..count)
            .try_for_each(|i| T::unpack(self, MemoryMut(memory), to + i * T::SIZE, from + i * T::PACKED_SIZE))
    }
}

/// Writes a vector of the `count` elements at `from`.
pub(crate) fn pack<T: Stored>(writer: &mut Writer<'_>, from: u32, count: u32, to: u32) {
    if count == 0 {
        return;
    }
    writer.packed_link(to, 1);
    writer.packed_length(count);
    let place = writer.packed_room(count * T::PACKED_SIZE, T::PACKED_ALIGN);
    if T::LINKS {
        writer.linked::<Elements<T>>([from, place, count]);
    } else {
        writer.elements(Of::<T>::TYPE, from, place, count);
    }
}

/// Takes a block of any number of elements.
#[cold]
#[inline(never)]
fn many<T: Stored, const CANONICAL: bool>(
    check: &mut Check<'_, CANONICAL>,
    at: u32,
) -> Result<(u32, u32), Invalid> {
    check.packed_link(at, 1)?;
    let count = check.packed_length(1)?;
    let bytes = u64::from(count) * u64::from(T::PACKED_SIZE);
    Ok((check.packed_room(at, bytes, T::PACKED_ALIGN)?, count))
}

#[inline]
pub(crate) fn check<T: Stored, const CANONICAL: bool>(
    check: &mut Check<'_, CANONICAL>,
    at: u32,
) -> Result<(), Invalid> {
    if u32_at(check.image(), at) == 0 {
        return Ok(());
    }
    let (place, count) = match check.packed_few(at, T::PACKED_SIZE, T::PACKED_ALIGN) {
        Some(few) => few,
        None => many::<T, CANONICAL>(check, at)?,
    };
    if T::LINKS {
        check.behind::<Elements<T>>(at, [place, count, 0])
    } else {
        check.elements::<T>(place, count)
    }
}

impl<'r, T: Stored, const N: usize> Packed<'r, [T; N]> {
    /// An element, if there is one of that index.
    #[inline]
    pub fn get(self, index: usize) -> Option<Packed<'r, T>> {
        (index < N).then(|| Packed::new(self.image(), self.at() + index as u32 * T::PACKED_SIZE))
    }

    /// The elements.
    #[inline]
    pub fn iter(self) -> PackedValues<'r, T> {
        PackedValues::new(self.image(), self.at(), N as u32)
    }
}
