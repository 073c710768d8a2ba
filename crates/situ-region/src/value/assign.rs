//! The assignment of values from outside of regions.

use crate::error::Full;
use crate::memory::blocks::MemoryMut;
use crate::value::handle::Mut;
use crate::value::plain::{Plain, put, put_in};
use crate::value::stored::Stored;

/// A type whose values in a region can be assigned from a `V`.
pub trait Assign<V>: Stored {
    /// Whether values need no further memory. [`put_all`](Self::put_all) is then available.
    #[doc(hidden)]
    const IN_PLACE: bool = false;

    /// Assigns consecutive values. Writes all their bytes, whatever they were.
    #[doc(hidden)]
    fn put_all(_image: &mut [u8], _at: u32, _values: &[V]) {
        unreachable!("only what is assigned in place is");
    }

    /// Assigns a value to the valid value at `at`. If there is no room, the old value stays valid.
    #[doc(hidden)]
    fn assign(memory: MemoryMut<'_>, at: u32, value: V) -> Result<(), Full>;

    /// As [`assign`](Self::assign), for a handle, whose value is known to lie in the memory.
    #[doc(hidden)]
    #[inline]
    fn set(to: &mut Mut<'_, Self>, value: V) -> Result<(), Full> {
        let at = to.at();
        Self::assign(MemoryMut(to.memory()), at, value)
    }
}

impl<T: Stored> Mut<'_, T> {
    /// Assigns a value: a number, a boolean, text, a slice, a plain struct. If there is no room, the current
    /// value stays valid.
    #[inline]
    pub fn set<V>(&mut self, value: V) -> Result<(), Full>
    where
        T: Assign<V>,
    {
        T::set(self, value)
    }
}

impl<T: Plain> Assign<T> for T {
    const IN_PLACE: bool = true;

    #[inline]
    fn put_all(image: &mut [u8], at: u32, values: &[T]) {
        put_in(image, at, values);
    }
    #[inline]
    fn assign(MemoryMut(memory): MemoryMut<'_>, at: u32, value: T) -> Result<(), Full> {
        put(memory, at, value);
        Ok(())
    }
    #[inline]
    fn set(to: &mut Mut<'_, T>, value: T) -> Result<(), Full> {
        **to = value;
        Ok(())
    }
}
