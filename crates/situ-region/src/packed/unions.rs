//! Unions in packed images.

use situ_layout::Invalid;

use crate::containers::union::{CaseVisitor, Discriminator, Selected, Union, selected, union_renew};
use crate::error::Full;
use crate::image::check::Check;
use crate::image::writer::Writer;
use crate::memory::blocks::MemoryMut;
use crate::memory::granule::target;
use crate::packed::handle::Packed;
use crate::packed::unpack::Unpacker;
use crate::value::layout::{Field, LINK};
use crate::value::stored::Stored;

struct Pack<'a, 'w, U>(&'a mut Writer<'w>, u32, u32, std::marker::PhantomData<U>);
impl<U: Union> CaseVisitor for Pack<'_, '_, U> {
    type Output = ();
    fn visit<T: Stored>(self, _: Field<T>) {
        let Self(writer, from, to, _) = self;
        let value = to + U::PACKED.value;
        let place = if U::PACKED.is_inside { value } else { writer.packed_value::<T>(value) };
        T::pack(writer, from + U::VALUE, place);
    }
}

/// Gives the end of the value in the union.
struct Checked<'a, 'c, U, const CANONICAL: bool>(
    &'a mut Check<'c, CANONICAL>,
    u32,
    std::marker::PhantomData<U>,
);
impl<U: Union, const CANONICAL: bool> CaseVisitor for Checked<'_, '_, U, CANONICAL> {
    type Output = Result<u32, Invalid>;
    fn visit<T: Stored>(self, field: Field<T>) -> Result<u32, Invalid> {
        let Self(check, at, _) = self;
        let value = at + U::PACKED.value;
        let (place, end) = if U::PACKED.is_inside {
            (value, value + T::PACKED_SIZE)
        } else {
            let place = check.packed_value::<T>(value).map_err(|error| error.in_member(field.name))?;
            (place, value + LINK)
        };
        T::check_packed(check, place).map_err(|error| error.in_member(field.name))?;
        Ok(end)
    }
}

struct Unpack<'a, 'i, 'm, U>(&'a mut Unpacker<'i>, MemoryMut<'m>, u32, u32, std::marker::PhantomData<U>);
impl<U: Union> CaseVisitor for Unpack<'_, '_, '_, U> {
    type Output = Result<(), Full>;
    fn visit<T: Stored>(self, _: Field<T>) -> Result<(), Full> {
        let Self(unpacker, memory, at, from, _) = self;
        T::unpack(unpacker, memory, at, value_of::<U>(unpacker.image(), from))
    }
}

/// The place of the value of a union that has one.
#[inline]
fn value_of<U: Union>(image: &[u8], at: u32) -> u32 {
    let value = at + U::PACKED.value;
    if U::PACKED.is_inside { value } else { target(image, value) }
}

#[doc(hidden)]
pub fn union_pack<U: Union>(writer: &mut Writer<'_>, from: u32, to: u32) {
    writer.copy(from, to, <U::Discriminator as Stored>::SIZE);
    let selected = selected::<U>(writer.image(), from);
    U::visit_case(selected, Pack::<U>(writer, from, to, std::marker::PhantomData));
}

#[doc(hidden)]
pub fn union_check_packed<U: Union, const CANONICAL: bool>(
    check: &mut Check<'_, CANONICAL>,
    at: u32,
) -> Result<(), Invalid> {
    U::Discriminator::check(check, at).map_err(|error| error.in_member("discriminator"))?;
    check.zero(at + <U::Discriminator as Stored>::SIZE, at + U::PACKED.value)?;
    let selected = selected::<U>(check.image(), at);
    let checked = U::visit_case(selected, Checked::<U, CANONICAL>(check, at, std::marker::PhantomData));
    let end = checked.unwrap_or(Ok(at + U::PACKED.value))?;
    check.zero(end, at + U::PACKED.size)
}

#[doc(hidden)]
pub fn union_unpack<U: Union>(
    unpacker: &mut Unpacker<'_>,
    mut memory: MemoryMut<'_>,
    at: u32,
    from: u32,
) -> Result<(), Full> {
    let selected = selected::<U>(unpacker.image(), from);
    let place = union_renew::<U>(memory.reborrow(), at, selected);
    let unpacked =
        U::visit_case(selected, Unpack::<U>(unpacker, memory, place, from, std::marker::PhantomData));
    unpacked.unwrap_or(Ok(()))
}

/// The discriminator of a union.
#[doc(hidden)]
pub fn packed_discriminator<U: Union>(union: Packed<'_, U>) -> Selected<U> {
    U::Discriminator::get(union.image(), union.at())
}

/// The value of the case with an index, if it is selected.
#[doc(hidden)]
pub fn packed_member<U: Union, T: Stored>(union: Packed<'_, U>, index: u32) -> Option<Packed<'_, T>> {
    let is_selected = U::case(packed_discriminator(union)) == index;
    is_selected.then(|| Packed::new(union.image(), value_of::<U>(union.image(), union.at())))
}
