//! The scalar types of protobuf, as type parameters for reading.

use super::error::ReadProblem;
use super::fields::Cursor;
use super::wire::{WireType, unzigzag32, unzigzag64};

mod sealed {
    use super::{Cursor, ReadProblem};

    pub trait Read: Sized {
        fn read(cursor: &mut Cursor<'_>) -> Result<Self, ReadProblem>;
    }
}
pub(super) use sealed::Read;

/// A scalar type that can be packed.
pub trait Kind {
    /// Its type in Rust.
    type Value: Copy + Default;
    /// The wire type of a single value.
    const WIRE: WireType;
    #[doc(hidden)]
    type Stored: Read;
    #[doc(hidden)]
    fn value(stored: Self::Stored) -> Self::Value;
}

/// A varint.
#[doc(hidden)]
#[derive(Debug)]
pub struct Varint(u64);

impl Read for Varint {
    #[inline]
    fn read(cursor: &mut Cursor<'_>) -> Result<Self, ReadProblem> {
        cursor.varint().map(Self)
    }
}

/// A fixed number of bytes.
#[doc(hidden)]
#[derive(Debug)]
pub struct Array<const N: usize>([u8; N]);

impl<const N: usize> Read for Array<N> {
    #[inline]
    fn read(cursor: &mut Cursor<'_>) -> Result<Self, ReadProblem> {
        cursor.array().map(Self)
    }
}

macro_rules! kinds {
    ($($name:ident $text:literal $value:ty, $wire:ident, $stored:ty, $convert:expr;)*) => {$(
        #[doc = concat!("The type `", $text, "`.")]
        #[derive(Clone, Copy, Debug)]
        pub enum $name {}

        impl Kind for $name {
            type Value = $value;
            const WIRE: WireType = WireType::$wire;
            type Stored = $stored;
            #[inline]
            fn value(stored: $stored) -> $value {
                let convert: fn(_) -> $value = $convert;
                convert(stored.0)
            }
        }
    )*};
}

kinds! {
    Int32 "int32" i32, Varint, Varint, |it| it as i32;
    Int64 "int64" i64, Varint, Varint, |it| it as i64;
    Uint32 "uint32" u32, Varint, Varint, |it| it as u32;
    Uint64 "uint64" u64, Varint, Varint, |it| it;
    Sint32 "sint32" i32, Varint, Varint, |it| unzigzag32(it as u32);
    Sint64 "sint64" i64, Varint, Varint, unzigzag64;
    Bool "bool" bool, Varint, Varint, |it| it != 0;
    Fixed32 "fixed32" u32, Fixed32, Array<4>, u32::from_le_bytes;
    Fixed64 "fixed64" u64, Fixed64, Array<8>, u64::from_le_bytes;
    Sfixed32 "sfixed32" i32, Fixed32, Array<4>, i32::from_le_bytes;
    Sfixed64 "sfixed64" i64, Fixed64, Array<8>, i64::from_le_bytes;
    Float "float" f32, Fixed32, Array<4>, f32::from_le_bytes;
    Double "double" f64, Fixed64, Array<8>, f64::from_le_bytes;
}
