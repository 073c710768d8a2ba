//! Keys of described sets and maps.

use crate::containers::text::{Text, str_at};
use crate::containers::{hash, sorted, tree};
use crate::dynamic::element::{Dynamic, integer_at};
use crate::dynamic::types::{Kind, Lookup, Scalar};
use crate::error::Full;
use crate::memory::blocks::Memory;
use crate::value::scalar::{Bool, Char};

/// A key of a set or map.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Key<'k> {
    /// An integer, or an enum's; a boolean is 0 or 1, a character its byte.
    Integer(i128),
    /// An `f32`, as its bits: keys are equal if their bits are.
    Float(u32),
    /// An `f64`, as its bits.
    Double(u64),
    /// Text.
    Text(&'k str),
}

/// A key in memory of its own.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum OwnedKey {
    /// An integer, or an enum's; a boolean is 0 or 1, a character its byte.
    Integer(i128),
    /// An `f32`, as its bits.
    Float(u32),
    /// An `f64`, as its bits.
    Double(u64),
    /// Text.
    Text(String),
}

impl OwnedKey {
    /// The key, borrowed.
    pub fn borrow(&self) -> Key<'_> {
        match self {
            Self::Integer(it) => Key::Integer(*it),
            Self::Float(it) => Key::Float(*it),
            Self::Double(it) => Key::Double(*it),
            Self::Text(it) => Key::Text(it),
        }
    }
}

impl From<Key<'_>> for OwnedKey {
    fn from(key: Key<'_>) -> Self {
        match key {
            Key::Integer(it) => Self::Integer(it),
            Key::Float(it) => Self::Float(it),
            Key::Double(it) => Self::Double(it),
            Key::Text(it) => Self::Text(it.to_owned()),
        }
    }
}

/// The key at a place.
pub(crate) fn key_at<'a>(of: Dynamic<'_>, image: &'a [u8], at: u32) -> Key<'a> {
    match of.get().kind {
        Kind::Scalar { of: Scalar::F32, .. } => Key::Float(integer_at(image, Scalar::U32, at) as u32),
        Kind::Scalar { of: Scalar::F64, .. } => Key::Double(integer_at(image, Scalar::U64, at) as u64),
        Kind::Scalar { of, .. } => Key::Integer(integer_at(image, of, at)),
        _ => Key::Text(str_at(image, at)),
    }
}

/// Calls a function with the key's type, if the key is one of the container `$of`. Otherwise the value is
/// `$other`.
macro_rules! with_key {
    ($of:expr, $key:expr, $other:expr, |$type:ident, $view:ident| $call:expr) => {{
        let (Kind::Set { key, .. } | Kind::Map { key, .. }) = &$of.get().kind else { return $other };
        macro_rules! integer {
            ($number:ty, $value:expr) => {{
                type $type = $number;
                let Ok($view) = <$number>::try_from($value) else { return $other };
                $call
            }};
        }
        macro_rules! other {
            ($of_key:ty, $value:expr) => {{
                type $type = $of_key;
                let $view = $value;
                $call
            }};
        }
        match (&$of.of(*key).get().kind, $key) {
            (Kind::Text, Key::Text($view)) => {
                type $type = Text;
                $call
            }
            (Kind::Scalar { of: Scalar::F32, .. }, Key::Float(it)) => other!(f32, f32::from_bits(it)),
            (Kind::Scalar { of: Scalar::F64, .. }, Key::Double(it)) => other!(f64, f64::from_bits(it)),
            (Kind::Scalar { of: Scalar::Bool, .. }, Key::Integer(it @ (0 | 1))) => other!(Bool, it == 1),
            (Kind::Scalar { of: Scalar::Char, .. }, Key::Integer(it @ 0..=0xff)) => {
                other!(Char, Char(it as u8))
            }
            (Kind::Scalar { of: Scalar::U8, .. }, Key::Integer(it)) => integer!(u8, it),
            (Kind::Scalar { of: Scalar::I8, .. }, Key::Integer(it)) => integer!(i8, it),
            (Kind::Scalar { of: Scalar::U16, .. }, Key::Integer(it)) => integer!(u16, it),
            (Kind::Scalar { of: Scalar::I16, .. }, Key::Integer(it)) => integer!(i16, it),
            (Kind::Scalar { of: Scalar::U32, .. }, Key::Integer(it)) => integer!(u32, it),
            (Kind::Scalar { of: Scalar::I32, .. }, Key::Integer(it)) => integer!(i32, it),
            (Kind::Scalar { of: Scalar::U64, .. }, Key::Integer(it)) => integer!(u64, it),
            (Kind::Scalar { of: Scalar::I64, .. }, Key::Integer(it)) => integer!(i64, it),
            _ => return $other,
        }
    }};
}

impl Dynamic<'_> {
    /// How a set or map finds its keys.
    fn lookup(self) -> Option<Lookup> {
        match self.get().kind {
            Kind::Set { lookup, .. } | Kind::Map { lookup, .. } => Some(lookup),
            _ => None,
        }
    }

    /// The key or entry of a key in the set or map at a place.
    pub(crate) fn find(self, image: &[u8], at: u32, key: Key<'_>) -> Option<u32> {
        let (lookup, element) = (self.lookup()?, self.elements());
        with_key!(self, key, None, |K, view| match lookup {
            Lookup::Sorted => sorted::find::<_, K>(element, image, at, view),
            Lookup::Hash => hash::find::<_, K>(element, image, at, view),
            Lookup::Ordered => tree::find::<_, K>(element, image, at, view),
        })
    }

    /// The key or entry of a key, and whether it is new. `None` if the container has keys of another type.
    pub(crate) fn insert(
        self,
        memory: &mut Memory,
        at: u32,
        key: Key<'_>,
    ) -> Option<Result<(u32, bool), Full>> {
        let (lookup, element) = (self.lookup()?, self.elements());
        Some(with_key!(self, key, None, |K, view| match lookup {
            Lookup::Sorted => sorted::insert::<_, K>(element, memory, at, view),
            Lookup::Hash => hash::insert::<_, K>(element, memory, at, view),
            Lookup::Ordered => tree::insert::<_, K>(element, memory, at, view),
        }))
    }

    /// Removes a key; false if it does not exist.
    pub(crate) fn remove(self, memory: &mut Memory, at: u32, key: Key<'_>) -> bool {
        let (Some(lookup), element) = (self.lookup(), self.elements()) else { return false };
        with_key!(self, key, false, |K, view| match lookup {
            Lookup::Sorted => sorted::remove::<_, K>(element, memory, at, view),
            Lookup::Hash => hash::remove::<_, K>(element, memory, at, view),
            Lookup::Ordered => tree::remove::<_, K>(element, memory, at, view),
        })
    }
}
