//! The blocks of a region that is edited. Freed blocks of small sizes are kept in caches.

use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;
use std::sync::Arc;

use crate::dynamic::types::Types;
use crate::error::Full;
use crate::memory::allocation::{Allocation, Granules};
use crate::memory::backing::{Backing, Store, total_for};
use crate::memory::granule::{GRANULE, MAX_SIZE, in_granules};
use crate::memory::later::{Later, Place};
use crate::memory::options::Options;
use crate::memory::reached::Reached;
use crate::memory::space::{Growth, Space, heap_layout, try_allocate_zeroed};

/// Freed blocks of at most this many granules are kept in caches, up to `CACHE_DEPTH` of each size.
const CACHED_SIZES: usize = 8;
const CACHE_DEPTH: usize = 7;

/// Freed blocks of one size, still marked as in use.
#[derive(Clone, Copy, Default)]
struct Cache {
    count: u32,
    block: [u32; CACHE_DEPTH],
}

/// The target of a link of one type, in a release.
pub(crate) trait ReleaseBehind {
    /// Releases the values, and frees their blocks.
    fn release(memory: &mut Memory, place: Place);
}

/// What is released later: values of the described type with a number; of other types, which the function
/// knows, the number has no meaning.
type Visit = (fn(&mut Memory, u32, Place), u32);

/// The memory of a region that is edited: its space, and the blocks in it.
///
/// The fields that handles read come first.
#[repr(C)]
pub struct Memory {
    space: Space,
    allocation: Allocation,
    caches: [Cache; CACHED_SIZES],
    later: Later<Visit>,
    /// The types of a region whose types are known only when the program runs.
    pub(crate) types: Option<Arc<Types>>,
    /// What shared values reach, since the first link that could have made a cycle.
    pub(crate) reached: Option<Box<Reached>>,
    /// The number of shared values that were walked to find cycles.
    pub(crate) walked: u64,
}

impl Deref for Memory {
    type Target = Space;
    #[inline]
    fn deref(&self) -> &Space {
        &self.space
    }
}

impl DerefMut for Memory {
    #[inline]
    fn deref_mut(&mut self) -> &mut Space {
        &mut self.space
    }
}

/// The memory of a region, for implementations of [`Stored`](crate::Stored) and related traits. They only
/// pass it on.
///
/// It is passed by value, and its reference is private. Code that has two of them can exchange these, as with
/// [`std::mem::swap`], but not the memories: existing handles rely on the memories.
///
/// ```compile_fail,E0616
/// fn exchange(one: situ_region::MemoryMut<'_>, other: situ_region::MemoryMut<'_>) {
///     std::mem::swap(one.0, other.0);
/// }
/// ```
pub struct MemoryMut<'m>(pub(crate) &'m mut Memory);

impl MemoryMut<'_> {
    /// The same memory with a shorter lifetime, so that this value can be used again.
    #[inline]
    pub fn reborrow(&mut self) -> MemoryMut<'_> {
        MemoryMut(self.0)
    }
}

impl Memory {
    /// Makes a memory of `size` zero bytes, all in use, from `total` bytes at `base`; see [`Space::over`].
    ///
    /// # Safety
    /// As for [`Space::over`].
    #[inline]
    pub(crate) unsafe fn over(
        memory: (NonNull<u8>, usize),
        size: u32,
        kept: bool,
        clean: bool,
        options: Options,
        store: Store,
    ) -> Self {
        let Options { limit, growth_percent: percent, zero_on_free, allocation, .. } = options;
        let growth = Growth { limit, percent, zero_on_free };
        // SAFETY: the caller's promise.
        let space = unsafe { Space::over(memory, size, kept, clean, growth, store) };
        let caches = [Cache::default(); CACHED_SIZES];
        Self { space, allocation, caches, later: Later::default(), types: None, reached: None, walked: 0 }
    }

    /// `size` bytes of zeros on the heap, all in use.
    pub(crate) fn on_heap(size: u32, options: Options) -> Self {
        let made = Self::try_on_heap(size, options);
        made.unwrap_or_else(|bytes| std::alloc::handle_alloc_error(heap_layout(bytes)))
    }

    /// As [`on_heap`](Self::on_heap), for a size that comes from outside. The error is the number of bytes
    /// that could not be allocated.
    pub(crate) fn try_on_heap(size: u32, options: Options) -> Result<Self, usize> {
        let room = size.max(options.reserve.min(options.limit).min(MAX_SIZE));
        let total = total_for(room);
        let base = try_allocate_zeroed(total).ok_or(total)?;
        // SAFETY: the memory is fresh, zeroed, aligned, and of the stated size.
        Ok(unsafe { Self::over((base, total), size, false, true, options, Store::Heap(total)) })
    }

    pub(crate) fn free_bytes(&self) -> u32 {
        let cached: usize =
            self.caches.iter().enumerate().map(|(i, cache)| (i + 1) * cache.count as usize).sum();
        (self.space.free_granules() + cached as u32) * GRANULE
    }

    pub(crate) fn options(&self) -> Options {
        let Growth { limit, percent, zero_on_free } = self.space.growth();
        Options {
            limit,
            reserve: self.room(),
            growth_percent: percent,
            zero_on_free,
            allocation: self.allocation,
        }
    }

    /// Allocates a zeroed block for an unknown container.
    #[inline]
    pub(crate) fn allocate(&mut self, bytes: u64) -> Result<u32, Full> {
        let block = self.take_block(bytes)?;
        if let Some(reached) = &mut self.reached {
            reached.taken(block, bytes, true);
        }
        Ok(block)
    }

    /// Allocates a zeroed block for the container at `at`.
    #[inline]
    pub(crate) fn allocate_for(&mut self, at: u32, bytes: u64) -> Result<u32, Full> {
        let block = self.take_block(bytes)?;
        if let Some(reached) = &mut self.reached {
            let marked = reached.has(at);
            reached.taken(block, bytes, marked);
        }
        Ok(block)
    }

    /// As [`Space::extend`].
    #[inline]
    pub(crate) fn extend(&mut self, block: u32, old: u64, new: u64) -> bool {
        let extended = self.space.extend(block, old, new);
        if let (true, Some(reached)) = (extended, &mut self.reached) {
            let (marked, old) = (reached.has(block), in_granules(old));
            if in_granules(new) > old {
                reached.taken(block + old as u32, in_granules(new) - old, marked);
            }
        }
        extended
    }

    /// Takes a zeroed block: from a cache, from the first run of free granules that is long enough, or at the
    /// end.
    #[inline]
    fn take_block(&mut self, bytes: u64) -> Result<u32, Full> {
        if bytes > u64::from(MAX_SIZE) {
            return Err(self.full());
        }
        let count = (in_granules(bytes) / u64::from(GRANULE)) as u32;
        if let Allocation::By(allocator) = self.allocation {
            let taken =
                allocator.take(&mut Granules(&mut self.space), count).filter(|taken| taken.count == count);
            let taken = taken.ok_or_else(|| self.full())?;
            let block = taken.from * GRANULE;
            return Ok(if taken.fresh { block } else { self.reused(block, count) });
        }
        if let Some(cache) = (count as usize).checked_sub(1).and_then(|size| self.caches.get_mut(size))
            && cache.count != 0
        {
            cache.count -= 1;
            let block = cache.block[cache.count as usize];
            return Ok(self.reused(block, count));
        }
        if let Some(from) = self.take_run(count) {
            return Ok(self.reused(from * GRANULE, count));
        }
        let end = self.size();
        let Err(full) = self.extend_end(count) else { return Ok(end) };
        self.flush_caches();
        if let Some(from) = self.take_run(count) {
            return Ok(self.reused(from * GRANULE, count));
        }
        let end = self.size();
        self.extend_end(count).map_err(|_| full)?;
        Ok(end)
    }
    #[inline]
    fn reused(&mut self, block: u32, count: u32) -> u32 {
        if !self.zero_on_free() {
            self.zero(block, count * GRANULE);
        }
        block
    }

    /// Frees all cached blocks, so that neighbours become one run.
    pub(crate) fn flush_caches(&mut self) {
        for size in 0..CACHED_SIZES {
            while self.caches[size].count != 0 {
                self.caches[size].count -= 1;
                let block = self.caches[size].block[self.caches[size].count as usize];
                self.give_back(block / GRANULE, size as u32 + 1);
            }
        }
    }

    /// Frees a block. The image ends after the last granule in use.
    #[inline]
    pub(crate) fn free(&mut self, at: u32, bytes: u64) {
        let count = (in_granules(bytes) / u64::from(GRANULE)) as u32;
        if count == 0 {
            return;
        }
        if self.zero_on_free() {
            self.zero(at, count * GRANULE);
        }
        if let Allocation::By(allocator) = self.allocation {
            self.give_back(at / GRANULE, count);
            return allocator.freed(&mut Granules(&mut self.space), at / GRANULE, count);
        }
        if let Some(cache) = self.caches.get_mut(count as usize - 1)
            && (cache.count as usize) < CACHE_DEPTH
        {
            cache.block[cache.count as usize] = at;
            cache.count += 1;
            return;
        }
        self.give_back(at / GRANULE, count);
    }

    /// Releases the target of a link, and frees its block. The link no longer leads there.
    #[inline]
    pub(crate) fn release<B: ReleaseBehind>(&mut self, place: Place) {
        if self.later.enter((|memory, _, place| B::release(memory, place), 0), place) {
            B::release(self, place);
            self.later.leave();
        }
        if self.later.is_due() {
            self.release_noted();
        }
    }

    /// As [`release`](Self::release), for the described type with a number.
    pub(crate) fn release_described(&mut self, release: fn(&mut Self, u32, Place), of: u32, place: Place) {
        if self.later.enter((release, of), place) {
            release(self, of, place);
            self.later.leave();
        }
        if self.later.is_due() {
            self.release_noted();
        }
    }

    #[cold]
    #[inline(never)]
    fn release_noted(&mut self) {
        while let Some(((release, of), place)) = self.later.next() {
            // One level deep, so that what is noted meanwhile is released here.
            if self.later.enter((release, of), place) {
                release(self, of, place);
                self.later.leave();
            }
        }
    }

    /// Frees the end of a block that becomes shorter.
    #[inline]
    pub(crate) fn shorten(&mut self, at: u32, old: u64, new: u64) {
        let (old, new) = (in_granules(old), in_granules(new));
        if new < old {
            self.free(at + new as u32, old - new);
        }
    }

    /// Copies another memory of the same size, with its bitmap and caches.
    pub(crate) fn become_copy(&mut self, other: &Self) {
        self.space.become_copy(&other.space);
        self.reached = None;
        self.caches = other.caches;
    }

    /// Copies an image that is at most as large, with all of it in use.
    pub(crate) fn become_compact(&mut self, image: &[u8]) {
        self.space.become_compact(image);
        self.reached = None;
        self.caches = [Cache::default(); CACHED_SIZES];
    }

    /// As [`Space::close_gaps`]. The caches are empty.
    pub(crate) fn close_gaps(&mut self) {
        self.space.close_gaps();
        self.reached = None;
        self.caches = [Cache::default(); CACHED_SIZES];
    }

    /// Ends the memory and returns its backing, which came from a box; `None` if it had none.
    pub(crate) fn into_backing(self) -> Option<NonNull<dyn Backing>> {
        self.space.into_backing()
    }
}
