//! The bytes in which a region is edited: the image, and a bitmap after it that marks the granules in use.
//! The bitmap is neither sent nor read from received images.
//!
//! ```text
//!  base                              size                 room
//!  | image: header, root, blocks     | zero, or to be zeroed | bitmap |
//! ```

use std::alloc::Layout;
use std::ptr::NonNull;

use crate::error::Full;
use crate::memory::backing::{Backing, Store, room_of, total_for};
use crate::memory::granule::{GRANULE, MAX_SIZE, in_granules, u32_at, words, zero};

/// How a space grows and is freed.
#[derive(Clone, Copy)]
pub(crate) struct Growth {
    /// The greatest size of the image.
    pub limit: u32,
    /// The new size of a container, or of memory that moves, in percent of the old one. At least 100.
    pub percent: u16,
    /// Freed bytes are zeroed at once.
    pub zero_on_free: bool,
}

/// The image of a region that is edited, and its granules in use. It may move when it grows, so offsets
/// identify values.
///
/// The fields that handles read come first.
#[repr(C)]
pub struct Space {
    base: NonNull<u8>,
    size: usize,
    /// The size to which the image can grow in place. It never shrinks, as handles rely on it.
    room: u32,
    bits: NonNull<u64>,
    limit: u32,
    /// Granules below the image's end whose bits are clear.
    free: u32,
    /// All bits are set in the words before this one.
    first_word: u32,
    /// No run of clear bits has this length until a block is freed.
    no_run: u32,
    growth_percent: u32,
    zero_on_free: bool,
    /// The bytes between the image's end and the bitmap are zero.
    clean: bool,
    /// The number of words of the bitmap if it is a separate allocation.
    own_bits: usize,
    store: Store,
}

// SAFETY: a space owns the bytes it points to, or borrows them exclusively, and backings are Send and Sync.
unsafe impl Send for Space {}
// SAFETY: as above; nothing changes through a shared reference.
unsafe impl Sync for Space {}

impl Space {
    /// Makes a space of `size` zero bytes, all in use, from `total` bytes at `base`, whose end becomes the
    /// bitmap. If `kept`, the current bytes are kept, and the bitmap is allocated separately if there is no
    /// room for it.
    ///
    /// # Safety
    /// The memory begins at a multiple of 16, is initialized, and has at least `size` bytes. It has
    /// at most [`MAX_SIZE`] bytes and those of the bitmap for that. No other code uses it until the store is
    /// dropped.
    #[inline]
    pub(crate) unsafe fn over(
        (base, total): (NonNull<u8>, usize),
        size: u32,
        kept: bool,
        clean: bool,
        growth: Growth,
        store: Store,
    ) -> Self {
        let inside = room_of(total);
        let (room, bits, own_bits) = if inside >= size {
            // SAFETY: the room and the words of its bitmap lie within the memory.
            (inside, unsafe { base.add(inside as usize) }.cast(), 0)
        } else {
            let room = total as u32 / GRANULE * GRANULE;
            let bits = Box::leak(vec![0_u64; words(room)].into_boxed_slice());
            (room, NonNull::from(&mut *bits).cast(), words(room))
        };
        let mut space = Self {
            base,
            bits,
            size: 0,
            room,
            limit: growth.limit.min(MAX_SIZE) / GRANULE * GRANULE,
            free: 0,
            first_word: 0,
            no_run: u32::MAX,
            growth_percent: u32::from(growth.percent.max(100)),
            zero_on_free: growth.zero_on_free,
            clean: clean && growth.zero_on_free,
            own_bits,
            store,
        };
        if !kept && !clean {
            // SAFETY: the room is at least this large.
            unsafe { base.write_bytes(0, size as usize) };
        }
        space.set_end(size);
        space.mark(0, size / GRANULE, true);
        space.first_word = size / GRANULE / 64;
        space
    }

    /// The live image.
    #[inline]
    pub fn bytes(&self) -> &[u8] {
        // SAFETY: the first `size` bytes are initialized, and change only through exclusive references.
        unsafe { std::slice::from_raw_parts(self.base.as_ptr(), self.size) }
    }

    #[inline]
    pub(crate) fn bytes_mut(&mut self) -> &mut [u8] {
        // SAFETY: as above, and the memory is borrowed exclusively.
        unsafe { std::slice::from_raw_parts_mut(self.base.as_ptr(), self.size) }
    }

    /// The address of the memory, a multiple of 16. All bytes of the room are initialized.
    #[inline]
    pub(crate) fn base(&self) -> NonNull<u8> {
        self.base
    }

    /// Restates the address of the memory for the compiler, which cannot distinguish writes to the image from
    /// writes to these fields.
    #[inline]
    pub(crate) fn stays_at(&mut self, base: NonNull<u8>) {
        self.base = base;
    }

    /// The words of the bitmap that the image needs.
    #[inline]
    pub(crate) fn bits(&self) -> &[u64] {
        // SAFETY: `set_end` writes each word before the image reaches it; the bitmap is aligned, as the room
        // is a multiple of 16.
        unsafe { std::slice::from_raw_parts(self.bits.as_ptr(), words(self.size())) }
    }
    #[inline]
    fn bits_mut(&mut self) -> &mut [u64] {
        // SAFETY: as above, and the memory is borrowed exclusively.
        unsafe { std::slice::from_raw_parts_mut(self.bits.as_ptr(), words(self.size())) }
    }
    #[inline]
    pub(crate) fn size(&self) -> u32 {
        self.size as u32
    }

    pub(crate) fn room(&self) -> u32 {
        self.room
    }

    /// The number of free granules within the image.
    pub(crate) fn free_granules(&self) -> u32 {
        self.free
    }

    pub(crate) fn growth(&self) -> Growth {
        Growth { limit: self.limit, percent: self.growth_percent as u16, zero_on_free: self.zero_on_free }
    }
    #[inline]
    pub(crate) fn zero_on_free(&self) -> bool {
        self.zero_on_free
    }
    /// Sets the limit, which is at least the present size.
    pub(crate) fn set_limit(&mut self, limit: u32) {
        self.limit = limit.min(MAX_SIZE) / GRANULE * GRANULE;
    }
    #[inline]
    pub(crate) fn full(&self) -> Full {
        Full { limit: if matches!(self.store, Store::Borrowed) { self.room } else { self.limit } }
    }

    #[inline]
    pub(crate) fn u32(&self, at: u32) -> u32 {
        u32_at(self.bytes(), at)
    }

    #[inline]
    pub(crate) fn set_u32(&mut self, at: u32, value: u32) {
        let at = at as usize;
        self.bytes_mut()[at..at + 4].copy_from_slice(&value.to_le_bytes());
    }
    #[inline]
    pub(crate) fn zero(&mut self, at: u32, count: u32) {
        zero(self.bytes_mut(), at, count);
    }
    #[inline]
    pub(crate) fn copy_within(&mut self, from: u32, to: u32, count: u32) {
        self.bytes_mut().copy_within(from as usize..from as usize + count as usize, to as usize);
    }

    /// The new capacity of a container with room for `capacity` elements that needs `needed`.
    #[inline]
    pub(crate) fn next_capacity(&self, capacity: u32, needed: u32) -> u32 {
        let grown = u64::from(capacity) * u64::from(self.growth_percent) / 100;
        needed.max(u32::try_from(grown).unwrap_or(u32::MAX))
    }

    /// The first granule in use (or free) from `from` on, or `end`.
    #[inline]
    pub(crate) fn next(&self, from: u32, used: bool, end: u32) -> u32 {
        let bits = self.bits();
        let word = |i: usize| if used { bits[i] } else { !bits[i] };
        if from >= end {
            return end;
        }
        let mut i = from as usize / 64;
        let mut here = word(i) & (!0 << (from % 64));
        while here == 0 {
            i += 1;
            if i as u64 * 64 >= u64::from(end) {
                return end;
            }
            here = word(i);
        }
        (i as u32 * 64 + here.trailing_zeros()).min(end)
    }
    #[inline]
    fn mark(&mut self, from: u32, count: u32, used: bool) {
        if count == 0 {
            return;
        }
        let last = from + count - 1;
        let (head, tail) = (!0_u64 << (from % 64), !0_u64 >> (!last % 64));
        let set = |word: &mut u64, mask: u64| *word = if used { *word | mask } else { *word & !mask };
        match &mut self.bits_mut()[from as usize / 64..=last as usize / 64] {
            // Most blocks lie in one word.
            [word] => set(word, head & tail),
            [first, between @ .., last] => {
                set(first, head);
                between.fill(if used { !0 } else { 0 });
                set(last, tail);
            }
            [] => {}
        }
    }
    #[inline]
    pub(crate) fn end(&self) -> u32 {
        self.size() / GRANULE
    }

    /// Takes the first run of `count` free granules.
    pub(crate) fn take_run(&mut self, count: u32) -> Option<u32> {
        if self.free < count || count >= self.no_run {
            return None;
        }
        let end = self.end();
        let mut from = self.next(self.first_word * 64, false, end);
        self.first_word = from / 64;
        while end - from >= count {
            let used = self.next(from, true, from + count);
            if used == from + count {
                self.take_at(from, count);
                return Some(from);
            }
            from = self.next(used, false, end);
        }
        self.no_run = count;
        None
    }

    /// Takes free granules.
    #[inline]
    pub(crate) fn take_at(&mut self, from: u32, count: u32) {
        self.mark(from, count, true);
        self.free -= count;
    }

    /// Marks granules as free. The image ends after the last granule in use.
    pub(crate) fn give_back(&mut self, from: u32, count: u32) {
        self.mark(from, count, false);
        self.free += count;
        self.first_word = self.first_word.min(from / 64);
        self.no_run = u32::MAX;
        if from + count == self.end() {
            self.shrink_end();
        }
    }

    /// Moves the image's end to the last granule in use.
    fn shrink_end(&mut self) {
        let last = self.bits().iter().enumerate().rev().find(|(_, word)| **word != 0);
        let end = last.map_or(0, |(i, word)| i as u32 * 64 + 64 - word.leading_zeros());
        self.free -= self.end() - end;
        self.set_end(end * GRANULE);
    }

    pub(crate) fn extend_end(&mut self, count: u32) -> Result<(), Full> {
        let (end, size) = (self.end(), u64::from(self.size()) + u64::from(count) * u64::from(GRANULE));
        self.make_room(size)?;
        if !self.clean {
            // SAFETY: the room is at least `size` here, and nothing lies after the image.
            unsafe { self.base.add(self.size).write_bytes(0, (count * GRANULE) as usize) };
        }
        self.set_end(size as u32);
        self.mark(end, count, true);
        Ok(())
    }

    /// Sets the image's end and the size in its header. No granule after the end is marked.
    fn set_end(&mut self, size: u32) {
        let before = words(self.size());
        self.size = size as usize;
        if let Some(new) = self.bits_of(before).filter(|_| words(size) > before) {
            // SAFETY: the words of the room's bitmap are there, and `words(size)` is at most their number.
            unsafe { new.write_bytes(0, words(size) - before) };
        }
        if size >= 28 {
            self.set_u32(24, size);
        }
    }

    /// The address of a word of the bitmap.
    fn bits_of(&self, word: usize) -> Option<NonNull<u64>> {
        // SAFETY: it is not after the last word of the room's bitmap.
        (word <= words(self.room)).then(|| unsafe { self.bits.add(word) })
    }

    /// Makes the room at least `size` bytes. The memory may move.
    pub(crate) fn make_room(&mut self, size: u64) -> Result<(), Full> {
        if size > u64::from(self.limit) {
            return Err(self.full());
        }
        if size <= u64::from(self.room) {
            return Ok(());
        }
        let wanted = self.next_capacity(self.room, size as u32).min(self.limit) / GRANULE * GRANULE;
        let (used, old) = (words(self.size()), self.room as usize);
        let (base, total) = match &mut self.store {
            Store::Borrowed => return Err(self.full()),
            Store::Heap(before) => {
                let total = total_for(wanted.max(size as u32));
                let fresh = allocate_zeroed(total);
                // SAFETY: both have at least that size, and the bitmap takes the place of the old one. The
                // old memory is freed once.
                unsafe {
                    fresh.copy_from_nonoverlapping(self.base, self.size);
                    fresh.add(old).copy_from_nonoverlapping(self.bits.cast(), used * 8);
                    std::alloc::dealloc(self.base.as_ptr(), heap_layout(*before));
                }
                *before = total;
                (fresh, total)
            }
            Store::Other(backing) => {
                // SAFETY: the backing lives as long as the store.
                match unsafe { backing.as_mut() }.grow(total_for(wanted.max(size as u32))) {
                    Some(grown) if room_of(grown.1) as u64 >= size => grown,
                    _ => return Err(self.full()),
                }
            }
        };
        self.base = base;
        self.room = room_of(total).min(self.limit.max(size as u32));
        // SAFETY: the old and the new bitmap lie within the memory, and the bytes that the old one leaves are
        // not in use.
        unsafe {
            self.bits = base.add(self.room as usize).cast();
            let left = base.add(old);
            self.bits.cast::<u8>().copy_from(left, used * 8);
            left.write_bytes(0, (used * 8).min(self.room as usize - old));
        }
        Ok(())
    }

    /// Makes a block longer in place, if the granules after it are free or it lies at the end.
    #[inline]
    pub(crate) fn extend(&mut self, at: u32, old: u64, new: u64) -> bool {
        let from = at / GRANULE + (in_granules(old) / u64::from(GRANULE)) as u32;
        let Ok(to) = u32::try_from(u64::from(at / GRANULE) + in_granules(new) / u64::from(GRANULE)) else {
            return false;
        };
        let end = self.end();
        if to <= from {
            return true;
        }
        if self.next(from, true, to.min(end)) < to.min(end) {
            return false;
        }
        if to > end && self.extend_end(to - end).is_err() {
            return false;
        }
        let inside = to.min(end) - from.min(end);
        self.mark(from, inside, true);
        self.free -= inside;
        if !self.zero_on_free {
            self.zero(from * GRANULE, inside * GRANULE);
        }
        true
    }

    /// Marks exactly the granules in `bits` as in use; zeroes the rest.
    pub(crate) fn use_only(&mut self, bits: &[u64]) {
        let end = self.end();
        self.bits_mut().copy_from_slice(bits);
        self.first_word = 0;
        let mut from = self.next(0, false, end);
        while from < end {
            let used = self.next(from, true, end);
            self.zero(from * GRANULE, (used - from) * GRANULE);
            self.free += used - from;
            from = self.next(used, false, end);
        }
        self.shrink_end();
    }

    /// Copies another space of the same size, with its bitmap.
    pub(crate) fn become_copy(&mut self, other: &Self) {
        self.bytes_mut().copy_from_slice(other.bytes());
        self.bits_mut().copy_from_slice(other.bits());
        (self.free, self.first_word, self.no_run) = (other.free, other.first_word, other.no_run);
    }

    /// Copies an image that is at most as large, with all of it in use.
    pub(crate) fn become_compact(&mut self, image: &[u8]) {
        self.bytes_mut()[..image.len()].copy_from_slice(image);
        self.end_at(image.len() as u32);
    }

    /// Moves the granules in use down over the free ones, in their order. The image then ends after them.
    pub(crate) fn close_gaps(&mut self) {
        let end = self.end();
        let (mut from, mut to) = (self.next(0, true, end), 0);
        while from < end {
            let behind = self.next(from, false, end);
            if from != to {
                self.copy_within(from * GRANULE, to * GRANULE, (behind - from) * GRANULE);
            }
            to += behind - from;
            from = self.next(behind, true, end);
        }
        self.end_at(to * GRANULE);
    }

    /// Sets the image's end, with all of it in use, and zeroes the bytes after it.
    fn end_at(&mut self, size: u32) {
        let before = self.size();
        self.zero(size, before - size);
        self.mark(size / GRANULE, (before - size) / GRANULE, false);
        self.set_end(size);
        self.mark(0, size / GRANULE, true);
        self.free = 0;
        self.first_word = size / GRANULE / 64;
        self.no_run = u32::MAX;
    }

    /// Ends the space and returns its backing, which came from a box; `None` if it had none.
    pub(crate) fn into_backing(mut self) -> Option<NonNull<dyn Backing>> {
        let Store::Other(backing) = self.store else { return None };
        self.store = Store::Borrowed;
        Some(backing)
    }
}

impl Drop for Space {
    fn drop(&mut self) {
        if self.own_bits != 0 {
            let words = std::ptr::slice_from_raw_parts_mut(self.bits.as_ptr(), self.own_bits);
            // SAFETY: `over` leaked a box of this many words, and no other code frees it.
            drop(unsafe { Box::from_raw(words) });
        }
        match self.store {
            Store::Borrowed => {}
            // SAFETY: the memory came from `allocate_zeroed` with this size.
            Store::Heap(total) => unsafe { std::alloc::dealloc(self.base.as_ptr(), heap_layout(total)) },
            // SAFETY: the store owns the backing, which came from a box.
            Store::Other(backing) => drop(unsafe { Box::from_raw(backing.as_ptr()) }),
        }
    }
}

/// Memory on the heap has the alignment of an image; a greater one makes allocators slow.
pub(crate) fn heap_layout(total: usize) -> Layout {
    // Sizes are at most those of a region and its bitmap, about 2.02 GiB.
    Layout::from_size_align(total, GRANULE as usize).unwrap_or(Layout::new::<u128>())
}

fn allocate_zeroed(total: usize) -> NonNull<u8> {
    try_allocate_zeroed(total).unwrap_or_else(|| std::alloc::handle_alloc_error(heap_layout(total)))
}

pub(crate) fn try_allocate_zeroed(total: usize) -> Option<NonNull<u8>> {
    // SAFETY: the size is not zero: a region has a header.
    NonNull::new(unsafe { std::alloc::alloc_zeroed(heap_layout(total)) })
}
