//! The implementation of unions; `region_union` describes them.

use std::fmt;

use situ_layout::{Invalid, visit};

use crate::containers::key::Key;
use crate::image::check::Check;
use crate::image::lines::Lines;
use crate::image::writer::Writer;
use crate::memory::blocks::{Memory, MemoryMut};
use crate::memory::slide::Slide;
use crate::value::equal_walk::Equal;
use crate::value::handle::{Mut, Ref};
use crate::value::layout::{Field, Member, PackedUnion};
use crate::value::plain::put;
use crate::value::scalar::{Bool, Char};
use crate::value::show::Shown;
use crate::value::show_walk::{ShowWalk, short};
use crate::value::stored::Stored;

/// A type that can select a union's member: an integer, a character, a boolean or an enum.
pub trait Discriminator: Stored {
    /// The Rust type of the discriminator.
    type Value: visit::Discriminator;
    #[doc(hidden)]
    fn get(image: &[u8], at: u32) -> Self::Value;
    #[doc(hidden)]
    fn set(memory: MemoryMut<'_>, at: u32, value: Self::Value);
}

macro_rules! integers {
    ($($type:ty)*) => {$(
        impl Discriminator for $type {
            type Value = $type;
            fn get(image: &[u8], at: u32) -> $type {
                Self::view(image, at)
            }
            fn set(MemoryMut(memory): MemoryMut<'_>, at: u32, value: $type) {
                put(memory, at, value);
            }
        }
    )*};
}

integers! { u8 u16 u32 u64 i8 i16 i32 i64 }

impl Discriminator for Char {
    type Value = u8;
    fn get(image: &[u8], at: u32) -> u8 {
        image[at as usize]
    }
    fn set(MemoryMut(memory): MemoryMut<'_>, at: u32, value: u8) {
        put(memory, at, value);
    }
}

impl Discriminator for Bool {
    type Value = bool;
    fn get(image: &[u8], at: u32) -> bool {
        image[at as usize] != 0
    }
    fn set(MemoryMut(memory): MemoryMut<'_>, at: u32, value: bool) {
        put(memory, at, u8::from(value));
    }
}

/// The offset of the link to the header in a union with a discriminator of `discriminator` bytes.
#[doc(hidden)]
pub const fn union_region(discriminator: u32) -> u32 {
    if discriminator > 4 { 8 } else { 4 }
}

/// The offset of a union's members, its size and its alignment.
#[doc(hidden)]
pub const fn union_layout<D: Stored>(members: &[Member]) -> (u32, u32, u32) {
    let (mut size, mut align, mut i) = (0, 1, 0);
    while i < members.len() {
        if members[i].size > size {
            size = members[i].size;
        }
        if members[i].align > align {
            align = members[i].align;
        }
        i += 1;
    }
    let discriminator = D::SIZE;
    let value = (union_region(discriminator) + 4).next_multiple_of(align);
    let mut whole = if align > 4 { align } else { 4 };
    if discriminator > whole {
        whole = discriminator;
    }
    (value, (value + size).next_multiple_of(whole), whole)
}

/// Writes the lines of a case, whose offset is that of all cases.
#[doc(hidden)]
pub fn union_line<T: Stored>(
    lines: &mut Lines,
    of: &str,
    case: Field<T>,
    offset: u32,
    labels: &[i128],
    is_default: bool,
) {
    let mut labels = labels.to_vec();
    labels.sort_unstable();
    let mut all: Vec<_> = labels.iter().map(i128::to_string).collect();
    if is_default {
        all.push("default".to_owned());
    }
    lines.case::<T>(of, case.name, offset, &all.join(","));
}

/// A union: its cases, and which of them a discriminator selects.
#[doc(hidden)]
pub trait Union: Stored {
    type Discriminator: Discriminator;
    /// The offset of the members.
    const VALUE: u32;
    /// The layout in packed images.
    const PACKED: PackedUnion;
    /// The discriminator of a new union.
    const INITIAL: i128;

    /// The index of the selected case; the number of cases if none is selected.
    fn case(selected: Selected<Self>) -> u32;
    /// Visits the selected case. `None` if none is selected.
    fn visit_case<V: CaseVisitor>(selected: Selected<Self>, visitor: V) -> Option<V::Output>;
}

/// What is done with the selected case of a union.
#[doc(hidden)]
pub trait CaseVisitor {
    type Output;
    fn visit<T: Stored>(self, field: Field<T>) -> Self::Output;
}

struct Begin<'a>(MemoryMut<'a>, u32);
impl CaseVisitor for Begin<'_> {
    type Output = ();
    fn visit<T: Stored>(self, _: Field<T>) {
        T::begin(self.0, self.1);
    }
}

/// With the distance that the value was moved.
struct Moved<'a>(MemoryMut<'a>, u32, u32);
impl CaseVisitor for Moved<'_> {
    type Output = ();
    fn visit<T: Stored>(self, _: Field<T>) {
        T::moved(self.0, self.1, self.2);
    }
}

struct Slid<'a, 's>(&'a mut Slide<'s>, u32);
impl CaseVisitor for Slid<'_, '_> {
    type Output = ();
    fn visit<T: Stored>(self, _: Field<T>) {
        T::slide(self.0, self.1);
    }
}

struct Release<'a>(MemoryMut<'a>, u32);
impl CaseVisitor for Release<'_> {
    type Output = ();
    fn visit<T: Stored>(self, _: Field<T>) {
        T::release(self.0, self.1);
    }
}

/// From one offset to another.
struct Write<'a, 'w>(&'a mut Writer<'w>, u32, u32);
impl CaseVisitor for Write<'_, '_> {
    type Output = ();
    fn visit<T: Stored>(self, _: Field<T>) {
        T::write(self.0, self.1, self.2);
    }
}

/// Gives the size of the value.
struct Checked<'a, 'c, const CANONICAL: bool>(&'a mut Check<'c, CANONICAL>, u32);
impl<const CANONICAL: bool> CaseVisitor for Checked<'_, '_, CANONICAL> {
    type Output = Result<u32, Invalid>;
    fn visit<T: Stored>(self, field: Field<T>) -> Result<u32, Invalid> {
        T::check(self.0, self.1).map_err(|error| error.in_member(field.name))?;
        Ok(T::SIZE)
    }
}

/// The value of a union's discriminator.
#[doc(hidden)]
pub type Selected<U> = <<U as Union>::Discriminator as Discriminator>::Value;

/// The discriminator of the union at an offset.
#[doc(hidden)]
pub fn selected<U: Union>(image: &[u8], at: u32) -> Selected<U> {
    U::Discriminator::get(image, at)
}

/// The number that is compared with labels.
#[doc(hidden)]
pub fn union_case<U: Union>(value: Selected<U>) -> i128 {
    visit::Discriminator::raw(value)
}

const fn region<U: Union>() -> u32 {
    union_region(<U::Discriminator as Stored>::SIZE)
}

fn set_region<U: Union>(memory: &mut Memory, at: u32) {
    memory.set_u32(at + region::<U>(), at.wrapping_neg());
}

#[doc(hidden)]
pub fn union_begin<U: Union>(MemoryMut(memory): MemoryMut<'_>, at: u32) {
    set_region::<U>(memory, at);
    begin_value::<U>(memory, at, visit::Discriminator::from_raw(U::INITIAL));
}

/// Sets the discriminator of a union with zeroed members, and writes the default value of the selected
/// member.
fn begin_value<U: Union>(memory: &mut Memory, at: u32, value: Selected<U>) {
    U::Discriminator::set(MemoryMut(memory), at, value);
    U::visit_case(value, Begin(MemoryMut(memory), at + U::VALUE));
}

/// Makes a new union with this discriminator over any bytes that own no blocks. Returns the place of its
/// member.
#[doc(hidden)]
pub fn union_begin_at<U: Union>(MemoryMut(memory): MemoryMut<'_>, at: u32, value: Selected<U>) -> u32 {
    memory.zero(at, U::SIZE);
    set_region::<U>(memory, at);
    begin_value::<U>(memory, at, value);
    at + U::VALUE
}

/// As [`union_begin_at`], over an existing union. Returns the place of its member.
#[doc(hidden)]
pub fn union_renew<U: Union>(MemoryMut(memory): MemoryMut<'_>, at: u32, value: Selected<U>) -> u32 {
    U::release(MemoryMut(memory), at);
    memory.zero(at + U::VALUE, U::SIZE - U::VALUE);
    begin_value::<U>(memory, at, value);
    at + U::VALUE
}

#[doc(hidden)]
pub fn union_moved<U: Union>(MemoryMut(memory): MemoryMut<'_>, at: u32, distance: u32) {
    set_region::<U>(memory, at);
    let selected = selected::<U>(memory.bytes(), at);
    U::visit_case(selected, Moved(MemoryMut(memory), at + U::VALUE, distance));
}

#[doc(hidden)]
pub fn union_slide<U: Union>(slide: &mut Slide<'_>, at: u32) {
    slide.back_link(at, at + region::<U>());
    U::visit_case(selected::<U>(slide.image(), at), Slid(slide, at + U::VALUE));
}

#[doc(hidden)]
pub fn union_release<U: Union>(MemoryMut(memory): MemoryMut<'_>, at: u32) {
    U::visit_case(selected::<U>(memory.bytes(), at), Release(MemoryMut(memory), at + U::VALUE));
}

#[doc(hidden)]
pub fn union_write<U: Union>(writer: &mut Writer<'_>, from: u32, to: u32) {
    writer.put_u32(to + region::<U>(), to.wrapping_neg());
    writer.copy(from, to, <U::Discriminator as Stored>::SIZE);
    let selected = selected::<U>(writer.image(), from);
    U::visit_case(selected, Write(writer, from + U::VALUE, to + U::VALUE));
}

#[doc(hidden)]
pub fn union_check<U: Union, const CANONICAL: bool>(
    check: &mut Check<'_, CANONICAL>,
    at: u32,
) -> Result<(), Invalid> {
    let discriminator = <U::Discriminator as Stored>::SIZE;
    U::Discriminator::check(check, at).map_err(|error| error.in_member("discriminator"))?;
    check.zero(at + discriminator, at + region::<U>())?;
    check.back_link(at, at + region::<U>())?;
    check.zero(at + region::<U>() + 4, at + U::VALUE)?;
    let selected = selected::<U>(check.image(), at);
    let size = U::visit_case(selected, Checked(check, at + U::VALUE)).unwrap_or(Ok(0))?;
    check.zero(at + U::VALUE + size, at + U::SIZE)
}

/// Sets the discriminator. If it selects another member, the old one is released, and the new one begins with
/// its default value.
#[doc(hidden)]
pub fn union_select<U: Union>(union: &mut Mut<'_, U>, value: Selected<U>) {
    let at = union.at();
    if U::case(selected::<U>(union.as_ref().image(), at)) == U::case(value) {
        U::Discriminator::set(MemoryMut(union.memory()), at, value);
    } else {
        union_renew::<U>(MemoryMut(union.memory()), at, value);
    }
}

/// The discriminator of a union.
#[doc(hidden)]
pub fn union_discriminator<U: Union>(union: Ref<'_, U>) -> Selected<U> {
    selected::<U>(union.image(), union.at())
}

/// The value of the case with an index, if it is selected.
#[doc(hidden)]
pub fn union_member<U: Union, T: Stored>(union: Ref<'_, U>, index: u32) -> Option<Ref<'_, T>> {
    (U::case(union_discriminator(union)) == index).then(|| union.part(U::VALUE))
}

/// As [`union_member`], for changing it.
#[doc(hidden)]
pub fn union_member_mut<'a, U: Union, T: Stored>(
    union: &'a mut Mut<'_, U>,
    index: u32,
) -> Option<Mut<'a, T>> {
    (U::case(union_discriminator(union.as_ref())) == index).then(|| union.part(U::VALUE))
}

/// Prints the selected case of a union at this offset.
struct ShowCase<'r, 'w, 's, 'd, 'f>(&'w ShowWalk<'r>, u32, &'s mut fmt::DebugStruct<'d, 'f>);
impl CaseVisitor for ShowCase<'_, '_, '_, '_, '_> {
    type Output = ();
    fn visit<T: Stored>(self, field: Field<T>) {
        self.2.field(field.name, &Shown::<T>::new(self.0, self.1));
    }
}

/// Prints a union: its discriminator, and the selected case.
#[doc(hidden)]
pub fn union_show<U: Union>(walk: &ShowWalk<'_>, at: u32, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let name = U::kind();
    let mut to = f.debug_struct(short(&name));
    to.field("discriminator", &Shown::<U::Discriminator>::new(walk, at));
    U::visit_case(selected::<U>(walk.image(), at), ShowCase(walk, at + U::VALUE, &mut to));
    to.finish()
}

/// Compares the values of two unions that select the same case.
struct EqualCase<'e, 'a, 'b>(&'e mut Equal<'a, 'b>, u32, u32);

impl CaseVisitor for EqualCase<'_, '_, '_> {
    type Output = bool;
    fn visit<T: Stored>(self, _: Field<T>) -> bool {
        T::equals(self.0, self.1, self.2)
    }
}

/// Whether two unions have the same discriminator and equal values.
#[doc(hidden)]
pub fn union_equals<U: Union>(equal: &mut Equal<'_, '_>, a: u32, b: u32) -> bool {
    let [ours, theirs] = [selected::<U>(equal.a(), a), selected::<U>(equal.b(), b)];
    union_case::<U>(ours) == union_case::<U>(theirs)
        && U::visit_case(ours, EqualCase(equal, a + U::VALUE, b + U::VALUE)).unwrap_or(true)
}
