//! Optional values, and unique and shared links, in packed images.

use std::marker::PhantomData;

use situ_layout::Invalid;

use crate::error::Full;
use crate::image::check::{Check, CheckBehind};
use crate::image::writer::{WriteBehind, Writer};
use crate::memory::blocks::{Memory, MemoryMut};
use crate::memory::granule::{target, u32_at};
use crate::memory::later::Place;
use crate::packed::handle::Packed;
use crate::packed::place::EMPTY;
use crate::packed::unpack::{UnpackBehind, Unpacker};
use crate::value::layout::LINK;
use crate::value::stored::Stored;

/// The value behind a unique or shared link.
struct One<T>(PhantomData<fn() -> T>);

impl<T: Stored> WriteBehind for One<T> {
    fn write(writer: &mut Writer<'_>, [from, to, _]: Place) {
        T::pack(writer, from, to);
    }
}

impl<T: Stored> CheckBehind for One<T> {
    fn check<const CANONICAL: bool>(
        check: &mut Check<'_, CANONICAL>,
        [at, ..]: Place,
    ) -> Result<(), Invalid> {
        T::check_packed(check, at)
    }
}

impl<T: Stored> UnpackBehind for One<T> {
    fn unpack(unpacker: &mut Unpacker<'_>, memory: &mut Memory, [from, to, _]: Place) -> Result<(), Full> {
        T::unpack(unpacker, MemoryMut(memory), to, from)
    }
}

impl Writer<'_> {
    /// Places a value, and sets the link at `at` to it.
    pub(crate) fn packed_value<T: Stored>(&mut self, at: u32) -> u32 {
        let place = self.packed_link(at, T::PACKED_ALIGN);
        self.packed_room(T::PACKED_SIZE, 1);
        place
    }
}

impl<const CANONICAL: bool> Check<'_, CANONICAL> {
    /// Takes the value to which the link at `at` leads.
    pub(crate) fn packed_value<T: Stored>(&mut self, at: u32) -> Result<u32, Invalid> {
        let bytes = u64::from(self.packed_size::<T>(at)?);
        self.packed_link(at, T::PACKED_ALIGN)?;
        self.packed_room(at, bytes, 1)
    }
}

/// How an optional of a `T` holds its value.
pub(crate) struct Optional<T>(PhantomData<fn() -> T>);

impl<T: Stored> Optional<T> {
    /// A value of less than four bytes lies behind a flag, others behind a link. The link of a container is
    /// also that of the optional.
    const IS_INSIDE: bool = T::PACKED_SIZE < LINK;
    pub(crate) const SIZE: u32 = if Self::IS_INSIDE { T::PACKED_ALIGN + T::PACKED_SIZE } else { LINK };
    pub(crate) const ALIGN: u32 = if Self::IS_INSIDE { T::PACKED_ALIGN } else { 1 };
}

/// Writes an optional that has the value at `value`.
pub(crate) fn pack_maybe<T: Stored>(writer: &mut Writer<'_>, value: u32, to: u32) {
    if T::IS_PACKED_LINK {
        if T::is_empty(writer.image(), value) {
            writer.put_u32(to, EMPTY);
        } else {
            T::pack(writer, value, to);
        }
    } else if Optional::<T>::IS_INSIDE {
        writer.put_byte(to, 1);
        T::pack(writer, value, to + T::PACKED_ALIGN);
    } else {
        let place = writer.packed_value::<T>(to);
        T::pack(writer, value, place);
    }
}

pub(crate) fn check_maybe<T: Stored, const CANONICAL: bool>(
    check: &mut Check<'_, CANONICAL>,
    at: u32,
) -> Result<(), Invalid> {
    if Optional::<T>::IS_INSIDE {
        check.flag(at)?;
        if check.image()[at as usize] == 0 {
            return check.zero(at + 1, at + Optional::<T>::SIZE);
        }
        check.zero(at + 1, at + T::PACKED_ALIGN)?;
        return T::check_packed(check, at + T::PACKED_ALIGN);
    }
    let link = u32_at(check.image(), at);
    if link == 0 || (T::IS_PACKED_LINK && link == EMPTY) {
        return Ok(());
    }
    if T::IS_PACKED_LINK {
        return T::check_packed(check, at);
    }
    let place = check.packed_value::<T>(at)?;
    T::check_packed(check, place)
}

/// The place of an optional's value.
#[inline]
pub(crate) fn value_of<T: Stored>(image: &[u8], at: u32) -> Option<u32> {
    if Optional::<T>::IS_INSIDE {
        return (image[at as usize] != 0).then_some(at + T::PACKED_ALIGN);
    }
    let link = u32_at(image, at);
    (link != 0).then(|| if T::IS_PACKED_LINK { at } else { at.wrapping_add(link) })
}

pub(crate) fn pack_unique<T: Stored>(writer: &mut Writer<'_>, from: u32, to: u32) {
    let value = target(writer.image(), from);
    if value != from {
        let place = writer.packed_value::<T>(to);
        writer.linked::<One<T>>([value, place, 0]);
    }
}

pub(crate) fn check_unique<T: Stored, const CANONICAL: bool>(
    check: &mut Check<'_, CANONICAL>,
    at: u32,
) -> Result<(), Invalid> {
    if u32_at(check.image(), at) == 0 {
        return Ok(());
    }
    let place = check.packed_value::<T>(at)?;
    check.behind::<One<T>>(at, [place, 0, 0])
}

/// The target of the link at `at`, if it has one.
#[inline]
pub(crate) fn linked<T: Stored>(image: &[u8], at: u32) -> Option<Packed<'_, T>> {
    let to = target(image, at);
    (to != at).then(|| Packed::new(image, to))
}

impl Unpacker<'_> {
    /// Unpacks the value at `from` of the image behind a link, to `to` in the region.
    pub(crate) fn value<T: Stored>(&mut self, memory: &mut Memory, from: u32, to: u32) -> Result<(), Full> {
        self.behind::<One<T>>(memory, [from, to, 0])
    }
}

/// Writes a shared link to the value at `offset` of its block.
pub(crate) fn pack_shared<T: Stored>(writer: &mut Writer<'_>, from: u32, to: u32, offset: u32) {
    let block = target(writer.image(), from);
    if block == from {
        return;
    }
    if let Some(place) = writer.shared.get(&block).copied() {
        writer.put_u32(to, place.wrapping_sub(to));
        return;
    }
    let place = writer.packed_value::<T>(to);
    writer.shared.insert(block, place);
    writer.linked::<One<T>>([block + offset, place, 0]);
}

pub(crate) fn check_shared<T: Stored, const CANONICAL: bool>(
    check: &mut Check<'_, CANONICAL>,
    at: u32,
) -> Result<(), Invalid> {
    let to = target(check.image(), at);
    if to == at || check.shared_again::<T>(at, to)? {
        return Ok(());
    }
    let place = check.packed_value::<T>(at)?;
    // The numbers of links are not in the image.
    check.shared_first::<T, One<T>>(at, (place, [0; 2]), [place, 0, 0])
}
