//! Prepares messages that C code wrote for conversion. Shortens strings and sequences to their bounds, which
//! ROS's middleware does not enforce for strings, and empties sequences that only ROS can read.

use crate::convert::assign::AssignError;
use crate::value::bulk_ref::BulkRef;
use crate::value::container::{MapField, OptionalField, SequenceField, TextField, WideTextField};
use crate::value::shape::MemberInfo;
use crate::value::traits::{BulkElement, MapKey, MemberVisitor, Number, Structure, Union, Value, VisitorMut};

/// Shortens every string and sequence of a message that is longer than its bound. A message from the network
/// may have such strings, because the middleware does not check them. Afterwards the message converts to any
/// storage, unless elements are in a [buffer](crate::OpaqueBuffer), which is kept.
pub fn clip<T: Structure>(message: &mut T) {
    let clipped = Clip { empties_buffers: false }.structure(message);
    debug_assert!(clipped.is_ok(), "it fails where it empties a buffer");
}

/// As [`clip`], but releases the first buffer that it meets, which leaves the sequence empty, and returns an
/// error at once.
pub(super) fn clip_or_empty<T: Structure>(message: &mut T) -> Result<(), AssignError> {
    Clip { empties_buffers: true }.structure(message)
}

struct Clip {
    empties_buffers: bool,
}

/// Visits the members of one message.
struct Members<'a, T> {
    clip: &'a mut Clip,
    message: &'a mut T,
}

impl<S> MemberVisitor<S> for Members<'_, S> {
    type Error = AssignError;

    fn member<T: Value>(
        &mut self,
        info: &'static MemberInfo,
        _: impl Fn(&S) -> &T,
        get_mut: impl Fn(&mut S) -> &mut T,
    ) -> Result<(), AssignError> {
        if T::BITWISE {
            return Ok(());
        }
        get_mut(self.message).visit_mut(self.clip).map_err(|error| error.in_member(info.name))
    }
}

impl VisitorMut for Clip {
    type Error = AssignError;

    fn boolean(&mut self, _: &mut bool) -> Result<(), AssignError> {
        Ok(())
    }

    fn number<T: Number>(&mut self, _: &mut T) -> Result<(), AssignError> {
        Ok(())
    }

    fn text<T: TextField>(&mut self, text: &mut T) -> Result<(), AssignError> {
        let Some(bound) = T::BOUND else { return Ok(()) };
        let whole = text.to_text();
        if whole.len() > bound {
            let cut = whole[..whole.floor_char_boundary(bound)].to_owned();
            let fits = text.try_assign(&cut);
            debug_assert!(fits.is_ok());
        }
        Ok(())
    }

    fn wide_text<T: WideTextField>(&mut self, text: &mut T) -> Result<(), AssignError> {
        if let Some(bound) = T::BOUND.filter(|bound| text.len() > *bound) {
            let cut = text[..bound].to_owned();
            let fits = text.try_assign(&cut);
            debug_assert!(fits.is_ok());
        }
        Ok(())
    }

    fn sequence<T: Value, L: SequenceField<T>>(&mut self, list: &mut L) -> Result<(), AssignError> {
        if let Err(buffer) = list.elements() {
            if !self.empties_buffers {
                return Ok(());
            }
            list.clear();
            return Err(buffer.into());
        }
        if let Some(bound) = L::BOUND {
            list.truncate(bound);
        }
        self.array::<T>(list)
    }

    fn array<T: Value>(&mut self, elements: &mut [T]) -> Result<(), AssignError> {
        if T::BITWISE {
            return Ok(());
        }
        elements
            .iter_mut()
            .enumerate()
            .try_for_each(|(index, element)| element.visit_mut(self).map_err(|error| error.in_element(index)))
    }

    fn map<K: MapKey, V: Value, M: MapField<K, V>>(&mut self, _: &mut M) -> Result<(), AssignError> {
        // ROS has no maps. Situ's maps enforce their bound themselves.
        Ok(())
    }

    fn optional<T: Value, M: OptionalField<T>>(&mut self, value: &mut M) -> Result<(), AssignError> {
        value.as_mut().map_or(Ok(()), |value| value.visit_mut(self))
    }

    fn structure<T: Structure>(&mut self, value: &mut T) -> Result<(), AssignError> {
        T::visit_members(&mut Members { clip: self, message: value })
    }

    fn union<T: Union>(&mut self, value: &mut T) -> Result<(), AssignError> {
        value.visit_case_mut(self)
    }

    fn bulk<T: BulkElement, const N: usize>(&mut self, _: &mut BulkRef<T, N>) -> Result<(), AssignError> {
        Ok(())
    }
}
