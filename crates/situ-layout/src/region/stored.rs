//! Types whose values may lie in a region: their size, and how values are moved, freed, copied and checked.
//! No container is ever a Rust value; the container types are names for values at an offset.

use super::check::{Check, any_bits};
use super::copy::Writer;
use super::error::{Full, Invalid};
use super::handle::Mut;
use super::layout::{Facts, Lines, facts_of_any};
use super::memory::{Memory, MemoryMut};
use super::slide::Slide;

/// A type whose values lie in regions. All functions identify a value by its offset from the header.
pub trait Stored: Sized + 'static {
    /// The size in bytes, a multiple of the alignment.
    const SIZE: u32;
    /// The alignment in bytes, at most 16.
    const ALIGN: u32;
    /// Whether values contain links, which change when the value moves.
    const LINKS: bool;
    /// Whether values may be copied as bytes into a canonical image: no links, no padding.
    const DENSE: bool;
    /// Whether any bytes are a valid value.
    const ANY: bool;
    /// The hash of the schema that declares the type; 0 if none does.
    const SCHEMA_HASH: u64 = 0;

    /// Whether members can be appended. Such a struct is the root or lies behind a link.
    const APPENDABLE: bool = false;

    /// Whether the type has its own lines in the layout under its name, which is its kind.
    #[doc(hidden)]
    const NAMED: bool = false;

    /// The facts of the type as a root.
    #[doc(hidden)]
    fn facts() -> &'static Facts {
        facts_of_any::<Self>()
    }

    /// The text for the type in the lines of the layout.
    fn kind() -> String;
    /// Writes the further lines of a member of this type.
    fn inner(_lines: &mut Lines, _path: &str) {}
    /// Writes the lines of the structs that the type needs.
    fn needed(_lines: &mut Lines) {}

    /// Makes zeroed memory the default value: sets the links back to the header.
    fn begin(_memory: MemoryMut<'_>, _at: u32) {}
    /// Updates the links of a value whose bytes came from `distance` further up.
    fn moved(_memory: MemoryMut<'_>, _at: u32, _distance: u32) {}
    /// Trims a value's capacities, or updates its links before all blocks move down; see [`Slide`].
    fn slide(_slide: &mut Slide<'_>, _at: u32) {}
    /// Frees all blocks of a value. The caller then overwrites the value's own bytes.
    fn release(_memory: MemoryMut<'_>, _at: u32) {}
    /// Copies a value into a canonical image.
    fn write(writer: &mut Writer<'_>, from: u32, to: u32);
    /// Checks the value at `at`.
    fn check<const CANONICAL: bool>(check: &mut Check<'_, CANONICAL>, at: u32) -> Result<(), Invalid>;
    /// Checks `count` consecutive values. An error gives the index of the value.
    #[doc(hidden)]
    #[inline]
    fn check_all<const CANONICAL: bool>(
        check: &mut Check<'_, CANONICAL>,
        at: u32,
        count: u32,
    ) -> Result<(), Invalid> {
        (0..count)
            .try_for_each(|i| Self::check(check, at + i * Self::SIZE).map_err(|error| error.in_element(i)))
    }
}

/// Fails to compile if the type is appendable, because the place has a fixed size.
#[doc(hidden)]
pub const fn fixed<T: Stored>() {
    assert!(!T::APPENDABLE, "an appendable struct is a root, or lies behind a unique or shared link");
}

/// Values without links and padding, for which any bytes are valid. They are accessible as Rust values in
/// place.
///
/// # Safety
/// The type is `repr(C)` or a number, and has the size and alignment of [`Stored`]. It has no
/// padding, and any bytes are a valid value.
pub unsafe trait Plain: Stored + Copy {}

/// A type whose values in a region can be assigned from a `V`.
pub trait Assign<V>: Stored {
    /// Whether values need no further memory. [`put_all`](Self::put_all) is then available.
    #[doc(hidden)]
    const IN_PLACE: bool = false;

    /// Assigns consecutive values. Writes all their bytes, whatever they were.
    #[doc(hidden)]
    fn put_all(_image: &mut [u8], _at: u32, _values: &[V]) {
        unreachable!("only what is assigned in place is");
    }

    /// Assigns a value to the valid value at `at`. If there is no room, the old value stays valid.
    #[doc(hidden)]
    fn assign(memory: MemoryMut<'_>, at: u32, value: V) -> Result<(), Full>;

    /// As [`assign`](Self::assign), for a handle, whose value is known to lie in the memory.
    #[doc(hidden)]
    #[inline]
    fn set(to: &mut Mut<'_, Self>, value: V) -> Result<(), Full> {
        let at = to.at();
        Self::assign(MemoryMut(to.memory()), at, value)
    }
}

/// Moves values within the region. Their old bytes stay unchanged.
#[inline]
pub(super) fn relocate<T: Stored>(memory: &mut Memory, from: u32, to: u32, count: u32) {
    memory.copy_within(from, to, count * T::SIZE);
    if T::LINKS {
        for i in 0..count {
            T::moved(MemoryMut(memory), to + i * T::SIZE, from.wrapping_sub(to));
        }
    }
}

/// Writes the bytes of a plain value.
#[inline]
pub(super) fn put<T: Plain>(memory: &mut Memory, at: u32, value: T) {
    put_in(memory.bytes_mut(), at, std::slice::from_ref(&value));
}

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

/// Writes consecutive plain values.
#[doc(hidden)]
#[inline]
pub fn put_plain<T: Plain>(MemoryMut(memory): MemoryMut<'_>, at: u32, values: &[T]) {
    put_in(memory.bytes_mut(), at, values);
}
#[inline]
pub(super) fn put_in<T: Plain>(image: &mut [u8], at: u32, values: &[T]) {
    // SAFETY: plain values have no padding, so that all bytes are initialized; the extent is that of the
    // slice.
    let bytes = unsafe { std::slice::from_raw_parts(values.as_ptr().cast::<u8>(), size_of_val(values)) };
    image[at as usize..at as usize + bytes.len()].copy_from_slice(bytes);
}

impl<T: Plain> Assign<T> for T {
    const IN_PLACE: bool = true;

    #[inline]
    fn put_all(image: &mut [u8], at: u32, values: &[T]) {
        put_in(image, at, values);
    }
    #[inline]
    fn assign(MemoryMut(memory): MemoryMut<'_>, at: u32, value: T) -> Result<(), Full> {
        put(memory, at, value);
        Ok(())
    }
    #[inline]
    fn set(to: &mut Mut<'_, T>, value: T) -> Result<(), Full> {
        **to = value;
        Ok(())
    }
}

/// A boolean in a region: one byte, 0 or 1. The type is only a name; see [`Mut::set`](super::Mut::set).
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
        writer.elements::<T>(from, to, N as u32);
    }
    #[inline]
    fn check<const CANONICAL: bool>(check: &mut Check<'_, CANONICAL>, at: u32) -> Result<(), Invalid> {
        check.elements::<T>(at, N as u32)
    }
}

// SAFETY: an array of values without padding has none, and any bytes are valid if that holds for its
// elements.
unsafe impl<T: Plain, const N: usize> Plain for [T; N] {}
