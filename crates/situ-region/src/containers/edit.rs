//! Operations that shorten vectors, remove elements and reorder them.

use std::cmp::Ordering;
use std::ops::Range;

use crate::containers::vector::{Vector, close, element, extent};
use crate::error::Full;
use crate::memory::blocks::{Memory, MemoryMut};
use crate::value::element::{Element, Of};
use crate::value::handle::{Mut, Ref};
use crate::value::stored::Stored;

/// Reorders `order.len()` elements. Each place gets the element whose index `order` gives.
pub(crate) fn reorder<T: Element>(of: T, memory: &mut Memory, first: u32, order: &[u32]) {
    let size = of.size() as usize;
    let bytes = &mut memory.bytes_mut()[first as usize..][..extent(of, order.len() as u32)];
    let before = bytes.to_vec();
    for (place, from) in bytes.chunks_exact_mut(size).zip(order) {
        place.copy_from_slice(&before[*from as usize * size..][..size]);
    }
    if of.has_links() {
        for (to, from) in (0..).zip(order) {
            let distance = from.wrapping_sub(to).wrapping_mul(of.size());
            of.moved(memory, first + to * of.size(), distance);
        }
    }
}

impl<T: Stored> Mut<'_, Vector<T>> {
    /// Removes the elements from `count` on; the capacity is kept.
    pub fn truncate(&mut self, count: usize) {
        let len = self.len();
        self.remove_range(count.min(len)..len);
    }

    /// Removes elements or appends default ones, so that there are `count`. If there is no room for them,
    /// nothing changes.
    pub fn resize_default(&mut self, count: usize) -> Result<(), Full> {
        let before = self.len();
        self.truncate(count);
        if count > before {
            self.reserve(count)?;
        }
        while self.len() < count {
            if let Err(full) = self.push_default().map(drop) {
                self.truncate(before);
                return Err(full);
            }
        }
        Ok(())
    }

    /// Removes the elements of a range of indices; false if some of them do not exist.
    pub fn remove_range(&mut self, indices: Range<usize>) -> bool {
        let there = indices.start <= indices.end && indices.end <= self.len();
        if there {
            close(Of::<T>::TYPE, self, indices.start as u32, indices.end as u32);
        }
        there
    }

    /// Removes the elements for which `is_kept` is false. Calls it once for each element, in reverse order.
    /// Returns the number of removed elements.
    pub fn retain(&mut self, mut is_kept: impl FnMut(Ref<'_, T>) -> bool) -> usize {
        let before = self.len();
        let mut end = before;
        while end != 0 {
            // The last run of elements to remove, before `end`.
            let mut is_gone = |index: usize| self.as_ref().get(index).is_some_and(|value| !is_kept(value));
            let Some(last) = (0..end).rev().find(|index| is_gone(*index)) else { break };
            let first = (0..last).rev().find(|index| !is_gone(*index)).map_or(0, |kept| kept + 1);
            self.remove_range(first..last + 1);
            // The element before the run is kept.
            end = first.saturating_sub(1);
        }
        before - self.len()
    }

    /// Exchanges two elements; false if one of them does not exist.
    pub fn swap(&mut self, a: usize, b: usize) -> bool {
        let (first, last) = (a.min(b), a.max(b));
        if last >= self.len() {
            return false;
        }
        if first != last {
            let at = self.at();
            let [low, high] =
                [first, last].map(|index| element(Of::<T>::TYPE, self.memory().bytes(), at, index as u32));
            let (head, tail) = self.memory().bytes_mut().split_at_mut(high as usize);
            head[low as usize..][..T::SIZE as usize].swap_with_slice(&mut tail[..T::SIZE as usize]);
            if T::LINKS {
                T::moved(MemoryMut(self.memory()), low, high.wrapping_sub(low));
                T::moved(MemoryMut(self.memory()), high, low.wrapping_sub(high));
            }
        }
        true
    }

    /// Sorts the elements; equal ones keep their order. Allocates memory on the heap for their bytes.
    pub fn sort_by(&mut self, mut compare: impl FnMut(Ref<'_, T>, Ref<'_, T>) -> Ordering) {
        let at = self.at();
        let values = self.as_ref();
        let mut order: Vec<(u32, Ref<'_, T>)> = (0..).zip(values.iter()).collect();
        order.sort_by(|(_, a), (_, b)| compare(*a, *b));
        let order: Vec<u32> = order.into_iter().map(|(index, _)| index).collect();
        if order.is_empty() {
            return;
        }
        let first = element(Of::<T>::TYPE, self.memory().bytes(), at, 0);
        reorder(Of::<T>::TYPE, self.memory(), first, &order);
    }
}

impl<'r, T: Stored> IntoIterator for Ref<'r, Vector<T>> {
    type Item = Ref<'r, T>;
    type IntoIter = crate::value::handle::Values<'r, T>;
    fn into_iter(self) -> Self::IntoIter {
        self.values()
    }
}
