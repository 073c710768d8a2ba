//! Conversion between storages by value. Memory that can be handed over is not copied.

use crate::convert::assign::{self, AssignError, AssignFrom, Bodies, Convert};
use crate::storage::bulk::BulkField;
use crate::storage::hand_over::{HandOverList, HandOverText};
use crate::value::container::{MapField, OptionalField, SequenceField, WideTextField};
use crate::value::in_place::InPlace;
use crate::value::traits::{BulkElement, MapKey, Value};

/// Takes over the value of the same type with another storage. Generated types implement it for all pairs of
/// storages.
///
/// Between [`Heap`](crate::Heap) and [`Ros`](crate::Ros), strings and sequences of plain values hand over
/// their memory if the program uses [`use_c_allocator!`](crate::use_c_allocator). If it fails, both values
/// hold a mixture.
pub trait TakeFrom<Source>: AssignFrom<Source> {
    /// Takes over the members. The source stays valid, with unspecified content.
    fn take_from(&mut self, source: &mut Source) -> Result<(), AssignError> {
        self.assign_from(source)
    }
}

impl<T: BulkElement> TakeFrom<T> for T {}

/// Takes over a string.
pub fn text<T: HandOverText, S: HandOverText>(target: &mut T, source: &mut S) -> Result<(), AssignError> {
    Ok(target.take(source.give())?)
}

/// Takes over a sequence of values that do not depend on the storage.
pub fn list_of_copies<T: Value, L: HandOverList<T>>(
    target: &mut L,
    source: &mut impl HandOverList<T>,
) -> Result<(), AssignError> {
    if !L::TAKES_OPAQUE {
        source.elements()?;
    }
    Ok(target.take(source.give())?)
}

/// Takes over one element of a container.
type Take<T, S> = fn(&mut T, &mut S) -> Result<(), AssignError>;

/// Takes over a sequence.
pub fn list<T: Value, S: Value>(
    target: &mut impl SequenceField<T>,
    source: &mut impl SequenceField<S>,
    take: Take<T, S>,
) -> Result<(), AssignError> {
    source.elements()?;
    target.try_resize_vacant(source.len())?;
    array(target, source, take)
}

/// Takes over an array.
pub fn array<T, S>(target: &mut [T], source: &mut [S], take: Take<T, S>) -> Result<(), AssignError> {
    for (index, (target, source)) in target.iter_mut().zip(source).enumerate() {
        take(target, source).map_err(|error| error.in_element(index))?;
    }
    Ok(())
}

/// Copies a value that does not depend on the storage.
pub fn copy<T: Value>(target: &mut T, source: &mut T) -> Result<(), AssignError> {
    assign::copy(target, source, &mut Bodies::default())
}

/// Copies a wide string.
pub fn wide<T: WideTextField>(target: &mut T, source: &mut impl WideTextField) -> Result<(), AssignError> {
    assign::wide(target, source, &mut Bodies::default())
}

/// Copies a bulk member.
pub fn bulk<T: BulkElement, B: BulkField<T>>(
    target: &mut B,
    source: &mut impl BulkField<T>,
) -> Result<(), AssignError> {
    assign::bulk(target, source, &mut Bodies::default())
}

/// Copies an optional member.
pub fn maybe<T: Value, S: Value>(
    target: &mut impl OptionalField<T>,
    source: &mut impl OptionalField<S>,
    convert: Convert<T, S>,
) -> Result<(), AssignError> {
    assign::maybe(target, source, &mut Bodies::default(), convert)
}

/// Copies a map.
pub fn map<K: MapKey, V: Value, SK: MapKey, SV: Value>(
    target: &mut impl MapField<K, V>,
    source: &mut impl MapField<SK, SV>,
    convert_key: Convert<K, SK>,
    convert_value: Convert<V, SV>,
) -> Result<(), AssignError> {
    assign::map(target, source, &mut Bodies::default(), convert_key, convert_value)
}

/// Returns a value of the same type with another storage. Each part is allocated at most once.
///
/// Neither has a body: bulk members of flat messages must be empty.
pub fn convert<T: InPlace + AssignFrom<S>, S>(source: &S) -> Result<T, AssignError> {
    let mut target = vacant();
    T::assign_from(&mut target, source)?;
    Ok(target)
}

/// Returns a value of the same type with another storage. Memory that can be handed over is not copied.
pub fn convert_owned<T: InPlace + TakeFrom<S>, S>(mut source: S) -> Result<T, AssignError> {
    let mut target: T = vacant();
    target.take_from(&mut source)?;
    Ok(target)
}

/// Returns a value whose members will all be assigned.
fn vacant<T: InPlace>() -> T {
    let mut value = std::mem::MaybeUninit::uninit();
    // SAFETY: the pointer is to a whole T, which vacant_at initializes.
    unsafe {
        T::vacant_at(value.as_mut_ptr());
        value.assume_init()
    }
}
