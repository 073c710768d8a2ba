//! Numbers, booleans, characters and arrays in a region.

use std::fmt::{self, Debug};

use situ_layout::Invalid;

use crate::error::Full;
use crate::image::check::{Check, any_bits};
use crate::image::lines::Lines;
use crate::image::writer::Writer;
use crate::memory::blocks::MemoryMut;
use crate::memory::slide::Slide;
use crate::packed::unpack::Unpacker;
use crate::value::assign::Assign;
use crate::value::element::Of;
use crate::value::equal_walk::Equal;
use crate::value::handle::Ref;
use crate::value::plain::{Plain, plain_slice, put};
use crate::value::show::{Shown, show_plain};
use crate::value::show_walk::ShowWalk;
use crate::value::stored::{Stored, fixed};

macro_rules! number {
    ($($type:ty, $kind:literal;)*) => {$(
        impl Stored for $type {
            const SIZE: u32 = size_of::<$type>() as u32;
            const ALIGN: u32 = align_of::<$type>() as u32;
            const LINKS: bool = false;
            const DENSE: bool = true;
            const ANY: bool = true;
            fn kind() -> String {
                $kind.to_owned()
            }
            #[inline]
            fn write(writer: &mut Writer<'_>, from: u32, to: u32) {
                writer.copy(from, to, Self::SIZE);
            }
            #[inline]
            fn check<const CANONICAL: bool>(_: &mut Check<'_, CANONICAL>, _: u32) -> Result<(), Invalid> {
                Ok(())
            }
            fn show(walk: &ShowWalk<'_>, at: u32, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                show_plain::<Self>(walk, at, f)
            }
            #[inline]
            fn equals(equal: &mut Equal<'_, '_>, a: u32, b: u32) -> bool {
                Self::all_equal(equal, a, b, 1)
            }
            fn all_equal(equal: &mut Equal<'_, '_>, a: u32, b: u32, count: u32) -> bool {
                plain_slice::<Self>(equal.a(), a, count) == plain_slice::<Self>(equal.b(), b, count)
            }
        }

        // SAFETY: numbers have no padding, and any bytes are valid.
        unsafe impl Plain for $type {}
    )*};
}

number! {
    u8, "uint8"; u16, "uint16"; u32, "uint32"; u64, "uint64";
    i8, "int8"; i16, "int16"; i32, "int32"; i64, "int64";
    f32, "float"; f64, "double";
}

/// A boolean in a region: one byte, 0 or 1. The type is only a name; see [`Mut::set`](crate::Mut::set).
pub enum Bool {}

impl Stored for Bool {
    const SIZE: u32 = 1;
    const ALIGN: u32 = 1;
    const LINKS: bool = false;
    const DENSE: bool = true;
    const ANY: bool = false;
    fn kind() -> String {
        "boolean".to_owned()
    }
    #[inline]
    fn write(writer: &mut Writer<'_>, from: u32, to: u32) {
        writer.copy(from, to, 1);
    }
    #[inline]
    fn check<const CANONICAL: bool>(check: &mut Check<'_, CANONICAL>, at: u32) -> Result<(), Invalid> {
        check.flag(at)
    }
    #[inline]
    fn check_all<const CANONICAL: bool>(
        check: &mut Check<'_, CANONICAL>,
        at: u32,
        count: u32,
    ) -> Result<(), Invalid> {
        // Checks all at once first: nearly always, all are booleans.
        const ONES: u64 = u64::MAX / 0xff;
        if any_bits(&check.image()[at as usize..][..count as usize]) & !ONES == 0 {
            return Ok(());
        }
        (0..count).try_for_each(|i| check.flag(at + i).map_err(|error| error.in_element(i)))
    }
    fn show(walk: &ShowWalk<'_>, at: u32, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (walk.image()[at as usize] != 0).fmt(f)
    }
}

impl Assign<bool> for Bool {
    const IN_PLACE: bool = true;

    #[inline]
    fn put_all(image: &mut [u8], at: u32, values: &[bool]) {
        let bytes = &mut image[at as usize..][..values.len()];
        for (byte, value) in bytes.iter_mut().zip(values) {
            *byte = u8::from(*value);
        }
    }
    #[inline]
    fn assign(MemoryMut(memory): MemoryMut<'_>, at: u32, value: bool) -> Result<(), Full> {
        put(memory, at, u8::from(value));
        Ok(())
    }
}

impl Ref<'_, Bool> {
    /// The value of the boolean.
    #[inline]
    pub fn get(self) -> bool {
        self.image()[self.at() as usize] != 0
    }
}

/// A character of one byte, the IDL type `char`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
#[repr(transparent)]
pub struct Char(
    /// The byte.
    pub u8,
);

impl Stored for Char {
    const SIZE: u32 = 1;
    const ALIGN: u32 = 1;
    const LINKS: bool = false;
    const DENSE: bool = true;
    const ANY: bool = true;
    fn kind() -> String {
        "char".to_owned()
    }
    #[inline]
    fn write(writer: &mut Writer<'_>, from: u32, to: u32) {
        writer.copy(from, to, 1);
    }
    #[inline]
    fn check<const CANONICAL: bool>(_: &mut Check<'_, CANONICAL>, _: u32) -> Result<(), Invalid> {
        Ok(())
    }
    fn show(walk: &ShowWalk<'_>, at: u32, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "b'{}'", std::ascii::escape_default(walk.image()[at as usize]))
    }
}

// SAFETY: a byte has no padding, and any byte is valid.
unsafe impl Plain for Char {}

impl<T: Stored, const N: usize> Stored for [T; N] {
    const SIZE: u32 = {
        fixed::<T>();
        assert!(N != 0, "an array of a region has at least one element");
        assert!(
            N as u64 <= u32::MAX as u64,
            "an array of a region has at most so many elements as 32 bits count"
        );
        T::SIZE * N as u32
    };
    const ALIGN: u32 = T::ALIGN;
    const LINKS: bool = T::LINKS;
    const DENSE: bool = T::DENSE;
    const ANY: bool = T::ANY;
    const PACKED_SIZE: u32 = T::PACKED_SIZE * N as u32;
    const PACKED_ALIGN: u32 = T::PACKED_ALIGN;
    fn kind() -> String {
        format!("array[{N}]")
    }
    fn inner(lines: &mut Lines, path: &str) {
        lines.value::<T>(&format!("{path}[]"), 0);
    }
    fn needed(lines: &mut Lines) {
        T::needed(lines);
    }
    fn begin(MemoryMut(memory): MemoryMut<'_>, at: u32) {
        (0..N as u32).for_each(|i| T::begin(MemoryMut(memory), at + i * T::SIZE));
    }
    fn moved(MemoryMut(memory): MemoryMut<'_>, at: u32, distance: u32) {
        (0..N as u32).for_each(|i| T::moved(MemoryMut(memory), at + i * T::SIZE, distance));
    }
    fn slide(slide: &mut Slide<'_>, at: u32) {
        slide.elements::<T>(at, N as u32);
    }
    fn release(MemoryMut(memory): MemoryMut<'_>, at: u32) {
        (0..N as u32).for_each(|i| T::release(MemoryMut(memory), at + i * T::SIZE));
    }
    #[inline]
    fn write(writer: &mut Writer<'_>, from: u32, to: u32) {
        writer.elements(Of::<T>::TYPE, from, to, N as u32);
    }
    fn pack(writer: &mut Writer<'_>, from: u32, to: u32) {
        writer.packed_elements::<T>(from, to, N as u32);
    }
    fn check_packed<const CANONICAL: bool>(check: &mut Check<'_, CANONICAL>, at: u32) -> Result<(), Invalid> {
        check.packed_elements::<T>(at, N as u32)
    }
    fn unpack(
        unpacker: &mut Unpacker<'_>,
        MemoryMut(memory): MemoryMut<'_>,
        at: u32,
        from: u32,
    ) -> Result<(), Full> {
        unpacker.elements::<T>(memory, from, at, N as u32)
    }
    #[inline]
    fn check<const CANONICAL: bool>(check: &mut Check<'_, CANONICAL>, at: u32) -> Result<(), Invalid> {
        check.elements::<T>(at, N as u32)
    }
    fn show(walk: &ShowWalk<'_>, at: u32, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries((0..N as u32).map(|i| Shown::<T>::new(walk, at + i * T::SIZE))).finish()
    }
    fn equals(equal: &mut Equal<'_, '_>, a: u32, b: u32) -> bool {
        T::all_equal(equal, a, b, N as u32)
    }
}

// SAFETY: an array of values without padding has none, and any bytes are valid if that holds for its
// elements.
unsafe impl<T: Plain, const N: usize> Plain for [T; N] {}
