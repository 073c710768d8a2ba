//! Keys of sets and maps in conversions between regions and other storages.

use situ_layout::assign::AssignError;
use situ_layout::{TextField, TotalOrder};

use crate::containers::key::Key;
use crate::containers::text::Text;
use crate::value::scalar::{Bool, Char};

/// A conversion between a key of a message and a key of a region.
#[doc(hidden)]
pub trait KeyOf<V>: Key {
    /// The view for a lookup in the region.
    fn view_of(key: &V) -> Self::View<'_>;
    /// Reads a view into a key of the message.
    fn read(view: Self::View<'_>, to: &mut V) -> Result<(), AssignError>;
}

/// Implements [`KeyOf`] for keys that are the same within regions and outside.
macro_rules! key_of_self {
    ($($type:ty)*) => {$(
        impl KeyOf<$type> for $type {
            fn view_of(key: &$type) -> $type {
                *key
            }
            fn read(view: $type, to: &mut $type) -> Result<(), AssignError> {
                *to = view;
                Ok(())
            }
        }
    )*};
}

key_of_self! { u8 u16 u32 u64 i8 i16 i32 i64 f32 f64 }

/// Implements [`KeyOf`] for floating-point numbers, whose type in messages is ordered.
macro_rules! key_of_float {
    ($($type:ty)*) => {$(
        impl KeyOf<TotalOrder<$type>> for $type {
            fn view_of(key: &TotalOrder<$type>) -> $type {
                key.0
            }
            fn read(view: $type, to: &mut TotalOrder<$type>) -> Result<(), AssignError> {
                to.0 = view;
                Ok(())
            }
        }
    )*};
}

key_of_float! { f32 f64 }

impl KeyOf<bool> for Bool {
    fn view_of(key: &bool) -> bool {
        *key
    }
    fn read(view: bool, to: &mut bool) -> Result<(), AssignError> {
        *to = view;
        Ok(())
    }
}

impl KeyOf<u8> for Char {
    fn view_of(key: &u8) -> Self {
        Self(*key)
    }
    fn read(view: Self, to: &mut u8) -> Result<(), AssignError> {
        *to = view.0;
        Ok(())
    }
}

impl<V: TextField> KeyOf<V> for Text {
    fn view_of(key: &V) -> &str {
        key
    }
    fn read(view: &str, to: &mut V) -> Result<(), AssignError> {
        Ok(to.try_assign(view)?)
    }
}
