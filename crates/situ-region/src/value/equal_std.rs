//! `PartialEq` between handles and values of the standard library: numbers, booleans, text, optional values,
//! slices, arrays and vectors.

use crate::containers::maybe::Maybe;
use crate::containers::text::Text;
use crate::containers::vector::Vector;
use crate::packed::handle::Packed;
use crate::value::handle::{Mut, Ref};
use crate::value::plain::Plain;
use crate::value::scalar::Bool;
use crate::value::stored::Stored;

impl<T: Plain + PartialEq> PartialEq<T> for Ref<'_, T> {
    fn eq(&self, other: &T) -> bool {
        **self == *other
    }
}

impl PartialEq<bool> for Ref<'_, Bool> {
    fn eq(&self, other: &bool) -> bool {
        self.get() == *other
    }
}

impl<'r, T: Stored, V> PartialEq<Option<V>> for Ref<'r, Maybe<T>>
where
    Ref<'r, T>: PartialEq<V>,
{
    fn eq(&self, other: &Option<V>) -> bool {
        match (self.get(), other) {
            (Some(value), Some(other)) => value == *other,
            (None, None) => true,
            _ => false,
        }
    }
}

/// Text on both sides of `==`.
macro_rules! texts {
    ($($handle:ident)*) => {$(
        impl PartialEq<String> for $handle<'_, Text> {
            fn eq(&self, other: &String) -> bool {
                self.as_str() == other.as_str()
            }
        }

        impl PartialEq<$handle<'_, Text>> for str {
            fn eq(&self, other: &$handle<'_, Text>) -> bool {
                self == other.as_str()
            }
        }

        impl PartialEq<$handle<'_, Text>> for &str {
            fn eq(&self, other: &$handle<'_, Text>) -> bool {
                *self == other.as_str()
            }
        }

        impl PartialEq<$handle<'_, Text>> for String {
            fn eq(&self, other: &$handle<'_, Text>) -> bool {
                self.as_str() == other.as_str()
            }
        }
    )*};
}

texts! { Ref Packed }

impl PartialEq<Mut<'_, Text>> for str {
    fn eq(&self, other: &Mut<'_, Text>) -> bool {
        self == other.as_ref().as_str()
    }
}

impl PartialEq<Mut<'_, Text>> for &str {
    fn eq(&self, other: &Mut<'_, Text>) -> bool {
        *self == other.as_ref().as_str()
    }
}

impl PartialEq<Mut<'_, Text>> for String {
    fn eq(&self, other: &Mut<'_, Text>) -> bool {
        self.as_str() == other.as_ref().as_str()
    }
}

/// A vector is compared with a slice element by element: numbers, plain structs, text.
impl<'r, T: Stored, V> PartialEq<[V]> for Ref<'r, Vector<T>>
where
    Ref<'r, T>: PartialEq<V>,
{
    fn eq(&self, other: &[V]) -> bool {
        self.len() == other.len() && self.values().zip(other).all(|(value, other)| value == *other)
    }
}

/// Vectors on both sides of `==`.
macro_rules! vectors {
    ($($of:ty $([const $n:ident])?;)*) => {$(
        impl<'r, T: Stored, V $(, const $n: usize)?> PartialEq<$of> for Ref<'r, Vector<T>>
        where
            Ref<'r, T>: PartialEq<V>,
        {
            fn eq(&self, other: &$of) -> bool {
                *self == other[..]
            }
        }

        impl<'r, T: Stored, V $(, const $n: usize)?> PartialEq<Ref<'r, Vector<T>>> for $of
        where
            Ref<'r, T>: PartialEq<V>,
        {
            fn eq(&self, other: &Ref<'r, Vector<T>>) -> bool {
                *other == self[..]
            }
        }
    )*};
}

vectors! { &[V]; Vec<V>; [V; N] [const N]; }

impl<'r, T: Stored, V> PartialEq<Ref<'r, Vector<T>>> for [V]
where
    Ref<'r, T>: PartialEq<V>,
{
    fn eq(&self, other: &Ref<'r, Vector<T>>) -> bool {
        *other == *self
    }
}
