//! What containers need to know of their elements to insert, move and remove them. The type of the elements
//! is known when the program is compiled, or only when it runs ([`crate::dynamic`]). Containers have one
//! implementation for both.

use std::marker::PhantomData;

use crate::image::writer::Writer;
use crate::memory::blocks::{Memory, MemoryMut};
use crate::value::stored::Stored;

/// A type of elements, keys or entries. The functions are those of [`Stored`].
pub(crate) trait Element: Copy {
    fn size(self) -> u32;
    fn align(self) -> u32;
    fn has_links(self) -> bool;
    fn is_dense(self) -> bool;
    fn begin(self, memory: &mut Memory, at: u32);
    fn moved(self, memory: &mut Memory, at: u32, distance: u32);
    fn release(self, memory: &mut Memory, at: u32);
    fn write(self, writer: &mut Writer<'_>, from: u32, to: u32);
}

/// A type that is known when the program is compiled. It has no bytes, so it costs nothing to pass it on.
pub(crate) struct Of<T>(PhantomData<fn() -> T>);

impl<T> Of<T> {
    pub(crate) const TYPE: Self = Self(PhantomData);
}

impl<T> Clone for Of<T> {
    #[inline(always)]
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Of<T> {}

impl<T: Stored> Element for Of<T> {
    #[inline(always)]
    fn size(self) -> u32 {
        T::SIZE
    }
    #[inline(always)]
    fn align(self) -> u32 {
        T::ALIGN
    }
    #[inline(always)]
    fn has_links(self) -> bool {
        T::LINKS
    }
    #[inline(always)]
    fn is_dense(self) -> bool {
        T::DENSE
    }
    #[inline(always)]
    fn begin(self, memory: &mut Memory, at: u32) {
        T::begin(MemoryMut(memory), at);
    }
    #[inline(always)]
    fn moved(self, memory: &mut Memory, at: u32, distance: u32) {
        T::moved(MemoryMut(memory), at, distance);
    }
    #[inline(always)]
    fn release(self, memory: &mut Memory, at: u32) {
        T::release(MemoryMut(memory), at);
    }
    #[inline(always)]
    fn write(self, writer: &mut Writer<'_>, from: u32, to: u32) {
        T::write(writer, from, to);
    }
}

/// Moves values within the region. Their old bytes stay unchanged.
#[inline]
pub(crate) fn relocate<E: Element>(of: E, memory: &mut Memory, from: u32, to: u32, count: u32) {
    memory.copy_within(from, to, count * of.size());
    if of.has_links() {
        for i in 0..count {
            of.moved(memory, to + i * of.size(), from.wrapping_sub(to));
        }
    }
}

impl Writer<'_> {
    /// Writes consecutive values.
    pub(crate) fn elements<E: Element>(&mut self, of: E, from: u32, to: u32, count: u32) {
        if of.is_dense() {
            self.copy(from, to, count * of.size());
        } else {
            for i in 0..count {
                of.write(self, from + i * of.size(), to + i * of.size());
            }
        }
    }
}
