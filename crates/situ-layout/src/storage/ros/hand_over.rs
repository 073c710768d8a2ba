//! How C's strings and sequences hand over their memory.

use std::mem::{self, ManuallyDrop};

use super::bound;
use super::sequence::RosSequence;
use super::text::RosString;
use crate::storage::hand_over::{GivenList, GivenText, HandOverList, HandOverText};
use crate::value::container::check;
use crate::value::error::BoundError;
use crate::value::traits::Value;

impl<const N: usize> HandOverText for RosString<N> {
    fn give(&mut self) -> GivenText<'_> {
        let this = ManuallyDrop::new(mem::replace(self, Self::VACANT));
        GivenText::C(RosString { data: this.data, size: this.size, capacity: this.capacity })
    }

    fn take(&mut self, text: GivenText<'_>) -> Result<(), BoundError> {
        match text {
            GivenText::Lent(text) => self.try_assign(&text)?,
            GivenText::Rust(text) => *self = Self::try_from_string(text)?,
            GivenText::C(text) if text.data.is_null() => self.clear(),
            GivenText::C(text) => {
                check(bound(N), text.size)?;
                let this = ManuallyDrop::new(text);
                *self = Self { data: this.data, size: this.size, capacity: this.capacity };
            }
        }
        Ok(())
    }
}

impl<T: Value, const N: usize> HandOverList<T> for RosSequence<T, N> {
    const TAKES_OPAQUE: bool = true;

    fn give(&mut self) -> GivenList<'_, T> {
        let this = ManuallyDrop::new(mem::take(self));
        GivenList::C(RosSequence {
            data: this.data,
            size: this.size,
            capacity: this.capacity,
            tail: this.tail,
        })
    }

    fn take(&mut self, elements: GivenList<'_, T>) -> Result<(), BoundError> {
        match elements {
            GivenList::Lent(elements) => self.try_assign(elements)?,
            GivenList::Rust(elements) => *self = Self::try_from_vec(elements)?,
            GivenList::C(elements) => *self = elements.try_with_bound()?,
        }
        Ok(())
    }
}
