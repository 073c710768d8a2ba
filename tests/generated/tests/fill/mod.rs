//! Fills a message of any storage with values that follow from a seed.

use situ::layout::visit::{
    Bitmask, Enumeration, MemberInfo, MemberVisitor, Number, Structure, Union, VisitorMut,
};
use situ::layout::{
    BulkElement, BulkRef, MapField, MapKey, OptionalField, SequenceField, TextField, Value, WideTextField,
};

/// The lengths of strings: empty, short, characters of all lengths, and more than a small allocation has room
/// for.
const TEXTS: [&str; 4] =
    ["", "front", "ünï©ødé 😀", "a text that is longer than most texts of a message are"];

/// Fills a message; the same seed gives the same values.
pub fn fill<T: Structure>(message: &mut T, seed: u64) {
    let Ok(()) = Filler { state: seed }.structure(message);
}

struct Filler {
    state: u64,
}

impl Filler {
    /// The next number (Knuth's generator), less than `end`.
    fn next(&mut self, end: u64) -> u64 {
        self.state = self.state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.state >> 33) % end
    }
}

struct Members<'a, T> {
    filler: &'a mut Filler,
    message: &'a mut T,
}

impl<S> MemberVisitor<S> for Members<'_, S> {
    type Error = std::convert::Infallible;

    fn member<T: Value>(
        &mut self,
        _: &'static MemberInfo,
        _: impl Fn(&S) -> &T,
        get_mut: impl Fn(&mut S) -> &mut T,
    ) -> Result<(), Self::Error> {
        get_mut(self.message).visit_mut(self.filler)
    }
}

impl VisitorMut for Filler {
    type Error = std::convert::Infallible;

    fn boolean(&mut self, value: &mut bool) -> Result<(), Self::Error> {
        *value = self.next(2) == 1;
        Ok(())
    }

    fn number<T: Number>(&mut self, value: &mut T) -> Result<(), Self::Error> {
        // No byte is greater than 0x3f, so that no floating-point number is NaN.
        let bytes: Vec<u8> = (0..size_of::<T>()).map(|_| self.next(0x40) as u8).collect();
        *value = T::from_ne_slice(&bytes).unwrap();
        Ok(())
    }

    fn enumeration<T: Enumeration>(&mut self, _: &mut T) -> Result<(), Self::Error> {
        unreachable!("ROS has no enums")
    }

    fn bitmask<T: Bitmask>(&mut self, _: &mut T) -> Result<(), Self::Error> {
        unreachable!("ROS has no bitmasks")
    }

    fn text<T: TextField>(&mut self, text: &mut T) -> Result<(), Self::Error> {
        let whole = TEXTS[self.next(4) as usize];
        let end = whole.floor_char_boundary(T::BOUND.unwrap_or(usize::MAX));
        text.try_assign(&whole[..end]).unwrap();
        Ok(())
    }

    fn wide_text<T: WideTextField>(&mut self, text: &mut T) -> Result<(), Self::Error> {
        let units: Vec<u16> = TEXTS[self.next(4) as usize].encode_utf16().collect();
        text.try_assign(&units[..units.len().min(T::BOUND.unwrap_or(usize::MAX))]).unwrap();
        Ok(())
    }

    fn sequence<T: Value, L: SequenceField<T>>(&mut self, list: &mut L) -> Result<(), Self::Error> {
        list.clear();
        for _ in 0..self.next(6).min(L::BOUND.unwrap_or(usize::MAX) as u64) {
            list.try_push_default().unwrap().visit_mut(self)?;
        }
        Ok(())
    }

    fn array<T: Value>(&mut self, elements: &mut [T]) -> Result<(), Self::Error> {
        elements.iter_mut().try_for_each(|element| element.visit_mut(self))
    }

    fn map<K: MapKey, V: Value, M: MapField<K, V>>(&mut self, _: &mut M) -> Result<(), Self::Error> {
        unreachable!("ROS has no maps")
    }

    fn optional<T: Value, M: OptionalField<T>>(&mut self, _: &mut M) -> Result<(), Self::Error> {
        unreachable!("ROS has no optional members")
    }

    fn structure<T: Structure>(&mut self, message: &mut T) -> Result<(), Self::Error> {
        T::visit_members(&mut Members { filler: self, message })
    }

    fn union<T: Union>(&mut self, _: &mut T) -> Result<(), Self::Error> {
        unreachable!("ROS has no unions")
    }

    fn bulk<T: BulkElement, const N: usize>(&mut self, _: &mut BulkRef<T, N>) -> Result<(), Self::Error> {
        unreachable!("the messages are not flat")
    }
}
