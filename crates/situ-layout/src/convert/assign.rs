//! Conversion between storages, member by member. Contiguous data is copied in one block.

use std::borrow::Cow;
use std::collections::BTreeSet;

use thiserror::Error;

use crate::storage::bulk::{BulkError, BulkField};
use crate::support::headroom::Headroom;
use crate::support::shared_bytes::{NoMemory, SharedBytes};
use crate::value::bulk_ref::BulkCursor;
use crate::value::container::{MapField, OptionalField, SequenceField, TextField, WideTextField, within};
use crate::value::error::{BoundError, FieldPath, OpaqueBuffer};
use crate::value::in_place::{default_value, dense_bytes, dense_bytes_mut};
use crate::value::traits::{BulkElement, MapKey, Value};

/// Why a message does not fit another storage.
#[derive(Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum AssignProblem {
    /// A length exceeds the bound of the target.
    #[error("length {size} exceeds its bound {bound}")]
    BoundExceeded {
        /// The greatest length the target holds.
        bound: usize,
        /// The length of the source.
        size: usize,
    },
    /// A bulk member of the source or target does not lie in its body.
    #[error(transparent)]
    Bulk(BulkError),
    /// A member of the source is in memory that only ROS can read.
    #[error(transparent)]
    OpaqueBuffer(#[from] OpaqueBuffer),
    /// There is no memory for an entry of a map.
    #[error(transparent)]
    NoMemory(#[from] NoMemory),
    /// The body of the target has no room for its bulk members.
    #[error("bulk data needs a body of {needed} bytes, but it has {body}")]
    BodyTooSmall {
        /// The size needed so far.
        needed: usize,
        /// The size of the body.
        body: usize,
    },
    /// A weak link of a region leads to a value.
    #[error("a weak link leads to a value, and only regions have weak links; take the message as a region")]
    WeakLink,
    /// The values of a region are nested deeper than messages outside of regions may be.
    #[error("values are nested more than {limit} deep; take the message as a region")]
    TooDeep {
        /// The greatest number of levels.
        limit: u32,
    },
    /// The copies of values in a region to which several links lead would exceed the limit.
    #[error(
        "values to which several links lead would become more than {limit} bytes of copies; take the message as a region"
    )]
    TooManyCopies {
        /// The greatest total size of such copies, in bytes.
        limit: u64,
    },
}

crate::debug_as_text!(AssignProblem);

impl From<BulkError> for AssignProblem {
    fn from(error: BulkError) -> Self {
        match error {
            BulkError::OpaqueBuffer(buffer) => Self::OpaqueBuffer(buffer),
            other => Self::Bulk(other),
        }
    }
}

impl From<BoundError> for AssignProblem {
    fn from(error: BoundError) -> Self {
        Self::BoundExceeded { bound: error.bound, size: error.size }
    }
}

/// A message does not fit another storage.
#[derive(Clone, PartialEq, Eq, Error)]
#[error("{path}: {problem}")]
pub struct AssignError {
    /// The member at fault.
    pub path: FieldPath,
    /// What is wrong with it.
    pub problem: AssignProblem,
}

crate::debug_as_text!(AssignError);

impl<T: Into<AssignProblem>> From<T> for AssignError {
    fn from(problem: T) -> Self {
        Self { path: FieldPath::default(), problem: problem.into() }
    }
}

crate::__path_methods!(pub AssignError(&'static str));

/// The bodies of the two messages of a conversion. Messages with heap storage have none.
#[derive(Debug, Default)]
pub struct Bodies<'a> {
    /// The body of the source, which another process may still change.
    source: SharedBytes<'a>,
    target: &'a mut [u8],
    cursor: BulkCursor,
    /// The positions in the region of values that were read through a link that others may share.
    seen: BTreeSet<u32>,
    /// Whether the current value, or a value that contains it, was read before.
    again: bool,
    copied: u64,
    /// The number of containers of a region around the value that is read.
    depth: u32,
}

/// The greatest total size of values that are copied again because a further link leads to them. A few links
/// can make very many paths.
const MAX_COPIED: u64 = 64 << 20;

/// The greatest number of containers around each other in a region that is read into a message: messages are
/// read, encoded and dropped by recursion. It is also the limit of CDR.
const MAX_NESTING: u32 = 128;

impl<'a> Bodies<'a> {
    /// Takes the body of the source and that of the target. Bulk members are laid out anew in the target's
    /// body.
    pub fn new(source: impl Into<SharedBytes<'a>>, target: &'a mut [u8]) -> Self {
        Self { source: source.into(), target, ..Self::default() }
    }

    /// Begins to read a value in a region to which several links may lead. Returns the argument for
    /// [`leave_shared`](Self::leave_shared).
    #[doc(hidden)]
    pub fn enter_shared(&mut self, at: u32, size: usize) -> Result<bool, AssignError> {
        let outer = self.again;
        self.again |= !self.seen.insert(at);
        self.repeat(1, size)?;
        Ok(outer)
    }

    /// Ends the reading that [`enter_shared`](Self::enter_shared) began.
    #[doc(hidden)]
    pub fn leave_shared(&mut self, outer: bool) {
        self.again = outer;
    }

    /// Reads what a container of a region holds, one level deeper.
    #[inline]
    #[doc(hidden)]
    pub fn nested(
        &mut self,
        read: impl FnOnce(&mut Self) -> Result<(), AssignError>,
    ) -> Result<(), AssignError> {
        if self.depth == MAX_NESTING {
            return Err(AssignProblem::TooDeep { limit: MAX_NESTING }.into());
        }
        self.depth += 1;
        let done = read(self);
        self.depth -= 1;
        done
    }

    /// Accounts for `count` elements of `size` bytes that are about to be read. Fails if repeated reads
    /// exceed the limit.
    #[inline]
    #[doc(hidden)]
    pub fn repeat(&mut self, count: usize, size: usize) -> Result<(), AssignError> {
        if !self.again {
            return Ok(());
        }
        self.copied = self.copied.saturating_add(count as u64 * size as u64);
        if self.copied > MAX_COPIED {
            return Err(AssignProblem::TooManyCopies { limit: MAX_COPIED }.into());
        }
        Ok(())
    }
}

/// Assigns the value of the same type with another storage. Generated types implement it for all pairs of
/// storages.
///
/// If it fails, the target holds a mixture of old and new members.
pub trait AssignFrom<Source> {
    /// Assigns the members. Bulk members are copied between the bodies.
    fn assign_parts(&mut self, source: &Source, bodies: &mut Bodies<'_>) -> Result<(), AssignError>;

    /// Assigns a message between storages. Neither has a body: bulk members of flat messages must be empty.
    fn assign_from(&mut self, source: &Source) -> Result<(), AssignError> {
        self.assign_parts(source, &mut Bodies::default())
    }
}

impl<T: BulkElement> AssignFrom<T> for T {
    fn assign_parts(&mut self, source: &T, _: &mut Bodies<'_>) -> Result<(), AssignError> {
        *self = *source;
        Ok(())
    }
}

/// Copies a value that does not depend on the storage.
pub fn copy<T: Value>(target: &mut T, source: &T, _: &mut Bodies<'_>) -> Result<(), AssignError> {
    match (dense_bytes_mut(std::slice::from_mut(target)), dense_bytes(std::slice::from_ref(source))) {
        (Some(target), Some(source)) => target.copy_from_slice(source),
        _ => target.clone_from(source),
    }
    Ok(())
}

/// Converts a string.
pub fn text<T: TextField>(
    target: &mut T,
    source: &impl TextField,
    _: &mut Bodies<'_>,
) -> Result<(), AssignError> {
    Ok(match source.to_text() {
        Cow::Borrowed(text) => target.try_assign(text),
        replaced => target.try_assign(&within(replaced, T::BOUND)),
    }?)
}

/// Converts a wide string.
pub fn wide<T: WideTextField>(
    target: &mut T,
    source: &impl WideTextField,
    _: &mut Bodies<'_>,
) -> Result<(), AssignError> {
    Ok(target.try_assign(source)?)
}

/// Converts a sequence of values that do not depend on the storage.
pub fn list_of_copies<T: Value>(
    target: &mut impl SequenceField<T>,
    source: &impl SequenceField<T>,
    _: &mut Bodies<'_>,
) -> Result<(), AssignError> {
    Ok(target.try_assign(source.elements()?)?)
}

/// Converts one element of a container.
pub type Convert<T, S> = fn(&mut T, &S, &mut Bodies<'_>) -> Result<(), AssignError>;

/// Converts a sequence.
pub fn list<T: Value, S: Value>(
    target: &mut impl SequenceField<T>,
    source: &impl SequenceField<S>,
    bodies: &mut Bodies<'_>,
    convert: Convert<T, S>,
) -> Result<(), AssignError> {
    let source = source.elements()?;
    target.try_resize_vacant(source.len())?;
    array(target, source, bodies, convert)
}

/// Converts an array.
pub fn array<T, S>(
    target: &mut [T],
    source: &[S],
    bodies: &mut Bodies<'_>,
    convert: Convert<T, S>,
) -> Result<(), AssignError> {
    for (index, (target, source)) in target.iter_mut().zip(source).enumerate() {
        convert(target, source, bodies).map_err(|error| error.in_element(index))?;
    }
    Ok(())
}

/// Converts an optional member.
pub fn maybe<T: Value, S: Value>(
    target: &mut impl OptionalField<T>,
    source: &impl OptionalField<S>,
    bodies: &mut Bodies<'_>,
    convert: Convert<T, S>,
) -> Result<(), AssignError> {
    match source.as_ref() {
        Some(source) => convert(target.set_default(), source, bodies),
        None => {
            target.clear();
            Ok(())
        }
    }
}

/// Converts a map.
pub fn map<K: MapKey, V: Value, SK: MapKey, SV: Value>(
    target: &mut impl MapField<K, V>,
    source: &impl MapField<SK, SV>,
    bodies: &mut Bodies<'_>,
    convert_key: Convert<K, SK>,
    convert_value: Convert<V, SV>,
) -> Result<(), AssignError> {
    target.clear();
    let mut headroom = Headroom::default();
    for (index, (source_key, source_value)) in source.entries().enumerate() {
        let mut key: K = default_value();
        convert_key(&mut key, source_key, bodies).map_err(|error| error.in_element(index))?;
        headroom.expect_entry::<K, V, _>(target)?;
        let value = target.try_entry(key)?;
        convert_value(value, source_value, bodies).map_err(|error| error.in_element(index))?;
    }
    Ok(())
}

/// Converts a bulk member.
pub fn bulk<T: BulkElement, B: BulkField<T>>(
    target: &mut B,
    source: &impl BulkField<T>,
    bodies: &mut Bodies<'_>,
) -> Result<(), AssignError> {
    match source.in_body(bodies.source)? {
        Some(bytes) => {
            let count = source.element_count();
            let offset = bulk_room::<T, B>(count, bodies)?;
            Ok(target.fill_with_copies(offset, count, bytes, bodies.target)?)
        }
        None => bulk_elements(target, source.elements(&[])?, bodies),
    }
}

/// Converts a bulk member from its elements.
pub fn bulk_elements<T: BulkElement, B: BulkField<T>>(
    target: &mut B,
    elements: &[T],
    bodies: &mut Bodies<'_>,
) -> Result<(), AssignError> {
    let offset = bulk_room::<T, B>(elements.len(), bodies)?;
    Ok(target.fill(offset, elements, bodies.target)?)
}

/// The offset of `count` elements of a bulk member in the body of the target.
fn bulk_room<T: BulkElement, B: BulkField<T>>(
    count: usize,
    bodies: &mut Bodies<'_>,
) -> Result<u64, AssignError> {
    let too_long = BoundError::new(B::BOUND, count);
    if count > B::BOUND {
        return Err(too_long.into());
    }
    let offset = bodies.cursor.advance::<T>(count).ok_or(too_long)?;
    let (needed, body) = (bodies.cursor.end(), bodies.target.len());
    if B::IN_BODY && needed > body {
        return Err(AssignProblem::BodyTooSmall { needed, body }.into());
    }
    Ok(offset)
}

/// Writes a default text over an empty one. The schema has checked the bound.
pub fn default_text(target: &mut impl TextField, default: &str) {
    let assigned = target.try_assign(default);
    debug_assert!(assigned.is_ok());
}

/// Writes a default text over an empty one. The schema has checked the bound.
pub fn default_wide(target: &mut impl WideTextField, default: &str) {
    let assigned = target.try_assign_str(default);
    debug_assert!(assigned.is_ok());
}

/// Writes default elements into an empty sequence. The schema has checked the bound.
pub fn default_list<T: Value>(target: &mut impl SequenceField<T>, default: &[T]) {
    let assigned = target.try_extend_from_slice(default);
    debug_assert!(assigned.is_ok());
}

/// Writes default elements into an empty sequence, each by `write`. The schema has checked the bound.
pub fn default_elements<T: Value, V: Copy>(
    target: &mut impl SequenceField<T>,
    defaults: &[V],
    write: fn(&mut T, V),
) {
    for default in defaults {
        if let Ok(element) = target.try_push_default() {
            write(element, *default);
        }
    }
}

/// Writes default elements into an array, each by `write`.
pub fn default_array<T, V: Copy>(target: &mut [T], defaults: &[V], write: fn(&mut T, V)) {
    target.iter_mut().zip(defaults).for_each(|(element, default)| write(element, *default));
}

/// Assigns the value of a case in another storage, if both unions hold it.
pub fn case<T, S>(
    target: Option<&mut T>,
    source: Option<&S>,
    bodies: &mut Bodies<'_>,
    name: &'static str,
    assign: impl FnOnce(&mut T, &S, &mut Bodies<'_>) -> Result<(), AssignError>,
) -> Result<(), AssignError> {
    match target.zip(source) {
        Some((target, source)) => assign(target, source, bodies).map_err(|error| error.in_member(name)),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::{AssignError, Bodies};

    fn read(bodies: &mut Bodies<'_>, depth: u32) -> Result<(), AssignError> {
        if depth == 0 { Ok(()) } else { bodies.nested(|bodies| read(bodies, depth - 1)) }
    }

    #[test]
    fn containers_of_a_region_are_read_up_to_128_levels_deep() {
        let mut bodies = Bodies::default();
        assert_eq!(read(&mut bodies, 128), Ok(()));
        let error = read(&mut bodies, 129).unwrap_err().to_string();
        assert_eq!(error, "message: values are nested more than 128 deep; take the message as a region");
    }
}
