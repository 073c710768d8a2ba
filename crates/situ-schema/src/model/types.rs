//! Types of members, elements, constants and aliases.

use super::name::TypeId;

/// A type with a fixed size of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Primitive {
    /// `boolean`: one byte, 0 or 1.
    Bool,
    /// `int8`.
    I8,
    /// `uint8`, `octet`; ROS `byte` and `char`.
    U8,
    /// `int16`, `short`.
    I16,
    /// `uint16`, `unsigned short`.
    U16,
    /// `int32`, `long`.
    I32,
    /// `uint32`, `unsigned long`.
    U32,
    /// `int64`, `long long`.
    I64,
    /// `uint64`, `unsigned long long`.
    U64,
    /// `float`.
    F32,
    /// `double`.
    F64,
    /// `char`: one byte.
    Char8,
    /// `wchar`: one UTF-16 code unit.
    WChar,
}

impl Primitive {
    /// The number of bytes, which is also the natural alignment.
    pub fn size(self) -> u64 {
        match self {
            Self::Bool | Self::I8 | Self::U8 | Self::Char8 => 1,
            Self::I16 | Self::U16 | Self::WChar => 2,
            Self::I32 | Self::U32 | Self::F32 => 4,
            Self::I64 | Self::U64 | Self::F64 => 8,
        }
    }

    /// The keyword of the canonical text.
    pub fn idl(self) -> &'static str {
        match self {
            Self::Bool => "boolean",
            Self::I8 => "int8",
            Self::U8 => "uint8",
            Self::I16 => "int16",
            Self::U16 => "uint16",
            Self::I32 => "int32",
            Self::U32 => "uint32",
            Self::I64 => "int64",
            Self::U64 => "uint64",
            Self::F32 => "float",
            Self::F64 => "double",
            Self::Char8 => "char",
            Self::WChar => "wchar",
        }
    }

    /// The smallest and largest value of an integer type (characters and booleans count as unsigned
    /// integers).
    pub fn integer_range(self) -> Option<(i128, i128)> {
        Some(match self {
            Self::Bool => (0, 1),
            Self::I8 => (i8::MIN.into(), i8::MAX.into()),
            Self::U8 | Self::Char8 => (0, u8::MAX.into()),
            Self::I16 => (i16::MIN.into(), i16::MAX.into()),
            Self::U16 | Self::WChar => (0, u16::MAX.into()),
            Self::I32 => (i32::MIN.into(), i32::MAX.into()),
            Self::U32 => (0, u32::MAX.into()),
            Self::I64 => (i64::MIN.into(), i64::MAX.into()),
            Self::U64 => (0, u64::MAX.into()),
            Self::F32 | Self::F64 => return None,
        })
    }

    /// Whether this is `float` or `double`.
    pub fn is_float(self) -> bool {
        matches!(self, Self::F32 | Self::F64)
    }
}

/// How many dimensions an array may have, arrays of arrays counted together.
pub const MAX_DIMENSIONS: usize = 32;

/// How many elements an array may have, all dimensions multiplied.
pub const MAX_ARRAY_LENGTH: u64 = 1 << 32;

/// The type of a member, an element, a constant or an alias.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Type {
    /// A type with a fixed size of its own.
    Primitive(Primitive),
    /// UTF-8 text of at most `bound` bytes.
    String {
        /// The largest number of bytes, without the terminating zero.
        bound: Option<u32>,
    },
    /// UTF-16 text of at most `bound` code units.
    WString {
        /// The largest number of code units, without the terminating zero.
        bound: Option<u32>,
    },
    /// A sequence of at most `bound` elements.
    Sequence {
        /// The type of an element.
        element: Box<Type>,
        /// The largest number of elements.
        bound: Option<u32>,
    },
    /// An array. `long a[2][3]` has the dimensions `[2, 3]`; the element is never an array once aliases are
    /// resolved.
    Array {
        /// The type of an element.
        element: Box<Type>,
        /// Lengths, outermost first; never empty, never zero.
        dimensions: Vec<u32>,
    },
    /// A map of at most `bound` entries.
    Map {
        /// The type of a key: an integer, boolean, character, enum or string.
        key: Box<Type>,
        /// The type of a value.
        value: Box<Type>,
        /// The largest number of entries.
        bound: Option<u32>,
    },
    /// A struct, union, enum, bitmask or alias.
    Named(TypeId),
}

impl Type {
    /// The number of elements of an array with these dimensions, `None` when it does not fit.
    pub fn element_count(dimensions: &[u32]) -> Option<u64> {
        dimensions.iter().try_fold(1u64, |count, &length| count.checked_mul(u64::from(length)))
    }
}
