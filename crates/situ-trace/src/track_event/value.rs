//! Arguments of events, and their values.

use super::names::Label;

/// An argument of an event.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Argument<'a> {
    /// Its name.
    pub name: Label<'a>,
    /// Its value.
    pub value: Value<'a>,
}

impl<'a> Argument<'a> {
    /// Creates an argument.
    #[inline]
    pub fn new(name: impl Into<Label<'a>>, value: impl Into<Value<'a>>) -> Self {
        Self { name: name.into(), value: value.into() }
    }
}

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
    /// A text of another language. Bytes that are not UTF-8 are replaced by U+FFFD.
    Foreign(&'a [u8]),
    /// An address, shown in hexadecimal.
    Pointer(u64),
    /// Arguments within this one. [`dictionary!`](crate::dictionary) creates it.
    Dictionary(&'a [Argument<'a>]),
    /// A list of values. [`array!`](crate::array) creates it.
    Array(&'a [Value<'a>]),
}

impl<T> From<*const T> for Value<'_> {
    #[inline]
    fn from(value: *const T) -> Self {
        Self::Pointer(value.addr() as u64)
    }
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
