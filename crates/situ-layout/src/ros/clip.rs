//! Cuts what exceeds its bound, which ROS's middleware lets pass in strings.

use std::convert::Infallible;

use crate::api::{List, Maybe, Table, Text, WideText};
use crate::bulk::BulkRef;
use crate::value::{Key, Plain, Value};
use crate::visit::{MemberInfo, MemberVisitor, Number, Structure, Union, VisitorMut};

/// Shortens every string and sequence of a message that is longer than its bound. A message that came over the network may
/// have such strings, because the middleware does not look; after this, it converts to any storage.
pub fn clip<T: Structure>(message: &mut T) {
    let Ok(()) = Clip.structure(message);
}

struct Clip;

/// The members of one message.
struct Members<'a, T>(&'a mut T);

impl<S> MemberVisitor<S> for Members<'_, S> {
    type Error = Infallible;

    fn member<T: Value>(
        &mut self,
        _: &'static MemberInfo,
        _: impl Fn(&S) -> &T,
        get_mut: impl Fn(&mut S) -> &mut T,
    ) -> Result<(), Infallible> {
        if T::BITWISE { Ok(()) } else { get_mut(self.0).visit_mut(&mut Clip) }
    }
}

impl VisitorMut for Clip {
    type Error = Infallible;

    fn boolean(&mut self, _: &mut bool) -> Result<(), Infallible> {
        Ok(())
    }

    fn number<T: Number>(&mut self, _: &mut T) -> Result<(), Infallible> {
        Ok(())
    }

    fn text<T: Text>(&mut self, text: &mut T) -> Result<(), Infallible> {
        let whole = text.to_text();
        if let Some(bound) = T::BOUND.filter(|bound| whole.len() > *bound) {
            let cut = whole[..whole.floor_char_boundary(bound)].to_owned();
            let fits = text.try_assign(&cut);
            debug_assert!(fits.is_ok());
        }
        Ok(())
    }

    fn wide_text<T: WideText>(&mut self, text: &mut T) -> Result<(), Infallible> {
        if let Some(bound) = T::BOUND.filter(|bound| text.len() > *bound) {
            let cut = text[..bound].to_owned();
            let fits = text.try_assign(&cut);
            debug_assert!(fits.is_ok());
        }
        Ok(())
    }

    fn sequence<T: Value, L: List<T>>(&mut self, list: &mut L) -> Result<(), Infallible> {
        if let Some(bound) = L::BOUND {
            list.truncate(bound);
        }
        self.array::<T>(list)
    }

    fn array<T: Value>(&mut self, elements: &mut [T]) -> Result<(), Infallible> {
        if T::BITWISE {
            return Ok(());
        }
        elements.iter_mut().try_for_each(|element| element.visit_mut(self))
    }

    fn map<K: Key, V: Value, M: Table<K, V>>(&mut self, _: &mut M) -> Result<(), Infallible> {
        // ROS has no maps; they keep their bound themselves.
        Ok(())
    }

    fn optional<T: Value, M: Maybe<T>>(&mut self, value: &mut M) -> Result<(), Infallible> {
        value.as_mut().map_or(Ok(()), |value| value.visit_mut(self))
    }

    fn structure<T: Structure>(&mut self, value: &mut T) -> Result<(), Infallible> {
        T::visit_members(&mut Members(value))
    }

    fn union<T: Union>(&mut self, value: &mut T) -> Result<(), Infallible> {
        value.visit_case_mut(self)
    }

    fn bulk<T: Plain, const N: usize>(&mut self, _: &mut BulkRef<T, N>) -> Result<(), Infallible> {
        Ok(())
    }
}
