//! The values of arguments.

/// The value of an argument.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Value<'a> {
    /// A boolean.
    Bool(bool),
    /// An unsigned number.
    Uint(u64),
    /// A signed number.
    Int(i64),
    /// A floating-point number.
    Double(f64),
    /// A text.
    Text(&'a str),
}

macro_rules! from {
    ($($from:ty => $variant:ident,)*) => {$(
        impl From<$from> for Value<'_> {
            #[inline]
            fn from(value: $from) -> Self {
                Self::$variant(value.into())
            }
        }
    )*};
}

from! {
    bool => Bool,
    u8 => Uint,
    u16 => Uint,
    u32 => Uint,
    u64 => Uint,
    i8 => Int,
    i16 => Int,
    i32 => Int,
    i64 => Int,
    f32 => Double,
    f64 => Double,
}

impl From<usize> for Value<'_> {
    #[inline]
    fn from(value: usize) -> Self {
        Self::Uint(value as u64)
    }
}

impl From<isize> for Value<'_> {
    #[inline]
    fn from(value: isize) -> Self {
        Self::Int(value as i64)
    }
}

impl<'a> From<&'a str> for Value<'a> {
    #[inline]
    fn from(value: &'a str) -> Self {
        Self::Text(value)
    }
}

impl<'a> From<&'a String> for Value<'a> {
    #[inline]
    fn from(value: &'a String) -> Self {
        Self::Text(value)
    }
}
