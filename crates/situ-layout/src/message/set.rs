//! The setters of generated types. They add the member's name to the error.

use crate::value::container::{MapField, SequenceField, TextField, WideTextField};
use crate::value::error::{BoundError, Bounded};
use crate::value::traits::{MapKey, Value};

fn named<T>(result: Bounded<T>, field: &'static str) -> Bounded<T> {
    result.map_err(|error: BoundError| error.in_field(field))
}

/// Sets a string.
pub fn text(target: &mut impl TextField, field: &'static str, value: &str) -> Bounded {
    named(target.try_assign(value), field)
}

/// Sets a wide string.
pub fn wide(target: &mut impl WideTextField, field: &'static str, value: &str) -> Bounded {
    named(target.try_assign_str(value), field)
}

/// Sets a sequence.
pub fn list<T: Value>(target: &mut impl SequenceField<T>, field: &'static str, values: &[T]) -> Bounded {
    named(target.try_assign(values), field)
}

/// Appends to a sequence.
pub fn push<T: Value>(target: &mut impl SequenceField<T>, field: &'static str, value: T) -> Bounded {
    named(target.try_push(value), field)
}

/// Appends a default element to a sequence.
pub fn add<'a, T: Value>(target: &'a mut impl SequenceField<T>, field: &'static str) -> Bounded<&'a mut T> {
    named(target.try_push_default(), field)
}

/// Sets an entry of a map.
pub fn insert<K: MapKey, V: Value>(
    target: &mut impl MapField<K, V>,
    field: &'static str,
    key: K,
    value: V,
) -> Bounded<Option<V>> {
    named(target.try_insert(key, value), field)
}
